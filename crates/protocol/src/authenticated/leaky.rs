//! Leaky ANDs: ⟨x⟩, ⟨y⟩, ⟨z⟩ with z = xy, where a cheating party may learn the other's x at the
//! risk of being caught.
//!
//! This is section 4.2 of Katz, Ranellucci, Rosulek and Wang (CRYPTO 2018), the improved leaky AND.
//! Let c = y(Δ_A ⊕ Δ_B), of which both parties hold a part without a message. Each party sends one
//! block G = H(K) ⊕ H(K ⊕ Δ) ⊕ c, with K its key of the other's part of x, and computes S = H(K) ⊕
//! H(M) ⊕ x·(G' ⊕ c) ⊕ z(Δ_A ⊕ Δ_B), with its own parts throughout. Both S sum to (xy ⊕ z)(Δ_A ⊕
//! Δ_B), whose bit 1 is d = xy ⊕ z. z is flipped by d. Then S ⊕ dΔ must be the same at both
//! parties: [`lot`](super::lot) compares a whole lot.
//!
//! A wrong G shifts the other party's S if that party's bit of x is 1. The sender is caught in that
//! case, and otherwise knows that the bit is 0. y and z never leak.
//!
//! **Assumption**: H is a tweakable hash, circular correlation robust for inputs that the peer
//! chooses (it chooses its MACs): the two-call construction of [`tacit_kernels::hash`], in the
//! ideal-cipher model. Its start point comes from the epoch and the lot. Its tweak names the leaky
//! AND and the holder of the key.
//!
//! **Cost**: three hashes, six cipher calls, at each party; 16 bytes and a bit each way.

use std::ops::Range;

use tacit_function::Role;
use tacit_kernels::{Block, Construction, Simd, Tweak, TweakableHash, Use, share_out, workers};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::columns::{AddOffset, Pass, chunks, each_row, masks, scratch};
use super::epoch::Epoch;
use super::oracle::{Digest, Domain};
use super::share::Shares;
use super::spread_hash::hash_blocks;
use crate::bits::BitWriter;

/// The number of leaky ANDs in a message, and of those that a thread hashes at once.
pub(super) const CHUNK: usize = 4096;

/// The hash of a lot's leaky ANDs.
pub(super) struct LeakyHash(TweakableHash);

/// The shares of leaky ANDs, layer after layer, n in each.
#[derive(Default)]
pub(super) struct LeakyShares {
    pub(super) x: Shares,
    pub(super) y: Shares,
    pub(super) z: Shares,
}

impl LeakyHash {
    /// Returns the hash of lot `number` of the epoch.
    pub(super) fn new(epoch: &Epoch, number: u64) -> Self {
        Self(epoch.hash(Construction::TwoCall, Domain::LeakyStart, number))
    }

    /// Returns the tweak of leaky AND `number` for keys that `holder` holds.
    fn tweak(number: usize, holder: Role) -> Tweak {
        Tweak {
            a: u8::from(holder == Role::Evaluator),
            ..Tweak::of(Use::LeakyAnd, number as u64)
        }
    }

    /// Computes this party's blocks G of the leaky ANDs from `first` on, and the part of its S that
    /// depends only on its own shares.
    pub(super) fn blocks(
        &self,
        epoch: &Epoch,
        shares: &LeakyShares,
        first: usize,
        blocks: &mut [Block],
        sums: &mut [Block],
    ) {
        let parts = blocks.chunks_mut(CHUNK).zip(sums.chunks_mut(CHUNK));
        share_out(
            &mut workers(epoch.threads()),
            parts.enumerate(),
            |(), part| {
                let (part, (blocks, sums)) = part;
                let first = first + part * CHUNK;
                for rows in chunks(blocks.len()) {
                    let (blocks, sums) = (&mut blocks[rows.clone()], &mut sums[rows.clone()]);
                    let rows = offset(&rows, first);
                    sums.copy_from_slice(&shares.x.keys[rows.clone()]);
                    let tweak = Self::tweak(rows.start, epoch.role());
                    self.0.hash_both(tweak, epoch.delta(), sums, blocks);
                    let [y, z] = [&shares.y, &shares.z].map(|shares| shares.columns(rows.clone()));
                    let inputs = [y[0], y[1], z[0], z[1]];
                    each_row(AddOwnParts(epoch.delta()), inputs, [blocks, sums]);
                }
            },
        );
    }

