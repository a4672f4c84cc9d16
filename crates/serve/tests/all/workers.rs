//! Workers of a peer, with keys that the peer has signed.

use std::thread;
use std::time::{Duration, SystemTime};

use tacit::session::AbortReason;
use tacit::{Identity, Job, Listener, Role, Session, Settings, WorkerTerms};
use tacit_serve::Rate;

use crate::scene::{A, Scene, aes, millionaires, refused_with};

fn worker_of(party: &Identity) -> Identity {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now_s = now.expect("after 1970").as_secs();
    let terms = WorkerTerms::new("pod-3", now_s, Duration::from_secs(3600));
    party.for_worker(&terms.expect("terms")).expect("a key")
}

#[test]
fn a_worker_runs_as_its_party_and_counts_for_it() {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let mut offer = scene.offer(vec![function.clone()]);
    offer.rate = Some(Rate {
        times: 2,
        per: Duration::from_secs(36_000),
    });
    let policy = scene.policy(vec![offer], Vec::new(), Scene::limits());
    let service = scene.start(policy);
    let worker = worker_of(&scene.peers[0]);
    let mut session = scene.session_as(&service, &worker).expect("a session");
    assert!(session.is_of_worker());
    assert!(scene.richer(&mut session, &function, A - 1).expect("a run"));
    let mut session = scene.session(&service, 0).expect("a session");
    assert!(!session.is_of_worker());
    assert!(scene.richer(&mut session, &function, A - 1).expect("a run"));
    // The third run is one too many, of the party and its workers together.
    let mut session = scene.session_as(&service, &worker).expect("a session");
    let third = scene.richer(&mut session, &function, A - 1);
    refused_with(third, AbortReason::TooOften);
}

#[test]
fn a_worker_orders_no_stock_and_takes_none() {
    let scene = Scene::new(1);
    let offers = vec![scene.offer(vec![aes()])];
    let policy = scene.policy(offers, vec![scene.level(0, 4)], Scene::limits());
    let service = scene.start(policy);
    let worker = worker_of(&scene.peers[0]);
    let stocks = scene.stocks("peer0", 1 << 30);
    let mut session = scene.session_as(&service, &worker).expect("a session");
    let prepared = scene.prepare(&mut session, &stocks, 1);
    refused_with(prepared, AbortReason::NotAllowed);
    scene.refused("run", "a worker may not ask for prepare");
    let mut session = scene.session_as(&service, &worker).expect("a session");
    let function = aes();
    let job = Job::new(&function, Role::Evaluator).prepared(&stocks);
    let ran = job.input("block", scene.block()).run(&mut session);
    refused_with(ran, AbortReason::NotAllowed);
    let nothing = |of: &str| {
        scene
            .stocks(of, 1 << 30)
            .list()
            .expect("a folder")
            .is_empty()
    };
    assert!(nothing("alice") && nothing("peer0"));
    // The party itself may.
    let mut session = scene.session(&service, 0).expect("a session");
    assert!(scene.prepare(&mut session, &stocks, 1).is_ok());
}

/// Between two commands, where no service asks first.
#[test]
fn a_session_with_a_worker_opens_no_stock_at_either_party() {
    let scene = Scene::new(1);
    let (alice, party) = (&scene.alice, &scene.peers[0]);
    let worker = worker_of(party);
    let listener = Listener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_address().to_string();
    let settings = Settings::default();
    let run = |mut session: Session, role, name, value: tacit::Value, stocks: &str| {
        let function = aes();
        let stocks = scene.stocks(stocks, 1 << 30);
        let job = Job::new(&function, role).prepared(&stocks);
        let error = job.input(name, value).run(&mut session);
        let left = stocks.list().expect("a folder");
        assert!(left.is_empty(), "{left:?}");
        error.expect_err("no stock").to_string()
    };
    let told = thread::scope(|scope| {
        let there = scope.spawn(|| {
            let session = listener.accept(alice, &party.fingerprint(), &settings);
            let session = session.expect("a session");
            assert_eq!(session.peer_worker().map(WorkerTerms::name), Some("pod-3"));
            run(session, Role::Garbler, "key", scene.block(), "alice")
        });
        let session = Session::connect(&address, &worker, &alice.fingerprint(), &settings);
        let session = session.expect("a session");
        let here = run(session, Role::Evaluator, "block", scene.block(), "peer0");
        [here, there.join().expect("no panic")]
    });
    assert!(
        told.iter().any(|told| told.contains("by no worker")),
        "{told:?}"
    );
}
