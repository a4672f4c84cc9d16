//! `batch` between two sessions of one process: executions serve later sessions, are used once, and
//! are never made on the spot. An attempt that breaks off leaves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use tacit::advice::Remedy;
use tacit::garble::SchemeId;
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::stock::{BatchPreparation, ComponentDigest, Prepared, Stocks};
use tacit::{
    Category, Error, Function, Job, Outcome, ProtocolError, Role, Session, Value, library,
};
use tacit_stock::Memory;

use crate::pair::{Both, CIPHERTEXT, Pair, ROLES, aes_input, millionaires};

/// A low s, so that batches are small.
const S: u8 = 6;

/// Returns an s of `bits`, for measurements alone.
fn insecure(bits: u8) -> StatisticalSecurity {
    StatisticalSecurity::insecure_for_measurements(bits).expect("1 to 80 bits")
}

fn prepare(pair: &Pair, function: &Function, executions: u64) -> Both<Prepared> {
    pair.both(|party, session, stocks| order(function, party, executions).run(session, stocks))
}

/// Returns the number of usable executions at each party.
fn usable(pair: &Pair) -> [u64; 2] {
    [0, 1].map(|party| {
        let stocks = pair.stocks(party);
        let names = stocks.list().expect("a folder");
        let kinds = names.iter().flat_map(|name| {
            let summary = stocks.summary(name).expect("a stock");
            summary.kinds.into_iter()
        });
        kinds.map(|kind| kind.available + kind.pending).sum()
    })
}

fn order(function: &Function, party: usize, executions: u64) -> BatchPreparation<'_> {
    BatchPreparation::new(ROLES[party], function, executions).statistical_security(insecure(S))
}

fn run(
    function: &Function,
    party: usize,
    session: &mut Session,
    stocks: &Stocks,
    inputs: &[(&str, Value); 2],
) -> Result<Outcome, Error> {
    let (name, value) = &inputs[party];
    Job::new(function, ROLES[party])
        .batch(stocks)
        .statistical_security(insecure(S))
        .input(name, value.clone())
        .run(session)
}

fn compared(a: u64, b: u64) -> [(&'static str, Value); 2] {
    let number = |value: u64| Value::parse(&"u8".parse().expect("a type"), &value.to_string());
    [("a", number(a).expect("u8")), ("b", number(b).expect("u8"))]
}

/// An s below 40 is for measurements, and the error says so.
#[test]
fn fewer_than_40_bits_are_refused_unless_they_are_for_measurements() {
    let (function, parties) = (millionaires(8), Pair::in_folders());
    let stocks = &parties.stocks(0);
    let order = || BatchPreparation::new(Role::Garbler, &function, 1);
    let job = || Job::new(&function, Role::Garbler).batch(stocks);
    for few in [1, 39] {
        let of_any = StatisticalSecurity::new(few);
        let of_batch = Protocol::Batch.statistical_security(few);
        for refused in [of_any, of_batch] {
            let Err(Error::Protocol(ProtocolError::SecurityBits { found, least, .. })) = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!((found, least), (few, 40));
        }
        order()
            .statistical_security(insecure(few))
            .plan()
            .expect("a plan");
        job()
            .statistical_security(insecure(few))
            .check()
            .expect("it can be run");
    }
    order().plan().expect("40 bits");
    job().check().expect("40 bits");
}

#[test]
fn executions_are_there_after_a_restart_and_used_once() {
    let (parties, function) = (Pair::in_folders(), millionaires(8));
    for prepared in prepare(&parties, &function, 3) {
        let prepared = prepared.expect("a batch");
        assert_eq!((prepared.made(), prepared.available()), (3, 3));
        let plan = prepared.plan.expect("a plan");
        assert_eq!(
            (plan.executions(), plan.statistical_security_bits()),
            (3, S)
        );
    }
    // Both parties get the result.
    for (a, b, richer) in [(41, 40, "1"), (40, 41, "0")] {
        for outcome in parties
            .both(|party, session, stocks| run(&function, party, session, stocks, &compared(a, b)))
        {
            let outcome = outcome.expect("a result");
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), richer);
            assert_eq!(outcome.threat_model, ThreatModel::Malicious);
            assert_eq!(outcome.statistical_security_bits, Some(S));
        }
    }
    assert_eq!(usable(&parties), [1, 1]);
    // An order counts what is in stock, also in the same session. Afterwards nothing is left.
    let outcomes = parties.both(|party, session, stocks| {
        let prepared = order(&function, party, 2).run(session, stocks)?;
        assert_eq!((prepared.made(), prepared.available()), (1, 2));
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            outcomes.push(run(&function, party, session, stocks, &compared(7, 7)));
        }
        Ok(outcomes)
    });
    for outcomes in outcomes {
        let [first, second, third] = &outcomes.expect("three runs")[..] else {
            panic!("three runs");
        };
        for outcome in [first, second] {
            let outcome = outcome.as_ref().expect("a result");
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), "0");
        }
        let error = third.as_ref().expect_err("nothing is left");
        assert!(matches!(error, Error::NothingChecked { .. }), "{error}");
        assert_eq!(error.category(), Category::Stock);
        let advice = error.advice();
        let mut remedies = advice.remedies();
        assert!(
            remedies.any(|remedy| matches!(remedy, Remedy::PrepareBatch(_, S))),
            "{advice}"
        );
    }
    assert_eq!(usable(&parties), [0, 0]);
}

