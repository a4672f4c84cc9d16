//! A service whose stock was restored from a copy.

use std::fs;

use tacit::stock::Stocks;
use tacit::{Job, Role};
use tacit_serve::Event;

use crate::scene::{Scene, aes, copy_folder};

/// The peer has done nothing, and would be blocked for something that it cannot fix.
#[test]
fn a_stock_that_this_party_restored_is_not_held_against_the_peer() {
    let scene = Scene::new(1);
    let [own, backup, notes] =
        ["own", "backup", "notes"].map(|name| scene.folder.path().join(name));
    let open = || Stocks::open_witnessed(&own, 1 << 30, &notes).expect("a folder");
    let offers = || vec![scene.offer(vec![aes()])];
    let policy = || scene.policy(offers(), vec![scene.level(0, 3)], Scene::limits());
    let theirs = scene.stocks("peer0", 1 << 30);
    let service = scene.start_on(policy(), open());
    let mut session = scene.session(&service, 0).expect("a session");
    scene.prepare(&mut session, &theirs, 3).expect("a stock");
    session.close().expect("in order");
    drop(service);
    copy_folder(&own, &backup);
    let service = scene.start_on(policy(), open());
    let mut session = scene.session(&service, 0).expect("a session");
    scene.encrypt(&mut session, &theirs);
    session.close().expect("in order");
    drop(service);
    fs::remove_dir_all(&own).expect("unlocked");
    fs::rename(&backup, &own).expect("a name that is free");

    let service = scene.start_on(policy(), open());
    let mut session = scene.session(&service, 0).expect("a session");
    let function = aes();
    let job = Job::new(&function, Role::Evaluator).prepared(&theirs);
    let block = scene.block();
    job.input("block", block)
        .run(&mut session)
        .expect_err("old");
    scene.event(|event| {
        matches!(event, Event::RunFailed { reason, .. } if reason.contains("restored from an old"))
    });
    // A refusal that counts against the peer would be reported before that event.
    let is_held = |event: &Event| {
        matches!(
            event,
            Event::Refused {
                what: "behaviour",
                ..
            }
        )
    };
    assert!(!scene.events().iter().any(is_held), "{:?}", scene.events());
}

/// Notes that fail some time after the start are told, counted and no reason to stop.
#[test]
fn notes_that_fail_are_told_and_runs_go_on() {
    let scene = Scene::new(1);
    let theirs = scene.stocks("peer0", 1 << 30);
    let policy = scene.policy(
        vec![scene.offer(vec![aes()])],
        vec![scene.level(0, 3)],
        Scene::limits(),
    );
    let service = scene.start_with(policy, 1 << 30);
    let mut session = scene.session(&service, 0).expect("a session");
    scene.prepare(&mut session, &theirs, 3).expect("a stock");
    let held = (0..16).map(|digit| {
        let file = format!("alice/witness/lock-{digit:x}");
        let file = fs::File::create(scene.folder.path().join(file)).expect("a folder");
        file.lock().expect("nobody holds it for long");
        file
    });
    let held: Vec<_> = held.collect();
    scene.encrypt(&mut session, &theirs);
    let told = scene.event(|event| matches!(event, Event::NotesFailed { .. }));
    let Event::NotesFailed { count, reason } = told else {
        unreachable!("it was looked for");
    };
    assert!(count > 0 && reason.is_some_and(|why| why.contains("lock-")));
    drop(held);
    session.close().expect("in order");
}
