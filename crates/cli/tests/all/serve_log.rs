//! A service whose log has no reader.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::process::Parties;
use crate::serve::{config, get};

const MILLIONAIRES: &str = "[[serve.function]]\nfunction = \"millionaires\"\nrole = \"garbler\"\n\
                            inputs_file = \"in.json\"\n";

/// The capacity of a pipe: a writer that exceeds it waits for its reader.
const PIPE_BYTES: usize = 1 << 16;

/// Returns a port that is free now.
fn free() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").to_string()
}

#[test]
fn a_log_that_nobody_reads_holds_up_neither_runs_nor_the_end() {
    let parties = Parties::new();
    let (listen, metrics) = (free(), free());
    let text = config(&parties, MILLIONAIRES)
        .replace(
            "listen = \"127.0.0.1:0\"",
            &format!("listen = \"{listen}\""),
        )
        .replace(
            "metrics = \"127.0.0.1:0\"",
            &format!("metrics = \"{metrics}\""),
        );
    parties.file("alice.toml", &text);
    parties.file("in.json", "{ \"a\": 41 }");
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(&vec![b'.'; PIPE_BYTES]).expect("it fits");
    let mut service = Command::new(env!("CARGO_BIN_EXE_tacit"))
        .args(["serve", "--config", "alice.toml"])
        .current_dir(parties.folder())
        .stderr(Stdio::from(writer))
        .spawn()
        .expect("a process");
    let begun = Instant::now();
    while std::net::TcpStream::connect(&metrics).is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it waits for its log"
        );
        thread::sleep(Duration::from_millis(20));
    }
    assert!(get(&metrics, "/health").contains("\"status\":\"ok\""));
    let run = ["millionaires", "--role", "evaluator", "--input", "b=40"];
    let ran = parties.bob_connects(&listen, &run, "");
    assert_eq!(ran.succeeded(), "a_is_richer = 1\n");
    assert!(get(&metrics, "/metrics").contains("tacit_log_dropped_total 0"));
    let pid = service.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.expect("a command").success());
    let told = Instant::now();
    let status = loop {
        if let Some(status) = service.try_wait().expect("a process") {
            break status;
        }
        assert!(
            told.elapsed() < Duration::from_secs(60),
            "it waits for its log"
        );
        thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
    drop(reader);
}

/// The lines of a service's log, its results and the peer's output name a run alike, and the peer
/// of a failed run learns the name of its session.
#[test]
fn both_parties_name_a_run_alike() {
    let parties = Parties::new();
    let functions = MILLIONAIRES.to_owned() + "results_file = \"out.jsonl\"\n";
    parties.file("in.json", "{ \"a\": 41 }");
    let config = config(&parties, &functions);
    parties.file("alice.toml", &config);
    let arguments = ["serve", "--config", "alice.toml", "--log", "json"];
    let mut service = crate::process::start(parties.folder(), &arguments, "");
    let listening = service.line_after("{\"event\":\"listening\",");
    let (_, address) = listening.split_once("\"address\":\"").expect("an address");
    let address = address.split('"').next().expect("its end");
    let run = ["millionaires", "--role", "evaluator", "--input", "b=40"];
    let twice = [&run[..], &["--repeat", "2", "--json"]].concat();
    let told = parties.bob_connects(address, &twice, "").json();
    let (session, number) = told["run"]
        .as_str()
        .and_then(|run| run.split_once('-'))
        .expect("a name and a number");
    assert_eq!((session.len(), number), (16, "2"), "{told}");
    let wrong = [&run[..], &["--param", "bits=9"]].concat();
    let refused = parties.bob_connects(address, &wrong, "");
    refused.failed(5, &[]);
    service.interrupt();
    let ended = service.end();
    let lines = |text: &str| -> Vec<Json> {
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("JSON in each line")
    };
    let log = lines(&ended.stderr);
    let of = |event: &str, field: &str| -> Vec<Json> {
        let events = log.iter().filter(|line| line["event"] == event);
        events.map(|line| line[field].clone()).collect()
    };
    let names = [1, 2].map(|number| Json::from(format!("{session}-{number}")));
    assert_eq!(of("run", "run"), names);
    let results = std::fs::read_to_string(parties.folder().join("out.jsonl"));
    let results = lines(&results.expect("results"));
    assert_eq!([&results[0]["run"], &results[1]["run"]], names.each_ref());
    let sessions = of("session-began", "session");
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions, of("session-ended", "session"));
    assert_eq!(sessions[0], session);
    let told = sessions[1].as_str().expect("a name");
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
}
