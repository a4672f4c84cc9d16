//! Each message of `batch`, in preparations and in a run, and of `authenticated`, from either side,
//! under each fault: the honest party ends in time, with an error of the right kind or the right
//! result, and never with a wrong one. Afterwards the parties can prepare and run again.
//!
//! Messages that other protocols send as well (the greeting, base OTs, the meeting of the stocks,
//! leases) are tested with those protocols.

use std::fmt;

use crate::judge_each;
use crate::liar::{Lie, allows, ended, is_right, millionaires, session, shown};
use tacit::stock::BatchPreparation;
use tacit::{Error, Function, Job, Outcome, Role};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{Folders, ROLES, Trace, insecure};
use tacit_testkit::tamper::{Fault, Tampering};

/// Low, so that a batch is a few circuits.
const SECURITY_BITS: u8 = 2;
/// This exceeds a lying evaluator's changed input, except for one value in 256.
const GARBLER_INPUT: u8 = 255;
const EVALUATOR_INPUT: u8 = 40;

/// The messages that only `batch` sends, and those that end a lot and bring its OTs.
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
const OF_AUTHENTICATED: [Kind; 15] = [
    Kind::CotExtension,
    Kind::LeakyAnds,
    Kind::LeakyBits,
    Kind::EqualityCommitment,
    Kind::EqualityDigest,
    Kind::EqualityOpening,
    Kind::CoinOpening,
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
    lie: Lie,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (liar, kind) = (self.liar.name(), self.kind);
        write!(f, "{liar} lies, message kind {kind}, {}", self.lie)
    }
}

impl Case {
    fn party(
        &self,
        function: &Function,
        transport: Transport,
        folders: &Folders,
        role: Role,
    ) -> Result<Outcome, Error> {
        let stocks = folders.stocks(role)?;
        let mut session = session(transport, role)?;
        let job = Job::new(function, role);
        let job = match self.protocol {
            Protocol::Authenticated => job.authenticated(),
            Protocol::Batch => {
                BatchPreparation::new(role, function, 1)
                    .statistical_security(insecure(SECURITY_BITS))
                    .run(&mut session, &stocks)?;
                job.batch(&stocks)
                    .statistical_security(insecure(SECURITY_BITS))
            }
        };
        let job = match role {
            Role::Garbler => job.input("a", GARBLER_INPUT),
            Role::Evaluator => job.input("b", EVALUATOR_INPUT),
        };
        job.run(&mut session)
    }

    /// Returns the honest party's outcome, and the messages that the liar would have sent.
    fn run(&self, function: &Function, folders: &Folders) -> (Result<Outcome, Error>, Trace) {
        let party = |transport, role| self.party(function, transport, folders, role);
        self.lie.run(self.liar, party)
    }

    /// Returns the problem of this case, if there is one, and a description of its end.
    fn judge(&self, function: &Function) -> (Option<String>, String) {
        let folders = Folders::empty();
        let (result, _) = self.run(function, &folders);
        let fault = self.lie.fault();
        let allowed = fault.is_some_and(|fault| allows(fault, &result));
        let mut wrong = (!allowed).then(|| format!("{self}: {}", shown(&result)));
        if fault == Some(Fault::CloseBefore) {
            // Afterwards both are honest, over another connection.
            let later = Case {
                lie: Lie::Nothing,
                ..*self
            };
            let (again, _) = later.run(function, &folders);
            if !is_right(&again) && wrong.is_none() {
                wrong = Some(format!("{self}: afterwards: {}", shown(&again)));
            }
        }
        (wrong, ended(&result))
    }
}

/// Returns every message by either side, the first of a kind, with its faults.
fn all_cases(protocol: Protocol, kinds: &[Kind], function: &Function) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut seen = Vec::new();
    for liar in ROLES {
        let honest = Case {
            protocol,
            liar,
            kind: 0,
            lie: Lie::Nothing,
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
                lie: Lie::Fault(Tampering {
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
    let function = millionaires(8);
    let cases = all_cases(protocol, kinds, &function);
    judge_each(cases, 250, |case| case.judge(&function));
}
