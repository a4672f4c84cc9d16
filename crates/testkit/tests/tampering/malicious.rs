//! Each message of `batch`, while preparing and in a run, and of `authenticated`, from either side,
//! under each fault: the honest party ends in time, with an error of the right kind or the right
//! result, and never with a wrong one; and afterwards the parties can prepare and run again.
//!
//! Messages that other protocols send as well (the greeting, base OTs, the meeting of the stocks,
//! leases) meet their faults in the tests of those.

use std::fmt;
use std::thread;
use std::time::Duration;

use crate::judge_each;
use tacit::{
    BatchPreparation, Category, Error, Fingerprint, Function, Job, NetError, Outcome, Role,
    Session, Side, Stocks, library,
};
use tacit_net::{Channel, Transport, memory};
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{Folders, Trace, channel, noting};
use tacit_testkit::tamper::{Fault, Tampering, TamperingSink};

/// No wait lasts longer: the faults that end in a timeout wait for this long.
const TIMEOUT: Duration = Duration::from_millis(2500);
/// Low, so that a batch is a few circuits.
const SECURITY_BITS: u8 = 2;
/// More than whatever a lying evaluator's input becomes but for one value in 256.
const GARBLER_INPUT: u8 = 255;
const EVALUATOR_INPUT: u8 = 40;

/// The messages that are of `batch` alone, and those that end a lot and bring its OTs.
const OF_BATCH: [Kind; 18] = [
    Kind::CotExtension,
    Kind::LotStored,
    Kind::BatchPlan,
    Kind::CircuitDigests,
    Kind::CheckSet,
    Kind::CheckedSeeds,
    Kind::Buckets,
    Kind::BucketCircuits,
    Kind::HalfChoices,
    Kind::BucketOpenings,
    Kind::BatchChecked,
    Kind::MaskedInput,
    Kind::InputLabels,
    Kind::RecoveryChoice,
    Kind::RecoveryLabels,
    Kind::MaskedResult,
    Kind::ExecutionReady,
    Kind::ChargedSecurity,
];

/// The messages of `authenticated`.
const OF_AUTHENTICATED: [Kind; 13] = [
    Kind::CotExtension,
    Kind::LeakyAnds,
    Kind::LeakyBits,
    Kind::EqualityDigest,
    Kind::EqualityOpening,
    Kind::TripleOpenings,
    Kind::MaskedInputs,
    Kind::GateOpenings,
    Kind::AuthenticatedTables,
    Kind::MaskedValues,
    Kind::LabelDigest,
    Kind::GateProof,
    Kind::ResultOpening,
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Batch,
    Authenticated,
}

#[derive(Clone, Copy)]
struct Case {
    protocol: Protocol,
    liar: Role,
    kind: u8,
    tampering: Option<Tampering>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (liar, kind) = (self.liar.name(), self.kind);
        write!(f, "{liar} lies, message kind {kind}, {:?}", self.tampering)
    }
}

fn place(role: Role) -> usize {
    match role {
        Role::Garbler => 0,
        Role::Evaluator => 1,
    }
}

fn fingerprint(role: Role) -> Fingerprint {
    Fingerprint([1 + place(role) as u8; 32])
}

impl Case {
    fn sink(&self, transport: Transport, trace: &Trace) -> Transport {
        transport.map_sink(|inner| {
            Box::new(match self.tampering {
                Some(tampering) => TamperingSink::new(inner, tampering),
                None => TamperingSink::rewriting(inner, noting(trace)),
            })
        })
    }

    fn party(
        &self,
        function: &Function,
        channel: Channel,
        folders: &Folders,
        role: Role,
    ) -> Result<Outcome, Error> {
        let side = match role {
            Role::Garbler => Side::Connecting,
            Role::Evaluator => Side::Listening,
        };
        let stocks = Stocks::open(folders.path(place(role)), 1 << 24)?;
        let mut session = Session::over(channel, side, Some(&fingerprint(role)))?;
        let job = Job::new(function, role);
        let job = match self.protocol {
            Protocol::Authenticated => job.authenticated(),
            Protocol::Batch => {
                BatchPreparation::new(role, function, 1)
                    .insecure_for_measurements(SECURITY_BITS)
                    .run(&mut session, &stocks)?;
                job.batch(&stocks).insecure_for_measurements(SECURITY_BITS)
            }
        };
        let job = match role {
            Role::Garbler => job.input("a", GARBLER_INPUT),
            Role::Evaluator => job.input("b", EVALUATOR_INPUT),
        };
        job.run(&mut session)
    }

