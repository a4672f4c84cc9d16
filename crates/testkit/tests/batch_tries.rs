//! What stays on the disks of `batch` when a peer leaves after the cut, or is caught: over the whole
//! stack, each time by processes that begin anew.

use std::thread;
use std::time::Duration;

use tacit::{
    BatchPreparation, BatchRecord, Category, Error, Fingerprint, Function, Job, Outcome,
    PreparedBatch, Role, Session, Side, Stocks, charge_bits, library,
};
use tacit_net::memory;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{Folders, channel};
use tacit_testkit::tamper::{Fault, TamperingSink};

const TIMEOUT: Duration = Duration::from_millis(2500);
const SECURITY_BITS: u8 = 2;
const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

fn fingerprint(role: Role) -> Fingerprint {
    Fingerprint([1 + role as u8; 32])
}

fn stocks(folders: &Folders, role: Role) -> Stocks {
    Stocks::open(folders.path(role as usize), 1 << 26).expect("a folder")
}

fn record(folders: &Folders, role: Role) -> BatchRecord {
    let peer = fingerprint(role.other());
    let record = stocks(folders, role).batch_record(fingerprint(role), peer, role);
    record.expect("a record")
}

fn function() -> Function {
    library::function("millionaires", &[("bits".to_owned(), 8)].into()).expect("a function")
}

/// Both parties' `work` over a new link, on which the liar's first message of a kind has a fault.
fn meet<T: Send>(
    folders: &Folders,
    lie: Option<(Role, Kind, Fault)>,
    work: impl Fn(Role, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> [Result<T, Error>; 2] {
    let (one, other) = memory::raw_pair(memory::PIPE_BYTES);
    let transports = [one, other].map(|end| end.into_transport());
    let ends = ROLES.into_iter().zip(transports).map(|(role, transport)| {
        let transport = match lie {
            Some((liar, kind, fault)) if liar == role => transport
                .map_sink(|inner| Box::new(TamperingSink::on_first(inner, kind.byte(), fault))),
            _ => transport,
        };
        (role, channel(transport, fingerprint(role.other()), TIMEOUT))
    });
    let work = &work;
    thread::scope(|scope| {
        let parties = ends.map(|(role, channel)| {
            scope.spawn(move || {
                let side = match role {
                    Role::Garbler => Side::Connecting,
                    Role::Evaluator => Side::Listening,
                };
                let mut session = Session::over(channel, side, Some(&fingerprint(role)))?;
                work(role, &mut session, &stocks(folders, role))
            })
        });
        let parties: Vec<_> = parties.collect();
        let mut ended = parties
            .into_iter()
            .map(|party| party.join().expect("no panic"));
        [ended.next(), ended.next()].map(|end| end.expect("two parties"))
    })
}

fn prepare(
    folders: &Folders,
    lie: Option<(Role, Kind, Fault)>,
    executions: u64,
) -> [Result<PreparedBatch, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        BatchPreparation::new(role, &function, executions)
            .statistical_security_bits(SECURITY_BITS)
            .run(session, stocks)
    })
}

/// What both parties have when neither failed.
fn both<T>(ended: [Result<T, Error>; 2]) -> [T; 2] {
    ended.map(|end| end.expect("no fault"))
}

fn run(folders: &Folders, lie: Option<(Role, Kind, Fault)>) -> [Result<Outcome, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        let job = Job::new(&function, role)
            .batch(stocks)
            .statistical_security_bits(SECURITY_BITS);
        match role {
            Role::Garbler => job.input("a", 255_u8),
            Role::Evaluator => job.input("b", 40_u8),
        }
        .run(session)
    })
}

