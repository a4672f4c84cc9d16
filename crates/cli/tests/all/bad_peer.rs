//! Peers that are wrong, broken or hostile: a clear error of the right kind on this side, in time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::process::{self, Ended, NOBODY, Parties, tacit, words};

#[test]
fn another_function_names_both_digests() {
    let parties = Parties::new();
    let [alice, bob] = parties.run(
        &words("millionaires --param bits=33 --role garbler --input a=1"),
        &words("millionaires --param bits=200 --role evaluator --input b=1"),
    );
    for param in ["bits=33", "bits=200"] {
        let digest = ["inspect", "millionaires", "--param", param, "--json"];
        let digest = tacit(parties.folder(), &digest).json()["function_digest"].clone();
        let digest = digest.as_str().expect("a digest").to_owned();
        assert!(alice.stderr.contains(&digest[..8]), "{alice:?}");
    }
    alice.failed(5, &["bits is 33 here and 200 at the peer"]);
    bob.failed(5, &["bits is 200 here and 33 at the peer"]);
    assert_eq!([alice.stdout, bob.stdout], [""; 2]);
}

#[test]
fn the_same_role_and_another_scheme() {
    let parties = Parties::new();
    let same = ["millionaires", "--role", "garbler", "--input", "a=1"];
    for ended in parties.run(&same, &same) {
        ended.failed(5, &["garbler", "--role evaluator"]);
    }
    let [alice, bob] = parties.run(
        &same,
        &words("millionaires --role evaluator --input b=1 --scheme prf-xor1-and3"),
    );
    for ended in [alice, bob] {
        ended.failed(5, &["half-gates", "prf-xor1-and3", "--scheme"]);
    }
}

#[test]
fn another_kind_of_base_ot() {
    let parties = Parties::new();
    let garbler = ["millionaires", "--role", "garbler", "--input", "a=1"];
    let evaluator = ["millionaires", "--role", "evaluator", "--input", "b=1"];
    let evaluator = [&evaluator[..], &["--base-ot", "ml-kem-768"]].concat();
    for ended in parties.run(&garbler, &evaluator) {
        ended.failed(5, &["ristretto255", "ml-kem-768", "--base-ot"]);
    }
}

#[test]
fn another_ot_extension() {
    let parties = Parties::new();
    let garbler = ["millionaires", "--role", "garbler", "--input", "a=1"];
    let evaluator = ["millionaires", "--role", "evaluator", "--input", "b=1"];
    // A party uses silent OT only if it was told to.
    let evaluator = [&evaluator[..], &["--ot-extension", "silent"]].concat();
    for ended in parties.run(&garbler, &evaluator) {
        ended.failed(5, &["softspoken-2", "silent", "--ot-extension"]);
    }
}

#[test]
fn the_wrong_identity() {
    let parties = Parties::new();
    let stranger = tacit(parties.folder(), &["keygen", "--out", "eve.key", "--json"]).json();
    let stranger = stranger["fingerprint"]
        .as_str()
        .expect("a fingerprint")
        .to_owned();
    let [alice, bob] = parties.fingerprints();
    let garbler = ["millionaires", "--role", "garbler", "--input", "a=1"];
    // Eve connects to Alice, who waits for Bob and goes on waiting.
    let (mut listening, address) = parties.alice_listens(&garbler, "");
    let connect = words("run millionaires --role evaluator --input b=1 --connect");
    let eve = [
        &connect[..],
        &[&address, "--identity", "eve.key", "--peer", alice],
    ]
    .concat();
    let eve = tacit(parties.folder(), &eve);
    assert!([5, 6].contains(&eve.code), "{eve:?}");
    let told = listening.line_after("refused a connection from 127.0.0.1:");
    assert!(told.contains(bob) && told.contains(&stranger), "{told}");
    // Bob connects to Alice and expects Eve; then he expects Alice.
    let as_bob = |peer: &str| {
        let bob = ["--identity", "bob.key", "--peer", peer];
        tacit(
            parties.folder(),
            &[&connect[..], &[&address], &bob].concat(),
        )
    };
    as_bob(&stranger).failed(5, &[alice, &stranger]);
    listening.line_after("refused a connection from 127.0.0.1:");
    assert_eq!(as_bob(alice).succeeded(), "a_is_richer = 0\n");
    assert_eq!(listening.end().succeeded(), "a_is_richer = 0\n");
    // The error of a wait in vain names the last refusal.
    let impatient = [&garbler[..], &["--timeout", "2s"]].concat();
    let (listening, address) = parties.alice_listens(&impatient, "");
    let mut guest = TcpStream::connect(address).unwrap();
    let _ = guest.write_all(b"GET / HTTP/1.1\r\n\r\n");
    let _ = guest.read_to_end(&mut Vec::new());
    listening
        .end()
        .failed(6, &["refused 1 connection while waiting 2s", "TLS"]);
}

