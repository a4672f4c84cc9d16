//! Tests of two ends that both send before they receive.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

use super::*;
use crate::{Identity, Settings, memory, tcp, tls, websocket};

/// Long enough for everything that is sent here, short enough for a person to wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns a connection with small buffers.
fn narrow_sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (there, _) = listener.accept().unwrap();
    for socket in [&here, &there] {
        // About a segment of the loopback device: with less, each segment waits for a timer.
        set_socket_send_buffer_size(socket, 1 << 16).unwrap();
        set_socket_recv_buffer_size(socket, 1 << 16).unwrap();
    }
    (here, there)
}

fn narrow_channels() -> (Channel, Channel) {
    let (here, there) = narrow_sockets();
    let over = |socket| Channel::over(tcp::transport(socket).unwrap());
    (over(here), over(there))
}

/// Sets up TLS over both transports.
fn under_tls((here, there): (Transport, Transport)) -> (Channel, Channel) {
    let (client, server) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let settings = Settings::default();
    let allowed = [client.fingerprint()];
    thread::scope(|scope| {
        let accepted = scope.spawn(|| tls::server(there, &server, &allowed, &settings).unwrap());
        let here = tls::client(here, &client, &server.fingerprint(), &settings).unwrap();
        (here, accepted.join().unwrap())
    })
}

/// Makes each end send a message of this length before it receives the other's.
fn exchange((here, there): (Channel, Channel), length: usize) {
    let run = |mut channel: Channel, own: u8, others: u8| {
        channel.set_timeout(PATIENCE);
        let payload: Vec<u8> = (0..length).map(|i| own ^ (i / 999) as u8).collect();
        channel.send(own, &payload).unwrap();
        channel.send(own, b"the end").unwrap();
        channel.flush().unwrap();
        let frame = channel.receive(length).unwrap();
        assert_eq!(frame.kind, others);
        let differs = |(i, byte): (usize, &u8)| *byte != others ^ (i / 999) as u8;
        assert_eq!(frame.payload.len(), length);
        assert!(!frame.payload.iter().enumerate().any(differs));
        assert_eq!(channel.receive(10).unwrap().payload, b"the end");
        assert!(channel.incoming.room() <= 2 * READ_AHEAD_BYTES);
        channel
    };
    thread::scope(|scope| {
        let there = scope.spawn(|| run(there, 5, 9));
        let here = run(here, 9, 5);
        drop((here, there.join().unwrap()));
    });
}

const LENGTH: usize = 4 << 20;

#[test]
fn both_ends_send_first_over_sockets() {
    exchange(narrow_channels(), LENGTH);
}

#[test]
fn both_ends_send_first_over_tls() {
    let (here, there) = narrow_sockets();
    let over = |socket| tcp::transport(socket).unwrap();
    exchange(under_tls((over(here), over(there))), LENGTH);
}

#[test]
fn both_ends_send_first_in_memory() {
    exchange(memory::pair_with_capacity(1000), LENGTH);
    let (here, there) = memory::raw_pair(1000);
    let both = (here.into_transport(), there.into_transport());
    exchange(under_tls(both), LENGTH);
}

#[test]
fn both_ends_send_first_over_websockets() {
    let (here, there) = narrow_sockets();
    let settings = &Settings::default();
    let transports = thread::scope(|scope| {
        let accepted = scope.spawn(move || {
            tcp::prepare(&there).unwrap();
            let cancel = CancelHandle::new();
            let wait = Wait::at_most(PATIENCE, &cancel);
            websocket::accept(there, &[], settings, &wait).unwrap()
        });
        let here = websocket::connect(here, "127.0.0.1:1", settings).unwrap();
        (here, accepted.join().unwrap())
    });
    exchange(under_tls(transports), LENGTH);
}

#[test]
fn both_ends_send_first_over_a_link() {
    let link: Link = "1ms,1gbit".parse().unwrap();
    let (here, there) = narrow_channels();
    exchange((here.shaped(link), there.shaped(link)), LENGTH);
}

/// This is as much as protocols may send before they receive.
#[test]
fn both_ends_send_half_of_what_is_read_ahead() {
    exchange(narrow_channels(), READ_AHEAD_BYTES / 2);
}

/// A peer that sends forever and takes nothing cannot make this end hold more, or wait longer, than
/// the bounds say.
#[test]
fn a_peer_that_only_sends_is_read_up_to_the_bound() {
    let (here, there) = narrow_sockets();
    let mut channel = Channel::over(tcp::transport(here).unwrap());
    channel.set_timeout(Duration::from_secs(2));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            there.set_nonblocking(true).unwrap();
            let mut there = &there;
            while !is_over.load(Ordering::SeqCst) {
                let _ = there.write(&[3; 1 << 16]);
            }
        });
        let sent = channel.send(1, &vec![0; LENGTH]);
        is_over.store(true, Ordering::SeqCst);
        let error = sent.unwrap_err();
        assert!(matches!(error, NetError::Timeout { .. }), "{error}");
    });
    assert_eq!(channel.incoming.len(), 16 << 20);
    assert!(channel.incoming.room() <= crate::buffer::BUFFER_BYTES);
}

/// Received bytes are no progress of a send.
#[test]
fn a_peer_that_sends_now_and_then_does_not_prolong_a_send() {
    let (here, there) = narrow_sockets();
    let mut channel = Channel::over(tcp::transport(here).unwrap());
    channel.set_timeout(Duration::from_millis(300));
    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) && begun.elapsed() < 2 * PATIENCE {
                (&there).write_all(&[3; 20_000]).unwrap();
                thread::sleep(Duration::from_millis(50));
            }
        });
        let sent = channel.send(1, &vec![0; LENGTH]);
        is_over.store(true, Ordering::SeqCst);
        let error = sent.unwrap_err();
        assert!(matches!(error, NetError::Timeout { .. }), "{error}");
    });
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert!(channel.incoming.len() > 0);
}

/// A peer that has nothing more to say still takes messages.
#[test]
fn a_peer_that_has_stopped_sending_is_sent_to() {
    let (here, there) = narrow_sockets();
    let mut channel = Channel::over(tcp::transport(here).unwrap());
    channel.set_timeout(PATIENCE);
    (&there).write_all(&[7, 2, 0, 0, 0, 1, 2]).unwrap();
    there.shutdown(std::net::Shutdown::Write).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let length = HEADER_BYTES * LENGTH.div_ceil(FRAME_BYTES) + LENGTH;
            let mut all = vec![0; length];
            (&there).read_exact(&mut all).unwrap();
        });
        channel.send(1, &vec![0; LENGTH]).unwrap();
        channel.flush().unwrap();
    });
    assert!(channel.has_ended);
    assert_eq!(channel.receive(2).unwrap().payload, [1, 2]);
    let error = channel.receive(2).unwrap_err();
    assert!(matches!(error, NetError::Closed { .. }), "{error}");
}
