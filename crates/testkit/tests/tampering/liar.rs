//! A session of two parties, one of which lies, and the permitted ends for the honest one.

use std::fmt;
use std::time::Duration;

use tacit::net::NetError;
use tacit::{Category, Error, Function, Outcome, ProtocolError, Role, Session, library};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{self, Trace, noting, over_link};
use tacit_testkit::tamper::{Fault, Rewrite, Tampering, TamperingSink};

/// The longest wait: the faults that end in a timeout wait this long.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(2500);

/// The liar's changes to its messages.
#[derive(Clone, Copy)]
pub(crate) enum Lie {
    Nothing,
    Fault(Tampering),
    /// The payload of the first message of a kind is replaced.
    Payload(Kind, &'static str, fn(&[u8]) -> Vec<u8>),
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("in nothing"),
            Self::Fault(tampering) => write!(f, "{tampering:?}"),
            Self::Payload(kind, what, _) => write!(f, "{kind}: {what}"),
        }
    }
}

impl Lie {
    /// Returns the fault, if it is one.
    pub(crate) fn fault(self) -> Option<Fault> {
        match self {
            Self::Fault(Tampering { fault, .. }) => Some(fault),
            Self::Nothing | Self::Payload(..) => None,
        }
    }

    /// Returns whether the liar stated a falsehood in a message of the right form.
    pub(crate) fn is_of_values(self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Payload(..) => true,
            // Reordered parts of the base OTs are different parts, which ends the garbler's epoch.
            Self::Fault(Tampering { fault, .. }) => matches!(
                fault,
                Fault::FlipFirst
                    | Fault::FlipMiddle
                    | Fault::FlipLast
                    | Fault::Ones
                    | Fault::Zeros
                    | Fault::Reorder
            ),
        }
    }

    fn sink(self, transport: Transport, trace: &Trace) -> Transport {
        let rewrite: Rewrite = match self {
            Self::Fault(tampering) => {
                return transport.map_sink(|inner| Box::new(TamperingSink::new(inner, tampering)));
            }
            Self::Nothing => noting(trace),
            Self::Payload(wanted, _, lie) => {
                let mut told = false;
                Box::new(move |_, kind, payload| {
                    let now = kind == wanted.byte() && !told;
                    told |= now;
                    now.then(|| lie(payload))
                })
            }
        };
        transport.map_sink(|inner| Box::new(TamperingSink::rewriting(inner, rewrite)))
    }

    /// Returns the result of `party` at the honest party, and the messages that `liar` would have
    /// sent. The liar may end in any way, but not even it may panic.
    pub(crate) fn run<T: Send>(
        self,
        liar: Role,
        party: impl Fn(Transport, Role) -> T + Sync,
    ) -> (T, Trace) {
        let trace = Trace::default();
        let below = |role, transport| {
            if role == liar {
                self.sink(transport, &trace)
            } else {
                transport
            }
        };
        let [garbler, evaluator] = over_link(below, |role, transport| party(transport, role));
        let honest = match liar {
            Role::Garbler => evaluator,
            Role::Evaluator => garbler,
        };
        (honest, trace)
    }
}

/// Returns every message of `trace` under one of `every` faults.
pub(crate) fn faults(trace: &Trace, every: usize) -> Vec<Lie> {
    let mut lies = Vec::new();
    let trace = trace.lock().expect("no panic");
    for (message, (_, length)) in trace.iter().enumerate() {
        let faults = Fault::ALL.iter().copied();
        let faults = faults.filter(|fault| fault.in_sample(message, every));
        let faults = faults.filter(|fault| fault.changes(*length));
        lies.extend(faults.map(|fault| Lie::Fault(Tampering { message, fault })));
    }
    lies
}

/// Starts a session of `role` with the other party.
pub(crate) fn session(transport: Transport, role: Role) -> Result<Session, Error> {
    sessions::session(transport, role, TIMEOUT)
}

/// Returns a function that tells whether the garbler is richer, on numbers of this many bits.
pub(crate) fn millionaires(bits: u64) -> Function {
    let function = library::function("millionaires", &[("bits".to_owned(), bits)].into());
    function.expect("a function of the library")
}

pub(crate) fn is_right(result: &Result<Outcome, Error>) -> bool {
    let outcome = result.as_ref();
    outcome.is_ok_and(|outcome| outcome.outputs["a_is_richer"].to_text() == "1")
}

/// Returns whether the error blames the peer, or reports that the peer blames this party.
pub(crate) fn is_blamed(error: &Error) -> bool {
    matches!(error.category(), Category::Peer | Category::Incompatible)
        || matches!(error, Error::Protocol(ProtocolError::PeerAborted(_)))
}

/// Returns whether an honest party may end like this after such a fault.
pub(crate) fn allows(fault: Fault, result: &Result<Outcome, Error>) -> bool {
    let error = match result {
        Ok(_) => return is_right(result) && !fault.breaks_the_format(),
        Err(error) => error,
    };
    let timeout = matches!(error, Error::Network(NetError::Timeout { .. }));
    // Between two runs a closed connection is a session's end.
    let closed = matches!(
        error,
        Error::Network(NetError::Closed { .. }) | Error::SessionOver { .. }
    );
    let blamed = is_blamed(error);
    match fault {
        Fault::CloseBefore | Fault::CloseWithin => closed || blamed,
        Fault::Silence | Fault::Drop | Fault::Reorder | Fault::InflateByOne | Fault::Garbage => {
            timeout || blamed || closed
        }
        Fault::Trickle => false,
        _ => blamed,
    }
}

/// Describes the end.
pub(crate) fn ended(result: &Result<Outcome, Error>) -> String {
    match result {
        Ok(_) => "right result".to_owned(),
        Err(error) => format!("{:?}", error.category()),
    }
}

/// Describes the end with its details.
pub(crate) fn shown(result: &Result<Outcome, Error>) -> String {
    match result {
        Ok(outcome) => {
            let outputs = outcome.outputs.iter();
            let outputs = outputs.map(|(name, value)| format!("{name} {}", value.to_text()));
            format!("result {}", outputs.collect::<Vec<_>>().join(", "))
        }
        Err(error) => format!("{:?}: {error}", error.category()),
    }
}

pub(crate) fn put(payload: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(place) = payload.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
    payload
}

pub(crate) const MOST: &[u8] = &u64::MAX.to_le_bytes();
