//! Attacks on the window: a peer that plays the other half of a WebSocket by hand.

use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use tungstenite::Bytes;

use super::*;
use crate::CancelHandle;

const PATIENCE: Duration = Duration::from_secs(5);

type Peer = WebSocket<TcpStream>;

/// Returns this side's transport, and the peer's socket.
fn met() -> (Transport, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(move || {
            let uri = format!("ws://{address}/").parse().unwrap();
            let request = client::ClientRequestBuilder::new(uri).with_sub_protocol(SUBPROTOCOL);
            let socket = TcpStream::connect(address).unwrap();
            client(request, socket).unwrap().0
        });
        let (socket, _) = listener.accept().unwrap();
        tcp::prepare(&socket).unwrap();
        let cancel = CancelHandle::new();
        let wait = Wait::at_most(PATIENCE, &cancel);
        let transport = accept(socket, &[], &Settings::default(), &wait).unwrap();
        (transport, asked.join().unwrap())
    })
}

/// Writes until the wait is over. Returns the number of bytes taken, and the reason for the end.
fn write_all(transport: &mut Transport, wait: &Wait<'_>) -> (usize, Interrupt) {
    let piece = vec![7; 1 << 20];
    let mut taken = 0;
    loop {
        match transport.write(&[IoSlice::new(&piece)], wait) {
            Ok(count) => taken += count,
            Err(over) => return (taken, over),
        }
    }
}

/// Reads binary messages until this many bytes have arrived.
fn read_bytes(peer: &mut Peer, count: usize) {
    let mut read = 0;
    while read < count {
        if let Message::Binary(bytes) = peer.read().unwrap() {
            read += bytes.len();
        }
    }
    assert_eq!(read, count);
}

#[test]
fn a_peer_that_takes_nothing_is_sent_one_window() {
    let (mut transport, mut peer) = met();
    let reader = thread::spawn(move || {
        read_bytes(&mut peer, WINDOW);
        peer
    });
    let cancel = CancelHandle::new();
    let (taken, over) = write_all(
        &mut transport,
        &Wait::at_most(Duration::from_secs(1), &cancel),
    );
    assert_eq!(taken, WINDOW);
    assert!(matches!(over, Interrupt::TimedOut), "{over:?}");
    // The bytes that it takes may follow, and no more.
    let mut peer = reader.join().unwrap();
    peer.send(Message::text("70000")).unwrap();
    let (taken, _) = write_all(
        &mut transport,
        &Wait::at_most(Duration::from_secs(1), &cancel),
    );
    assert_eq!(taken, 70_000);
    read_bytes(&mut peer, 70_000);
}

/// Returns the error of a side that has sent a window and waits for room, under `attack`.
fn attacked(attack: impl FnOnce(&mut Peer) + Send) -> String {
    let (mut transport, mut peer) = met();
    let failure = thread::scope(|scope| {
        scope.spawn(|| {
            read_bytes(&mut peer, WINDOW);
            attack(&mut peer);
        });
        let cancel = CancelHandle::new();
        write_all(&mut transport, &Wait::at_most(PATIENCE, &cancel)).1
    });
    match failure {
        Interrupt::Failed(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_peer_that_sends_without_an_end_fills_one_window() {
    let said = attacked(|peer| {
        for _ in 0..WINDOW / MESSAGE + 1 {
            // The side may be gone by then.
            let _ = peer.send(Message::binary(vec![3; MESSAGE]));
        }
    });
    assert!(said.contains("more than this side had room for"), "{said}");
}

#[test]
fn messages_without_bytes_do_not_hold_a_look() {
    let (mut transport, mut peer) = met();
    peer.get_ref().set_nodelay(true).unwrap();
    for _ in 0..1000 {
        peer.send(Message::Pong(Bytes::new())).unwrap();
    }
    peer.send(Message::binary(vec![5])).unwrap();
    let cancel = CancelHandle::new();
    let wait = Wait::at_most(PATIENCE, &cancel);
    let mut into = [0; 10];
    let looks = (1..1000).find(|_| {
        thread::sleep(Duration::from_millis(1));
        transport.read_at_once(&mut into, &wait).unwrap().is_some()
    });
    let looks = looks.expect("the bytes come");
    assert!(looks > 1000 / MOST_LOOKS, "{looks}");
    assert_eq!(into[0], 5);
}

#[test]
fn a_peer_does_not_take_what_was_not_sent() {
    for (grant, expected) in [
        ("4194305", "more than was sent"),
        ("9999999999999999999999", "no number of bytes"),
    ] {
        let said = attacked(|peer| peer.send(Message::text(grant)).unwrap());
        assert!(said.contains(expected), "{grant}: {said}");
    }
}

#[test]
fn a_reader_tells_what_it_took() {
    let (mut transport, mut peer) = met();
    let writer = thread::spawn(move || {
        // Three windows. Each is sent as the peer takes the bytes before it.
        let (mut to_send, mut left) = (WINDOW, 3 * WINDOW);
        while left > 0 {
            let count = to_send.min(left).min(MESSAGE);
            if count == 0 {
                let told = peer.read().unwrap();
                to_send += told.to_text().unwrap().parse::<usize>().unwrap();
                continue;
            }
            peer.send(Message::binary(vec![1; count])).unwrap();
            (to_send, left) = (to_send - count, left - count);
        }
        peer
    });
    let cancel = CancelHandle::new();
    let wait = Wait::at_most(PATIENCE, &cancel);
    let (mut read, mut into) = (0, vec![0; 100_000]);
    while read < 3 * WINDOW {
        read += transport.read(&mut into, &wait).unwrap();
    }
    assert_eq!(read, 3 * WINDOW);
    writer.join().unwrap();
}
