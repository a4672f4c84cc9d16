//! The runs that a service makes for its peers, and those that it refuses.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::{A, Scene, aes, millionaires, refused_with};
use tacit::session::{AbortReason, OtExtension};
use tacit::{Category, Error};
use tacit_serve::inputs::{FromProgram, Ports};
use tacit_serve::results::ToFile;
use tacit_serve::{Event, Limits, Offer, Policy, Service};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn several_peers_run_several_times_at_once() {
    let scene = Scene::new(4);
    let (eight, sixteen) = (millionaires(8), millionaires(16));
    let offers = vec![scene.offer(vec![eight.clone(), sixteen.clone()])];
    let service = scene.start(scene.policy(offers, Vec::new(), Scene::limits()));
    thread::scope(|scope| {
        for peer in 0..4 {
            let (scene, service) = (&scene, &service);
            let functions = [&eight, &sixteen];
            scope.spawn(move || {
                let mut session = scene.session(service, peer).expect("a session");
                for run in 0..6 {
                    let b = A - 3 + run;
                    let function = functions[run as usize % 2];
                    let richer = scene.richer(&mut session, function, b).expect("a result");
                    assert_eq!(richer, A > b);
                }
                session.close().expect("a peer that is there");
            });
        }
    });
    assert_eq!(service.stop(SOON).cut, 0);
    let metrics = service.metrics();
    let line = r#"tacit_runs_total{offer="millionaires",protocol="direct",outcome="done"} 24"#;
    assert!(metrics.contains(line), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[test]
fn a_peer_that_stalls_is_cut_and_others_do_not_feel_it() {
    let scene = Scene::new(2);
    let function = millionaires(8);
    let limits = Limits {
        // Longer than honest peers have to wait on a busy machine.
        handshake: Duration::from_millis(2000),
        idle: Duration::from_millis(2500),
        message: Duration::from_millis(3000),
        ..Scene::limits()
    };
    let policy = scene.policy(
        vec![scene.offer(vec![function.clone()])],
        Vec::new(),
        limits,
    );
    let service = scene.start(policy);
    // Connections that are silent in TLS, and a session that is idle.
    let silent: Vec<_> = (0..8)
        .map(|_| TcpStream::connect(service.local_address()).unwrap())
        .collect();
    let mut idle = scene.session(&service, 0).unwrap();
    let mut session = scene.session(&service, 1).unwrap();
    assert!(scene.richer(&mut session, &function, 0).unwrap());
    scene.refused("connection", "handshake");
    let ended =
        scene.event(|event| matches!(event, Event::SessionEnded { peer, .. } if peer == "peer0"));
    assert!(format!("{ended:?}").contains("2.5"), "{ended:?}");
    refused_with(scene.richer(&mut idle, &function, 0), AbortReason::TimedOut);
    drop(silent);
}

#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let policy = scene.policy(
        vec![scene.offer(vec![function.clone()])],
        Vec::new(),
        Scene::limits(),
    );
    let service = scene.start(policy);
    for garbage in [
        &b""[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 4096],
        b"\x16\x03\x01\x00\x05aaaaa",
    ] {
        let mut socket = TcpStream::connect(service.local_address()).unwrap();
        socket.write_all(garbage).unwrap();
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        // The service answers with an alert or closes.
        let _ = socket.read_to_end(&mut rest);
    }
    let mut session = scene.session(&service, 0).unwrap();
    assert!(scene.richer(&mut session, &function, 0).unwrap());
}

#[test]
fn a_peer_that_leaves_in_a_run_is_told_of_and_gives_its_seat_back() {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let mut offer = scene.offer(vec![function.clone()]);
    // The pause is long enough for the peer to be gone when the run begins.
    let inputs = offer.inputs.clone();
    offer.inputs = Arc::new(FromProgram(move |asked: &tacit_serve::RunRequest<'_>| {
        thread::sleep(Duration::from_millis(300));
        inputs.values(asked)
    }));
    let service = scene.start(scene.policy(vec![offer], Vec::new(), Scene::limits()));
    let address = service.local_address().to_string();
    let settings = tacit::Settings {
        timeout: Duration::from_millis(100),
        ..tacit::Settings::default()
    };
    let alice = scene.alice.fingerprint();
    let mut session =
        tacit::Session::connect(&address, &scene.peers[0], &alice, &settings).unwrap();
    scene.richer(&mut session, &function, 0).unwrap_err();
    drop(session);
    scene.event(|event| matches!(event, Event::RunFailed { .. }));
    scene.event(|event| matches!(event, Event::SessionEnded { runs: 0, .. }));
    let mut session = scene.session(&service, 0).unwrap();
    assert!(scene.richer(&mut session, &function, 0).unwrap());
}

