//! A party's record of a protocol's tries with a peer, in each role: tries that were started and
//! not finished, and proven cheats.
//!
//! A try is a batch, or an epoch of `authenticated`. It is counted durably before the peer can
//! learn whether it succeeds, and taken off the count when it has ended well at this party. So
//! everything that ends it in between counts: an abort, a lost connection, a crash. The count is
//! per peer, role and protocol. It is not per scheme or function, since a peer may choose others
//! for another try. Only an operator clears the count, and clearings are counted as well. A try
//! that was in progress at that moment is no longer in the count, and takes nothing off when it
//! ends well.
//!
//! The records are [counts](crate::counts) in `batches.index`. A key consists of this party, the
//! peer (32 bytes each), the role (1) and, except for batches, the protocol (1). The numbers are
//! the tries, the cheats and the clearings.

use crate::counts::CountIndex;
use crate::error::Repair;
use crate::names::role_of_byte;
use crate::{PeerId, Role, StockError, Stocks};

const INDEX: CountIndex<3> = CountIndex {
    file_name: "batches.index",
    domain: b"tacit batches\0",
    note: b"tries\0",
    expected: "a record of tries as it was written",
    repair: Repair::RemoveTries,
};

/// A protocol whose tries are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// Batches of `batch`.
    Batches,
    /// Epochs of `authenticated`.
    Authenticated,
}

/// The key of a record of tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryKey {
    /// This party.
    pub own: PeerId,
    /// The other party.
    pub peer: PeerId,
    /// This party's role.
    pub role: Role,
    /// The protocol.
    pub tried: Tried,
}

impl TryKey {
    fn to_bytes(self) -> Vec<u8> {
        let protocol: &[u8] = match self.tried {
            Tried::Batches => &[],
            Tried::Authenticated => &[1],
        };
        [&self.own.0[..], &self.peer.0, &[self.role as u8], protocol].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (own, bytes) = bytes.split_first_chunk()?;
        let (peer, bytes) = bytes.split_first_chunk()?;
        let (role, protocol) = bytes.split_first()?;
        Some(Self {
            own: PeerId(*own),
            peer: PeerId(*peer),
            role: role_of_byte(*role)?,
            tried: match protocol {
                [] => Tried::Batches,
                [1] => Tried::Authenticated,
                _ => return None,
            },
        })
    }
}

/// The record of one protocol's tries with one peer in one role of this party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TryRecord {
    /// The number of tries that were started and not finished, including those in progress. They
    /// raise the s of the next try.
    pub unfinished: u64,
    /// The number of tries in which the peer was caught, or caught this party.
    pub cheats: u64,
    /// The number of times that an operator has cleared both.
    pub clearings: u64,
}

impl TryRecord {
    fn of([unfinished, cheats, clearings]: [u64; 3]) -> Self {
        Self {
            unfinished,
            cheats,
            clearings,
        }
    }

    /// Whether there is nothing for an operator to clear.
    pub fn is_empty(&self) -> bool {
        self.unfinished == 0 && self.cheats == 0
    }

    /// Clears tries and cheats. Returns the record from before.
    pub fn clear(&mut self) -> Self {
        let before = *self;
        *self = Self {
            clearings: self.clearings.saturating_add(1),
            ..Self::default()
        };
        before
    }
}

impl Stocks {
    /// Reads the record at `key`, applies `change` durably, and returns the result.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Full`]; [`StockError::Corrupted`] if the record is
    /// damaged.
    pub fn change_tries(
        &self,
        key: TryKey,
        mut change: impl FnMut(&mut TryRecord),
    ) -> Result<TryRecord, StockError> {
        let changed = INDEX.change(self, &key.to_bytes(), |numbers| {
            let mut record = TryRecord::of(numbers);
            change(&mut record);
            [record.unfinished, record.cheats, record.clearings]
        })?;
        Ok(TryRecord::of(changed))
    }

    /// Returns every record of tries that is not empty, with all peers.
    ///
    /// # Errors
    ///
    /// Those of [`change_tries`](Self::change_tries).
    pub fn tries(&self) -> Result<Vec<(TryKey, TryRecord)>, StockError> {
        let all = INDEX.all(self, TryKey::parse)?.into_iter();
        let all = all.map(|(key, numbers)| (key, TryRecord::of(numbers)));
        Ok(all.filter(|(_, record)| !record.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_whose_tries_they_are_and_of_what() {
        let mut seen = Vec::new();
        for tried in [Tried::Batches, Tried::Authenticated] {
            for role in Role::BOTH {
                let (own, peer) = (PeerId([1; 32]), PeerId([2; 32]));
                let key = TryKey {
                    own,
                    peer,
                    role,
                    tried,
                };
                assert_eq!(TryKey::parse(&key.to_bytes()), Some(key));
                assert!(!seen.contains(&key.to_bytes()));
                seen.push(key.to_bytes());
            }
        }
        for wrong in [&seen[0][..64], &[&seen[0][..], &[2]].concat()] {
            assert_eq!(TryKey::parse(wrong), None);
        }
    }
}
