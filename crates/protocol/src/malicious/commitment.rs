//! Commitments to both labels of a wire, made with the cipher that garbles it.
//!
//! The commitment to label x of wire i has two halves, H(x, (i, 0)) and H(x, (i, 1)), 256 bits in
//! all. H is the re-keyed tweakable hash of `kernels` from a start point that depends on the run,
//! the circuit and the use: AES of σ(x) under two keys, plus σ(x). Both labels of a wire share
//! keys. The committing party chooses which label comes first.
//!
//! With AES as an ideal cipher, and q queries to it:
//!
//! - **Binding.** The two keys of a wire are two independent permutations, so x ↦ (both halves) is
//!   a function from 128 bits to 256 bits, of which q queries find a collision with probability at
//!   most q² / 2^256. The start point is a hash of the run's name, which the nonces of all parties
//!   determine, so nothing can be computed ahead and no party chooses a key.
//! - **Hiding.** The only randomness is a label's own. A party that holds one label x of a wire has
//!   H(x ⊕ Δ) under keys that no other wire, circuit or use has. A query, forward or backward, fits
//!   one of 2^127 values of Δ in at most two ways, so all queries together reveal Δ with
//!   probability at most 2q / 2^127. σ ensures that decrypting does not reveal Δ. Where the two
//!   labels of a pair are independent, as the evaluator's O of an output are, the bound is 2q /
//!   2^128.
//! - **Observable.** The committed label is among the earlier queries to the first key of the
//!   commitment, except with probability 2^-127. A simulator of a corrupt garbler reads it there,
//!   as it would from a random oracle.
//!
//! No proof programs this hash. Anything that is longer than a block, or whose hash a simulator
//! chooses later, is committed to by SHA-256 ([`oracle`](super::oracle)), which takes several times
//! as long.
//!
//! **Cost**: 2 cipher calls a label, and 2 key schedules for both labels of a wire.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tacit_kernels::{Block, Construction, Tweak, TweakableHash, Use};
use zeroize::Zeroizing;

use super::oracle::{Domain, HASH_BYTES, Oracle};
use crate::bits::read_block;

/// The size in bytes of both commitments to a wire's labels.
pub(crate) const PAIR_BYTES: usize = 2 * HASH_BYTES;

/// The hash that commits to labels of one circuit, for one use.
pub(crate) struct Committing(TweakableHash);

/// The number of wires hashed at a time: their labels and hashes fit in the first-level cache.
pub(crate) const WIRES: usize = 256;

/// The differences between received commitments and those computed, and between received
/// commitments and those that labels open.
#[derive(Default)]
pub(crate) struct Differences {
    made: u128,
    opened: u128,
}

impl Differences {
    /// Adds the differences between the received and the computed blocks of these pairs.
    pub(crate) fn add<const N: usize>(&mut self, pairs: [(Block, Block); N]) {
        for (came, made) in pairs {
            self.made |= (came ^ made).to_u128();
        }
    }

    /// Whether any commitment differs from the computed one.
    pub(crate) fn differ_from_made(&self) -> bool {
        !bool::from(Block::from_u128(self.made).ct_eq(&Block::ZERO))
    }

    /// Whether any label does not open the commitment at its position.
    pub(crate) fn differ_from_opened(&self) -> bool {
        !bool::from(Block::from_u128(self.opened).ct_eq(&Block::ZERO))
    }
}

/// Writes the label with select bit 0 of each wire, whose label of 0 is in `zeros`, to `first`.
fn by_select_bits(zeros: &[Block], delta: Block, first: &mut [Block]) {
    for (first, zero) in first.iter_mut().zip(zeros) {
        *first = *zero ^ (delta & zero.lsb_mask());
    }
}

/// Returns the hash of labels of one circuit for one use. It shares keys with no other.
fn label_hash(oracle: &Oracle, domain: Domain, circuit: u32) -> TweakableHash {
    let start = read_block(&oracle.parts(domain, circuit, 0, &[]));
    TweakableHash::new(Construction::Rekeyed, start)
}

/// Returns the tweak of `wire` for this half.
fn tweak(wire: usize, half: u8) -> Tweak {
    Tweak {
        a: half,
        ..Tweak::of(Use::Out, wire as u64)
    }
}