    /// The honest party's outcome, and what the liar would have sent.
    fn run(&self, function: &Function, folders: &Folders) -> (Result<Outcome, Error>, Trace) {
        let (honest, liar) = memory::raw_pair(memory::PIPE_BYTES);
        let trace = Trace::default();
        let liar = self.sink(liar.into_transport(), &trace);
        let channels = (
            channel(honest.into_transport(), fingerprint(self.liar), TIMEOUT),
            channel(liar, fingerprint(self.liar.other()), TIMEOUT),
        );
        let honest = thread::scope(|scope| {
            let liar = scope.spawn(|| self.party(function, channels.1, folders, self.liar));
            let honest = self.party(function, channels.0, folders, self.liar.other());
            // How it ends for the liar is its own affair, but not even it panics.
            let _ = liar.join().expect("no panic");
            honest
        });
        (honest, trace)
    }

    /// Whether an honest party may end like this.
    fn allows(&self, result: &Result<Outcome, Error>) -> bool {
        let Some(Tampering { fault, .. }) = self.tampering else {
            return is_right(result);
        };
        let error = match result {
            Ok(_) => return is_right(result) && !fault.breaks_the_format(),
            Err(error) => error,
        };
        let timeout = matches!(error, Error::Network(NetError::Timeout { .. }));
        // Between two runs a connection that closes is a session's end.
        let closed = matches!(
            error,
            Error::Network(NetError::Closed { .. }) | Error::SessionOver { .. }
        );
        let blamed = matches!(error.category(), Category::Peer | Category::Incompatible)
            || matches!(error, Error::PeerAborted(_));
        match fault {
            Fault::CloseBefore | Fault::CloseWithin => closed || blamed,
            Fault::Silence
            | Fault::Drop
            | Fault::Reorder
            | Fault::InflateByOne
            | Fault::Garbage => timeout || blamed || closed,
            Fault::Trickle => false,
            _ => blamed,
        }
    }

    /// Why this case is not as it should be, if so, and how it ended.
    fn judge(&self, function: &Function) -> (Option<String>, String) {
        let folders = Folders::empty();
        let (result, _) = self.run(function, &folders);
        let mut wrong = (!self.allows(&result)).then(|| format!("{self}: {}", shown(&result)));
        let broken = self.tampering.map(|tampering| tampering.fault);
        if broken == Some(Fault::CloseBefore) {
            // Afterwards both are honest, over another connection.
            let later = Case {
                tampering: None,
                ..*self
            };
            let (again, _) = later.run(function, &folders);
            if !is_right(&again) && wrong.is_none() {
                wrong = Some(format!("{self}: afterwards: {}", shown(&again)));
            }
        }
        let ended = match &result {
            Ok(_) => "right result".to_owned(),
            Err(error) => format!("{:?}", error.category()),
        };
        (wrong, ended)
    }
}

fn is_right(result: &Result<Outcome, Error>) -> bool {
    let outcome = result.as_ref();
    outcome.is_ok_and(|outcome| outcome.outputs["a_is_richer"].to_text() == "1")
}

fn shown(result: &Result<Outcome, Error>) -> String {
    match result {
        Ok(outcome) => format!("result {}", outcome.outputs["a_is_richer"].to_text()),
        Err(error) => format!("{:?}: {error}", error.category()),
    }
}

/// Every message by either side, the first of a kind and its fault.
fn all_cases(protocol: Protocol, kinds: &[Kind], function: &Function) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut seen = Vec::new();
    for liar in [Role::Garbler, Role::Evaluator] {
        let honest = Case {
            protocol,
            liar,
            kind: 0,
            tampering: None,
        };
        let (result, trace) = honest.run(function, &Folders::empty());
        assert!(is_right(&result), "{}", shown(&result));
        let trace = trace.lock().expect("no panic");
        for &wanted in kinds {
            let mut messages = trace.iter().enumerate();
            let Some((message, (kind, length))) =
                messages.find(|(_, (kind, _))| *kind == wanted.byte())
            else {
                continue;
            };
            seen.push(wanted);
            let faults = Fault::ALL
                .iter()
                .filter(|fault| fault.changes(*length) && !fault.takes_long(*length));
            cases.extend(faults.map(|fault| Case {
                protocol,
                liar,
                kind: *kind,
                tampering: Some(Tampering {
                    message,
                    fault: *fault,
                }),
            }));
        }
    }
    for kind in kinds {
        assert!(seen.contains(kind), "{kind} is sent");
    }
    cases
}

#[test]
fn every_message_of_batch_under_every_fault() {
    every_message(Protocol::Batch, &OF_BATCH);
}

#[test]
fn every_message_of_authenticated_under_every_fault() {
    every_message(Protocol::Authenticated, &OF_AUTHENTICATED);
}

fn every_message(protocol: Protocol, kinds: &[Kind]) {
    let function = library::function("millionaires", &[("bits".to_owned(), 8)].into())
        .expect("a function of the library");
    let cases = all_cases(protocol, kinds, &function);
    judge_each(cases, 250, |case| case.judge(&function));
}
