//! TLS: who is let in, which parameters are agreed on, and what happens to everybody else.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tacit_net::{
    Awaited, CancelHandle, Channel, Fingerprint, Identity, Link, NetError, Settings, tls,
};

const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(80);

fn settings() -> Settings {
    Settings {
        connect_timeout: LONG,
        handshake_timeout: LONG,
        timeout: LONG,
        ..Settings::default()
    }
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

/// Returns both sides' results when the client expects and the server allows these fingerprints.
fn meet(
    client: &Identity,
    expected: Fingerprint,
    server: &Identity,
    allowed: &[Fingerprint],
) -> (Result<Channel, NetError>, Result<Channel, NetError>) {
    let listener = tls::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_address().to_string();
    thread::scope(|scope| {
        let accepted = scope.spawn(move || listener.accept(server, allowed, &settings()));
        let connected = tls::connect(&address, client, &expected, &settings());
        (connected, accepted.join().unwrap())
    })
}

fn friends() -> (Channel, Channel) {
    let (client, server) = (identity(), identity());
    let (here, there) = meet(
        &client,
        server.fingerprint(),
        &server,
        &[identity().fingerprint(), client.fingerprint()],
    );
    let (here, there) = (here.unwrap(), there.unwrap());
    assert_eq!(here.peer(), Some(server.fingerprint()));
    assert_eq!(there.peer(), Some(client.fingerprint()));
    (here, there)
}

#[test]
fn two_who_know_each_other_talk() {
    let (mut here, mut there) = friends();
    assert_eq!(here.binding(), there.binding());
    assert_ne!(here.binding(), Channel::UNBOUND);
    thread::scope(|scope| {
        scope.spawn(move || {
            let frame = there.receive(3_000_000).unwrap();
            assert!(frame.kind == 1 && frame.payload.iter().all(|&byte| byte == 9));
            there.send(2, b"thanks").unwrap();
            there.close().unwrap();
        });
        here.send(1, &vec![9; 3_000_000]).unwrap();
        assert_eq!(here.receive(6).unwrap().payload, b"thanks");
        assert!(matches!(here.receive(6), Err(NetError::Closed { .. })));
    });
    let meter = here.meter();
    assert_eq!(
        (meter.sent.bytes, meter.received.bytes, meter.rounds),
        // There are twelve frames.
        (3_000_060, 11, 2)
    );
    // The handshake, and 22 bytes for each record of 16 KiB.
    assert!(
        (3_004_000..3_010_000).contains(&meter.sent.wire_bytes),
        "{meter:?}"
    );
}

/// Returns an identity, and the same one with only its public key at hand. `signs` selects which of
/// two keys signs its messages.
fn elsewhere(signs: usize) -> (Identity, Identity) {
    let whole = [identity(), identity()];
    let keys = [0, 1].map(|key| {
        let pem = whole[key].to_pem().unwrap();
        let (_, der) = pem_rfc7468::decode_vec(pem.as_bytes()).unwrap();
        any_eddsa_type(&PrivatePkcs8KeyDer::from(der)).unwrap()
    });
    let info = keys[0].public_key().unwrap().to_vec();
    let signer = keys[signs].choose_scheme(&[SignatureScheme::ED25519]);
    let signer = signer.unwrap();
    let public = info[12..].try_into().unwrap();
    let identity = Identity::elsewhere(&public, move |message| {
        signer.sign(message).ok()?.try_into().ok()
    });
    let [whole, _] = whole;
    (whole, identity)
}

#[test]
fn a_key_that_is_elsewhere_signs_for_its_identity() {
    let (whole, away) = elsewhere(0);
    assert_eq!(away.fingerprint(), whole.fingerprint());
    assert!(matches!(away.to_pem(), Err(NetError::KeyElsewhere)));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    assert!(matches!(away.save(&file), Err(NetError::KeyElsewhere)) && !file.exists());
    let other = identity();
    let met = [(&away, &other), (&other, &away)];
    for (client, server) in met {
        let (here, there) = meet(
            client,
            server.fingerprint(),
            server,
            &[client.fingerprint()],
        );
        assert_eq!(here.unwrap().peer(), Some(server.fingerprint()));
        assert_eq!(there.unwrap().peer(), Some(client.fingerprint()));
    }
}

/// A party that knows only a public key gets no session under it, with any signature and on
/// either side.
#[test]
fn another_key_does_not_sign_for_an_identity() {
    let (whole, forged) = elsewhere(1);
    let (other, known) = (identity(), whole.fingerprint());
    let (_, of_client) = meet(&forged, other.fingerprint(), &other, &[known]);
    let (of_server, _) = meet(&other, known, &forged, &[other.fingerprint()]);
    for met in [of_client, of_server] {
        assert!(matches!(met, Err(NetError::Tls { .. })), "{met:?}");
    }
}

#[test]
fn a_busy_sender_still_learns_why_the_peer_left() {
    let (mut here, mut there) = friends();
    thread::scope(|scope| {
        scope.spawn(move || {
            there.receive(1 << 16).unwrap();
            there.abort(200, b"the user left", 4 * SOON).unwrap();
        });
        let sent = (0..1_000_000).try_for_each(|_| here.send(1, &[0; 1 << 16]));
        assert!(matches!(sent, Err(NetError::Closed { .. })), "{sent:?}");
        let last = here.receive(100).unwrap();
        assert_eq!((last.kind, last.payload), (200, &b"the user left"[..]));
    });
}

#[test]
fn a_channel_that_rests_hears_what_comes_and_is_ended() {
    let (mut here, mut there) = friends();
    for kind in 1..3 {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                there.send(kind, &[kind; 100]).unwrap();
                there.flush().unwrap();
            });
            // The time that the wait took is not given to the message again.
            let left = here.rest(Duration::ZERO).unwrap();
            assert!(left <= LONG - Duration::from_millis(40), "{left:?}");
            let frame = here.receive(100).unwrap();
            assert_eq!((frame.kind, frame.payload), (kind, &[kind; 100][..]));
        });
    }
    // A message that has already arrived ends it at once.
    for kind in [3, 4] {
        there.send(kind, &[]).unwrap();
    }
    there.flush().unwrap();
    for kind in [3, 4] {
        here.rest(Duration::ZERO).unwrap();
        assert_eq!(here.receive(0).unwrap().kind, kind);
    }
    let timeout = here.timeout();
    here.set_timeout(Duration::from_millis(30));
    let late = here.rest(Duration::ZERO).unwrap_err();
    assert!(matches!(late, NetError::Timeout { .. }), "{late}");
    here.set_timeout(timeout);
    drop(there);
    here.rest(Duration::ZERO).unwrap();
    let gone = here.receive(0).unwrap_err();
    assert!(matches!(gone, NetError::Closed { .. }), "{gone}");
    let (mut here, _there) = friends();
    let cancel = here.cancel_handle();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        let ended = here.rest(Duration::ZERO).unwrap_err();
        assert!(matches!(ended, NetError::Cancelled { .. }), "{ended}");
    });
}

