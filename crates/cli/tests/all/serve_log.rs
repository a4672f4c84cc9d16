//! A service whose log has no reader.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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
