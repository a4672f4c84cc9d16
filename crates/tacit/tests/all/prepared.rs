//! `prepared` between two sessions of one process: prepared material is used, and used once. What
//! is missing is made on the spot, and stocks that do not match are refused.

use std::thread;
use std::time::Duration;

use tacit::garble::{SCHEMES, SchemeId};
use tacit::net::NetError;
use tacit::stock::{Preparation, Prepared, StockSummary};
use tacit::{Category, Error, Function, Job, Outcome, ProtocolError, Role, Session};

use crate::pair::{
    Both, CIPHERTEXT, Pair, ROLES, aes_128_rounds as aes_128, aes_input, at_both, millionaires,
};

const SCHEME: SchemeId = SchemeId::HALF_GATES_TWO_CALL;

fn prepare(
    pair: &Pair,
    (a, b): &mut (Session, Session),
    order: impl Fn(Preparation<'static>) -> Preparation<'static>,
) -> Both<Prepared> {
    let [garbler, evaluator] = ROLES.map(|role| order(Preparation::new(role)));
    let [ours, theirs] = [0, 1].map(|party| pair.stocks(party));
    at_both(|| garbler.run(a, &ours), || evaluator.run(b, &theirs))
}

/// Prepares at both parties enough for this many runs.
fn prepare_for(
    pair: &Pair,
    sessions: &mut (Session, Session),
    function: &Function,
    runs: u64,
) -> [Prepared; 2] {
    let order = |order: Preparation<'static>| order.enough_for(function, runs).expect("no saves");
    prepare(pair, sessions, order).map(|prepared| prepared.expect("prepared"))
}

/// Runs AES at both parties.
fn run(pair: &Pair, (a, b): &mut (Session, Session), scheme: SchemeId) -> Both<Outcome> {
    let function = aes_128();
    let [garbler, evaluator] = [0, 1].map(|party| {
        let (name, value) = aes_input(party);
        Job::new(&function, ROLES[party])
            .scheme(scheme)
            .prepared(&pair.stocks(party))
            .input(name, value)
    });
    at_both(|| garbler.run(a), || evaluator.run(b))
}

/// Runs AES and returns the AND gates that were garbled on the spot at each party.
fn aes(pair: &Pair, sessions: &mut (Session, Session), scheme: SchemeId) -> [u64; 2] {
    let outcomes = run(pair, sessions, scheme);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    outcomes.map(|outcome| {
        let outcome = outcome.expect("a result");
        let ciphertext = outcome.outputs["ciphertext"].to_text();
        assert_eq!(ciphertext, CIPHERTEXT, "{scheme}");
        outcome.cost.and_gates_on_the_spot
    })
}

/// Returns a summary of a party's only stock.
fn summary(pair: &Pair, party: usize) -> StockSummary {
    let stocks = pair.stocks(party);
    let name = stocks.list().expect("a folder")[0];
    stocks.summary(&name).expect("a stock")
}

#[test]
fn what_is_prepared_is_used_once_and_what_is_missing_is_made_on_the_spot() {
    let parties = Pair::in_folders();
    let mut sessions = parties.meet();
    let [a, b] = prepare_for(&parties, &mut sessions, &aes_128(), 2);
    assert_eq!(a.kinds, b.kinds);
    let ots = a.kinds.iter().find(|kind| kind.name == "OTs").expect("OTs");
    assert_eq!((ots.made, ots.available), (256, 256));
    let ands = a.kinds.iter().map(|kind| kind.made * kind.and_gates);
    assert_eq!(ands.sum::<u64>(), 12_800);

    // Nothing is missing, so nothing is made. The stock outlives the session.
    let [again, _] = prepare_for(&parties, &mut sessions, &aes_128(), 2);
    assert!(again.kinds.iter().all(|kind| kind.made == 0));
    assert_eq!(aes(&parties, &mut sessions, SCHEME), [0, 0]);
    drop(sessions);
    let mut sessions = parties.meet();
    assert_eq!(aes(&parties, &mut sessions, SCHEME), [0, 0]);
    // Now the stock is empty.
    assert_eq!(aes(&parties, &mut sessions, SCHEME), [6400, 6400]);
    let kinds = summary(&parties, 0).kinds;
    let is_round = |name: &str| name == "aes-128-rounds/round";
    assert!(kinds.iter().any(|kind| is_round(&kind.name)), "{kinds:?}");
    assert!(kinds.iter().all(|kind| kind.available == 0), "{kinds:?}");
}

#[test]
fn what_is_missing_is_made_for_the_runs_that_lease_ahead_as_well() {
    let function = aes_128();
    for (ahead, expected) in [(2, &[3, 0, 0, 3][..]), (64, &[8, 0, 0, 0, 0, 0, 0, 0, 8])] {
        let parties = Pair::in_folders();
        let (mut a, mut b) = parties.meet();
        for runs in expected {
            let [garbler, evaluator] = [0, 1].map(|party| {
                let (name, value) = aes_input(party);
                let job = Job::new(&function, ROLES[party]).prepared(&parties.stocks(party));
                job.lease_ahead(ahead).input(name, value)
            });
            for outcome in at_both(|| garbler.run(&mut a), || evaluator.run(&mut b)) {
                let outcome = outcome.expect("a result");
                assert_eq!(outcome.cost.and_gates_on_the_spot, runs * 6400, "{ahead}");
            }
        }
    }
}

#[test]
fn a_function_runs_under_one_scheme_by_every_protocol_where_none_is_named() {
    let chain = millionaires(8);
    for (function, scheme) in [
        (&chain, SchemeId::HALF_GATES_REKEYED),
        (&aes_128(), SchemeId::HALF_GATES_TWO_CALL),
    ] {
        let parties = Pair::in_folders();
        prepare_for(&parties, &mut parties.meet(), function, 1);
        let stocks = parties.stocks(0);
        let schemes: Vec<_> = stocks.list().expect("a folder").into_iter().collect();
        assert_eq!(schemes.len(), 1);
        assert_eq!(schemes[0].scheme, scheme);
        let job = || Job::new(function, Role::Garbler);
        for job in [
            job(),
            job().prepared(&stocks),
            job().batch(&stocks),
            job().authenticated(),
        ] {
            assert_eq!(job.scheme_id(), scheme);
        }
    }
    // One preparation fills the stock of one scheme.
    let both = |order: Preparation<'static>| order.enough_for(&chain, 1)?.enough_for(&aes_128(), 1);
    assert!(matches!(
        both(Preparation::new(Role::Garbler)),
        Err(Error::ApiMisuse(_))
    ));
    let named = Preparation::new(Role::Garbler).scheme(SchemeId::THREE_HALVES);
    assert!(both(named).is_ok());
}

#[test]
fn sessions_that_take_and_fill_at_once_all_run() {
    let parties = Pair::in_folders();
    // Each opens the folders separately, as processes do. One takes the lots of another.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2 {
                    let mut sessions = parties.meet();
                    aes(&parties, &mut sessions, SCHEME);
                    aes(&parties, &mut sessions, SCHEME);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..3 {
                prepare_for(&parties, &mut parties.meet(), &aes_128(), 1);
            }
        });
    });
}

