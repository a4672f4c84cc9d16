//! Sessions with side streams, and attackers who cut, change, stall or forge these.

mod hostile;

use std::borrow::Cow;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::{
    Awaited, CancelHandle, Channel, FRAME_BYTES, Identity, NetError, READ_AHEAD_BYTES, Settings,
    tls,
};

/// Long enough for every step of these tests.
const PATIENCE: Duration = Duration::from_secs(20);

fn settings(side_streams: u8) -> Settings {
    Settings {
        timeout: PATIENCE,
        side_streams,
        ..Settings::default()
    }
}

struct Parties {
    client: Identity,
    server: Identity,
}

impl Parties {
    fn new() -> Self {
        let (client, server) = (Identity::generate(), Identity::generate());
        let (client, server) = (client.unwrap(), server.unwrap());
        Self { client, server }
    }

    fn connect(&self, address: SocketAddr, side_streams: u8) -> Channel {
        let settings = settings(side_streams);
        let expected = self.server.fingerprint();
        tls::connect(&address.to_string(), &self.client, &expected, &settings).unwrap()
    }

    /// Sets up a session over the connection that `address` leads to.
    fn meet_by(
        &self,
        listener: &tls::Listener,
        address: SocketAddr,
        streams: [u8; 2],
    ) -> (Channel, Channel) {
        let allowed = [self.client.fingerprint()];
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                let settings = settings(streams[1]);
                let refused = &mut |_, error: &NetError| panic!("{error}");
                listener
                    .accept_peer(&self.server, &allowed, &settings, refused)
                    .unwrap()
            });
            let here = self.connect(address, streams[0]);
            (here, there.join().unwrap())
        })
    }
}

fn listener() -> tls::Listener {
    tls::Listener::bind("127.0.0.1:0").unwrap()
}

fn meet(streams: [u8; 2]) -> (Channel, Channel) {
    let listener = listener();
    Parties::new().meet_by(&listener, listener.local_address(), streams)
}

fn payload(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|i| salt ^ (i / 999) as u8).collect()
}

/// Sends `payload`s of these lengths from one end to the other, every other one in parts. Of two of
/// three, the receiver takes what it is given.
fn carry(from: &mut Channel, to: &mut Channel, lengths: &[usize]) {
    let receive = |to: &mut Channel| {
        let mut spare = vec![9; 70_000];
        for (salt, length) in lengths.iter().enumerate() {
            let expected = payload(*length, salt as u8);
            let kind = if salt.is_multiple_of(3) {
                let frame = to.receive(*length).unwrap();
                assert!(frame.payload == expected, "{salt}");
                frame.kind
            } else {
                let (kind, found) = to.receive_given(*length, &mut spare).unwrap();
                assert!(*found == expected, "{salt}");
                if let Cow::Owned(found) = found {
                    spare = found;
                }
                kind
            };
            assert_eq!(kind, 1 + salt as u8 % 100);
        }
    };
    thread::scope(|scope| {
        let receiving = scope.spawn(move || receive(to));
        for (salt, length) in lengths.iter().enumerate() {
            let (kind, payload) = (1 + salt as u8 % 100, payload(*length, salt as u8));
            if salt.is_multiple_of(2) {
                from.send(kind, &payload).unwrap();
            } else {
                let (payload, third) = (Arc::new(payload), length / 3);
                let parts = [0..third, third..third, third..*length];
                let parts = parts.map(|part| (Arc::clone(&payload), part));
                from.send_shared(kind, parts.into()).unwrap();
            }
        }
        from.flush().unwrap();
        receiving.join().unwrap();
    });
}

/// Sends enough to open all streams of a direction, and waits a moment for them.
fn open(from: &mut Channel, to: &mut Channel) {
    let enough = OPEN_AFTER_BYTES as usize;
    carry(from, to, &[enough]);
    let began = Instant::now();
    while !is_open(from, to) && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(is_open(from, to));
}

/// Returns whether the direction from one end to the other is open at both.
fn is_open(from: &Channel, to: &Channel) -> bool {
    sides(from).out().is_ready() && sides(to).inward().is_ready()
}

fn sides(channel: &Channel) -> &ChannelSides {
    channel.sides().expect("agreed")
}

