//! Small-field VOLE: the streams of a tree's leaves, folded into rows.
//!
//! Source: Roy 2022, figure 7 and section 3.1: the sums ⊕_x x·G_x, bit by bit, and ⊕_x G_x cost
//! fewer than 2 · 2^k additions in all, by folding pairs of streams that differ in one bit of x.
//!
//! Cost: 2^k cipher calls and 2^(k+1) additions for each 128 OTs and group.

use tacit_kernels::{Block, Cpu};
use zeroize::Zeroizing;

use super::stream::Stream;
use super::tree::Leaves;

/// The streams of one tree's leaves.
pub(crate) struct Streams {
    /// Leaf 0 of a punctured tree is absent, so that `skipped` is 1, otherwise 0.
    skipped: usize,
    streams: Vec<Stream>,
}

impl Streams {
    /// All streams of a whole tree.
    pub(crate) fn of_whole(cpu: Cpu, leaves: &Leaves) -> Self {
        Self::of(cpu, leaves, 0)
    }

    /// The streams of a punctured tree, in which the unknown one counts as zero.
    pub(crate) fn of_punctured(cpu: Cpu, leaves: &Leaves) -> Self {
        Self::of(cpu, leaves, 1)
    }

    fn of(cpu: Cpu, leaves: &Leaves, skipped: usize) -> Self {
        let streams = leaves[skipped..].iter().map(|&leaf| Stream::new(cpu, leaf));
        Self {
            skipped,
            streams: streams.collect(),
        }
    }

    /// Writes blocks `first…` of ⊕_x x_b·G_x into row b of `rows`, each row as long as `rows` over
    /// the number of rows, and leaves ⊕_x G_x in the first so many blocks of `scratch`, which
    /// holds a row for each leaf.
    pub(crate) fn fold(&self, first: u64, rows: &mut [Block], scratch: &mut [Block]) {
        let leaves = self.skipped + self.streams.len();
        let width = leaves.trailing_zeros() as usize;
        let length = rows.len() / width;
        debug_assert_eq!(rows.len(), width * length);
        debug_assert_eq!(scratch.len(), leaves * length);
        scratch[..self.skipped * length].fill(Block::ZERO);
        let filled = scratch[self.skipped * length..].chunks_exact_mut(length);
        for (stream, out) in self.streams.iter().zip(filled) {
            stream.fill(first, out);
        }
        let mut remaining = leaves;
        for row in rows.chunks_exact_mut(length) {
            row.fill(Block::ZERO);
            remaining /= 2;
            for pair in 0..remaining {
                fold_pair(row, scratch, pair, length);
            }
        }
    }
}

/// Adds stream 2·`pair` + 1 to `row` and puts its sum with stream 2·`pair` at place `pair`.
fn fold_pair(row: &mut [Block], scratch: &mut [Block], pair: usize, length: usize) {
    let (before, odd) = scratch.split_at_mut((2 * pair + 1) * length);
    let (low, even) = before.split_at_mut(2 * pair * length);
    let odd = &odd[..length];
    for (sum, &odd) in row.iter_mut().zip(odd) {
        *sum ^= odd;
    }
    if pair == 0 {
        for (place, &odd) in even.iter_mut().zip(odd) {
            *place ^= odd;
        }
    } else {
        let place = &mut low[pair * length..][..length];
        for ((place, &even), &odd) in place.iter_mut().zip(&*even).zip(odd) {
            *place = even ^ odd;
        }
    }
}

/// Scratch for [`Streams::fold`] with rows of `length` blocks and up to `leaves` leaves.
pub(crate) fn scratch(leaves: usize, length: usize) -> Zeroizing<Vec<Block>> {
    Zeroizing::new(vec![Block::ZERO; leaves * length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_is_the_sum_over_leaves() {
        for width in 1..=8 {
            for skipped in [0, 1] {
                let leaves: Vec<_> = (0..1u128 << width)
                    .map(|x| Block::from_u128(x + 7))
                    .collect();
                let leaves = Zeroizing::new(leaves);
                let (first, length) = (11, 3);
                let mut rows = vec![Block::ONES; width * length];
                let mut scratch = scratch(leaves.len(), length);
                Streams::of(Cpu::detect(), &leaves, skipped).fold(first, &mut rows, &mut scratch);
                let mut expected = vec![Block::ZERO; (width + 1) * length];
                for (x, &leaf) in leaves.iter().enumerate().skip(skipped) {
                    let mut stream = vec![Block::ZERO; length];
                    Stream::new(Cpu::detect(), leaf).fill(first, &mut stream);
                    for (i, block) in stream.into_iter().enumerate() {
                        for bit in (0..width).filter(|bit| x >> bit & 1 == 1) {
                            expected[bit * length + i] ^= block;
                        }
                        expected[width * length + i] ^= block;
                    }
                }
                assert_eq!(rows, expected[..width * length]);
                if skipped == 0 {
                    assert_eq!(scratch[..length], expected[width * length..]);
                }
            }
        }
    }
}