#[test]
fn what_is_made_on_the_spot_has_names_too() {
    let parties = Pair::in_folders();
    assert_eq!(aes(&parties, &mut parties.meet(), SCHEME), [6400, 6400]);
    let summary = summary(&parties, 1);
    let mut names: Vec<_> = summary
        .kinds
        .iter()
        .map(|kind| kind.name.as_str())
        .collect();
    names.sort_unstable();
    let components = ["expand", "last_round", "round"].map(|name| format!("aes-128-rounds/{name}"));
    assert_eq!(names[..1], ["OTs"]);
    assert_eq!(names[1..], components);
}

#[test]
fn every_scheme_links_from_the_stock() {
    let parties = Pair::in_folders();
    let mut sessions = parties.meet();
    for scheme in SCHEMES {
        for prepared in prepare(&parties, &mut sessions, |order| {
            order
                .scheme(scheme.id)
                .enough_for(&aes_128(), 1)
                .expect("no saves")
        }) {
            prepared.expect("prepared");
        }
        assert_eq!(
            aes(&parties, &mut sessions, scheme.id),
            [0, 0],
            "{}",
            scheme.id
        );
    }
}

#[test]
fn a_stock_restored_from_an_old_copy_is_refused() {
    for restored in [0, 1] {
        let mut parties = Pair::in_memory();
        prepare_for(&parties, &mut parties.meet(), &aes_128(), 2);
        let old = parties.disks[restored].copy();
        assert_eq!(aes(&parties, &mut parties.meet(), SCHEME), [0, 0]);
        parties.disks[restored] = old;
        let ended = run(&parties, &mut parties.meet(), SCHEME);
        let errors = ended.map(|outcome| outcome.expect_err("an old copy"));
        assert!(
            errors
                .iter()
                .any(|error| error.category() == Category::Stock
                    && error.to_string().contains("old copy")),
            "{errors:?}"
        );
    }
}

