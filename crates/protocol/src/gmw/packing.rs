//! From blocks of hashed OTs to rows of bits.

use core::fmt;

use tacit_kernels::{Block, Cpu, low_bits, transpose_128};
use zeroize::{Zeroize, Zeroizing};

use super::hashed::HASHED_OTS;
use super::rows::BitWriter;

/// The side of a square of bits that is transposed at once.
const SIDE: usize = 128;

/// The number of bits below which placing them one by one is faster than transposing a square.
const FEW_BITS: usize = 128;

/// Consecutive OTs, of which the lowest bits of each hash become rows: at the OTs' sender, the
/// first rows are of r and the second ones of α; at the receiver, of b and of ρ (see
/// [`crosses`](super::crosses)). Threads hash at most [`HASHED_OTS`] as a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtPart {
    /// The number of OTs.
    pub(super) ots: usize,
    /// The number of rows of the first and of the second hashes.
    pub(super) rows: [usize; 2],
    /// Whether each OT is a cross of its own. Then its rows of one bit follow each other.
    pub(super) is_of_single: bool,
}

/// Returns the number of first rows and of second ones of a cross of this width, at the OTs' sender
/// (`sends`) or at the receiver.
pub(super) fn rows_of_cross(width: usize, sends: bool) -> [usize; 2] {
    [if sends { width } else { 1 }, width]
}

impl OtPart {
    /// Returns the part of this many OTs of which one bit of each hash is used.
    pub(super) fn of_bits(ots: usize) -> Self {
        Self {
            ots,
            rows: [1; 2],
            is_of_single: false,
        }
    }

    /// Returns the number of words of its first (0) or second (1) rows. Each row starts a word.
    pub(super) fn words(&self, which: usize) -> usize {
        if self.is_of_single {
            (self.ots * self.rows[which]).div_ceil(64)
        } else {
            self.rows[which] * self.ots.div_ceil(64)
        }
    }
}

/// Makes room for `length` values. The memory is replaced rather than grown, so that no copy of its
/// content is freed unwiped.
pub(super) fn make_room<T: Clone + Default + Zeroize>(
    memory: &mut Zeroizing<Vec<T>>,
    length: usize,
) {
    if memory.len() < length {
        *memory = Zeroizing::new(vec![T::default(); length]);
    }
}

/// A converter of the lowest bits of blocks into rows.
pub(super) struct RowWriter {
    square: Zeroizing<Vec<Block>>,
    columns: Zeroizing<Vec<Block>>,
    words: Zeroizing<Vec<u64>>,
    bits: BitWriter,
}

impl Default for RowWriter {
    fn default() -> Self {
        let square = || Zeroizing::new(vec![Block::ZERO; SIDE]);
        Self {
            square: square(),
            columns: square(),
            words: Zeroizing::new(vec![0; HASHED_OTS / 64]),
            bits: BitWriter::default(),
        }
    }
}

impl fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowWriter(..)")
    }
}

impl RowWriter {
    /// Writes the first (0) or second (1) rows of a part, which these blocks hold.
    pub(super) fn write_part(
        &mut self,
        part: &OtPart,
        of: usize,
        blocks: &[Block],
        into: &mut [u64],
    ) {
        let rows = part.rows[of];
        if part.is_of_single && rows > 1 {
            return self.write_single(blocks, rows, into);
        }
        let row_words = part.ots.div_ceil(64);
        self.write(blocks, rows, |row, at, words, bits| {
            let place = row * row_words + at / 64;
            let words = &words[..bits.div_ceil(64)];
            into[place..place + words.len()].copy_from_slice(words);
        });
    }

    /// Writes the lowest `rows` bits of each block one after the other: the rows of crosses of one
    /// instance.
    fn write_single(&mut self, blocks: &[Block], rows: usize, into: &mut [u64]) {
        if rows == 128 {
            for (block, pair) in blocks.iter().zip(into.as_chunks_mut().0) {
                let words = block.to_u128();
                *pair = [words as u64, (words >> 64) as u64];
            }
            return;
        }
        self.bits.restart((blocks.len() * rows) as u64);
        for block in blocks {
            let words = block.to_u128();
            let words = [words as u64, (words >> 64) as u64];
            self.bits.push(words.into_iter(), rows);
        }
        self.bits.fill_up();
        into.copy_from_slice(self.bits.words());
    }

    /// Calls `put` with parts of `rows` rows, in which bit i of row k is bit k of block i. Its
    /// arguments are the row, the position of the part's first bit in the row, which is a multiple
    /// of 64, the part's words, and the number of bits that count. The other bits are zero.
    ///
    /// # Panics
    ///
    /// Panics if there are more than [`HASHED_OTS`] blocks.
    pub(super) fn write(
        &mut self,
        blocks: &[Block],
        rows: usize,
        mut put: impl FnMut(usize, usize, &[u64], usize),
    ) {
        if rows == 1 {
            low_bits(blocks, &mut self.words);
            put(0, 0, &self.words, blocks.len());
            return;
        }
        if blocks.len() * rows <= FEW_BITS && blocks.len() <= 64 {
            for row in 0..rows {
                let bit = |block: &Block| (block.to_u128() >> row) as u64 & 1;
                let word = (0..).zip(blocks);
                let word = word.fold(0, |word, (i, block)| word | bit(block) << i);
                put(row, 0, &[word], blocks.len());
            }
            return;
        }
        for (at, part) in (0..).step_by(SIDE).zip(blocks.chunks(SIDE)) {
            self.square[..part.len()].copy_from_slice(part);
            self.square[part.len()..].zeroize();
            transpose_128(Cpu::detect(), &self.square, &mut self.columns);
            for (row, column) in self.columns[..rows].iter().enumerate() {
                let bits = column.to_u128();
                put(row, at, &[bits as u64, (bits >> 64) as u64], part.len());
            }
        }
    }
}
