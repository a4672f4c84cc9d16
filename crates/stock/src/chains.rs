//! Chains of runs that share kept values.
//!
//! A chain has a **state**, the caller's secret that moves forward before every attempt to run, and
//! **values** by name. Each run that saves something creates new versions of values. Saved values
//! become visible together, at both parties. Each party first makes them durable and *pending*,
//! then tells the other, and then publishes them. After a crash the parties' [`ChainMarks`] decide.
//! If one party has published a version, the other has it at least pending, and publishes it. A
//! party drops a version that it alone has. If the marks fit neither case, one of the stores was
//! restored from an old copy, and the chain is refused.
//!
//! **A chain drops** the older versions of a value when it publishes a newer one, which the peer
//! then has durably; a pending version that the peer lacks when they meet; the state when the next
//! one is durable; everything when it is killed. A killed chain stays killed until its owner
//! removes it. Its values are already gone before that.
//!
//! Only one process at a time can hold a chain.
//!
//! | file | what it does |
//! |---|---|
//! | `marks` | the progress of a chain at each party, and how both agree on one version |
//! | `uses` | the parties that may use a chain, and the program whose runs may |
//! | `version` | new versions: the values that a run saves |

mod marks;
mod uses;
mod version;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::policy::{check_chain_name, check_name};
use crate::records::{ChainRecord, MAX_REASON_BYTES, Records, ValueRecord};
use crate::values::{self, ValueName};
use crate::{Policy, Stock, StockError};

pub use marks::{ChainAgreement, ChainMarks, ChainStatus};
pub use version::NewVersion;

/// The most chains with one peer.
pub const MAX_CHAINS: usize = 1024;
/// The most values in one version of a chain.
pub const MAX_VALUES: usize = 4096;
/// The name under which a chain's state is stored among its values. Values have longer names.
const STATE: &str = "";

/// The right to use a chain, which need not exist yet.
pub struct Chain {
    stock: Stock,
    name: String,
    _lock: Box<dyn Send + Sync>,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Chain({:?})", self.name)
    }
}

/// A summary of a chain, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSummary {
    /// The chain's name.
    pub name: String,
    /// The chain's progress.
    pub marks: ChainMarks,
    /// The reason why the chain was killed.
    pub killed: Option<String>,
    /// The parties that may use its values.
    pub policy: Policy,
    /// Name, version and size in bytes of each value.
    pub values: Vec<(String, u64, u64)>,
    /// The bytes of all values and the state.
    pub bytes: u64,
}

impl Stock {
    /// Returns the chain of this name, which need not exist. Removes its remains after a crash.
    ///
    /// # Errors
    ///
    /// [`StockError::Busy`] if another process or thread holds it.
    pub fn chain(&self, name: &str) -> Result<Chain, StockError> {
        check_chain_name(name)?;
        let hash = Sha256::digest(name);
        let short: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let file = self.inner.chain_lock_path(&short);
        let lock = self.inner.storage.lock(&file)?;
        let chain = Chain {
            stock: self.clone(),
            name: name.to_owned(),
            _lock: lock.ok_or(StockError::Busy { file })?,
        };
        let left = chain.stock.inner.update(|records| {
            let left = records.writing(name)?;
            left.iter()
                .try_for_each(|&file| records.remove_writing(name, file))?;
            Ok(left)
        })?;
        chain.destroy(&left)?;
        Ok(chain)
    }

    /// Kills the chain of this name as [`Chain::kill`] does, even if a run holds it. That run
    /// finds the chain killed before it keeps anything.
    ///
    /// # Errors
    ///
    /// Those of [`Chain::kill`].
    pub fn kill_chain(&self, name: &str, why: &str) -> Result<(), StockError> {
        let chain = Chain {
            stock: self.clone(),
            name: name.to_owned(),
            _lock: Box::new(()),
        };
        chain.kill(why)
    }

    /// Returns summaries of all chains with this peer, including killed ones.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn chains(&self) -> Result<Vec<ChainSummary>, StockError> {
        self.inner.update(|records| {
            let summarise = |(name, record): (String, ChainRecord)| {
                let values = records.values(&name)?;
                let bytes = values.iter().map(|value| value.2.bytes).sum();
                let shown = values.into_iter().filter(|value| value.0 != STATE);
                Ok(ChainSummary {
                    marks: ChainMarks::of(&record),
                    killed: record.killed,
                    policy: record.policy,
                    values: shown
                        .map(|value| (value.0, value.1, value.2.bytes))
                        .collect(),
                    bytes,
                    name,
                })
            };
            records.chains()?.into_iter().map(summarise).collect()
        })
    }

    /// Reads every value of every chain, and returns the damaged ones.
    pub(crate) fn damaged_values(&self) -> Result<Vec<StockError>, StockError> {
        let mut damaged = Vec::new();
        for summary in self.chains()? {
            damaged.extend(self.damaged_in(&summary.name)?);
        }
        Ok(damaged)
    }

    /// Reads a chain's state and every value of it, and returns the damaged ones.
    ///
    /// # Errors
    ///
    /// Only if the check itself fails.
    pub fn damaged_in(&self, chain: &str) -> Result<Vec<StockError>, StockError> {
        let mut damaged = Vec::new();
        let all = self.inner.update(|records| records.values(chain))?;
        for (value, version, record) in all {
            let name = ValueName {
                chain,
                value: &value,
                version,
            };
            let Err(error) = values::read(&self.inner, &name, record) else {
                continue;
            };
            // Another process may have replaced it meanwhile.
            let now = self.inner.update(|records| records.values(chain))?;
            if now.contains(&(value, version, record)) {
                damaged.push(error);
            }
        }
        Ok(damaged)
    }
}

