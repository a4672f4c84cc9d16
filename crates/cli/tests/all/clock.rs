//! A machine whose clock is before 1970: a board without a battery, or a clock set wrong.

use std::path::Path;
use std::process::Command;

use tacit_testkit::process::ChildProcess;

use crate::process::{Parties, words};
use crate::serve;

/// Replaces the C library's function with a real-time clock of the year 1966.
const CLOCK: &str = "
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_REALTIME) now->tv_sec = -100000000;
    return failed;
}
";

/// Starts `tacit` with that clock.
fn start(folder: &Path, args: &[&str]) -> ChildProcess {
    let clock = format!("LD_PRELOAD={}", folder.join("clock.so").display());
    let tacit = env!("CARGO_BIN_EXE_tacit");
    ChildProcess::start("env", folder, &[&[&clock, tacit], args].concat(), "")
}

fn parties() -> Parties {
    let parties = Parties::new();
    parties.file("clock.c", CLOCK);
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"]);
    let compiled = compiler.current_dir(parties.folder()).status();
    assert!(compiled.expect("a C compiler").success());
    parties
}

/// Neither TLS nor a run depends on the date.
#[test]
fn two_parties_run_with_a_clock_before_1970() {
    let parties = parties();
    let [alice, bob] = parties.fingerprints();
    let run = ["run", "millionaires", "--identity"];
    let mut garbler = run.to_vec();
    garbler.extend(["alice.key", "--role", "garbler", "--input", "a=41"]);
    garbler.extend(["--listen", "127.0.0.1:0", "--peer", bob]);
    let mut listening = start(parties.folder(), &garbler);
    let address = listening.line_after("listening on ");
    let mut evaluator = run.to_vec();
    evaluator.extend(["bob.key", "--role", "evaluator", "--input", "b=40"]);
    evaluator.extend(["--connect", &address, "--peer", alice]);
    let bob = start(parties.folder(), &evaluator).end();
    for ended in [listening.end(), bob] {
        ended.succeeded();
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    }
}

/// Neither handshakes nor the log of a service depend on the date.
#[test]
fn a_service_runs_with_a_clock_before_1970() {
    let parties = parties();
    let config = serve::config(&parties, serve::MILLIONAIRES);
    parties.file("alice.toml", &config);
    parties.file("in.json", serve::INPUTS);
    let mut service = start(parties.folder(), &["serve", "--config", "alice.toml"]);
    let address = service.line_after("listening address=");
    let run = words("millionaires --role evaluator --param bits=8 --input b=40");
    let bob = parties.bob_connects(&address, &run, "");
    assert_eq!(bob.succeeded(), "a_is_richer = 1\n");
    service.signal("TERM");
    let ended = service.end();
    ended.succeeded();
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

/// An invitation has a date, and under this clock none would ever expire.
#[test]
fn a_pairing_with_a_clock_before_1970_says_so() {
    let parties = parties();
    let invite = ["pair", "invite", "--name", "bob", "--listen", "127.0.0.1:0"];
    let ended = start(parties.folder(), &invite).end();
    ended.failed(3, &["clock is before 1970"]);
}