#[test]
fn every_connection_is_bound_to_itself() {
    let (one, _peer_of_one) = friends();
    let (two, _peer_of_two) = friends();
    assert_ne!(one.binding(), two.binding());
}

#[test]
fn an_unexpected_server_is_named_and_told() {
    let (client, server, other) = (identity(), identity(), identity());
    let (here, there) = meet(
        &client,
        other.fingerprint(),
        &server,
        &[client.fingerprint()],
    );
    let error = here.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&other.fingerprint().to_string()), "{text}");
    assert!(text.contains(&server.fingerprint().to_string()), "{text}");
    match error {
        NetError::WrongIdentity { expected, found } => {
            assert_eq!(
                (expected, found),
                (vec![other.fingerprint()], server.fingerprint())
            );
        }
        other => panic!("{other:?}"),
    }
    match there.unwrap_err() {
        NetError::Refused { own, .. } => assert_eq!(own, server.fingerprint()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unexpected_client_is_named_and_told() {
    let (client, server, other) = (identity(), identity(), identity());
    for sends_first in [false, true] {
        let (here, there) = meet(
            &client,
            server.fingerprint(),
            &server,
            &[other.fingerprint()],
        );
        match there.unwrap_err() {
            NetError::WrongIdentity { expected, found } => {
                assert_eq!(
                    (expected, found),
                    (vec![other.fingerprint()], client.fingerprint())
                );
            }
            other => panic!("{other:?}"),
        }
        // The client's handshake is over before the server has checked its identity.
        let mut here = here.unwrap();
        if sends_first {
            here.send(1, &vec![0; 100_000]).unwrap();
        }
        match here.receive(10) {
            Err(NetError::Refused { own, .. }) => assert_eq!(own, client.fingerprint()),
            other => panic!("{other:?}"),
        }
    }
    let (_, there) = meet(&client, server.fingerprint(), &server, &[]);
    assert!(
        there
            .unwrap_err()
            .to_string()
            .contains("where none was expected")
    );
}

/// Runs `peer` against a listening server and returns the server's error.
fn serve(handshake_timeout: Duration, peer: impl FnOnce(TcpStream, &Identity) + Send) -> NetError {
    let server = identity();
    let listener = tls::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_address();
    thread::scope(|scope| {
        scope.spawn(|| peer(TcpStream::connect(address).unwrap(), &server));
        let bounded = Settings {
            handshake_timeout,
            ..settings()
        };
        let allowed = [identity().fingerprint()];
        listener.accept(&server, &allowed, &bounded).unwrap_err()
    })
}

fn assert_tls(error: &NetError, reason_has: &str) {
    match error {
        NetError::Tls { reason } => assert!(reason.contains(reason_has), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn garbage_is_no_handshake() {
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 100_000],
        &[0x16, 3, 1, 0xff, 0xff, 1],
    ] {
        let error = serve(LONG, |mut socket, _| {
            let _ = socket.write_all(garbage);
            let _ = socket.shutdown(Shutdown::Write);
            let _ = socket.read_to_end(&mut Vec::new());
        });
        assert!(
            matches!(error, NetError::Tls { .. } | NetError::Closed { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn a_silent_or_vanished_peer_ends_the_handshake() {
    let silent = serve(SOON, |mut socket, _| {
        let _ = socket.read_to_end(&mut Vec::new());
    });
    assert!(matches!(
        silent,
        NetError::Timeout {
            awaited: Awaited::Handshake,
            after: SOON
        }
    ));
    let vanished = serve(LONG, |socket, _| drop(socket));
    assert!(matches!(
        vanished,
        NetError::Closed {
            awaited: Awaited::Handshake
        }
    ));
}

/// Returns a TLS 1.2 ClientHello: version 3.3 and no `supported_versions` extension.
fn client_hello_of_tls12() -> Vec<u8> {
    let mut body = vec![0x03, 0x03];
    body.extend_from_slice(&[0x42; 32]);
    body.push(0);
    body.extend_from_slice(&[0, 4, 0xc0, 0x2b, 0xc0, 0x2f]);
    body.extend_from_slice(&[1, 0]);
    let extensions = [
        0x00, 0x0a, 0, 4, 0, 2, 0x00, 0x1d, // supported_groups: x25519
        0x00, 0x0d, 0, 4, 0, 2, 0x08, 0x07, // signature_algorithms: ed25519
    ];
    body.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
    body.extend_from_slice(&extensions);
    let mut hello = vec![0x16, 3, 1];
    hello.extend_from_slice(&(body.len() as u16 + 4).to_be_bytes());
    hello.extend_from_slice(&[1, 0, 0, body.len() as u8]);
    hello.extend_from_slice(&body);
    hello
}

#[test]
fn tls_1_2_is_refused() {
    let error = serve(LONG, |mut socket, _| {
        socket.write_all(&client_hello_of_tls12()).unwrap();
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        // Alert, fatal, protocol_version (RFC 8446, section 6).
        assert_eq!(answer, [0x15, 3, 3, 0, 2, 2, 70]);
    });
    assert_tls(&error, "peer is incompatible");
}

#[test]
fn a_server_that_is_silent_or_no_tls_is_refused() {
    let (client, listener) = (
        identity(),
        std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    let address = listener.local_addr().unwrap().to_string();
    let bounded = Settings {
        handshake_timeout: SOON,
        ..settings()
    };
    let silent = tls::connect(&address, &client, &client.fingerprint(), &bounded).unwrap_err();
    assert!(matches!(
        silent,
        NetError::Timeout {
            awaited: Awaited::Handshake,
            ..
        }
    ));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(listener.accept().unwrap());
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.write_all(b"220 mail.invalid ESMTP\r\n");
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let babble = tls::connect(&address, &client, &client.fingerprint(), &settings());
        assert_tls(&babble.unwrap_err(), "does not speak TLS: another program?");
    });
}

#[test]
fn a_handshake_is_cancelled() {
    let (client, listener) = (
        identity(),
        std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    let address = listener.local_addr().unwrap().to_string();
    let cancel = CancelHandle::new();
    let bounded = Settings {
        cancel: cancel.clone(),
        ..settings()
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(SOON);
            cancel.cancel();
        });
        let result = tls::connect(&address, &client, &client.fingerprint(), &bounded);
        assert!(matches!(
            result.unwrap_err(),
            NetError::Cancelled {
                awaited: Awaited::Handshake
            }
        ));
    });
}

#[test]
fn a_link_is_imitated_from_the_handshake_on() {
    let link: Link = "5ms,1gbit".parse().unwrap();
    let slow = Settings {
        link: Some(link),
        ..settings()
    };
    let (client, server) = (identity(), identity());
    let listener = tls::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_address().to_string();
    let began = std::time::Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let allowed = [client.fingerprint()];
            let mut channel = listener.accept(&server, &allowed, &slow).unwrap();
            let answer = channel.receive(4).unwrap().payload.to_vec();
            channel.send(2, &answer).unwrap();
            channel.close().unwrap();
        });
        let mut channel = tls::connect(&address, &client, &server.fingerprint(), &slow).unwrap();
        channel.send(1, b"ping").unwrap();
        assert_eq!(channel.receive(4).unwrap().payload, b"ping");
    });
    // Two round trips: hello and answer, ping and answer.
    assert!(began.elapsed() >= 4 * link.one_way_delay());
}
