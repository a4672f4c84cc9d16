//! Base OTs that a service keeps with each peer between its sessions.

use std::time::Instant;

use crate::scene::{Scene, millionaires};
use tacit::cost::Phase;
use tacit::session::KeptOts;
use tacit::{Function, Job, Role};
use tacit_serve::{Policy, Service};

/// One session of peer 0 with one run, and the bytes of its base OTs.
fn session(scene: &Scene, service: &Service, function: &Function, kept: Option<&KeptOts>) -> u64 {
    let mut session = scene.session(service, 0).expect("a session");
    if let Some(kept) = kept {
        session.keep_ots(kept);
    }
    let job = Job::new(function, Role::Evaluator).input("b", 0_u32);
    let outcome = job.run(&mut session).expect("a result");
    assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
    let phases = outcome.cost.phases.iter();
    let setup = phases.filter(|phase| phase.phase == Phase::Setup);
    let bytes = setup.map(|setup| setup.traffic.sent.bytes + setup.traffic.received.bytes);
    session.close().expect("a good end");
    bytes.sum()
}

fn with_service<T>(work: impl FnOnce(&Scene, &Service, &Function) -> T) -> T {
    with_service_of(|policy| policy, work)
}

fn with_service_of<T>(
    policy: impl FnOnce(Policy) -> Policy,
    work: impl FnOnce(&Scene, &Service, &Function) -> T,
) -> T {
    let scene = Scene::new(1);
    let function = millionaires(8);
    let offers = vec![scene.offer(vec![function.clone()])];
    let usual = scene.policy(offers, Vec::new(), Scene::limits());
    let service = scene.start(policy(usual));
    work(&scene, &service, &function)
}

#[test]
fn a_peer_that_keeps_base_ots_makes_them_once() {
    with_service(|scene, service, function| {
        let kept = KeptOts::default();
        assert!(session(scene, service, function, Some(&kept)) > 0);
        for _ in 0..3 {
            assert_eq!(session(scene, service, function, Some(&kept)), 0);
        }
        // A peer that keeps none is served as ever, and what is kept is of two identities.
        assert_eq!(session(scene, service, function, None), 8192 + 32 + 9 * 5);
        with_service(|scene, service, function| {
            assert!(session(scene, service, function, Some(&kept)) > 0);
        });
    });
}

#[test]
fn a_service_can_keep_none() {
    let keeps_none = |policy: Policy| policy.keep_base_ots(false);
    with_service_of(keeps_none, |scene, service, function| {
        let kept = KeptOts::default();
        for _ in 0..2 {
            let made = session(scene, service, function, Some(&kept));
            assert_eq!(made, 8192 + 32 + 9 * 5);
        }
    });
}

/// What a session makes while the service is told to keep no more is not kept either: otherwise it
/// would serve sessions after the operator has turned that off, or has let the peer go.
#[test]
fn what_is_made_after_a_reload_is_kept_under_the_new_policy() {
    with_service(|scene, service, function| {
        let policy = |keeps| {
            let offers = vec![scene.offer(vec![millionaires(8)])];
            let policy = scene.policy(offers, Vec::new(), Scene::limits());
            policy.keep_base_ots(keeps)
        };
        let kept = KeptOts::default();
        let mut before = scene.session(service, 0).expect("a session");
        before.keep_ots(&kept);
        service.reload(policy(false));
        let job = || Job::new(function, Role::Evaluator).input("b", 0_u32);
        job().run(&mut before).expect("a result");
        before.close().expect("a good end");
        service.reload(policy(true));
        assert!(session(scene, service, function, Some(&kept)) > 0);
        assert_eq!(session(scene, service, function, Some(&kept)), 0);
    });
}

/// CPU seconds of this process so far.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<_> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

#[test]
#[ignore = "figures: sessions of one run each, both parties in this process"]
fn what_a_session_takes() {
    with_service(|scene, service, function| {
        let kept = KeptOts::default();
        for (name, kept) in [
            ("fresh", None),
            ("kept", Some(&kept)),
            ("fresh", None),
            ("kept", Some(&kept)),
        ] {
            session(scene, service, function, kept);
            let (cpu, begun) = (cpu_seconds(), Instant::now());
            let sessions = 96;
            for _ in 0..sessions {
                session(scene, service, function, kept);
            }
            let (cpu, wall) = (cpu_seconds() - cpu, begun.elapsed().as_secs_f64());
            let each = 1e3 / f64::from(sessions);
            println!(
                "{name}: {:.2} ms of CPU and {:.2} ms a session",
                each * cpu,
                each * wall
            );
        }
    });
}
