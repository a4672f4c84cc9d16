//! A relay passes on what two parties send, within its limits.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use tacit::net::relay::{Answer, Hello};
use tacit_serve::relay::{Relay, RelayLimits};

fn relay(change: impl FnOnce(&mut RelayLimits)) -> Relay {
    let mut limits = RelayLimits::default();
    change(&mut limits);
    Relay::start("127.0.0.1:0", limits).unwrap()
}

/// Connects a party that has named its room.
fn party(relay: &Relay, room: u8, listens: bool) -> TcpStream {
    let mut socket = TcpStream::connect(relay.local_address()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let hello = Hello {
        room: [room; 32],
        listens,
    };
    // The relay may have refused the party before it read this.
    let _ = socket.write_all(&hello.to_bytes());
    socket
}

#[track_caller]
fn hears(socket: &mut TcpStream, answer: Answer) {
    let mut byte = [0];
    socket.read_exact(&mut byte).unwrap();
    assert_eq!(byte, [answer as u8], "{answer:?}");
}

/// Waits until the relay has `count` waiting parties. Each connection has a thread of its own, so
/// two of them may arrive in either order.
#[track_caller]
fn until_waiting(relay: &Relay, count: usize) {
    let line = format!("tacit_relay_waiting {count}\n");
    let heard = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        relay.answers().metrics().contains(&line)
    });
    assert!(heard, "{}", relay.answers().metrics());
}

/// Connects both parties of a room, and waits until it is open.
fn pair(relay: &Relay, room: u8) -> [TcpStream; 2] {
    let mut both = [true, false].map(|listens| party(relay, room, listens));
    for party in &mut both {
        hears(party, Answer::Go);
    }
    both
}

/// Waits until the relay ends the connection. Returns the number of bytes that came before.
#[track_caller]
fn ends(socket: &mut TcpStream) -> usize {
    let (mut count, mut buffer) = (0, [0; 4096]);
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return count,
            Ok(read) => count += read,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return count,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_one_sends_the_other_gets_and_halves_end_by_themselves() {
    let relay = relay(|_| ());
    let [mut a, mut b] = pair(&relay, 1);
    let long: Vec<u8> = (0..500_000_u32).map(|i| (i % 251) as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            a.write_all(&long).unwrap();
            a.shutdown(Shutdown::Write).unwrap();
        });
        let mut heard = Vec::new();
        b.read_to_end(&mut heard).unwrap();
        assert!(heard == long);
    });
    b.write_all(b"and back").unwrap();
    b.shutdown(Shutdown::Write).unwrap();
    let mut back = String::new();
    a.read_to_string(&mut back).unwrap();
    assert_eq!(back, "and back");
    // The room is free for the next pair, in either order.
    let mut b = party(&relay, 1, false);
    let mut a = party(&relay, 1, true);
    hears(&mut a, Answer::Go);
    hears(&mut b, Answer::Go);
}

#[test]
fn who_waits_is_told_why_it_is_refused() {
    let relay = relay(|limits| limits.wait = Duration::from_secs(3));
    let mut stranger = TcpStream::connect(relay.local_address()).unwrap();
    stranger.write_all(&[b'x'; Hello::BYTES]).unwrap();
    hears(&mut stranger, Answer::Malformed);
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
    let mut waits = party(&relay, 2, true);
    until_waiting(&relay, 1);
    let mut too_many = party(&relay, 3, true);
    hears(&mut too_many, Answer::Full);
    let mut comes = party(&relay, 2, false);
    hears(&mut comes, Answer::Full);
    hears(&mut waits, Answer::Full);
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
        let mut byte = [0];
        let patience = Some(Duration::from_millis(200));
        both[1].set_read_timeout(patience).unwrap();
        both[1].read_exact(&mut byte).is_ok() && byte == [Answer::Go as u8]
    });
    assert!(freed, "connections that ended are still counted");
}

#[test]
fn a_room_ends_at_its_bytes() {
    let relay = relay(|limits| limits.room_bytes = 100_000);
    let [mut a, mut b] = pair(&relay, 1);
    std::thread::spawn(move || {
        // The relay ends the connection in the middle.
        let _ = a.write_all(&[0; 1_000_000]);
    });
    assert!(ends(&mut b) <= 100_000);
}

#[test]
fn a_room_ends_at_its_time_and_in_silence() {
    for is_idle in [true, false] {
        let relay = relay(|limits| {
            let bound = Duration::from_millis(300);
            match is_idle {
                true => limits.idle = bound,
                false => limits.time = bound,
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
        a.write_all(&[0; 200_000]).unwrap();
    });
    let mut heard = vec![0; 200_000];
    b.read_exact(&mut heard).unwrap();
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
    let mut first = connect_from(2, &relay);
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connect_from(1, &relay)).collect();
    // There are more connections than may be silent at once: the first ones have given way.
    ends(&mut silent[0]);
    // A party outside the flood still has its time.
    let hello = Hello {
        room: [1; 32],
        listens: true,
    };
    first.write_all(&hello.to_bytes()).unwrap();
    hears(&mut party(&relay, 1, false), Answer::Go);
    hears(&mut first, Answer::Go);
}

#[test]
fn a_connection_has_its_time_to_say_its_room() {
    let relay = relay(|_| ());
    let mut slow = TcpStream::connect(relay.local_address()).unwrap();
    let hello = Hello {
        room: [1; 32],
        listens: true,
    };
    // At one byte in 0.7 seconds, the 41 bytes take 29 seconds.
    let sent = hello.to_bytes().iter().position(|byte| {
        std::thread::sleep(Duration::from_millis(700));
        slow.write_all(&[*byte]).is_err()
    });
    assert!(sent.is_some(), "all of it was heard");
}
