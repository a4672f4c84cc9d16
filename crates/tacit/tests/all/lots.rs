//! Triples and instances of components in stock between two sessions of one process. They are made
//! before any function is known, serve later sessions, are used once across crashes and races, and
//! are not used if one party lacks them.

mod broken_off;
mod instances;

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use tacit::cost::FromStock;
use tacit::net::Link;
use tacit::plan::{Alternative, Calibration, InStock, Planner};
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::session::BaseOt;
use tacit::stock::{
    ComponentDigest, LotPreparation, Prepared, StockName, Stocks, TakenNumbers, Tried, TryName,
};
use tacit::{Category, Error, Function, Job, Outcome, Role, SecurityScope, Session, Type, Value};
use tacit_stock::Memory;

use crate::pair::{Both, Pair, ROLES, millionaires, no_hang};

/// The number of triples in a block.
const BLOCK: u64 = 64;

/// The contents of lots.
const LOTS: [FromStock; 2] = [FromStock::Triples, FromStock::Instances];

/// The numbers that a run took, and its outcome.
type Ran = (Vec<TakenNumbers>, Outcome);

fn stock_name(pair: &Pair, party: usize) -> StockName {
    let [own, peer] = [party, 1 - party].map(|of| pair.identities[of].fingerprint());
    StockName {
        own,
        peer,
        role: ROLES[party],
        scheme: tacit::garble::SchemeId::HALF_GATES_TWO_CALL,
        lanes: Default::default(),
    }
}

/// Returns an order for what `runs` runs of a function take.
fn lot_order(
    what: FromStock,
    role: Role,
    function: &Function,
    runs: u64,
) -> Result<LotPreparation<'_>, Error> {
    match what {
        FromStock::Triples => LotPreparation::triples_for_runs(role, function, runs),
        FromStock::Instances => LotPreparation::instances_for_runs(role, function, runs),
        FromStock::Crosses => panic!("no lots of authenticated"),
    }
}

/// Carries out such an order.
fn order(
    what: FromStock,
    function: &Function,
    runs: u64,
    party: usize,
    (session, stocks): (&mut Session, &Stocks),
) -> Result<Prepared, Error> {
    let role = ROLES[party];
    lot_order(what, role, function, runs)?.run(session, stocks)
}

fn prepare(pair: &Pair, what: FromStock, function: &Function, runs: u64) -> Both<Prepared> {
    pair.both(|party, session, stocks| order(what, function, runs, party, (session, stocks)))
}

fn run_both(pair: &Pair, function: &Function, bits: u8) -> Both<Ran> {
    pair.both(|party, session, stocks| run(function, party, session, (stocks, bits)))
}

/// Returns the number of runs for which each party has what a lot contains.
fn left(pair: &Pair, what: FromStock, function: &Function) -> [u64; 2] {
    [0, 1].map(|party| {
        let name = StockName {
            scheme: tacit::scheme::default_scheme(function),
            ..stock_name(pair, party)
        };
        let (stocks, least) = (pair.stocks(party), StatisticalSecurity::DEFAULT);
        let asked = (least, BaseOt::default());
        let left = stocks.authenticated_runs_left(&name, function, asked, what);
        left.expect("a stock")
    })
}

/// Runs the function on 200 and 40.
fn run(
    function: &Function,
    party: usize,
    session: &mut Session,
    (stocks, bits): (&Stocks, u8),
) -> Result<Ran, Error> {
    let (name, text) = [("a", "200"), ("b", "40")][party];
    let number: Type = function.inputs()[party].port.ty.to_string().parse()?;
    let mut taken = Vec::new();
    let outcome = Job::new(function, ROLES[party])
        .by(Protocol::Authenticated, Some(stocks))
        .unwrap()
        .statistical_security(StatisticalSecurity::new(bits).expect("in bounds"))
        .input(name, Value::parse(&number, text)?)
        .watch_taken(|numbers| taken.push(numbers.clone()))
        .run(session)?;
    assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
    Ok((taken, outcome))
}

/// Returns what the run took from the stock. If that is nothing, the run made OTs.
fn from_stock((taken, outcome): &Ran) -> Option<FromStock> {
    let from_stock = outcome.cost.from_stock;
    assert_eq!(from_stock.is_none(), taken.is_empty());
    assert_eq!(from_stock.is_none(), outcome.cost.ot_extension.is_some());
    from_stock
}

