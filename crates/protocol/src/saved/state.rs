//! The state that the two parties that keep values compare before a run takes any of them.
//!
//! | byte | field |
//! |---|---|
//! | 0 | 1 if the parties continue a chain; 0, and then zeros, if they start one |
//! | 1..17 | the chain's id |
//! | 17..25 | its attempt, little-endian |
//! | 25..33 | the version that is loaded, little-endian |
//! | 33..65 | hash of the marks and types of all loads |

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;

use super::{ChainId, ChainVersion, EvaluatorHalf, GarblerHalf, Labels, SharedHalf};
use crate::{Error, Incompatibility};

/// The state that a party that keeps values brings to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// The version and the attempt of the chain that the run continues.
    chain: Option<(ChainVersion, u64)>,
    /// Hash of the marks and types of the loaded values.
    loads: [u8; 32],
}

impl SavedState {
    /// The size in bytes.
    pub const BYTES: usize = 65;

    /// Returns the state of a run that continues `chain` at its version and attempt and loads these
    /// values.
    pub(crate) fn new<'a>(
        chain: Option<(ChainVersion, u64)>,
        loads: impl Iterator<Item = &'a Labels>,
    ) -> Self {
        let mut hash = Sha256::new_with_prefix(b"tacit outsourced loads 1\0");
        for value in loads {
            hash.update(value.mark.0);
            hash.update((value.ty.len() as u16).to_le_bytes());
            hash.update(&value.ty);
        }
        Self {
            chain,
            loads: hash.finalize().into(),
        }
    }

    /// Returns the state of a garbler that continues `chain` and loads these values.
    pub fn of_garbler(chain: Option<(ChainVersion, u64)>, loads: &[GarblerHalf]) -> Self {
        Self::new(chain, loads.iter().map(|value| &value.0))
    }

    /// Returns the state of an evaluator that continues `chain` and loads these values.
    pub fn of_evaluator(chain: Option<(ChainVersion, u64)>, loads: &[EvaluatorHalf]) -> Self {
        Self::new(chain, loads.iter().map(|value| &value.0))
    }

    /// Returns the state of either party of `authenticated` that continues `chain` and loads these
    /// values.
    pub fn of_shared(chain: Option<(ChainVersion, u64)>, loads: &[SharedHalf]) -> Self {
        Self::new(chain, loads.iter().map(|value| &value.0))
    }

    /// Returns the version and the attempt of the chain that the run continues.
    pub(crate) fn chain(&self) -> Option<(ChainVersion, u64)> {
        self.chain
    }

    /// Returns the state's bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        if let Some((chain, attempt)) = &self.chain {
            bytes[0] = 1;
            bytes[1..17].copy_from_slice(&chain.id.0);
            bytes[17..25].copy_from_slice(&attempt.to_le_bytes());
            bytes[25..33].copy_from_slice(&chain.version.to_le_bytes());
        }
        bytes[33..].copy_from_slice(&self.loads);
        bytes
    }

    /// Returns the state with these bytes, if there is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| Some(u64::from_le_bytes(*bytes[at..].first_chunk()?));
        let chain = ChainVersion {
            id: ChainId(*bytes[1..].first_chunk()?),
            version: number(25)?,
        };
        let state = Self {
            chain: (bytes[0] == 1).then_some((chain, number(17)?)),
            loads: *bytes.last_chunk()?,
        };
        // Refuse any other encoding of a state, such as a chain id where no chain is continued.
        (state.to_bytes() == *bytes).then_some(state)
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        let hash = Sha256::new_with_prefix(b"tacit outsourced state 2\0");
        hash.chain_update(self.to_bytes()).finalize().into()
    }

    /// Checks that the other party brings the same state.
    ///
    /// # Errors
    ///
    /// [`Incompatibility::SavedValues`]: the other party brings another state.
    pub fn check(&self, theirs: &Self) -> Result<(), Error> {
        if self == theirs {
            return Ok(());
        }
        Err(Incompatibility::SavedValues {
            ours: Digest(self.hash()),
            theirs: Digest(theirs.hash()),
        }
        .into())
    }
}
