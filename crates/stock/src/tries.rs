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
//! The records form an index of their own, `batches.index` in the folder of the stocks, which every
//! process of this party shares. A key consists of this party, the peer (32 bytes each), the role
//! (1) and, except for batches, the protocol (1). Its value consists of the tries, the cheats, the
//! clearings, the changes to the record (8 each, little-endian) and 8 bytes of SHA-256 over key and
//! all of these. A value without the third number was never cleared.
//!
//! A record is also noted outside of the folder. Of record and note, the one with more changes
//! counts: a folder that is restored from a copy brings no tries back.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::Repair;
use crate::names::role_of_byte;
use crate::witness::{Note, Noted};
use crate::{PeerId, Role, StockError, Stocks};

const FILE_NAME: &str = "batches.index";

/// The start of the bytes under a checksum of these records.
const DOMAIN: &[u8] = b"tacit batches\0";

/// The bytes of a record's checksum.
pub(crate) const CHECKSUM_BYTES: usize = 8;

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
    /// Whether there is nothing for an operator to clear.
    #[must_use]
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

/// A record, and the number of its changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    record: TryRecord,
    changes: u64,
}

impl Counted {
    fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let (fields, sum) = value.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (numbers, []) = fields.as_chunks::<8>() else {
            return None;
        };
        let number = |place: usize| numbers.get(place).map_or(0, |it| u64::from_le_bytes(*it));
        let counted = Self {
            record: TryRecord {
                unfinished: number(0),
                cheats: number(1),
                clearings: number(2),
            },
            changes: number(3),
        };
        let is_one = (2..=4).contains(&numbers.len()) && checksum(DOMAIN, key, fields) == *sum;
        is_one.then_some(counted)
    }

    fn to_bytes(self, key: &[u8]) -> Vec<u8> {
        let record = &self.record;
        let numbers = [
            record.unfinished,
            record.cheats,
            record.clearings,
            self.changes,
        ];
        let fields = numbers.map(u64::to_le_bytes).concat();
        let sum = checksum(DOMAIN, key, &fields);
        [&fields[..], &sum].concat()
    }

    fn of(note: Note) -> Self {
        let [unfinished, cheats, clearings] = note.rest;
        Self {
            record: TryRecord {
                unfinished,
                cheats,
                clearings,
            },
            changes: note.count,
        }
    }

    fn note(self) -> Note {
        let record = self.record;
        Note {
            count: self.changes,
            rest: [record.unfinished, record.cheats, record.clearings],
        }
    }

    /// Returns the record of tries for which the folder has `value`: that value or, if it has
    /// changed more often, the note.
    fn latest(stocks: &Stocks, key: &[u8], value: Option<&[u8]>) -> Result<Self, StockError> {
        let path = stocks.folder.join(FILE_NAME);
        let kept = match value {
            None => Self::default(),
            Some(value) => Self::parse(key, value).ok_or_else(|| damaged(&path))?,
        };
        let noted = stocks.notes().record(Noted::Tries, key)?.map(Self::of);
        let later = noted.filter(|noted| noted.changes > kept.changes);
        Ok(later.unwrap_or(kept))
    }
}

/// Returns the checksum of a record of the index that `domain` names.
pub(crate) fn checksum(domain: &[u8], key: &[u8], fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = Sha256::new_with_prefix(domain)
        .chain_update(key)
        .chain_update(fields)
        .finalize();
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&hash[..CHECKSUM_BYTES]);
    sum
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
        let key = key.to_bytes();
        let path = self.folder.join(FILE_NAME);
        let index = self.storage.open_index(&path);
        let mut index = index.map_err(StockError::io(&path, "open it"))?;
        let mut changed = Counted::default();
        index.update(&mut |entries| {
            let value = entries
                .get(&key)
                .map_err(StockError::io(&path, "read it"))?;
            let before = Counted::latest(self, &key, value.as_deref())?;
            changed = before;
            change(&mut changed.record);
            if changed == before {
                return Ok(());
            }
            changed.changes += 1;
            let put = entries.put(&key, &changed.to_bytes(&key));
            put.map_err(StockError::io(&path, "write it"))
        })?;
        self.notes()
            .raise_record(Noted::Tries, &key, changed.note());
        Ok(changed.record)
    }

    /// Returns every record of tries that is not empty, with all peers.
    ///
    /// # Errors
    ///
    /// Those of [`change_tries`](Self::change_tries).
    pub fn tries(&self) -> Result<Vec<(TryKey, TryRecord)>, StockError> {
        let path = self.folder.join(FILE_NAME);
        let index = self.storage.open_index(&path);
        let mut index = index.map_err(StockError::io(&path, "open it"))?;
        let mut records = Vec::new();
        index.update(&mut |entries| {
            records.clear();
            let found = entries.scan(&[]);
            for (key, value) in found.map_err(StockError::io(&path, "read it"))? {
                let latest = Counted::latest(self, &key, Some(&value))?;
                let name = TryKey::parse(&key).ok_or_else(|| damaged(&path))?;
                records.push((name, latest.record));
            }
            Ok(())
        })?;
        records.retain(|(_, record)| !record.is_empty());
        Ok(records)
    }
}

fn damaged(path: &Path) -> StockError {
    StockError::corrupted(
        path,
        "an entry",
        "damaged (its checksum differs)",
        "a record of tries as it was written",
        Repair::RemoveTries,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_records_are_read() {
        let (key, record) = (
            [7; 65],
            TryRecord {
                unfinished: 3,
                cheats: 1,
                clearings: 0,
            },
        );
        let counted = |changes| Some(Counted { record, changes });
        let fields = [3_u64, 1].map(u64::to_le_bytes).concat();
        let old = [&fields[..], &checksum(DOMAIN, &key, &fields)].concat();
        assert_eq!(Counted::parse(&key, &old), counted(0));
        let new = Counted { record, changes: 5 }.to_bytes(&key);
        assert_eq!(Counted::parse(&key, &new), counted(5));
        for wrong in [&old[1..], &new[8..], &old[..16]] {
            assert_eq!(Counted::parse(&key, wrong), None);
        }
    }

    #[test]
    fn keys_say_whose_tries_they_are_and_of_what() {
        let mut seen = Vec::new();
        for tried in [Tried::Batches, Tried::Authenticated] {
            for role in [Role::Garbler, Role::Evaluator] {
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
