//! Commitments to both labels of a wire, by the cipher that garbles it.
//!
//! The commitment to label x of wire i has two halves, H(x, (i, 0)) and H(x, (i, 1)), 256 bits, H the
//! re-keyed tweakable hash of `kernels` from a start point that run, circuit and use give: AES of
//! σ(x) under two keys, plus σ(x). Both labels of a wire share keys and stand in the order of their
//! select bits.
//!
//! **Binding.** With AES as an ideal cipher, two labels with one commitment are a collision of 256
//! bits. The start point is drawn by all three parties' nonces, so that nothing can be computed
//! ahead. **Hiding.** Who holds one label finds the other by guessing Δ, as with the gates' hash: no
//! randomness besides. **Deviation**: SHA-256, as in [`batch`](crate::batch), rests on a random
//! oracle and takes several times as long; σ circuits commit to each input bit twice.
//!
//! **Cost**: 2 cipher calls a label, and 2 key schedules for both labels of a wire.

use tacit_kernels::{Block, Construction, Tweak, TweakableHash, Use};
use zeroize::Zeroizing;

use crate::malicious::oracle::{Domain, HASH_BYTES, Oracle, first_block};

/// Bytes of both commitments to a wire's labels.
pub(super) const PAIR_BYTES: usize = 2 * HASH_BYTES;

/// The hash that commits to labels of one circuit, for one use.
pub(super) struct Committing(TweakableHash);

/// Wires that are hashed at a time: their labels and hashes stay in the first cache.
const WIRES: usize = 512;

/// The tweak of the first wire of chunk `chunk`.
fn tweak(chunk: usize, half: usize) -> Tweak {
    Tweak {
        usage: Use::Out,
        instance: 0,
        number: (chunk * WIRES) as u64,
        a: half as u8,
        b: 0,
    }
}

impl Committing {
    /// That of circuit `copy`.
    pub(super) fn new(oracle: &Oracle, domain: Domain, copy: usize) -> Self {
        let start = first_block(&oracle.parts(domain, copy as u32, 0, &[]));
        Self(TweakableHash::new(Construction::Rekeyed, start))
    }

    /// Appends the commitments to both labels of wires with these labels of 0, at position p the
    /// one with select bit p.
    pub(super) fn commit(&self, zeros: &[Block], delta: Block, out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + PAIR_BYTES * zeros.len(), 0);
        let (pairs, _) = out[begin..].as_chunks_mut::<PAIR_BYTES>();
        let mut first = Zeroizing::new([Block::ZERO; WIRES]);
        let mut hashes = [[Block::ZERO; WIRES]; 2];
        let chunks = zeros.chunks(WIRES).zip(pairs.chunks_mut(WIRES));
        for (number, (zeros, pairs)) in chunks.enumerate() {
            for (first, zero) in first.iter_mut().zip(zeros) {
                *first = *zero ^ delta.and_bit(zero.lsb());
            }
            let [of_0, of_1] = &mut hashes;
            let (of_0, of_1) = (&mut of_0[..zeros.len()], &mut of_1[..zeros.len()]);
            for half in 0..2 {
                of_0.copy_from_slice(&first[..zeros.len()]);
                self.0.hash_both(tweak(number, half), delta, of_0, of_1);
                let at = half * Block::BYTES;
                for (pair, (of_0, of_1)) in pairs.iter_mut().zip(of_0.iter().zip(&*of_1)) {
                    pair[at..at + Block::BYTES].copy_from_slice(&of_0.to_bytes());
                    let at = at + HASH_BYTES;
                    pair[at..at + Block::BYTES].copy_from_slice(&of_1.to_bytes());
                }
            }
        }
    }

    /// Whether each of `labels` opens the commitment at its select bit's position. Takes as long
    /// for all labels. (A select bit says nothing of a value: positions are as random as permute
    /// bits.)
    pub(super) fn open(&self, labels: &[Block], commitments: &[u8]) -> bool {
        let (pairs, _) = commitments.as_chunks::<PAIR_BYTES>();
        let mut hashes = [Block::ZERO; WIRES];
        let mut all = labels.len() == pairs.len();
        let chunks = labels.chunks(WIRES).zip(pairs.chunks(WIRES));
        for (number, (labels, pairs)) in chunks.enumerate() {
            let hashes = &mut hashes[..labels.len()];
            for half in 0..2 {
                hashes.copy_from_slice(labels);
                self.0.hash(tweak(number, half), hashes);
                for ((label, pair), hash) in labels.iter().zip(pairs).zip(&*hashes) {
                    let position = usize::from(label.lsb().unwrap_u8());
                    let at = position * HASH_BYTES + half * Block::BYTES;
                    all &= pair[at..at + Block::BYTES] == hash.to_bytes();
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Prg;

    use super::*;

    #[test]
    fn both_labels_open_where_their_select_bits_say_and_no_other_does() {
        let oracle = Oracle::named([4; 16]);
        let mut prg = Prg::new(Block::ONES);
        let delta = prg.next_block().with_lsb(1.into());
        let zeros: Vec<Block> = (0..WIRES + 21).map(|_| prg.next_block()).collect();
        let committing = Committing::new(&oracle, Domain::GarblerInput, 3);
        let mut commitments = Vec::new();
        committing.commit(&zeros, delta, &mut commitments);
        assert_eq!(commitments.len(), PAIR_BYTES * zeros.len());
        let labels = |bit: u8| -> Vec<Block> {
            let labels = zeros.iter().map(|zero| *zero ^ delta.and_bit(bit.into()));
            labels.collect()
        };
        for bit in [0, 1] {
            assert!(committing.open(&labels(bit), &commitments));
            for other in [
                Committing::new(&oracle, Domain::EvaluatorInput, 3),
                Committing::new(&oracle, Domain::GarblerInput, 4),
                Committing::new(&Oracle::named([5; 16]), Domain::GarblerInput, 3),
            ] {
                assert!(!other.open(&labels(bit), &commitments));
            }
        }
        let mut wrong = labels(0);
        wrong[WIRES + 20] ^= Block::from_u128(2);
        assert!(!committing.open(&wrong, &commitments));
        let mut swapped = labels(0);
        swapped.swap(0, 1);
        assert!(!committing.open(&swapped, &commitments));
        for (at, opens) in [(0, zeros[0].lsb()), (HASH_BYTES, !zeros[0].lsb())] {
            // A change of the other label's commitment doesn't matter, one of this label's does.
            for byte in [at, at + 31] {
                let mut changed = commitments.clone();
                changed[byte] ^= 1;
                assert_eq!(committing.open(&labels(0), &changed), bool::from(opens));
            }
        }
    }

    /// Both halves of each commitment, of both labels, are all different.
    #[test]
    fn halves_wires_and_labels_are_apart() {
        let committing = Committing::new(&Oracle::named([4; 16]), Domain::GarblerInput, 0);
        let mut commitments = Vec::new();
        let zeros = [Block::ZERO; 8];
        committing.commit(&zeros, Block::from_u128(5), &mut commitments);
        let halves: std::collections::HashSet<_> = commitments.chunks(Block::BYTES).collect();
        assert_eq!(halves.len(), 4 * zeros.len());
    }
}
