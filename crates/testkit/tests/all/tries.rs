//! The contents of the disks when a peer of `batch` leaves after the cut, or one of `authenticated`
//! in a run, or when either is caught. Tests use the whole stack, with new sessions each time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tacit::garble::SchemeId;
use tacit::protocols::Protocol;
use tacit::stock::{BatchPreparation, Prepared, Stocks, Tried, TryName, TryRecord, charge_bits};
use tacit::{Category, Error, Function, Job, Outcome, Role, SecurityScope, Session, library};
use tacit_net::Transport;
use tacit_protocol::Error::{PeerAborted, PeerMisbehaved};
use tacit_protocol::{Misbehaviour::ObliviousTransfer, message::Kind};
use tacit_testkit::sessions::{Folders, ROLES, fingerprint, insecure, over_link, session};
use tacit_testkit::tamper::{Fault, Play, Sent, TamperingSink};

const TIMEOUT: Duration = Duration::from_millis(2500);
/// The limit on links on which no party falls silent.
const PATIENCE: Duration = Duration::from_secs(60);
const SECURITY_BITS: u8 = 2;

fn stocks(folders: &Folders, role: Role) -> Stocks {
    folders.stocks(role).expect("a folder")
}

fn name(role: Role, tried: Tried) -> TryName {
    TryName {
        own: fingerprint(role),
        peer: fingerprint(role.other()),
        role,
        tried,
    }
}

fn record_of(folders: &Folders, role: Role, tried: Tried) -> TryRecord {
    let record = stocks(folders, role).try_record(&name(role, tried));
    record.expect("a record")
}

fn record(folders: &Folders, role: Role) -> TryRecord {
    record_of(folders, role, Tried::Batches)
}

fn function() -> Function {
    library::function("millionaires", &[("bits".to_owned(), 8)].into()).expect("a function")
}

/// Does both parties' `work` over a new link. The liar's first message of a kind has a fault.
fn meet<T: Send>(
    folders: &Folders,
    lie: Option<(Role, Kind, Fault)>,
    work: impl Fn(Role, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> [Result<T, Error>; 2] {
    meet_over(folders, TIMEOUT, faulty(lie), work)
}

/// Returns the ends of a link on which the liar's first message of a kind has a fault.
fn faulty(lie: Option<(Role, Kind, Fault)>) -> impl Fn(Role, Transport) -> Transport {
    move |role, transport| match lie {
        Some((liar, kind, fault)) if liar == role => {
            transport.map_sink(|inner| Box::new(TamperingSink::on_first(inner, kind.byte(), fault)))
        }
        _ => transport,
    }
}

/// Does both parties' `work` over a new link. `below` wraps each party's end, and no wait takes
/// longer than `timeout`.
fn meet_over<T: Send>(
    folders: &Folders,
    timeout: Duration,
    below: impl Fn(Role, Transport) -> Transport,
    work: impl Fn(Role, &mut Session, &Stocks) -> Result<T, Error> + Sync,
) -> [Result<T, Error>; 2] {
    over_link(below, |role, transport| {
        let mut session = session(transport, role, timeout)?;
        work(role, &mut session, &stocks(folders, role))
    })
}

fn prepare(
    folders: &Folders,
    lie: Option<(Role, Kind, Fault)>,
    executions: u64,
) -> [Result<Prepared, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        BatchPreparation::new(role, &function, executions)
            .statistical_security(insecure(SECURITY_BITS))
            .run(session, stocks)
    })
}

/// Returns both parties' results, neither of which may have failed.
fn both<T>(ended: [Result<T, Error>; 2]) -> [T; 2] {
    ended.map(|end| end.expect("no fault"))
}

fn run(folders: &Folders, lie: Option<(Role, Kind, Fault)>) -> [Result<Outcome, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        let job = job(&function, role, SECURITY_BITS);
        job.batch(stocks).run(session)
    })
}

