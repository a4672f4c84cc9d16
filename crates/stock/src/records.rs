//! The index's records: the durable material, its kinds, and its spent part.
//!
//! Keys start with a letter. Values are little-endian fields, followed by eight bytes of SHA-256
//! over key and value, since SQLite does not notice a flipped bit. docs/stock.md has the tables.

mod chain;
mod kind;
mod lot;
mod stock;
mod value;

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::StockError;
use crate::codec::{Fields, Malformed};
use crate::error::Repair;
use crate::storage::{Entries, Entry, MAX_KEY_BYTES, Storage};
use crate::witness::ChainChange;

pub(crate) use chain::ChainRecord;
pub(crate) use kind::{KindRecord, chained};
pub(crate) use lot::{LotRecord, LotState, MAX_WITHDRAWN_RANGES};
pub(crate) use stock::{EpochRecord, StockRecord};
pub(crate) use value::ValueRecord;

/// The version of every file and record of a stock.
pub const FORMAT_VERSION: u32 = 2;
/// The most kinds in an epoch.
pub const MAX_KINDS: usize = 4096;
/// The most lots of a kind that wait for the peer's acknowledgement.
pub const MAX_PENDING_LOTS: usize = 64;
/// The most bytes of the name of a kept value, which is also the limit of a function's port.
pub const MAX_NAME_BYTES: usize = 64;
/// The most bytes of the name of a chain. Together with a value's name, a version and separators it
/// forms a key of the index.
pub const MAX_CHAIN_NAME_BYTES: usize = MAX_KEY_BYTES - MAX_NAME_BYTES - 16;
/// The most bytes of the reason why a chain was killed.
pub(crate) const MAX_REASON_BYTES: usize = 200;
/// The most bytes of an epoch's secret record.
pub const MAX_EPOCH_SECRET_BYTES: usize = 64 * 1024;

const CHECKSUM_BYTES: usize = 8;

/// The key of the number of changes to the stock.
const CHANGES_KEY: &[u8] = b"u";

fn checksum(key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let length = (key.len() as u32).to_le_bytes();
    let hash = Sha256::new()
        .chain_update(length)
        .chain_update(key)
        .chain_update(value);
    *hash.finalize().first_chunk().expect("32 bytes")
}

/// Rewrites the record of a stock in this index as a program whose format has this version would:
/// for tests of what this program then does.
#[doc(hidden)]
pub fn write_version(storage: &dyn Storage, index: &Path, version: u32) -> Result<(), StockError> {
    let opened = storage.open_index(index);
    let mut opened = opened.map_err(StockError::io(index, "open it"))?;
    opened.update(&mut |entries| {
        let mut records = Records::new(entries, index);
        let record = records.stock()?.expect("a stock");
        records.put_stock(StockRecord { version, ..record })
    })
}

/// The index inside a transaction, as records.
pub(crate) struct Records<'a> {
    entries: &'a mut dyn Entries,
    file: &'a Path,
    has_changed: bool,
    /// The chains whose records have changed: the total number of changes, or none if they are
    /// removed.
    chains: Vec<([u8; 16], ChainChange)>,
}

/// The changes of a transaction.
pub(crate) struct Changed {
    /// The number of changes to the stock, including this one.
    pub(crate) count: u64,
    /// The changed chains, and the change of each.
    pub(crate) chains: Vec<([u8; 16], ChainChange)>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(entries: &'a mut dyn Entries, file: &'a Path) -> Self {
        Self {
            entries,
            file,
            has_changed: false,
            chains: Vec::new(),
        }
    }

    fn parsed<T>(
        &self,
        key: &[u8],
        value: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<T, StockError> {
        let bad = |found: String| {
            let letter = key.first().copied().unwrap_or_default() as char;
            let expected = format!("a record of kind {letter:?} as it was written");
            StockError::corrupted(self.file, "an entry", found, expected, Repair::BeginAnew)
        };
        let (value, sum) = value
            .split_last_chunk::<CHECKSUM_BYTES>()
            .ok_or_else(|| bad("too short".to_owned()))?;
        if *sum != checksum(key, value) {
            return Err(bad("damaged (its checksum differs)".to_owned()));
        }
        parse(value).map_err(|malformed| bad(malformed.to_string()))
    }

    fn get<T>(
        &self,
        key: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<T>, StockError> {
        let value = self
            .entries
            .get(key)
            .map_err(StockError::io(self.file, "read it"))?;
        value
            .map(|value| self.parsed(key, &value, parse))
            .transpose()
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StockError> {
        self.has_changed = true;
        let value = [value, &checksum(key, value)].concat();
        self.entries
            .put(key, &value)
            .map_err(StockError::io(self.file, "write it"))
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), StockError> {
        self.has_changed = true;
        self.entries
            .remove(key)
            .map_err(StockError::io(self.file, "write it"))
    }

    fn scan(&self, prefix: &[u8]) -> Result<Vec<Entry>, StockError> {
        self.entries
            .scan(prefix)
            .map_err(StockError::io(self.file, "read it"))
    }

    /// Returns how often the stock has changed.
    pub(crate) fn changes(&self) -> Result<u64, StockError> {
        let count = |bytes: &[u8]| {
            let mut fields = Fields::of(bytes);
            let count = fields.u64()?;
            fields.end().map(|()| count)
        };
        Ok(self.get(CHANGES_KEY, count)?.unwrap_or(0))
    }

    /// Counts the changes of this transaction, as its last step.
    pub(crate) fn count_changes(mut self) -> Result<Option<Changed>, StockError> {
        if !self.has_changed {
            return Ok(None);
        }
        let count = self.changes()? + 1;
        self.put(CHANGES_KEY, &count.to_le_bytes())?;
        let chains = self.chains;
        Ok(Some(Changed { count, chains }))
    }

    /// Removes everything that belongs to an epoch.
    pub(crate) fn clear(&mut self) -> Result<(), StockError> {
        for prefix in [b"k", b"l", b"c", b"v", b"w"] {
            for (key, _) in self.scan(prefix)? {
                self.remove(&key)?;
            }
        }
        Ok(())
    }

    /// Returns the last bytes of a key. Its length is right if its checksum was.
    fn tail<const N: usize>(&self, key: &[u8]) -> Result<[u8; N], StockError> {
        key.last_chunk().copied().ok_or_else(|| {
            StockError::corrupted(
                self.file,
                "a key",
                "too short",
                "a longer one",
                Repair::BeginAnew,
            )
        })
    }
}
