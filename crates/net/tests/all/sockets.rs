//! TCP without TLS: only loopback, either side first, and waits that end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tacit_net::{Awaited, CancelHandle, Channel, Link, NetError, Settings, plain, tls};

const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(80);

fn settings() -> Settings {
    Settings {
        connect_timeout: LONG,
        timeout: LONG,
        ..Settings::default()
    }
}

fn connected(settings: &Settings) -> (Channel, Channel) {
    let listener = plain::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_address().to_string();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| listener.accept(settings).unwrap());
        let here = plain::connect(&address, settings).unwrap();
        (here, accepted.join().unwrap())
    })
}

/// Returns a port that was free a moment ago.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

#[test]
fn plain_tcp_carries_frames() {
    let (mut here, mut there) = connected(&settings());
    assert_eq!((here.peer(), here.binding()), (None, Channel::UNBOUND));
    thread::scope(|scope| {
        scope.spawn(move || {
            for size in [0, 100, 1_000_000, 5_000_000] {
                there.send(1, &vec![3; size]).unwrap();
            }
            there.close().unwrap();
        });
        for size in [0, 100, 1_000_000, 5_000_000] {
            assert_eq!(here.receive(size).unwrap().payload, vec![3; size]);
        }
        assert!(matches!(here.receive(0), Err(NetError::Closed { .. })));
    });
}

#[test]
fn plain_tcp_stays_on_this_machine() {
    for address in [
        "192.0.2.1:1",
        "[2001:db8::1]:1",
        "0.0.0.0:0",
        "[::]:0",
        "[::ffff:192.0.2.1]:1",
    ] {
        let found = plain::connect(address, &settings()).unwrap_err();
        assert!(matches!(found, NetError::NotLoopback { .. }), "{found:?}");
        let found = plain::Listener::bind(address).unwrap_err();
        assert!(matches!(found, NetError::NotLoopback { .. }), "{found:?}");
    }
    let mapped = plain::Listener::bind("[::ffff:127.0.0.1]:0");
    assert!(!matches!(mapped, Err(NetError::NotLoopback { .. })));
}

#[test]
fn the_listener_may_come_later() {
    let address = free_address();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SOON);
            let listener = plain::Listener::bind(&address.to_string()).unwrap();
            listener.accept(&settings()).unwrap().send(1, b"").unwrap();
        });
        plain::connect(&address.to_string(), &settings()).unwrap();
    });
}

