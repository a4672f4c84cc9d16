//! The index's records: what is durable, of which kind, and what of it is spent.
//!
//! Keys begin with a letter; values are little-endian fields and end with eight bytes of SHA-256
//! over key and value, since SQLite does not notice a flipped bit. docs/stock.md has the tables.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::codec::{Fields, Malformed};
use crate::error::BEGIN_ANEW;
use crate::lot::LotRecord;
use crate::storage::{Entries, Entry, MAX_KEY_BYTES};
use crate::{ComponentDigest, EpochId, PeerId, Policy, SchemeId, Shape, Span, StockError, StockId};

/// The version of every file and record of a stock.
pub const FORMAT_VERSION: u32 = 2;
/// Kinds in an epoch.
pub const MAX_KINDS: usize = 4096;
/// Lots of a kind that wait for the peer's acknowledgement.
pub const MAX_PENDING_LOTS: usize = 64;
/// Bytes of the name of a kept value, as of a function's port.
pub const MAX_NAME_BYTES: usize = 64;
/// Bytes of the name of a chain: with a value's name, a version and marks between them it makes a
/// key of the index.
pub const MAX_CHAIN_NAME_BYTES: usize = MAX_KEY_BYTES - MAX_NAME_BYTES - 16;
/// Bytes of why a chain was killed.
pub(crate) const MAX_REASON_BYTES: usize = 200;
/// Bytes of an epoch's secret record.
pub const MAX_EPOCH_SECRET_BYTES: usize = 64 * 1024;

const CHECKSUM_BYTES: usize = 8;

pub(crate) const STOCK_KEY: &[u8] = b"h";
pub(crate) const EPOCH_KEY: &[u8] = b"e";
/// How often the stock has changed.
const CHANGES_KEY: &[u8] = b"u";

/// What the stock is: written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StockRecord {
    pub(crate) version: u32,
    pub(crate) own: PeerId,
    pub(crate) peer: PeerId,
    pub(crate) role: u8,
    pub(crate) scheme: SchemeId,
}

/// The epoch that runs, and the meetings with the peer in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EpochRecord {
    pub(crate) id: EpochId,
    /// The latest meeting of the two parties that is recorded here.
    pub(crate) meeting: u64,
    /// The latest meeting that the peer has confirmed to have recorded.
    pub(crate) peer_confirmed: u64,
    /// The caller's secret of the epoch, sealed under the epoch's key.
    pub(crate) sealed_secret: Vec<u8>,
}

/// A kind of material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KindRecord {
    /// Which pages of the key file are its.
    pub(crate) slot: u32,
    pub(crate) shape: Shape,
    /// No lot was ever started at or above this number.
    pub(crate) reserved: u64,
    /// Every number below is spent.
    pub(crate) leased: u64,
    /// Lots ever published.
    pub(crate) published: u64,
    /// A hash over the published lots in their order.
    pub(crate) chain: [u8; 32],
    /// Every number below was given up, also where a process passed over it and has its key.
    pub(crate) given_up: u64,
}

/// Where a kept value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueRecord {
    /// Names the file.
    pub(crate) file: u64,
    /// Bytes of the value.
    pub(crate) bytes: u64,
}

/// A chain of runs that share kept values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChainRecord {
    pub(crate) id: [u8; 16],
    /// Attempts to run that were started.
    pub(crate) attempt: u64,
    /// The version up to which both parties have every value; 0 before the first.
    pub(crate) latest: u64,
    /// The version that is durable here and may be at the peer; 0 where there is none.
    pub(crate) pending: u64,
    /// Why it was killed.
    pub(crate) killed: Option<String>,
    pub(crate) policy: Policy,
    /// The program whose runs may use the chain; without one, functions of none.
    pub(crate) program: Option<[u8; 32]>,
    /// How often the record has changed.
    pub(crate) changes: u64,
}

