//! New versions of a chain: the values that a run saves.

use super::{Chain, ChainMarks, MAX_CHAINS, MAX_VALUES, STATE};
use crate::policy::check_name;
use crate::records::{ChainRecord, ValueRecord};
use crate::{Policy, StockError};

impl Chain {
    /// Creates the chain with its first version, which is 1, for the runs of `program`. The chain
    /// exists once that version is [finished](NewVersion::finish).
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if the chain exists, or there are too many;
    /// [`StockError::ChainKilled`], [`StockError::Full`].
    pub fn create(
        &self,
        id: [u8; 16],
        policy: &Policy,
        program: Option<[u8; 32]>,
        state: &[u8],
    ) -> Result<NewVersion<'_>, StockError> {
        let count = self.stock.inner.update(|records| records.chains())?.len();
        if self.live()?.is_some() || count >= MAX_CHAINS {
            return Err(StockError::misuse(format!(
                "a new chain {:?}: it is there already, or there are {MAX_CHAINS} chains",
                self.name
            )));
        }
        let record = ChainRecord {
            id,
            attempt: 0,
            latest: 0,
            pending: 1,
            killed: None,
            policy: policy.clone(),
            program,
            changes: 0,
        };
        let state = (STATE.to_owned(), 0, self.write(STATE, 0, state)?);
        Ok(NewVersion {
            chain: self,
            version: 1,
            new: Some(record),
            values: vec![state],
        })
    }

    /// Starts a version of the chain, for the values that a run saves.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if `version` is not above every other; [`StockError::NoChain`],
    /// [`StockError::ChainKilled`].
    pub fn begin_version(&self, version: u64) -> Result<NewVersion<'_>, StockError> {
        let record = self.live()?.ok_or_else(|| self.absent())?;
        if record.pending != 0 || version <= record.latest {
            return Err(StockError::misuse(format!(
                "version {version} of chain {:?}, which is {}",
                self.name,
                ChainMarks::of(&record)
            )));
        }
        Ok(NewVersion {
            chain: self,
            version,
            new: None,
            values: Vec::new(),
        })
    }
}

/// A version that is being written. If it is dropped, it leaves nothing.
#[derive(Debug)]
pub struct NewVersion<'c> {
    chain: &'c Chain,
    version: u64,
    /// The record of the chain, if this version starts it.
    new: Option<ChainRecord>,
    values: Vec<(String, u64, ValueRecord)>,
}

impl NewVersion<'_> {
    /// Writes a value of this version, durably.
    ///
    /// # Errors
    ///
    /// [`StockError::Full`]; [`StockError::ApiMisuse`] if the name is invalid or used twice, or
    /// there are too many values.
    pub fn put(&mut self, value: &str, bytes: &[u8]) -> Result<(), StockError> {
        check_name(value)?;
        let is_there = self.values.iter().any(|there| there.0 == value);
        if is_there || self.values.len() > MAX_VALUES {
            return Err(StockError::misuse(format!(
                "{value:?} is saved twice, or more than {MAX_VALUES} values are"
            )));
        }
        let written = self.chain.write(value, self.version, bytes)?;
        self.values.push((value.to_owned(), self.version, written));
        Ok(())
    }

    /// Makes the version pending, durably. Returns its number, which the caller tells the peer.
    ///
    /// # Errors
    ///
    /// [`StockError::ChainKilled`], [`StockError::Io`].
    pub fn finish(self) -> Result<u64, StockError> {
        let name = &self.chain.name;
        self.chain.stock.inner.update(|records| {
            let there = self.chain.live_in(records)?;
            let record = self.new.clone().or(there).map(|mut record| {
                record.pending = self.version;
                record
            });
            let record = record.ok_or_else(|| self.chain.absent())?;
            for (value, version, written) in &self.values {
                records.put_value((name, value, *version), *written)?;
                records.remove_writing(name, written.file)?;
            }
            records.put_chain(name, &record)
        })?;
        Ok(self.version)
    }
}
