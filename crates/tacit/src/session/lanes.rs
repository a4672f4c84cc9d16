//! The lanes of a session: which process of each party it is with, and how a party that connected
//! goes to another process of the peer, where it has material.
//!
//! The party that connected hears the peer's greeting, which names its lane. If it has material in
//! other lanes alone, it names these, once and before its first proposal. The peer answers with the
//! addresses that it knows of them. The party tries at most two of them, each with the same pinned
//! identity, and goes on with one whose greeting names the lane. Otherwise it goes on where it is.
//! It asks no second time, so no answer can send it around.
//!
//! If it is about to start a chain, it names the chain instead, and the peer answers with the
//! address of the lane that keeps the chain ([`ChainLanes`]).
//!
//! `chain sought`: the chain's name. `lanes held`: 1 to 16 different lanes, 16 bytes each, the best
//! first. `lane homes`: for each known lane its name (16), the length of the address (1) and
//! `HOST:PORT`.

mod chain;
mod way_back;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tacit_net::Lane;
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_stock::MAX_LANES;

use super::{Greeting, Session, Side};
use crate::Error;
use crate::driver::{flush, receive, send};
use crate::stock::Lanes;

pub use chain::ChainLanes;
pub(super) use way_back::WayBack;

/// The longest time to take leave of the process that a session was with.
const LEAVE_TIME: Duration = Duration::from_secs(1);

const MAX_ADDRESS_BYTES: usize = u8::MAX as usize;
const MAX_HELD_BYTES: usize = MAX_LANES * Lane::BYTES;
const MAX_HOMES_BYTES: usize = MAX_LANES * (Lane::BYTES + 1 + MAX_ADDRESS_BYTES);

/// The addresses of a party's processes, by lane.
pub type LaneHomes = Arc<BTreeMap<Lane, String>>;

/// The text is no address of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address is HOST:PORT with at most 255 letters, digits, dots, hyphens and colons")]
pub struct NotAHome;

impl NotAHome {
    /// Checks the address of a process.
    ///
    /// # Errors
    ///
    /// It is not `HOST:PORT`, or too long.
    pub fn check(address: &str) -> Result<(), Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]%_".contains(&byte);
        let port = address
            .rsplit_once(':')
            .filter(|(host, _)| !host.is_empty());
        let port = port.and_then(|(_, port)| port.parse::<u16>().ok());
        let is_right = address.len() <= MAX_ADDRESS_BYTES && address.bytes().all(is_plain);
        match port {
            Some(1..) if is_right => Ok(()),
            _ => Err(Self),
        }
    }
}

impl Session {
    /// Returns the lanes of both parties' processes. That of the peer is known once its greeting
    /// has arrived.
    pub fn lanes(&self) -> Lanes {
        let peer = match self.greeting {
            Greeting::Both(_, lane) => lane,
            Greeting::Sent(_) => Lane::NONE,
        };
        Lanes {
            own: self.lane,
            peer,
        }
    }

    /// Sets the addresses of this party's processes. A peer that has material with one of them is
    /// told its address before its first run.
    pub fn set_lane_homes(&mut self, homes: LaneHomes) {
        self.homes = Some(homes);
    }

    /// Goes to a process of the peer in one of these lanes, the first of them if it can, and
    /// returns the lane of the process that the session is with afterwards. It stays where it is if
    /// that process is in one of them, has no lane, or knows no address at which one answers; if
    /// the session has begun a run; and if this party did not connect over TCP.
    ///
    /// # Errors
    ///
    /// The peer speaks another version, refuses this party or sends no proper answer, or the wait
    /// was cancelled. The session is then spent.
    pub fn go_to_lane(&mut self, wanted: &[Lane]) -> Result<Lane, Error> {
        if !self.may_seek() || wanted.is_empty() {
            return Ok(self.lanes().peer);
        }
        self.guarded(|session| {
            session.tag()?;
            session.seek(wanted)?;
            Ok(session.lanes().peer)
        })
    }

    /// Returns whether this party could still go to another process of the peer.
    pub(crate) fn may_seek(&self) -> bool {
        let is_first = self.side == Side::Connecting && self.runs == 0 && self.asked.is_none();
        is_first && self.way_back.is_some()
    }

