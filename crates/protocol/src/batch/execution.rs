//! The data that each party keeps of a checked execution, and its bytes.
//!
//! *The garbler* keeps, for each circuit of the chain, its number (4) and its seed (32).
//!
//! *The evaluator* keeps the following, of which only the first two fields are its secret:
//!
//! | bytes | field |
//! |---|---|
//! | for each circuit of the chain: 16 a bit | the first shares of y1 and c, decoded |
//! | ⌈(\|y\| + 128)/8⌉ | y1, c |
//! | for each circuit of the chain: 4 | its number |
//! | kept | the published data of the circuit, up to `first` |
//! | 32 | the hash of its commitments to halves |
//! | for each circuit but the first: ⌈\|x\|/8⌉ | δ to its predecessor |
//!
//! Numbers are little-endian. The batch determines all lengths.

use core::{fmt, mem};
use std::borrow::Cow;

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::circuit::CircuitSeed;
use super::layout::Batch;
use super::oracle::{HASH_BYTES, Hash};
use crate::Error;
use crate::bits::{append_blocks, bytes_for, pack, unpack, unused_are_clear, xor_into};

const BROKEN: Error =
    Error::ApiMisuse("the bytes of an execution of this batch, as they were kept");

/// The storage of prepared executions. The implementor ensures that none is used until all are
/// there.
pub trait Circuits<E> {
    /// Called when the evaluator is about to open the check set, or the garbler has seen it. From
    /// then on a garbler that leaves may have tried to cheat. Implementations count tries durably
    /// before this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Material`]: the try cannot be counted.
    fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Keeps execution `number`. Executions come in order, from 0.
    ///
    /// # Errors
    ///
    /// [`Error::Material`]: the execution cannot be kept.
    fn keep(&mut self, number: u32, execution: E) -> Result<(), Error>;
}

/// Storage in memory.
impl Circuits<GarblerExecution> for Vec<GarblerExecution> {
    fn keep(&mut self, _: u32, execution: GarblerExecution) -> Result<(), Error> {
        self.push(execution);
        Ok(())
    }
}

/// Storage in memory, which copies the bytes that an execution borrows.
impl Circuits<EvaluatorExecution<'_>> for Vec<EvaluatorExecution<'static>> {
    fn keep(&mut self, _: u32, mut execution: EvaluatorExecution<'_>) -> Result<(), Error> {
        let circuits = execution.circuits.iter_mut();
        let circuits = circuits.map(|circuit| KeptCircuit {
            number: circuit.number,
            published: Cow::Owned(mem::take(&mut circuit.published).into_owned()),
            pairs: circuit.pairs,
            shares: mem::take(&mut circuit.shares),
        });
        self.push(EvaluatorExecution {
            circuits: circuits.collect(),
            differences: execution.differences,
            offset: execution.offset,
        });
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

    /// Returns the size of an execution of `batch` in bytes. All of them are secret.
    pub fn bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> usize {
        batch.bucket() * Self::CIRCUIT_BYTES
    }

    /// Returns the execution's bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.circuits.len() * Self::CIRCUIT_BYTES);
        for (number, seed) in &self.circuits {
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes.extend_from_slice(&seed.0);
        }
        Zeroizing::new(bytes)
    }

    /// Returns the execution with these bytes.
    ///
    /// # Errors
    ///
    /// The bytes are not those of an execution of `batch`.
    pub fn from_bytes<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let (kept, rest) = bytes.as_chunks::<{ Self::CIRCUIT_BYTES }>();
        if !rest.is_empty() || kept.len() != batch.bucket() {
            return Err(BROKEN);
        }
        // Reserve room for all: a vector that grows would leave a copy behind.
        let mut circuits = Vec::with_capacity(kept.len());
        for circuit in kept {
            let (number, seed) = circuit.split_first_chunk().ok_or(BROKEN)?;
            let number = number_of(batch, *number)?;
            circuits.push((number, CircuitSeed(seed.try_into().map_err(|_| BROKEN)?)));
        }
        Ok(Self { circuits })
    }
}

/// The bytes that are still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, after) = self.0.split_at_checked(count).ok_or(BROKEN)?;
        self.0 = after;
        Ok(taken)
    }
}

fn number_of<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>, bytes: [u8; 4]) -> Result<u32, Error> {
    let number = u32::from_le_bytes(bytes);
    if number < batch.circuits() {
        return Ok(number);
    }
    Err(BROKEN)
}

/// The data that the evaluator keeps of a circuit.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct KeptCircuit<'k> {
    pub(super) number: u32,
    /// The published data, up to `first` of its layout. It is most of an execution, so stored data
    /// is read in place.
    #[zeroize(skip)]
    pub(super) published: Cow<'k, [u8]>,
    /// The hash of its commitments to halves.
    pub(super) pairs: Hash,
    /// The first shares of y1 and c, one for each bit.
    pub(super) shares: Vec<Block>,
}