impl Chain {
    /// Returns the chain's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stock that contains the chain.
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    /// Returns the chain's progress here.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::Corrupted`].
    pub fn marks(&self) -> Result<ChainMarks, StockError> {
        let record = self
            .stock
            .inner
            .update(|records| records.chain(&self.name))?;
        Ok(record.map_or(ChainMarks::ABSENT, |record| ChainMarks::of(&record)))
    }

    /// Returns the caller's secret state of the chain.
    ///
    /// # Errors
    ///
    /// [`StockError::NoChain`], [`StockError::ChainKilled`], [`StockError::Corrupted`].
    pub fn state(&self) -> Result<Zeroizing<Vec<u8>>, StockError> {
        Ok(self.load_where(STATE, |_, _| true)?.1)
    }

    /// Replaces the state by that of attempt `attempt`, durably, and destroys the old one. Call
    /// this before the attempt sends any byte that depends on the state.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if this or a later attempt was started before;
    /// [`StockError::NoChain`], [`StockError::ChainKilled`], [`StockError::Full`].
    pub fn begin_attempt(&self, attempt: u64, state: &[u8]) -> Result<(), StockError> {
        let record = self.live()?.ok_or_else(|| self.absent())?;
        if attempt <= record.attempt {
            return Err(StockError::misuse(format!(
                "attempt {attempt} of chain {:?} after attempt {}",
                self.name, record.attempt
            )));
        }
        let written = self.write(STATE, attempt, state)?;
        let old = self.stock.inner.update(|records| {
            let mut record = self.live_in(records)?.ok_or_else(|| self.absent())?;
            record.attempt = attempt;
            let values = records.values(&self.name)?;
            let old: Vec<_> = values
                .into_iter()
                .filter(|value| value.0 == STATE)
                .collect();
            for (_, version, _) in &old {
                records.remove_value((&self.name, STATE, *version))?;
            }
            records.put_value((&self.name, STATE, attempt), written)?;
            records.remove_writing(&self.name, written.file)?;
            records.put_chain(&self.name, &record)?;
            Ok(old)
        })?;
        self.destroy_values(&old)
    }

    /// Returns the published version of a value, and the value. It can be loaded any number of
    /// times.
    ///
    /// # Errors
    ///
    /// [`StockError::NoValue`], [`StockError::NoChain`], [`StockError::ChainKilled`],
    /// [`StockError::Corrupted`].
    pub fn load(&self, value: &str) -> Result<(u64, Zeroizing<Vec<u8>>), StockError> {
        check_name(value)?;
        self.load_where(value, |version, record| version <= record.latest)
    }

    /// Whether a version of this value is published.
    ///
    /// # Errors
    ///
    /// [`StockError::NoChain`], [`StockError::ChainKilled`].
    pub fn holds(&self, value: &str) -> Result<bool, StockError> {
        check_name(value)?;
        self.stock.inner.update(|records| {
            let record = self.live_in(records)?.ok_or_else(|| self.absent())?;
            let values = records.values(&self.name)?;
            let is_it =
                |there: &(String, u64, ValueRecord)| there.0 == value && there.1 <= record.latest;
            Ok(values.iter().any(is_it))
        })
    }

    /// Makes the pending version the latest, and destroys older versions of its values. Call this
    /// once the peer has said that it has the version durably.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if `version` is not pending here; [`StockError::ChainKilled`].
    pub fn publish(&self, version: u64) -> Result<(), StockError> {
        let record = self.live()?.ok_or_else(|| self.absent())?;
        if record.pending != version {
            return Err(StockError::misuse(format!(
                "version {version} of chain {:?} is to be published, and the chain is {}",
                self.name,
                ChainMarks::of(&record)
            )));
        }
        let values = self
            .stock
            .inner
            .update(|records| records.values(&self.name))?;
        let has_newer = |value: &str, version: u64| {
            values
                .iter()
                .any(|other| other.0 == value && other.1 > version)
        };
        self.change(
            |record| {
                record.latest = record.pending;
                record.pending = 0;
            },
            |value, _| value.0 == STATE || !has_newer(&value.0, value.1),
        )
    }