impl StockRecord {
    pub(crate) fn of(id: &StockId) -> Self {
        Self {
            version: FORMAT_VERSION,
            own: id.own,
            peer: id.peer,
            role: id.role.byte(),
            scheme: id.scheme,
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let record = Self {
            version: fields.u32()?,
            own: PeerId(fields.array()?),
            peer: PeerId(fields.array()?),
            role: fields.u8()?,
            scheme: SchemeId(fields.array()?),
        };
        fields.end()?;
        Ok(record)
    }

    fn to_bytes(self) -> Vec<u8> {
        let version = self.version.to_le_bytes();
        [
            &version[..],
            &self.own.0,
            &self.peer.0,
            &[self.role],
            &self.scheme.0,
        ]
        .concat()
    }
}

impl EpochRecord {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let id = EpochId {
            number: fields.u64()?,
            nonce: fields.array()?,
        };
        let (meeting, peer_confirmed) = (fields.u64()?, fields.u64()?);
        let length = fields.u32()? as usize;
        let sealed_secret = fields.bytes(length)?.to_vec();
        fields.end()?;
        Ok(Self {
            id,
            meeting,
            peer_confirmed,
            sealed_secret,
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let length = self.sealed_secret.len() as u32;
        [
            &self.id.number.to_le_bytes()[..],
            &self.id.nonce,
            &self.meeting.to_le_bytes(),
            &self.peer_confirmed.to_le_bytes(),
            &length.to_le_bytes(),
            &self.sealed_secret,
        ]
        .concat()
    }
}

impl KindRecord {
    /// No number from here on is of a lot that was started, or is spent.
    pub(crate) fn end(&self) -> u64 {
        self.reserved.max(self.leased)
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let record = Self {
            slot: fields.u32()?,
            shape: Shape {
                secret_bytes: fields.u32()?,
                table_bytes: fields.u32()?,
            },
            reserved: fields.u64()?,
            leased: fields.u64()?,
            published: fields.u64()?,
            chain: fields.array()?,
            given_up: fields.later_u64()?,
        };
        fields.end()?;
        Ok(record)
    }

    fn to_bytes(self) -> Vec<u8> {
        [
            &self.slot.to_le_bytes()[..],
            &self.shape.secret_bytes.to_le_bytes(),
            &self.shape.table_bytes.to_le_bytes(),
            &self.reserved.to_le_bytes(),
            &self.leased.to_le_bytes(),
            &self.published.to_le_bytes(),
            &self.chain,
            &self.given_up.to_le_bytes(),
        ]
        .concat()
    }

    /// Counts one more published lot.
    pub(crate) fn publish(&mut self, lot: Span) {
        self.published += 1;
        self.chain = chained(&self.chain, lot);
    }
}

/// The hash over published lots, one lot further.
pub(crate) fn chained(chain: &[u8; 32], lot: Span) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"tacit stock lots")
        .chain_update(chain)
        .chain_update(lot.first.to_le_bytes())
        .chain_update(lot.count.to_le_bytes())
        .finalize()
        .into()
}

impl ValueRecord {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let (file, bytes) = (fields.u64()?, fields.u64()?);
        fields.end()?;
        Ok(Self { file, bytes })
    }

    fn to_bytes(self) -> Vec<u8> {
        [self.file.to_le_bytes(), self.bytes.to_le_bytes()].concat()
    }
}

