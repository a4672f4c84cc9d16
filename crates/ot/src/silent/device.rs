//! Batches that are made elsewhere than on this process's threads, such as on a GPU.
//!
//! A [`Device`] takes over a half at the start of a round, with the round's COTs and, at the
//! sender, Δ. From then on it grows the trees, makes the sums of the secret, keeps the reserve of
//! the next round and holds the OTs until they are taken. Messages, their order and their lengths
//! stay with [`SilentSender`](super::SilentSender) and [`SilentReceiver`](super::SilentReceiver).
//! What a device makes equals, bit for bit, what they make without one.
//!
//! Only semi-honest halves use one: the check of the malicious ones reads all leaves here.

#[cfg(any(test, feature = "reference-device"))]
mod on_threads;

use tacit_kernels::{Block, CrossHash};

use super::params::Params;
use crate::DeviceError;

#[cfg(any(test, feature = "reference-device"))]
pub use on_threads::OnThreads;

/// A maker of batches, for any number of halves.
pub trait Device: Send + Sync {
    /// Whether it is for a session that is to make about this many OTs.
    fn is_for(&self, ots: u64) -> bool {
        let _ = ots;
        true
    }

    /// Takes over a half whose round is about to start.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OutOfMemory`] before any work has started: threads then go on with the half.
    /// Any other error ends the half.
    fn take_over(&self, half: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError>;
}

/// A half that a [`Device`] takes over.
#[derive(Clone, Copy)]
pub struct HalfStart<'a> {
    /// Δ, at the sender. Secret.
    pub delta: Option<Block>,
    /// The round's COTs: its secret, and then those of each batch. Secret.
    pub cots: &'a [Block],
    /// The sizes of the round and of all later ones.
    pub sizes: BatchSizes,
}

/// The sizes of a round's batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSizes {
    /// The base-2 logarithm of the number of elements of the secret.
    pub log_secret: u32,
    /// The number of trees of a batch.
    pub trees: usize,
    /// The base-2 logarithm of the number of leaves of a tree, and the number of its COTs.
    pub depth: usize,
    /// The number of COTs of a batch: those of its trees, in order, and further ones.
    pub cots: usize,
}

impl BatchSizes {
    pub(super) const fn of(params: Params) -> Self {
        Self {
            log_secret: params.log_secret,
            trees: params.batch_trees,
            depth: params.depth,
            cots: params.batch_inputs(),
        }
    }

    /// Returns the number of COTs that a batch makes.
    #[must_use]
    pub const fn outputs(self) -> usize {
        self.trees << self.depth
    }
}

/// A batch of a round. Public.
#[derive(Clone, Copy, Debug)]
pub struct DeviceBatch {
    /// Its number in the round.
    pub number: usize,
    /// The seed of the keys of its trees' levels: tree by tree, from each one's second level on.
    pub tree_keys: [u8; 32],
    /// The seed of the columns of its outputs.
    pub columns: [u8; 32],
    /// The number of its outputs, from the first on, that belong to the next round.
    pub reserved: usize,
    /// Whether it is the last one of its round.
    pub ends_round: bool,
}

/// A half on a device.
pub trait DeviceHalf: Send + Sync {
    /// Grows the sender's trees of a batch from their roots, and writes what is sent of them.
    ///
    /// # Errors
    ///
    /// The device fails, as for all other methods. The half is then of no more use.
    fn grow(
        &mut self,
        batch: &DeviceBatch,
        roots: &[Block],
        message: &mut [u8],
    ) -> Result<(), DeviceError>;

    /// Grows the receiver's trees of a batch from the sender's message.
    ///
    /// # Errors
    ///
    /// See [`grow`](Self::grow).
    fn grow_punctured(&mut self, batch: &DeviceBatch, message: &[u8]) -> Result<(), DeviceError>;

    /// Adds the sums of the secret to the leaves of the trees that were grown last. Moves the
    /// reserve to the next round, which starts if this one ends, and adds the other outputs to the
    /// OTs that can be taken.
    ///
    /// # Errors
    ///
    /// See [`grow`](Self::grow).
    fn finish(&mut self, batch: &DeviceBatch) -> Result<(), DeviceError>;

    /// Takes the next OTs, q or t of each. The device forgets them.
    ///
    /// # Errors
    ///
    /// See [`grow`](Self::grow).
    fn take(&mut self, into: &mut [Block]) -> Result<(), DeviceError>;

    /// Takes the next OTs, hashed to two bits each. The device forgets them.
    ///
    /// # Errors
    ///
    /// See [`grow`](Self::grow).
    fn take_bits(&mut self, ots: HashedBits<'_>) -> Result<(), DeviceError>;

    /// Forgets the next OTs.
    ///
    /// # Errors
    ///
    /// See [`grow`](Self::grow).
    fn skip(&mut self, count: usize) -> Result<(), DeviceError>;
}

/// OTs that are hashed to bit 0 of each hash, and room for the bits.
///
/// At the sender the bits are those of H(q) and of H(q) ⊕ H(q ⊕ Δ), at the receiver the choice and
/// that of H(t).
#[derive(Debug)]
pub struct HashedBits<'a> {
    /// The hash of the direction.
    pub hash: &'a CrossHash,
    /// The number of the first OT.
    pub number: u64,
    /// The number of OTs.
    pub count: usize,
    /// The place of the first OT's bit in the first word; below 64. The bits before it, and those
    /// after the last, become zero.
    pub lead: usize,
    /// Room for the first bits, ⌈(`lead` + `count`) / 64⌉ words.
    pub first: &'a mut [u64],
    /// Room for the second bits, as many words.
    pub second: &'a mut [u64],
}
