//! The refusals of peers, and how many of them are reported.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::scheme::default_scheme;
use tacit::session::{AbortReason, ProtocolId};
use tacit::{Identity, Job, Role};
use tacit_serve::{Event, Level, Limits, Material, Offer, Policy, Rate, Service};

use crate::scene::{A, Scene, millionaires, refused_with};

/// Connects as a stranger, and is refused.
fn stranger(service: &Service) {
    let mut socket = TcpStream::connect(service.local_address()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // The answer is an alert or a reset connection.
    let _ = socket.read_to_end(&mut Vec::new());
}

#[test]
fn strangers_do_not_fill_the_log() {
    let scene = Scene::new(1);
    let offers = vec![scene.offer(vec![millionaires(8)])];
    let service = scene.start(scene.policy(offers, Vec::new(), Scene::limits()));
    let began = Instant::now();
    (0..100).for_each(|_| stranger(&service));
    let is_told = |event: &&Event| matches!(event, Event::Refused { peer: None, .. });
    let told = scene.events().iter().filter(is_told).count() as u64;
    // Twenty, and one in each three seconds since.
    assert!(told <= 21 + began.elapsed().as_secs() / 3, "{told}");
    // The others are counted, and reported with the next one.
    let is_more = |event: &Event| matches!(event, Event::RefusedMore { peer: None, .. });
    let told = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(200));
        stranger(&service);
        scene.events().iter().any(is_more)
    });
    assert!(told, "{:?}", scene.events());
}

