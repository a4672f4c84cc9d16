//! Passes over columns: vectorized operations on the blocks of many shares.
//!
//! A bit that decides is represented as a mask, a block of all ones or all zeros, so that no pass
//! branches on it. A [`subtle::Choice`] would need a call for each bit.

use std::ops::Range;

use tacit_kernels::{Block, Cpu, Kernel, MAX_LANES, Simd, prefetch_beyond};
use tacit_ot::Outputs;

use super::leaky::zero_blocks;
use crate::bits::bytes_for;

/// The number of rows on which passes work in turn, so that the rows stay in the first-level cache.
/// They fill whole bytes of bits.
pub(super) const ROWS: usize = 512;

/// The operation on each row of `I` input columns and `O` output columns.
pub(super) trait Pass<const I: usize, const O: usize> {
    /// Processes one row in each lane. Must be `#[inline(always)]`.
    fn row<S: Simd>(&self, simd: S, inputs: [S::Vector; I], outputs: &mut [S::Vector; O]);
}

/// Applies `pass` to each row of the first output. No column may be shorter than that one. If the
/// pass borrows Δ and shares, nothing that it computes from them stays on the stack.
pub(super) fn each_row<P: Pass<I, O>, const I: usize, const O: usize>(
    pass: P,
    inputs: [&[Block]; I],
    outputs: [&mut [Block]; O],
) {
    let rows = outputs[0].len();
    let inputs = inputs.map(|column| &column[..rows]);
    let outputs = outputs.map(|column| &mut column[..rows]);
    Cpu::detect().dispatch_and_wipe(EachRow {
        pass,
        inputs,
        outputs,
    });
}

struct EachRow<'a, P, const I: usize, const O: usize> {
    pass: P,
    inputs: [&'a [Block]; I],
    outputs: [&'a mut [Block]; O],
}

impl<P: Pass<I, O>, const I: usize, const O: usize> Kernel for EachRow<'_, P, I, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let rows = self.outputs[0].len();
        let whole = rows - rows % S::LANES;
        let zero = simd.splat(Block::ZERO);
        for at in (0..whole).step_by(S::LANES) {
            let (mut inputs, mut outputs) = ([zero; I], [zero; O]);
            for (vector, column) in inputs.iter_mut().zip(&self.inputs) {
                prefetch_beyond(&column[at..at + S::LANES]);
                *vector = simd.load(&column[at..]);
            }
            for (vector, column) in outputs.iter_mut().zip(&self.outputs) {
                prefetch_beyond(&column[at..at + S::LANES]);
                *vector = simd.load(&column[at..]);
            }
            self.pass.row(simd, inputs, &mut outputs);
            for (vector, column) in outputs.into_iter().zip(&mut self.outputs) {
                simd.store(vector, &mut column[at..]);
            }
        }
        if whole < rows {
            let (mut inputs, mut outputs) = ([zero; I], [zero; O]);
            let padded = |column: &[Block]| {
                let mut lanes = [Block::ZERO; MAX_LANES];
                lanes[..rows - whole].copy_from_slice(&column[whole..]);
                lanes
            };
            for (vector, column) in inputs.iter_mut().zip(&self.inputs) {
                *vector = simd.load(&padded(column));
            }
            for (vector, column) in outputs.iter_mut().zip(&self.outputs) {
                *vector = simd.load(&padded(column));
            }
            self.pass.row(simd, inputs, &mut outputs);
            for (vector, column) in outputs.into_iter().zip(&mut self.outputs) {
                let mut lanes = [Block::ZERO; MAX_LANES];
                simd.store(vector, &mut lanes);
                column[whole..].copy_from_slice(&lanes[..rows - whole]);
            }
        }
    }
}

/// A pass that writes the sum of two columns.
pub(super) struct Sum;

impl Pass<2, 1> for Sum {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, [a, b]: [S::Vector; 2], sum: &mut [S::Vector; 1]) {
        sum[0] = simd.xor(a, b);
    }
}

/// A pass that adds an offset where the mask is set.
pub(super) struct AddOffset<'a>(pub(super) &'a Block);

impl Pass<1, 1> for AddOffset<'_> {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, [mask]: [S::Vector; 1], [block]: &mut [S::Vector; 1]) {
        *block = simd.xor(*block, simd.and(mask, simd.splat(*self.0)));
    }
}

