//! The record of a kept value, and of a file that is about to be written for a chain.

use super::Records;
use crate::StockError;
use crate::codec::{Fields, Malformed};
use crate::storage::Entry;

/// The location of a kept value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueRecord {
    /// The number that names the file.
    pub(crate) file: u64,
    /// The bytes of the value.
    pub(crate) bytes: u64,
}

impl ValueRecord {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            Ok(Self {
                file: fields.u64()?,
                bytes: fields.u64()?,
            })
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        [self.file.to_le_bytes(), self.bytes.to_le_bytes()].concat()
    }
}

/// Returns the prefix of the keys of a chain's values.
fn values_prefix(chain: &str) -> Vec<u8> {
    [b"v", chain.as_bytes(), &[0]].concat()
}

fn value_key(chain: &str, value: &str, version: u64) -> Vec<u8> {
    let version = version.to_be_bytes();
    [&values_prefix(chain), value.as_bytes(), &[0], &version].concat()
}

/// Returns the prefix of the keys of files that are being written for a chain.
fn writing_prefix(chain: &str) -> Vec<u8> {
    [b"w", chain.as_bytes(), &[0]].concat()
}

fn writing_key(chain: &str, file: u64) -> Vec<u8> {
    [&writing_prefix(chain)[..], &file.to_be_bytes()].concat()
}

impl Records<'_> {
    pub(crate) fn put_value(
        &mut self,
        (chain, value, version): (&str, &str, u64),
        record: ValueRecord,
    ) -> Result<(), StockError> {
        self.put(&value_key(chain, value, version), &record.to_bytes())
    }

    pub(crate) fn remove_value(
        &mut self,
        (chain, value, version): (&str, &str, u64),
    ) -> Result<(), StockError> {
        self.remove(&value_key(chain, value, version))
    }

    /// Returns the values of a chain, by name and version.
    pub(crate) fn values(
        &self,
        chain: &str,
    ) -> Result<Vec<(String, u64, ValueRecord)>, StockError> {
        let prefix = values_prefix(chain);
        let parse = |(key, value): Entry| {
            let record = self.parsed(&key, &value, ValueRecord::parse)?;
            let version = u64::from_be_bytes(self.tail(&key)?);
            let name = key.get(prefix.len()..key.len().saturating_sub(9));
            let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
            Ok((name, version, record))
        };
        self.scan(&prefix)?.into_iter().map(parse).collect()
    }

    /// Records a file that is about to be written for a chain, so that nobody takes it for a stray.
    pub(crate) fn put_writing(&mut self, chain: &str, file: u64) -> Result<(), StockError> {
        self.put(&writing_key(chain, file), &[])
    }

    pub(crate) fn remove_writing(&mut self, chain: &str, file: u64) -> Result<(), StockError> {
        self.remove(&writing_key(chain, file))
    }

    /// Returns the files that were about to be written for a chain.
    pub(crate) fn writing(&self, chain: &str) -> Result<Vec<u64>, StockError> {
        self.files_of(&writing_prefix(chain))
    }

    fn files_of(&self, prefix: &[u8]) -> Result<Vec<u64>, StockError> {
        let file = |(key, value): Entry| {
            self.parsed(&key, &value, |_| Ok(()))?;
            Ok(u64::from_be_bytes(self.tail(&key)?))
        };
        self.scan(prefix)?.into_iter().map(file).collect()
    }

    /// Returns the records of all values of all chains.
    pub(crate) fn all_values(&self) -> Result<Vec<ValueRecord>, StockError> {
        let record = |(key, value): Entry| self.parsed(&key, &value, ValueRecord::parse);
        self.scan(b"v")?.into_iter().map(record).collect()
    }

    /// Returns every file of a value that exists or is about to be written.
    pub(crate) fn value_files(&self) -> Result<Vec<u64>, StockError> {
        let mut files = self.files_of(b"w")?;
        files.extend(self.all_values()?.iter().map(|record| record.file));
        Ok(files)
    }
}
