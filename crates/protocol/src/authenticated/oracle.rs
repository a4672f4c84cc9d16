//! Every hash of the protocol and its input, each under its own key and bound to the epoch.
//!
//! BLAKE3, keyed by BLAKE3 of `tacit authenticated 2` ‖ domain ‖ party ‖ number ‖ epoch. The number
//! is the lot's or the run's, of which an epoch has none twice. Deviation: the papers have a random
//! oracle; BLAKE3 stands for it, which takes several blocks at once, since some 100 bytes an AND
//! gate are hashed.

use blake3::Hasher;
use subtle::ConstantTimeEq;
use tacit_function::Role;
use tacit_kernels::Block;
use zeroize::Zeroize;

use super::caught::Caught;
use crate::Error;
use crate::bits::append_blocks;
use crate::error::cheated;

/// Size of a digest, and of the random bytes that a commitment takes.
pub(super) const DIGEST_BYTES: usize = 32;

/// 32 bytes: a digest, or random ones.
pub(super) type Digest = [u8; DIGEST_BYTES];

/// What is hashed.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Domain {
    /// The epoch's id, from the tags of its two set-ups.
    Epoch = 1,
    /// Where the hash of a lot's leaky ANDs starts.
    LeakyStart = 2,
    /// Where the hash of a run's gates starts.
    GateStart = 3,
    /// What both parties of a lot must have the same.
    Equality = 4,
    /// The commitment to it.
    EqualityCommitment = 5,
    /// The commitment to a share of a coin.
    CoinCommitment = 6,
    /// Coefficients for MACs of a lot's bucket openings.
    BucketMacs = 7,
    /// Coefficients for MACs of a lot's gate openings.
    GateMacs = 8,
    /// Coefficients for labels of a run's AND gates, and for the garbler's MACs of ⟨0⟩ of them.
    Proof = 9,
    /// MACs of the masks of a run's results.
    ResultMacs = 11,
    /// Where the hash of an epoch's instances starts.
    InstanceStart = 12,
    /// Coefficients for MACs of what links open before a run.
    LinkMacs = 13,
    /// Where the hash of rows in an epoch's instances starts.
    RowStart = 14,
}

/// Bytes that are hashed at once: chunks of BLAKE3 for the widest SIMD that it has.
const BUFFERED: usize = 16 * 1024;

/// A hash that takes in blocks.
pub(super) struct Oracle {
    hash: Hasher,
    /// Nothing until there is a block.
    buffer: Vec<u8>,
}

impl Oracle {
    /// The hash of `domain`. `from` is the party that it belongs to, or `None` if both have it.
    pub(super) fn new(epoch: &Digest, domain: Domain, from: Option<Role>, number: u64) -> Self {
        let party = match from {
            None => 0,
            Some(Role::Garbler) => 1,
            Some(Role::Evaluator) => 2,
        };
        let mut key = Hasher::new();
        key.update(b"tacit authenticated 2\0");
        key.update(&[domain as u8, party]);
        key.update(&number.to_le_bytes());
        key.update(epoch);
        Self {
            hash: Hasher::new_keyed(&key.finalize().into()),
            buffer: Vec::new(),
        }
    }

    /// Takes in a block.
    #[inline(always)]
    pub(super) fn add(&mut self, block: Block) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(BUFFERED);
        }
        self.buffer.extend_from_slice(&block.to_bytes());
        if self.buffer.len() == BUFFERED {
            self.flush();
        }
    }

    /// Takes in blocks.
    pub(super) fn add_blocks(&mut self, blocks: &[Block]) {
        for blocks in blocks.chunks(BUFFERED / Block::BYTES) {
            if self.buffer.len() + blocks.len() * Block::BYTES > BUFFERED {
                self.flush();
            }
            self.buffer.reserve_exact(BUFFERED - self.buffer.len());
            append_blocks(&mut self.buffer, blocks);
        }
    }

    /// Takes in bytes.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.flush();
        self.hash.update(bytes);
    }

    fn flush(&mut self) {
        self.hash.update(&self.buffer);
        self.buffer.clear();
    }

    /// The hash of what was taken in so far.
    pub(super) fn so_far(&mut self) -> Digest {
        self.flush();
        self.hash.finalize().into()
    }

    pub(super) fn finish(mut self) -> Digest {
        self.flush();
        self.hash.finalize().into()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.buffer.zeroize();
        self.hash.zeroize();
    }
}

/// Passes if both are the same, in a time that does not say where they differ.
///
/// # Errors
///
/// `caught`, where they are not.
pub(super) fn compare(expected: &[u8], found: &[u8], caught: Caught) -> Result<(), Error> {
    match bool::from(expected.ct_eq(found)) {
        true => Ok(()),
        false => Err(cheated(caught)),
    }
}
