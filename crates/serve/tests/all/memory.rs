//! The memory of all peers' runs together is bounded.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::replenish::until;
use crate::scene::{A, Scene, millionaires};
use tacit::protocols::StatisticalSecurity;
use tacit::session::{AbortReason, OtExtension, ProtocolId};
use tacit::stock::{LOT_SCHEME, LotPreparation};
use tacit::{Error, Fingerprint, Job, ProtocolError, Role, Session, Value};
use tacit_serve::inputs::FromProgram;
use tacit_serve::policy::Material;
use tacit_serve::{Level, Limits, Offer, Policy, Service, memory};

fn limits(memory_mib: u64) -> Limits {
    Limits {
        memory_mib,
        ..Scene::limits()
    }
}

/// Returns an offer of `millionaires` by `authenticated` alone.
fn authenticated(scene: &Scene) -> Offer {
    Offer {
        protocols: vec![ProtocolId::Authenticated],
        ..scene.offer(vec![millionaires(8)])
    }
}

fn is_busy<T>(result: Result<T, Error>) -> bool {
    matches!(
        result,
        Err(Error::Protocol(ProtocolError::PeerAborted(
            AbortReason::Busy
        )))
    )
}

#[test]
fn what_could_never_run_is_refused_at_the_start() {
    let scene = Scene::new(1);
    let policy =
        |mib, offer| Policy::new(scene.peer_list(), vec![offer], vec![], limits(mib), None);
    let told = |refused: tacit_serve::policy::Error| refused.to_string();
    let refused = told(
        policy(231, authenticated(&scene))
            .err()
            .expect("too little"),
    );
    assert!(
        refused.contains("memory_mib: 231") && refused.contains("at least 232"),
        "{refused}"
    );
    assert!(policy(232, authenticated(&scene)).is_ok());
    let direct = policy(30, scene.offer(vec![millionaires(8)])).expect("few bytes");
    let refused = told(
        direct
            .ot_extension(Some(OtExtension::Silent))
            .err()
            .expect("too little"),
    );
    assert!(refused.contains("at least 41"), "{refused}");
}

#[test]
fn a_peers_share_is_no_less_than_a_run_and_no_more_than_all() {
    let scene = Scene::new(1);
    let policy = |per_peer| {
        let limits = Limits {
            memory_mib_per_peer: Some(per_peer),
            ..limits(400)
        };
        Policy::new(
            scene.peer_list(),
            vec![authenticated(&scene)],
            vec![],
            limits,
            None,
        )
    };
    for (per_peer, word) in [(231, "at least 232"), (401, "at most memory_mib, 400")] {
        let refused = policy(per_peer).err().expect("no share").to_string();
        let named = format!("memory_mib_per_peer: {per_peer}");
        assert!(
            refused.contains(&named) && refused.contains(word),
            "{refused}"
        );
    }
    for per_peer in [232, 400] {
        assert!(policy(per_peer).is_ok(), "{per_peer}");
    }
}

/// Returns an offer whose runs with peers that `waits` names last until the test lets them go on:
/// the offer, the channel that lets one go on, and the one that says that one has begun.
fn lasting(
    scene: &Scene,
    waits: impl Fn(Fingerprint) -> bool + Send + Sync + 'static,
) -> (Offer, mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (go_on, held) = mpsc::channel::<()>();
    let (tells, begun) = mpsc::channel::<()>();
    let (held, tells) = (Mutex::new(held), Mutex::new(tells));
    let offer = Offer {
        inputs: Arc::new(FromProgram(move |asked: &tacit_serve::RunRequest<'_>| {
            if waits(asked.peer) {
                tells.lock().unwrap().send(()).unwrap();
                held.lock().unwrap().recv().unwrap();
            }
            Ok([("a".to_owned(), Value::from(A))].into())
        })),
        ..authenticated(scene)
    };
    (offer, go_on, begun)
}

/// Runs as this peer, and returns the result.
fn run(scene: &Scene, service: &Service, peer: usize) -> Result<String, Error> {
    let mut session = scene.session(service, peer)?;
    let function = millionaires(8);
    let job = Job::new(&function, Role::Evaluator).authenticated();
    let outcome = job.input("b", 40_u32).run(&mut session)?;
    Ok(outcome.outputs["a_is_richer"].to_text())
}

/// A peer with all its sessions takes its share of the memory, and the other peers have theirs.
#[test]
fn no_peer_holds_the_memory_of_all() {
    let scene = Scene::new(2);
    let greedy = scene.fingerprint(0);
    let (offer, go_on, begun) = lasting(&scene, move |peer| peer == greedy);
    // There is room for two runs, and the share of a peer is one.
    let service = scene.start(scene.policy(vec![offer], vec![], limits(464)));
    let run = |peer| run(&scene, &service, peer);
    thread::scope(|scope| {
        let first = scope.spawn(|| run(0));
        begun.recv().unwrap();
        assert!(is_busy(run(0)), "a second lot is the other peer's");
        scene.refused("run", "memory_mib_per_peer");
        assert_eq!(run(1).unwrap(), "1");
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), "1");
    });
}

#[test]
fn a_run_waits_outside_while_others_hold_the_memory() {
    let scene = Scene::new(2);
    let (offer, go_on, begun) = lasting(&scene, |_| true);
    let service = scene.start(scene.policy(vec![offer], vec![], limits(463)));
    let run = |peer| run(&scene, &service, peer);
    thread::scope(|scope| {
        let first = scope.spawn(|| run(0));
        begun.recv().unwrap();
        assert!(is_busy(run(1)), "two runs take 464 MiB");
        scene.refused("run", "memory");
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), "1");
    });
    go_on.send(()).unwrap();
    let mut result = None;
    until("what the first held is free again", || match run(1) {
        // The service's side of the first run ends after the peer's.
        Err(Error::Protocol(ProtocolError::PeerAborted(AbortReason::Busy))) => false,
        done => {
            result = Some(done.unwrap());
            true
        }
    });
    assert_eq!(result.as_deref(), Some("1"));
}

