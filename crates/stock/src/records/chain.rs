//! The record of a chain of runs.

use super::Records;
use crate::codec::{Fields, Malformed};
use crate::storage::Entry;
use crate::witness::ChainChange;
use crate::{Policy, StockError};

/// A chain of runs that share kept values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChainRecord {
    pub(crate) id: [u8; 16],
    /// The number of attempts to run that were started.
    pub(crate) attempt: u64,
    /// The version up to which both parties have every value, or 0 before the first.
    pub(crate) latest: u64,
    /// The version that is durable here and may be durable at the peer, or 0 if there is none.
    pub(crate) pending: u64,
    /// The reason why the chain was killed.
    pub(crate) killed: Option<String>,
    pub(crate) policy: Policy,
    /// The program whose runs may use the chain. If `None`, functions without a program may.
    pub(crate) program: Option<[u8; 32]>,
    /// The number of changes to the record.
    pub(crate) changes: u64,
}

impl ChainRecord {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            Ok(Self {
                id: fields.array()?,
                attempt: fields.u64()?,
                latest: fields.u64()?,
                pending: fields.u64()?,
                killed: {
                    let is_killed = fields.flag("state")?;
                    let length = usize::from(fields.u16()?);
                    let reason = fields.text(length, "reason")?;
                    is_killed.then_some(reason)
                },
                policy: Policy::parse(fields)?,
                program: if fields.flag("program")? {
                    Some(fields.array()?)
                } else {
                    None
                },
                changes: fields.u64()?,
            })
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let reason = self.killed.as_deref().unwrap_or_default();
        [
            &self.id[..],
            &self.attempt.to_le_bytes(),
            &self.latest.to_le_bytes(),
            &self.pending.to_le_bytes(),
            &[u8::from(self.killed.is_some())],
            &(reason.len() as u16).to_le_bytes(),
            reason.as_bytes(),
            &self.policy.to_bytes(),
            &[u8::from(self.program.is_some())],
            self.program.as_ref().map_or(&[], |program| &program[..]),
            &self.changes.to_le_bytes(),
        ]
        .concat()
    }
}

fn key(chain: &str) -> Vec<u8> {
    [b"c", chain.as_bytes()].concat()
}

impl Records<'_> {
    pub(crate) fn chain(&self, chain: &str) -> Result<Option<ChainRecord>, StockError> {
        self.get(&key(chain), ChainRecord::parse)
    }

    pub(crate) fn put_chain(
        &mut self,
        chain: &str,
        record: &ChainRecord,
    ) -> Result<(), StockError> {
        let mut record = record.clone();
        record.changes += 1;
        let change = ChainChange::Changed(record.changes);
        self.chains.push((record.id, change));
        self.put(&key(chain), &record.to_bytes())
    }

    pub(crate) fn remove_chain(&mut self, chain: &str) -> Result<(), StockError> {
        if let Some(record) = self.chain(chain)? {
            let never_was = record.latest == 0 && record.killed.is_none();
            let change = if never_was {
                ChainChange::NeverWas
            } else {
                ChainChange::Ended
            };
            self.chains.push((record.id, change));
        }
        self.remove(&key(chain))
    }

    /// Returns all chains by name.
    pub(crate) fn chains(&self) -> Result<Vec<(String, ChainRecord)>, StockError> {
        let parse = |(key, value): Entry| {
            let record = self.parsed(&key, &value, ChainRecord::parse)?;
            let name = key.get(1..).unwrap_or_default();
            Ok((String::from_utf8_lossy(name).into_owned(), record))
        };
        self.scan(b"c")?.into_iter().map(parse).collect()
    }
}
