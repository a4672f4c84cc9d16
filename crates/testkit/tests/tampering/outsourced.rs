//! Each message of `outsourced`, from any of the three parties to either of the others, under each
//! fault: both honest parties end in time, with an error of the right kind or the right result, and
//! never with a wrong one. After a lost connection the chain can go on.
//!
//! Messages that other protocols send as well (the greeting, the proposal, OTs) are tested with
//! those protocols.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::judge_each;
use crate::liar::shown;
use tacit::net::NetError;
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters, OutsourcedRole};
use tacit::stock::Stocks;
use tacit::{Category, Error, Function, Outcome, ProtocolError};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::Folders;
use tacit_testkit::tamper::{Fault, Tampering, TamperingSink};
use tacit_testkit::three::{Direction, kept_riches, others, run_three};

use OutsourcedRole::{Cloud, Evaluator, Generator};

/// The longest wait: the faults that end in a timeout wait this long, all of them at once.
const TIMEOUT: Duration = Duration::from_millis(8000);
/// Two circuits are evaluated and three checked.
const COPIES: u32 = 5;
const SECURITY_BITS: u8 = 40;
const GENERATOR_INPUT: u8 = 200;
const EVALUATOR_INPUT: u8 = 40;
const CHAIN: &str = "kept";
/// The short part of the test takes one of this many faults of a message.
const SAMPLED: usize = 10;

/// The messages that only `outsourced` sends.
const KINDS: [Kind; 15] = [
    Kind::OutsourcedTerms,
    Kind::TossCommitment,
    Kind::KeyHashes,
    Kind::Split,
    Kind::Permutation,
    Kind::Orders,
    Kind::TransferKeys,
    Kind::CopyHeads,
    Kind::TossOpening,
    Kind::InputDecodings,
    Kind::TransferStrings,
    Kind::Copies,
    Kind::OutsourcedResult,
    Kind::ChainMarks,
    Kind::VersionKept,
];

/// The actions of the parties in their sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// A run that starts a chain.
    Begin,
    /// A run that loads the kept value, and saves a new one.
    GoOn,
}

#[derive(Clone, Copy)]
struct Case {
    plan: Plan,
    /// The liar, and the receiver of the lie.
    lie: Direction,
    kind: u8,
    tampering: Option<Tampering>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (liar, to) = self.lie;
        let (plan, kind) = (self.plan, self.kind);
        write!(
            f,
            "{plan:?}, {liar} lies to {to}, message kind {kind}, {:?}",
            self.tampering
        )
    }
}

/// The functions of both plans.
struct Functions([Function; 2]);

impl Functions {
    fn new() -> Self {
        Self([false, true].map(kept_riches))
    }

    fn of(&self, plan: Plan) -> &Function {
        &self.0[plan as usize]
    }
}

/// The kinds and lengths of the messages in each direction.
type Traces = Arc<Mutex<BTreeMap<[u8; 2], Vec<(u8, usize)>>>>;

fn key((from, to): Direction) -> [u8; 2] {
    [from as u8, to as u8]
}

/// The results of both honest parties, or of all three if no party lies.
type Ends = Vec<(OutsourcedRole, Result<Outcome, Error>)>;

impl Case {
    /// Returns the transport below the end of a link that sends in `direction`.
    fn below(&self, transport: Transport, direction: Direction, traces: &Traces) -> Transport {
        transport.map_sink(|inner| match self.tampering {
            Some(tampering) if self.lie == direction => {
                Box::new(TamperingSink::new(inner, tampering))
            }
            Some(_) => inner,
            None => {
                let traces = Arc::clone(traces);
                let note = move |_, kind, payload: &[u8]| {
                    let mut traces = traces.lock().expect("no panic");
                    let trace = traces.entry(key(direction)).or_default();
                    trace.push((kind, payload.len()));
                    None
                };
                Box::new(TamperingSink::rewriting(inner, Box::new(note)))
            }
        })
    }

