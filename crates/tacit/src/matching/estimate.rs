//! An estimate of the cost of a matching, before anything is sent.

use std::time::Duration;

use tacit_net::Link;
use tacit_ot::source::Choice;
use tacit_protocol::matching::{ASK_SECURITY, VolePlan};

use super::{Intersection, Match, MatchRecipient};
use crate::Error;
use crate::session::{OtExtension, Side, ot_link};

/// Nanoseconds of work per key of the party that asks, without OTs: hashing, encoding, evaluating
/// and looking up. These times are those of a server core. Other cores take up to twice as long.
const ASKED_KEY_NS: u64 = 700;

/// Nanoseconds of work per key of the other party: hashing, evaluating and looking up.
const ANSWERED_KEY_NS: u64 = 500;

/// Nanoseconds of work per column of a silent VOLE, at either party.
const SILENT_COLUMN_NS: u64 = 75;

/// The estimated cost of a matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchEstimate {
    /// The bytes that both parties send together, without the agreement and base OTs, which take a
    /// few kilobytes.
    pub bytes: u64,
    /// The time from the agreement to the result.
    pub time: Duration,
}

impl Match {
    /// Estimates the cost of the matching with a peer that has this many keys. Without a link, the
    /// estimate counts no waiting. Without an extension, it uses the one that a session chooses by
    /// default.
    ///
    /// # Errors
    ///
    /// The peer has more keys than a matching allows.
    pub fn estimate(
        &self,
        peer_keys: u64,
        link: Option<Link>,
        extension: Option<OtExtension>,
    ) -> Result<MatchEstimate, Error> {
        self.task.estimate(peer_keys, link, extension)
    }
}

/// Returns the time of the work on a VOLE, without that on its OTs.
pub(crate) fn vole_time(vole: VolePlan) -> Duration {
    if vole.is_silent() {
        Duration::from_nanos(SILENT_COLUMN_NS * vole.columns())
    } else {
        Duration::ZERO
    }
}

impl Intersection {
    fn estimate(
        &self,
        peer_keys: u64,
        link: Option<Link>,
        extension: Option<OtExtension>,
    ) -> Result<MatchEstimate, Error> {
        let agreed = self.agreed(Side::Connecting, peer_keys)?;
        let (sizes, need) = (agreed.sizes, agreed.terms(Side::Connecting).ots);
        if sizes.placer_keys == 0 || sizes.programmer_keys == 0 {
            return Ok(MatchEstimate {
                bytes: 0,
                time: Duration::ZERO,
            });
        }
        let extension = extension.unwrap_or_else(|| need.extension_over(link));
        let link = ot_link(link);
        let vole = VolePlan::of(extension, sizes.shards * sizes.ask_columns);
        let count = usize::try_from(vole.ots()).unwrap_or(usize::MAX);
        let ots = Choice::told(extension, link, ASK_SECURITY, count);
        let matches = match self.meaning.to {
            MatchRecipient::Both => sizes.programmer_keys.div_ceil(8),
            MatchRecipient::Me | MatchRecipient::Peer => 0,
        };
        let tables = sizes.ask_bytes() + sizes.tags_bytes() + matches;
        let own_bytes = sizes.shards * tables + vole.bytes();
        let sending_ns = u128::from(own_bytes) * 8_000_000_000 / u128::from(link.bits_per_s.max(1));
        let keys_ns = sizes.shards
            * (ASKED_KEY_NS * sizes.placer_keys + ANSWERED_KEY_NS * sizes.programmer_keys);
        let ns = u64::try_from(sending_ns).unwrap_or(u64::MAX);
        // Two round trips for the asks, the tags and the matches of each turn.
        let turns = sizes.shards.div_ceil(sizes.turn_shards());
        let waits = link.round_trip * u32::try_from(2 * turns).unwrap_or(u32::MAX);
        Ok(MatchEstimate {
            bytes: own_bytes + ots.cost.sender_bytes + ots.cost.receiver_bytes,
            time: ots
                .time
                .saturating_add(Duration::from_nanos(ns))
                .saturating_add(Duration::from_nanos(keys_ns))
                .saturating_add(vole_time(vole))
                .saturating_add(waits),
        })
    }
}
