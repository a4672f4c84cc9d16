//! Inputs as rows: bits that come element by element are transposed.

use core::ops::Range;

use tacit_function::schedule::InputBlock;
use tacit_kernels::{Block as SquareRow, Cpu, transpose_128};
use zeroize::Zeroizing;

use super::bits::{self, words_for};
use super::sharing::Threads;
use super::store::{WHOLE_ROWS, Words, row_bits};

/// The side of a square of bits that is transposed at once.
const SIDE: usize = 128;

/// The number of elements that a thread takes at a time: a multiple of [`SIDE`].
const OF_THREAD: usize = 1 << 12;

/// A square, before and after it is transposed.
struct Square {
    elements: Zeroizing<[SquareRow; SIDE]>,
    columns: Zeroizing<[SquareRow; SIDE]>,
}

impl Default for Square {
    fn default() -> Self {
        let zeros = || Zeroizing::new([SquareRow::ZERO; SIDE]);
        Self {
            elements: zeros(),
            columns: zeros(),
        }
    }
}

/// Returns the rows of an input. `share` returns up to 64 of its bits from a number on. Bits are
/// numbered element by element.
pub(super) fn transposed(
    input: &InputBlock,
    threads: Threads,
    share: impl Fn(usize, usize) -> u64 + Sync,
) -> Words {
    let (rows, elements) = (input.rows as usize, input.instances as usize);
    let row_bits = row_bits(elements);
    let mut words = Zeroizing::new(vec![0; words_for(row_bits * rows)]);
    if elements < WHOLE_ROWS {
        let square = &mut Square::default();
        transpose(
            rows,
            0..elements,
            square,
            &share,
            |row, at, column, count| {
                bits::copy(column, 0, count, &mut words, row * row_bits + at);
            },
        );
        return words;
    }
    // Each thread writes some elements of all rows.
    let firsts = (0..elements).step_by(OF_THREAD);
    let parts = firsts.map(|first| (first..elements.min(first + OF_THREAD), Vec::new()));
    let mut parts: Vec<(Range<usize>, Vec<&mut [u64]>)> = parts.collect();
    for row in words.chunks_exact_mut(row_bits / 64) {
        let places = row.chunks_mut(OF_THREAD / 64);
        for ((_, of_part), place) in parts.iter_mut().zip(places) {
            of_part.push(place);
        }
    }
    // Fetching shares takes longer than transposing them.
    let cost = |part: &(Range<usize>, Vec<&mut [u64]>)| (part.0.len() * rows / 8) as u64;
    threads.share(parts, cost, |square: &mut Square, (of, places)| {
        transpose(
            rows,
            of.clone(),
            square,
            &share,
            |row, at, column, count| {
                bits::copy(column, 0, count, places[row], at);
            },
        );
    });
    words
}

/// Calls `put` with the rows of these elements in pieces of up to 128 bits: with the row, the place
/// of the first bit among the elements, the bits, and their number.
fn transpose(
    rows: usize,
    of: Range<usize>,
    square: &mut Square,
    share: impl Fn(usize, usize) -> u64,
    mut put: impl FnMut(usize, usize, &[u64; 2], usize),
) {
    let Square { elements, columns } = square;
    let squares = of.clone().step_by(SIDE).flat_map(|first| {
        let rows = (0..rows).step_by(SIDE);
        rows.map(move |row| (first, row))
    });
    for (first, row) in squares {
        let (count, width) = ((of.end - first).min(SIDE), (rows - row).min(SIDE));
        for (element, number) in elements[..count].iter_mut().zip(first..) {
            let at = number * rows + row;
            let low = share(at, width.min(64));
            let high = if width > 64 {
                share(at + 64, width - 64)
            } else {
                0
            };
            *element = SquareRow::from_u128(u128::from(high) << 64 | u128::from(low));
        }
        transpose_128(Cpu::detect(), &**elements, &mut **columns);
        for (column, row) in columns[..width].iter().zip(row..) {
            let column = column.to_u128();
            let column = [column as u64, (column >> 64) as u64];
            put(row, first - of.start, &column, count);
        }
    }
}