#[test]
fn what_a_peer_may_not_is_refused_told_and_counted() {
    let scene = Scene::new(2);
    let (eight, sixteen) = (millionaires(8), millionaires(16));
    let mut only_first = scene.offer(vec![eight.clone()]);
    only_first.peers = [scene.fingerprint(0)].into();
    let policy = scene.policy(vec![only_first], Vec::new(), Scene::limits());
    let service = scene.start(policy);

    // Out-of-bounds parameters give another function.
    let mut session = scene.session(&service, 0).unwrap();
    refused_with(
        scene.richer(&mut session, &sixteen, 1),
        AbortReason::NotAllowed,
    );
    // The function is offered to the other peer.
    let mut session = scene.session(&service, 1).unwrap();
    refused_with(
        scene.richer(&mut session, &eight, 1),
        AbortReason::NotAllowed,
    );
    scene.refused("run", "may not");
    // The same function with other settings: both sides name the difference.
    let mut session = scene.session(&service, 0).unwrap();
    let job = Job::new(&eight, Role::Evaluator).input("b", 1_u32);
    let error = job
        .scheme(SchemeId::THREE_HALVES)
        .run(&mut session)
        .unwrap_err();
    assert!(error.to_string().contains("three-halves"), "{error}");
    let mut session = scene.session(&service, 0).unwrap();
    let job = Job::new(&eight, Role::Garbler).input("a", 1_u32);
    let error = job.run(&mut session).unwrap_err();
    assert!(error.with_advice().contains("role evaluator"), "{error}");
    // There is no level for this order.
    let mut session = scene.session(&service, 0).unwrap();
    let stocks = scene.stocks("peer0", 1 << 30);
    let prepared = scene.prepare(&mut session, &stocks, 3);
    refused_with(prepared, AbortReason::OrderNotAllowed);
    scene.refused(
        "preparation",
        "as evaluator under half-gates/two-call, fits no level of stock",
    );
    // A stranger is not let in.
    let stranger = Identity::generate().unwrap();
    let error = scene
        .session_as(&service, &stranger)
        .err()
        .expect("a refusal");
    assert!(error.to_string().contains("refused this side"), "{error}");
    scene.refused("connection", &stranger.fingerprint().to_string());

    let mut session = scene.session(&service, 0).unwrap();
    assert!(scene.richer(&mut session, &eight, A - 1).unwrap());
    for word in ["three-halves", "garbler too"] {
        scene.refused("run", word);
    }
    assert!(
        service
            .metrics()
            .contains(r#"tacit_refused_total{what="run"} 4"#)
    );
}

#[test]
fn a_peer_that_comes_too_often_is_not_heard_and_others_are() {
    let scene = Scene::new(2);
    let function = millionaires(8);
    let hours = |times| Rate {
        times,
        per: Duration::from_secs(36_000),
    };
    let limits = Limits {
        sessions_per_peer: 2,
        arrivals: hours(5),
        ..Scene::limits()
    };
    let policy = scene.policy(
        vec![scene.offer(vec![function.clone()])],
        Vec::new(),
        limits,
    );
    let service = scene.start(policy);
    let held: Vec<_> = (0..2)
        .map(|_| scene.session(&service, 0).unwrap())
        .collect();
    let one_more = scene.session(&service, 0).map(|_| ());
    refused_with(one_more, AbortReason::Busy);
    scene.refused("session", "the most sessions that it may have");
    held.into_iter()
        .for_each(|session| session.close().unwrap());
    for _ in 0..2 {
        scene.event(|event| matches!(event, Event::SessionEnded { .. }));
    }
    let again = (0..6)
        .filter(|_| scene.session(&service, 0).is_ok())
        .count();
    assert!(
        again <= 2,
        "5 in all, of which 3 are gone, and there were {again}"
    );
    scene.refused("session", "too often");
    let mut other = scene.session(&service, 1).unwrap();
    assert!(scene.richer(&mut other, &function, 0).unwrap());
}

#[test]
fn a_peer_that_is_refused_again_and_again_is_not_heard_for_a_while() {
    let scene = Scene::new(2);
    let (function, other) = (millionaires(8), millionaires(16));
    let limits = Limits {
        refusals: Rate {
            times: 3,
            per: Duration::from_secs(36_000),
        },
        ..Scene::limits()
    };
    let policy = scene.policy(
        vec![scene.offer(vec![function.clone()])],
        Vec::new(),
        limits,
    );
    let service = scene.start(policy);
    for _ in 0..3 {
        let mut session = scene.session(&service, 0).unwrap();
        refused_with(
            scene.richer(&mut session, &other, 0),
            AbortReason::NotAllowed,
        );
    }
    refused_with(scene.session(&service, 0).map(|_| ()), AbortReason::Busy);
    scene.refused("session", "refused too often");
    let mut session = scene.session(&service, 1).unwrap();
    assert!(scene.richer(&mut session, &function, 0).unwrap());
}

#[test]
fn each_peer_runs_a_function_as_often_as_it_may() {
    let scene = Scene::new(2);
    let function = millionaires(8);
    let mut offer = scene.offer(vec![function.clone()]);
    offer.rate = Some(Rate {
        times: 2,
        per: Duration::from_secs(36_000),
    });
    let service = scene.start(scene.policy(vec![offer], Vec::new(), Scene::limits()));
    for peer in 0..2 {
        let mut session = scene.session(&service, peer).unwrap();
        for _ in 0..2 {
            scene.richer(&mut session, &function, 0).unwrap();
        }
        let once_more = scene.richer(&mut session, &function, 0);
        refused_with(once_more, AbortReason::TooOften);
    }
    scene.refused("rate", "more often than 2/36000s");
}

/// A service takes the same orders as `tacit prepare`: a function of which a single execution is
/// too large for a stock fits if more are prepared together.
#[test]
fn a_batch_is_judged_by_its_size_and_told_in_the_words_of_the_file() {
    let scene = Scene::new(1);
    let function = tacit::library::function("aes-128-copies", &[("copies".to_owned(), 110)].into());
    let function = Arc::new(function.expect("a function"));
    let policy = |runs| {
        let offer = Offer {
            functions: vec![Arc::clone(&function)],
            protocols: vec![ProtocolId::Batch],
            ..scene.offer(vec![millionaires(8)])
        };
        let level = Level {
            peer: scene.fingerprint(0),
            role: Role::Garbler,
            scheme: default_scheme(&function),
            material: Material::Executions(Arc::clone(&function), StatisticalSecurity::DEFAULT),
            amount: runs,
            refill_below: 1,
        };
        let (peers, limits) = (scene.peer_list(), Scene::limits());
        Policy::new(peers, vec![offer], vec![level], limits, None)
    };
    let refused = policy(8).err().expect("too few together").to_string();
    assert!(!refused.contains("--runs"), "{refused}");
    let told = refused.split_once("write runs = ").expect("a remedy").1;
    let enough = told.split(' ').next().expect("a number");
    let enough: u64 = enough.parse().expect("a number");
    assert!(policy(enough / 2).is_err(), "{refused}");
    assert!(policy(enough).is_ok(), "{refused}");
}