fn is_from_stock(ran: &Ran) -> bool {
    from_stock(ran).is_some()
}

fn each<T>(ran: Both<T>) -> [T; 2] {
    ran.map(|ran| ran.unwrap_or_else(|error| panic!("{error}")))
}

/// Returns the triples in stock and the number of runs for which all lots are enough, as given by a
/// plan of a run by `authenticated` that takes `triples`: with the garbler's stock, and without
/// one.
fn planned(parties: &Pair, function: &Function, triples: u64) -> [Option<(u64, u64)>; 2] {
    let stocks = parties.stocks(0);
    let summary = stocks.summary(&stock_name(parties, 0)).expect("a stock");
    [Some(InStock::new(vec![summary])), None].map(|stock| {
        let link = Link::new(Duration::ZERO, 1_000_000_000).expect("a link");
        let planner = Planner::with(link, Calibration::default());
        let mut planner = planner.threat_model(ThreatModel::Malicious);
        if let Some(stock) = stock {
            planner = planner.stock(stock);
        }
        let plan = planner.plan(function.clone()).expect("a plan");
        let has_some = |one: &Alternative| one.runs_in_stock.is_some_and(|runs| runs > 0);
        assert_eq!(
            has_some(plan.choice()),
            plan.alternatives.iter().any(has_some)
        );
        let of = |one: &Alternative| one.protocol == Protocol::Authenticated;
        let under_each_scheme = plan.alternatives.into_iter().filter(of);
        let one = under_each_scheme.max_by_key(|one| one.runs_in_stock);
        let one = one.expect("one");
        assert_eq!(one.needs[0].count, triples);
        Some((one.needs[0].in_stock?, one.runs_in_stock?))
    })
}

/// Runs two functions that were unknown at the preparation: each takes what it needs from the same
/// lot. The rest is too little for another run.
#[test]
fn triples_are_there_after_a_restart_and_used_once() {
    let parties = Pair::in_memory();
    let (small, large) = (millionaires(8), millionaires(100));
    for prepared in each(parties.both(|party, session, stocks| {
        LotPreparation::triples(ROLES[party], 7 * BLOCK - 3).run(session, stocks)
    })) {
        assert_eq!(
            (prepared.made(), prepared.available()),
            (7 * BLOCK, 7 * BLOCK)
        );
        assert_eq!(prepared.made_at_bits, Some(40));
    }
    let left = |function| left(&parties, FromStock::Triples, function);
    let prepare = |runs| prepare(&parties, FromStock::Triples, &small, runs);
    assert_eq!(left(&small), [3, 3]);
    assert_eq!(
        planned(&parties, &small, 2 * BLOCK),
        [Some((7 * BLOCK, 3)), None]
    );
    let mut numbers = BTreeSet::new();
    for (function, due) in [(&small, [2, 2]), (&large, [0, 0])] {
        let [ours, theirs] = each(run_both(&parties, function, 40));
        assert!(is_from_stock(&ours) && is_from_stock(&theirs));
        assert_eq!(ours.0, theirs.0);
        for number in ours.0[0]
            .spans
            .iter()
            .flat_map(|span| span.first..span.end())
        {
            assert!(numbers.insert(number), "{number} twice");
        }
        for (_, outcome) in [&ours, &theirs] {
            let scope = SecurityScope::AllRuns { made_at_bits: 40 };
            assert_eq!(outcome.security_scope, Some(scope));
        }
        assert_eq!(left(function), due, "{}", function.name());
    }
    // One block is left, but every function takes more.
    for ran in each(run_both(&parties, &small, 40)) {
        assert!(!is_from_stock(&ran));
    }
    // An order counts what is in stock. When the stock ends, a session continues without it.
    for prepared in each(prepare(2)) {
        assert_eq!((prepared.made(), prepared.runs), (4 * BLOCK, Some(2)));
    }
    for prepared in each(prepare(2)) {
        assert_eq!((prepared.made(), prepared.available()), (0, 5 * BLOCK));
    }
    let runs = parties.both(|party, session, stocks| {
        let mut runs = Vec::new();
        for _ in 0..4 {
            runs.push(run(&small, party, session, (stocks, 40))?);
        }
        Ok(runs)
    });
    for runs in each(runs) {
        let from_stock: Vec<_> = runs.iter().map(is_from_stock).collect();
        assert_eq!(from_stock, [true, true, false, false]);
    }
    // No try stays counted.
    for party in [0, 1] {
        let StockName {
            own, peer, role, ..
        } = stock_name(&parties, party);
        let tried = Tried::Authenticated;
        let name = TryName {
            own,
            peer,
            role,
            tried,
        };
        let record = parties.stocks(party).try_record(&name).unwrap();
        assert_eq!((record.unfinished, record.cheats), (0, 0));
    }
}