#[test]
fn a_stock_that_only_one_party_has_is_named() {
    for lost in [0, 1] {
        let parties = Pair::in_folders();
        for prepared in prepare(&parties, &mut parties.meet(), |order| order.ots(64)) {
            prepared.expect("prepared");
        }
        std::fs::remove_dir_all(parties.folder(lost)).expect("a folder");
        let ended = run(&parties, &mut parties.meet(), SCHEME);
        for error in ended.map(|outcome| outcome.expect_err("half a stock")) {
            let text = error.with_advice();
            assert!(
                error.category() == Category::Stock && text.contains("a new epoch")
                    || matches!(error, Error::Protocol(ProtocolError::PeerAborted(_))),
                "{text}"
            );
        }
    }
}

#[test]
fn orders_that_differ_are_refused() {
    for prepared in Pair::in_folders().both(|party, session, stocks| {
        let order = Preparation::new(ROLES[party]).ots([64, 128][party]);
        order.run(session, stocks)
    }) {
        let error = prepared.expect_err("orders differ");
        assert_eq!(error.category(), Category::Incompatible, "{error}");
    }
}

#[test]
fn a_full_disk_at_one_party_leaves_both_in_step() {
    let mut parties = Pair::in_folders();
    let function = aes_128();
    parties.max_bytes[1] = 4096;
    let mut sessions = parties.meet();
    let [a, b] = prepare(&parties, &mut sessions, |order| {
        order.enough_for(&function, 1).expect("no saved values")
    });
    assert_eq!(b.expect_err("no room").category(), Category::Stock);
    a.expect_err("the peer stopped");
    parties.max_bytes[1] = 1 << 30;
    let mut sessions = parties.meet();
    prepare_for(&parties, &mut sessions, &function, 1);
    assert_eq!(aes(&parties, &mut sessions, SCHEME), [0, 0]);
}

#[test]
fn sessions_at_once_share_a_stock() {
    let parties = Pair::in_folders();
    let mut sessions = parties.meet();
    prepare_for(&parties, &mut sessions, &aes_128(), 30);
    // Each session starts with a meeting of the records, and the other sessions overtake it.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut sessions = parties.meet();
                    assert_eq!(aes(&parties, &mut sessions, SCHEME), [0, 0]);
                }
            });
        }
    });
}

#[test]
fn a_preparation_ends_at_its_time_limit() {
    let parties = Pair::in_folders();
    let (mut a, _b) = parties.meet();
    let order = Preparation::new(Role::Garbler)
        .ots(1)
        .time_limit(Duration::from_millis(50));
    let error = order.run(&mut a, &parties.stocks(0)).expect_err("no peer");
    assert!(
        matches!(error, Error::Network(NetError::TimeLimit { .. })),
        "{error}"
    );
}
