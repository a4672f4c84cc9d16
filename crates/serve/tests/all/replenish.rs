//! Stocks that a service keeps at their levels.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::{Scene, aes, copy_folder, millionaires};
use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::session::ProtocolId;
use tacit::stock::StockName;
use tacit::{Identity, Job, Listener, Role};
use tacit_serve::{Event, Level, Limits, Material, Peer, Policy, Rate, Service};

const PATIENCE: Duration = Duration::from_secs(30);

/// A peer that is a service of its own, to which the first one connects.
pub(crate) struct Other {
    pub(crate) service: Service,
    pub(crate) address: String,
}

impl Other {
    pub(crate) fn start(scene: &Scene, stock_bytes: u64, levels: Vec<Level>) -> Self {
        let alice = Peer {
            name: "alice".to_owned(),
            fingerprint: scene.alice.fingerprint(),
            address: None,
            link: None,
        };
        let policy = Policy::new(vec![alice], Vec::new(), levels, Scene::limits(), None);
        let bob: Identity = scene.peers[0].clone();
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let stocks = Some(scene.stocks("peer0", stock_bytes));
        let silent = Arc::new(|_: &Event| ());
        let service = Service::start(bob, listener, stocks, policy.unwrap(), silent).unwrap();
        let address = service.local_address().to_string();
        Self { service, address }
    }
}

/// Returns the peer's side of a level.
fn mirrored(scene: &Scene, runs: u64) -> Level {
    Level {
        peer: scene.alice.fingerprint(),
        role: Role::Evaluator,
        ..scene.level(0, runs)
    }
}

fn policy(scene: &Scene, address: &str, levels: Vec<Level>) -> Policy {
    let mut peers = scene.peer_list();
    peers[0].address = Some(address.to_owned());
    let offers = vec![scene.offer(vec![aes()])];
    Policy::new(peers, offers, levels, Scene::limits(), None).unwrap()
}

/// Waits until `holds`.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + 4 * PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_stock_is_filled_to_its_level_again_and_again_and_never_beyond() {
    let scene = Scene::new(1);
    let other = Other::start(&scene, 1 << 30, vec![mirrored(&scene, 4)]);
    let mut level = scene.level(0, 4);
    level.refill_below = 3;
    let service = scene.start(policy(&scene, &other.address, vec![level]));
    // A second handle on the peer's stock.
    let stocks = scene.stocks("peer0", 1 << 30);
    let left = || stocks.runs_left(&scene.stock_name(0), &aes()).unwrap();
    until("the stock is filled", || left() == 4);
    for round in 0..3 {
        let mut session = scene.session(&service, 0).unwrap();
        for _ in 0..2 {
            let outcome = scene.encrypt(&mut session, &stocks);
            assert_eq!(outcome.cost.and_gates_on_the_spot, 0, "round {round}");
        }
        session.close().unwrap();
        until("the stock is filled again", || {
            assert!(left() <= 4);
            left() == 4
        });
    }
    assert_eq!(other.service.stop(PATIENCE).cut, 0);
}

#[test]
fn no_stock_grows_beyond_its_bound() {
    let scene = Scene::new(1);
    // 64 OTs take 1 KiB at the garbler, and a run of AES 128 of them.
    let (alice_bytes, level) = (10_000, 1000);
    let other = Other::start(&scene, 1 << 30, vec![mirrored(&scene, level)]);
    let levels = vec![scene.level(0, level)];
    let service = scene.start_with(policy(&scene, &other.address, levels), alice_bytes);
    let failed = scene.event(|event| matches!(event, Event::ReplenishFailed { .. }));
    assert!(format!("{failed:?}").contains("10000"), "{failed:?}");
    let stocks = scene.stocks("alice", alice_bytes);
    for name in stocks.list().unwrap() {
        let summary = stocks.summary(&name).unwrap();
        assert!(summary.bytes <= alice_bytes, "{summary:?}");
    }
    let _ = service.stop(PATIENCE);
}

#[test]
fn runs_that_find_too_little_do_not_wait_for_all_that_is_prepared() {
    let scene = Scene::new(1);
    let offers = vec![scene.offer(vec![aes()])];
    let levels = vec![scene.level(0, 600)];
    let limits = Limits {
        message: PATIENCE,
        ..Scene::limits()
    };
    let service = scene.start(scene.policy(offers, levels, limits));
    let stocks = scene.stocks("peer0", 1 << 30);
    thread::scope(|scope| {
        let scene = &scene;
        let mut preparing = scene.session(&service, 0).unwrap();
        let stocks = &stocks;
        let prepared = scope.spawn(move || scene.prepare(&mut preparing, stocks, 600));
        let mut session = scene.session(&service, 0).unwrap();
        for _ in 0..5 {
            scene.encrypt(&mut session, stocks);
        }
        let prepared = prepared.join().unwrap().unwrap();
        assert_eq!(prepared.kinds.len(), 4);
    });
    let left = stocks.runs_left(&scene.stock_name(0), &aes()).unwrap();
    assert!((595..=600).contains(&left), "{left}");
    let _ = service.stop(PATIENCE);
}