#[test]
fn nobody_there() {
    let parties = Parties::new();
    let run = words("run millionaires --role garbler --input a=1 --timeout 200ms");
    let alone = [&run[..], &["--plain-loopback", "--listen", "127.0.0.1:0"]].concat();
    tacit(parties.folder(), &alone).failed(6, &["200ms", "connect"]);
    let nobody = [&run[..], &["--plain-loopback", "--connect", NOBODY]].concat();
    tacit(parties.folder(), &nobody).failed(6, &[NOBODY]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let taken = [&run[..], &["--plain-loopback", "--listen", &taken]].concat();
    let _ = tacit(parties.folder(), &taken);
}

/// Runs `tacit` in the clear against a peer that does `peer` to the connection.
fn against(peer: impl FnOnce(&mut TcpStream) + Send) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            peer(&mut stream);
        });
        let args = words("run millionaires --role evaluator --input b=1");
        let plain = [
            "--plain-loopback",
            "--timeout",
            "400ms",
            "--connect",
            &address,
        ];
        let ended = process::start(folder.path(), &[&args[..], &plain].concat(), "").end();
        assert_eq!(ended.stdout, "", "no partial result");
        ended
    })
}

/// Returns a frame of this kind.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    frame.extend(payload);
    frame
}

/// The version of the wire format.
const VERSION: u16 = 16;

/// Returns a greeting of this version.
fn hello(version: u16) -> Vec<u8> {
    let mut hello = b"tacit\r\n\0".to_vec();
    hello.extend(version.to_le_bytes());
    hello.extend([7; 32]);
    frame(1, &hello)
}

/// Writes, and then reads to the end, so that a reset does not lose the other side's messages.
fn say(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn a_peer_that_closes_early() {
    against(|_| ()).failed(6, &["closed"]);
    against(|stream| {
        stream.write_all(&hello(VERSION)).unwrap();
        let _ = stream.read(&mut [0; 64]);
    })
    .failed(6, &[]);
}

#[test]
fn a_peer_that_says_nothing() {
    against(|stream| say(stream, b"")).failed(6, &["400ms", "timeout"]);
    against(|stream| say(stream, &hello(VERSION))).failed(6, &["400ms"]);
}

#[test]
fn a_peer_of_another_version() {
    against(|stream| say(stream, &hello(VERSION + 1)))
        .failed(5, &["version 17", "version", "release"]);
}

#[test]
fn a_peer_that_sends_garbage() {
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n".repeat(50);
    against(|stream| say(stream, &http)).failed(4, &[]);
    against(|stream| say(stream, &frame(1, b"hello there, who are you?"))).failed(4, &["Tacit"]);
    against(|stream| say(stream, &frame(250, b""))).failed(4, &["250"]);
    against(|stream| say(stream, &frame(33, b"tables before their time"))).failed(4, &["tables"]);
    let mut reflected = hello(VERSION);
    reflected.extend(frame(3, &[0xff; 68]));
    let ended = against(|stream| say(stream, &reflected));
    assert!([4, 5].contains(&ended.code), "{ended:?}");
}

#[test]
fn a_peer_that_sends_too_much() {
    against(|stream| {
        stream.write_all(&[1]).unwrap();
        say(stream, &u32::MAX.to_le_bytes());
    })
    .failed(4, &["4294967295"]);
}

#[test]
fn a_peer_that_gives_up() {
    let abort = |reason| [hello(VERSION), frame(4, &[reason])].concat();
    against(|stream| say(stream, &abort(1))).failed(4, &["broke the protocol"]);
    against(|stream| say(stream, &abort(2))).failed(5, &["something else"]);
    against(|stream| say(stream, &abort(3))).failed(6, &["cancelled"]);
    against(|stream| say(stream, &abort(200))).failed(4, &[]);
}

#[test]
fn ctrl_c_tells_the_peer() {
    let parties = Parties::new();
    // The signal comes while the party waits for the peer.
    let garbler = ["millionaires", "--role", "garbler", "--input", "a=1"];
    let (alice, _) = parties.alice_listens(&garbler, "");
    alice.interrupt();
    alice.end().failed(130, &["cancelled"]);
    // The signal comes in a session: the peer greets, and Alice waits for its proposal.
    let (alice, address) = {
        let args = words("run millionaires --role garbler --input a=1 -v");
        let args = [&args[..], &["--plain-loopback", "--listen", "127.0.0.1:0"]].concat();
        let mut alice = process::start(parties.folder(), &args, "");
        let address = alice.line_after("listening on ");
        (alice, address)
    };
    let mut peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    peer.write_all(&hello(VERSION)).unwrap();
    let mut greeting = [0; 47];
    peer.read_exact(&mut greeting).unwrap();
    // Bytes that Alice has not read when she leaves would reset the connection before her last
    // message.
    thread::sleep(Duration::from_millis(500));
    alice.interrupt();
    let mut last_words = Vec::new();
    peer.read_to_end(&mut last_words).unwrap();
    assert_eq!(last_words, frame(4, &[3]), "an abort that says cancelled");
    alice.end().failed(130, &["cancelled"]);
}