#[test]
fn a_run_that_is_under_way_when_the_service_stops_ends_well() {
    let scene = Scene::new(2);
    let function = millionaires(8);
    let mut offer = scene.offer(vec![function.clone()]);
    let inputs = offer.inputs.clone();
    let (begun, has_begun) = channel();
    let begun = Mutex::new(begun);
    offer.inputs = Arc::new(FromProgram(move |asked: &tacit_serve::RunRequest<'_>| {
        let _ = begun.lock().expect("no panic").send(());
        thread::sleep(Duration::from_millis(500));
        inputs.values(asked)
    }));
    let service = scene.start(scene.policy(vec![offer], Vec::new(), Scene::limits()));
    let answers = service.answers();
    let mut idle = scene.session(&service, 1).unwrap();
    thread::scope(|scope| {
        let scene = &scene;
        let mut session = scene.session(&service, 0).unwrap();
        let function = &function;
        let run = scope.spawn(move || {
            let first = scene.richer(&mut session, function, 0);
            (first, scene.richer(&mut session, function, 0))
        });
        has_begun.recv().expect("a run begins");
        assert!(answers.health().0);
        assert_eq!(service.stop(SOON).cut, 0);
        let (first, second) = run.join().unwrap();
        assert!(first.unwrap());
        refused_with(second, AbortReason::Busy);
        assert!(!answers.health().0);
    });
    refused_with(
        scene.richer(&mut idle, &function, 0),
        AbortReason::Cancelled,
    );
    scene.event(|event| *event == Event::Stopped { cut: 0 });
}

#[test]
fn what_does_not_end_in_time_is_cut_when_the_service_stops() {
    let scene = Scene::new(1);
    let offers = vec![scene.offer(vec![millionaires(8)])];
    let levels = vec![scene.level(0, 20_000)];
    let service = scene.start(scene.policy(offers, levels, Scene::limits()));
    let answers = service.answers();
    thread::scope(|scope| {
        let mut session = scene.session(&service, 0).unwrap();
        let scene = &scene;
        let run = scope
            .spawn(move || scene.prepare(&mut session, &scene.stocks("peer0", 64 << 30), 20_000));
        let end = Instant::now() + SOON;
        while !answers.health().1.contains("\"preparing\":1") {
            assert!(Instant::now() < end, "it does not prepare");
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(service.stop(Duration::ZERO).cut, 1);
        refused_with(run.join().unwrap(), AbortReason::Cancelled);
    });
}

#[test]
fn another_policy_holds_for_sessions_that_are_open() {
    let scene = Scene::new(2);
    let (eight, sixteen) = (millionaires(8), millionaires(16));
    let policy = |functions, peers: usize| {
        let mut offer = scene.offer(functions);
        let mut list = scene.peer_list();
        list.truncate(peers);
        offer.peers = list.iter().map(|peer| peer.fingerprint).collect();
        Policy::new(list, vec![offer], Vec::new(), Scene::limits(), None).unwrap()
    };
    let service = scene.start(policy(vec![eight.clone()], 1));
    let stranger = scene.session(&service, 1).err().expect("a refusal");
    assert!(
        stranger.to_string().contains("refused this side"),
        "{stranger}"
    );
    let mut session = scene.session(&service, 0).unwrap();
    assert!(scene.richer(&mut session, &eight, 0).unwrap());
    service.reload(policy(vec![sixteen.clone()], 2));
    assert!(scene.richer(&mut session, &sixteen, 0).unwrap());
    refused_with(
        scene.richer(&mut session, &eight, 0),
        AbortReason::NotAllowed,
    );
    // The acceptor lets the other one in soon.
    let end = Instant::now() + SOON;
    let mut other = loop {
        match scene.session(&service, 1) {
            Ok(session) => break session,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    };
    assert!(scene.richer(&mut other, &sixteen, 0).unwrap());
}

#[test]
fn a_peer_says_how_ots_are_made_unless_the_service_was_told() {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let service = |told| {
        let offers = vec![scene.offer(vec![function.clone()])];
        let policy = scene.policy(offers, vec![scene.level(0, 1)], Scene::limits());
        scene.start(policy.ot_extension(told).expect("a policy"))
    };
    let meet = |service: &Service, extension| {
        let mut session = scene.session(service, 0).unwrap();
        session.set_ot_extension(extension).unwrap();
        session
    };
    let differs = |error: Error, names: [OtExtension; 2]| {
        assert_eq!(error.category(), Category::Incompatible, "{error}");
        let named = |name: &OtExtension| error.to_string().contains(&name.to_string());
        assert!(names.iter().all(named), "{error}");
    };
    let eight = OtExtension::from_name("softspoken-8").unwrap();
    let silent = OtExtension::Silent;
    for (told, takes, refuses, instead) in [
        (None, eight, silent, OtExtension::default()),
        (Some(silent), silent, eight, silent),
    ] {
        let service = service(told);
        let right = scene.richer(&mut meet(&service, takes), &function, 0);
        assert!(right.unwrap());
        let error = scene.richer(&mut meet(&service, refuses), &function, 0);
        differs(error.unwrap_err(), [refuses, instead]);
        let stocks = scene.stocks(&format!("peer0 {takes}"), 1 << 30);
        let error = scene.prepare(&mut meet(&service, refuses), &stocks, 1);
        differs(error.unwrap_err(), [refuses, instead]);
    }
}

#[test]
fn inputs_that_are_not_to_be_had_are_this_partys_fault() {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let mut offer = scene.offer(vec![function.clone()]);
    offer.inputs = Arc::new(FromProgram(|_: &tacit_serve::RunRequest<'_>| {
        Err::<BTreeMap<_, _>, _>("the disk is gone".to_owned())
    }));
    let service = scene.start(scene.policy(vec![offer], Vec::new(), Scene::limits()));
    let mut session = scene.session(&service, 0).unwrap();
    refused_with(
        scene.richer(&mut session, &function, 0),
        AbortReason::Failed,
    );
    scene.event(
        |event| matches!(event, Event::InputsFailed { reason, .. } if reason == "the disk is gone"),
    );
}

#[test]
fn results_go_into_a_file_of_the_owner() {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let path = scene.folder.path().join("results.jsonl");
    let mut offer: Offer = scene.offer(vec![function.clone()]);
    offer.results = Arc::new(ToFile::new(path.clone(), Arc::new(Ports)));
    let service = scene.start(scene.policy(vec![offer], Vec::new(), Scene::limits()));
    let mut session = scene.session(&service, 0).unwrap();
    for b in [0, 99] {
        scene.richer(&mut session, &function, b).unwrap();
    }
    session.close().unwrap();
    // The peer has its result before this party has its own.
    assert_eq!(service.stop(SOON).cut, 0);
    let lines = std::fs::read_to_string(&path).unwrap();
    let richer = lines.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["peer"], "peer0");
        line["outputs"]["a_is_richer"].clone()
    });
    assert_eq!(richer.collect::<Vec<_>>(), [1, 0]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o077, 0);
    }
}

