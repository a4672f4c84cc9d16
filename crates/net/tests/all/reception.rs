//! Waiting for one peer: strangers do various things meanwhile, and none of them keeps the peer
//! out.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tacit_net::{Awaited, CancelHandle, Channel, Identity, NetError, Settings, tls};

const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(80);
/// Enough tries for a peer to come.
const LOOKS: usize = 100_000;

fn settings() -> Settings {
    Settings {
        connect_timeout: LONG,
        handshake_timeout: LONG,
        timeout: LONG,
        ..Settings::default()
    }
}

/// Two parties that know each other, and a third that they do not know.
struct People {
    client: Identity,
    server: Identity,
    stranger: Identity,
    listener: tls::Listener,
}

impl People {
    fn new() -> Self {
        let identity = || Identity::generate().unwrap();
        Self {
            client: identity(),
            server: identity(),
            stranger: identity(),
            listener: tls::Listener::bind("127.0.0.1:0").unwrap(),
        }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_address()
    }

    fn socket(&self) -> TcpStream {
        TcpStream::connect(self.address()).unwrap()
    }

    fn connect_as(&self, who: &Identity) -> Result<Channel, NetError> {
        let address = self.address().to_string();
        tls::connect(&address, who, &self.server.fingerprint(), &settings())
    }

    /// Accepts the client. Returns its channel and the reasons for which others were refused.
    fn accept(&self, settings: &Settings) -> (Result<Channel, NetError>, Vec<String>) {
        let allowed = [self.client.fingerprint()];
        let mut refused = Vec::new();
        let mut note = |from: SocketAddr, reason: &NetError| {
            assert!(from.ip().is_loopback());
            refused.push(format!("{reason:?}"));
        };
        let channel = self
            .listener
            .accept_peer(&self.server, &allowed, settings, &mut note);
        (channel, refused)
    }

    /// Runs `others` and then the client's connection against a wait. Returns the refusals.
    fn meet_after(&self, others: impl FnOnce() + Send) -> Vec<String> {
        thread::scope(|scope| {
            let accepted = scope.spawn(|| self.accept(&settings()));
            others();
            let mut here = self.connect_as(&self.client).unwrap();
            here.send(1, b"it is me").unwrap();
            here.flush().unwrap();
            let (there, refused) = accepted.join().unwrap();
            let mut there = there.unwrap();
            assert_eq!(there.peer(), Some(self.client.fingerprint()));
            assert_eq!(there.receive(8).unwrap().payload, b"it is me");
            refused
        })
    }
}

#[test]
fn a_stranger_a_babbler_and_one_who_leaves_do_not_end_the_wait() {
    let people = People::new();
    let refused = people.meet_after(|| {
        // This reads to the end, so that the stranger has been refused before the next one comes.
        let mut stranger = people.connect_as(&people.stranger).unwrap();
        let told = stranger.receive(1).map(|_| ()).unwrap_err();
        assert!(matches!(told, NetError::Refused { .. }), "{told:?}");
        let mut babbler = people.socket();
        babbler.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let _ = babbler.read_to_end(&mut Vec::new());
        drop(people.socket());
    });
    let found = |what: &str| refused.iter().any(|reason| reason.contains(what));
    assert!(found("WrongIdentity") && found("Tls"), "{refused:?}");
}

#[test]
fn silent_connections_hold_up_nobody() {
    let people = People::new();
    let mut silent = Vec::new();
    // None of them times out before the test does.
    let refused = people.meet_after(|| silent.extend((0..3).map(|_| people.socket())));
    assert_eq!(refused, [""; 0]);
}

#[test]
fn of_too_many_silent_connections_the_oldest_give_way() {
    let people = People::new();
    let mut silent = Vec::new();
    let refused = people.meet_after(|| {
        silent.extend((0..40).map(|_| people.socket()));
        let first = &mut silent[0];
        first.set_read_timeout(Some(LONG)).unwrap();
        assert!(
            matches!(first.read(&mut [0]), Ok(0) | Err(_)),
            "it is closed"
        );
    });
    assert!((8..=9).contains(&refused.len()), "{refused:?}");
    assert!(refused.iter().all(|reason| reason.contains("Cancelled")));
}

