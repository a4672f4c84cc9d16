//! A relay passes on what two parties send, within its limits.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tacit::net::relay::{Answer, Hello};
use tacit_serve::relay::{Relay, RelayLimits};
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::{ClientRequestBuilder, Error, Message, WebSocket, client};

type Party = WebSocket<TcpStream>;

const PAGE: &str = "https://game.example";

fn relay(change: impl FnOnce(&mut RelayLimits)) -> Relay {
    let mut limits = RelayLimits::default();
    change(&mut limits);
    Relay::start("127.0.0.1:0", limits, vec![PAGE.to_owned()]).unwrap()
}

/// Asks the relay at the other end of `socket` for a WebSocket, as a page of this origin does, or a
/// program. Returns `None` if it refuses.
fn speak(socket: TcpStream, origin: Option<&str>) -> Option<Party> {
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let uri = format!("ws://{}/", socket.peer_addr().unwrap());
    let mut request = ClientRequestBuilder::new(uri.parse().unwrap()).with_sub_protocol("tacit-2");
    if let Some(origin) = origin {
        request = request.with_header("Origin", origin);
    }
    Some(client(request, socket).ok()?.0)
}

fn connect(relay: &Relay) -> Party {
    speak(TcpStream::connect(relay.local_address()).unwrap(), None).unwrap()
}

fn hello(room: u8, listens: bool) -> Message {
    let hello = Hello {
        room: [room; 32],
        listens,
    };
    Message::binary(hello.to_bytes().to_vec())
}

/// Connects a party that has named its room.
fn party(relay: &Relay, room: u8, listens: bool) -> Party {
    let mut party = connect(relay);
    party.send(hello(room, listens)).unwrap();
    party
}

#[track_caller]
fn hears(party: &mut Party, answer: Answer) {
    assert_eq!(
        party.read().unwrap().into_data()[..],
        [answer as u8],
        "{answer:?}"
    );
}

/// Waits until the relay's metrics have a line. Each connection has a thread of its own, so two of
/// them may arrive in either order.
#[track_caller]
fn until_told(relay: &Relay, line: &str) {
    let heard = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        relay.answers().metrics().contains(line)
    });
    assert!(heard, "{}", relay.answers().metrics());
}

/// Waits until the relay has `count` waiting parties.
#[track_caller]
fn until_waiting(relay: &Relay, count: usize) {
    until_told(relay, &format!("tacit_relay_waiting {count}\n"));
}

/// Connects both parties of a room, and waits until it is open.
fn pair(relay: &Relay, room: u8) -> [Party; 2] {
    let mut both = [true, false].map(|listens| party(relay, room, listens));
    for party in &mut both {
        hears(party, Answer::Go);
    }
    both
}

/// Waits until the relay ends the connection. Returns the number of bytes that came before.
#[track_caller]
fn ends(party: &mut Party) -> usize {
    let mut count = 0;
    loop {
        match party.read() {
            Ok(Message::Binary(bytes)) => count += bytes.len(),
            Ok(_) => {}
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => panic!("no end"),
            Err(_) => return count,
        }
    }
}

#[test]
fn what_one_sends_the_other_gets_as_it_came() {
    let relay = relay(|_| ());
    let [mut a, mut b] = pair(&relay, 1);
    let long: Vec<u8> = (0..500_000_u32).map(|i| (i % 251) as u8).collect();
    for message in [
        Message::binary(long),
        Message::text("262144"),
        Message::binary(""),
    ] {
        a.send(message.clone()).unwrap();
        assert_eq!(b.read().unwrap(), message);
        b.send(message.clone()).unwrap();
        assert_eq!(a.read().unwrap(), message);
    }
    // A ping is for the relay, between the messages of the other party.
    a.send(Message::Ping("there?".into())).unwrap();
    assert_eq!(a.read().unwrap(), Message::Pong("there?".into()));
    // The end comes after everything else.
    a.write(Message::binary("last")).unwrap();
    a.close(None).unwrap();
    assert_eq!(b.read().unwrap(), Message::binary("last"));
    assert_eq!(b.read().unwrap(), Message::Close(None));
    ends(&mut b);
    ends(&mut a);
    // The room is free for the next pair, in either order.
    let mut b = party(&relay, 1, false);
    let mut a = party(&relay, 1, true);
    hears(&mut a, Answer::Go);
    hears(&mut b, Answer::Go);
}

