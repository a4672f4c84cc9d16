//! Peers that connect by WebSocket, strangers' pages, and attacks through sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tacit_net::{Channel, Fingerprint, Identity, NetError, Settings, tls};

const PAGE: &str = "https://page.example";

fn settings() -> Settings {
    Settings {
        connect_timeout: Duration::from_secs(20),
        handshake_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(10),
        websocket_origins: Some(Arc::from([PAGE.to_owned()])),
        ..Settings::default()
    }
}

fn identity() -> Identity {
    Identity::generate().expect("randomness")
}

/// Accepts `client` at an address given to `come`, under `settings`. Returns the results of both,
/// and the reported refusals.
fn meet<T: Send>(
    settings: &Settings,
    client: Fingerprint,
    come: impl FnOnce(String, Fingerprint) -> T + Send,
) -> (Result<Channel, NetError>, Vec<NetError>, T) {
    let server = identity();
    let listener = tls::Listener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_address().to_string();
    let mut told = Vec::new();
    thread::scope(|scope| {
        let expected = server.fingerprint();
        let came = scope.spawn(move || come(address, expected));
        let mut refused = |_, error: &NetError| told.push(copy(error));
        let met = listener.accept_peer(&server, &[client], settings, &mut refused);
        (
            met,
            std::mem::take(&mut told),
            came.join().expect("no panic"),
        )
    })
}

/// Copies the parts of an error that tests check.
fn copy(error: &NetError) -> NetError {
    match error {
        NetError::Origin { origin } => NetError::Origin {
            origin: origin.clone(),
        },
        NetError::WebSocket { reason } => NetError::WebSocket {
            reason: reason.clone(),
        },
        other => NetError::Tls {
            reason: other.to_string(),
        },
    }
}

/// Asks for a WebSocket like a page of `origin`. Returns the socket, and the first line of the
/// answer.
fn ask(address: &str, origin: Option<&str>) -> (TcpStream, String) {
    let mut socket = TcpStream::connect(address).expect("a listener");
    let origin = origin.map(|origin| format!("Origin: {origin}\r\n"));
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: tacit-2\r\n{}\r\n",
        origin.unwrap_or_default()
    );
    socket.write_all(request.as_bytes()).expect("room");
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
        answer.push(byte[0]);
    }
    let answer = String::from_utf8_lossy(&answer);
    (socket, answer.lines().next().unwrap_or_default().to_owned())
}

/// Calls `harm` on a socket that was granted. Returns the listener's error.
fn harmed(harm: impl FnOnce(TcpStream) + Send) -> String {
    let settings = Settings {
        connect_timeout: Duration::from_secs(2),
        handshake_timeout: Duration::from_secs(1),
        ..settings()
    };
    let (met, told, ()) = meet(&settings, identity().fingerprint(), |address, _| {
        let (socket, answer) = ask(&address, Some(PAGE));
        assert!(answer.contains("101"), "{answer}");
        harm(socket);
    });
    assert!(met.is_err());
    told.iter().map(ToString::to_string).collect()
}

#[test]
fn channels_are_the_same_over_a_websocket() {
    let (client, server) = (identity(), identity());
    let listener = tls::Listener::bind("127.0.0.1:0").expect("a port");
    let address = format!("ws://{}/", listener.local_address());
    let expected = server.fingerprint();
    let payload: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    thread::scope(|scope| {
        let (client, payload) = (&client, &payload);
        let came = scope.spawn(move || {
            let mut channel = tls::connect(&address, client, &expected, &settings()).expect("met");
            channel.send(7, payload).expect("sent");
            let frame = channel.receive(payload.len()).expect("an answer");
            assert!(frame.kind == 8 && frame.payload == payload);
            channel.close().expect("closed in good order");
        });
        let allowed = [client.fingerprint()];
        let mut refused = |_, error: &NetError| panic!("{error}");
        let met = listener.accept_peer(&server, &allowed, &settings(), &mut refused);
        let mut channel = met.expect("a peer");
        assert_eq!(channel.peer(), Some(client.fingerprint()));
        let frame = channel.receive(payload.len()).expect("a frame");
        assert!(frame.kind == 7 && frame.payload == payload);
        channel.send(8, payload).expect("sent");
        channel.flush().expect("sent");
        assert!(matches!(channel.receive(1), Err(NetError::Closed { .. })));
        came.join().expect("no panic");
    });
}

