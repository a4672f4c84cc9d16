//! Each message of a run that loads and saves a value, from either side, under each fault, and lies
//! of the right form: the honest party ends in time, with an error or the right result. Afterwards
//! both continue from one version, unless one lied about it.

mod shared;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::judge_each;
use crate::liar::{Lie, MOST, ended, faults, put, session};
use tacit::protocols::Protocol;
use tacit::stock::Stocks;
use tacit::{Category, Error, Function, FunctionBuilder, Job, Operand, Outcome, Recipient, Role};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_stock::Memory;
use tacit_testkit::sessions::{Folders, ROLES, Trace};
use tacit_testkit::tamper::Fault;

/// The short part of the test takes one of this many faults of a message.
const SAMPLED: usize = 5;

/// Returns a function that starts the chain with 5.
fn begin() -> Function {
    function(|f| {
        f.save("total", "u8", Operand::number(5));
    })
}

/// Returns a function that adds a number of the garbler's, and shows the sum to both.
fn add() -> Function {
    add_of(Role::Garbler)
}

/// Does the same with a number of this party's: the evaluator's takes OTs.
fn add_of(role: Role) -> Function {
    function(|f| {
        f.library("add", "adder", &[("bits", 8)])
            .load("total", "u8")
            .input("step", "u8", role)
            .value("sum", "u8")
            .call(["sum"], "add", ["total", "step"])
            .save("total", "u8", "sum")
            .output("shown", "u8", Recipient::Both, "sum");
    })
}

/// Returns a function that keeps nothing, and takes a number of the evaluator's.
fn double() -> Function {
    function(|f| {
        f.library("add", "adder", &[("bits", 8)])
            .input("step", "u8", Role::Evaluator)
            .value("sum", "u8")
            .call(["sum"], "add", ["step", "step"])
            .output("shown", "u8", Recipient::Both, "sum");
    })
}

fn function(fill: impl FnOnce(&mut FunctionBuilder)) -> Function {
    let mut builder = FunctionBuilder::new("function");
    fill(&mut builder);
    builder.finish().expect("well formed")
}

#[derive(Clone, Copy)]
struct Case {
    protocol: Protocol,
    liar: Role,
    lie: Lie,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (protocol, liar) = (self.protocol.name(), self.liar.name());
        write!(f, "{protocol}, {liar} lies: {}", self.lie)
    }
}

/// Makes one party's run of `function` in the chain.
fn party(
    function: &Function,
    transport: Transport,
    stocks: &Stocks,
    (protocol, role, step): (Protocol, Role, u8),
) -> Result<Outcome, Error> {
    let mut session = session(transport, role)?;
    let job = Job::new(function, role);
    let job = match protocol {
        Protocol::Prepared => job.prepared(stocks),
        _ => job.by(Protocol::Authenticated, Some(stocks)).unwrap(),
    };
    let job = if function.has_saved_values() {
        job.chain("total")
    } else {
        job
    };
    let is_mine = function.inputs().iter().any(|input| input.owner == role);
    if is_mine {
        return job.input("step", step).run(&mut session);
    }
    job.run(&mut session)
}

impl Case {
    /// Returns the honest party's outcome, and the messages that the liar would have sent.
    fn run(
        &self,
        function: &Function,
        folders: &Folders,
        step: u8,
    ) -> (Result<Outcome, Error>, Trace) {
        self.run_on(function, |role| folders.stocks(role), step)
    }

    /// Does the same with the stocks that `stocks` opens.
    fn run_on(
        &self,
        function: &Function,
        stocks: impl Fn(Role) -> Result<Stocks, Error> + Sync,
        step: u8,
    ) -> (Result<Outcome, Error>, Trace) {
        let party = |transport, role| {
            let how = (self.protocol, role, step);
            party(function, transport, &stocks(role)?, how)
        };
        self.lie.run(self.liar, party)
    }

    /// Returns whether the parties' disks may differ or hold a meaningless state, or the chain may
    /// have ended, which any message that no honest party sends causes under `authenticated`.
    fn may_have_ended(&self, result: &Result<Outcome, Error>) -> bool {
        let is_caught = |error: &Error| error.category() == Category::Peer;
        let ends = self.protocol == Protocol::Authenticated;
        self.lie.is_of_values()
            || self.lie.fault() == Some(Fault::Repeat)
            || ends && result.as_ref().is_err_and(is_caught)
    }

