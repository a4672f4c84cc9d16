//! Each message of a session and of `direct`, from either side, under each fault: the honest party
//! ends in time, with an error of the right kind or the right result, and never with a wrong one.

use crate::judge_each;
use crate::liar::{Lie, TIMEOUT, allows, ended, is_right, millionaires, shown};
use tacit::garble::{SCHEMES, SchemeId};
use tacit::{Error, Function, Job, Outcome, Role, Session};
use tacit_net::{Channel, Transport};
use tacit_testkit::sessions::{ROLES, Trace, side};
use tacit_testkit::tamper::{Fault, Tampering};

const GARBLER_INPUT: u32 = 41;
const EVALUATOR_INPUT: u32 = 40;
/// The short part of the test takes one of this many faults of a message under a scheme; the
/// schemes take different ones.
const SAMPLED: usize = 5;

#[derive(Clone, Copy)]
struct Case<'a> {
    function: &'a Function,
    scheme: SchemeId,
    liar: Role,
    lie: Lie,
}

impl Case<'_> {
    fn party(&self, transport: Transport, role: Role) -> Result<Outcome, Error> {
        let mut channel = Channel::over(transport);
        channel.set_timeout(TIMEOUT);
        let mut session = Session::over(channel, side(role), None)?;
        let job = Job::new(self.function, role).scheme(self.scheme);
        let job = match role {
            Role::Garbler => job.input("a", GARBLER_INPUT),
            Role::Evaluator => job.input("b", EVALUATOR_INPUT),
        };
        job.run(&mut session)
    }

    /// Returns the honest party's outcome, and the messages that the liar would have sent.
    fn run(&self) -> (Result<Outcome, Error>, Trace) {
        self.lie
            .run(self.liar, |transport, role| self.party(transport, role))
    }

    /// Returns the problem of the honest party's outcome, if there is one, and a description of its
    /// end.
    fn judge(&self) -> (Option<String>, String) {
        let (result, _) = self.run();
        let (scheme, liar, lie) = (self.scheme, self.liar, self.lie);
        let allowed = lie.fault().is_some_and(|fault| allows(fault, &result));
        let wrong =
            (!allowed).then(|| format!("{scheme}, {liar:?} lies, {lie}: {}", shown(&result)));
        (wrong, ended(&result))
    }
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

/// Judges every message under one of `every` faults, and every fault.
fn judge_all(every: usize, least: usize) {
    let function = millionaires(32);
    let mut cases = Vec::new();
    for (turn, scheme) in SCHEMES.iter().map(|scheme| scheme.id).enumerate() {
        for liar in ROLES {
            let honest = Case {
                function: &function,
                scheme,
                liar,
                lie: Lie::Nothing,
            };
            let (result, trace) = honest.run();
            assert!(is_right(&result), "{}", shown(&result));
            let messages = trace.lock().expect("no panic").len();
            assert!(messages >= 5, "hello, proposal, OT and more");
            for message in 0..messages {
                let faults = Fault::ALL.iter().copied();
                let faults = faults.filter(|fault| fault.in_sample(turn + message, every));
                cases.extend(faults.map(|fault| Case {
                    lie: Lie::Fault(Tampering { message, fault }),
                    ..honest
                }));
            }
        }
    }
    judge_each(cases, least, Case::judge);
}
