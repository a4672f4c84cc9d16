//! The one process of a party that keeps a peer's chain of a name.
//!
//! The processes of a party share nothing, so none knows the chains of the others. Each computes
//! the chain's home from the list of lanes that keep chains, which all have: the lane for which
//! SHA-256 over `tacit chain home\0`, this party, the peer, the lane and the chain's name is the
//! greatest (rendezvous hashing; Thaler and Ravishankar 1998). Only this process starts the chain
//! or continues it. If a lane joins the list, chains move to it alone. If one leaves, only its
//! chains move.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use tacit_net::{Fingerprint, Lane};
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_stock::check_chain_name;

use super::{MAX_HOMES_BYTES, Session, parse_homes};
use crate::Error;
use crate::driver::{receive, send};

const DOMAIN: &[u8] = b"tacit chain home\0";
const MAX_NAME_BYTES: usize = u8::MAX as usize;

/// The lanes of a party that keep chains. All processes of the party have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainLanes(BTreeSet<Lane>);

impl ChainLanes {
    /// Makes the list.
    pub fn new(lanes: impl IntoIterator<Item = Lane>) -> Self {
        Self(lanes.into_iter().collect())
    }

    /// Returns the lane of `own` that keeps the chain of this name with `peer`. It is `None` if no
    /// lane keeps chains.
    pub fn home(&self, [own, peer]: [Fingerprint; 2], chain: &str) -> Option<Lane> {
        let weight = |lane: &&Lane| -> [u8; 32] {
            Sha256::new_with_prefix(DOMAIN)
                .chain_update(own.0)
                .chain_update(peer.0)
                .chain_update(lane.to_bytes())
                .chain_update(chain)
                .finalize()
                .into()
        };
        self.0.iter().max_by_key(weight).copied()
    }
}

impl Session {
    /// Sets the lanes of this party that keep chains. Chains of two parties are then started and
    /// continued by their homes alone. A party with one process needs no list.
    pub fn set_chain_lanes(&mut self, lanes: ChainLanes) {
        self.chain_lanes = Some(lanes);
    }

    /// Refuses a run in a chain that another process of this party keeps. The peer could otherwise
    /// start a chain of the same name with each.
    pub(crate) fn check_chain_home(&self, chain: &str) -> Result<(), Error> {
        let Some(lanes) = self.chain_lanes.as_ref().filter(|_| !self.lane.is_none()) else {
            return Ok(());
        };
        let here = self.lane;
        let home = lanes.home(self.both()?, chain);
        if home == Some(here) {
            return Ok(());
        }
        Err(Error::ChainElsewhere {
            chain: chain.to_owned(),
            home,
            here,
        })
    }

    /// Goes to the process of the peer that keeps this chain, as far as the peer names its address
    /// and it answers. It stays where it is under the conditions of
    /// [`go_to_lane`](Self::go_to_lane).
    pub(crate) fn go_to_home(&mut self, chain: &str) -> Result<(), Error> {
        if !self.may_seek() {
            return Ok(());
        }
        self.guarded(|session| {
            session.tag()?;
            let Some(way_back) = session.way_back.take() else {
                return Ok(());
            };
            if session.lanes().peer.is_none() {
                return Ok(());
            }
            send(&mut session.channel, Kind::ChainSought, chain.as_bytes())?;
            let told = receive(&mut session.channel, Kind::LaneHomes, MAX_HOMES_BYTES)?;
            let homes = parse_homes(told, |_| true)?;
            if homes.len() > 1 {
                return Err(Misbehaviour::invalid(Kind::LaneHomes, "number of lanes").into());
            }
            session.go_to_first(&way_back, homes.into_iter().collect())
        })
    }

    /// Hears which chain the peer seeks. Returns the lane of this party that keeps it, if any may.
    pub(super) fn hear_chain(&mut self) -> Result<Option<Lane>, Error> {
        let payload = receive(&mut self.channel, Kind::ChainSought, MAX_NAME_BYTES)?;
        let name = str::from_utf8(payload).map(str::to_owned);
        let name = name.ok().filter(|name| check_chain_name(name).is_ok());
        let name = name.ok_or(Misbehaviour::invalid(Kind::ChainSought, "name"))?;
        let (lanes, both) = (self.chain_lanes.as_ref(), self.both());
        Ok(lanes.and_then(|lanes| lanes.home(both.ok()?, &name)))
    }

    /// Returns both identities.
    fn both(&self) -> Result<[Fingerprint; 2], Error> {
        let both = self.own().zip(self.peer());
        both.map(<[_; 2]>::from).ok_or(Error::ApiMisuse(
            "a chain belongs to two identities; authenticate the sessions",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(names: &[&str]) -> ChainLanes {
        ChainLanes::new(names.iter().map(|name| name.parse().expect("a name")))
    }

    fn home(names: &[&str], chain: &str) -> String {
        let both = [1, 2].map(|party| Fingerprint([party; 32]));
        let home = lanes(names).home(both, chain);
        home.map_or_else(String::new, |home| home.to_string())
    }

    /// Processes of two releases must agree while a version is rolled.
    #[test]
    fn homes_never_change() {
        let all = ["a", "b", "c"];
        let homes = ["total", "budget", "sum", "seen"].map(|chain| home(&all, chain));
        assert_eq!(homes, ["a", "b", "c", "a"]);
        assert_eq!(home(&["c", "a", "b"], "total"), homes[0]);
        assert_eq!(
            (home(&["b"], "total"), home(&[], "total")),
            ("b".into(), String::new())
        );
    }

    #[test]
    fn a_lane_that_joins_or_leaves_moves_no_chain_of_others() {
        let chains: Vec<_> = (0..300).map(|number| format!("chain {number}")).collect();
        let [mut kept, mut moved] = [0; 2];
        for chain in &chains {
            let before = home(&["a", "b"], chain);
            match home(&["a", "b", "c"], chain) {
                same if same == before => kept += 1,
                other => {
                    assert_eq!(other, "c");
                    moved += 1;
                }
            }
        }
        assert!(kept > 150 && moved > 50, "{kept} and {moved}");
    }

    #[test]
    fn parties_and_names_have_homes_of_their_own() {
        let all = lanes(&["a", "b", "c"]);
        let of = |own: u8, peer: u8, name: &str| {
            all.home([Fingerprint([own; 32]), Fingerprint([peer; 32])], name)
        };
        let homes = |of: &dyn Fn(u8) -> Option<Lane>| (0..64).map(of).collect::<BTreeSet<_>>();
        assert_eq!(homes(&|own| of(own, 1, "total")).len(), 3);
        assert_eq!(homes(&|peer| of(1, peer, "total")).len(), 3);
        assert_eq!(homes(&|name| of(1, 2, &name.to_string())).len(), 3);
    }
}