    /// Returns the problem of this case, if there is one, and a description of its end.
    fn judge(&self, template: &Folders) -> (Option<String>, String) {
        let (function, folders) = (add(), template.copy());
        let shown = |outcome: &Outcome| outcome.outputs["shown"].to_text();
        let (result, _) = self.run(&function, &folders, 7);
        // No AND gate reads the highest bit of the liar's number. Under `authenticated`, naming
        // another masked value of that bit means another number, 7 + 128.
        let other_input = self.lie.fault() == Some(Fault::FlipLast);
        let total: u8 = match &result {
            Err(_) => 12,
            Ok(outcome) => shown(outcome).parse().expect("a number"),
        };
        if total != 12 && !(total == 140 && other_input && self.protocol == Protocol::Authenticated)
        {
            let wrong = format!("{self}: result {total}");
            return (Some(wrong), "wrong result".to_owned());
        }
        // Afterwards both are honest, over another connection.
        let later = Case {
            lie: Lie::Nothing,
            ..*self
        };
        let (again, _) = later.run(&function, &folders, 1);
        let after = (total + 1).to_string();
        let due = if result.is_ok() {
            vec![after]
        } else {
            vec!["6".to_owned(), after]
        };
        let wrong = match &again {
            Ok(outcome) if due.contains(&shown(outcome)) => None,
            Err(_) if self.may_have_ended(&result) => None,
            Ok(outcome) => Some(format!("{self}: afterwards {}", shown(outcome))),
            Err(error) => Some(format!("{self}: afterwards: {error}")),
        };
        (wrong, format!("{}, then {}", ended(&result), ended(&again)))
    }
}

/// The places of the fields of marks and of a state: see `tacit_stock::ChainMarks` and
/// `tacit_protocol::saved::SavedState`.
const STATUS: usize = 1;
const ID: usize = 2;
const ATTEMPT: usize = 18;
const LATEST: usize = 26;
const PENDING: usize = 34;
const NAME: usize = 74;
const STATE_VERSION: usize = 25;
const STATE_LOADS: usize = 33;

