//! `tacit doctor`: its findings, right and wrong, and the things that it leaves unchanged.

use std::fs;
use std::net::TcpListener;

use serde_json::Value as Json;

use crate::process::{Ended, Parties, tacit};

/// Runs the doctor on Alice's configuration, with a peer at `address` and `more` settings.
fn looked_at(parties: &Parties, address: &str, more: &str) -> Ended {
    let bob = parties.fingerprints()[1];
    let config = format!(
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\nwitness = \"notes\"\n\
         [peers.bob]\nfingerprint = \"{bob}\"\naddress = \"{address}\"\n{more}"
    );
    parties.file("alice.toml", &config);
    tacit(
        parties.folder(),
        &["doctor", "--config", "alice.toml", "--json"],
    )
}

fn finding<'j>(told: &'j Json, subject: &str) -> &'j Json {
    let findings = told["findings"].as_array().expect("findings");
    let found = findings.iter().find(|found| found["subject"] == subject);
    found.expect("a finding")
}

#[test]
fn what_is_right_is_told_and_left_as_it_was() {
    let parties = Parties::new();
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = peer.local_addr().unwrap().to_string();
    let told = looked_at(&parties, &address, "").json();
    for subject in ["configuration", "identity", "clock", "peer bob", "stock"] {
        assert_eq!(finding(&told, subject)["state"], "ok", "{told}");
    }
    assert_eq!(
        finding(&told, "identity")["told"],
        parties.fingerprints()[0]
    );
    let stock = parties.folder().join("a");
    assert!(!stock.exists());
    fs::create_dir(&stock).unwrap();
    let told = looked_at(&parties, &address, "").json();
    let disk = finding(&told, "disk")["told"].as_str().expect("a text");
    assert!(disk.contains(" ms, at most "), "{disk}");
    let text = tacit(
        parties.folder(),
        &["doctor", "--config", "alice.toml", "--with", "bob"],
    );
    assert!(text.succeeded().contains("ok       peer bob"));
}

#[test]
fn a_peer_that_is_away_is_a_warning() {
    let parties = Parties::new();
    // The port is free again once the listener is dropped.
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap();
    let told = looked_at(&parties, &address.to_string(), "").json();
    let peer = finding(&told, "peer bob");
    assert_eq!(peer["state"], "warning", "{told}");
    let remedy = peer["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("firewalls"), "{remedy}");
}

#[test]
fn what_a_run_would_fail_at_fails_here() {
    let parties = Parties::new();
    let served = "[serve]\nlisten = \"127.0.0.1:0\"\n[[serve.function]]\n\
                  function = \"millionaires\"\n\
                  role = \"garbler\"\ninput_files = { a = \"gone.csv\" }\n";
    looked_at(&parties, "127.0.0.1:1", served).failed(3, &["service is not right"]);
    parties.file(
        "alice.toml",
        "identity = \"alice.key\"\n[stock]\nfolder = \"a\"\n",
    );
    let nobody = ["doctor", "--config", "alice.toml", "--with", "carol"];
    tacit(parties.folder(), &nobody).failed(2, &["peer carol is not right"]);
    fs::write(parties.folder().join("alice.key"), "no key").unwrap();
    looked_at(&parties, "127.0.0.1:1", "").failed(3, &["identity is not right"]);
    parties.file("alice.toml", "identity = 1");
    let broken = ["doctor", "--config", "alice.toml"];
    tacit(parties.folder(), &broken).failed(2, &["configuration is not right"]);
}

/// Where nobody can look, nothing is said to be absent: here the folder of a path is a file.
#[test]
fn what_cannot_be_looked_at_is_a_failure() {
    let parties = Parties::new();
    let doctor = ["doctor", "--config", "alice.toml"];
    for (identity, stock, subject, absent) in [
        ("alice.toml/alice.key", "a", "identity", "is not there"),
        ("alice.key", "alice.toml/a", "stock", "none yet"),
    ] {
        let config = format!("identity = \"{identity}\"\n[stock]\nfolder = \"{stock}\"\n");
        parties.file("alice.toml", &config);
        let ended = tacit(parties.folder(), &doctor);
        ended.failed(3, &[&format!("{subject} is not right")]);
        let said = &ended.stdout;
        assert!(said.contains("cannot read alice.toml/a"), "{said}");
        assert!(!said.contains(absent), "{said}");
    }
}
