//! The tables that peers may match with theirs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tacit::Fingerprint;

use super::{Error, Offer, Peer};
use crate::rate::Rate;
use crate::tables::Matching;

/// A table of this party that peers may match with theirs.
#[derive(Clone)]
pub struct TableOffer {
    /// This party's name for the offer.
    pub name: String,
    /// The matching, with the table.
    pub matching: Arc<dyn Matching>,
    /// The peers that may ask.
    pub peers: BTreeSet<Fingerprint>,
    /// The rate at which each peer may ask.
    pub rate: Option<Rate>,
    /// Longest time of a run.
    pub time_limit: Duration,
}

/// Checks that no peer has two offers of one name or two tables of one meaning, and that all peers
/// may connect.
pub(super) fn check_tables(
    peers: &[Peer],
    offers: &[Offer],
    tables: &[TableOffer],
) -> Result<(), Error> {
    let known: BTreeSet<_> = peers.iter().map(|peer| peer.fingerprint).collect();
    let functions = offers.iter().map(|offer| (&offer.name, &offer.peers));
    for (number, table) in tables.iter().enumerate() {
        let name = table.name.clone();
        if let Some(peer) = table.peers.difference(&known).next() {
            let what = format!("table {name:?}");
            return Err(Error::UnknownPeer { what, peer: *peer });
        }
        let before = tables[..number].iter();
        // A peer asks by the meaning, and would get either table.
        let meaning = table.matching.meaning();
        let twice = before.clone().find(|other| {
            other.matching.meaning() == meaning && !other.peers.is_disjoint(&table.peers)
        });
        if let Some(other) = twice {
            let (one, other) = (other.name.clone(), name);
            return Err(Error::TwoTables { one, other });
        }
        let before = before.map(|table| (&table.name, &table.peers));
        // The remaining rate of a peer is recorded under the offer's name.
        let mut others = functions.clone().chain(before);
        if others.any(|(other, peers)| *other == name && !peers.is_disjoint(&table.peers)) {
            return Err(Error::SameName { name });
        }
    }
    Ok(())
}
