//! What each party keeps of a checked execution, and its bytes.
//!
//! *The garbler*, for each circuit of the chain: its number (4) and its seed (32).
//!
//! *The evaluator*:
//!
//! | bytes | field |
//! |---|---|
//! | for each circuit of the chain: 4 | its number |
//! | kept | what was published of it, up to `first` |
//! | 32 | the hash of its commitments to halves |
//! | 16 a bit | the first shares of y1 and c, decoded |
//! | for each circuit but the first: ⌈\|x\|/8⌉ | δ to its predecessor |
//! | ⌈(\|y\| + 128)/8⌉ | y1, c |
//!
//! Numbers are little-endian; all lengths follow from the batch.

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::bits::{bytes_for, pack, unpack, unused_are_clear, xor_into};
use super::circuit::CircuitSeed;
use super::layout::Batch;
use super::oracle::Hash;
use crate::Error;

const BROKEN: Error =
    Error::ApiMisuse("the bytes of an execution of this batch, as they were kept");

/// Where executions go when they are prepared. Until all are there, none may be used: who keeps
/// them makes that so.
pub trait Circuits<E> {
    /// Keeps execution `number`; they come in order, from 0.
    ///
    /// # Errors
    ///
    /// It can't be kept: [`Error::Material`].
    fn keep(&mut self, number: u32, execution: E) -> Result<(), Error>;
}

/// In memory.
impl<E> Circuits<E> for Vec<E> {
    fn keep(&mut self, _: u32, execution: E) -> Result<(), Error> {
        self.push(execution);
        Ok(())
    }
}

/// The garbler's half of a checked execution. Secret; used once.
pub struct GarblerExecution {
    /// The number and seed of each circuit, in the chain's order.
    pub(super) circuits: Vec<(u32, CircuitSeed)>,
}

impl GarblerExecution {
    const CIRCUIT_BYTES: usize = 4 + CircuitSeed::BYTES;

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.circuits.len() * Self::CIRCUIT_BYTES);
        for (number, seed) in &self.circuits {
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes.extend_from_slice(&seed.0);
        }
        Zeroizing::new(bytes)
    }

    /// The execution with these bytes.
    ///
    /// # Errors
    ///
    /// They are not of an execution of `batch`.
    pub fn from_bytes<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let (circuits, rest) = bytes.as_chunks::<{ Self::CIRCUIT_BYTES }>();
        if !rest.is_empty() || circuits.len() != batch.bucket() {
            return Err(BROKEN);
        }
        let circuits = circuits.iter().map(|circuit| {
            let (number, seed) = circuit.split_first_chunk().ok_or(BROKEN)?;
            let number = number_of(batch, *number)?;
            Ok((number, CircuitSeed(seed.try_into().map_err(|_| BROKEN)?)))
        });
        Ok(Self {
            circuits: circuits.collect::<Result<_, Error>>()?,
        })
    }
}

fn number_of<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>, bytes: [u8; 4]) -> Result<u32, Error> {
    let number = u32::from_le_bytes(bytes);
    match number < batch.circuits() {
        true => Ok(number),
        false => Err(BROKEN),
    }
}

/// What the evaluator keeps of a circuit.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct KeptCircuit {
    pub(super) number: u32,
    /// What was published, up to `first` of its layout.
    #[zeroize(skip)]
    pub(super) published: Vec<u8>,
    /// The hash of its commitments to halves.
    pub(super) pairs: Hash,
    /// The first shares of y1 and c, one a bit.
    pub(super) shares: Vec<Block>,
}

/// The evaluator's half of a checked execution. Secret; used once.
pub struct EvaluatorExecution {
    /// In the chain's order.
    pub(super) circuits: Vec<KeptCircuit>,
    /// δ of each circuit but the first and its predecessor.
    pub(super) differences: Vec<u8>,
    /// y1 and c: what the first shares stand for.
    pub(super) offset: Zeroizing<Vec<bool>>,
}

impl EvaluatorExecution {
    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::new());
        for circuit in &self.circuits {
            bytes.extend_from_slice(&circuit.number.to_le_bytes());
            bytes.extend_from_slice(&circuit.published);
            bytes.extend_from_slice(&circuit.pairs);
            for share in &circuit.shares {
                bytes.extend_from_slice(&share.to_bytes());
            }
        }
        bytes.extend_from_slice(&self.differences);
        bytes.extend_from_slice(&Zeroizing::new(pack(&self.offset)));
        bytes
    }

    /// The execution with these bytes.
    ///
    /// # Errors
    ///
    /// They are not of an execution of `batch`.
    pub fn from_bytes<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let mut rest = bytes;
        let mut take = |count: usize| -> Result<&[u8], Error> {
            let (taken, after) = rest.split_at_checked(count).ok_or(BROKEN)?;
            rest = after;
            Ok(taken)
        };
        let mut circuits = Vec::with_capacity(batch.bucket());
        for _ in 0..batch.bucket() {
            let number = take(4)?.try_into().map_err(|_| BROKEN)?;
            let number = number_of(batch, number)?;
            let published = take(batch.layout.kept())?.to_vec();
            let pairs = take(32)?.try_into().map_err(|_| BROKEN)?;
            let shares = take(batch.encoding.bits() * Block::BYTES)?;
            let shares = shares.as_chunks().0.iter();
            circuits.push(KeptCircuit {
                number,
                published,
                pairs,
                shares: shares.map(|bytes| Block::from_bytes(*bytes)).collect(),
            });
        }
        let half = batch.chaining.half_bytes();
        let differences = take((batch.bucket() - 1) * half)?.to_vec();
        let bits = batch.encoding.bits();
        let offset = take(bytes_for(bits))?;
        if !rest.is_empty() || !unused_are_clear(offset, bits) {
            return Err(BROKEN);
        }
        Ok(Self {
            circuits,
            differences,
            offset: unpack(offset, bits),
        })
    }

    /// x ⊕ m of each circuit, from that of the first.
    pub(super) fn positions(&self, first: &[u8]) -> Vec<Vec<u8>> {
        let mut positions = vec![first.to_vec()];
        for difference in self.differences.chunks_exact(first.len().max(1)) {
            let mut next = positions.last().map_or_else(Vec::new, Vec::clone);
            xor_into(&mut next, difference);
            positions.push(next);
        }
        // Without inputs there are no differences.
        positions.resize(self.circuits.len(), Vec::new());
        positions
    }
}
