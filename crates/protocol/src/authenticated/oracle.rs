//! Every hash of the protocol, with its inputs. Each has its own key and is bound to the epoch.
//!
//! The hash is BLAKE3, keyed by BLAKE3 of `tacit authenticated 2` ‖ domain ‖ party ‖ number ‖
//! epoch. The number is the lot's or the run's, which is unique in an epoch. Deviation: BLAKE3
//! replaces the papers' random oracle. It hashes several blocks at once, which matters because some
//! 100 bytes are hashed for each AND gate.

use blake3::Hasher;
use subtle::ConstantTimeEq;
use tacit_function::Role;
use tacit_kernels::Block;
use zeroize::Zeroize;

use super::caught::Caught;
use crate::Error;
use crate::error::cheated;

/// The size of a digest, and of the random bytes of a commitment.
pub(super) const DIGEST_BYTES: usize = 32;

/// 32 bytes: a digest, or random bytes.
pub(super) type Digest = [u8; DIGEST_BYTES];

/// The use of a hash.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Domain {
    /// The epoch's id, from the tags of its two set-ups.
    Epoch = 1,
    /// The start point of the hash of a lot's leaky ANDs.
    LeakyStart = 2,
    /// The start point of the hash of a run's gates.
    GateStart = 3,
    /// The values of a lot that both parties must have in common.
    Equality = 4,
    /// The commitment to those values.
    EqualityCommitment = 5,
    /// The commitment to a share of a coin.
    CoinCommitment = 6,
    /// Coefficients for MACs of a lot's bucket openings.
    BucketMacs = 7,
    /// Coefficients for MACs of a lot's gate openings.
    GateMacs = 8,
    /// Coefficients for the labels of a run's AND gates, and for the garbler's MACs of ⟨0⟩ of these
    /// gates.
    Proof = 9,
    /// MACs of the masks of a run's results.
    ResultMacs = 11,
    /// The start point of the hash of an epoch's instances.
    InstanceStart = 12,
    /// Coefficients for the MACs of the bits that links open before a run.
    LinkMacs = 13,
    /// The start point of the hash of rows in an epoch's instances.
    RowStart = 14,
}

/// The number of bytes that are hashed at once: enough BLAKE3 chunks for the widest SIMD.
pub(super) const BUFFERED: usize = 16 * 1024;

/// A hash of blocks and bytes.
pub(super) struct Oracle {
    hash: Hasher,
    /// Empty and unallocated until there is a block.
    buffer: Vec<u8>,
}

impl Oracle {
    /// Returns the hash of `domain`. `from` is the party that it belongs to, or `None` if it
    /// belongs to both.
    pub(super) fn new(epoch: &Digest, domain: Domain, from: Option<Role>, number: u64) -> Self {
        Self {
            hash: Hasher::new_keyed(&Self::key(epoch, domain, from, number)),
            buffer: Vec::new(),
        }
    }

    /// Returns the key of that hash.
    pub(super) fn key(epoch: &Digest, domain: Domain, from: Option<Role>, number: u64) -> Digest {
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
        key.finalize().into()
    }

    /// Appends a block.
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

    /// Appends bytes.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.flush();
        self.hash.update(bytes);
    }

    fn flush(&mut self) {
        self.hash.update(&self.buffer);
        self.buffer.clear();
    }

    /// Returns the hash of everything appended so far.
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

/// Checks that both are equal, in a time that does not depend on where they differ.
pub(super) fn compare(expected: &[u8], found: &[u8], caught: Caught) -> Result<(), Error> {
    if bool::from(expected.ct_eq(found)) {
        return Ok(());
    }
    Err(cheated(caught))
}