    fn job<'f>(
        &self,
        role: OutsourcedRole,
        functions: &'f Functions,
        folders: &Folders,
    ) -> OutsourcedJob<'f> {
        let parameters = OutsourcedParameters::insecure_for_measurements(COPIES, SECURITY_BITS);
        let function = functions.of(self.plan);
        let job = OutsourcedJob::new(function, parameters.expect("parameters")).patience(TIMEOUT);
        let stocks = |at: usize| {
            let folder = folders.path(at);
            // A copy of the folder includes a copy of its notes.
            Stocks::open_witnessed(folder, 1 << 24, &folder.join("witness")).expect("a folder")
        };
        match role {
            Generator => job
                .chain(&stocks(0), CHAIN, &[])
                .input("a", GENERATOR_INPUT),
            Evaluator => job.input("b", EVALUATOR_INPUT),
            Cloud => job.chain(&stocks(1), CHAIN, &[]),
        }
    }

    /// Returns the results of the parties that do not lie, and the messages sent if no party lies.
    fn run(&self, functions: &Functions, folders: &Folders) -> (Ends, Traces) {
        let traces = Traces::default();
        let ends = run_three(
            &|role| self.job(role, functions, folders),
            &|direction, transport| self.below(transport, direction, &traces),
            TIMEOUT,
        );
        let mut ends: Ends = OutsourcedRole::ALL.into_iter().zip(ends).collect();
        // The liar may end in any way.
        ends.retain(|(role, _)| self.tampering.is_none() || *role != self.lie.0);
        (ends, traces)
    }

    /// Returns whether it may end like this for an honest party.
    fn allows(&self, role: OutsourcedRole, result: &Result<Outcome, Error>) -> bool {
        let Some(Tampering { fault, .. }) = self.tampering else {
            return is_right(role, result);
        };
        let is_next = role == self.lie.1;
        let error = match result {
            Ok(_) => return is_right(role, result) && !(is_next && fault.breaks_the_format()),
            Err(error) => error,
        };
        let timeout = matches!(error.cause(), Error::Network(NetError::Timeout { .. }));
        let closed = matches!(
            error.cause(),
            Error::Network(NetError::Closed { .. }) | Error::SessionOver { .. }
        );
        let blamed = matches!(error.category(), Category::Peer | Category::Incompatible)
            || matches!(
                error.cause(),
                Error::Protocol(ProtocolError::PeerAborted(_))
            );
        match fault {
            Fault::CloseBefore | Fault::CloseWithin => closed || blamed,
            _ if waits(fault) => timeout || blamed || closed,
            Fault::Trickle => false,
            // Other parties may notice it first and leave; that may be noticed before its reason.
            _ => blamed || (closed && !(is_next && fault.breaks_the_format())),
        }
    }

    /// Returns the problem of this case, if there is one, and a description of its end.
    fn judge(&self, functions: &Functions, template: &Folders) -> (Option<String>, String) {
        let folders = match self.plan {
            Plan::Begin => Folders::empty(),
            Plan::GoOn => template.copy(),
        };
        let (ends, _) = self.run(functions, &folders);
        let mut wrong = ends
            .iter()
            .find(|(role, result)| !self.allows(*role, result))
            .map(|(role, result)| format!("{self}: {role}: {}", shown(result)));
        let fault = self.tampering.map(|tampering| tampering.fault);
        if fault == Some(Fault::CloseBefore) && self.plan == Plan::GoOn {
            // Afterwards all are honest, over other connections.
            let later = Case {
                tampering: None,
                ..*self
            };
            let (again, _) = later.run(functions, &folders);
            let bad = again.iter().find(|(role, result)| !is_right(*role, result));
            if let (Some((role, result)), None) = (bad, &wrong) {
                wrong = Some(format!("{self}: afterwards: {role}: {}", shown(result)));
            }
        }
        let ended = ends.iter().map(|(_, result)| match result {
            Ok(_) => "right result".to_owned(),
            Err(error) => format!("{:?}", error.category()),
        });
        (wrong, ended.collect::<Vec<_>>().join(" and "))
    }
}

fn is_right(role: OutsourcedRole, result: &Result<Outcome, Error>) -> bool {
    let Ok(outcome) = result else { return false };
    let outputs = &outcome.outputs;
    match role {
        Cloud => outputs.is_empty(),
        Generator | Evaluator => {
            !outputs.is_empty() && outputs.values().all(|value| value.to_text() == "1")
        }
    }
}

/// Returns whether a party may wait in vain after a fault.
fn waits(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Silence | Fault::Drop | Fault::Reorder | Fault::InflateByOne | Fault::Garbage
    )
}

/// Makes an honest run of `plan` in `folders`. Returns the messages sent.
fn honest(plan: Plan, functions: &Functions, folders: &Folders) -> Traces {
    let case = Case {
        plan,
        lie: (Generator, Cloud),
        kind: 0,
        tampering: None,
    };
    let (ends, traces) = case.run(functions, folders);
    for (role, result) in &ends {
        assert!(
            is_right(*role, result),
            "{plan:?}, {role}: {}",
            shown(result)
        );
    }
    assert_eq!(ends.len(), 3);
    traces
}

/// Returns every message in every direction in both plans, the first of a kind, with its faults:
/// all of them, or one of `every`, so that each message and each fault occurs.
fn cases(functions: &Functions, template: &Folders, every: usize) -> Vec<Case> {
    let (mut cases, mut seen, mut messages) = (Vec::new(), Vec::new(), 0);
    for plan in [Plan::Begin, Plan::GoOn] {
        let folders = match plan {
            Plan::Begin => Folders::empty(),
            Plan::GoOn => template.copy(),
        };
        let traces = honest(plan, functions, &folders);
        let traces = traces.lock().expect("no panic");
        for liar in OutsourcedRole::ALL {
            for lie in others(liar).map(|to| (liar, to)) {
                for wanted in KINDS {
                    let mut sent = traces[&key(lie)].iter().enumerate();
                    let Some((message, (kind, length))) =
                        sent.find(|(_, (kind, _))| *kind == wanted.byte())
                    else {
                        continue;
                    };
                    seen.push(wanted);
                    messages += 1;
                    let faults = Fault::ALL.iter().copied();
                    let faults = faults.filter(|fault| fault.in_sample(messages, every));
                    let faults =
                        faults.filter(|fault| fault.changes(*length) && !fault.takes_long(*length));
                    cases.extend(faults.map(|fault| Case {
                        plan,
                        lie,
                        kind: *kind,
                        tampering: Some(Tampering { message, fault }),
                    }));
                }
            }
        }
    }
    for kind in KINDS {
        assert!(seen.contains(&kind), "{kind} is sent");
    }
    for fault in Fault::ALL {
        let of = |case: &Case| case.tampering.is_some_and(|lie| lie.fault == *fault);
        assert!(cases.iter().any(of), "{fault:?} happens");
    }
    cases
}

fn judge_all(every: usize, least: usize) {
    let functions = Functions::new();
    let template = Folders::empty();
    honest(Plan::Begin, &functions, &template);
    let mut cases = cases(&functions, &template, every);
    // The last are taken first, so that cases with a long wait overlap with others.
    cases.sort_by_key(|case| case.tampering.is_some_and(|lie| waits(lie.fault)));
    judge_each(cases, least, |case| case.judge(&functions, &template));
}

#[test]
fn every_message_of_outsourced_and_every_fault() {
    judge_all(SAMPLED, 80);
}

#[test]
#[ignore = "long: every message under every fault"]
fn every_message_of_outsourced_under_every_fault() {
    judge_all(1, 800);
}