/// A pass that writes the MACs that the other party must have for sums of two shares, from its
/// opened bits and this party's keys: K ⊕ K' ⊕ bit·Δ.
pub(super) struct ExpectedMacs<'a>(pub(super) &'a Block);

impl Pass<3, 1> for ExpectedMacs<'_> {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, [bit, a, b]: [S::Vector; 3], mac: &mut [S::Vector; 1]) {
        let delta = simd.and(bit, simd.splat(*self.0));
        mac[0] = simd.xor(simd.xor(a, b), delta);
    }
}

/// Returns the rows below `count`, in chunks of up to [`ROWS`].
pub(super) fn chunks(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count)
        .step_by(ROWS)
        .map(move |first| first..count.min(first + ROWS))
}

/// Returns the bytes with the bits of some rows, which must start at a byte.
pub(super) fn bit_bytes(rows: &Range<usize>) -> Range<usize> {
    rows.start / 8..bytes_for(rows.end)
}

/// Returns columns for intermediate results, which are wiped when dropped.
pub(super) fn scratch<const N: usize>() -> [Outputs; N] {
    std::array::from_fn(|_| zero_blocks(ROWS))
}

/// Returns a mask of bit 0 of `word`.
#[inline(always)]
pub(super) fn mask(word: u64) -> Block {
    let half = u128::from((word & 1).wrapping_neg());
    Block::from_u128(half | half << 64)
}

/// Writes the bits from `first` on as masks.
pub(super) fn masks(bits: &[u8], first: usize, into: &mut [Block]) {
    let (byte, bit) = (first / 8, first % 8);
    let (begun, whole) = into.split_at_mut(into.len().min((8 - bit) % 8));
    for (i, into) in (bit..).zip(begun) {
        *into = mask(u64::from(bits[byte] >> i));
    }
    let next = byte + usize::from(bit > 0);
    let bytes = &bits[next..next + bytes_for(whole.len())];
    for (&byte, into) in bytes.iter().zip(whole.chunks_mut(8)) {
        for (i, into) in into.iter_mut().enumerate() {
            *into = mask(u64::from(byte >> i));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacit_kernels::Prg;
    use tacit_kernels::leftovers::on_own_stack;

    #[test]
    fn passes_take_every_row_of_any_length() {
        for rows in [0, 1, 3, 4, 5, 8, 511, 513] {
            let mut blocks = vec![Block::ZERO; 3 * rows + 1];
            Prg::new(Block::from_u128(rows as u128)).fill_blocks(&mut blocks);
            let (a, rest) = blocks.split_at(rows);
            let (b, bits) = rest.split_at(rows);
            let delta = Block::from_u128(0b101 << 60 | 1);
            let packed = bits.iter().flat_map(|block| block.to_bytes());
            let packed: Vec<u8> = packed.collect();
            let mut bit = vec![Block::ZERO; rows];
            masks(&packed, 3, &mut bit);
            let mut found = vec![Block::ONES; rows];
            each_row(ExpectedMacs(&delta), [&bit, a, b], [&mut found]);
            for i in 0..rows {
                let is_one = packed[(i + 3) / 8] >> ((i + 3) % 8) & 1 == 1;
                let expected = a[i] ^ b[i] ^ if is_one { delta } else { Block::ZERO };
                assert_eq!(found[i], expected, "row {i} of {rows}");
            }
        }
        assert_eq!(chunks(2 * ROWS + 1).last(), Some(2 * ROWS..2 * ROWS + 1));
    }

    #[test]
    fn a_pass_leaves_no_offset_and_no_share_on_the_stack() {
        let mut blocks = vec![Block::ZERO; 1 + 3 * 515];
        Prg::new(Block::from_u128(7)).fill_blocks(&mut blocks);
        let (delta, rest) = blocks.split_first().unwrap();
        let (bit, rest) = rest.split_at(515);
        let (a, b) = rest.split_at(515);
        let mut found = vec![Block::ZERO; 515];
        let stack = on_own_stack(|| each_row(ExpectedMacs(delta), [bit, a, b], [&mut found]));
        let Some(stack) = stack else { return };
        for secret in [delta].into_iter().chain(&a[510..]).chain(&found[510..]) {
            assert_eq!(stack.count(&secret.to_bytes()), 0, "{secret:?}");
        }
    }
}
