//! Two parties pair and run. A pairing refuses wrong codes and names.

use std::path::Path;

use crate::process::{ChildProcess, Ended, start, tacit, words};

fn start_open(folder: &Path, args: &[&str]) -> ChildProcess {
    ChildProcess::start_open(env!("CARGO_BIN_EXE_tacit"), folder, args)
}

/// Two parties with a folder each, and no identities yet.
struct Pair {
    alice: tempfile::TempDir,
    bob: tempfile::TempDir,
}

impl Pair {
    fn new() -> Self {
        let folder = || tempfile::tempdir().unwrap();
        Self {
            alice: folder(),
            bob: folder(),
        }
    }

    /// Starts Alice's invitation. Returns her process and the invitation.
    fn invite(&self, more: &[&str]) -> (ChildProcess, String) {
        let mut args = vec!["pair", "invite", "--name", "bob", "--listen", "127.0.0.1:0"];
        args.extend(more);
        let alice = start_open(self.alice.path(), &args);
        let invitation = alice.line();
        assert!(invitation.starts_with("tacit-invitation:"), "{invitation}");
        (alice, invitation)
    }

    fn accept(&self, invitation: &str) -> ChildProcess {
        let args = ["pair", "accept", invitation, "--name", "alice"];
        start_open(self.bob.path(), &args)
    }

    /// Both parties read their codes aloud and type `changed` of the other's code.
    fn pair(&self, changed: impl Fn(String) -> String) -> [Ended; 2] {
        let (mut alice, invitation) = self.invite(&[]);
        let mut bob = self.accept(&invitation);
        let code = |party: &mut ChildProcess| party.line_after("read this code aloud: ");
        let (alices, bobs) = (code(&mut alice), code(&mut bob));
        assert_ne!(alices, bobs);
        for _ in 0..3 {
            alice.says(&(changed(bobs.clone()) + "\n"));
        }
        bob.says(&(alices + "\n"));
        [alice.end(), bob.end()]
    }
}

#[test]
fn two_parties_pair_and_run_by_name() {
    let pair = Pair::new();
    for ended in pair.pair(|code| code) {
        ended.succeeded();
        assert!(ended.stderr.contains("Made an identity"), "{ended:?}");
        assert!(ended.stderr.contains("Paired"), "{ended:?}");
    }
    let (alice, bob) = (pair.alice.path(), pair.bob.path());
    let key = std::fs::metadata(alice.join("tacit/identity.key")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
    }
    assert!(key.is_file());
    let config = std::fs::read_to_string(alice.join("tacit/tacit.toml")).unwrap();
    let own = tacit(bob, &["keygen", "--show", "tacit/identity.key"]);
    let own = own.succeeded().trim();
    for line in ["role = \"garbler\"", &format!("fingerprint = \"{own}\"")] {
        assert!(config.contains(line), "{config}");
    }
    let usual = tacit(bob, &["keygen", "--show"]);
    assert_eq!(usual.succeeded().trim(), own);
    let run = ["run", "millionaires", "--with"];
    let a = start(alice, &[&run[..], &["bob", "--input", "a=41"]].concat(), "");
    let b = tacit(bob, &[&run[..], &["alice", "--input", "b=40"]].concat());
    assert!(b.succeeded().contains("a_is_richer = 1"), "{b:?}");
    assert!(a.end().succeeded().contains("a_is_richer = 1"));
    // The name is taken now, which an error says before an invitation is made.
    let again = ["pair", "invite", "--name", "bob", "--listen", "127.0.0.1:0"];
    tacit(alice, &again).failed(2, &["[peers.bob] already"]);
}

#[test]
fn a_code_that_is_not_the_others_saves_nothing() {
    let pair = Pair::new();
    let wrong = |code: String| code.replace(['0', '1'], "2").replace('3', "4") + "7";
    for ended in pair.pair(wrong) {
        ended.failed(5, &["the codes differ", "nothing was saved"]);
    }
    for folder in [&pair.alice, &pair.bob] {
        assert!(!folder.path().join("tacit/tacit.toml").exists());
    }
}

#[test]
fn enter_alone_is_no_try_at_a_code() {
    let pair = Pair::new();
    for ended in pair.pair(|code| format!("\n \n\n{code}")) {
        ended.succeeded();
        assert!(!ended.stderr.contains("left)"), "{ended:?}");
    }
}

#[test]
fn where_to_meet_is_an_address_or_a_relay() {
    let folder = tempfile::tempdir().unwrap();
    let invite = ["pair", "invite", "--name", "bob"];
    let nowhere = tacit(folder.path(), &invite);
    nowhere.failed(2, &["<--listen <HOST:PORT>|--relay <HOST:PORT>>"]);
    let both = ["--listen", "127.0.0.1:0", "--relay", "127.0.0.1:1"];
    let both = tacit(folder.path(), &[&invite[..], &both].concat());
    both.failed(2, &["cannot be used with"]);
}