/// Replaces both blocks of each pair, of which the first pair is wire 0's, by pads: the hash of the
/// block for its wire. Pads of different domains are independent of each other and of commitments.
pub(crate) fn pads_of_pairs(
    oracle: &Oracle,
    domain: Domain,
    circuit: u32,
    pairs: &mut [[Block; 2]],
) {
    let hash = label_hash(oracle, domain, circuit);
    let mut side = Zeroizing::new([Block::ZERO; WIRES]);
    for (number, pairs) in pairs.chunks_mut(WIRES).enumerate() {
        let side = &mut side[..pairs.len()];
        for position in 0..2 {
            for (block, pair) in side.iter_mut().zip(&*pairs) {
                *block = pair[position];
            }
            hash.hash(tweak(number * WIRES, 0), side);
            for (block, pair) in side.iter().zip(&mut *pairs) {
                pair[position] = *block;
            }
        }
    }
}

/// Replaces the block of each wire, from wire 0, by its pad: see [`pads_of_pairs`].
pub(crate) fn pads(oracle: &Oracle, domain: Domain, circuit: u32, blocks: &mut [Block]) {
    label_hash(oracle, domain, circuit).hash(tweak(0, 0), blocks);
}

impl Committing {
    /// Returns the hash for circuit number `circuit`.
    pub(crate) fn new(oracle: &Oracle, domain: Domain, circuit: u32) -> Self {
        Self(label_hash(oracle, domain, circuit))
    }

    /// Appends the commitments to both labels of the wires from 0 on: to `first[i]` at position 0
    /// of wire i and to `first[i]` ⊕ Δ at position 1.
    pub(crate) fn commit(&self, first: &[Block], delta: Block, out: &mut Vec<u8>) {
        self.commit_each(first, delta, out, |first, of_0| of_0.copy_from_slice(first));
    }

    /// Does what [`Committing::commit`] does, with positions by select bits: `zeros` are the labels
    /// of 0, and position p holds the label with select bit p.
    pub(crate) fn commit_by_select_bits(&self, zeros: &[Block], delta: Block, out: &mut Vec<u8>) {
        self.commit_each(zeros, delta, out, |zeros, of_0| {
            by_select_bits(zeros, delta, of_0)
        });
    }

    /// Commits to the labels that `first` computes from `labels`, and to the same labels ⊕ Δ.
    fn commit_each(
        &self,
        labels: &[Block],
        delta: Block,
        out: &mut Vec<u8>,
        first: impl Fn(&[Block], &mut [Block]),
    ) {
        out.reserve(PAIR_BYTES * labels.len());
        let mut hashes = [[Block::ZERO; WIRES]; 2];
        for (number, labels) in labels.chunks(WIRES).enumerate() {
            let begin = out.len();
            out.resize(begin + PAIR_BYTES * labels.len(), 0);
            let (pairs, _) = out[begin..].as_chunks_mut::<PAIR_BYTES>();
            let [of_0, of_1] = &mut hashes;
            let (of_0, of_1) = (&mut of_0[..labels.len()], &mut of_1[..labels.len()]);
            for half in 0..2 {
                first(labels, of_0);
                let tweak = tweak(number * WIRES, half);
                self.0.hash_both(tweak, &delta, of_0, of_1);
                write(pairs, 0, half, of_0);
                write(pairs, 1, half, of_1);
            }
        }
    }

    /// Compares `commitments`, of the wires from `from` on, with positions by select bits. Compares
    /// them with the commitments to the wires whose labels of 0 are `zeros`, and with what the
    /// unrelated `labels` open. The time does not depend on the labels or the commitments.
    pub(crate) fn compare_by_select_bits(
        &self,
        from: usize,
        (zeros, delta): (&[Block], Block),
        labels: &[Block],
        commitments: &[u8],
        found: &mut Differences,
    ) {
        let (pairs, _) = commitments.as_chunks::<PAIR_BYTES>();
        assert!(
            zeros.len() == pairs.len() && labels.len() == pairs.len(),
            "as many labels as commitments"
        );
        let mut hashes = [[Block::ZERO; WIRES]; 3];
        let labels = labels.chunks(WIRES).zip(zeros.chunks(WIRES));
        for (number, ((labels, zeros), pairs)) in labels.zip(pairs.chunks(WIRES)).enumerate() {
            let [of_0, of_1, opened] = hashes.each_mut().map(|of| &mut of[..pairs.len()]);
            for half in 0..2 {
                by_select_bits(zeros, delta, of_0);
                opened.copy_from_slice(labels);
                let tweak = tweak(from + number * WIRES, half);
                self.0
                    .hash_both_and(tweak, &delta, of_0, [&mut *of_1, &mut *opened]);
                let made = of_0.iter().zip(&*of_1);
                let opened = labels.iter().zip(&*opened);
                for (pair, ((of_0, of_1), (label, opened))) in pairs.iter().zip(made.zip(opened)) {
                    let (blocks, _) = pair.as_chunks();
                    let at = |position: usize| {
                        Block::from_bytes(blocks[2 * position + usize::from(half)])
                    };
                    let (at_0, at_1) = (at(0), at(1));
                    let expected = at_0 ^ ((at_0 ^ at_1) & label.lsb_mask());
                    found.made |= (*of_0 ^ at_0).to_u128() | (*of_1 ^ at_1).to_u128();
                    found.opened |= (*opened ^ expected).to_u128();
                }
            }
        }
    }

