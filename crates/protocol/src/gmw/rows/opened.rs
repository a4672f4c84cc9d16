//! The bits that a party opens in a step, which several threads write.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use super::bits::{low, words_for};

/// The bits that a party opens in a step, from the lowest bit of the first word on. Bits after the
/// last one are zero.
#[derive(Default)]
pub struct OpenedBits {
    words: Vec<AtomicU64>,
    bits: u64,
}

impl fmt::Debug for OpenedBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenedBits({})", self.bits)
    }
}

impl OpenedBits {
    /// Replaces the bits by this many zeros. The memory serves again.
    pub(super) fn restart(&mut self, bits: u64) {
        let words = words_for(bits as usize);
        self.words.truncate(words);
        for word in &mut self.words {
            *word.get_mut() = 0;
        }
        self.words.resize_with(words, AtomicU64::default);
        self.bits = bits;
    }

    /// Returns the number of bytes that hold the bits.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Appends these bytes, eight bits to a byte, least significant first, to `into`. The first
    /// one starts a word.
    ///
    /// # Panics
    ///
    /// If there are fewer, or the first one does not start a word.
    pub fn append_bytes(&self, bytes: Range<usize>, into: &mut Vec<u8>) {
        assert!(bytes.start.is_multiple_of(8) && bytes.end <= self.byte_count());
        let words = &self.words[bytes.start / 8..bytes.end.div_ceil(8)];
        let begin = into.len();
        into.resize(begin + 8 * words.len(), 0);
        let (places, _) = into[begin..].as_chunks_mut();
        for (place, word) in places.iter_mut().zip(words) {
            *place = word.load(Ordering::Relaxed).to_le_bytes();
        }
        into.truncate(begin + bytes.len());
    }

    /// Returns all bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_count() + 8);
        self.append_bytes(0..self.byte_count(), &mut bytes);
        bytes
    }

    /// Returns these bytes.
    #[cfg(test)]
    pub(in crate::gmw) fn of_bytes(bytes: &[u8]) -> Self {
        let mut opened = Self::default();
        opened.restart(8 * bytes.len() as u64);
        let mut writer = opened.writer_at(0);
        bytes
            .iter()
            .for_each(|byte| writer.push_word(u64::from(*byte), 8));
        drop(writer);
        opened
    }

    /// Returns the words.
    #[cfg(test)]
    pub(in crate::gmw) fn to_words(&self) -> Vec<u64> {
        let words = self.words.iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Returns a writer of zeros that no other writer writes, from bit `at` on.
    pub(super) fn writer_at(&self, at: u64) -> OpenedWriter<'_> {
        let mut writer = OpenedWriter {
            words: &self.words,
            word: 0,
            last: 0,
            filled: 0,
            is_whole: true,
        };
        writer.go_to(at);
        writer
    }
}

/// A writer of rows. It adds a word that another writer may share in one operation.
pub(super) struct OpenedWriter<'b> {
    words: &'b [AtomicU64],
    /// The number of the current word, and its bits that are not in memory yet.
    word: usize,
    last: u64,
    filled: usize,
    /// Whether this writer writes the current word from its first bit on.
    is_whole: bool,
}

impl OpenedWriter<'_> {
    /// Continues at bit `at`.
    #[inline]
    pub(super) fn go_to(&mut self, at: u64) {
        let (word, filled) = ((at / 64) as usize, (at % 64) as usize);
        if (word, filled) != (self.word, self.filled) {
            self.end();
            (self.word, self.filled) = (word, filled);
            self.is_whole = filled == 0;
        }
    }

    /// Appends the lowest `bits` bits of a word, from 1 to 64. The other bits must be zero.
    #[inline(always)]
    pub(super) fn push_word(&mut self, word: u64, bits: usize) {
        self.last |= word << self.filled;
        if self.filled + bits >= 64 {
            if self.is_whole {
                self.words[self.word].store(self.last, Ordering::Relaxed);
            } else {
                self.words[self.word].fetch_or(self.last, Ordering::Relaxed);
            }
            self.word += 1;
            self.is_whole = true;
            // This is a shift by 64 − `filled` in two steps.
            self.last = word >> 1 >> (63 - self.filled);
        }
        self.filled = (self.filled + bits) % 64;
    }

    /// Appends the first `bits` bits of a row.
    #[inline]
    pub(super) fn push(&mut self, row: impl Iterator<Item = u64>, bits: usize) {
        let (mut row, mut left) = (row, bits);
        if left >= 64
            && let Some(word) = row.next()
        {
            // From its second word on the row has words of its own.
            self.push_word(word, 64);
            left -= 64;
            let (shift, places) = (self.filled, &self.words[self.word..]);
            let whole = left / 64;
            for (place, word) in places[..whole].iter().zip(&mut row) {
                place.store(self.last | word << shift, Ordering::Relaxed);
                self.last = word >> 1 >> (63 - shift);
            }
            self.word += whole;
            left %= 64;
        }
        if left > 0
            && let Some(word) = row.next()
        {
            let word = word & low(left);
            self.push_word(word, left);
        }
    }

    fn end(&mut self) {
        if self.filled > 0 {
            self.words[self.word].fetch_or(self.last, Ordering::Relaxed);
        }
        (self.last, self.filled) = (0, 0);
    }
}

impl Drop for OpenedWriter<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_where_their_writers_put_them() {
        let word = |i: u64| (i | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut opened = OpenedBits::default();
        for lengths in [
            [1, 63, 64, 65],
            [200, 7, 128, 1],
            [64, 64, 64, 640],
            [3, 2, 1, 500],
        ] {
            let bits: u64 = lengths.iter().sum();
            opened.restart(bits);
            let mut begins = Vec::new();
            let mut expected = Vec::new();
            for (row, length) in (0..).zip(lengths) {
                begins.push(expected.len() as u64);
                expected.extend((0..length).map(|i| word(row * 16 + i / 64) >> (i % 64) & 1 == 1));
            }
            // Two writers take rows in turn, the last one first.
            let mut writers = [opened.writer_at(0), opened.writer_at(begins[3])];
            for row in [3, 0, 1, 2] {
                let writer = &mut writers[row % 2];
                writer.go_to(begins[row]);
                let words = (0..).map(|i| word(row as u64 * 16 + i));
                writer.push(words, lengths[row] as usize);
            }
            drop(writers);
            assert_eq!(opened.to_bytes(), crate::bits::pack(&expected));
        }
    }
}
