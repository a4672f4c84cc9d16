//! Two parties that only connect outwards, through a relay.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::process::{ChildProcess, start, tacit, words};

fn start_open(folder: &Path, args: &[&str]) -> ChildProcess {
    ChildProcess::start_open(env!("CARGO_BIN_EXE_tacit"), folder, args)
}

/// Starts a relay. Returns its address and the address of its metrics.
fn relay(folder: &Path, more: &[&str]) -> (ChildProcess, String, String) {
    let args = words("relay --listen 127.0.0.1:0 --metrics 127.0.0.1:0");
    let mut relay = start(folder, &[&args[..], more].concat(), "");
    let address = relay.line_after("listening on ");
    let metrics = relay.line_after("metrics on ");
    (relay, address, metrics)
}

fn metrics(address: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn two_parties_pair_and_run_through_a_relay() {
    let folder = || tempfile::tempdir().unwrap();
    let (home, alice, bob) = (folder(), folder(), folder());
    let (relay, address, told) = relay(home.path(), &[]);
    let invite = ["pair", "invite", "--name", "bob", "--relay", &address];
    let mut a = start_open(alice.path(), &invite);
    let invitation = a.line();
    let mut b = start_open(
        bob.path(),
        &["pair", "accept", &invitation, "--name", "alice"],
    );
    let code = |party: &mut ChildProcess| party.line_after("read this code aloud: ");
    let (alices, bobs) = (code(&mut a), code(&mut b));
    a.says(&(bobs + "\n"));
    b.says(&(alices + "\n"));
    a.end().succeeded();
    b.end().succeeded();
    for _ in 0..2 {
        let run = ["run", "millionaires", "--with"];
        let a = start(
            alice.path(),
            &[&run[..], &["bob", "--input", "a=41"]].concat(),
            "",
        );
        let b = tacit(
            bob.path(),
            &[&run[..], &["alice", "--input", "b=40"]].concat(),
        );
        assert!(b.succeeded().contains("a_is_richer = 1"), "{b:?}");
        assert!(a.end().succeeded().contains("a_is_richer = 1"));
    }
    // The last room ends a moment after the parties.
    let counted = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let text = metrics(&told);
        text.contains("tacit_relay_rooms_opened_total 3") && text.contains("tacit_relay_rooms 0")
    });
    assert!(counted, "{}", metrics(&told));
    // Nobody else comes: a party that waits alone is told so when its time is over.
    let alone = words("run millionaires --with bob --input a=1 --timeout 200ms");
    tacit(alice.path(), &alone).failed(6, &["to come to the relay, in vain", "the same relay"]);
    relay.interrupt();
    relay.end().succeeded();
    let gone = tacit(alice.path(), &alone);
    gone.failed(6, &["could not reach the relay", "a relay runs there"]);
}

#[test]
fn two_parties_that_know_each_others_fingerprints_meet_without_pairing() {
    let folder = tempfile::tempdir().unwrap();
    let (_relay, address, _) = relay(folder.path(), &["--origins", "https://game.example"]);
    let key = |name: &str| {
        let made = tacit(folder.path(), &["keygen", "--out", name]);
        made.succeeded().trim().to_owned()
    };
    let (alice, bob) = (key("alice.key"), key("bob.key"));
    let run = |key: &str, peer: &str, role: &str, input: &str| {
        let line = format!(
            "run millionaires --relay {address} --identity {key} --peer {peer} --role {role} \
             --input {input}"
        );
        start(folder.path(), &words(&line), "")
    };
    let a = run("alice.key", &bob, "garbler", "a=41");
    let b = run("bob.key", &alice, "evaluator", "b=40");
    for party in [a, b] {
        assert!(party.end().succeeded().contains("a_is_richer = 1"));
    }
    let wrong = words("relay --listen 127.0.0.1:0 --origins game.example");
    tacit(folder.path(), &wrong).failed(2, &["not an origin", "https://example.org"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_relay_may_have_as_many_connections_as_its_limits_say() {
    let folder = tempfile::tempdir().unwrap();
    let limited = |ulimit: &str| {
        let program = env!("CARGO_BIN_EXE_tacit");
        let line = format!("{ulimit}; exec '{program}' relay --listen 127.0.0.1:0");
        ChildProcess::start("sh", folder.path(), &["-c", &line], "")
    };
    // The relay raises its own limit.
    let mut relay = limited("ulimit -S -n 256");
    relay.line_after("listening on ");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", relay.id())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let own = line.and_then(|line| line.split_whitespace().nth(3));
    let own: u64 = own.unwrap().parse().unwrap();
    assert!(own >= 1024 + 2 * 256, "{limits}");
    relay.interrupt();
    relay.end().succeeded();
    limited("ulimit -n 256")
        .end()
        .failed(2, &["allows this process 256", "ulimit -Hn"]);
}
