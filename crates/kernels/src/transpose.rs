//! Transposition of bit matrices, 128 rows at a time, for OT extension.
//!
//! Each square of 128 × 128 bits is transposed in place by exchanging ever smaller off-diagonal
//! squares (Eklundh, "A fast computer method for matrix transposing", 1972): seven passes of
//! shifts and masks on whole rows, the same code compiled for each backend's vectors.

use zeroize::Zeroize;

use crate::simd::Simd;
use crate::{Block, Cpu, Kernel};

/// Rows of the matrix, and bits of a block.
const SIDE: usize = 128;

/// Transposes a matrix of 128 rows of n bits into n rows of 128 bits.
///
/// Row r of `rows` is its blocks `r * n / 128 …`; bit i of a block is column i modulo 128, least
/// significant first. Bit r of `columns[j]` becomes column j of row r.
///
/// # Panics
///
/// If `rows` and `columns` are not equally long, or their length n is not a multiple of 128.
pub fn transpose_128(cpu: Cpu, rows: &[Block], columns: &mut [Block]) {
    assert_eq!(
        rows.len(),
        columns.len(),
        "rows and columns have as many bits"
    );
    assert_eq!(
        rows.len() % SIDE,
        0,
        "the number of columns is a multiple of 128"
    );
    cpu.dispatch(Transpose { rows, columns });
}

struct Transpose<'a> {
    rows: &'a [Block],
    columns: &'a mut [Block],
}

impl Kernel for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        let stride = self.rows.len() / SIDE;
        // Rows in two words, low half first, so that each pass works on contiguous words.
        let mut square = [[0; 2]; SIDE];
        for (at, columns) in self.columns.chunks_exact_mut(SIDE).enumerate() {
            for (r, row) in square.iter_mut().enumerate() {
                let value = self.rows[r * stride + at].to_u128();
                *row = [value as u64, (value >> 64) as u64];
            }
            transpose_square(&mut square);
            for (column, row) in columns.iter_mut().zip(&square) {
                *column = Block::from_u128(u128::from(row[0]) | u128::from(row[1]) << 64);
            }
        }
        square.as_flattened_mut().zeroize();
    }
}

#[inline(always)]
fn transpose_square(square: &mut [[u64; 2]; SIDE]) {
    let (top, bottom) = square.split_at_mut(SIDE / 2);
    for (a, b) in top.iter_mut().zip(bottom) {
        core::mem::swap(&mut a[1], &mut b[0]);
    }
    exchange::<32>(square, 0x0000_0000_ffff_ffff);
    exchange::<16>(square, 0x0000_ffff_0000_ffff);
    exchange::<8>(square, 0x00ff_00ff_00ff_00ff);
    exchange::<4>(square, 0x0f0f_0f0f_0f0f_0f0f);
    exchange::<2>(square, 0x3333_3333_3333_3333);
    exchange::<1>(square, 0x5555_5555_5555_5555);
}

/// Exchanges the off-diagonal squares of `D` × `D` bits in each square of twice the side.
#[inline(always)]
fn exchange<const D: usize>(square: &mut [[u64; 2]; SIDE], mask: u64) {
    for rows in square.chunks_exact_mut(2 * D) {
        let (top, bottom) = rows.split_at_mut(D);
        for (a, b) in top
            .as_flattened_mut()
            .iter_mut()
            .zip(bottom.as_flattened_mut())
        {
            let t = (*a >> D ^ *b) & mask;
            *b ^= t;
            *a ^= t << D;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    fn bit(block: Block, i: usize) -> u128 {
        block.to_u128() >> i & 1
    }

    #[test]
    fn every_backend_agrees_with_the_definition() {
        for n in [0, 128, 256, 384, 1280] {
            let mut rows = vec![Block::ZERO; n];
            Prg::new(Block::from_u128(n as u128)).fill_blocks(&mut rows);
            for cpu in Cpu::available() {
                let mut columns = vec![Block::ZERO; n];
                transpose_128(cpu, &rows, &mut columns);
                for (j, column) in columns.iter().enumerate() {
                    for r in 0..128 {
                        let expected = bit(rows[r * (n / 128) + j / 128], j % 128);
                        assert_eq!(bit(*column, r), expected, "row {r}, column {j}, {cpu:?}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "multiple of 128")]
    fn a_ragged_matrix_is_refused() {
        transpose_128(Cpu::portable(), &[Block::ZERO; 64], &mut [Block::ZERO; 64]);
    }
}
