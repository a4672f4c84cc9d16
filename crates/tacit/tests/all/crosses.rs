//! Crosses in stock between two sessions of one process. They are made before any function is
//! known, serve later sessions, are used once across crashes and races, and are not used if one
//! party lacks them.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use tacit::cost::FromStock;
use tacit::protocols::Protocol;
use tacit::session::{BaseOt, OtExtension};
use tacit::stock::{
    ComponentDigest, CrossPreparation, LOT_SCHEME, Prepared, StockName, Stocks, TakenNumbers,
};
use tacit::{
    Category, Error, Function, FunctionBuilder, Job, Outcome, Recipient, Role, Session, Type, Value,
};
use tacit_stock::Memory;

use crate::pair::{Both, Pair, ROLES, millionaires, no_hang};

/// The numbers that a run took, and its outcome.
type Ran = (Vec<TakenNumbers>, Outcome);

/// Returns the greater of two numbers of 8 bits. Its select bit takes wide crosses.
fn greater() -> Function {
    let mut builder = FunctionBuilder::new("greater");
    builder
        .library("compare", "comparator", &[("bits", 8)])
        .library("select", "selector", &[("bits", 8)])
        .input("a", "u8", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("a_is_greater", "bit")
        .value("greater", "u8")
        .call(["_", "_", "a_is_greater"], "compare", ["a", "b"])
        .call(["greater"], "select", ["a_is_greater", "a", "b"])
        .output("greater", "u8", Recipient::Both, "greater");
    builder.finish().expect("a function")
}

fn stock_name(pair: &Pair, party: usize) -> StockName {
    let [own, peer] = [party, 1 - party].map(|of| pair.identities[of].fingerprint());
    StockName {
        own,
        peer,
        role: ROLES[party],
        scheme: LOT_SCHEME,
        lanes: Default::default(),
    }
}

/// Returns the number of runs for which each party has crosses.
fn left(pair: &Pair, function: &Function) -> [u64; 2] {
    [0, 1].map(|party| {
        let (stocks, name) = (pair.stocks(party), stock_name(pair, party));
        let left = stocks.gmw_runs_left(&name, function, Default::default());
        left.expect("a stock")
    })
}

fn prepare(pair: &Pair, function: &Function, runs: u64) -> Both<Prepared> {
    pair.both(|party, session, stocks| {
        CrossPreparation::for_runs(ROLES[party], function, runs)?.run(session, stocks)
    })
}

/// Runs the function on 200 and 40.
fn run(
    function: &Function,
    party: usize,
    session: &mut Session,
    stocks: &Stocks,
) -> Result<Ran, Error> {
    let (name, text) = [("a", "200"), ("b", "40")][party];
    let number: Type = function.inputs()[party].port.ty.to_string().parse()?;
    let mut taken = Vec::new();
    let outcome = Job::new(function, ROLES[party])
        .by(Protocol::Gmw, Some(stocks))
        .unwrap()
        .input(name, Value::parse(&number, text)?)
        .watch_taken(|numbers| taken.push(numbers.clone()))
        .run(session)?;
    let (_, result) = outcome.outputs.first_key_value().expect("a result");
    assert!(["1", "200"].contains(&&*result.to_text()));
    Ok((taken, outcome))
}

fn run_both(pair: &Pair, function: &Function) -> Both<Ran> {
    pair.both(|party, session, stocks| run(function, party, session, stocks))
}

/// Whether the run took crosses from the stock. If not, it made OTs.
fn is_from_stock((taken, outcome): &Ran) -> bool {
    let from_stock = outcome.cost.from_stock;
    assert!(matches!(from_stock, None | Some(FromStock::Crosses)));
    assert_eq!(from_stock.is_none(), taken.is_empty());
    assert_eq!(from_stock.is_none(), outcome.cost.ot_extension.is_some());
    from_stock.is_some()
}

fn each<T>(ran: Both<T>) -> [T; 2] {
    ran.map(|ran| ran.unwrap_or_else(|error| panic!("{error}")))
}

/// Runs two functions that were unknown at the preparation. The rest is too little for another run.
#[test]
fn crosses_are_there_after_a_restart_and_used_once() {
    let parties = Pair::in_memory();
    let (narrow, wide) = (millionaires(8), greater());
    for prepared in each(parties.both(|party, session, stocks| {
        CrossPreparation::crosses(ROLES[party], 65_537, 1).run(session, stocks)
    })) {
        let made: Vec<_> = prepared.kinds.iter().map(|kind| kind.made).collect();
        assert_eq!(made, [131_072, 4096, 131_072, 4096]);
    }
    assert_eq!(left(&parties, &narrow), [2, 2]);
    assert_eq!(left(&parties, &wide), [1, 1]);
    let mut numbers = BTreeSet::new();
    for (function, due) in [(&wide, [0, 0]), (&narrow, [0, 0])] {
        let [ours, theirs] = each(run_both(&parties, function));
        assert!(is_from_stock(&ours) && is_from_stock(&theirs));
        assert_eq!(ours.0, theirs.0);
        for kind in &ours.0 {
            for number in kind.spans.iter().flat_map(|span| span.first..span.end()) {
                assert!(numbers.insert((kind.digest, number)), "{number} twice");
            }
        }
        assert_eq!(left(&parties, function), due, "{}", function.name());
    }
    for ran in each(run_both(&parties, &narrow)) {
        assert!(!is_from_stock(&ran));
    }
    // An order counts what is in stock. When the stock ends, a session continues without it.
    for made in [2, 0] {
        for prepared in each(prepare(&parties, &narrow, 2)) {
            let each: Vec<_> = prepared.kinds.iter().map(|kind| kind.made).collect();
            assert!(each.iter().all(|crosses| *crosses == made * 65_536));
            assert_eq!(prepared.runs, Some(2));
        }
    }
    let runs = parties.both(|party, session, stocks| {
        let mut runs = Vec::new();
        for _ in 0..4 {
            runs.push(run(&narrow, party, session, stocks)?);
        }
        Ok(runs)
    });
    for runs in each(runs) {
        let from_stock: Vec<_> = runs.iter().map(is_from_stock).collect();
        assert_eq!(from_stock, [true, true, false, false]);
    }
}

/// A run that must take everything from the stock makes nothing.
#[test]
fn a_run_from_stock_alone_does_not_make_crosses() {
    let (parties, function) = (Pair::in_memory(), millionaires(8));
    let alone = || {
        parties.both(|party, session, stocks| {
            let (name, number) = [("a", 200_u8), ("b", 40)][party];
            let job = Job::new(&function, ROLES[party])
                .by(Protocol::Gmw, Some(stocks))
                .unwrap();
            job.from_stock_alone().input(name, number).run(session)
        })
    };
    for error in alone().map(|ran| ran.expect_err("nothing is in stock")) {
        assert_eq!(error.category(), Category::Stock, "{error}");
    }
    each(prepare(&parties, &function, 1));
    each(alone());
}

/// A run that must not rest on discrete logarithms leaves alone crosses whose base OTs do.
#[test]
fn a_run_takes_nothing_that_rests_on_less() {
    let (parties, function) = (Pair::in_memory(), millionaires(8));
    let [usual, post_quantum] = BaseOt::ALL;
    let prepare_on = |base: BaseOt| {
        each(parties.both(|party, session, stocks| {
            session.set_base_ot(base)?;
            CrossPreparation::for_runs(ROLES[party], &function, 1)?.run(session, stocks)
        }));
    };
    let run_on = |base: BaseOt| {
        let ran = parties.both(|party, session, stocks| {
            session.set_base_ot(base)?;
            run(&function, party, session, stocks)
        });
        each(ran).map(|ran| is_from_stock(&ran))
    };
    prepare_on(usual);
    assert_eq!(run_on(post_quantum), [false, false]);
    assert_eq!(run_on(usual), [true, true]);
    prepare_on(post_quantum);
    assert_eq!(run_on(post_quantum), [true, true]);
    // A run without such a requirement takes any crosses.
    prepare_on(post_quantum);
    assert_eq!([run_on(usual), run_on(usual)], [[true; 2], [false; 2]]);
}

/// Users choose their assumption: a run whose parties did not name silent OT does not rest on LPN,
/// not even by crosses that were made before it.
#[test]
fn a_run_without_silent_takes_no_silent_crosses() {
    let (parties, function) = (Pair::in_memory(), millionaires(8));
    let (usual, silent) = (OtExtension::default(), OtExtension::Silent);
    let prepare_by = |extension: OtExtension| {
        each(parties.both(|party, session, stocks| {
            session.set_ot_extension(extension)?;
            CrossPreparation::for_runs(ROLES[party], &function, 1)?.run(session, stocks)
        }))
    };
    let run_by = |extension: Option<OtExtension>| {
        let ran = parties.both(|party, session, stocks| {
            if let Some(extension) = extension {
                session.set_ot_extension(extension)?;
            }
            run(&function, party, session, stocks)
        });
        each(ran).map(|ran| is_from_stock(&ran))
    };
    for prepared in prepare_by(silent) {
        let mut names = prepared.kinds.iter().map(|kind| &kind.name);
        assert!(names.all(|name| name.ends_with(" by silent OT")));
    }
    let left_for = |extension| {
        let (stocks, name) = (parties.stocks(0), stock_name(&parties, 0));
        let left = stocks.gmw_runs_left(&name, &function, (BaseOt::default(), extension));
        left.expect("a stock")
    };
    assert_eq!([usual, silent].map(left_for), [0, 1]);
    assert_eq!(run_by(None), [false, false]);
    assert_eq!(run_by(Some(usual)), [false, false]);
    assert_eq!(run_by(Some(silent)), [true, true]);
    // A run that allows silent OT takes any crosses, silent ones first.
    prepare_by(silent);
    prepare_by(usual);
    assert_eq!([usual, silent].map(left_for), [1, 2]);
    assert_eq!(run_by(Some(silent)), [true, true]);
    assert_eq!([usual, silent].map(left_for), [1, 1]);
    assert_eq!(run_by(Some(silent)), [true, true]);
    assert_eq!(run_by(Some(silent)), [false, false]);
}

/// If a party lost its stock, never had one, or meets another peer, both make crosses, and the
/// other party's stock stays.
#[test]
fn where_one_party_has_none_both_make_crosses() {
    let function = millionaires(8);
    for lacks in [0, 1] {
        let mut parties = Pair::in_memory();
        each(prepare(&parties, &function, 1));
        let kept = std::mem::replace(&mut parties.disks[lacks], Memory::new());
        for ran in each(run_both(&parties, &function)) {
            assert!(!is_from_stock(&ran));
        }
        parties.disks[lacks] = kept;
        let own = parties.identities[lacks].clone();
        parties.identities[lacks] = Pair::in_memory().identities[0].clone();
        for ran in each(run_both(&parties, &function)) {
            assert!(!is_from_stock(&ran));
        }
        parties.identities[lacks] = own;
        for ran in each(run_both(&parties, &function)) {
            assert!(is_from_stock(&ran));
        }
    }
}

/// A party whose stock is an old copy would take the same crosses again, or crosses of another
/// epoch. The records show it, and the other party gives nothing.
#[test]
fn a_stock_that_went_back_is_refused() {
    let function = millionaires(8);
    for (back, is_new_epoch) in [(0, false), (1, false), (0, true), (1, true)] {
        let mut parties = Pair::in_memory();
        each(prepare(&parties, &function, 2));
        let old = parties.disks[back].copy();
        each(run_both(&parties, &function));
        if is_new_epoch {
            parties.disks = [(); 2].map(|()| Memory::new());
            each(prepare(&parties, &function, 2));
        }
        parties.disks[back] = old;
        let ended = run_both(&parties, &function);
        let errors = ended.map(|ran| ran.expect_err("an old copy"));
        assert!(
            errors
                .iter()
                .any(|error| error.category() == Category::Stock),
            "{errors:?}"
        );
    }
}

/// With enough for one run, one of two simultaneous sessions gets it, and the other makes its own.
#[test]
fn two_sessions_do_not_take_the_same() {
    let (parties, function) = (Pair::in_memory(), millionaires(8));
    each(prepare(&parties, &function, 1));
    let ready = Barrier::new(4);
    let race = || {
        parties.both(|party, session, stocks| {
            ready.wait();
            run(&function, party, session, stocks)
        })
    };
    let ran = thread::scope(|scope| {
        let other = scope.spawn(race);
        [race(), other.join().expect("no panic")]
    });
    let from_stock = ran.map(|ran| {
        let [ours, theirs] = each(ran).map(|ran| is_from_stock(&ran));
        assert_eq!(ours, theirs);
        ours
    });
    assert_eq!(from_stock.iter().filter(|taken| **taken).count(), 1);
    assert_eq!(left(&parties, &function), [0, 0]);
}

/// If a byte has changed on the disk, the run ends with the stock's error, and uses nothing of it.
#[test]
fn an_altered_byte_is_found() {
    let function = millionaires(8);
    for party in [0, 1] {
        let parties = Pair::in_memory();
        each(prepare(&parties, &function, 1));
        let files = parties.disks[party].files().into_iter();
        let lots = files.filter(|file| file.extension().is_some_and(|end| end == "seg"));
        for lot in lots {
            assert!(parties.disks[party].flip_bit(&lot, 160 + 200));
        }
        let error = run_both(&parties, &function).map(Result::err)[party].take();
        let error = error.expect("a damaged block");
        assert_eq!(error.category(), Category::Stock, "{error}");
        // The damaged material is spent, and both continue.
        for ran in each(run_both(&parties, &function)) {
            assert!(!is_from_stock(&ran));
        }
    }
}

/// The numbers that each party took, over all its restarts.
type Ledger = [BTreeSet<(ComponentDigest, u64)>; 2];

/// Prepares and runs twice, until the power fails. Fails the test if something is taken twice.
fn work(parties: &Pair, function: &Function, ledger: &mut Ledger) -> bool {
    let mut is_done = true;
    for prepared in prepare(parties, function, 2) {
        is_done &= no_hang(prepared).is_ok();
    }
    for _ in 0..2 {
        let ran = parties.both(|party, session, stocks| {
            let mut taken = Vec::new();
            let ran = Job::new(function, ROLES[party])
                .by(Protocol::Gmw, Some(stocks))
                .unwrap()
                .input(["a", "b"][party], [200_u8, 40][party])
                .watch_taken(|numbers| taken.push(numbers.clone()))
                .run(session);
            Ok((taken, ran))
        });
        for (party, ran) in ran.into_iter().enumerate() {
            let Ok((taken, ran)) = no_hang(ran) else {
                is_done = false;
                continue;
            };
            for kind in taken {
                for span in &kind.spans {
                    // The spans are whole blocks.
                    let is_new = ledger[party].insert((kind.digest, span.first));
                    assert!(is_new, "party {party} takes {} {span} twice", kind.name);
                }
            }
            match no_hang(ran) {
                Ok(outcome) => assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1"),
                Err(_) => is_done = false,
            }
        }
    }
    is_done
}

/// Cuts the power of a party at every `step`-th write, sync and commit of a preparation and two
/// runs. Then both parties start again and run correctly, and neither takes anything twice.
fn lose_power(function: &Function, step: usize, offset: u64) -> u64 {
    let start = Pair::in_memory();
    assert!(work(&start, function, &mut Ledger::default()));
    let points = start.disks.each_ref().map(Memory::points);
    let mut lost = 0;
    for party in [0, 1] {
        for point in (offset..points[party]).step_by(step) {
            let mut parties = Pair::in_memory();
            let mut ledger = Ledger::default();
            parties.disks[party].lose_power_at(point, point);
            work(&parties, function, &mut ledger);
            parties.disks[party] = parties.disks[party].restart();
            assert!(
                work(&parties, function, &mut ledger),
                "party {party}, point {point}"
            );
            let left = left(&parties, function);
            assert_eq!(left[0], left[1], "party {party}, point {point}");
            lost += 1;
        }
    }
    lost
}

#[test]
fn a_loss_of_power_wastes_and_never_reuses() {
    assert!(lose_power(&millionaires(8), 7, 5) >= 8);
}

#[test]
#[ignore = "long: every point of a preparation and of two runs"]
fn power_lost_at_every_point() {
    let lost = lose_power(&millionaires(8), 1, 0);
    println!("{{\"power_losses\":{lost},\"all_held\":true}}");
}
