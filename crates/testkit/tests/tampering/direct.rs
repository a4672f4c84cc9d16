//! Each message of a session and of `direct`, from either side, under each fault: the honest party
//! ends in time, with an error of the right kind or the right result, and never with a wrong one.

use std::thread;
use std::time::Duration;

use crate::judge_each;
use tacit::garble::{LADDER, SchemeId};
use tacit::{Category, Error, Function, Job, NetError, Outcome, Role, Session, Side, library};
use tacit_net::{Channel, memory};
use tacit_testkit::tamper::{Fault, Tampering, TamperingSink};

/// No wait lasts longer: the faults that end in a timeout wait for this long.
const TIMEOUT: Duration = Duration::from_millis(2500);
const GARBLER_INPUT: u32 = 41;
const EVALUATOR_INPUT: u32 = 40;
/// Of this many faults of a message under a scheme the short part of the test takes one; schemes
/// take others in turn.
const SAMPLED: usize = 5;

/// Channels of both sides, of which the liar's commits `tampering` on its way out.
fn channels(tampering: Option<Tampering>) -> (Channel, Channel) {
    let (honest, liar) = memory::raw_pair(memory::PIPE_BYTES);
    let liar = match tampering {
        None => liar.into_transport(),
        Some(tampering) => liar
            .into_transport()
            .map_sink(|inner| Box::new(TamperingSink::new(inner, tampering))),
    };
    let mut channels = (Channel::over(honest.into_transport()), Channel::over(liar));
    channels.0.set_timeout(TIMEOUT);
    channels.1.set_timeout(TIMEOUT);
    channels
}

#[derive(Clone, Copy)]
struct Case<'a> {
    function: &'a Function,
    scheme: SchemeId,
    liar: Role,
    tampering: Option<Tampering>,
}

impl Case<'_> {
    fn party(&self, channel: Channel, side: Side, role: Role) -> (Result<Outcome, Error>, u64) {
        let mut sent = 0;
        let run = || {
            let mut session = Session::over(channel, side, None)?;
            let job = Job::new(self.function, role).scheme(self.scheme);
            let job = match role {
                Role::Garbler => job.input("a", GARBLER_INPUT),
                Role::Evaluator => job.input("b", EVALUATOR_INPUT),
            };
            let outcome = job.run(&mut session);
            sent = session.traffic().sent.frames;
            outcome
        };
        (run(), sent)
    }

    /// The honest party's outcome, and how many messages the liar would have sent.
    fn run(&self) -> (Result<Outcome, Error>, u64) {
        let (honest, liar) = channels(self.tampering);
        let roles = (self.liar.other(), self.liar);
        let side = |role| {
            if role == Role::Garbler {
                Side::Connecting
            } else {
                Side::Listening
            }
        };
        thread::scope(|scope| {
            let liar = scope.spawn(|| self.party(liar, side(roles.1), roles.1));
            let honest = self.party(honest, side(roles.0), roles.0).0;
            (honest, liar.join().expect("not even the liar panics").1)
        })
    }

    /// What is wrong with the honest party's outcome, if anything is, and how it ended.
    fn judge(&self) -> (Option<String>, String) {
        let tampering = self.tampering.expect("a case has a fault");
        let (result, _) = self.run();
        let (shown, ended) = match &result {
            Ok(outcome) => (
                outcome.outputs["a_is_richer"].to_text(),
                "right result".to_owned(),
            ),
            Err(error) => (error.to_string(), format!("{:?}", error.category())),
        };
        let (scheme, liar) = (self.scheme, self.liar);
        let wrong = (!is_right(tampering.fault, &result))
            .then(|| format!("{scheme}, {liar:?} lies, {tampering:?}: {shown}"));
        (wrong, ended)
    }
}

/// Whether an honest party may end like this after such a fault.
fn is_right(fault: Fault, result: &Result<Outcome, Error>) -> bool {
    let error = match result {
        Ok(outcome) => {
            let richer = outcome.outputs["a_is_richer"].to_bits()[0];
            return richer && !must_fail(fault);
        }
        Err(error) => error,
    };
    let timeout = matches!(error, Error::Network(NetError::Timeout { .. }));
    let closed = matches!(error, Error::Network(NetError::Closed { .. }));
    let blamed = matches!(error.category(), Category::Peer | Category::Incompatible)
        || matches!(error, Error::PeerAborted(_));
    match fault {
        Fault::CloseBefore | Fault::CloseWithin => closed || blamed,
        Fault::Silence | Fault::Drop | Fault::Reorder | Fault::InflateByOne | Fault::Garbage => {
            timeout || blamed || closed
        }
        Fault::Trickle => false,
        _ => blamed,
    }
}

/// The faults after which no honest party has a result: they break the format, not only a value.
fn must_fail(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Truncate
            | Fault::Empty
            | Fault::Extend
            | Fault::OtherKind
            | Fault::UnknownKind
            | Fault::Inflate
            | Fault::InflateByOne
            | Fault::CloseBefore
            | Fault::CloseWithin
            | Fault::Garbage
            | Fault::Silence
    )
}

#[test]
fn every_message_and_every_fault() {
    judge_all(SAMPLED, 200);
}

#[test]
#[ignore = "long: every message under every fault and every scheme"]
fn every_message_under_every_fault() {
    judge_all(1, 1_000);
}

/// Every message under one of `every` faults, and every fault.
fn judge_all(every: usize, least: usize) {
    let function = library::function("millionaires", &[("bits".to_owned(), 32)].into())
        .expect("a function of the library");
    let mut cases = Vec::new();
    for (turn, scheme) in LADDER.iter().map(|rung| rung.id).enumerate() {
        for liar in [Role::Garbler, Role::Evaluator] {
            let honest = Case {
                function: &function,
                scheme,
                liar,
                tampering: None,
            };
            let (result, messages) = honest.run();
            let richer = result.expect("an honest run").outputs["a_is_richer"].to_bits()[0];
            assert!(richer);
            assert!(messages >= 5, "hello, proposal, OT and more");
            for message in 0..messages as usize {
                let faults = Fault::ALL.iter().copied();
                let faults = faults.filter(|fault| fault.in_sample(turn + message, every));
                cases.extend(faults.map(|fault| Case {
                    tampering: Some(Tampering { message, fault }),
                    ..honest
                }));
            }
        }
    }
    judge_each(cases, least, Case::judge);
}
