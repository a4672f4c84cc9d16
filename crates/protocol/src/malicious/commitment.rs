//! Commitments to both labels of a wire, by the cipher that garbles it.
//!
//! The commitment to label x of wire i has two halves, H(x, (i, 0)) and H(x, (i, 1)), 256 bits, H
//! the re-keyed tweakable hash of `kernels` from a start point that run, circuit and use give: AES
//! of σ(x) under two keys, plus σ(x). Both labels of a wire share keys; which stands first is for
//! who commits.
//!
//! AES as an ideal cipher, q queries to it:
//!
//! - **Binding.** The two keys of a wire are two independent permutations, so that x ↦ (both
//!   halves) is a function of 128 bits to 256 of which a collision is found with q² / 2^256 at
//!   most. The start point is a hash of the run's name, which the nonces of all parties draw, so
//!   that nothing can be computed ahead and no one chooses a key.
//! - **Hiding.** No randomness besides a label's own. Who holds one label x of a wire has H(x ⊕ Δ)
//!   under keys that no other wire, circuit or use has; a query, forward or back, fits one Δ of
//!   2^127 in at most two ways, so that all together tell Δ with 2q / 2^127 at most. σ sees to it
//!   that decrypting doesn't give Δ. Where the two of a pair are independent, as the evaluator's O
//!   of an output are, it is 2q / 2^128.
//! - **Watched.** What a commitment holds is among the queries made to its first key before, but
//!   with 2^-127: a simulator of a corrupt garbler reads it there, as it would from a random
//!   oracle.
//!
//! Nothing here is programmed. What is longer than a block, or whose hash a simulator chooses
//! later, is committed to by SHA-256 ([`oracle`](super::oracle)), which takes several times as
//! long.
//!
//! **Cost**: 2 cipher calls a label, and 2 key schedules for both labels of a wire.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tacit_kernels::{Block, Construction, Tweak, TweakableHash, Use};
use zeroize::Zeroizing;

use super::oracle::{Domain, HASH_BYTES, Oracle};
use crate::bits::read_block;

/// Bytes of both commitments to a wire's labels.
pub(crate) const PAIR_BYTES: usize = 2 * HASH_BYTES;

/// The hash that commits to labels of one circuit, for one use.
pub(crate) struct Committing(TweakableHash);

/// Wires that are hashed at a time: their labels and hashes stay in the first cache.
const WIRES: usize = 256;

/// The hash of labels of one circuit, for one use, which no other shares keys with.
fn label_hash(oracle: &Oracle, domain: Domain, circuit: u32) -> TweakableHash {
    let start = read_block(&oracle.parts(domain, circuit, 0, &[]));
    TweakableHash::new(Construction::Rekeyed, start)
}

/// The tweak of `wire`.
fn tweak(wire: usize, half: u8) -> Tweak {
    Tweak {
        usage: Use::Out,
        instance: 0,
        number: wire as u64,
        a: half,
        b: 0,
    }
}

/// Replaces both blocks of each pair, of which the first is wire 0's, by pads: the hash of the
/// block for its wire. Pads of different domains have nothing to do with each other, nor with
/// commitments.
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

/// Replaces the block of each wire, from 0, by its pad: see [`pads_of_pairs`].
pub(crate) fn pads(oracle: &Oracle, domain: Domain, circuit: u32, blocks: &mut [Block]) {
    label_hash(oracle, domain, circuit).hash(tweak(0, 0), blocks);
}

impl Committing {
    /// That of circuit `circuit`.
    pub(crate) fn new(oracle: &Oracle, domain: Domain, circuit: u32) -> Self {
        Self(label_hash(oracle, domain, circuit))
    }

