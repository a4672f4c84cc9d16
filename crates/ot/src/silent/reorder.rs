//! Moves leaves from the order of y = x ⊕ α to that of x, by masked exchanges: no address depends
//! on α.
//!
//! Bit b of α exchanges the leaves that differ in bit b of their index. One pass over the leaves
//! handles three bits, with eight vectors in registers, so thirteen bits take five passes.

use tacit_kernels::{Block, Kernel, Simd};

/// The number of index bits that a pass handles.
const PASS: usize = 3;

/// Moves the leaf at y to y ⊕ α. Bit b of α is set if `swaps[b]` is all ones, and clear if it is
/// all zeros.
pub(super) struct Reorder<'a> {
    pub(super) leaves: &'a mut [Block],
    pub(super) swaps: &'a [Block],
}

impl Kernel for Reorder<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { leaves, swaps } = self;
        debug_assert_eq!(leaves.len(), 1 << swaps.len());
        if leaves.len() < S::LANES << PASS {
            for (bit, &swap) in swaps.iter().enumerate() {
                exchange(leaves, 1 << bit, swap);
            }
            return;
        }
        let (near, far) = swaps.split_at(PASS);
        let masks = [near[0], near[1], near[2]].map(|swap| simd.splat(swap));
        for group in leaves.chunks_exact_mut(S::LANES << PASS) {
            let vectors = core::array::from_fn(|i| simd.gather(group, |lane| (lane << PASS) + i));
            for (i, vector) in settle(simd, vectors, masks).into_iter().enumerate() {
                simd.scatter(vector, group, |lane| (lane << PASS) + i);
            }
        }
        let (threes, rest) = far.as_chunks::<PASS>();
        for (pass, &three) in threes.iter().enumerate() {
            let stride = 1 << (PASS * (pass + 1));
            let masks = three.map(|swap| simd.splat(swap));
            for group in leaves.chunks_exact_mut(stride << PASS) {
                for at in (0..stride).step_by(S::LANES) {
                    let vectors = core::array::from_fn(|i| simd.load(&group[i * stride + at..]));
                    for (i, vector) in settle(simd, vectors, masks).into_iter().enumerate() {
                        simd.store(vector, &mut group[i * stride + at..]);
                    }
                }
            }
        }
        let done = swaps.len() - rest.len();
        for (bit, &swap) in rest.iter().enumerate() {
            let mask = simd.splat(swap);
            for group in leaves.chunks_exact_mut(2 << (done + bit)) {
                let (low, high) = group.split_at_mut(1 << (done + bit));
                let high = high.chunks_exact_mut(S::LANES);
                for (low, high) in low.chunks_exact_mut(S::LANES).zip(high) {
                    let (a, b) = masked(simd, simd.load(low), simd.load(high), mask);
                    simd.store(a, low);
                    simd.store(b, high);
                }
            }
        }
    }
}

/// Exchanges, for each bit of i, the vectors i that differ only in that bit, under the bit's mask.
#[inline(always)]
fn settle<S: Simd>(
    simd: S,
    mut vectors: [S::Vector; 1 << PASS],
    masks: [S::Vector; PASS],
) -> [S::Vector; 1 << PASS] {
    for (bit, &mask) in masks.iter().enumerate() {
        for i in (0..1 << PASS).filter(|i| i >> bit & 1 == 0) {
            let j = i | 1 << bit;
            (vectors[i], vectors[j]) = masked(simd, vectors[i], vectors[j], mask);
        }
    }
    vectors
}

#[inline(always)]
fn masked<S: Simd>(simd: S, a: S::Vector, b: S::Vector, mask: S::Vector) -> (S::Vector, S::Vector) {
    let difference = simd.and(simd.xor(a, b), mask);
    (simd.xor(a, difference), simd.xor(b, difference))
}

/// Does the same one block at a time, for trees smaller than a pass.
fn exchange(leaves: &mut [Block], distance: usize, swap: Block) {
    for pair in leaves.chunks_exact_mut(2 * distance) {
        let (low, high) = pair.split_at_mut(distance);
        for (a, b) in low.iter_mut().zip(high) {
            let difference = (*a ^ *b) & swap;
            *a ^= difference;
            *b ^= difference;
        }
    }
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Cpu;

    use super::*;

    #[test]
    fn leaves_move_to_where_alpha_says_on_every_backend() {
        for depth in 1..=12_usize {
            for seed in [0_usize, 1, 0b1010_1100_0110, usize::MAX, 0x9e37] {
                let alpha = seed & ((1 << depth) - 1);
                let bits = (0..depth).map(|bit| alpha >> bit & 1 == 1);
                let swaps: Vec<Block> = bits
                    .map(|set| if set { Block::ONES } else { Block::ZERO })
                    .collect();
                for cpu in Cpu::available() {
                    let leaves = (0..1u128 << depth).map(Block::from_u128);
                    let mut leaves: Vec<Block> = leaves.collect();
                    cpu.dispatch(Reorder {
                        leaves: &mut leaves,
                        swaps: &swaps,
                    });
                    for (x, leaf) in leaves.iter().enumerate() {
                        assert_eq!(leaf.to_u128(), (x ^ alpha) as u128, "{cpu:?}, {depth}");
                    }
                }
            }
        }
    }
}