/// Connects from another address of this machine.
#[cfg(target_os = "linux")]
fn elsewhere(to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let other = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&other, &SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
    connect(&other, &to).unwrap();
    TcpStream::from(other)
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_from_one_address_gives_way_to_itself() {
    let people = People::new();
    people.meet_after(|| {
        let mut first = elsewhere(people.address());
        let mut flood: Vec<TcpStream> = (0..40).map(|_| people.socket()).collect();
        // It sends the header of a long record, and then a byte now and then: slow, but not silent.
        first.write_all(&[22, 3, 1, 64, 0]).unwrap();
        let mut closed = [0];
        flood[0].set_read_timeout(Some(SOON)).unwrap();
        let mut looks = 0..LOOKS;
        let given_up = loop {
            let read = flood[0].read(&mut closed);
            let is_open =
                matches!(&read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
            if !is_open || looks.next().is_none() {
                break read;
            }
            first.write_all(&[0]).unwrap();
        };
        let is_late = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(
            !given_up.is_err_and(|error| is_late(&error)),
            "it is closed"
        );
        // The oldest of all is the only one of its network.
        first.set_read_timeout(Some(SOON)).unwrap();
        let alive = first.read(&mut [0]).unwrap_err();
        assert_eq!(alive.kind(), std::io::ErrorKind::WouldBlock);
    });
}

/// As many peers as a school or an office may have behind one address, with a round trip of 200 ms.
#[test]
fn honest_peers_behind_one_address_all_come_in() {
    const PEERS: usize = 80;
    let settings = Settings {
        link: Some("100ms,1gbit".parse().unwrap()),
        ..settings()
    };
    let People {
        client,
        server,
        listener,
        ..
    } = People::new();
    let address = listener.local_address().to_string();
    let allowed = [client.fingerprint()];
    let mut door = listener
        .open(&server, &allowed[..].into(), &settings)
        .unwrap();
    thread::scope(|scope| {
        let come = || {
            let met = tls::connect(&address, &client, &server.fingerprint(), &settings);
            met.unwrap().receive(2).unwrap().payload.to_vec()
        };
        let peers: Vec<_> = (0..PEERS).map(|_| scope.spawn(come)).collect();
        let mut refused = |_: SocketAddr, reason: &NetError| panic!("{reason}");
        let met = (0..LOOKS).filter_map(|_| door.next(SOON, &mut refused));
        let met: Vec<_> = met.take(PEERS).collect();
        for mut arrived in met {
            arrived.channel.send(1, b"in").unwrap();
            arrived.channel.close().unwrap();
        }
        for peer in peers {
            assert_eq!(peer.join().unwrap(), b"in");
        }
    });
}

/// One network has all handshakes and sends a byte on each now and then; more of its connections
/// wait.
#[cfg(target_os = "linux")]
#[test]
fn a_network_that_trickles_gives_way_to_another() {
    let people = People::new();
    let cancel = CancelHandle::new();
    let few = Settings {
        cancel: cancel.clone(),
        handshakes: 4,
        // None of them times out before the test does.
        handshake_timeout: 20 * LONG,
        ..settings()
    };
    let mut trickling: Vec<TcpStream> = (0..8).map(|_| elsewhere(people.address())).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let accepted = scope.spawn(|| people.accept(&few));
        scope.spawn(|| {
            // A hello of 512 bytes, byte by byte.
            let hello = [&[22, 3, 1, 2, 0, 1, 0, 1, 252][..], &[3; 500]].concat();
            for byte in hello {
                for socket in &mut trickling {
                    // Some are closed in the end.
                    let _ = socket.write_all(&[byte]);
                }
                thread::sleep(SOON);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let met = people.connect_as(&people.client);
        done.store(true, Ordering::Relaxed);
        if met.is_err() {
            cancel.cancel();
        }
        let accepted = accepted.join().unwrap().0;
        met.unwrap();
        accepted.unwrap();
    });
}

#[test]
fn a_connection_that_is_closed_before_its_handshake_is_tried_again() {
    let people = People::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let (client, server) = (&people.client, &people.server);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                drop(busy.accept().unwrap());
            }
            drop(busy);
            let listener = tls::Listener::bind(&address).unwrap();
            let allowed = [client.fingerprint()];
            listener.accept(server, &allowed, &settings()).unwrap();
        });
        let met = tls::connect(&address, client, &server.fingerprint(), &settings());
        assert_eq!(met.unwrap().peer(), Some(server.fingerprint()));
    });
}