/// The evaluator's half of a checked execution. Secret; used once.
pub struct EvaluatorExecution<'k> {
    /// The circuits, in the chain's order.
    pub(super) circuits: Vec<KeptCircuit<'k>>,
    /// δ between each circuit but the first and its predecessor.
    pub(super) differences: Vec<u8>,
    /// y1 and c: the values of the first shares.
    pub(super) offset: Zeroizing<Vec<bool>>,
}

/// The bytes of an evaluator's half in two parts, of which only one must be kept secret.
#[derive(Clone, PartialEq, Eq)]
pub struct EvaluatorBytes<S, P> {
    /// The secret bytes.
    pub secret: S,
    /// The bytes that the garbler has published.
    pub published: P,
}

impl<S, P> fmt::Debug for EvaluatorBytes<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EvaluatorBytes")
    }
}

impl EvaluatorBytes<Zeroizing<Vec<u8>>, Vec<u8>> {
    /// Returns the same bytes, borrowed.
    pub fn as_slices(&self) -> EvaluatorBytes<&[u8], &[u8]> {
        EvaluatorBytes {
            secret: &self.secret,
            published: &self.published,
        }
    }
}

impl<'k> EvaluatorExecution<'k> {
    /// Returns the sizes of an execution of `batch` in bytes.
    pub fn bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> EvaluatorBytes<usize, usize> {
        let (bucket, bits) = (batch.bucket(), batch.encoding.bits());
        let of_circuit = 4 + batch.layout.kept() + HASH_BYTES;
        let differences = (bucket - 1) * batch.chaining.half_bytes();
        EvaluatorBytes {
            secret: bucket * bits * Block::BYTES + bytes_for(bits),
            published: bucket * of_circuit + differences,
        }
    }

    /// Returns the execution's bytes.
    pub fn to_bytes(&self) -> EvaluatorBytes<Zeroizing<Vec<u8>>, Vec<u8>> {
        let mut published = Vec::new();
        self.append_published(&mut published);
        EvaluatorBytes {
            secret: self.secret_bytes(),
            published,
        }
    }

    /// Returns the execution's secret bytes.
    pub fn secret_bytes(&self) -> Zeroizing<Vec<u8>> {
        let shares = self.circuits.iter().map(|circuit| circuit.shares.len());
        // Reserve room for all: a vector that grows would leave a copy behind.
        let room = shares.sum::<usize>() * Block::BYTES + bytes_for(self.offset.len());
        let mut secret = Zeroizing::new(Vec::with_capacity(room));
        for circuit in &self.circuits {
            append_blocks(&mut secret, &circuit.shares);
        }
        secret.extend_from_slice(&Zeroizing::new(pack(&self.offset)));
        secret
    }

    /// Appends the bytes that the garbler has published.
    pub fn append_published(&self, out: &mut Vec<u8>) {
        let kept = self.circuits.iter();
        let kept = kept.map(|circuit| 4 + circuit.published.len() + HASH_BYTES);
        out.reserve_exact(kept.sum::<usize>() + self.differences.len());
        for circuit in &self.circuits {
            out.extend_from_slice(&circuit.number.to_le_bytes());
            out.extend_from_slice(&circuit.published);
            out.extend_from_slice(&circuit.pairs);
        }
        out.extend_from_slice(&self.differences);
    }

    /// Returns the execution with these bytes. It borrows the published ones.
    ///
    /// # Errors
    ///
    /// The bytes are not those of an execution of `batch`.
    pub fn from_bytes<S: Scheme<Wire = Block>>(
        batch: &Batch<'_, S>,
        bytes: EvaluatorBytes<&[u8], &'k [u8]>,
    ) -> Result<Self, Error> {
        let (mut secret, mut published) = (Rest(bytes.secret), Rest(bytes.published));
        let mut circuits = Vec::with_capacity(batch.bucket());
        for _ in 0..batch.bucket() {
            let number = published.take(4)?.try_into().map_err(|_| BROKEN)?;
            let number = number_of(batch, number)?;
            let kept = published.take(batch.layout.kept())?;
            let pairs = published.take(HASH_BYTES)?;
            let pairs = pairs.try_into().map_err(|_| BROKEN)?;
            let shares = secret.take(batch.encoding.bits() * Block::BYTES)?;
            let shares = shares.as_chunks().0.iter();
            circuits.push(KeptCircuit {
                number,
                published: Cow::Borrowed(kept),
                pairs,
                shares: shares.map(|bytes| Block::from_bytes(*bytes)).collect(),
            });
        }
        let half = batch.chaining.half_bytes();
        let differences = published.take((batch.bucket() - 1) * half)?.to_vec();
        let bits = batch.encoding.bits();
        let offset = secret.take(bytes_for(bits))?;
        if !secret.0.is_empty() || !published.0.is_empty() || !unused_are_clear(offset, bits) {
            return Err(BROKEN);
        }
        Ok(Self {
            circuits,
            differences,
            offset: unpack(offset, bits),
        })
    }

    /// Returns x ⊕ m of each circuit, from that of the first.
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