#[test]
fn the_peer_of_a_failed_preparation_is_tried_later_and_others_now() {
    let scene = Scene::new(2);
    let levels = vec![scene.level(0, 2)];
    // Nobody listens at the peer's address.
    let service = scene.start(policy(&scene, "127.0.0.1:1", levels));
    scene.event(|event| matches!(event, Event::ReplenishFailed { peer, .. } if peer == "peer0"));
    let stocks = scene.stocks("peer1", 1 << 30);
    let mut session = scene.session(&service, 1).unwrap();
    scene.encrypt(&mut session, &stocks);
    let name = StockName {
        own: scene.fingerprint(1),
        ..scene.stock_name(0)
    };
    assert_eq!(stocks.runs_left(&name, &aes()).unwrap(), 0);
    let _ = service.stop(PATIENCE);
}

#[test]
fn a_peer_that_finds_the_service_busy_is_heard_as_before() {
    let scene = Scene::new(2);
    // This listener accepts connections and says nothing: the one permitted preparation goes on
    // with it.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peers = scene.peer_list();
    peers[0].address = Some(silent.local_addr().unwrap().to_string());
    let limits = Limits {
        preparations: 1,
        refusals: Rate {
            times: 3,
            per: Duration::from_secs(36_000),
        },
        ..Scene::limits()
    };
    let offers = vec![scene.offer(vec![aes()])];
    let levels = vec![scene.level(0, 2), scene.level(1, 2)];
    let service = scene.start(Policy::new(peers, offers, levels, limits, None).unwrap());
    let stocks = scene.stocks("peer1", 1 << 30);
    let mut busy = 0;
    until("the service has been busy five times", || {
        let mut session = scene.session(&service, 1).unwrap();
        busy += u32::from(scene.prepare(&mut session, &stocks, 2).is_err());
        busy == 5
    });
    scene.refused("preparation", "no preparation is free");
    let mut session = scene.session(&service, 1).unwrap();
    scene.encrypt(&mut session, &stocks);
    let _ = service.stop(PATIENCE);
}