/// The lengths of frames: short, just long, of many frames, empty.
const LENGTHS: [usize; 11] = [
    FRAME_BYTES,
    10,
    FRAME_BYTES + 1,
    0,
    65_536,
    32_768,
    32_767,
    5 * FRAME_BYTES + 40_000,
    1,
    100_000,
    3 * FRAME_BYTES,
];

#[test]
fn messages_come_in_order_over_both_ways() {
    for streams in 1..=3 {
        let (mut here, mut there) = meet([streams, streams]);
        open(&mut here, &mut there);
        assert!(!is_open(&there, &here), "small ways stay without");
        open(&mut there, &mut here);
        for _ in 0..3 {
            carry(&mut here, &mut there, &LENGTHS);
            carry(&mut there, &mut here, &LENGTHS);
        }
        let moved = [sides(&here).out().moved(), sides(&there).inward().moved()];
        assert_eq!(moved[0], moved[1]);
        assert!(moved[0] > 9 * FRAME_BYTES as u64);
        // The counted bytes of frames are the same as in a session without side streams.
        let (sent, received) = (here.meter().sent, there.meter().received);
        assert_eq!((sent.frames, sent.bytes), (received.frames, received.bytes));
        let frames = |length: usize| length.div_ceil(FRAME_BYTES).max(1);
        let expected: usize = LENGTHS
            .map(|length| 5 * frames(length) + length)
            .iter()
            .sum();
        let first = OPEN_AFTER_BYTES as usize;
        assert_eq!(
            sent.bytes as usize,
            3 * expected + first + 5 * frames(first)
        );
        assert!(sent.wire_bytes > sent.bytes && received.wire_bytes > received.bytes);
        here.close().unwrap();
        let error = there.receive(1).unwrap_err();
        assert!(matches!(error, NetError::Closed { .. }), "{error}");
    }
}

#[test]
fn there_are_as_many_as_both_allow() {
    for (streams, agreed) in [
        ([0, 4], None),
        ([4, 0], None),
        ([3, 5], Some(3)),
        ([8, 2], Some(2)),
    ] {
        let (mut here, mut there) = meet(streams);
        for channel in [&here, &there] {
            let found = channel.sides().map(|sides| sides.out().streams());
            assert_eq!(found, agreed, "{streams:?}");
        }
        carry(&mut here, &mut there, &LENGTHS);
    }
}

#[test]
fn both_ends_send_half_of_what_is_read_ahead() {
    let (mut here, mut there) = meet([2, 2]);
    open(&mut here, &mut there);
    open(&mut there, &mut here);
    let length = READ_AHEAD_BYTES / 2;
    let exchange = |mut channel: Channel| {
        channel.send(7, &payload(length, 1)).unwrap();
        channel.flush().unwrap();
        assert!(channel.receive(length).unwrap().payload == payload(length, 1));
        channel
    };
    thread::scope(|scope| {
        let there = scope.spawn(move || exchange(there));
        let here = exchange(here);
        drop((here, there.join().unwrap()));
    });
}

/// A peer that sends and never receives, against an end that never receives either.
#[test]
fn what_is_taken_in_ahead_is_bounded() {
    let (mut here, mut there) = meet([2, 2]);
    open(&mut here, &mut there);
    here.set_timeout(Duration::from_millis(300));
    let error = (0..1000).find_map(|_| here.send(3, &[5; FRAME_BYTES]).err());
    let error = error.expect("a bound");
    assert!(
        matches!(
            error,
            NetError::Timeout {
                awaited: Awaited::Room,
                ..
            }
        ),
        "{error}"
    );
    let few = 2 * QUEUED_FRAMES * FRAME_BYTES;
    let held = sides(&there).inward().held();
    assert!((1..=few + 2 * FRAME_BYTES).contains(&held), "{held}");
    // While a send waits, more is read, but still within a bound.
    there.set_timeout(Duration::from_millis(300));
    sides(&there).inward().read_ahead(true);
    here.set_timeout(Duration::from_millis(300));
    let error = (0..1000).find_map(|_| here.send(3, &[5; FRAME_BYTES]).err());
    assert!(error.is_some());
    let held = sides(&there).inward().held();
    assert!(
        (few + 1..=READ_AHEAD_BYTES + 2 * FRAME_BYTES).contains(&held),
        "{held}"
    );
}