#[test]
fn who_goes_without_a_word_ends_the_room() {
    let relay = relay(|_| ());
    let [a, mut b] = pair(&relay, 1);
    drop(a);
    assert!(matches!(b.read(), Err(Error::Protocol(_))));
}

#[test]
fn a_page_of_another_origin_is_refused() {
    let relay = relay(|_| ());
    let ask = |origin| {
        speak(
            TcpStream::connect(relay.local_address()).unwrap(),
            Some(origin),
        )
    };
    let mut page = ask(PAGE).unwrap();
    page.send(hello(1, true)).unwrap();
    hears(&mut party(&relay, 1, false), Answer::Go);
    hears(&mut page, Answer::Go);
    for origin in [
        "https://evil.example",
        "https://game.example.evil.example",
        "null",
    ] {
        assert!(ask(origin).is_none(), "{origin}");
    }
    until_told(&relay, "tacit_relay_refused_total{what=\"origin\"} 3\n");
}

#[test]
fn who_waits_is_told_why_it_is_refused() {
    let relay = relay(|limits| limits.wait = Duration::from_secs(3));
    for wrong in [&[b'x'; Hello::BYTES][..], &[], &[0; Hello::BYTES + 1]] {
        let mut stranger = connect(&relay);
        stranger.send(Message::binary(wrong.to_vec())).unwrap();
        hears(&mut stranger, Answer::Malformed);
    }
    let mut first = party(&relay, 1, true);
    until_waiting(&relay, 1);
    let mut again = party(&relay, 1, true);
    hears(&mut first, Answer::Replaced);
    // A party that has left is nobody's partner.
    let left = party(&relay, 2, true);
    until_waiting(&relay, 2);
    drop(left);
    let mut other = party(&relay, 2, false);
    hears(&mut again, Answer::Late);
    hears(&mut other, Answer::Late);
}

#[test]
fn rooms_and_who_waits_are_bounded() {
    let relay = relay(|limits| (limits.rooms, limits.waiting) = (1, 1));
    let _open = pair(&relay, 1);
    let mut first = party(&relay, 2, true);
    until_waiting(&relay, 1);
    let mut waits = party(&relay, 3, true);
    hears(&mut first, Answer::Full);
    let mut comes = party(&relay, 3, false);
    hears(&mut comes, Answer::Full);
    hears(&mut waits, Answer::Full);
}

#[test]
fn a_full_relay_gives_way_to_other_networks() {
    let relay = relay(|limits| limits.waiting = 2);
    let waits = |last: u8, room| {
        let mut party = speak(connect_from(last, &relay), None).unwrap();
        party.send(hello(room, true)).unwrap();
        party
    };
    let mut flood: Vec<Party> = (1..3).map(|room| waits(1, room)).collect();
    until_waiting(&relay, 2);
    let _other = waits(2, 3);
    hears(&mut flood[0], Answer::Full);
    // Those that come later take the place of their own.
    let _next = waits(1, 4);
    hears(&mut flood[1], Answer::Full);
    hears(&mut party(&relay, 3, false), Answer::Go);
}

#[test]
fn a_network_has_so_many_connections() {
    let relay = relay(|limits| limits.per_network = 2);
    let both = pair(&relay, 1);
    let mut third = party(&relay, 2, true);
    hears(&mut third, Answer::TooMany);
    drop(both);
    let freed = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let mut both = [true, false].map(|listens| party(&relay, 3, listens));
        let patience = Some(Duration::from_millis(200));
        both[1].get_ref().set_read_timeout(patience).unwrap();
        let heard = both[1].read().map(Message::into_data);
        heard.is_ok_and(|heard| heard[..] == [Answer::Go as u8])
    });
    assert!(freed, "connections that ended are still counted");
}