    /// Kills the chain durably, and destroys its state and values. Call this before telling anyone.
    /// A chain that does not exist needs no killing.
    ///
    /// A full disk accepts no commit, but still lets files be overwritten. In that case the state
    /// and the values are destroyed all the same, so that no run can continue from them.
    ///
    /// # Errors
    ///
    /// [`StockError::NotKilled`]: call this again before anything else.
    pub fn kill(&self, why: &str) -> Result<(), StockError> {
        let why: String = why.chars().filter(|c| !c.is_control()).collect();
        let mut end = why.len().min(MAX_REASON_BYTES);
        while !why.is_char_boundary(end) {
            end -= 1;
        }
        let killed = self.change(
            |record| {
                record.pending = 0;
                record.killed.get_or_insert_with(|| why[..end].to_owned());
            },
            |_, _| false,
        );
        killed.map_err(|reason| {
            self.spoil();
            StockError::NotKilled {
                chain: self.name.clone(),
                why: why[..end].to_owned(),
                reason: Box::new(reason),
            }
        })
    }

    /// Destroys the state and all values, as far as the disk allows.
    fn spoil(&self) {
        let index = &self.stock.inner;
        let values = index.update(|records| records.values(&self.name));
        for (_, _, value) in values.unwrap_or_default() {
            // A value that stays is unchanged. The caller already gets an error.
            let _ = values::destroy(index, value.file);
        }
    }

    /// Removes the chain, killed or not, and destroys its state and values. Its name is free again.
    /// The peer must do the same.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`].
    pub fn remove(&self) -> Result<(), StockError> {
        let gone = self.stock.inner.update(|records| {
            let values = records.values(&self.name)?;
            for (value, version, _) in &values {
                records.remove_value((&self.name, value, *version))?;
            }
            records.remove_chain(&self.name)?;
            Ok(values)
        })?;
        self.destroy_values(&gone)
    }
}

impl Chain {
    fn absent(&self) -> StockError {
        StockError::NoChain {
            chain: self.name.clone(),
        }
    }

    fn live_in(&self, records: &Records<'_>) -> Result<Option<ChainRecord>, StockError> {
        let record = records.chain(&self.name)?;
        match record.as_ref().and_then(|record| record.killed.as_ref()) {
            Some(why) => Err(StockError::ChainKilled {
                chain: self.name.clone(),
                why: why.clone(),
            }),
            None => Ok(record),
        }
    }

    fn live(&self) -> Result<Option<ChainRecord>, StockError> {
        self.stock.inner.update(|records| self.live_in(records))
    }

    fn why_killed(&self) -> Result<String, StockError> {
        let record = self
            .stock
            .inner
            .update(|records| records.chain(&self.name))?;
        let why = record.and_then(|record| record.killed);
        Ok(why.unwrap_or_else(|| "the other party has killed it".to_owned()))
    }

    /// Changes the chain's record, keeps those of its values for which `keeps` is true, in one
    /// transaction, and then destroys the others. Does nothing to a chain that does not exist.
    fn change(
        &self,
        change: impl Fn(&mut ChainRecord),
        keeps: impl Fn(&(String, u64, ValueRecord), &ChainRecord) -> bool,
    ) -> Result<(), StockError> {
        let gone = self.stock.inner.update(|records| {
            let Some(mut record) = records.chain(&self.name)? else {
                return Ok(Vec::new());
            };
            change(&mut record);
            let mut gone = records.values(&self.name)?;
            gone.retain(|value| !keeps(value, &record));
            for (value, version, _) in &gone {
                records.remove_value((&self.name, value, *version))?;
            }
            records.put_chain(&self.name, &record)?;
            Ok(gone)
        })?;
        self.destroy_values(&gone)
    }

    /// Writes a value into a file that belongs to no version yet.
    fn write(&self, value: &str, version: u64, bytes: &[u8]) -> Result<ValueRecord, StockError> {
        let inner = &self.stock.inner;
        let name = ValueName {
            chain: &self.name,
            value,
            version,
        };
        let file = values::new_file()?;
        inner.update(|records| {
            values::check_room(inner, records, &name, bytes.len())?;
            records.put_writing(&self.name, file)
        })?;
        values::write(inner, &name, file, bytes)
    }

    /// Returns the last version of a value for which `counts` is true.
    fn load_where(
        &self,
        value: &str,
        counts: impl Fn(u64, &ChainRecord) -> bool,
    ) -> Result<(u64, Zeroizing<Vec<u8>>), StockError> {
        let found = self.stock.inner.update(|records| {
            let record = self.live_in(records)?.ok_or_else(|| self.absent())?;
            let mut all = records.values(&self.name)?;
            all.retain(|there| there.0 == value && counts(there.1, &record));
            Ok(all.pop())
        })?;
        let Some((_, version, record)) = found else {
            return Err(StockError::NoValue {
                chain: self.name.clone(),
                value: value.to_owned(),
            });
        };
        let name = ValueName {
            chain: &self.name,
            value,
            version,
        };
        Ok((version, values::read(&self.stock.inner, &name, record)?))
    }

    fn destroy(&self, files: &[u64]) -> Result<(), StockError> {
        files
            .iter()
            .try_for_each(|&file| values::destroy(&self.stock.inner, file))
    }

    fn destroy_values(&self, gone: &[(String, u64, ValueRecord)]) -> Result<(), StockError> {
        let files: Vec<u64> = gone.iter().map(|value| value.2.file).collect();
        self.destroy(&files)
    }
}