#[test]
fn a_page_of_another_origin_is_refused_and_an_allowed_one_is_not() {
    for stranger in [
        "https://evil.example",
        "https://page.example.evil",
        "null",
        "http://page.example",
    ] {
        let settings = Settings {
            connect_timeout: Duration::from_secs(1),
            ..settings()
        };
        let (met, told, answer) = meet(&settings, identity().fingerprint(), |address, _| {
            ask(&address, Some(stranger)).1
        });
        assert!(answer.contains("403"), "{stranger}: {answer}");
        assert!(met.is_err());
        assert!(
            matches!(&told[..], [NetError::Origin { origin }] if origin == stranger),
            "{stranger}: {told:?}"
        );
    }
}

#[test]
fn of_a_long_origin_little_is_told() {
    let settings = Settings {
        connect_timeout: Duration::from_secs(1),
        ..settings()
    };
    let long = format!("https://{}.example", "a".repeat(8000));
    let (met, told, _) = meet(&settings, identity().fingerprint(), |address, _| {
        ask(&address, Some(&long)).1
    });
    assert!(met.is_err());
    assert!(
        matches!(&told[..], [NetError::Origin { origin }] if *origin == long[..100]),
        "{told:?}"
    );
}

#[test]
fn websockets_are_refused_where_none_are_allowed() {
    let settings = Settings {
        connect_timeout: Duration::from_secs(1),
        websocket_origins: None,
        ..settings()
    };
    let (met, _, answer) = meet(&settings, identity().fingerprint(), |address, _| {
        ask(&address, Some(PAGE)).1
    });
    assert!(met.is_err() && !answer.contains("101"), "{answer}");
}

#[test]
fn a_frame_that_is_too_long_is_refused_before_it_is_read() {
    let said = harmed(|mut socket| {
        // A binary frame of 2^40 bytes, masked.
        let head = [0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        let _ = socket.write_all(&head);
        let _ = socket.read(&mut [0; 64]);
    });
    assert!(
        said.contains("WebSocket failed") && said.contains("long"),
        "{said}"
    );
}

#[test]
fn garbage_text_and_unmasked_frames_are_refused() {
    for (harm, part) in [
        (&[0xff; 64][..], "WebSocket failed"),
        (b"\x81\x82\0\0\0\0hi", "a message of text"),
        (b"\x82\x02hi", "WebSocket failed"),
        (b"\x82\x86\0\0\0\0GARBLE", "TLS"),
    ] {
        let said = harmed(move |mut socket| {
            let _ = socket.write_all(harm);
            let _ = socket.read(&mut [0; 64]);
        });
        assert!(said.contains(part), "{harm:?}: {said}");
    }
}

#[test]
fn pieces_that_amount_to_nothing_end_with_the_time() {
    // Empty pieces of a message that never ends. They arrive faster than the wait is checked.
    let began = Instant::now();
    harmed(|mut socket| {
        let first = [0x02, 0x80, 0, 0, 0, 0];
        let more = [0x00, 0x80, 0, 0, 0, 0].repeat(4096);
        let _ = socket.write_all(&first);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(15) && socket.write_all(&more).is_ok() {}
    });
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_frame_that_comes_byte_by_byte_ends_with_the_time() {
    let began = Instant::now();
    harmed(|mut socket| {
        // A binary frame of 500 KiB, masked. Its bytes come before a read of the socket has waited
        // long.
        let _ = socket.write_all(&[0x82, 0xff, 0, 0, 0, 0, 0, 7, 0xd0, 0, 1, 2, 3, 4]);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(15) && socket.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_slow_request_ends_with_the_time() {
    let settings = Settings {
        connect_timeout: Duration::from_secs(2),
        handshake_timeout: Duration::from_secs(1),
        ..settings()
    };
    let (met, told, ()) = meet(&settings, identity().fingerprint(), |address, _| {
        let mut socket = TcpStream::connect(address).expect("a listener");
        let began = Instant::now();
        for byte in b"GET / HTTP/1.1\r\nHost: slow\r\n".iter().cycle() {
            let was_sent = socket.write_all(&[*byte]).is_ok();
            if !was_sent || began.elapsed() > Duration::from_secs(5) {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(met.is_err() && !told.is_empty());
}
