//! Lanes with a peer that does not keep to the protocol.

use std::thread;

use tacit_net::memory;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::session::{Hello, SessionTag};

use super::*;

fn lane(name: &str) -> Lane {
    name.parse().expect("a name")
}

fn held(lanes: &[Lane]) -> Vec<u8> {
    lanes.iter().flat_map(|lane| lane.to_bytes()).collect()
}

fn homes(homes: &[(&str, &str)]) -> Vec<u8> {
    let each = homes.iter().flat_map(|(name, address)| {
        let length = [address.len() as u8];
        [&lane(name).to_bytes()[..], &length, address.as_bytes()].concat()
    });
    each.collect()
}

#[test]
fn lanes_are_named_once_each_and_few() {
    let [a, b] = ["a", "b"].map(lane);
    assert_eq!(parse_held(&held(&[b, a])).unwrap(), [b, a]);
    for wrong in [
        held(&[]),
        held(&[a, a]),
        held(&[a, Lane::NONE]),
        held(&[a])[..15].to_vec(),
        [held(&[a]), vec![b'c']].concat(),
        vec![b'A'; 16],
    ] {
        assert!(parse_held(&wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn homes_are_of_lanes_that_were_asked_for() {
    let asked = ["a", "b"].map(lane);
    let told = homes(&[("b", "b.example:7000"), ("a", "[::1]:7001")]);
    let parsed = parse_homes(&told, |lane| asked.contains(&lane)).unwrap();
    assert_eq!(parsed[&asked[0]], "[::1]:7001");
    assert!(parse_homes(&[], |_| true).unwrap().is_empty());
    for wrong in [
        homes(&[("c", "c.example:7000")]),
        homes(&[("a", "x:1"), ("a", "y:1")]),
        homes(&[("a", "")]),
        homes(&[("a", "nowhere")]),
        homes(&[("a", "x:0")]),
        homes(&[("a", "x:70000")]),
        homes(&[("a", ":7000")]),
        homes(&[("a", "ws://x:7000")]),
        homes(&[("a", "x y:7000")]),
        homes(&[("a", "\u{1b}[31m:7000")]),
        told[..told.len() - 1].to_vec(),
    ] {
        assert!(
            parse_homes(&wrong, |lane| asked.contains(&lane)).is_err(),
            "{wrong:?}"
        );
    }
}

/// Opens a session with a peer that only knows how to greet.
fn hostile() -> (Session, Session) {
    let (listening, connecting) = memory::pair();
    thread::scope(|scope| {
        let there = scope.spawn(|| Session::over(connecting, Side::Connecting, None));
        let here = Session::over(listening, Side::Listening, None).expect("a peer");
        (here, there.join().unwrap().expect("a peer"))
    })
}

#[test]
fn an_endless_list_of_lanes_is_refused_before_it_is_read() {
    let (mut here, mut there) = hostile();
    let many: Vec<Lane> = (0..=MAX_LANES)
        .map(|number| lane(&number.to_string()))
        .collect();
    send(&mut there.channel, Kind::LanesHeld, &held(&many)).unwrap();
    flush(&mut there.channel).unwrap();
    let refused = here.next_request(Duration::from_secs(5)).unwrap_err();
    assert_eq!(refused.category(), crate::Category::Peer, "{refused}");
}

#[test]
fn a_peer_asks_for_homes_once() {
    let (mut here, mut there) = hostile();
    here.set_lane_homes(Arc::new([(lane("b"), "b.example:7000".to_owned())].into()));
    for _ in 0..2 {
        send(&mut there.channel, Kind::LanesHeld, &held(&[lane("b")])).unwrap();
        flush(&mut there.channel).unwrap();
    }
    let refused = here.next_request(Duration::from_secs(5)).unwrap_err();
    let Error::Protocol(ProtocolError::PeerMisbehaved(Misbehaviour::UnexpectedMessage { .. })) =
        refused
    else {
        panic!("{refused}");
    };
    there.greeted().unwrap();
    let told = receive(&mut there.channel, Kind::LaneHomes, MAX_HOMES_BYTES).unwrap();
    assert_eq!(told, homes(&[("b", "b.example:7000")]));
}

#[test]
fn a_greeting_has_one_form_and_a_lane_has_a_name() {
    let ours = Hello::of([1; 32]);
    let mut theirs = Hello::of([2; 32]);
    let short = theirs.to_bytes();
    assert_eq!((short.len(), Hello::parse(&short, &ours)), (42, Ok(theirs)));
    theirs.lane = lane("b").to_bytes();
    let long = theirs.to_bytes();
    assert_eq!((long.len(), Hello::parse(&long, &ours)), (58, Ok(theirs)));
    for wrong in [&long[..57], &[&short[..], &[0; 16]].concat(), &long[..43]] {
        assert!(Hello::parse(wrong, &ours).is_err(), "{}", wrong.len());
    }
    // A name that nobody may have ends the session.
    let (mut channel, other) = memory::pair();
    theirs.lane = [b'A'; 16];
    channel
        .send(Kind::Hello.byte(), &theirs.to_bytes())
        .unwrap();
    channel.flush().unwrap();
    let refused = Session::over(other, Side::Listening, None)
        .err()
        .expect("refused");
    assert_eq!(refused.category(), crate::Category::Peer, "{refused}");
}

/// A run is bound to the lanes of both processes.
#[test]
fn lanes_are_in_the_tag() {
    let tag = |lanes: [&str; 2]| {
        let [here, there] = [1, 2].map(|byte| Hello::of([byte; 32]));
        let [a, b] = lanes.map(|name| name.parse().unwrap_or(Lane::NONE).to_bytes());
        let (here, there) = (Hello { lane: a, ..here }, Hello { lane: b, ..there });
        SessionTag::new(&[3; 32], (&[4; 32], &here), (&[5; 32], &there))
    };
    let all = [["", ""], ["a", ""], ["", "a"], ["a", "b"], ["b", "a"]].map(tag);
    for (place, one) in all.iter().enumerate() {
        assert!(all[..place].iter().all(|other| other != one));
    }
}

/// Only what may be a chain's name is looked for.
#[test]
fn a_chain_is_sought_by_a_name() {
    for wrong in [&b""[..], &[0xff], b"a\0b", &[b'a'; 256]] {
        let (mut here, mut there) = hostile();
        here.set_chain_lanes(ChainLanes::new([lane("b")]));
        send(&mut there.channel, Kind::ChainSought, wrong).unwrap();
        flush(&mut there.channel).unwrap();
        let refused = here.next_request(Duration::from_secs(5)).unwrap_err();
        assert_eq!(refused.category(), crate::Category::Peer, "{refused}");
    }
}