    /// Appends the commitments to both labels of the wires from 0 on, to `first[i]` at position 0
    /// of wire i and to `first[i]` ⊕ Δ at position 1.
    pub(crate) fn commit(&self, first: &[Block], delta: Block, out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + PAIR_BYTES * first.len(), 0);
        let (pairs, _) = out[begin..].as_chunks_mut::<PAIR_BYTES>();
        let mut hashes = [[Block::ZERO; WIRES]; 2];
        let chunks = first.chunks(WIRES).zip(pairs.chunks_mut(WIRES));
        for (number, (first, pairs)) in chunks.enumerate() {
            let [of_0, of_1] = &mut hashes;
            let (of_0, of_1) = (&mut of_0[..first.len()], &mut of_1[..first.len()]);
            for half in 0..2 {
                of_0.copy_from_slice(first);
                let tweak = tweak(number * WIRES, half);
                self.0.hash_both(tweak, &delta, of_0, of_1);
                write(pairs, 0, half, of_0);
                write(pairs, 1, half, of_1);
            }
        }
    }

    /// Appends the commitments to pairs that no Δ relates, of the wires from 0 on.
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
    /// `commitments` are those of these wires. Takes as long for all labels and positions.
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

    /// Tells of each of `labels`, of the wires from `from` on, by its number from 0, whether it
    /// opens the commitments at positions 0 and 1.
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

    /// Gives for each of `labels`, of the wires from `from` on, by its number from 0, both halves
    /// of its commitment, and those that are at positions 0 and 1.
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

