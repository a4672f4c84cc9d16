use std::sync::Arc;
use std::thread;

use rustls::{ClientConnection, NamedGroup, ServerConnection};

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::pinned;
use super::*;
use crate::{Channel, Identity, Sink, memory};

/// A sink that passes on the bytes up to `allowed`, counted from its first, and keeps the others
/// until a later write.
struct Trickle {
    inner: Box<dyn Sink>,
    allowed: Arc<AtomicUsize>,
    passed: usize,
    kept: Vec<u8>,
}

impl Sink for Trickle {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        self.kept.extend(parts.iter().flat_map(|part| part.iter()));
        while self.passed < self.allowed.load(Ordering::SeqCst) && !self.kept.is_empty() {
            let room = self.allowed.load(Ordering::SeqCst) - self.passed;
            let next = &self.kept[..room.min(self.kept.len())];
            let count = self.inner.write(&[IoSlice::new(next)], wait)?;
            self.kept.drain(..count);
            self.passed += count;
        }
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.inner.finish(wait)
    }
}

fn streams() -> (TlsStream, TlsStream) {
    let (here, there, _) = streams_with_trickle();
    (here, there)
}

/// Returns both ends of a connection, and the number of bytes that may pass from the second to the
/// first from now on, which [`Trickle`] reads.
fn streams_with_trickle() -> (TlsStream, TlsStream, Arc<AtomicUsize>) {
    let (client, server) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let client_config = pinned::client_config(&client, &[server.fingerprint()]).unwrap();
    let server_config = pinned::server_config(&server, &[client.fingerprint()]).unwrap();
    let name = "peer.invalid".try_into().unwrap();
    let here = ClientConnection::new(Arc::new(client_config), name).unwrap();
    let there = ServerConnection::new(Arc::new(server_config)).unwrap();
    let (a, b) = memory::raw_pair(1 << 20);
    let allowed = Arc::new(AtomicUsize::new(usize::MAX));
    let trickle = |inner| Trickle {
        inner,
        allowed: Arc::clone(&allowed),
        passed: 0,
        kept: Vec::new(),
    };
    let b = b.into_transport().map_sink(|sink| Box::new(trickle(sink)));
    let run = |connection: Connection, transport: Transport, own| {
        let mut stream = TlsStream::new(connection, transport, own);
        let cancel = CancelHandle::new();
        let wait = Wait::at_most(Duration::from_secs(20), &cancel);
        stream.handshake(&wait).unwrap();
        stream
    };
    thread::scope(|scope| {
        let accepted = scope.spawn(|| run(there.into(), b, server.fingerprint()));
        let here = run(here.into(), a.into_transport(), client.fingerprint());
        (here, accepted.join().unwrap(), Arc::clone(&allowed))
    })
}

const MOMENT: Duration = Duration::from_millis(20);

fn write_all(stream: &mut TlsStream, bytes: &[u8]) {
    let cancel = CancelHandle::new();
    let wait = Wait::at_most(Duration::from_secs(20), &cancel);
    let count = stream.write(&[IoSlice::new(bytes)], &wait).unwrap();
    assert_eq!(count, bytes.len());
    stream.flush(&wait).unwrap();
}

fn read_for(stream: &mut TlsStream, time: Duration) -> Result<Vec<u8>, Interrupt> {
    let cancel = CancelHandle::new();
    let mut bytes = vec![0; 1000];
    let count = stream.read(&mut bytes, &Wait::at_most(time, &cancel))?;
    bytes.truncate(count);
    Ok(bytes)
}

#[test]
fn a_record_is_taken_once_whatever_times_out() {
    let (mut here, mut there, allowed) = streams_with_trickle();
    let long = Duration::from_secs(20);
    let over = |result| matches!(result, Err(Interrupt::TimedOut));
    write_all(&mut there, b"first");
    assert_eq!(read_for(&mut here, long).unwrap(), b"first");
    for _ in 0..3 {
        assert!(over(read_for(&mut here, MOMENT)));
    }
    write_all(&mut there, b"second");
    assert_eq!(read_for(&mut here, long).unwrap(), b"second");
    // A record in three parts, each followed by a wait that times out: the first cut is in its
    // header, the second in its body. `passed` counts from the first byte of the handshake, so a
    // cut is relative to it.
    let passed = here.transport.counter().received_bytes as usize;
    for cut in [3, 15] {
        allowed.store(passed + cut, Ordering::SeqCst);
        write_all(&mut there, if cut == 3 { b"third" } else { b"fourth" });
        assert!(over(read_for(&mut here, MOMENT)));
        assert!(over(read_for(&mut here, MOMENT)));
    }
    allowed.store(usize::MAX, Ordering::SeqCst);
    write_all(&mut there, b"fifth");
    let mut all = Vec::new();
    while all.len() < b"thirdfourthfifth".len() {
        all.extend(read_for(&mut here, long).unwrap());
    }
    assert_eq!(all, b"thirdfourthfifth");
}