/// Returns the error after a peer forges frames over its open streams.
fn receive_forged(forge: impl FnOnce(&mut Channel)) -> NetError {
    let (mut here, mut there) = meet([2, 2]);
    open(&mut here, &mut there);
    forge(&mut here);
    there.set_timeout(Duration::from_millis(500));
    there.receive(1 << 20).unwrap_err()
}

#[test]
fn a_payload_of_another_length_than_announced_is_refused() {
    for length in [39_999, 40_001] {
        let error = receive_forged(|channel| {
            let header = [1 | ASIDE, 0x40, 0x9c, 0, 0];
            channel.push_raw(&header);
            sides(channel).out().push(&vec![0; length]);
            channel.flush().unwrap();
        });
        assert!(
            matches!(
                error,
                NetError::WrongFrame {
                    expected: 40_000,
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn a_stream_announces_no_payload_longer_than_a_frame() {
    let error = receive_forged(|channel| {
        channel.push_raw(&[1 | ASIDE, 0x40, 0x9c, 0, 0]);
        sides(channel).out().push(&vec![0; FRAME_BYTES + 1]);
        let _ = channel.flush();
    });
    let expected = FRAME_BYTES;
    let is_refused = matches!(error, NetError::WrongFrame { expected: e, .. } if e == expected);
    assert!(is_refused, "{error}");
}

/// Each would take memory until the channel gets to it, and a bound on bytes would let in millions.
#[test]
fn a_stream_announces_no_payload_of_few_bytes() {
    for length in [0, 1, 32 * 1024 - 1] {
        let error = receive_forged(|channel| {
            channel.push_raw(&[1 | ASIDE, 0x40, 0x9c, 0, 0]);
            sides(channel).out().push(&vec![0; length]);
            let _ = channel.flush();
        });
        let expected = FRAME_BYTES;
        let is_refused = matches!(error, NetError::WrongFrame { expected: e, .. } if e == expected);
        assert!(is_refused, "{length}: {error}");
    }
}

#[test]
fn a_header_without_its_payload_ends_in_a_timeout() {
    let error = receive_forged(|channel| {
        channel.push_raw(&[1 | ASIDE, 0, 0, 4, 0]);
        channel.flush().unwrap();
    });
    assert!(matches!(error, NetError::Timeout { .. }), "{error}");
}

#[test]
fn a_wait_for_a_stream_can_be_cancelled() {
    let (mut here, mut there) = meet([2, 2]);
    open(&mut here, &mut there);
    here.push_raw(&[1 | ASIDE, 0, 0, 4, 0]);
    here.flush().unwrap();
    let cancel = CancelHandle::new();
    there.set_cancel_handle(cancel.clone());
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        let error = there.receive(1 << 20).unwrap_err();
        assert!(matches!(error, NetError::Cancelled { .. }), "{error}");
    });
    assert!(began.elapsed() < PATIENCE / 2);
}

/// A peer lends the proofs of its session to another allowed peer.
#[test]
fn a_stream_of_another_peer_is_refused() {
    let (parties, listener, other) = (Parties::new(), listener(), Identity::generate().unwrap());
    let allowed = [parties.client.fingerprint(), other.fingerprint()];
    let address = listener.local_address();
    let (mut here, there) = thread::scope(|scope| {
        let there = scope.spawn(|| {
            let settings = settings(1);
            let refused = &mut |_, error: &NetError| panic!("{error}");
            listener
                .accept_peer(&parties.server, &allowed, &settings, refused)
                .unwrap()
        });
        let here = parties.connect(address, 1);
        (here, there.join().unwrap())
    });
    let expected = parties.server.fingerprint();
    let config = tls::side_client_config(&other, &expected).unwrap();
    let opener = here.sides_mut().unwrap().opener.as_mut().unwrap();
    opener.config = Arc::new(config);
    here.send(1, &vec![0; OPEN_AFTER_BYTES as usize]).unwrap();
    thread::sleep(Duration::from_millis(500));
    assert!(!sides(&here).out().is_ready() && !sides(&there).inward().is_ready());
}

/// Connections without an id, or with an unknown one, keep no session from its streams and no peers
/// from the listener.
#[test]
fn a_crowd_of_others_keeps_nobody_out() {
    let (parties, listener) = (Parties::new(), listener());
    let address = listener.local_address();
    let (mut here, mut there) = parties.meet_by(&listener, address, [2, 2]);
    let mut crowd: Vec<TcpStream> = Vec::new();
    for number in 0..150 {
        let mut one = TcpStream::connect(address).unwrap();
        match number % 3 {
            0 => {}
            1 => one.write_all(b"t").unwrap(),
            _ => one.write_all(&[&PREAMBLE[..], &[9; 16]].concat()).unwrap(),
        }
        crowd.push(one);
    }
    open(&mut here, &mut there);
    carry(&mut here, &mut there, &LENGTHS);
    drop(crowd);
    let (mut here, mut there) = {
        let allowed = [parties.client.fingerprint()];
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                let refused = &mut |_, _: &NetError| ();
                listener
                    .accept_peer(&parties.server, &allowed, &settings(2), refused)
                    .unwrap()
            });
            let here = parties.connect(address, 2);
            (here, there.join().unwrap())
        })
    };
    open(&mut here, &mut there);
}

