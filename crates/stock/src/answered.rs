//! A party's record of the keys that it has answered a peer on a day.
//!
//! Each run that matches a table tells the peer about keys of the peer's choice. So a service
//! bounds their number. They are counted durably before the peer can learn anything, so a crash
//! loses no count: at worst it counts keys that were never answered. The count is per peer,
//! whatever table is matched. When the clock goes back, the later day goes on.
//!
//! The records form an index of their own, `answered.index` in the folder of the stocks, which
//! every process that uses the folder shares. A key consists of this party and the peer (32 bytes
//! each). Its value consists of the day since 1970, the keys, the changes to the record (8 each,
//! little-endian) and 8 bytes of SHA-256 over key and all of these.
//!
//! A record is also noted outside of the folder, as [tries](crate::TryRecord) are: a folder that is
//! restored from a copy gives no keys back.

use std::path::Path;

use crate::error::Repair;
use crate::tries::{CHECKSUM_BYTES, checksum};
use crate::witness::{Note, Noted};
use crate::{PeerId, StockError, Stocks};

const FILE_NAME: &str = "answered.index";

/// The start of the bytes under a checksum of these records.
const DOMAIN: &[u8] = b"tacit answered\0";

/// The keys that a party has answered a peer on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredKeys {
    /// This party.
    pub own: PeerId,
    /// The other party.
    pub peer: PeerId,
    /// The day since 1970.
    pub day: u64,
    /// The number of keys.
    pub keys: u64,
}

/// The keys that were answered on a day, and the number of changes to the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    day: u64,
    keys: u64,
    changes: u64,
}

impl Counted {
    fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let (fields, sum) = value.split_last_chunk::<CHECKSUM_BYTES>()?;
        let ([day, keys, changes], []) = fields.as_chunks::<8>() else {
            return None;
        };
        let [day, keys, changes] = [day, keys, changes].map(|field| u64::from_le_bytes(*field));
        let counted = Self { day, keys, changes };
        (checksum(DOMAIN, key, fields) == *sum).then_some(counted)
    }

    fn to_bytes(self, key: &[u8]) -> Vec<u8> {
        let fields = [self.day, self.keys, self.changes].map(u64::to_le_bytes);
        let fields = fields.concat();
        let sum = checksum(DOMAIN, key, &fields);
        [&fields[..], &sum].concat()
    }

    /// Returns the record for which the folder has `value`: that value or, if it has changed more
    /// often, the note.
    fn latest(stocks: &Stocks, key: &[u8], value: Option<&[u8]>) -> Result<Self, StockError> {
        let path = stocks.folder.join(FILE_NAME);
        let kept = match value {
            None => Self::default(),
            Some(value) => Self::parse(key, value).ok_or_else(|| damaged(&path))?,
        };
        let noted = stocks.notes().record(Noted::Answered, key)?.map(|note| {
            let [day, keys, _] = note.rest;
            let changes = note.count;
            Self { day, keys, changes }
        });
        let later = noted.filter(|noted| noted.changes > kept.changes);
        Ok(later.unwrap_or(kept))
    }

    /// Returns the record as it is on `day`, or on a later day that it has seen.
    fn on(self, day: u64) -> Self {
        match day > self.day {
            true => Self {
                day,
                keys: 0,
                ..self
            },
            false => self,
        }
    }
}

impl Stocks {
    /// Counts `keys` more keys as answered by `own` to `peer` on `day`, durably, unless the day
    /// would then have more than `most`. Returns whether it did.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::DiskFull`]; [`StockError::Corrupted`] if the record is
    /// damaged.
    pub fn answer_keys(
        &self,
        [own, peer]: [PeerId; 2],
        day: u64,
        (keys, most): (u64, u64),
    ) -> Result<bool, StockError> {
        self.change_answered([own, peer], |record| {
            let record = record.on(day);
            let keys = record.keys.saturating_add(keys);
            (keys <= most).then_some(Counted { keys, ..record })
        })
    }

