//! The record of a chain of runs that two parties keep.

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{BROKEN, ChainId, ChainVersion, Reader, StoredChain, steps_to};
use crate::Error;
use crate::malicious::oracle::Oracle;
use crate::session::RunTag;

/// Returns the oracle that names the chain that a run starts and the values that it saves, under
/// `prepared` and `authenticated`. The tags of their runs differ, so one prefix serves both.
pub(crate) fn id_oracle(tag: &RunTag) -> Oracle {
    let hash = Sha256::new_with_prefix(b"tacit prepared run 1\0").chain_update(tag.as_bytes());
    let mut name = [0; 16];
    name.copy_from_slice(&hash.finalize()[..16]);
    Oracle::named(name)
}

/// A chain of runs of two parties: its name and its progress. It has no secret of its own.
///
/// Bytes, numbers little-endian:
///
/// | bytes | field |
/// |---|---|
/// | 1 | version of this table, 1 |
/// | 1 | owner: 3, garbler or evaluator of `prepared`; 4 garbler, 5 evaluator of `authenticated` |
/// | 16 | id |
/// | 8 | attempt |
/// | under `authenticated` more | see `authenticated` |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairChain {
    id: ChainId,
    attempt: u64,
    /// The version that a run loads from; 0 before one is saved.
    version: u64,
}

impl PairChain {
    /// The size of the fields that all chains have.
    pub(crate) const BYTES: usize = 26;

    const VERSION: u8 = 1;
    const OF_PREPARED: u8 = 3;

    /// Returns the chain that the run `tag` starts.
    pub fn new(tag: &RunTag) -> Self {
        Self {
            id: ChainId::new(&id_oracle(tag)),
            attempt: 0,
            version: 0,
        }
    }

    /// Returns the version that a run loads from, and the attempt.
    pub fn place(&self) -> (ChainVersion, u64) {
        let (id, version) = (self.id, self.version);
        (ChainVersion { id, version }, self.attempt)
    }

    /// Appends the fields that all chains have, for a party with the owner byte `whose`.
    pub(crate) fn write(&self, whose: u8, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[Self::VERSION, whose]);
        bytes.extend_from_slice(&self.id.0);
        bytes.extend_from_slice(&self.attempt.to_le_bytes());
    }

    /// Reads the fields that all chains have.
    pub(crate) fn read(whose: u8, reader: &mut Reader<'_>) -> Result<Self, Error> {
        if reader.array()? != [Self::VERSION, whose] {
            return Err(BROKEN);
        }
        Ok(Self {
            id: ChainId(reader.array()?),
            attempt: u64::from_le_bytes(reader.array()?),
            version: 0,
        })
    }
}

impl StoredChain for PairChain {
    fn id(&self) -> ChainId {
        self.id
    }

    fn forward_to(&mut self, attempt: u64) -> Result<(), Error> {
        steps_to(self.attempt, attempt)?;
        self.attempt = attempt;
        Ok(())
    }

    fn at_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(Self::BYTES));
        self.write(Self::OF_PREPARED, &mut bytes);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let chain = Self::read(Self::OF_PREPARED, &mut reader)?;
        reader.end()?;
        Ok(chain)
    }
}