#[test]
fn aes_runs_from_the_stock_that_the_peer_filled() {
    let scene = Scene::new(1);
    let policy = scene.policy(
        vec![scene.offer(vec![aes()])],
        vec![scene.level(0, 3)],
        Scene::limits(),
    );
    let service = scene.start(policy);
    let stocks = scene.stocks("peer0", 1 << 30);
    let mut session = scene.session(&service, 0).unwrap();
    // The orders are for fewer runs than the level, and for as many; never for more.
    for (runs, left) in [(2, 2), (3, 3)] {
        scene.prepare(&mut session, &stocks, runs).unwrap();
        let name = scene.stock_name(0);
        assert_eq!(stocks.runs_left(&name, &aes()).unwrap(), left);
    }
    for left in (0..3).rev() {
        let outcome = scene.encrypt(&mut session, &stocks);
        assert_eq!(outcome.cost.and_gates_on_the_spot, 0);
        assert_eq!(
            stocks.runs_left(&scene.stock_name(0), &aes()).unwrap(),
            left
        );
    }
    assert!(
        scene
            .encrypt(&mut session, &stocks)
            .cost
            .and_gates_on_the_spot
            > 0
    );
    refused_with(
        scene.prepare(&mut session, &stocks, 4),
        AbortReason::OrderNotAllowed,
    );
}

#[test]
fn functions_of_one_name_are_refused_for_one_peer() {
    let scene = Scene::new(2);
    let (mut one, mut other) = (
        scene.offer(vec![millionaires(8)]),
        scene.offer(vec![millionaires(16)]),
    );
    let build = |one: &Offer, other: &Offer| {
        let offers = vec![one.clone(), other.clone()];
        Policy::new(scene.peer_list(), offers, Vec::new(), Scene::limits(), None)
    };
    let refused = build(&one, &other).err().expect("a refusal");
    assert!(
        refused.to_string().contains("give each its own `name`"),
        "{refused}"
    );
    one.peers = [scene.fingerprint(0)].into();
    other.peers = [scene.fingerprint(1)].into();
    assert!(build(&one, &other).is_ok());
    other.peers.insert(scene.fingerprint(0));
    other.name = "sixteen bits".to_owned();
    assert!(build(&one, &other).is_ok());
}