/// A run leaves alone what was made at a lower s than its own.
#[test]
fn a_run_takes_nothing_of_a_lower_s() {
    for what in LOTS {
        let (parties, function) = (Pair::in_memory(), millionaires(8));
        each(prepare(&parties, what, &function, 1));
        for ran in each(run_both(&parties, &function, 41)) {
            assert!(!is_from_stock(&ran));
        }
        assert_eq!(left(&parties, what, &function), [1, 1]);
        for ran in each(run_both(&parties, &function, 40)) {
            assert_eq!(from_stock(&ran), Some(what));
        }
    }
}

/// Among lots with different s, a run takes from the lowest that serves it, even if that lot has
/// more: the other lot is for runs that ask for a higher s.
#[test]
fn a_run_takes_of_the_lowest_s_that_serves() {
    let function = millionaires(8);
    for what in LOTS {
        let parties = Pair::in_memory();
        for (bits, runs) in [(40, 3), (42, 1)] {
            each(parties.both(|party, session, stocks| {
                let security = StatisticalSecurity::new(bits).expect("in bounds");
                let role = ROLES[party];
                let order = lot_order(what, role, &function, runs)?;
                order.statistical_security(security).run(session, stocks)
            }));
        }
        for (bits, made_at_bits) in [(40, 40), (41, 42)] {
            for (_, outcome) in each(run_both(&parties, &function, bits)) {
                let scope = SecurityScope::AllRuns { made_at_bits };
                assert_eq!(outcome.security_scope, Some(scope), "{bits}");
            }
        }
        assert_eq!(left(&parties, what, &function), [2, 2]);
    }
}

/// A run that must not rest on discrete logarithms leaves alone lots whose base OTs do.
#[test]
fn a_run_takes_nothing_that_rests_on_less() {
    let function = millionaires(8);
    for what in LOTS {
        let parties = Pair::in_memory();
        let [usual, post_quantum] = BaseOt::ALL;
        let prepare_on = |base: BaseOt| {
            parties.both(|party, session, stocks| {
                session.set_base_ot(base)?;
                order(what, &function, 1, party, (session, stocks))
            })
        };
        let run_on = |base: BaseOt| {
            let ran = parties.both(|party, session, stocks| {
                session.set_base_ot(base)?;
                run(&function, party, session, (stocks, 40))
            });
            each(ran).map(|ran| is_from_stock(&ran))
        };
        each(prepare_on(usual));
        assert_eq!(run_on(post_quantum), [false, false]);
        assert_eq!(run_on(usual), [true, true]);
        each(prepare_on(usual));
        for prepared in each(prepare_on(post_quantum)) {
            assert!(prepared.made() > 0);
            assert_eq!(prepared.runs, Some(1));
        }
        assert_eq!(run_on(post_quantum), [true, true]);
        assert_eq!(left(&parties, what, &function), [1, 1]);
        // A run without such a requirement takes any lot.
        each(prepare_on(post_quantum));
        assert_eq!([run_on(usual), run_on(usual)], [[true; 2]; 2]);
    }
}

/// If a party lost its stock or never had one, both make triples, and the other party's stock
/// stays.
#[test]
fn where_one_party_has_none_both_make_triples() {
    let function = millionaires(8);
    for (lacks, what) in [0, 1].into_iter().zip(LOTS) {
        let mut parties = Pair::in_memory();
        each(prepare(&parties, what, &function, 1));
        let kept = std::mem::replace(&mut parties.disks[lacks], Memory::new());
        for ran in each(run_both(&parties, &function, 40)) {
            assert!(!is_from_stock(&ran));
        }
        parties.disks[lacks] = kept;
        for ran in each(run_both(&parties, &function, 40)) {
            assert!(is_from_stock(&ran));
        }
    }
}

