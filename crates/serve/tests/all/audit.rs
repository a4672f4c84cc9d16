//! The audit log: two lines for each run, without values, and no run without the first.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tacit::session::AbortReason;
use tacit::{Job, Role};
use tacit_serve::{Audit, Event, Service};

use crate::scene::{A, Scene, aes, millionaires, refused_with};

const SECRET_B: u32 = 1_234_567_891;

fn start(scene: &Scene, is_durable: bool) -> Service {
    let audit = Audit::new(scene.folder.path().join("audit.jsonl"), is_durable);
    audit.check().expect("a file that can be made");
    let offers = vec![
        scene.offer(vec![millionaires(32)]),
        scene.offer(vec![aes()]),
    ];
    let policy = scene.policy(offers, Vec::new(), Scene::limits());
    scene.start(policy.audited(Some(audit)))
}

/// Waits until the audit log has this many lines.
fn lines(scene: &Scene, count: usize) -> Vec<Json> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let text = fs::read_to_string(scene.folder.path().join("audit.jsonl"));
        let text = text.unwrap_or_default();
        let lines = text.lines().map(serde_json::from_str);
        let lines: Vec<_> = lines.collect::<Result<_, _>>().expect("JSON in each line");
        if lines.len() >= count {
            assert_eq!(lines.len(), count, "{text}");
            return lines;
        }
        assert!(Instant::now() < end, "{text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_run_of_a_peer_has_two_lines_without_values() {
    for is_durable in [false, true] {
        let scene = Scene::new(1);
        let service = start(&scene, is_durable);
        let mut session = scene.session(&service, 0).expect("a session");
        let function = millionaires(32);
        let richer = scene.richer(&mut session, &function, SECRET_B);
        assert!(!richer.expect("a result"));
        let done = session.run_id().expect("a name").to_string();
        // The peer leaves in the middle of the next run.
        let (aes, handle) = (aes(), session.cancel_handle());
        let job = Job::new(&aes, Role::Evaluator).input("block", scene.block());
        let failed = job.watch(move |_| handle.cancel()).run(&mut session);
        failed.expect_err("it is cancelled");
        drop(session);
        scene.event(|event| matches!(event, Event::RunFailed { .. }));
        let lines = lines(&scene, 4);
        let told = |line: &Json| {
            ["event", "run"].map(|field| line[field].as_str().expect("a text").to_owned())
        };
        let second = done.replace("-1", "-2");
        let of = |event: &str, run: &str| [event, run].map(str::to_owned);
        assert_eq!(
            lines.iter().map(told).collect::<Vec<_>>(),
            [
                of("begun", &done),
                of("ended", &done),
                of("begun", &second),
                of("ended", &second)
            ]
        );
        assert_eq!(lines[0]["fingerprint"], scene.fingerprint(0).to_string());
        assert_eq!(lines[0]["digest"], function.digest().to_string());
        assert_eq!(lines[0]["input_bits"]["peer"], 32);
        assert_eq!(lines[1]["outcome"], "done");
        assert_eq!(lines[3]["outcome"], "failed");
        let text = format!("{lines:?}");
        assert!(!text.contains(&SECRET_B.to_string()), "{text}");
        // `a` is 41, which may occur in a digest, and not as a value.
        let values = lines.iter().filter_map(Json::as_object);
        assert!(
            values
                .flat_map(|line| line.values())
                .all(|value| *value != A)
        );
        service.stop(Duration::ZERO);
    }
}

#[test]
fn a_run_that_the_audit_log_cannot_take_is_refused() {
    let scene = Scene::new(1);
    let service = start(&scene, true);
    let path = scene.folder.path().join("audit.jsonl");
    fs::create_dir(&path).expect("a folder in its place");
    let run = || {
        let mut session = scene.session(&service, 0).expect("a session");
        scene.richer(&mut session, &millionaires(32), 7)
    };
    refused_with(run(), AbortReason::Failed);
    scene.event(|event| matches!(event, Event::AuditFailed { run: Some(_), .. }));
    assert!(service.metrics().contains("tacit_audit_failed_total 1"));
    fs::remove_dir(&path).expect("an empty folder");
    assert!(run().expect("a result"));
    lines(&scene, 2);
    // It is renamed away, and the next run makes it again.
    fs::rename(&path, path.with_extension("old")).expect("a file");
    assert!(run().expect("a result"));
    lines(&scene, 2);
}