/// A peer that connects while only streams are accepted is there for the next accept.
#[test]
fn a_peer_that_comes_between_two_accepts_is_let_in() {
    let (parties, listener) = (Parties::new(), listener());
    let address = listener.local_address();
    let (mut here, mut there) = parties.meet_by(&listener, address, [1, 1]);
    thread::scope(|scope| {
        let second = scope.spawn(|| parties.connect(address, 1));
        open(&mut here, &mut there);
        thread::sleep(Duration::from_millis(100));
        let allowed = [parties.client.fingerprint()];
        let accepted = listener.accept(&parties.server, &allowed, &settings(1));
        let (mut there, mut here) = (accepted.unwrap(), second.join().unwrap());
        open(&mut here, &mut there);
    });
}

/// The port stays held for the streams of a session that outlives its listener.
#[test]
fn a_peer_that_comes_where_nobody_accepts_any_more_is_closed() {
    let (parties, listener) = (Parties::new(), listener());
    let address = listener.local_address();
    let session = parties.meet_by(&listener, address, [1, 1]);
    let come = || {
        let mut peer = TcpStream::connect(address).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer.write_all(&[22]).unwrap();
        peer
    };
    let waits = come();
    thread::sleep(Duration::from_millis(100));
    drop(listener);
    for mut peer in [waits, come()] {
        let ended = peer.read(&mut [0]).map_err(|error| error.kind());
        let is_closed = matches!(ended, Ok(0) | Err(ErrorKind::ConnectionReset));
        assert!(is_closed, "{ended:?}");
    }
    drop(session);
}

#[test]
fn streams_of_many_sessions_come_through_a_door() {
    let parties = Parties::new();
    let allowed = [parties.client.fingerprint()];
    let mut door = listener()
        .open(&parties.server, &allowed[..].into(), &settings(2))
        .unwrap();
    let address = door.local_address();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    thread::scope(|scope| {
        let (sessions, come) = std::sync::mpsc::channel();
        scope.spawn(move || {
            while is_done.try_recv().is_err() {
                let refused = &mut |_, error: &NetError| panic!("{error}");
                if let Some(arrived) = door.next(Duration::from_millis(5), refused) {
                    sessions.send(arrived.channel).unwrap();
                }
            }
        });
        let mut pairs = Vec::new();
        for _ in 0..3 {
            let here = parties.connect(address, 2);
            pairs.push((here, come.recv_timeout(PATIENCE).unwrap()));
        }
        for (here, there) in &mut pairs {
            open(here, there);
            open(there, here);
            carry(here, there, &LENGTHS);
        }
        done.send(()).unwrap();
    });
}

#[test]
fn threads_of_a_channel_that_is_dropped_end() {
    let (mut here, mut there) = meet([2, 2]);
    open(&mut here, &mut there);
    let shared = Arc::downgrade(&sides(&here).shared);
    drop(here);
    let began = Instant::now();
    while shared.strong_count() > 0 && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(shared.strong_count(), 0);
}
