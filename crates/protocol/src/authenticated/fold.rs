//! A fold proves opened bits: it is a sum of their MACs under coefficients that depend on the bits.
//!
//! The sum is Σ χ_i M_i over GF(2^128). A random oracle on all bits up to the end of a chunk of
//! [`ROWS`] rows gives the chunk's coefficients. Suppose a party opens other bits than it holds, or
//! has other MACs. Its MAC i is then wrong by e_i Δ for a bit e_i, and its sum by Δ · Σ χ_i e_i; it
//! does not know Δ. In the last chunk with some e_i = 1, the coefficients are fresh once the bits
//! are chosen. So Σ χ_i e_i is 0 with probability 2^-128 for each choice of bits that the party
//! tries, and otherwise it has to guess Δ. The sum reveals nothing: the party that checks it knows
//! the MACs that these bits must have.

use tacit_kernels::{Block, Cpu, Gf128Sum, Prg, inner_products};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::columns::ROWS;
use super::leaky::zero_blocks;
use super::oracle::{Digest, Oracle};

/// The size of a fold in bytes.
pub(super) const FOLD_BYTES: usize = Block::BYTES;

/// Sums of `N` columns of MACs under the same coefficients.
pub(super) struct Fold<const N: usize> {
    bits: Oracle,
    part: FoldPart<N>,
}

/// Sums of the MACs of some chunks.
pub(super) struct FoldPart<const N: usize> {
    cpu: Cpu,
    coefficients: Outputs,
    sums: Zeroizing<[Gf128Sum; N]>,
}

impl<const N: usize> FoldPart<N> {
    /// Returns sums of nothing.
    pub(super) fn new() -> Self {
        Self {
            cpu: Cpu::detect(),
            coefficients: zero_blocks(ROWS),
            sums: Zeroizing::new([Gf128Sum::default(); N]),
        }
    }

    /// Adds the MACs of a chunk, up to [`ROWS`] rows, whose coefficients come from
    /// [`seed`](Fold::seed_after).
    pub(super) fn add(&mut self, seed: &Digest, macs: [&[Block]; N]) {
        let coefficients = &mut self.coefficients[..macs[0].len()];
        Prg::from_seed(seed).fill_blocks(coefficients);
        for (sum, macs) in self.sums.iter_mut().zip(macs) {
            inner_products(self.cpu, coefficients, macs, std::slice::from_mut(sum));
        }
    }
}

impl<const N: usize> Fold<N> {
    /// Returns a fold whose coefficients come from `oracle`.
    pub(super) fn new(oracle: Oracle) -> Self {
        Self {
            bits: oracle,
            part: FoldPart::new(),
        }
    }

    /// Adds opened bits, and then the MACs of up to [`ROWS`] rows.
    pub(super) fn add(&mut self, bits: &[&[u8]], macs: [&[Block]; N]) {
        let seed = self.seed_after(bits);
        self.part.add(&seed, macs);
    }

    /// Adds the opened bits of a chunk. Returns the seed of its coefficients.
    pub(super) fn seed_after(&mut self, bits: &[&[u8]]) -> Digest {
        bits.iter().for_each(|bits| self.bits.add_bytes(bits));
        self.bits.so_far()
    }

    /// Adds the sums of other chunks.
    pub(super) fn collect(&mut self, parts: &[FoldPart<N>]) {
        for part in parts {
            for (sum, other) in self.part.sums.iter_mut().zip(&*part.sums) {
                sum.add(other.reduce());
            }
        }
    }

    /// Returns the sums.
    pub(super) fn finish(self) -> [[u8; FOLD_BYTES]; N] {
        self.part.sums.map(|sum| sum.reduce().to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authenticated::columns::{ExpectedMacs, each_row, masks};
    use crate::authenticated::oracle::Domain;

    const ROWS_OPENED: usize = 160;

    fn fold(bits: &[u8], macs: &[Block]) -> (Outputs, [u8; FOLD_BYTES]) {
        let mut fold = Fold::new(Oracle::new(&[7; 32], Domain::GateMacs, None, 3));
        fold.add(&[bits], [macs]);
        let coefficients = Outputs::new(fold.part.coefficients.to_vec());
        (coefficients, fold.finish()[0])
    }

    /// Returns the MACs of these bits under `keys`.
    fn macs(keys: &[Block], bits: &[u8], delta: Block) -> Vec<Block> {
        let (mut is_one, mut macs) = (keys.to_vec(), keys.to_vec());
        masks(bits, 0, &mut is_one);
        let zeros = vec![Block::ZERO; keys.len()];
        each_row(ExpectedMacs(&delta), [&is_one, keys, &zeros], [&mut macs]);
        macs
    }

    /// Returns bits whose coefficients sum to zero, found by elimination.
    fn cancelling(coefficients: &[Block]) -> Vec<u8> {
        let mut basis: Vec<(u128, Vec<u8>)> = Vec::new();
        for (i, coefficient) in coefficients.iter().enumerate() {
            let mut rest = coefficient.to_u128();
            let mut bits = vec![0; ROWS_OPENED / 8];
            bits[i / 8] |= 1 << (i % 8);
            for (vector, of) in &basis {
                if rest ^ vector < rest {
                    rest ^= vector;
                    bits.iter_mut().zip(of).for_each(|(a, b)| *a ^= b);
                }
            }
            if rest == 0 {
                return bits;
            }
            basis.push((rest, bits));
            basis.sort_by_key(|(vector, _)| std::cmp::Reverse(*vector));
        }
        panic!("more blocks than bits of a block");
    }

    /// A party that knew the coefficients before it chose its bits could open bits other than its
    /// own whose differences have coefficients that sum to zero. Its sum would be right.
    #[test]
    fn bits_chosen_by_their_coefficients_do_not_pass() {
        let mut prg = Prg::new(Block::from_u128(21));
        let mut keys = vec![Block::ZERO; ROWS_OPENED];
        prg.fill_blocks(&mut keys);
        let (held, delta) = (vec![0x5a; ROWS_OPENED / 8], prg.next_block());
        let own = macs(&keys, &held, delta);
        let (coefficients, sum) = fold(&held, &own);
        assert_eq!(fold(&held, &macs(&keys, &held, delta)).1, sum);
        let turned = cancelling(&coefficients);
        assert!(turned.iter().any(|byte| *byte != 0));
        let opened: Vec<u8> = held.iter().zip(&turned).map(|(a, b)| a ^ b).collect();
        let expected = fold(&opened, &macs(&keys, &opened, delta)).1;
        assert_ne!(fold(&opened, &own).1, expected);
    }
}