#[test]
fn trying_again_ends_with_the_time_to_connect() {
    let people = People::new();
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap();
    let done = AtomicBool::new(false);
    let bounded = Settings {
        connect_timeout: 4 * SOON,
        ..settings()
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                drop(busy.accept().unwrap());
            }
        });
        let (client, server) = (&people.client, people.server.fingerprint());
        let error = tls::connect(&address.to_string(), client, &server, &bounded).unwrap_err();
        // The time may also end between a pause and the next try.
        let is_over = matches!(
            error,
            NetError::Closed { .. } | NetError::Unreachable { .. }
        );
        assert!(is_over, "{error:?}");
        done.store(true, Ordering::Relaxed);
        TcpStream::connect(address).unwrap();
    });
}

#[test]
fn a_wait_in_vain_says_who_came_instead() {
    let people = People::new();
    let soon = |connect_timeout| Settings {
        connect_timeout,
        ..settings()
    };
    let (nobody, refused) = people.accept(&soon(SOON));
    assert!(refused.is_empty());
    let awaited = Awaited::Connection;
    match nobody.unwrap_err() {
        NetError::Timeout {
            awaited: found,
            after,
        } => assert_eq!((found, after), (awaited, SOON)),
        other => panic!("{other:?}"),
    }
    // They wait in the backlog before the wait starts, so that even a short wait meets them.
    let connected = people.socket();
    drop(connected);
    let (others, refused) = people.accept(&soon(SOON));
    let error = others.unwrap_err();
    let text = error.to_string();
    assert_eq!(refused.len(), 1, "{text}");
    match error {
        NetError::OnlyOthers {
            refused: 1, reason, ..
        } => {
            assert!(matches!(*reason, NetError::Closed { .. }), "{reason:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(
        text.contains("1 connection") && text.contains("80ms"),
        "{text}"
    );
}

/// A service has long pauses, so that it seldom wakes for nothing.
#[test]
fn a_door_notices_at_once_who_comes() {
    let people = People::new();
    let address = people.address().to_string();
    let People {
        client,
        server,
        listener,
        ..
    } = people;
    let allowed = [client.fingerprint()];
    let mut door = listener
        .open(&server, &allowed[..].into(), &settings())
        .unwrap();
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SOON);
            tls::connect(&address, &client, &server.fingerprint(), &settings()).unwrap()
        });
        let mut refused = |_: SocketAddr, reason: &NetError| panic!("{reason}");
        let met = (0..LOOKS).find_map(|_| door.next(2 * LONG, &mut refused));
        assert_eq!(met.unwrap().channel.peer(), Some(client.fingerprint()));
    });
    assert!(begun.elapsed() < LONG);
}

#[test]
fn a_wait_with_silent_connections_is_cancelled_and_times_out() {
    let people = People::new();
    let silent = people.socket();
    let bounded = Settings {
        connect_timeout: SOON,
        handshake_timeout: 2 * SOON,
        ..settings()
    };
    let (timed_out, _) = people.accept(&bounded);
    match timed_out.unwrap_err() {
        NetError::OnlyOthers { reason, .. } => {
            assert!(matches!(*reason, NetError::Timeout { .. }), "{reason:?}");
        }
        other => panic!("{other:?}"),
    }
    drop(silent);
    let _silent = people.socket();
    let cancel = CancelHandle::new();
    let cancelled = Settings {
        cancel: cancel.clone(),
        ..settings()
    };
    cancel.cancel();
    let (ended, _) = people.accept(&cancelled);
    assert!(matches!(ended.unwrap_err(), NetError::Cancelled { .. }));
}