type Told = (Kind, &'static str, fn(&[u8]) -> Vec<u8>);

/// Lies that either party tells.
const LIES: &[Told] = &[
    (Kind::ChainMarks, "killed", |m| put(m, STATUS, &[2])),
    (Kind::ChainMarks, "absent", |_| {
        [&[1, 0][..], &[0; 72], b"total"].concat()
    }),
    (Kind::ChainMarks, "another chain", |m| put(m, ID, MOST)),
    (Kind::ChainMarks, "the last attempt", |m| {
        put(m, ATTEMPT, MOST)
    }),
    (Kind::ChainMarks, "far ahead", |m| {
        put(m, ATTEMPT, &(1_u64 << 20).to_le_bytes())
    }),
    (Kind::ChainMarks, "a later version", |m| {
        put(m, LATEST, &9_u64.to_le_bytes())
    }),
    (Kind::ChainMarks, "another pending", |m| {
        put(m, PENDING, &9_u64.to_le_bytes())
    }),
    (Kind::ChainMarks, "another name", |m| put(m, NAME, b"T")),
    (Kind::ChainMarks, "no name", |m| m[..NAME].to_vec()),
    (Kind::SavedState, "another version", |m| {
        put(m, STATE_VERSION, &9_u64.to_le_bytes())
    }),
    (Kind::SavedState, "other loads", |m| {
        put(m, STATE_LOADS, MOST)
    }),
    (Kind::SavedState, "no chain", |m| vec![0; m.len()]),
    (Kind::VersionKept, "another", |m| put(m, 0, MOST)),
    (Kind::VersionKept, "the one before", |m| {
        put(m, 0, &1_u64.to_le_bytes())
    }),
];

/// Returns every lie, and every message under one of `every` faults.
fn cases(protocol: Protocol, template: &Folders, every: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for liar in ROLES {
        let case = |lie| Case {
            protocol,
            liar,
            lie,
        };
        let (result, trace) = case(Lie::Nothing).run(&add(), &template.copy(), 7);
        let outcome = result.expect("an honest run");
        assert_eq!(outcome.outputs["shown"].to_text(), "12");
        cases.extend(faults(&trace, every).into_iter().map(case));
        let trace = trace.lock().expect("no panic");
        for &(kind, what, lie) in LIES {
            assert!(trace.iter().any(|sent| sent.0 == kind.byte()), "{kind}");
            cases.push(case(Lie::Payload(kind, what, lie)));
        }
    }
    cases
}

fn judge_all(protocol: Protocol, every: usize, least: usize) {
    let template = Folders::empty();
    let honest = Case { protocol, ..HONEST };
    let (begun, _) = honest.run(&begin(), &template, 0);
    begun.expect("a chain");
    judge_each(cases(protocol, &template, every), least, |case| {
        case.judge(&template)
    });
}

#[test]
fn every_message_of_a_chain_and_every_fault() {
    judge_all(Protocol::Prepared, SAMPLED, 60);
}

#[test]
#[ignore = "long: every message under every fault"]
fn every_message_of_a_chain_under_every_fault() {
    judge_all(Protocol::Prepared, 1, 200);
}

/// An evaluator that guesses at a bit of Δ, and is caught.
const GUESSES: Case = Case {
    protocol: Protocol::Prepared,
    liar: Role::Evaluator,
    lie: Lie::Payload(Kind::CotExtension, "one bit of a row", one_bit),
};

fn one_bit(message: &[u8]) -> Vec<u8> {
    let mut lie = message.to_vec();
    let at = lie.len() / 2;
    lie[at] ^= 1;
    lie
}

/// A case without a lie.
const HONEST: Case = Case {
    lie: Lie::Nothing,
    ..GUESSES
};

/// The liar may know bits of Δ, and so of the values that were saved under it: those of the run's
/// chain, and those of a chain that a run without a chain does not touch.
#[test]
fn a_lie_in_the_ot_extension_ends_the_chain() {
    for function in [add_of(Role::Evaluator), double()] {
        let folders = Folders::empty();
        HONEST.run(&begin(), &folders, 0).0.expect("a chain");
        let (result, _) = GUESSES.run(&function, &folders, 7);
        let error = result.expect_err("a check that fails");
        assert!(
            matches!(error, Error::StockDestroyed { left: None, .. }),
            "{error}"
        );
        let stocks = folders.stocks(Role::Garbler).expect("a folder");
        let chains = stocks.chains().expect("a folder that can be read");
        let why = chains[0].summary.killed.as_deref();
        assert!(
            why.is_some_and(|why| why.contains("was destroyed")),
            "{why:?}"
        );
    }
}

/// The storage of two parties, which can lose power.
struct Disks([Memory; 2]);

impl Disks {
    fn copy(&self) -> Self {
        Self(self.0.each_ref().map(Memory::copy))
    }

    fn stocks(&self, role: Role) -> Result<Stocks, Error> {
        let storage = Arc::new(self.0[role as usize].clone());
        Stocks::over(storage, Path::new("stocks"), 1 << 26)
    }

    fn run(&self, case: Case, function: &Function) -> Result<Outcome, Error> {
        case.run_on(function, |role| self.stocks(role), 7).0
    }
}

/// A chain that outlived the stock would open the Δ of the next stock to a party that knows the Δ
/// of this one, and a stock that outlived its chains would let the liar guess again. So
/// after a loss of power at any point while both end: if a chain was killed the stock no longer
/// opens, and if the stock is gone no chain is live.
#[test]
fn a_loss_of_power_ends_stock_and_chain_in_order() {
    for function in [add_of(Role::Evaluator), double()] {
        let start = Disks([(); 2].map(|()| Memory::new()));
        start.run(HONEST, &begin()).expect("a chain");
        let whole = start.copy();
        whole
            .run(GUESSES, &function)
            .expect_err("a check that fails");
        let points = whole.0[0].points();
        let (mut seen, mut most, mut told) = (BTreeSet::new(), 0, 0);
        // Chance decides which parts of a removed folder survive.
        for (point, seed) in (0..=points).flat_map(|point| (0..4).map(move |seed| (point, seed))) {
            let mut cut = start.copy();
            cut.0[0].lose_power_at(point, 4 * point + seed);
            let ended = cut.run(GUESSES, &function);
            let error = ended.expect_err("a check that fails, or no power");
            cut.0[0] = cut.0[0].restart();
            let stocks = cut.stocks(Role::Garbler).expect("power");
            let there = stocks.list().expect("a folder");
            let open = there.iter().filter(|name| stocks.check(name).is_ok());
            let open = open.count();
            let chains = stocks.chains().expect("a folder");
            let is_live = chains.iter().any(|chain| chain.summary.killed.is_none());
            // The chain starts under another scheme, whose stock stays.
            most = most.max(there.len());
            let ir = function.canonical_text();
            let place = format!("point {point} of {points}, seed {seed}: {ir}");
            // Before the lie is caught the stock may be under construction.
            let Error::StockDestroyed { left, .. } = &error else {
                assert!(is_live, "a chain ended before it had to at {place}");
                continue;
            };
            assert!(is_live || open < most, "a chain ended first at {place}");
            assert!(
                !is_live || there.len() == most,
                "a chain is left at {place}"
            );
            seen.insert((there.len(), open, is_live));
            // Its owner is told what was not removed, and what to do.
            assert!(
                left.is_some() || (!is_live && open < most),
                "{error}: {place}"
            );
            let advice = error
                .with_advice()
                .contains("what is left here with a new epoch");
            assert_eq!(advice, left.is_some(), "{error}");
            told += u32::from(left.is_some());
        }
        assert!(told > 2, "{told} times something was left");
        assert!(seen.len() >= 3, "{seen:?}");
    }
}