impl ChainRecord {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let id = fields.array()?;
        let (attempt, latest, pending) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let is_killed = match fields.u8()? {
            0 => false,
            1 => true,
            _ => return Err(Malformed::Value("state")),
        };
        let length = usize::from(fields.u16()?);
        let reason = String::from_utf8(fields.bytes(length)?.to_vec());
        let reason = reason.map_err(|_| Malformed::Value("reason"))?;
        let policy = Policy::parse(&mut fields)?;
        let program = match fields.u8()? {
            0 => None,
            1 => Some(fields.array()?),
            _ => return Err(Malformed::Value("program")),
        };
        let changes = fields.later_u64()?;
        fields.end()?;
        Ok(Self {
            id,
            attempt,
            latest,
            pending,
            killed: is_killed.then_some(reason),
            policy,
            program,
            changes,
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

fn kind_key(kind: &ComponentDigest) -> Vec<u8> {
    [b"k", &kind.0[..]].concat()
}

fn lot_key(kind: &ComponentDigest, first: u64) -> Vec<u8> {
    [b"l", &kind.0[..], &first.to_be_bytes()].concat()
}

fn chain_key(chain: &str) -> Vec<u8> {
    [b"c", chain.as_bytes()].concat()
}

/// What the keys of a chain's values begin with.
fn values_prefix(chain: &str) -> Vec<u8> {
    [b"v", chain.as_bytes(), &[0]].concat()
}

fn value_key(chain: &str, value: &str, version: u64) -> Vec<u8> {
    let version = version.to_be_bytes();
    [&values_prefix(chain), value.as_bytes(), &[0], &version].concat()
}

/// What the keys of files that are being written for a chain begin with.
fn writing_prefix(chain: &str) -> Vec<u8> {
    [b"w", chain.as_bytes(), &[0]].concat()
}

fn writing_key(chain: &str, file: u64) -> Vec<u8> {
    [&writing_prefix(chain)[..], &file.to_be_bytes()].concat()
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let length = (key.len() as u32).to_le_bytes();
    let hash = Sha256::new()
        .chain_update(length)
        .chain_update(key)
        .chain_update(value);
    *hash.finalize().first_chunk().expect("32 bytes")
}

/// The index inside a transaction, in records.
pub(crate) struct Records<'a> {
    entries: &'a mut dyn Entries,
    file: &'a Path,
    has_changed: bool,
    /// Chains whose records have changed: their changes in all, or none where they are removed.
    chains: Vec<([u8; 16], Option<u64>)>,
}

/// What a transaction has changed.
pub(crate) struct Changed {
    /// Changes of the stock, this one included.
    pub(crate) count: u64,
    /// Chains and how often they have changed, or none where they are removed.
    pub(crate) chains: Vec<([u8; 16], Option<u64>)>,
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
            StockError::corrupted(self.file, "an entry", found, expected, BEGIN_ANEW)
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

    /// How often the stock has changed.
    pub(crate) fn changes(&self) -> Result<u64, StockError> {
        let count = |bytes: &[u8]| {
            let mut fields = Fields::of(bytes);
            let count = fields.u64()?;
            fields.end().map(|()| count)
        };
        Ok(self.get(CHANGES_KEY, count)?.unwrap_or(0))
    }

    /// Counts what this transaction has changed, as its last step.
    pub(crate) fn count_changes(mut self) -> Result<Option<Changed>, StockError> {
        if !self.has_changed {
            return Ok(None);
        }
        let count = self.changes()? + 1;
        self.put(CHANGES_KEY, &count.to_le_bytes())?;
        let chains = self.chains;
        Ok(Some(Changed { count, chains }))
    }

    pub(crate) fn stock(&self) -> Result<Option<StockRecord>, StockError> {
        self.get(STOCK_KEY, StockRecord::parse)
    }

    pub(crate) fn put_stock(&mut self, record: StockRecord) -> Result<(), StockError> {
        self.put(STOCK_KEY, &record.to_bytes())
    }

    pub(crate) fn epoch(&self) -> Result<EpochRecord, StockError> {
        let record = self.get(EPOCH_KEY, EpochRecord::parse)?;
        record.ok_or_else(|| {
            StockError::corrupted(self.file, "the epoch", "absent", "an epoch", BEGIN_ANEW)
        })
    }

    /// Whether this epoch has not ended.
    pub(crate) fn is_epoch(&self, id: &EpochId) -> Result<bool, StockError> {
        let record = self.get(EPOCH_KEY, EpochRecord::parse)?;
        Ok(record.is_some_and(|record| record.id == *id))
    }

    pub(crate) fn remove_epoch(&mut self) -> Result<(), StockError> {
        self.remove(EPOCH_KEY)
    }

    pub(crate) fn put_epoch(&mut self, record: &EpochRecord) -> Result<(), StockError> {
        self.put(EPOCH_KEY, &record.to_bytes())
    }

    pub(crate) fn kind(&self, kind: &ComponentDigest) -> Result<Option<KindRecord>, StockError> {
        self.get(&kind_key(kind), KindRecord::parse)
    }

    pub(crate) fn put_kind(
        &mut self,
        kind: &ComponentDigest,
        record: KindRecord,
    ) -> Result<(), StockError> {
        self.put(&kind_key(kind), &record.to_bytes())
    }

    pub(crate) fn remove_kind(&mut self, kind: &ComponentDigest) -> Result<(), StockError> {
        self.remove(&kind_key(kind))
    }

    pub(crate) fn kinds(&self) -> Result<Vec<(ComponentDigest, KindRecord)>, StockError> {
        let parse = |(key, value): Entry| {
            let record = self.parsed(&key, &value, KindRecord::parse)?;
            Ok((ComponentDigest(self.tail(&key)?), record))
        };
        self.scan(b"k")?.into_iter().map(parse).collect()
    }

    pub(crate) fn lot(
        &self,
        kind: &ComponentDigest,
        first: u64,
    ) -> Result<Option<LotRecord>, StockError> {
        self.get(&lot_key(kind, first), |bytes| {
            LotRecord::parse(first, bytes)
        })
    }

    pub(crate) fn put_lot(
        &mut self,
        kind: &ComponentDigest,
        lot: &LotRecord,
    ) -> Result<(), StockError> {
        self.put(&lot_key(kind, lot.span.first), &lot.to_bytes())
    }

    pub(crate) fn remove_lot(
        &mut self,
        kind: &ComponentDigest,
        first: u64,
    ) -> Result<(), StockError> {
        self.remove(&lot_key(kind, first))
    }

    /// The lots of a kind, by number.
    pub(crate) fn lots(&self, kind: &ComponentDigest) -> Result<Vec<LotRecord>, StockError> {
        let parse = |(key, value): Entry| {
            let first = u64::from_be_bytes(self.tail(&key)?);
            self.parsed(&key, &value, |bytes| LotRecord::parse(first, bytes))
        };
        let lots = self.scan(&[b"l", &kind.0[..]].concat())?;
        lots.into_iter().map(parse).collect()
    }

    pub(crate) fn chain(&self, chain: &str) -> Result<Option<ChainRecord>, StockError> {
        self.get(&chain_key(chain), ChainRecord::parse)
    }

    pub(crate) fn put_chain(
        &mut self,
        chain: &str,
        record: &ChainRecord,
    ) -> Result<(), StockError> {
        let mut record = record.clone();
        record.changes += 1;
        self.chains.push((record.id, Some(record.changes)));
        self.put(&chain_key(chain), &record.to_bytes())
    }

    pub(crate) fn remove_chain(&mut self, chain: &str) -> Result<(), StockError> {
        if let Some(record) = self.chain(chain)? {
            self.chains.push((record.id, None));
        }
        self.remove(&chain_key(chain))
    }

    /// All chains by name.
    pub(crate) fn chains(&self) -> Result<Vec<(String, ChainRecord)>, StockError> {
        let parse = |(key, value): Entry| {
            let record = self.parsed(&key, &value, ChainRecord::parse)?;
            let name = key.get(1..).unwrap_or_default();
            Ok((String::from_utf8_lossy(name).into_owned(), record))
        };
        self.scan(b"c")?.into_iter().map(parse).collect()
    }

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

    /// The values of a chain, by name and version.
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

    /// Notes a file that is about to be written for a chain, so that nobody takes it for a stray.
    pub(crate) fn put_writing(&mut self, chain: &str, file: u64) -> Result<(), StockError> {
        self.put(&writing_key(chain, file), &[])
    }

    pub(crate) fn remove_writing(&mut self, chain: &str, file: u64) -> Result<(), StockError> {
        self.remove(&writing_key(chain, file))
    }

    /// Files that were about to be written for a chain.
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

    /// The records of all values of all chains.
    pub(crate) fn all_values(&self) -> Result<Vec<ValueRecord>, StockError> {
        let record = |(key, value): Entry| self.parsed(&key, &value, ValueRecord::parse);
        self.scan(b"v")?.into_iter().map(record).collect()
    }

    /// Every file of a value that is there or about to be written.
    pub(crate) fn value_files(&self) -> Result<Vec<u64>, StockError> {
        let mut files = self.files_of(b"w")?;
        files.extend(self.all_values()?.iter().map(|record| record.file));
        Ok(files)
    }

    /// Removes all that belongs to an epoch.
    pub(crate) fn clear(&mut self) -> Result<(), StockError> {
        for prefix in [b"k", b"l", b"c", b"v", b"w"] {
            for (key, _) in self.scan(prefix)? {
                self.remove(&key)?;
            }
        }
        Ok(())
    }

    /// The end of a key, whose length was right when its checksum was.
    fn tail<const N: usize>(&self, key: &[u8]) -> Result<[u8; N], StockError> {
        key.last_chunk().copied().ok_or_else(|| {
            StockError::corrupted(self.file, "a key", "too short", "a longer one", BEGIN_ANEW)
        })
    }
}