    fn seek(&mut self, wanted: &[Lane]) -> Result<(), Error> {
        let here = self.lanes().peer;
        let mut held: Vec<Lane> = Vec::new();
        for lane in wanted.iter().filter(|lane| !lane.is_none()) {
            if !held.contains(lane) && held.len() < MAX_LANES {
                held.push(*lane);
            }
        }
        let Some(way_back) = self.way_back.take() else {
            return Ok(());
        };
        if here.is_none() || held.is_empty() || wanted.contains(&here) {
            return Ok(());
        }
        let bytes: Vec<u8> = held.iter().flat_map(|lane| lane.to_bytes()).collect();
        send(&mut self.channel, Kind::LanesHeld, &bytes)?;
        let told = receive(&mut self.channel, Kind::LaneHomes, MAX_HOMES_BYTES)?;
        let mut homes = parse_homes(told, |lane| held.contains(&lane))?;
        let known = held.iter().filter_map(|lane| homes.remove_entry(lane));
        self.go_to_first(&way_back, known.collect())
    }

    /// Goes to one of these processes, or stays.
    fn go_to_first(&mut self, way_back: &WayBack, homes: Vec<(Lane, String)>) -> Result<(), Error> {
        if let Some(other) = way_back.go(homes)? {
            self.continue_over(other);
        }
        Ok(())
    }

    /// Continues over the channel of another session with the same peer, and leaves its own.
    fn continue_over(&mut self, other: Self) {
        let mut left = std::mem::replace(&mut self.channel, other.channel);
        self.greeting = other.greeting;
        self.channel.set_timeout(left.timeout());
        left.set_timeout(LEAVE_TIME);
        // Nobody there waits for more, so whether that process hears of it does not matter.
        let _ = left.close();
    }

    /// Before the first proposal, tells the peer where this party's lanes are, or where its chain
    /// is, once, if it asks.
    pub(super) fn hear_lanes(&mut self, time: Duration) -> Result<(), Error> {
        if self.runs > 0 || self.asked.is_some() {
            return Ok(());
        }
        let kind = self.channel.next_kind(time)?;
        if kind == Some(Kind::LanesHeld.byte()) {
            let payload = receive(&mut self.channel, Kind::LanesHeld, MAX_HELD_BYTES)?;
            let held = parse_held(payload)?;
            self.tell_homes(|lane| held.contains(&lane))?;
        } else if kind == Some(Kind::ChainSought.byte()) {
            let home = self.hear_chain()?;
            self.tell_homes(|lane| Some(lane) == home)?;
        }
        Ok(())
    }

    /// Tells the peer the addresses of these lanes' processes, as far as they are known.
    fn tell_homes(&mut self, is_told: impl Fn(Lane) -> bool) -> Result<(), Error> {
        let mut bytes = Vec::new();
        let homes = self.homes.iter().flat_map(|homes| homes.iter());
        for (lane, address) in homes.filter(|(lane, _)| **lane != self.lane && is_told(**lane)) {
            if NotAHome::check(address).is_ok() {
                bytes.extend(lane.to_bytes());
                bytes.push(address.len() as u8);
                bytes.extend(address.as_bytes());
            }
        }
        send(&mut self.channel, Kind::LaneHomes, &bytes)?;
        flush(&mut self.channel)
    }
}

/// Reads the lanes in which the peer has material.
fn parse_held(payload: &[u8]) -> Result<Vec<Lane>, Error> {
    let (lanes, rest) = payload.as_chunks::<{ Lane::BYTES }>();
    let mut held: Vec<Lane> = Vec::new();
    let wrong = || Error::from(Misbehaviour::invalid(Kind::LanesHeld, "lanes"));
    for bytes in lanes {
        let lane = Lane::from_bytes(*bytes).map_err(|_| wrong())?;
        if lane.is_none() || held.contains(&lane) {
            return Err(wrong());
        }
        held.push(lane);
    }
    if held.is_empty() || !rest.is_empty() {
        return Err(wrong());
    }
    Ok(held)
}

/// Reads the addresses of lanes, all of which this party has asked for.
fn parse_homes(
    mut payload: &[u8],
    is_asked: impl Fn(Lane) -> bool,
) -> Result<BTreeMap<Lane, String>, Error> {
    let wrong = || Error::from(Misbehaviour::invalid(Kind::LaneHomes, "lane or address"));
    let mut homes = BTreeMap::new();
    while let Some((lane, rest)) = payload.split_first_chunk() {
        let (length, rest) = rest.split_first().ok_or_else(wrong)?;
        let address = rest.split_at_checked(usize::from(*length));
        let (address, rest) = address.ok_or_else(wrong)?;
        let lane = Lane::from_bytes(*lane).map_err(|_| wrong())?;
        let address = str::from_utf8(address).map_err(|_| wrong())?;
        NotAHome::check(address).map_err(|_| wrong())?;
        let is_new = homes.insert(lane, address.to_owned()).is_none();
        if !is_new || !is_asked(lane) {
            return Err(wrong());
        }
        payload = rest;
    }
    if payload.is_empty() {
        return Ok(homes);
    }
    Err(wrong())
}

#[cfg(test)]
mod tests;