/// Returns a level of triples for each peer.
fn triples(scene: &Scene, ands: u64) -> Vec<Level> {
    let of = |peer| Level {
        peer: scene.fingerprint(peer),
        role: Role::Garbler,
        scheme: LOT_SCHEME,
        material: Material::Triples(StatisticalSecurity::DEFAULT),
        amount: ands,
        refill_below: 1,
    };
    vec![of(0), of(1)]
}

/// A container of 120 MiB leaves 88, and a lot of a million triples takes 200.
#[test]
fn a_level_that_could_never_be_prepared_is_refused_at_the_start() {
    let scene = Scene::new(2);
    let left_mib = memory::left_of(120 << 20) >> 20;
    let policy = |ands| {
        let levels = triples(&scene, ands);
        Policy::new(scene.peer_list(), vec![], levels, limits(left_mib), None)
    };
    let refused = policy(1_000_000).err().expect("too little").to_string();
    for word in ["memory_mib: 88", "at least 252", "the stock for triples"] {
        assert!(refused.contains(word), "{refused}");
    }
    assert!(policy(100_000).is_ok());
}

#[test]
fn an_order_waits_outside_while_runs_hold_the_memory() {
    let scene = Scene::new(2);
    let (offer, go_on, begun) = lasting(&scene, |_| true);
    let levels = triples(&scene, 1_000_000);
    let service = scene.start(scene.policy(vec![offer], levels, limits(500)));
    let stocks = scene.stocks("peer1", 1 << 30);
    let order = |ands| {
        let mut session = scene.session(&service, 1)?;
        let order = LotPreparation::triples(Role::Evaluator, ands);
        order.run(&mut session, &stocks).map(drop)
    };
    thread::scope(|scope| {
        let both = [0, 1].map(|peer| {
            let (scene, service) = (&scene, &service);
            scope.spawn(move || run(scene, service, peer))
        });
        both.iter().for_each(|_| begun.recv().unwrap());
        assert!(is_busy(order(1000)), "two runs and an order take 664 MiB");
        both.iter().for_each(|_| go_on.send(()).unwrap());
        for run in both {
            run.join().unwrap().unwrap();
        }
    });
    until("what the run held is free again", || match order(1000) {
        Err(Error::Protocol(ProtocolError::PeerAborted(AbortReason::Busy))) => false,
        done => done.is_ok(),
    });
}

/// Otherwise the runs of one peer, within its share, could prevent all preparations.
#[test]
fn there_is_room_for_a_preparation_beside_the_share_of_a_peer() {
    let scene = Scene::new(2);
    let policy = |memory_mib, memory_mib_per_peer| {
        let limits = Limits {
            memory_mib_per_peer,
            ..limits(memory_mib)
        };
        let levels = triples(&scene, 1_000_000);
        Policy::new(scene.peer_list(), vec![], levels, limits, None)
    };
    let refused = policy(400, Some(201))
        .err()
        .expect("too little")
        .to_string();
    for word in [
        "memory_mib: 400",
        "at least 453",
        "201, and 252 for the stock",
    ] {
        assert!(refused.contains(word), "{refused}");
    }
    assert!(policy(453, Some(201)).is_ok());
    // A default share leaves the room.
    assert!(policy(253, None).is_ok());
}

/// Otherwise peers that run once and stay connected would keep the memory from all others.
#[test]
fn a_session_holds_the_lot_of_a_run_no_longer_than_the_run() {
    let scene = Scene::new(2);
    // There is room for a run, and for the part that another leaves to its session.
    let service = scene.start(scene.policy(vec![authenticated(&scene)], vec![], limits(264)));
    let function = millionaires(8);
    let run = |session: &mut Session| {
        let job = Job::new(&function, Role::Evaluator).authenticated();
        job.input("b", 40_u32).run(session).map(drop)
    };
    let mut stays = scene.session(&service, 0).unwrap();
    run(&mut stays).unwrap();
    // The service ends the run a moment later.
    let end = Instant::now() + Duration::from_secs(30);
    while let Err(error) = run(&mut scene.session(&service, 1).unwrap()) {
        assert!(Instant::now() < end && is_busy::<()>(Err(error)));
    }
    stays.close().unwrap();
}

#[test]
fn a_session_holds_its_silent_ots_until_it_ends() {
    let scene = Scene::new(2);
    let policy = scene.policy(vec![scene.offer(vec![millionaires(8)])], vec![], limits(70));
    let policy = policy.ot_extension(Some(OtExtension::Silent)).unwrap();
    let service = scene.start(policy);
    let meet = |service: &Service, peer| -> Result<Session, Error> {
        let mut session = scene.session(service, peer)?;
        session.set_ot_extension(OtExtension::Silent)?;
        Ok(session)
    };
    let function = millionaires(8);
    let mut first = meet(&service, 0).unwrap();
    assert!(scene.richer(&mut first, &function, 40).unwrap());
    let refused = scene.richer(&mut meet(&service, 1).unwrap(), &function, 40);
    assert!(is_busy(refused), "two sources take 82 MiB");
    assert!(
        scene.richer(&mut first, &function, 42).is_ok(),
        "its own again"
    );
    first.close().unwrap();
    // The service notices the end a moment later.
    let end = Instant::now() + Duration::from_secs(30);
    while let Err(error) = scene.richer(&mut meet(&service, 1).unwrap(), &function, 40) {
        assert!(Instant::now() < end && is_busy::<()>(Err(error)));
    }
}