#[test]
fn an_invitation_that_was_used_or_changed_is_refused_and_it_says_which() {
    let pair = Pair::new();
    let (mut alice, used) = pair.invite(&[]);
    let mut bob = pair.accept(&used);
    bob.line_after("read this code aloud: ");
    alice.line_after("read this code aloud: ");
    drop(bob);
    alice.says("000 000\n000 000\n000 000\n");
    assert_ne!(alice.end().code, 0);
    // Alice makes a new invitation at another port, and Mallory comes there with the old line.
    let (mut alice, new) = pair.invite(&[]);
    let pair_of_mallory = Pair::new();
    let cut = &new[..new.len() - 1];
    let other = if &new[60..61] == "a" { "b" } else { "a" };
    let changed = [&new[..60], other, &new[61..]].concat();
    for wrong in [cut, &changed] {
        let ended = pair_of_mallory.accept(wrong).end();
        ended.failed(3, &["changed or cut off on the way"]);
    }
    alice.interrupt();
    alice.line_after("cancelled");
    // Nobody waits for the old one any more.
    drop(alice);
    let own = tacit(pair.alice.path(), &["pair", "accept", &new, "--name", "x"]);
    own.failed(2, &["this party's own"]);
}

#[test]
fn who_waits_in_vain_is_told_at_once_for_what() {
    let pair = Pair::new();
    let (alice, invitation) = pair.invite(&[]);
    drop(alice);
    let mut bob = pair.accept(&invitation);
    let told = bob.line_after("waiting for alice at 127.0.0.1:");
    assert!(
        told.contains("`tacit pair invite`") && told.contains("60 s"),
        "{told}"
    );
    bob.interrupt();
    assert_eq!(bob.end().code, 130);
}

#[test]
fn an_invitation_to_a_place_where_a_run_waits_by_now_is_over() {
    let pair = Pair::new();
    let (alice, invitation) = pair.invite(&[]);
    drop(alice);
    let mut bob = pair.accept(&invitation);
    let told = bob.line_after("waiting for alice at ");
    let (address, _) = told.split_once(", for").unwrap();
    let mut run = words("run millionaires --role garbler --input a=1 --listen");
    run.extend([address, "--peer"]);
    run.push("tacit:ebjop2fwrmo5u4nn3fyjrn5kgl27kvkayi5il7vaeilz7iotlgwkuujb");
    let mut alice = start(pair.alice.path(), &run, "");
    alice.line_after("listening on ");
    bob.end().failed(
        5,
        &["no longer waits", "what to do: ask for a new invitation"],
    );
    alice.interrupt();
    assert_eq!(alice.end().code, 130);
}

#[test]
fn who_comes_late_is_told() {
    let pair = Pair::new();
    let (alice, invitation) = pair.invite(&["--valid", "1s"]);
    alice.end().failed(5, &["has expired"]);
    let late = pair.accept(&invitation).end();
    assert!(!late.stderr.contains("waiting for"), "{}", late.stderr);
    late.failed(5, &["has expired"]);
}

#[test]
fn where_an_identity_was_looked_for_is_said() {
    let pair = Pair::new();
    let folder = pair.alice.path();
    let config = folder.join("mine/tacit.toml");
    std::fs::create_dir(folder.join("mine")).unwrap();
    std::fs::write(&config, "").unwrap();
    let config = config.to_str().unwrap();
    let run = [
        "run",
        "millionaires",
        "--config",
        config,
        "--role",
        "garbler",
        "--input",
        "a=41",
        "--listen",
        "127.0.0.1:0",
        "--timeout",
        "50ms",
        "--peer",
        "tacit:ebjop2fwrmo5u4nn3fyjrn5kgl27kvkayi5il7vaeilz7iotlgwkuujb",
    ];
    let ended = tacit(folder, &run);
    ended.failed(
        2,
        &["mine/identity.key", "tacit/identity.key", "tacit keygen"],
    );
    tacit(folder, &["keygen", "--config", config]).succeeded();
    assert!(folder.join("mine/identity.key").exists());
    tacit(folder, &run).failed(6, &["in vain"]);
    let absent = words("run millionaires --config absent.toml --input a=1");
    tacit(folder, &absent).failed(2, &["absent.toml is not there"]);
    // Without a pairing, a role has to be given.
    let run = [
        "run",
        "millionaires",
        "--identity",
        "mine/identity.key",
        "--peer",
        run[13],
        "--listen",
        "127.0.0.1:0",
    ];
    tacit(folder, &run).failed(2, &["--role", "tacit pair"]);
}