    /// Adds the part that depends on the other party's blocks to `sums` of the leaky ANDs from
    /// `first` on, and writes bit 1 of each S, which is this party's part of d. `others` are
    /// messages that begin with the blocks of [`CHUNK`] leaky ANDs each.
    pub(super) fn add_blocks(
        &self,
        epoch: &Epoch,
        shares: &LeakyShares,
        first: usize,
        others: &[Vec<u8>],
        (sums, bits): (&mut [Block], &mut [u8]),
    ) {
        let own = sums.chunks_mut(CHUNK).zip(bits.chunks_mut(CHUNK / 8));
        share_out(
            &mut workers(epoch.threads()),
            own.zip(others).enumerate(),
            |(), part| {
                let (part, ((sums, bits), others)) = part;
                let first = first + part * CHUNK;
                let [mut hashes, mut received] = scratch();
                for rows in chunks(sums.len()) {
                    let (sums, hashes) = (&mut sums[rows.clone()], &mut hashes[..rows.len()]);
                    let bytes = rows.start * Block::BYTES..rows.end * Block::BYTES;
                    let bytes = others[bytes].as_chunks().0;
                    for (block, bytes) in received.iter_mut().zip(bytes) {
                        *block = Block::from_bytes(*bytes);
                    }
                    let rows = offset(&rows, first);
                    let macs = &shares.x.macs[rows.clone()];
                    hashes.copy_from_slice(macs);
                    let tweak = Self::tweak(rows.start, epoch.role().other());
                    self.0.hash(tweak, hashes);
                    let [y_macs, y_keys] = shares.y.columns(rows);
                    let inputs = [macs, &*hashes, &received, y_macs, y_keys];
                    each_row(AddOthersBlocks(epoch.delta()), inputs, [sums]);
                }
                bits.copy_from_slice(&correction_bits(sums));
            },
        );
    }
}

/// Returns the digest of all S, flipped where the sum of both parties' bits flips z, under `key`.
/// Both parties must get the same digest.
pub(super) fn turned_digest(epoch: &Epoch, sums: &[Block], turned: &[u8], key: &Digest) -> Digest {
    let writer = |()| {
        let [mut bits] = scratch();
        move |rows: Range<usize>, same: &mut [Block]| {
            let bits = &mut bits[..rows.len()];
            masks(turned, rows.start, bits);
            same.copy_from_slice(&sums[rows]);
            each_row(AddOffset(epoch.delta()), [bits], [same]);
        }
    };
    hash_blocks(
        key,
        sums.len(),
        workers(epoch.threads()).into_iter().map(writer),
    )
}

/// Returns `rows`, moved up by `first`.
fn offset(rows: &Range<usize>, first: usize) -> Range<usize> {
    first + rows.start..first + rows.end
}

/// A pass that takes the MACs and keys of y and z, and both hashes of this party's keys, and
/// computes its block and the first part of its S.
struct AddOwnParts<'a>(&'a Block);

impl Pass<4, 2> for AddOwnParts<'_> {
    #[inline(always)]
    fn row<S: Simd>(
        &self,
        simd: S,
        [y_mac, y_key, z_mac, z_key]: [S::Vector; 4],
        [block, sum]: &mut [S::Vector; 2],
    ) {
        let delta = simd.splat(*self.0);
        let y = part_of_both(simd, y_mac, y_key, delta);
        *block = simd.xor(simd.xor(*block, *sum), y);
        *sum = simd.xor(*sum, part_of_both(simd, z_mac, z_key, delta));
    }
}

