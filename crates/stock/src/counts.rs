//! Counts about a peer, such as its unfinished tries and the keys that it was answered.
//!
//! Each kind of count has an index of its own in the folder of the stocks, which every process of
//! this party shares. A value consists of the numbers, the changes to the record (8 bytes each,
//! little-endian) and 8 bytes of SHA-256 over key and all of these.
//!
//! A record is also noted outside of the folder. Of record and note, the one with more changes
//! counts: a folder that is restored from a copy forgets no tries and gives no keys back.

use sha2::{Digest as _, Sha256};

use crate::error::Repair;
use crate::witness::Note;
use crate::{StockError, Stocks};

const CHECKSUM_BYTES: usize = 8;

/// An index of records of `N` numbers each.
pub(crate) struct CountIndex<const N: usize> {
    pub(crate) file_name: &'static str,
    /// The start of the bytes under a checksum of these records.
    pub(crate) domain: &'static [u8],
    /// The start of the names of the notes about these records.
    pub(crate) note: &'static [u8],
    /// The content of a whole entry, in words.
    pub(crate) expected: &'static str,
    /// The remedy for a damaged entry.
    pub(crate) repair: Repair,
}

/// A record's numbers, and the number of its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CountRecord<const N: usize> {
    numbers: [u64; N],
    changes: u64,
}

impl<const N: usize> CountIndex<N> {
    /// Reads the record at `key`, makes the numbers that `change` returns durable, and returns
    /// them.
    pub(crate) fn change(
        &self,
        stocks: &Stocks,
        key: &[u8],
        mut change: impl FnMut([u64; N]) -> [u64; N],
    ) -> Result<[u64; N], StockError> {
        let path = stocks.folder.join(self.file_name);
        let mut changed = None;
        stocks.storage.index(&path)?.update(&mut |entries| {
            let value = entries.get(key).map_err(StockError::io(&path, "read it"))?;
            let before = self.latest(stocks, key, value.as_deref())?;
            let numbers = change(before.numbers);
            if numbers == before.numbers {
                changed = Some(before);
                return Ok(());
            }
            let changes = before.changes + 1;
            let after = changed.insert(CountRecord { numbers, changes });
            let put = entries.put(key, &self.to_bytes(key, after));
            put.map_err(StockError::io(&path, "write it"))
        })?;
        let CountRecord { numbers, changes } = changed.expect("the transaction ran");
        let mut rest = [0; 3];
        rest[..N].copy_from_slice(&numbers);
        let note = Note {
            count: changes,
            rest,
        };
        stocks.notes().raise_record(&[self.note, key], note);
        Ok(numbers)
    }

    /// Removes the records and notes whose numbers `is_over` says are of no more use.
    pub(crate) fn forget(
        &self,
        stocks: &Stocks,
        is_over: impl Fn([u64; N]) -> bool,
    ) -> Result<(), StockError> {
        let path = stocks.folder.join(self.file_name);
        stocks.storage.index(&path)?.update(&mut |entries| {
            let found = entries.scan(&[]);
            for (key, value) in found.map_err(StockError::io(&path, "read it"))? {
                if is_over(self.latest(stocks, &key, Some(&value))?.numbers) {
                    let removed = entries.remove(&key);
                    removed.map_err(StockError::io(&path, "write it"))?;
                    // Inside the transaction: an old note hides a record that begins anew.
                    stocks.notes().forget_record(&[self.note, &key]);
                }
            }
            Ok(())
        })
    }

    /// Returns the numbers at every key, which `parse` reads.
    pub(crate) fn all<K>(
        &self,
        stocks: &Stocks,
        parse: impl Fn(&[u8]) -> Option<K>,
    ) -> Result<Vec<(K, [u64; N])>, StockError> {
        let path = stocks.folder.join(self.file_name);
        let mut all = Vec::new();
        stocks.storage.index(&path)?.update(&mut |entries| {
            all.clear();
            let found = entries.scan(&[]);
            for (key, value) in found.map_err(StockError::io(&path, "read it"))? {
                let latest = self.latest(stocks, &key, Some(&value))?;
                let name = parse(&key).ok_or_else(|| self.damaged(stocks))?;
                all.push((name, latest.numbers));
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns the record for which the folder has `value`: that value or, if it has changed more
    /// often, the note.
    fn latest(
        &self,
        stocks: &Stocks,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<CountRecord<N>, StockError> {
        let kept = match value {
            None => CountRecord {
                numbers: [0; N],
                changes: 0,
            },
            Some(value) => self.parse(key, value).ok_or_else(|| self.damaged(stocks))?,
        };
        let noted = stocks
            .notes()
            .record(&[self.note, key])?
            .map(|note| CountRecord {
                numbers: std::array::from_fn(|place| note.rest[place]),
                changes: note.count,
            });
        let later = noted.filter(|noted| noted.changes > kept.changes);
        Ok(later.unwrap_or(kept))
    }

    fn parse(&self, key: &[u8], value: &[u8]) -> Option<CountRecord<N>> {
        let (fields, sum) = value.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (numbers, []) = fields.as_chunks::<8>() else {
            return None;
        };
        let (changes, numbers) = numbers.split_last()?;
        let numbers: &[[u8; 8]; N] = numbers.try_into().ok()?;
        let counted = CountRecord {
            numbers: numbers.map(u64::from_le_bytes),
            changes: u64::from_le_bytes(*changes),
        };
        (self.checksum(key, fields) == *sum).then_some(counted)
    }

    fn to_bytes(&self, key: &[u8], counted: &CountRecord<N>) -> Vec<u8> {
        let numbers = counted.numbers.map(u64::to_le_bytes);
        let fields = [numbers.as_flattened(), &counted.changes.to_le_bytes()].concat();
        [&fields[..], &self.checksum(key, &fields)].concat()
    }

    fn checksum(&self, key: &[u8], fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
        let hash = Sha256::new_with_prefix(self.domain)
            .chain_update(key)
            .chain_update(fields);
        *hash.finalize().first_chunk().expect("32 bytes")
    }

    fn damaged(&self, stocks: &Stocks) -> StockError {
        StockError::corrupted(
            &stocks.folder.join(self.file_name),
            "an entry",
            "damaged (its checksum differs)",
            self.expected,
            self.repair,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let index = CountIndex {
            file_name: "counts.index",
            domain: b"counts\0",
            note: b"counts\0",
            expected: "a record",
            repair: Repair::RemoveTries,
        };
        let (key, counted) = (
            [7; 64],
            CountRecord {
                numbers: [20_000, 5],
                changes: 9,
            },
        );
        let bytes = index.to_bytes(&key, &counted);
        assert_eq!(index.parse(&key, &bytes), Some(counted));
        assert_eq!(index.parse(&[8; 64], &bytes), None);
        for wrong in [&bytes[1..], &bytes[8..], &[0; 0]] {
            assert_eq!(index.parse(&key, wrong), None);
        }
    }
}