    /// Appends the commitments to pairs that no Δ relates, for the wires from 0 on.
    pub(crate) fn commit_pairs(&self, committed: &[[Block; 2]], out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + PAIR_BYTES * committed.len(), 0);
        let (pairs, _) = out[begin..].as_chunks_mut::<PAIR_BYTES>();
        let mut hashes = [Block::ZERO; WIRES];
        let chunks = committed.chunks(WIRES).zip(pairs.chunks_mut(WIRES));
        for (number, (committed, pairs)) in chunks.enumerate() {
            let hashes = &mut hashes[..committed.len()];
            for (position, half) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for (hash, pair) in hashes.iter_mut().zip(committed) {
                    *hash = pair[position];
                }
                self.0.hash(tweak(number * WIRES, half), hashes);
                write(pairs, position, half, hashes);
            }
        }
    }

    /// Whether each of `labels`, of the wires from `from` on, opens the commitment at its position.
    /// `commitments` are those of these wires. The time does not depend on the labels or the
    /// positions.
    pub(crate) fn open(
        &self,
        from: usize,
        labels: &[Block],
        position: impl Fn(usize) -> Choice,
        commitments: &[u8],
    ) -> bool {
        let mut differs = 0;
        self.hashed(from, labels, commitments, |i, hashes, at_0, at_1| {
            let position = position(i);
            for ((hash, at_0), at_1) in hashes.into_iter().zip(at_0).zip(at_1) {
                let expected = Block::conditional_select(&at_0, &at_1, position);
                differs |= (hash ^ expected).to_u128();
            }
        });
        bool::from(Block::from_u128(differs).ct_eq(&Block::ZERO))
            && labels.len() * PAIR_BYTES == commitments.len()
    }

    /// Calls `tell` for each of `labels`, of the wires from `from` on, with its number from 0 and
    /// with whether it opens the commitments at positions 0 and 1.
    pub(crate) fn compare(
        &self,
        from: usize,
        labels: &[Block],
        commitments: &[u8],
        mut tell: impl FnMut(usize, [Choice; 2]),
    ) {
        self.hashed(from, labels, commitments, |i, hashes, at_0, at_1| {
            let opens = [at_0, at_1].map(|[low, high]| {
                let differs = (hashes[0] ^ low).to_u128() | (hashes[1] ^ high).to_u128();
                Block::from_u128(differs).ct_eq(&Block::ZERO)
            });
            tell(i, opens);
        });
    }

    /// Calls `give` for each of `labels`, of the wires from `from` on, with its number from 0, both
    /// halves of its commitment, and the halves at positions 0 and 1.
    fn hashed(
        &self,
        from: usize,
        labels: &[Block],
        commitments: &[u8],
        mut give: impl FnMut(usize, [Block; 2], [Block; 2], [Block; 2]),
    ) {
        let (pairs, _) = commitments.as_chunks::<PAIR_BYTES>();
        let mut hashes = [[Block::ZERO; WIRES]; 2];
        let chunks = labels.chunks(WIRES).zip(pairs.chunks(WIRES));
        for (number, (labels, pairs)) in chunks.enumerate() {
            let first = number * WIRES;
            for (half, hashes) in (0..).zip(&mut hashes) {
                let hashes = &mut hashes[..labels.len()];
                hashes.copy_from_slice(labels);
                self.0.hash(tweak(from + first, half), hashes);
            }
            let [low, high] = &hashes;
            let found = low.iter().zip(high).take(labels.len());
            for (i, ((low, high), pair)) in (first..).zip(found.zip(pairs)) {
                let (blocks, _) = pair.as_chunks();
                let at = |block: usize| Block::from_bytes(blocks[block]);
                give(i, [*low, *high], [at(0), at(1)], [at(2), at(3)]);
            }
        }
    }
}

/// Writes one half of the commitments at a position.
fn write(pairs: &mut [[u8; PAIR_BYTES]], position: usize, half: u8, hashes: &[Block]) {
    let at = position * HASH_BYTES + usize::from(half) * Block::BYTES;
    for (pair, hash) in pairs.iter_mut().zip(hashes) {
        pair[at..at + Block::BYTES].copy_from_slice(&hash.to_bytes());
    }
}

#[cfg(test)]
mod tests;