/// A garbler that looks at the cut and leaves, in any way and any number of times, is charged for
/// each try, by processes that know of the earlier ones only from the disk.
#[test]
fn a_garbler_that_leaves_after_the_cut_pays_for_each_try() {
    let folders = Folders::empty();
    let lies = [
        // This is no try: the cut was not opened.
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
    let expected = SECURITY_BITS + charge_bits(Tried::Batches, 5);
    for made in [garbler, evaluator] {
        let plan = made.plan.expect("a plan");
        assert_eq!(plan.statistical_security_bits(), expected);
    }
    // A finished batch does not reduce the count, and an execution of it runs at the s of the
    // order.
    assert_eq!(record(&folders, Role::Evaluator).unfinished, 5);
    for outcome in run(&folders, None) {
        let outcome = outcome.expect("a result");
        assert_eq!(outcome.statistical_security_bits, Some(SECURITY_BITS));
    }
    // The operator clears the count.
    let name = name(Role::Evaluator, Tried::Batches);
    let cleared = stocks(&folders, Role::Evaluator).clear_tries(&name);
    assert_eq!(cleared.expect("a record").unfinished, 5);
    let [_, evaluator] = both(prepare(&folders, None, 3));
    let plan = evaluator.plan.expect("a plan");
    assert_eq!(plan.statistical_security_bits(), SECURITY_BITS);
}

/// A batch that is planned while another of the same peer is under way is planned as the later of
/// two tries: a garbler gains nothing by trying in parallel, here under two schemes.
#[test]
fn batches_that_are_prepared_side_by_side_are_charged_one_after_the_other() {
    let folders = Arc::new(Folders::empty());
    let order = |folders: &Folders, scheme, below: &dyn Fn(Role, Transport) -> Transport| {
        let function = function();
        let made = meet_over(folders, PATIENCE, below, |role, session, stocks| {
            BatchPreparation::new(role, &function, 1)
                .statistical_security(insecure(SECURITY_BITS))
                .scheme(scheme)
                .run(session, stocks)
        });
        let plans = both(made).map(|made| made.plan.expect("a plan"));
        plans.map(|plan| plan.statistical_security_bits())
    };
    let inner = Arc::new(Mutex::new(None));
    let (at, found) = (Arc::clone(&folders), Arc::clone(&inner));
    // The first is planned, and its check set is not opened yet.
    let play: Play = Box::new(move |kind, _| {
        let mut found = found.lock().expect("no panic");
        if kind == Kind::CircuitDigests.byte() && found.is_none() {
            *found = Some(order(&at, SchemeId::THREE_HALVES, &faulty(None)));
        }
        Sent::AsIs
    });
    let play = Mutex::new(Some(play));
    let outer = order(
        &folders,
        SchemeId::HALF_GATES_TWO_CALL,
        &|role, transport| match role {
            Role::Evaluator => transport,
            Role::Garbler => {
                let play = play.lock().expect("no panic").take().expect("one link");
                transport.map_sink(|inner| Box::new(TamperingSink::playing(inner, play)))
            }
        },
    );
    let second = SECURITY_BITS + charge_bits(Tried::Batches, 1);
    assert_eq!(outer, [SECURITY_BITS; 2]);
    assert_eq!(*inner.lock().expect("no panic"), Some([second; 2]));
    for role in ROLES {
        assert_eq!(
            record(&folders, role),
            TryRecord::default(),
            "both ended well"
        );
    }
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
                .statistical_security(insecure(SECURITY_BITS));
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
        // An evaluator that has sent its last message learns nothing until the next meeting.
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

/// A connection that breaks in a run costs only its execution.
#[test]
fn a_lost_connection_sets_nothing_aside() {
    let folders = Folders::empty();
    both(prepare(&folders, None, 2));
    let lie = (Role::Garbler, Kind::InputLabels, Fault::CloseBefore);
    let [_, evaluator] = run(&folders, Some(lie));
    assert!(evaluator.is_err());
    assert_eq!(record(&folders, Role::Evaluator), TryRecord::default());
    both(run(&folders, None));
}

/// Returns a run on the party's input.
fn job(function: &Function, role: Role, bits: u8) -> Job<'_> {
    let job = Job::new(function, role).statistical_security(insecure(bits));
    match role {
        Role::Garbler => job.input("a", 255_u8),
        Role::Evaluator => job.input("b", 40_u8),
    }
}

/// Makes a session of one run by `authenticated` that both parties count.
fn authenticated(
    folders: &Folders,
    lie: Option<(Role, Kind, Fault)>,
    bits: u8,
) -> [Result<Outcome, Error>; 2] {
    let function = function();
    meet(folders, lie, |role, session, stocks| {
        let job = job(&function, role, bits).by(Protocol::Authenticated, Some(stocks))?;
        job.run(session)
    })
}

fn unfinished(folders: &Folders, role: Role) -> u64 {
    record_of(folders, role, Tried::Authenticated).unfinished
}

/// A peer of `authenticated` that has seen something and leaves, in any way and any number of
/// times, is charged for each try, by sessions that know of the earlier ones only from the disk.
#[test]
fn a_peer_that_leaves_a_run_pays_for_each_try() {
    let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
    for (liar, lies) in [
        (
            garbler,
            [
                // This is no try: it sent nothing of an epoch.
                (Kind::Propose, Fault::CloseBefore, 0),
                (Kind::ChargedSecurity, Fault::CloseBefore, 0),
                (Kind::BaseOtChoice, Fault::CloseBefore, 0),
                // It sent its first base OTs.
                (Kind::BaseOtOffer, Fault::CloseBefore, 1),
                // It has seen whether its leaky ANDs are right, and would be caught.
                (Kind::EqualityDigest, Fault::CloseBefore, 2),
                (Kind::TripleOpenings, Fault::Silence, 3),
                (Kind::AuthenticatedTables, Fault::CloseWithin, 4),
                (Kind::GateProof, Fault::FlipFirst, 5),
            ],
        ),
        (
            evaluator,
            [
                (Kind::ChargedSecurity, Fault::CloseBefore, 0),
                (Kind::BaseOtOffer, Fault::CloseBefore, 0),
                (Kind::BaseOtChoice, Fault::CloseBefore, 1),
                (Kind::CotExtension, Fault::CloseBefore, 2),
                (Kind::EqualityOpening, Fault::CloseBefore, 3),
                (Kind::TripleOpenings, Fault::CloseBefore, 4),
                (Kind::MaskedValues, Fault::Silence, 5),
                (Kind::LabelDigest, Fault::FlipFirst, 6),
            ],
        ),
    ] {
        let folders = Folders::empty();
        let victim = liar.other();
        for (kind, fault, tries) in lies {
            let ended = authenticated(&folders, Some((liar, kind, fault)), 40);
            assert!(ended[victim as usize].is_err(), "{kind}, {fault:?}");
            assert_eq!(unfinished(&folders, victim), tries, "{kind}, {fault:?}");
        }
        // Runs that end well are made at the s that tries require, and are not counted as tries.
        let tries = unfinished(&folders, victim);
        let charge = charge_bits(Tried::Authenticated, tries.max(unfinished(&folders, liar)));
        for outcome in both(authenticated(&folders, None, 40)) {
            assert_eq!(outcome.statistical_security_bits, Some(40));
            let made_at_bits = 40 + charge;
            let scope = SecurityScope::AllRuns { made_at_bits };
            assert_eq!(outcome.security_scope, Some(scope));
        }
        assert_eq!(unfinished(&folders, victim), tries);
        // `batch` has a separate count.
        assert_eq!(record(&folders, victim), TryRecord::default());
    }
}

/// A run is on disk as a try before it sends anything of its epoch, not only when it becomes one.
#[test]
fn a_run_is_counted_before_its_first_base_ot_leaves() {
    for (role, kind) in [
        (Role::Garbler, Kind::BaseOtChoice),
        (Role::Evaluator, Kind::BaseOtOffer),
    ] {
        let folders = Arc::new(Folders::empty());
        let (at, found) = (Arc::clone(&folders), Arc::new(Mutex::new(None)));
        let seen = Arc::clone(&found);
        let play: Play = Box::new(move |sent, _| {
            if sent == kind.byte() {
                let mut seen = seen.lock().expect("no panic");
                seen.get_or_insert_with(|| unfinished(&at, role));
            }
            Sent::AsIs
        });
        let play = Mutex::new(Some(play));
        let below = |of, transport: Transport| {
            if of == role {
                let play = play.lock().expect("no panic").take().expect("one link");
                transport.map_sink(|inner| Box::new(TamperingSink::playing(inner, play)))
            } else {
                transport
            }
        };
        let function = function();
        both(meet_over(
            &folders,
            PATIENCE,
            below,
            |role, session, stocks| {
                let job = job(&function, role, 40);
                job.by(Protocol::Authenticated, Some(stocks))?.run(session)
            },
        ));
        assert_eq!(*found.lock().expect("no panic"), Some(1), "{kind}");
    }
}

/// A cheat that is caught is recorded on both disks.
#[test]
fn a_cheat_in_a_run_from_nothing_is_recorded() {
    for (liar, kind) in [
        (Role::Garbler, Kind::GateProof),
        (Role::Evaluator, Kind::LabelDigest),
        // A guess at bits of Δ.
        (Role::Evaluator, Kind::CotExtension),
    ] {
        let folders = Folders::empty();
        for ended in authenticated(&folders, Some((liar, kind, Fault::FlipFirst)), 40) {
            let error = ended.expect_err("a cheat");
            assert_eq!(error.category(), Category::Peer, "{kind}: {error}");
            // Otherwise the liar knows whether it guessed right, without a check that stops it.
            let is_of_ots = matches!(
                error,
                Error::Protocol(PeerMisbehaved(ObliviousTransfer(_)) | PeerAborted(_))
            );
            assert!(kind != Kind::CotExtension || is_of_ots, "{error}");
        }
        for role in ROLES {
            let record = record_of(&folders, role, Tried::Authenticated);
            assert_eq!((record.unfinished, record.cheats), (1, 1), "{kind}");
        }
    }
}

/// A session counts once, while it is open, however many runs it has.
#[test]
fn a_session_is_a_try_until_it_ends_well() {
    let folders = Folders::empty();
    let function = function();
    let ended = meet(&folders, None, |role, session, stocks| {
        for _ in 0..3 {
            let job = job(&function, role, 40).by(Protocol::Authenticated, Some(stocks))?;
            job.run(session)?;
            assert_eq!(unfinished(&folders, role), 1);
        }
        Ok(())
    });
    both(ended);
    assert_eq!(ROLES.map(|role| unfinished(&folders, role)), [0, 0]);
}

/// A session was open when the operator cleared the tries. When it ends well, it does not reduce
/// the count since then: otherwise a peer could keep one open and try for free.
#[test]
fn a_session_that_was_cleared_takes_no_later_try_off() {
    let folders = Folders::empty();
    let function = function();
    let run = |role, session: &mut Session, stocks: &Stocks| {
        let job = job(&function, role, 40);
        job.by(Protocol::Authenticated, Some(stocks))?.run(session)
    };
    let ended = meet_over(&folders, PATIENCE, faulty(None), |role, session, stocks| {
        run(role, session, stocks)?;
        if role == Role::Evaluator {
            let name = name(role, Tried::Authenticated);
            let cleared = stocks.clear_tries(&name).expect("a record");
            assert_eq!(cleared.unfinished, 1);
            let lie = Some((Role::Garbler, Kind::GateProof, Fault::CloseBefore));
            let [_, evaluator] = meet_over(&folders, PATIENCE, faulty(lie), run);
            assert!(evaluator.is_err());
            assert_eq!(unfinished(&folders, role), 1);
        }
        Ok(())
    });
    both(ended);
    assert_eq!(unfinished(&folders, Role::Evaluator), 1);
}

/// Too many tries are refused before anything is sent that depends on a secret, until the operator
/// clears them. If tries are not counted, the outcome says so.
#[test]
fn too_many_tries_are_refused() {
    const TRIES: u64 = 32;
    let folders = Folders::empty();
    for _ in 0..TRIES {
        let lie = (Role::Garbler, Kind::BaseOtOffer, Fault::CloseBefore);
        let [_, evaluator] = authenticated(&folders, Some(lie), 64);
        assert!(evaluator.is_err());
    }
    let counts = || ROLES.map(|role| unfinished(&folders, role));
    let before = counts();
    let [garbler, evaluator] = authenticated(&folders, None, 64);
    let evaluator = evaluator.expect_err("too many tries");
    let Error::TooManyTries { tried, unfinished } = evaluator else {
        panic!("{evaluator}");
    };
    assert!(tried == Tried::Authenticated && unfinished >= TRIES);
    assert!(garbler.is_err());
    // A refused run is no try.
    assert_eq!(counts(), before);
    let function = function();
    let uncounted = meet(&folders, None, |role, session, _| {
        job(&function, role, 64).authenticated().run(session)
    });
    for outcome in both(uncounted) {
        assert_eq!(outcome.security_scope, Some(SecurityScope::ThisRun));
    }
    for role in ROLES {
        let name = name(role, Tried::Authenticated);
        let cleared = stocks(&folders, role).clear_tries(&name);
        assert!(cleared.expect("a record").unfinished >= TRIES);
    }
    both(authenticated(&folders, None, 64));
}
