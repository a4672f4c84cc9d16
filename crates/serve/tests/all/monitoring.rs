//! The alert rules and the dashboard name metrics that a service has, and runbooks that the page
//! for operators has.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tacit::Role;
use tacit::stock::{Tried, TryName, TryRecord};
use tacit_serve::http::Server;

use crate::scene::{Scene, aes, millionaires};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a file")
}

/// Returns the names of metrics in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("tacit_")).collect()
}

#[test]
fn rules_and_dashboard_name_metrics_that_a_service_has() {
    let scene = Scene::new(1);
    let stocks = scene.stocks("alice", 1 << 30);
    let tries = TryName {
        own: scene.alice.fingerprint(),
        peer: scene.fingerprint(0),
        role: Role::Garbler,
        tried: Tried::Batches,
    };
    let record = TryRecord {
        unfinished: 2,
        ..TryRecord::default()
    };
    stocks.raise_tries(&tries, record).expect("a record");
    let offers = vec![scene.offer(vec![millionaires(8)]), scene.offer(vec![aes()])];
    let levels = vec![scene.level(0, 4)];
    let service = scene.start_on(scene.policy(offers, levels, Scene::limits()), stocks);
    // Counters and histograms are there before anything happens.
    let fresh = service.metrics();
    for there in [
        r#"tacit_runs_total{offer="millionaires",protocol="direct",outcome="failed"} 0"#,
        r#"tacit_run_seconds_count{offer="aes-128-rounds",protocol="prepared"} 0"#,
        r#"tacit_refused_total{what="behaviour"} 0"#,
        r#"tacit_reloads_total{outcome="refused"} 0"#,
        r#"tacit_results_failed_total{offer="millionaires"} 0"#,
        r#"tacit_sessions_begun_total{peer="peer0"} 0"#,
        r#"tacit_preparation_seconds_count{function="aes-128-rounds",asked_by="peer"} 0"#,
        "tacit_audit_failed_total 0",
        "tacit_stock_failed_total 0",
        "tacit_runs_in_progress 0",
        "tacit_ready 1",
    ] {
        assert!(fresh.contains(there), "{there}: {fresh}");
    }
    let own = scene.stocks("peer", 1 << 30);
    let mut session = scene.session(&service, 0).expect("a session");
    scene.prepare(&mut session, &own, 2).expect("a stock");
    scene.encrypt(&mut session, &own);
    let awaited = [
        r#"tacit_tries{peer="peer0",role="garbler",protocol="batch"} 2"#,
        r#"tacit_run_phase_seconds_count{offer="aes-128-rounds",phase="prepare"} 1"#,
        r#"tacit_preparation_seconds_count{function="aes-128-rounds",asked_by="peer"} 1"#,
        "tacit_stock_kinds{",
    ];
    let end = Instant::now() + Duration::from_secs(30);
    let seen = loop {
        let seen = service.metrics();
        if awaited.iter().all(|line| seen.contains(line)) {
            break seen;
        }
        assert!(Instant::now() < end, "{awaited:?}: {seen}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let none = r#"tacit_disk_seconds_count{wait="sync"} 0"#;
    assert!(!seen.contains(none), "no wait for the disk is watched");
    for page in ["alerts.yml", "alerts-test.yml", "dashboard.json"] {
        for metric in metrics(&text(&format!("packaging/monitoring/{page}"))) {
            let is_there = [" ", "{"].map(|end| seen.contains(&format!("\n{metric}{end}")));
            assert!(is_there.contains(&true), "{page} names {metric}: {seen}");
        }
    }
    let page = text("docs/operate.md");
    for (metric, _) in seen
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
    {
        assert!(
            page.contains(metric),
            "docs/operate.md does not name {metric}"
        );
    }
}

/// No run of this service could be answered, so a load balancer has to send no more peers to it.
#[test]
fn a_service_whose_stock_is_gone_is_not_healthy() {
    let scene = Scene::new(1);
    let (offers, levels) = (vec![scene.offer(vec![aes()])], vec![scene.level(0, 1)]);
    let service = scene.start(scene.policy(offers, levels, Scene::limits()));
    let http = Server::start("127.0.0.1:0", service.answers()).expect("a free port");
    let ask = |path: &str| {
        let mut socket = TcpStream::connect(http.local_address()).expect("a server");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("it answers");
        answer
    };
    let good = ask("/health");
    assert!(good.starts_with("HTTP/1.1 200 "), "{good}");
    fs::remove_dir_all(scene.folder.path().join("alice")).expect("a folder");
    let end = Instant::now() + Duration::from_secs(30);
    let failed = loop {
        let answer = ask("/health");
        if answer != good {
            break answer;
        }
        assert!(Instant::now() < end, "{answer}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(failed.starts_with("HTTP/1.1 503 "), "{failed}");
    assert!(failed.contains(r#""status":"stock-failed""#), "{failed}");
    assert!(failed.contains("root.key"), "{failed}");
    assert!(ask("/readyz").starts_with("HTTP/1.1 503 "));
    assert!(ask("/metrics").contains("\ntacit_ready 0\n"));
}

#[test]
fn each_alert_has_a_runbook() {
    let (rules, page) = (
        text("packaging/monitoring/alerts.yml"),
        text("docs/operate.md"),
    );
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchors: BTreeSet<String> = headings
        .map(|heading| {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = words
                .chars()
                .filter(|c| c.is_alphanumeric() || " -".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect();
    let alerts = rules.matches("- alert: ").count();
    let runbooks = rules.split("runbook: docs/operate.md#").skip(1);
    let runbooks: Vec<_> = runbooks.filter_map(|rest| rest.lines().next()).collect();
    assert_eq!(runbooks.len(), alerts);
    for runbook in runbooks {
        assert!(
            anchors.contains(runbook),
            "{runbook} is none of {anchors:?}"
        );
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(&text("packaging/monitoring/dashboard.json")).expect("JSON");
    assert!(
        dashboard["panels"]
            .as_array()
            .is_some_and(|panels| panels.len() > 10)
    );
}

#[test]
fn promtool_finds_the_rules_right() {
    let rules = ["test", "rules", "alerts-test.yml"];
    let folder = root().join("packaging/monitoring");
    match Command::new("promtool")
        .args(rules)
        .current_dir(folder)
        .output()
    {
        Ok(ended) => assert!(ended.status.success(), "{ended:?}"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no promtool; Debian's package prometheus has it");
        }
        Err(error) => panic!("promtool: {error}"),
    }
}