/// A pass that takes the MAC of x and its hash, the other party's block, and the MACs and keys of
/// y, and adds the rest of S.
struct AddOthersBlocks<'a>(&'a Block);

impl Pass<5, 1> for AddOthersBlocks<'_> {
    #[inline(always)]
    fn row<S: Simd>(
        &self,
        simd: S,
        [x_mac, hash, others, y_mac, y_key]: [S::Vector; 5],
        [sum]: &mut [S::Vector; 1],
    ) {
        let y = part_of_both(simd, y_mac, y_key, simd.splat(*self.0));
        let added = simd.and(simd.xor(others, y), simd.lsb_mask(x_mac));
        *sum = simd.xor(simd.xor(*sum, hash), added);
    }
}

/// Returns this party's part of vΔ with its own Δ, K ⊕ M ⊕ bit·Δ. Both parts sum to v(Δ_A ⊕ Δ_B).
#[inline(always)]
fn part_of_both<S: Simd>(simd: S, mac: S::Vector, key: S::Vector, delta: S::Vector) -> S::Vector {
    let bit = simd.and(simd.lsb_mask(mac), delta);
    simd.xor(simd.xor(mac, key), bit)
}

/// Returns bit 1 of each S, which is this party's part of d, packed.
fn correction_bits(sums: &[Block]) -> Zeroizing<Vec<u8>> {
    let mut bits = BitWriter::with_capacity(sums.len());
    push_bits::<1>(&mut bits, sums);
    bits.take()
}

/// Adds bit 0 of each block.
pub(super) fn push_lsbs(bits: &mut BitWriter, blocks: &[Block]) {
    push_bits::<0>(bits, blocks);
}

/// Adds bit `BIT` of each block.
fn push_bits<const BIT: u32>(bits: &mut BitWriter, blocks: &[Block]) {
    for blocks in blocks.chunks(64) {
        let bit = |block: &Block| block.to_u128() as u64 >> BIT & 1;
        let word = (0..)
            .zip(blocks)
            .fold(0, |word, (i, block)| word | bit(block) << i);
        bits.push_word(word, blocks.len() as u32);
    }
}

/// Returns `count` blocks that are all zero.
pub(super) fn zero_blocks(count: usize) -> Outputs {
    Zeroizing::new(vec![Block::ZERO; count])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::tests::epochs;
    use super::*;

    /// Equal shares give another block for each leaky AND, in whatever message and chunk it is.
    /// Under one tweak the sum of two blocks would tell whether two keys are the same.
    #[test]
    fn no_two_leaky_ands_have_one_tweak() {
        let count = CHUNK + 300;
        let same = || Shares {
            macs: Zeroizing::new(vec![Block::from_u128(6); count]),
            keys: Zeroizing::new(vec![Block::from_u128(8); count]),
        };
        let shares = LeakyShares {
            x: same(),
            y: same(),
            z: same(),
        };
        for epoch in epochs() {
            let hash = LeakyHash::new(&epoch, 0);
            let mut blocks = zero_blocks(count);
            let mut seen = HashSet::new();
            for range in [0..CHUNK, CHUNK..count] {
                let mut sums = zero_blocks(range.len());
                let blocks = &mut blocks[range.clone()];
                hash.blocks(&epoch, &shares, range.start, blocks, &mut sums);
                seen.extend(blocks.iter().map(|block| block.to_u128()));
            }
            assert_eq!(seen.len(), count);
        }
    }

    /// Both parties hash keys of the same leaky AND, and each knows the other's MAC.
    #[test]
    fn each_holder_of_a_key_has_a_tweak_of_its_own() {
        let tweaks = |holder| (0..4).map(move |number| LeakyHash::tweak(number, holder));
        let tweaks = Role::BOTH.into_iter().flat_map(tweaks);
        let seen: HashSet<_> = tweaks.map(|tweak| tweak.to_block().to_u128()).collect();
        assert_eq!(seen.len(), 8);
    }
}
