//! The greetings of a session, which determine its tag.

use tacit_net::tls::Introduction;
use tacit_net::{Channel, Fingerprint, Lane, Settings};
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_protocol::party::admit;
use tacit_protocol::session::{Hello, SessionTag};

use super::Side;
use crate::Error;
use crate::driver::{flush, send};

/// The state of the greetings.
#[derive(Clone, Copy)]
pub(super) enum Greeting {
    /// This party connected, has sent this greeting, and does not wait for the peer's.
    Sent(Hello),
    /// Both greetings were sent and received. The peer named its lane, if it has one.
    Both(SessionTag, Lane),
}

/// Sends the introduction of a party that connected, if it has one. It goes out with the greeting.
pub(super) fn introduce(channel: &mut Channel, settings: &Settings) -> Result<(), Error> {
    match &settings.introduction {
        Some(own) => send(channel, Kind::Introduction, own.text().as_bytes()),
        None => Ok(()),
    }
}

/// Sends a greeting. A party that connected does not wait for the answer.
pub(super) fn greet(
    channel: &mut Channel,
    side: Side,
    own: Option<&Fingerprint>,
    lane: Lane,
) -> Result<Greeting, Error> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce)?;
    let lane = lane.to_bytes();
    let ours = Hello { nonce, lane };
    send(channel, Kind::Hello, &ours.to_bytes())?;
    match side {
        Side::Connecting => {
            flush(channel)?;
            Ok(Greeting::Sent(ours))
        }
        Side::Listening => hear(channel, side, own, &ours),
    }
}

/// Receives the peer's greeting and computes the session's tag from both greetings.
pub(super) fn hear(
    channel: &mut Channel,
    side: Side,
    own: Option<&Fingerprint>,
    ours: &Hello,
) -> Result<Greeting, Error> {
    // Not with `receive`: a peer that has closed has sent its greeting first, and then its reason.
    // A peer that this party knows may bring a token, which it does not need.
    let is_listening = matches!(side, Side::Listening);
    let longest = if is_listening {
        Introduction::MAX_BYTES
    } else {
        Kind::MAX_CONTROL_BYTES
    };
    let first = channel.receive(longest)?;
    let frame = if is_listening && first.kind == Kind::Introduction.byte() {
        channel.receive(Kind::MAX_CONTROL_BYTES)?
    } else {
        first
    };
    admit(
        Kind::Hello,
        Kind::MAX_CONTROL_BYTES,
        frame.kind,
        frame.payload,
    )?;
    let theirs = Hello::parse(frame.payload, ours)?;
    let lane = Lane::from_bytes(theirs.lane);
    let lane = lane.map_err(|_| Misbehaviour::invalid(Kind::Hello, "lane"))?;
    let own = own.map_or([0; 32], |fingerprint| fingerprint.0);
    let peer = channel.peer().map_or([0; 32], |fingerprint| fingerprint.0);
    let binding = channel.binding();
    let tag = match side {
        Side::Connecting => SessionTag::new(&binding, (&own, ours), (&peer, &theirs)),
        Side::Listening => SessionTag::new(&binding, (&peer, &theirs), (&own, ours)),
    };
    Ok(Greeting::Both(tag, lane))
}