/// The peer leaves a broken record behind and is gone when this side sends its close alert.
#[test]
fn a_farewell_that_cannot_leave_ends_in_an_error() {
    let (mut here, mut there) = streams();
    let cancel = CancelHandle::new();
    let wait = Wait::at_most(Duration::from_secs(20), &cancel);
    let record = [&[0x17, 3, 3, 0, 32][..], &[7; 32]].concat();
    let parts = [IoSlice::new(&record)];
    assert_eq!(there.transport.write(&parts, &wait).unwrap(), record.len());
    drop(there);
    assert!(matches!(here.finish(&wait), Err(Interrupt::Io(_))));
}

#[test]
fn a_channel_keeps_its_place_between_messages_and_within_one() {
    let (here, there, allowed) = streams_with_trickle();
    let own = here.own;
    let mut there = Channel::over_tls(there, own.into(), [1; 32]);
    let mut here = Channel::over_tls(here, own.into(), [1; 32]);
    for round in 1..4 {
        here.set_timeout(MOMENT);
        let error = here.receive(100).unwrap_err();
        assert!(matches!(error, NetError::Timeout { .. }), "{error}");
        there.send(round, &[round; 100]).unwrap();
        let passed = here.meter().received.wire_bytes as usize;
        allowed.store(passed + 40, Ordering::SeqCst);
        there.flush().unwrap();
        let error = here.receive(100).unwrap_err();
        assert!(matches!(error, NetError::Timeout { .. }), "{error}");
        allowed.store(usize::MAX, Ordering::SeqCst);
        there.send(9, &[round; 10]).unwrap();
        there.flush().unwrap();
        here.set_timeout(Duration::from_secs(20));
        assert_eq!(here.receive(100).unwrap().payload, [round; 100]);
        assert_eq!(here.receive(100).unwrap().payload, [round; 10]);
    }
}

/// The peer sends a part of a record and then takes the bytes that are sent to it.
#[test]
fn part_of_a_record_holds_up_no_send() {
    let (here, there, allowed) = streams_with_trickle();
    let own = here.own;
    let passed = here.transport.counter().received_bytes as usize;
    let mut there = Channel::over_tls(there, own.into(), [1; 32]);
    let mut here = Channel::over_tls(here, own.into(), [1; 32]);
    for channel in [&mut here, &mut there] {
        channel.set_timeout(Duration::from_secs(3));
    }
    allowed.store(passed + 40, Ordering::SeqCst);
    there.send(5, &[7; 100]).unwrap();
    there.flush().unwrap();
    let long = vec![1; 4 << 20];
    thread::scope(|scope| {
        scope.spawn(|| {
            // Late enough that the other end waits for room.
            thread::sleep(MOMENT);
            assert_eq!(there.receive(long.len()).unwrap().payload, long);
            allowed.store(usize::MAX, Ordering::SeqCst);
            there.send(6, &[8; 100]).unwrap();
            there.flush().unwrap();
        });
        here.send(1, &long).unwrap();
        assert_eq!(here.receive(100).unwrap().payload, [7; 100]);
        assert_eq!(here.receive(100).unwrap().payload, [8; 100]);
    });
}

#[test]
fn the_key_exchange_is_post_quantum() {
    let (here, there) = streams();
    for stream in [here, there] {
        let group = stream.connection.negotiated_key_exchange_group();
        assert_eq!(group.unwrap().name(), NamedGroup::X25519MLKEM768);
    }
}

#[test]
fn keys_are_renewed_while_frames_flow() {
    let (mut here, there) = streams();
    let own = here.own;
    here.connection.refresh_traffic_keys().unwrap();
    let mut there = Channel::over_tls(there, own.into(), [1; 32]);
    let mut here = Channel::over_tls(here, own.into(), [1; 32]);
    for round in 1..4 {
        here.send(round, &[round; 100]).unwrap();
        here.flush().unwrap();
        assert_eq!(there.receive(100).unwrap().payload, [round; 100]);
        there.send(round, &[round; 50]).unwrap();
        there.flush().unwrap();
        assert_eq!(here.receive(50).unwrap().payload, [round; 50]);
    }
}