    /// Raises the count of a record to that of a backup. It does not fall.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn raise_answered(&self, saved: &AnsweredKeys) -> Result<(), StockError> {
        let raised = self.change_answered([saved.own, saved.peer], |record| {
            let record = record.on(saved.day);
            let (day, keys) = (saved.day, saved.keys);
            (record.day == day && record.keys < keys).then_some(Counted { keys, ..record })
        });
        raised.map(drop)
    }

    /// Changes a record durably if `change` returns another. Returns whether it did.
    fn change_answered(
        &self,
        [own, peer]: [PeerId; 2],
        change: impl Fn(Counted) -> Option<Counted>,
    ) -> Result<bool, StockError> {
        let key = [own.0, peer.0].concat();
        let path = self.folder.join(FILE_NAME);
        let index = self.storage.open_index(&path);
        let mut index = index.map_err(StockError::io(&path, "open it"))?;
        let mut counted = None;
        index.update(&mut |entries| {
            let value = entries.get(&key);
            let value = value.map_err(StockError::io(&path, "read it"))?;
            counted = change(Counted::latest(self, &key, value.as_deref())?);
            let Some(record) = &mut counted else {
                return Ok(());
            };
            record.changes += 1;
            let put = entries.put(&key, &record.to_bytes(&key));
            put.map_err(StockError::io(&path, "write it"))
        })?;
        if let Some(record) = counted {
            let note = Note {
                count: record.changes,
                rest: [record.day, record.keys, 0],
            };
            self.notes().raise_record(Noted::Answered, &key, note);
        }
        Ok(counted.is_some())
    }

    /// Returns the last count of each peer.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn all_answered(&self) -> Result<Vec<AnsweredKeys>, StockError> {
        let path = self.folder.join(FILE_NAME);
        let index = self.storage.open_index(&path);
        let mut index = index.map_err(StockError::io(&path, "open it"))?;
        let mut all = Vec::new();
        index.update(&mut |entries| {
            all.clear();
            let found = entries.scan(&[]);
            for (key, value) in found.map_err(StockError::io(&path, "read it"))? {
                let Counted { day, keys, .. } = Counted::latest(self, &key, Some(&value))?;
                let parties = key.split_first_chunk();
                let parties = parties.and_then(|(own, peer)| Some((own, peer.try_into().ok()?)));
                let (own, peer) = parties.ok_or_else(|| damaged(&path))?;
                all.push(AnsweredKeys {
                    own: PeerId(*own),
                    peer: PeerId(peer),
                    day,
                    keys,
                });
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns the number of keys that `own` has answered `peer` on `day`.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn answered_keys(&self, [own, peer]: [PeerId; 2], day: u64) -> Result<u64, StockError> {
        let key = [own.0, peer.0].concat();
        let path = self.folder.join(FILE_NAME);
        let index = self.storage.open_index(&path);
        let mut index = index.map_err(StockError::io(&path, "open it"))?;
        let mut found = 0;
        index.update(&mut |entries| {
            let value = entries.get(&key);
            let value = value.map_err(StockError::io(&path, "read it"))?;
            found = Counted::latest(self, &key, value.as_deref())?.on(day).keys;
            Ok(())
        })?;
        Ok(found)
    }
}

fn damaged(path: &Path) -> StockError {
    StockError::corrupted(
        path,
        "an entry",
        "damaged (its checksum differs)",
        "a record of answered keys as it was written",
        Repair::RemoveAnswered,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let (key, other) = ([7; 64], [8; 64]);
        let counted = Counted {
            day: 20_000,
            keys: 5,
            changes: 9,
        };
        let bytes = counted.to_bytes(&key);
        assert_eq!(Counted::parse(&key, &bytes), Some(counted));
        assert_eq!(Counted::parse(&other, &bytes), None);
        assert_eq!(Counted::parse(&key, &bytes[1..]), None);
    }

    #[test]
    fn a_new_day_begins_with_no_keys_and_an_earlier_one_goes_on() {
        let counted = Counted {
            day: 3,
            keys: 5,
            changes: 9,
        };
        let due = |day, keys| Counted {
            day,
            keys,
            changes: 9,
        };
        assert_eq!(counted.on(4), due(4, 0));
        assert_eq!(counted.on(3), due(3, 5));
        assert_eq!(counted.on(2), due(3, 5));
    }

    /// A backup may be of an earlier time than the folder that it is restored into.
    #[test]
    fn a_backup_gives_no_keys_back() {
        let disk = std::sync::Arc::new(crate::Memory::new());
        let root = crate::RootKey::Beside;
        let stocks = Stocks::open(disk, Path::new("s"), root).expect("room");
        let [own, peer] = [1, 2].map(|party| PeerId([party; 32]));
        let saved = |day, keys| AnsweredKeys {
            own,
            peer,
            day,
            keys,
        };
        let mut counted = Vec::new();
        for (day, keys) in [(3, 50), (3, 20), (2, 90), (3, 60), (4, 10), (3, 70)] {
            stocks.raise_answered(&saved(day, keys)).expect("room");
            counted.extend(stocks.all_answered().expect("readable"));
        }
        let expected = [(3, 50), (3, 50), (3, 50), (3, 60), (4, 10), (4, 10)];
        assert_eq!(counted, expected.map(|(day, keys)| saved(day, keys)));
        assert!(!stocks.answer_keys([own, peer], 4, (1, 10)).expect("room"));
        assert!(stocks.answer_keys([own, peer], 4, (1, 11)).expect("room"));
    }
}