/// Otherwise it would hold the service's only thread for the time of a preparation, again and
/// again.
#[test]
fn a_peer_that_says_nothing_keeps_no_other_from_being_filled() {
    let scene = Scene::new(2);
    let other = Other::start(&scene, 1 << 30, vec![mirrored(&scene, 2)]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peers = scene.peer_list();
    peers[0].address = Some(other.address.clone());
    peers[1].address = Some(silent.local_addr().unwrap().to_string());
    let limits = Limits {
        handshake: 4 * PATIENCE,
        ..Scene::limits()
    };
    let offers = vec![scene.offer(vec![aes()])];
    let levels = vec![scene.level(0, 2), scene.level(1, 2)];
    let service = scene.start(Policy::new(peers, offers, levels, limits, None).unwrap());
    let stocks = scene.stocks("peer0", 1 << 30);
    let left = || stocks.runs_left(&scene.stock_name(0), &aes()).unwrap();
    let _connection = silent.accept().unwrap();
    until("the stock is filled", || left() == 2);
    let mut session = scene.session(&service, 0).unwrap();
    scene.encrypt(&mut session, &stocks);
    session.close().unwrap();
    until("the stock is filled again", || left() == 2);
    let _ = service.stop(PATIENCE);
}

/// Otherwise as many peers as there may be preparations would hold them forever, each starting
/// again when it has ended.
#[test]
fn a_peer_that_had_its_turn_does_not_prepare_again_before_one_that_waits() {
    let scene = Scene::new(2);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peers = scene.peer_list();
    peers[0].address = Some(silent.local_addr().unwrap().to_string());
    let limits = Limits {
        preparations: 1,
        handshake: 4 * PATIENCE,
        ..Scene::limits()
    };
    let offers = vec![scene.offer(vec![aes()])];
    let levels = vec![scene.level(0, 2), scene.level(1, 2)];
    let service = scene.start(Policy::new(peers, offers, levels, limits, None).unwrap());
    let prepare = |peer: usize| {
        let stocks = scene.stocks(&format!("peer{peer}"), 1 << 30);
        let mut session = scene.session(&service, peer).unwrap();
        scene.prepare(&mut session, &stocks, 2)
    };
    let connection = silent.accept().unwrap();
    prepare(1).expect_err("a service that prepares with the first peer");
    drop((connection, silent));
    let health = || service.answers().health().1;
    until("the first peer's turn is over", || {
        health().contains(r#""preparing":0"#)
    });
    prepare(0).expect_err("a service for which the second peer waits");
    scene.refused("preparation", "no preparation is free");
    prepare(1).expect("its turn");
    let _ = service.stop(PATIENCE);
}

#[test]
fn checked_executions_are_kept_in_stock_and_run() {
    let [s, lower] = [8, 7]
        .map(|bits| StatisticalSecurity::insecure_for_measurements(bits).expect("1 to 80 bits"));
    let scene = Scene::new(1);
    let function = millionaires(32);
    let level = |peer, role| Level {
        peer,
        role,
        material: Material::Executions(Arc::clone(&function), s),
        refill_below: 2,
        ..scene.level(0, 3)
    };
    let theirs = vec![level(scene.alice.fingerprint(), Role::Evaluator)];
    let other = Other::start(&scene, 1 << 30, theirs);
    let mut peers = scene.peer_list();
    peers[0].address = Some(other.address.clone());
    let mut offer = scene.offer(vec![Arc::clone(&function)]);
    offer.protocols = vec![ProtocolId::Batch];
    offer.security = s;
    offer.scheme = Some(SchemeId::HALF_GATES_TWO_CALL);
    let ours = vec![level(scene.fingerprint(0), Role::Garbler)];
    let policy = Policy::new(peers, vec![offer], ours, Scene::limits(), None);
    let service = scene.start(policy.unwrap());
    let stocks = scene.stocks("peer0", 1 << 30);
    let left = || {
        let name = scene.stock_name(0);
        stocks.executions_left(&name, &function, s).unwrap()
    };
    until("executions are checked", || left() == 3);
    let job = || {
        let job = Job::new(&function, Role::Evaluator).input("b", 40_u32);
        job.scheme(SchemeId::HALF_GATES_TWO_CALL)
    };
    for _ in 0..2 {
        let mut session = scene.session(&service, 0).unwrap();
        for _ in 0..2 {
            let job = job().batch(&stocks).statistical_security(s);
            let outcome = job.run(&mut session).unwrap();
            assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
        }
        session.close().unwrap();
        until("executions are checked again", || left() == 3);
    }
    // Nothing less secure runs, neither another protocol nor a lower s.
    for weaker in [job(), job().batch(&stocks).statistical_security(lower)] {
        let mut session = scene.session(&service, 0).unwrap();
        assert!(weaker.run(&mut session).is_err());
    }
    assert_eq!(left(), 3);
    let _ = other.service.stop(PATIENCE);
    let _ = service.stop(PATIENCE);
}

/// It does not matter whether the peer lies about its record or this party's disk was set back:
/// each try costs a session, a meeting and a pass over the whole record, so they are limited.
#[test]
fn a_record_beside_which_ours_looks_old_counts_as_a_refusal() {
    let scene = Scene::new(1);
    let limits = Limits {
        refusals: Rate {
            times: 2,
            per: Duration::from_secs(36_000),
        },
        ..Scene::limits()
    };
    let start = || {
        let (offer, level) = (scene.offer(vec![aes()]), scene.level(0, 4));
        scene.start(scene.policy(vec![offer], vec![level], limits.clone()))
    };
    let stocks = scene.stocks("peer0", 1 << 30);
    let prepare = |service: &Service, runs| {
        let mut session = scene.session(service, 0)?;
        scene.prepare(&mut session, &stocks, runs)
    };
    let folder = scene.folder.path();
    let service = start();
    prepare(&service, 2).unwrap();
    drop(service);
    copy_folder(&folder.join("alice"), &folder.join("old"));
    let service = start();
    prepare(&service, 4).unwrap();
    drop(service);
    fs::remove_dir_all(folder.join("alice")).unwrap();
    copy_folder(&folder.join("old"), &folder.join("alice"));
    let service = start();
    for _ in 0..2 {
        prepare(&service, 4).expect_err("a stock that went back");
        // The peer learns of it a moment before its turn is over here.
        let is_over = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            service.answers().health().1.contains("\"preparing\":0")
        });
        assert!(is_over, "the turn does not end");
    }
    scene.refused("behaviour", "as replenish-failed says");
    scene.event(|event| {
        matches!(event, Event::ReplenishFailed { reason, .. } if reason.contains("restored"))
    });
    prepare(&service, 4).expect_err("a peer that was refused twice");
    scene.refused("session", "too often of late");
    let _ = service.stop(PATIENCE);
}