/// A garbler that looks at the cut and leaves, in whatever way and however often, is charged for
/// each try, by processes that know of the earlier ones from the disk alone.
#[test]
fn a_garbler_that_leaves_after_the_cut_pays_for_each_try() {
    let folders = Folders::empty();
    let lies = [
        // Not a try: the cut was not opened.
        (Kind::CircuitDigests, Fault::CloseBefore, 0),
        (Kind::CheckedSeeds, Fault::CloseBefore, 1),
        (Kind::CheckedSeeds, Fault::Silence, 2),
        (Kind::CheckedSeeds, Fault::FlipFirst, 3),
        (Kind::BucketCircuits, Fault::CloseWithin, 4),
        (Kind::LotStored, Fault::CloseBefore, 5),
    ];
    for (kind, fault, tries) in lies {
        let [_, evaluator] = prepare(&folders, Some((Role::Garbler, kind, fault)), 1);
        assert!(evaluator.is_err(), "{kind}, {fault:?}");
        let found = record(&folders, Role::Evaluator).unfinished;
        assert_eq!(found, tries, "{kind}, {fault:?}");
    }
    // The lot of the last try was stored: the parties find it when they meet, and make the second.
    let [garbler, evaluator] = both(prepare(&folders, None, 2));
    let expected = SECURITY_BITS + charge_bits(5);
    for made in [garbler, evaluator] {
        let plan = made.plan.expect("a plan");
        assert_eq!(plan.statistical_security_bits(), expected);
    }
    // A batch that is finished takes nothing off, and an execution of it runs at the s of the order.
    assert_eq!(record(&folders, Role::Evaluator).unfinished, 5);
    for outcome in run(&folders, None) {
        let outcome = outcome.expect("a result");
        assert_eq!(outcome.statistical_security_bits, Some(SECURITY_BITS));
    }
    // The operator's word clears it.
    let [own, peer] = [Role::Evaluator, Role::Garbler].map(fingerprint);
    let cleared = stocks(&folders, Role::Evaluator).clear_batch_record(own, peer, Role::Evaluator);
    assert_eq!(cleared.expect("a record").unfinished, 5);
    let [_, evaluator] = both(prepare(&folders, None, 3));
    let plan = evaluator.plan.expect("a plan");
    assert_eq!(plan.statistical_security_bits(), SECURITY_BITS);
}

/// A cheat in a run takes its whole batch from both parties, and both disks say so when the peer
/// hears of it.
#[test]
fn a_batch_whose_peer_was_caught_is_set_aside() {
    let lies = [
        (Role::Garbler, Kind::InputLabels),
        (Role::Garbler, Kind::RecoveryLabels),
        (Role::Evaluator, Kind::MaskedResult),
    ];
    for (liar, kind) in lies {
        let folders = Folders::empty();
        both(prepare(&folders, None, 3));
        let function = function();
        let lie = Some((liar, kind, Fault::FlipMiddle));
        let ended = meet(&folders, lie, |role, session, stocks| {
            let job = Job::new(&function, role)
                .batch(stocks)
                .statistical_security_bits(SECURITY_BITS);
            let ended = match role {
                Role::Garbler => job.input("a", 255_u8),
                Role::Evaluator => job.input("b", 40_u8),
            }
            .run(session);
            if let Err(error) = &ended {
                assert_eq!(error.category(), Category::Peer, "{kind}: {error}");
                assert_eq!(record(&folders, role).cheats, 1, "{kind}, {}", role.name());
                let other = record(&folders, liar.other());
                assert_eq!(
                    other.cheats, 1,
                    "{kind}: the abort left before the disk had it"
                );
            }
            ended
        });
        let [garbler, evaluator] = ended.map(|end| end.is_err());
        // An evaluator that has sent its last message hears of nothing until the next meeting.
        assert_eq!(
            (garbler, evaluator),
            (true, liar == Role::Garbler),
            "{kind}"
        );
        for error in run(&folders, None).map(|end| end.expect_err("nothing is left")) {
            assert!(
                matches!(error, Error::NothingChecked { .. }),
                "{kind}: {error}"
            );
        }
        // Another batch is prepared and used.
        both(prepare(&folders, None, 1));
        both(run(&folders, None));
    }
}

/// A connection that breaks in a run costs its execution alone.
#[test]
fn a_lost_connection_sets_nothing_aside() {
    let folders = Folders::empty();
    both(prepare(&folders, None, 2));
    let lie = (Role::Garbler, Kind::InputLabels, Fault::CloseBefore);
    let [_, evaluator] = run(&folders, Some(lie));
    assert!(evaluator.is_err());
    assert_eq!(record(&folders, Role::Evaluator), BatchRecord::default());
    both(run(&folders, None));
}
