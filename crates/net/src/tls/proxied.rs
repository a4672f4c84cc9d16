//! Tests of peers behind a load balancer.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Door, client, transport};
use crate::{Identity, IpNet, NetError, Settings, tls};

const HEADER: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\x7f\0\0\x01\x30\x39\x1b\x58";
const CLIENT: &str = "192.0.2.7:12345";

/// Far longer than any wait in these tests.
const LONG: Duration = Duration::from_secs(30);

struct Scene {
    alice: Identity,
    bob: Identity,
    door: Door,
}

fn scene(proxies: &str, handshake: Duration) -> Scene {
    let [alice, bob] = [(), ()].map(|()| Identity::generate().expect("randomness"));
    let network: IpNet = proxies.parse().expect("a network");
    let settings = Settings {
        proxies: Arc::from([network]),
        handshake_timeout: handshake,
        ..Settings::default()
    };
    let listener = tls::Listener::bind("127.0.0.1:0").expect("a free port");
    let door = listener.open(&alice, &[bob.fingerprint()][..].into(), &settings);
    let door = door.expect("an identity");
    Scene { alice, bob, door }
}

impl Scene {
    fn connect(&self, first: &[u8]) -> TcpStream {
        let mut socket = TcpStream::connect(self.door.local_address()).expect("a listener");
        socket.write_all(first).expect("room");
        socket
    }

    /// Waits for the next peer or refusal while Bob greets over `socket`, if he does.
    fn next(&mut self, socket: Option<TcpStream>) -> Result<SocketAddr, NetError> {
        let (bob, alice) = (self.bob.clone(), self.alice.fingerprint());
        let door = &mut self.door;
        thread::scope(|scope| {
            let calling = socket.map(|socket| {
                scope.spawn(move || {
                    let socket = transport(socket).expect("a socket");
                    client(socket, &bob, &alice, &Settings::default()).map(drop)
                })
            });
            let end = Instant::now() + LONG;
            let mut refused = None;
            let came = loop {
                let pause = Duration::from_millis(20);
                let next = door.next(pause, &mut |_, reason| {
                    refused = Some(reason.to_string());
                });
                match (next, refused.take()) {
                    (Some(arrived), _) => break Ok(arrived.from),
                    (None, Some(reason)) => break Err(NetError::Tls { reason }),
                    (None, None) => assert!(Instant::now() < end, "nobody came"),
                }
            };
            // Whether the client notices the refusal depends on what it has sent.
            let _ = calling.map(thread::ScopedJoinHandle::join);
            came
        })
    }

    #[track_caller]
    fn refuses(&mut self, socket: Option<TcpStream>, word: &str) {
        match self.next(socket) {
            Err(error) => assert!(error.to_string().contains(word), "{error}"),
            Ok(from) => panic!("{from} was let in"),
        }
    }
}

#[test]
fn a_load_balancer_names_the_peer() {
    let mut scene = scene("127.0.0.0/8", LONG);
    let socket = scene.connect(HEADER);
    let from = scene.next(Some(socket)).expect("a peer");
    assert_eq!(from, CLIENT.parse().expect("an address"));
    // The load balancer's own connection is from its own address.
    let mut local = HEADER.to_vec();
    local[12] = 0x20;
    let socket = scene.connect(&local);
    let own = socket.local_addr().expect("an address");
    assert_eq!(scene.next(Some(socket)).expect("a peer"), own);
}

#[test]
fn a_connection_of_a_load_balancer_without_a_header_is_refused() {
    let mut scene = scene("127.0.0.0/8", LONG);
    let socket = scene.connect(b"");
    scene.refuses(Some(socket), "missing");
    let old = scene.connect(b"PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n");
    scene.refuses(None, "missing");
    let mut lie = HEADER.to_vec();
    lie[14] = 0xff;
    let long = scene.connect(&lie);
    scene.refuses(None, "longer than 536");
    drop((old, long));
    // A peer after them comes in.
    let socket = scene.connect(HEADER);
    scene.next(Some(socket)).expect("a peer");
}

#[test]
fn a_header_from_elsewhere_is_refused() {
    let mut scene = scene("10.0.0.0/8", LONG);
    let socket = scene.connect(HEADER);
    scene.refuses(Some(socket), "none of the load balancers");
    let socket = scene.connect(b"");
    let own = socket.local_addr().expect("an address");
    assert_eq!(scene.next(Some(socket)).expect("a peer"), own);
}

#[test]
fn half_a_header_holds_up_nobody_and_ends() {
    let mut scene = scene("127.0.0.0/8", Duration::from_secs(2));
    let half = scene.connect(&HEADER[..20]);
    let socket = scene.connect(HEADER);
    scene.next(Some(socket)).expect("a peer");
    scene.refuses(None, "waited");
    drop(half);
}