/// A party whose stock is an old copy would take the same again. The records show it, and the other
/// party gives nothing.
#[test]
fn a_stock_that_went_back_is_refused() {
    let function = millionaires(8);
    for (back, what) in [0, 1]
        .into_iter()
        .flat_map(|back| LOTS.map(|what| (back, what)))
    {
        let mut parties = Pair::in_memory();
        each(prepare(&parties, what, &function, 2));
        let old = parties.disks[back].copy();
        each(run_both(&parties, &function, 40));
        parties.disks[back] = old;
        let ended = run_both(&parties, &function, 40);
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
    let function = millionaires(8);
    for what in LOTS {
        let parties = Pair::in_memory();
        each(prepare(&parties, what, &function, 1));
        let ready = Barrier::new(4);
        let race = || {
            parties.both(|party, session, stocks| {
                ready.wait();
                run(&function, party, session, (stocks, 40))
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
        let taken = from_stock.iter().filter(|from_stock| **from_stock);
        assert_eq!(taken.count(), 1);
        assert_eq!(left(&parties, what, &function), [0, 0]);
    }
}

/// If a byte has changed on the disk, the run ends with the stock's error, and uses nothing of it.
#[test]
fn an_altered_byte_is_found() {
    let function = millionaires(8);
    for (party, what) in [0, 1]
        .into_iter()
        .flat_map(|party| LOTS.map(|what| (party, what)))
    {
        let parties = Pair::in_memory();
        each(prepare(&parties, what, &function, 1));
        let files = parties.disks[party].files().into_iter();
        let lots = files.filter(|file| file.extension().is_some_and(|end| end == "seg"));
        for lot in lots {
            // This bit is in a share of the first block or instance.
            assert!(parties.disks[party].flip_bit(&lot, 160 + 200));
        }
        let error = run_both(&parties, &function, 40).map(Result::err)[party].take();
        let error = error.expect("a damaged block");
        assert_eq!(error.category(), Category::Stock, "{error}");
        // The damaged material is spent, and both continue.
        for ran in each(run_both(&parties, &function, 40)) {
            assert!(!is_from_stock(&ran));
        }
    }
}

/// The numbers that each party took, over all its restarts.
type Ledger = [BTreeSet<(ComponentDigest, u64)>; 2];

/// Prepares and runs twice, until the power fails. Fails the test if something is taken twice.
fn work(parties: &Pair, what: FromStock, function: &Function, ledger: &mut Ledger) -> bool {
    let mut is_done = true;
    for prepared in prepare(parties, what, function, 2) {
        is_done &= no_hang(prepared).is_ok();
    }
    for _ in 0..2 {
        let ran = parties.both(|party, session, stocks| {
            let mut taken = Vec::new();
            let ran = Job::new(function, ROLES[party])
                .by(Protocol::Authenticated, Some(stocks))
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
                for number in kind.spans.iter().flat_map(|span| span.first..span.end()) {
                    let is_new = ledger[party].insert((kind.digest, number));
                    assert!(is_new, "party {party} takes {} {number} twice", kind.name);
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
fn lose_power(what: FromStock, function: &Function, step: usize, offset: u64) -> u64 {
    let start = Pair::in_memory();
    assert!(work(&start, what, function, &mut Ledger::default()));
    let points = start.disks.each_ref().map(Memory::points);
    let mut lost = 0;
    for party in [0, 1] {
        for point in (offset..points[party]).step_by(step) {
            let mut parties = Pair::in_memory();
            let mut ledger = Ledger::default();
            parties.disks[party].lose_power_at(point, point);
            work(&parties, what, function, &mut ledger);
            parties.disks[party] = parties.disks[party].restart();
            assert!(
                work(&parties, what, function, &mut ledger),
                "party {party}, point {point}"
            );
            let left = left(&parties, what, function);
            assert_eq!(left[0], left[1], "party {party}, point {point}");
            lost += 1;
        }
    }
    lost
}

#[test]
fn a_loss_of_power_wastes_and_never_reuses() {
    let function = instances::richer("richer", 0);
    assert!(lose_power(FromStock::Instances, &function, 7, 5) >= 8);
    assert!(lose_power(FromStock::Triples, &millionaires(8), 7, 5) >= 8);
}

#[test]
#[ignore = "long: every point of a preparation and of two runs"]
fn power_lost_at_every_point() {
    let lost = lose_power(FromStock::Triples, &millionaires(8), 1, 0);
    let lost = lost + lose_power(FromStock::Instances, &instances::richer("richer", 0), 1, 0);
    println!("{{\"power_losses\":{lost},\"all_held\":true}}");
}
