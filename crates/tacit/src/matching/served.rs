//! A matching as a service runs it: the service examines the peer's sizes before it answers.

use std::num::NonZeroUsize;

use tacit_circuit::Digest;
use tacit_protocol::matching::VolePlan;

use super::{Intersection, KeyNormalization, Match, MatchOutcome, MatchRecipient};
use crate::session::{OtExtension, Side};
use crate::{Error, Session};

/// The bytes of a matching that do not depend on its sizes: buffers, OTs in batches.
const BASE_BYTES: u64 = 16 << 20;

/// The bytes of each column of an ask: the encoding or K, the VOLE, the message.
const COLUMN_BYTES: u64 = 96;

/// The bytes of a silent VOLE: a round's secret, that of the next round, and a batch.
const SILENT_VOLE_BYTES: u64 = 48 << 20;

/// The bytes of each of this party's keys: its digest, shard, place and result, all at once.
const KEY_BYTES: u64 = 64;

/// The bytes of each key of a shard: its point, row, order and F, and up to four slots of 16 bytes
/// in an index of tags.
const SHARD_KEY_BYTES: u64 = 192;

/// The bytes of each tag of a shard: received or sent, and looked up.
const TAG_BYTES: u64 = 48;

/// The demands of a run that a peer asks for, which follow from the sizes that it told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAsks {
    /// The largest number of keys about which the run can tell the peer. A run answers as many
    /// keys as the peer's messages have room for, which is more than it told: a party that asks
    /// sends an encoding with room for a few more keys, and for 256 of one.
    pub keys: u64,
    /// The largest number of bytes of memory that the run takes.
    pub memory_bytes: u64,
}

/// A matching for which both parties have told their sizes.
pub struct SizedMatch {
    order: Match,
    peer_keys: u64,
}

/// The keys of a table that a service holds ready for any number of matchings at once.
pub struct HeldMatch {
    task: Intersection,
    threads: NonZeroUsize,
}

/// Returns the bytes of a silent VOLE, if a run with silent OT makes one for this number of
/// columns.
pub(crate) fn silent_vole_bytes(columns: u64) -> u64 {
    if VolePlan::of(OtExtension::Silent, columns).is_silent() {
        SILENT_VOLE_BYTES
    } else {
        0
    }
}

impl HeldMatch {
    /// Returns a matching of these keys, which are not copied. The peer may have any number of
    /// keys: the service has looked at it.
    pub fn order(&self) -> Match {
        let order = Match::of(self.task.clone()).threads(self.threads);
        order.most_peer_keys(u64::MAX)
    }

    /// Returns the digest by which a peer that connected asks for this matching.
    pub fn meaning(&self) -> Digest {
        self.task.meaning.digest(Side::Listening)
    }

    /// Returns how the keys were normalised.
    pub fn normalization(&self) -> KeyNormalization {
        self.task.meaning.normalization
    }

    /// Returns who gets the result.
    pub fn recipient(&self) -> MatchRecipient {
        self.task.meaning.to
    }

    /// Returns the number of this party's keys.
    pub fn key_count(&self) -> u64 {
        self.task.keys.len() as u64
    }

    /// Returns the demands of a run with the peer that connected and has `peer_keys` keys.
    ///
    /// # Errors
    ///
    /// The peer has more keys than a matching allows.
    pub fn peer_asks(&self, peer_keys: u64) -> Result<PeerAsks, Error> {
        let agreed = self.task.agreed(Side::Listening, peer_keys)?;
        let sizes = agreed.sizes;
        let own_keys = self.key_count();
        if own_keys == 0 || peer_keys == 0 {
            let memory_bytes = 0;
            return Ok(PeerAsks {
                keys: peer_keys,
                memory_bytes,
            });
        }
        // An encoding holds at most as many keys as it has columns, since the rows of keys in it
        // are independent. The other party is told a bit for each tag.
        let (of_shard, of_own_shard) = if agreed.asks {
            (sizes.programmer_keys, sizes.placer_keys)
        } else {
            (sizes.ask_columns, sizes.programmer_keys)
        };
        let of_turn = COLUMN_BYTES * sizes.ask_columns
            + SHARD_KEY_BYTES * of_own_shard
            + TAG_BYTES * sizes.programmer_keys;
        let memory_bytes = BASE_BYTES
            + silent_vole_bytes(sizes.shards * sizes.ask_columns)
            + KEY_BYTES * own_keys
            + sizes.turn_shards() * of_turn;
        Ok(PeerAsks {
            keys: sizes.shards * of_shard,
            memory_bytes,
        })
    }
}

impl Match {
    /// Holds the keys for matchings with peers that connect.
    #[must_use]
    pub fn held(self) -> HeldMatch {
        HeldMatch {
            task: self.task,
            threads: self.threads,
        }
    }

    /// Tells the peer the number of this party's keys. It may have heard the peer's by
    /// [`Session::next_request`].
    ///
    /// # Errors
    ///
    /// Any error that ends the run. The session is then spent.
    pub fn tell(self, session: &mut Session) -> Result<SizedMatch, Error> {
        session.greeted()?;
        session.work_on(self.threads);
        let told = session.guarded_within(self.time_limit, |session| self.task.tell(session));
        Ok(SizedMatch {
            peer_keys: told?,
            order: self,
        })
    }
}

impl SizedMatch {
    /// Works on this many threads from now on.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.order = self.order.threads(threads);
        self
    }

    /// Runs the matching over the session in which the sizes were told.
    ///
    /// # Errors
    ///
    /// Any error that ends the run. The session is then spent.
    pub fn run(self, session: &mut Session) -> Result<MatchOutcome, Error> {
        let Match {
            task,
            threads,
            time_limit,
            mut watch,
            ..
        } = self.order;
        session.work_on(threads);
        session.guarded_within(time_limit, |session| {
            task.run(session, self.peer_keys, &mut watch)
        })
    }
}