#[test]
fn aes_128_under_both_tables() {
    let (parties, aes) = (
        Pair::in_folders(),
        library::function("aes-128", &BTreeMap::new()),
    );
    let function = aes.expect("a function");
    for scheme in [SchemeId::HALF_GATES_TWO_CALL, SchemeId::THREE_HALVES] {
        let outcomes = parties.both(|party, session, stocks| {
            order(&function, party, 1)
                .scheme(scheme)
                .run(session, stocks)?;
            let (name, value) = aes_input(party);
            Job::new(&function, ROLES[party])
                .batch(stocks)
                .scheme(scheme)
                .statistical_security(insecure(S))
                .input(name, value)
                .run(session)
        });
        for outcome in outcomes {
            let outputs = outcome.expect("a result").outputs;
            let ciphertext = outputs["ciphertext"].to_text();
            assert_eq!(ciphertext, CIPHERTEXT, "{scheme}");
        }
    }
}

#[test]
fn an_attempt_that_fails_leaves_nothing() {
    let (mut parties, function) = (Pair::in_folders(), millionaires(8));
    // The evaluator's stock has no room for it.
    parties.max_bytes[1] = 10_000;
    let [garbler, evaluator] = prepare(&parties, &function, 2);
    let error = evaluator.expect_err("there is no room");
    assert_eq!(error.category(), Category::Stock, "{error}");
    assert!(garbler.is_err());
    assert_eq!(usable(&parties), [0, 0]);
    parties.max_bytes[1] = 1 << 30;
    for prepared in prepare(&parties, &function, 1) {
        assert_eq!(prepared.expect("a batch").made(), 1);
    }
    assert_eq!(usable(&parties), [1, 1]);
}

/// The kinds and numbers that a party took.
type Taken = BTreeSet<(ComponentDigest, u64)>;

/// Prepares two executions and runs them. Adds the numbers of each party's runs to `taken`, and
/// returns whether all of it succeeded.
fn work(pair: &Pair, function: &Function, taken: &[Mutex<Taken>; 2]) -> Result<(), Error> {
    let ended = pair.both(|party, session, stocks| {
        let mut taken = taken[party].lock().expect("no panic");
        let taken = &mut *taken;
        order(function, party, 2).run(session, stocks)?;
        for _ in 0..2 {
            let (name, value) = &compared(2, 1)[party];
            let outcome = Job::new(function, ROLES[party])
                .batch(stocks)
                .statistical_security(insecure(S))
                .input(name, value.clone())
                .watch_taken(|numbers| {
                    for number in numbers.spans.iter().flat_map(|span| span.first..span.end()) {
                        let new = taken.insert((numbers.digest, number));
                        assert!(new, "party {party} takes {number} twice");
                    }
                })
                .run(session)?;
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
        }
        Ok(())
    });
    ended.into_iter().collect()
}

/// The power fails at some points of each party's preparation or runs. Then both prepare and run
/// again, on numbers that neither took before.
#[test]
fn a_loss_of_power_wastes_and_never_reuses() {
    let function = millionaires(8);
    let whole = Pair::in_memory();
    work(&whole, &function, &Default::default()).expect("power");
    for party in [0, 1] {
        let points = whole.disks[party].points();
        assert!(points > 30, "{points}");
        for point in (party as u64..points).step_by(points as usize / 7) {
            let mut parties = whole.on([(); 2].map(|()| Memory::new()));
            parties.disks[party].lose_power_at(point, point);
            let taken = Default::default();
            // At the last points both parties may already have everything they need.
            let _ = work(&parties, &function, &taken);
            parties.disks[party] = parties.disks[party].restart();
            if let Err(error) = work(&parties, &function, &taken) {
                panic!("party {party}, point {point}: {error}");
            }
        }
    }
}

#[test]
fn what_differs_is_named_and_nothing_less_secure_runs() {
    let (parties, function) = (Pair::in_folders(), millionaires(8));
    for prepared in prepare(&parties, &function, 1) {
        prepared.expect("a batch");
    }
    // It was prepared at another s.
    let other = parties.both(|party, session, stocks| {
        let (name, value) = &compared(1, 2)[party];
        Job::new(&function, ROLES[party])
            .batch(stocks)
            .input(name, value.clone())
            .run(session)
    });
    for outcome in other {
        let error = outcome.expect_err("none at s = 40");
        assert!(error.to_string().contains("at s = 40"), "{error}");
    }
    // One party uses another s, or another protocol.
    for weak in [true, false] {
        let differ = parties.both(|party, session, stocks| {
            let (name, value) = &compared(1, 2)[party];
            let job = Job::new(&function, ROLES[party]).input(name, value.clone());
            match (party, weak) {
                (0, true) => job.prepared(stocks).run(session),
                (0, false) => job.batch(stocks).run(session),
                _ => job
                    .batch(stocks)
                    .statistical_security(insecure(S))
                    .run(session),
            }
        });
        for outcome in differ {
            let error = outcome.expect_err("they differ");
            assert_eq!(error.category(), Category::Incompatible, "{error}");
        }
    }
    assert_eq!(usable(&parties), [1, 1]);
    let prf = order(&function, 0, 1)
        .scheme(SchemeId::PRF_XOR1_AND3)
        .plan();
    let error = prf.expect_err("tables are sent too early for it");
    assert!(matches!(error, Error::SchemeNotFor { .. }), "{error}");
    assert_eq!(error.category(), Category::Usage);
}
