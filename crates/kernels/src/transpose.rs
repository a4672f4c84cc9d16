//! Transposition of bit matrices, 128 rows at a time, for OT extension.
//!
//! Each square of 128 × 128 bits is transposed in two passes. The first exchanges ever smaller
//! off-diagonal squares of bits between eight consecutive rows (Eklundh, "A fast computer method
//! for matrix transposing", 1972), so that each byte then holds eight bits of one column. The
//! second transposes bytes: of sixteen vectors, numbers i and i + 8 are interleaved, four times.
//! Four squares are processed at a time, since their rows share cache lines: if the row length is a
//! power of two, rows could otherwise leave the first-level cache before the next square needs
//! them.
//!
//! Cost for each vector: nine operations on bits, four on bytes, and up to two that bring the rows
//! of a square together.

use zeroize::Zeroize;

use crate::prefetch::prefetch_beyond;
use crate::simd::Simd;
use crate::{Block, Cpu, Kernel};

/// The rows of the matrix, and the bits of a block.
const SIDE: usize = 128;

/// The number of squares that are transposed together, a multiple of every backend's lanes.
const SQUARES: usize = 4;

/// Transposes a matrix of 128 rows of n bits into n rows of 128 bits.
///
/// Row r of `rows` is its blocks `r * n / 128 …`; bit i of a block is column i modulo 128, least
/// significant first. Bit r of `columns[j]` becomes column j of row r.
///
/// # Panics
///
/// If `rows` and `columns` have different lengths, or their length n is not a multiple of 128.
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

    fn gains_by_width(&self) -> bool {
        true
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let stride = self.rows.len() / SIDE;
        let mut work = [[Block::ZERO; SIDE]; SQUARES];
        let (whole, rest) = self.columns.as_chunks_mut();
        for (columns, at) in whole.iter_mut().zip((0..).step_by(SQUARES)) {
            bits(simd, &self.rows[at..], stride, &mut work);
            bytes(simd, &work, columns);
        }
        if !rest.is_empty() {
            let left = rest.len() / SIDE;
            let mut rows = [Block::ZERO; SQUARES * SIDE];
            let mut columns = [Block::ZERO; SQUARES * SIDE];
            let from = self.rows.chunks_exact(stride);
            for (row, from) in rows.chunks_exact_mut(SQUARES).zip(from) {
                row[..left].copy_from_slice(&from[stride - left..]);
            }
            bits(simd, &rows, SQUARES, &mut work);
            bytes(simd, &work, &mut columns);
            rest.copy_from_slice(&columns[..rest.len()]);
            rows.zeroize();
            columns.zeroize();
        }
        work.as_flattened_mut().zeroize();
    }
}

/// The rows of [`SQUARES`] squares, square by square. Vectors of them are listed one by one below:
/// in a loop, or in a closure over an array, the compiler keeps loads in memory and not in
/// registers.
type Squares = [[Block; SIDE]; SQUARES];

/// Transposes squares of 8 × 8 bits. Their rows are `stride` blocks apart.
#[inline(always)]
fn bits<S: Simd>(simd: S, rows: &[Block], stride: usize, work: &mut Squares) {
    for first in (0..SIDE).step_by(8) {
        for at in (0..SQUARES).step_by(S::LANES) {
            let row = |i: usize| simd.load(&rows[(first + i) * stride + at..]);
            let mut held = [
                row(0),
                row(1),
                row(2),
                row(3),
                row(4),
                row(5),
                row(6),
                row(7),
            ];
            exchange::<S, 8, 4, 4>(simd, &mut held);
            exchange::<S, 8, 2, 2>(simd, &mut held);
            exchange::<S, 8, 1, 1>(simd, &mut held);
            side_by_side(simd, &mut held);
            for (i, rows) in held.into_iter().enumerate() {
                let (square, row) = (i % S::LANES, i - i % S::LANES);
                simd.store(rows, &mut work[at + square][first + row..]);
            }
        }
    }
}

/// Converts vectors with one row of several squares each to vectors with several rows of one
/// square.
#[inline(always)]
fn side_by_side<S: Simd>(simd: S, held: &mut [S::Vector; 8]) {
    if S::LANES == 4 {
        for rows in held.as_chunks_mut::<4>().0 {
            let [a, b, c, d] = *rows;
            let ([a, c], [b, d]) = (simd.zip([a, c]), simd.zip([b, d]));
            let ([first, second], [third, fourth]) = (simd.zip([a, b]), simd.zip([c, d]));
            *rows = [first, second, third, fourth];
        }
    } else if S::LANES == 2 {
        for rows in held.as_chunks_mut::<2>().0 {
            *rows = simd.zip(*rows);
        }
    }
}

/// Transposes squares of 16 × 16 bytes: byte `c` of rows `i`, `i + 8`, … makes column `8c + i`.
#[inline(always)]
fn bytes<S: Simd>(simd: S, work: &Squares, columns: &mut [Block; SQUARES * SIDE]) {
    for (rows, columns) in work.iter().zip(columns.as_chunks_mut::<SIDE>().0) {
        for at in (0..8).step_by(S::LANES) {
            let row = |i: usize| simd.load(&rows[8 * i + at..]);
            let mut held = [
                row(0),
                row(1),
                row(2),
                row(3),
                row(4),
                row(5),
                row(6),
                row(7),
                row(8),
                row(9),
                row(10),
                row(11),
                row(12),
                row(13),
                row(14),
                row(15),
            ];
            simd.transpose_bytes(&mut held);
            // The columns' memory was not used for long, and stores wait for it.
            prefetch_beyond(&columns[16 * at..16 * (at + S::LANES)]);
            for (i, column) in held.into_iter().enumerate() {
                simd.store(column, &mut columns[8 * i + at..]);
            }
        }
    }
}

/// Returns, in each 64-bit half, the bits whose number has the bit `SIZE` clear.
const fn mask(size: i32) -> Block {
    let low = u128::MAX / ((1 << size) + 1);
    Block::from_u128(low)
}

/// Returns number `n` of the numbers below `HELD` that have the bit `apart` clear.
const fn clear_of(apart: usize, n: usize) -> usize {
    n / apart * 2 * apart + n % apart
}

/// Exchanges the off-diagonal squares of `SIZE` × `SIZE` bits between vectors that are `APART`.
///
/// The pairs are listed one by one, as the vectors above are.
#[inline(always)]
pub(crate) fn exchange<S: Simd, const HELD: usize, const APART: usize, const SIZE: i32>(
    simd: S,
    held: &mut [S::Vector; HELD],
) {
    exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 0) });
    exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 1) });
    exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 2) });
    exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 3) });
    if HELD == 16 {
        exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 4) });
        exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 5) });
        exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 6) });
        exchange_two::<S, HELD, APART, SIZE>(simd, held, const { clear_of(APART, 7) });
    }
}

/// Does [`exchange`] for vector `first` and its partner.
#[inline(always)]
fn exchange_two<S: Simd, const HELD: usize, const APART: usize, const SIZE: i32>(
    simd: S,
    held: &mut [S::Vector; HELD],
    first: usize,
) {
    let mask = simd.splat(const { mask(SIZE) });
    let (a, b) = (held[first], held[first + APART]);
    let moved = simd.and(simd.xor(simd.shift_down::<SIZE>(a), b), mask);
    held[first] = simd.xor(a, simd.shift_up::<SIZE>(moved));
    held[first + APART] = simd.xor(b, moved);
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
        for n in [0, 128, 256, 384, 512, 1280] {
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
