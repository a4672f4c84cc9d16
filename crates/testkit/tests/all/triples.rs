//! What stays on the disks when a peer cheats while triples are made for the stock, leaves then, or
//! cheats in a run that takes them: over the whole stack, each time by sessions that begin anew.

use std::time::Duration;

use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::stock::{Prepared, StockName, Stocks, Tried, TriplePreparation, TryName, TryRecord};
use tacit::{Category, Error, Function, Job, Outcome, Role, Session, library};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{Folders, ROLES, fingerprint, over_link, session};
use tacit_testkit::tamper::{Fault, TamperingSink};

const TIMEOUT: Duration = Duration::from_millis(2500);

/// What is wrong with the first message of a kind that a party sends.
type Lie = Option<(Role, Kind, Fault)>;

fn stocks(folders: &Folders, role: Role) -> Stocks {
    folders.stocks(role).expect("a folder")
}

fn record(folders: &Folders, role: Role) -> TryRecord {
    let name = TryName {
        own: fingerprint(role),
        peer: fingerprint(role.other()),
        role,
        tried: Tried::Authenticated,
    };
    stocks(folders, role).try_record(&name).expect("a record")
}

fn function() -> Function {
    library::function("millionaires", &[("bits".to_owned(), 8)].into()).expect("a function")
}

/// For how many runs each party has triples.
fn left(folders: &Folders) -> [u64; 2] {
    ROLES.map(|role| {
        let name = StockName {
            own: fingerprint(role),
            peer: fingerprint(role.other()),
            role,
            scheme: SchemeId::HALF_GATES_REKEYED,
        };
        let left = stocks(folders, role).authenticated_runs_left(
            &name,
            &function(),
            StatisticalSecurity::DEFAULT,
        );
        left.expect("a stock")
    })
}

/// Both parties' `work` over a new link.
fn meet<T: Send>(
    folders: &Folders,
    lie: Lie,
    work: impl Fn(Role, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> [Result<T, Error>; 2] {
    let below = |role, transport: Transport| match lie {
        Some((liar, kind, fault)) if liar == role => {
            transport.map_sink(|inner| Box::new(TamperingSink::on_first(inner, kind.byte(), fault)))
        }
        _ => transport,
    };
    over_link(below, |role, transport| {
        let mut session = session(transport, role, TIMEOUT)?;
        work(role, &mut session, &stocks(folders, role))
    })
}

fn prepare(folders: &Folders, lie: Lie, runs: u64) -> [Result<Prepared, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        TriplePreparation::for_runs(role, &function, runs)?.run(session, stocks)
    })
}

fn run(folders: &Folders, lie: Lie) -> [Result<Outcome, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        let job = Job::new(&function, role).authenticated_counted(stocks);
        let job = match role {
            Role::Garbler => job.input("a", 255_u8),
            Role::Evaluator => job.input("b", 40_u8),
        };
        job.run(session)
    })
}

fn both<T>(ended: [Result<T, Error>; 2]) -> [T; 2] {
    ended.map(|end| end.unwrap_or_else(|error| panic!("{error}")))
}

/// A peer that leaves while triples are made, or is caught then, is charged for it, and the lot is
/// in stock at neither party.
#[test]
fn a_peer_that_leaves_while_triples_are_made_pays_for_it() {
    for (liar, kind) in [
        (Role::Garbler, Kind::BaseOtChoice),
        (Role::Evaluator, Kind::BaseOtOffer),
    ] {
        // Not a try: it sent nothing of the lot's epoch.
        let folders = Folders::empty();
        let ended = prepare(&folders, Some((liar, kind, Fault::CloseBefore)), 1);
        let victim = liar.other();
        assert!(ended[victim as usize].is_err(), "{kind}");
        assert_eq!(record(&folders, victim), TryRecord::default(), "{kind}");
    }
    for (liar, kind, fault, cheats) in [
        (Role::Garbler, Kind::EqualityDigest, Fault::CloseBefore, 0),
        (Role::Garbler, Kind::EqualityDigest, Fault::FlipFirst, 1),
        (
            Role::Evaluator,
            Kind::EqualityOpening,
            Fault::CloseBefore,
            0,
        ),
        (Role::Evaluator, Kind::TripleOpenings, Fault::FlipFirst, 1),
    ] {
        let folders = Folders::empty();
        let ended = prepare(&folders, Some((liar, kind, fault)), 1);
        let victim = liar.other();
        assert!(ended[victim as usize].is_err(), "{kind}, {fault:?}");
        let found = record(&folders, victim);
        assert_eq!((found.unfinished, found.cheats), (1, cheats), "{kind}");
        assert_eq!(left(&folders), [0, 0], "{kind}");
        // The next lot is made at the s that the try asks for, and counts for nothing.
        for prepared in both(prepare(&folders, None, 1)) {
            assert_eq!(prepared.made_at_bits, Some(47), "{kind}");
        }
        assert_eq!(record(&folders, victim).unfinished, 1, "{kind}");
        assert_eq!(left(&folders), [1, 1], "{kind}");
    }
}

/// A cheat in a run destroys what is left of its lot at both parties, before the peer hears of it.
#[test]
fn a_lot_whose_peer_was_caught_is_destroyed() {
    for (liar, kind) in [
        (Role::Garbler, Kind::GateOpenings),
        (Role::Garbler, Kind::GateProof),
        (Role::Evaluator, Kind::LabelDigest),
    ] {
        let folders = Folders::empty();
        both(prepare(&folders, None, 3));
        both(run(&folders, None));
        assert_eq!(left(&folders), [2, 2]);
        for ended in run(&folders, Some((liar, kind, Fault::FlipFirst))) {
            let error = ended.expect_err("a cheat");
            assert_eq!(error.category(), Category::Peer, "{kind}: {error}");
        }
        assert_eq!(left(&folders), [0, 0], "{kind}");
        for role in ROLES {
            let found = record(&folders, role);
            assert_eq!((found.unfinished, found.cheats), (0, 1), "{kind}");
        }
        // The next run makes its own triples, and another lot is made and used.
        for outcome in both(run(&folders, None)) {
            assert!(outcome.cost.ot_extension.is_some());
        }
        both(prepare(&folders, None, 1));
        for outcome in both(run(&folders, None)) {
            assert!(outcome.cost.ot_extension.is_none());
        }
    }
}

/// A connection that breaks in a run costs its blocks alone.
#[test]
fn a_lost_connection_destroys_nothing() {
    let folders = Folders::empty();
    both(prepare(&folders, None, 2));
    let lie = (Role::Garbler, Kind::AuthenticatedTables, Fault::CloseBefore);
    let [_, evaluator] = run(&folders, Some(lie));
    assert!(evaluator.is_err());
    assert_eq!(record(&folders, Role::Evaluator), TryRecord::default());
    assert_eq!(left(&folders), [1, 1]);
    for outcome in both(run(&folders, None)) {
        assert!(outcome.cost.ot_extension.is_none());
    }
}

/// An evaluator that names other blocks than it leased gets none of the garbler's, and no message
/// of the run.
#[test]
fn an_evaluator_that_names_other_blocks_is_refused() {
    let folders = Folders::empty();
    both(prepare(&folders, None, 2));
    // The last byte of the message is of how many blocks it names, or of where they begin.
    for fault in [Fault::FlipLast, Fault::FlipMiddle, Fault::FlipFirst] {
        let ended = run(&folders, Some((Role::Evaluator, Kind::Leases, fault)));
        assert!(ended.iter().any(Result::is_err), "{fault:?}");
        both(prepare(&folders, None, 2));
    }
}