/// Writes a half of the commitments at a position.
fn write(pairs: &mut [[u8; PAIR_BYTES]], position: usize, half: u8, hashes: &[Block]) {
    let at = position * HASH_BYTES + usize::from(half) * Block::BYTES;
    for (pair, hash) in pairs.iter_mut().zip(hashes) {
        pair[at..at + Block::BYTES].copy_from_slice(&hash.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Prg;

    use super::*;

    const COUNT: usize = WIRES + 21;

    /// Δ, and labels at position 0.
    fn drawn() -> (Block, Vec<Block>) {
        let mut prg = Prg::new(Block::ONES);
        let delta = prg.next_block().with_lsb(1.into());
        (delta, (0..COUNT).map(|_| prg.next_block()).collect())
    }

    fn oracle() -> Oracle {
        Oracle::named([4; 16])
    }

    /// A commitment by its definition, AES of σ(x) under two keys.
    #[test]
    fn a_commitment_is_two_hashes_under_two_keys() {
        let (delta, labels) = drawn();
        let mut commitments = Vec::new();
        let committing = Committing::new(&oracle(), Domain::SecondShare, 5);
        committing.commit(&labels, delta, &mut commitments);
        let start = read_block(&oracle().parts(Domain::SecondShare, 5, 0, &[]));
        let hash = TweakableHash::new(Construction::Rekeyed, start);
        for wire in [0, 1, WIRES - 1, WIRES, COUNT - 1] {
            for (position, label) in [labels[wire], labels[wire] ^ delta].into_iter().enumerate() {
                let halves = [0, 1].map(|a| {
                    let (usage, number) = (Use::Out, wire as u64);
                    let tweak = Tweak {
                        usage,
                        instance: 0,
                        number,
                        a,
                        b: 0,
                    };
                    hash.hash_one(tweak, label).to_bytes()
                });
                let at = wire * PAIR_BYTES + position * HASH_BYTES;
                let found = &commitments[at..at + HASH_BYTES];
                assert_eq!(found, halves.as_flattened(), "wire {wire}");
            }
        }
    }

    #[test]
    fn both_labels_open_at_their_positions_and_no_other_does() {
        let (delta, first) = drawn();
        let committing = Committing::new(&oracle(), Domain::GarblerInput, 3);
        let mut commitments = Vec::new();
        committing.commit(&first, delta, &mut commitments);
        assert_eq!(commitments.len(), PAIR_BYTES * COUNT);
        let position = |i: usize| Choice::from(u8::from(i % 3 == 1));
        let labels = first.iter().enumerate();
        let labels = labels.map(|(i, first)| *first ^ delta.and_bit(position(i)));
        let mut labels: Vec<Block> = labels.collect();
        let open = |labels: &[Block], commitments: &[u8]| {
            committing.open(0, labels, position, commitments)
        };
        assert!(open(&labels, &commitments));
        assert!(!committing.open(0, &labels, |i| !position(i), &commitments));
        for other in [
            Committing::new(&oracle(), Domain::EvaluatorInput, 3),
            Committing::new(&oracle(), Domain::GarblerInput, 4),
            Committing::new(&Oracle::named([5; 16]), Domain::GarblerInput, 3),
        ] {
            assert!(!other.open(0, &labels, position, &commitments));
        }
        // As many labels as commitments, all or from a wire on.
        assert!(!open(&labels[1..], &commitments) && !open(&labels, &commitments[PAIR_BYTES..]));
        let later = |i| position(i + 20);
        let after = &commitments[20 * PAIR_BYTES..];
        assert!(committing.open(20, &labels[20..], later, after));
        assert!(!committing.open(19, &labels[20..], later, after));
        for wire in [0, 1, COUNT - 1] {
            // A change of the other label's commitment doesn't matter, one of this label's does.
            for at_one in [false, true] {
                let of_this = bool::from(position(wire)) == at_one;
                for byte in [0, HASH_BYTES - 1] {
                    let mut changed = commitments.clone();
                    changed[wire * PAIR_BYTES + usize::from(at_one) * HASH_BYTES + byte] ^= 1;
                    assert_eq!(
                        open(&labels, &changed),
                        !of_this,
                        "wire {wire}, byte {byte}"
                    );
                }
            }
        }
        labels[COUNT - 1] ^= Block::from_u128(2);
        assert!(!open(&labels, &commitments));
        labels[COUNT - 1] ^= Block::from_u128(2);
        labels.swap(0, 2);
        assert!(!open(&labels, &commitments));
    }

    /// Who commits chooses every bit of it, and so every difference.
    #[test]
    fn no_difference_makes_up_for_another() {
        let (delta, labels) = drawn();
        let committing = Committing::new(&oracle(), Domain::GarblerInput, 3);
        let mut commitments = Vec::new();
        committing.commit(&labels, delta, &mut commitments);
        let wires = [0, 1, WIRES, COUNT - 1];
        let halves = [0, Block::BYTES];
        let halves = wires
            .iter()
            .flat_map(|wire| halves.map(|half| wire * PAIR_BYTES + half));
        let halves: Vec<usize> = halves.collect();
        for (i, one) in halves.iter().enumerate() {
            for other in &halves[..i] {
                let mut changed = commitments.clone();
                changed[*one] ^= 1;
                changed[*other] ^= 1;
                let opens = committing.open(0, &labels, |_| Choice::from(0), &changed);
                assert!(!opens, "bytes {one} and {other}");
            }
        }
    }

    /// Pairs that a Δ relates are committed to as any others.
    #[test]
    fn pairs_are_committed_to_as_labels_are() {
        let (delta, first) = drawn();
        let pairs: Vec<[Block; 2]> = first.iter().map(|x| [*x, *x ^ delta]).collect();
        let committing = Committing::new(&oracle(), Domain::OutputCommitment, 1);
        let [mut of_labels, mut of_pairs] = [vec![7], vec![7]];
        committing.commit(&first, delta, &mut of_labels);
        committing.commit_pairs(&pairs, &mut of_pairs);
        assert_eq!(of_labels, of_pairs);
        let mut found = vec![[false; 2]; COUNT];
        committing.compare(0, &first, &of_pairs[1..], |i, opens| {
            found[i] = opens.map(bool::from);
        });
        assert_eq!(found, [[true, false]; COUNT]);
    }

    #[test]
    fn pads_of_pairs_are_those_of_each() {
        let (delta, first) = drawn();
        let mut pairs: Vec<[Block; 2]> = first.iter().map(|x| [*x, *x ^ delta]).collect();
        pads_of_pairs(&oracle(), Domain::OutputMask, 1, &mut pairs);
        for position in 0..2 {
            let labels = first
                .iter()
                .map(|x| *x ^ delta.and_bit((position as u8).into()));
            let mut alone: Vec<Block> = labels.collect();
            pads(&oracle(), Domain::OutputMask, 1, &mut alone);
            assert!(pairs.iter().map(|pair| pair[position]).eq(alone));
        }
    }

    /// Both halves of each commitment, of both labels, are all different.
    #[test]
    fn halves_wires_and_labels_are_apart() {
        let committing = Committing::new(&oracle(), Domain::GarblerInput, 0);
        let mut commitments = Vec::new();
        let labels = [Block::ZERO; 8];
        committing.commit(&labels, Block::from_u128(5), &mut commitments);
        let halves: std::collections::HashSet<_> = commitments.chunks(Block::BYTES).collect();
        assert_eq!(halves.len(), 4 * labels.len());
    }
}