/// A site has as many subnets as it likes, and rooms in use give way to nobody.
#[test]
fn the_addresses_of_a_site_do_not_take_all_rooms() {
    let relay = relay(|limits| limits.per_network = 1);
    let comes = |last: u8, room, listens| {
        let mut party = speak(connect_from(last, &relay), None).unwrap();
        party.send(hello(room, listens)).unwrap();
        party
    };
    let mut room = [comes(1, 1, true), comes(2, 1, false)];
    for party in &mut room {
        hears(party, Answer::Go);
    }
    hears(&mut comes(3, 2, true), Answer::TooMany);
}

#[test]
fn a_room_ends_at_its_bytes() {
    // Pings and messages in parts count as well.
    let part = |is_first: bool| {
        let code = OpCode::Data(if is_first {
            Data::Binary
        } else {
            Data::Continue
        });
        Message::Frame(Frame::message(vec![0; 1000], code, false))
    };
    let kinds: [&(dyn Fn(usize) -> Message + Sync); 3] = [
        &|_| Message::binary(vec![0; 1000]),
        &|_| Message::Pong(vec![0; 100].into()),
        &|place| part(place == 0),
    ];
    for kind in kinds {
        let relay = relay(|limits| limits.room_bytes = 100_000);
        let [mut a, mut b] = pair(&relay, 1);
        std::thread::scope(|scope| {
            // The relay ends the connection in the middle.
            scope.spawn(move || (0..20_000).try_for_each(|place| a.send(kind(place))));
            assert!(ends(&mut b) <= 100_000);
        });
    }
}

#[test]
fn a_room_ends_at_its_time_and_in_silence() {
    for is_idle in [true, false] {
        let relay = relay(|limits| {
            let bound = Duration::from_millis(300);
            if is_idle {
                limits.idle = bound
            } else {
                limits.time = bound
            }
        });
        let [mut a, mut b] = pair(&relay, 1);
        assert_eq!(ends(&mut a), 0);
        ends(&mut b);
    }
}

#[test]
fn a_room_has_its_rate() {
    let relay = relay(|limits| limits.bytes_per_second = 100_000);
    let [mut a, mut b] = pair(&relay, 1);
    let began = std::time::Instant::now();
    std::thread::spawn(move || {
        for _ in 0..200 {
            a.send(Message::binary(vec![0; 1000])).unwrap();
        }
    });
    for _ in 0..200 {
        b.read().unwrap();
    }
    // A second's worth passes at once, and the rest a second later. A slow machine takes longer.
    assert!(began.elapsed() >= Duration::from_millis(300));
}

/// Connects from this address of the machine.
#[cfg(target_os = "linux")]
fn connect_from(last: u8, relay: &Relay) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let own = std::net::SocketAddr::from(([127, 0, 0, last], 0));
    let connected = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&connected, &own).unwrap();
    connect(&connected, &relay.local_address()).unwrap();
    TcpStream::from(connected)
}

#[cfg(target_os = "linux")]
#[test]
fn a_network_that_says_nothing_gives_way_to_others_and_to_itself() {
    let relay = relay(|_| ());
    let mut first = speak(connect_from(2, &relay), None).unwrap();
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connect_from(1, &relay)).collect();
    // There are more connections than may be silent at once: the first ones have given way.
    assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
    // A party outside the flood still has its time.
    first.send(hello(1, true)).unwrap();
    hears(&mut party(&relay, 1, false), Answer::Go);
    hears(&mut first, Answer::Go);
}

#[test]
fn a_connection_has_its_time_to_say_its_room() {
    let relay = relay(|_| ());
    // At one byte in 0.7 seconds, either takes more than half a minute.
    let request = "GET / HTTP/1.1\r\nHost: relay.example\r\nUpgrade: websocket\r\n";
    let mut asks = TcpStream::connect(relay.local_address()).unwrap();
    let mut says = connect(&relay);
    let frame = [&[0x82, 0x80 | 41, 0, 0, 0, 0][..], &[0; 41]].concat();
    std::thread::scope(|scope| {
        for (socket, bytes) in [
            (&mut asks, request.as_bytes()),
            (says.get_mut(), &frame[..]),
        ] {
            scope.spawn(move || {
                let sent = bytes.iter().position(|byte| {
                    std::thread::sleep(Duration::from_millis(700));
                    socket.write_all(&[*byte]).is_err()
                });
                assert!(sent.is_some(), "all of it was heard");
            });
        }
    });
}