#[test]
fn nobody_listens() {
    let bounded = Settings {
        connect_timeout: SOON,
        ..settings()
    };
    let address = free_address().to_string();
    match plain::connect(&address, &bounded).unwrap_err() {
        NetError::Unreachable {
            address: found,
            after,
            ..
        } => {
            assert_eq!((found, after), (address, SOON));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_comes() {
    let bounded = Settings {
        connect_timeout: SOON,
        ..settings()
    };
    let listener = plain::Listener::bind("127.0.0.1:0").unwrap();
    let error = listener.accept(&bounded).unwrap_err();
    assert!(matches!(
        error,
        NetError::Timeout {
            awaited: Awaited::Connection,
            after: SOON
        }
    ));
}

#[test]
fn waits_for_a_connection_are_cancelled() {
    let cancel = CancelHandle::new();
    let bounded = Settings {
        cancel: cancel.clone(),
        ..settings()
    };
    cancel.cancel();
    let listener = plain::Listener::bind("127.0.0.1:0").unwrap();
    let error = listener.accept(&bounded).unwrap_err();
    assert!(matches!(
        error,
        NetError::Cancelled {
            awaited: Awaited::Connection
        }
    ));
    let error = plain::connect(&free_address().to_string(), &bounded).unwrap_err();
    assert!(matches!(
        error,
        NetError::Cancelled {
            awaited: Awaited::Connection
        }
    ));
}

#[test]
fn addresses_that_cannot_be_used() {
    for address in ["", "127.0.0.1", "127.0.0.1:port", "127.0.0.1:99999"] {
        let error = tls::Listener::bind(address).unwrap_err();
        assert!(matches!(error, NetError::Address { .. }), "{error:?}");
        let error = plain::connect(address, &settings()).unwrap_err();
        assert!(matches!(error, NetError::Address { .. }), "{error:?}");
    }
    let taken = plain::Listener::bind("127.0.0.1:0").unwrap();
    let again = plain::Listener::bind(&taken.local_address().to_string()).unwrap_err();
    assert!(
        again
            .to_string()
            .contains(&taken.local_address().to_string())
    );
}

/// Returns a channel to a raw socket.
fn raw() -> (Channel, TcpStream) {
    let listener = plain::Listener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_address()).unwrap();
    (listener.accept(&settings()).unwrap(), socket)
}

#[test]
fn waits_on_a_socket_end() {
    let (mut channel, mut socket) = raw();
    channel.set_timeout(SOON);
    let silent = channel.receive(10);
    assert!(matches!(
        silent,
        Err(NetError::Timeout {
            awaited: Awaited::Message,
            ..
        })
    ));
    socket.write_all(&[1, 9, 0, 0, 0, 1, 2, 3]).unwrap();
    match channel.receive(10) {
        Err(NetError::Timeout { awaited, .. }) => assert_eq!(
            awaited,
            Awaited::Rest {
                kind: 1,
                received: 3,
                length: 9
            }
        ),
        other => panic!("{other:?}"),
    }
    // Nobody reads at the other end, and the kernel's buffers are finite.
    let sent = (0..1000).try_for_each(|_| channel.send(1, &[0; 1 << 18]));
    assert!(matches!(
        sent,
        Err(NetError::Timeout {
            awaited: Awaited::Room,
            ..
        })
    ));
    channel.cancel_handle().cancel();
    assert!(matches!(channel.flush(), Err(NetError::Cancelled { .. })));
}

#[test]
fn a_socket_that_breaks_is_a_connection_that_closed() {
    let (mut channel, mut socket) = raw();
    channel.send(1, b"unread").unwrap();
    channel.flush().unwrap();
    // Closing with unread bytes resets the connection.
    socket.read_exact(&mut [0]).unwrap();
    drop(socket);
    let result = channel.receive(10).map(|frame| frame.kind);
    assert!(
        matches!(
            result,
            Err(NetError::Closed {
                awaited: Awaited::Message
            })
        ),
        "{result:?}"
    );
}

#[test]
fn a_busy_sender_still_learns_why_the_peer_left() {
    let (mut here, mut there) = connected(&settings());
    thread::scope(|scope| {
        scope.spawn(move || {
            there.receive(1 << 16).unwrap();
            there.set_cancel_handle(CancelHandle::new());
            there.cancel_handle().cancel();
            there.abort(200, b"the user left", 4 * SOON).unwrap();
        });
        let sent = (0..1_000_000).try_for_each(|_| here.send(1, &[0; 1 << 16]));
        assert!(
            matches!(
                sent,
                Err(NetError::Closed {
                    awaited: Awaited::Room
                })
            ),
            "{sent:?}"
        );
        let last = here.receive(100).unwrap();
        assert_eq!((last.kind, last.payload), (200, &b"the user left"[..]));
    });
}

#[test]
fn a_link_delays_and_paces() {
    let link: Link = "10ms,80mbit".parse().unwrap();
    let (here, there) = connected(&settings());
    let (mut here, mut there) = (here.shaped(link), there.shaped(link));
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            let frame = there.receive(200_000).unwrap();
            assert_eq!(frame.payload, vec![5; 200_000]);
            there.send(2, b"ok").unwrap();
            there.close().unwrap();
        });
        here.send(1, &vec![5; 200_000]).unwrap();
        assert_eq!(here.receive(2).unwrap().payload, b"ok");
    });
    // 20 ms to enter the link, and a delay each way.
    assert!(began.elapsed() >= link.time_for(200_000) + 2 * link.one_way_delay());
}

#[test]
fn a_link_delivers_what_was_sent_before_the_end() {
    let link: Link = "20ms,1gbit".parse().unwrap();
    let (here, mut there) = connected(&settings());
    let mut here = here.shaped(link);
    here.send(1, b"last").unwrap();
    here.flush().unwrap();
    drop(here);
    assert_eq!(there.receive(4).unwrap().payload, b"last");
    assert!(matches!(there.receive(4), Err(NetError::Closed { .. })));
}

#[test]
fn a_link_holds_its_writer_back() {
    let link: Link = "0ms,1mbit".parse().unwrap();
    let (here, there) = connected(&settings());
    let mut here = here.shaped(link);
    here.set_timeout(SOON);
    let result = here.send(1, &[0; 1 << 20]);
    assert!(matches!(
        result,
        Err(NetError::Timeout {
            awaited: Awaited::Room,
            ..
        })
    ));
    drop(there);
}
