//! Runs of bits in 64-bit words, least significant first, at any position.

use core::{fmt, slice};

use zeroize::Zeroizing;

/// Returns the number of words that hold `bits` bits.
pub(super) const fn words_for(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// Returns a mask of the lowest `bits` bits of a word, at most 64.
pub(super) const fn low(bits: usize) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// Returns the 64 bits from bit `at` on. Bits after the last word are 0.
#[inline]
pub(super) fn word_at(words: &[u64], at: usize) -> u64 {
    let (word, shift) = (at / 64, at % 64);
    let get = |word: usize| words.get(word).copied().unwrap_or_default();
    // This is a shift by 64 − `shift` in two steps.
    get(word) >> shift | get(word + 1) << 1 << (63 - shift)
}

/// Returns bit `at`.
#[inline]
pub(super) fn bit(words: &[u64], at: usize) -> bool {
    words[at / 64] >> (at % 64) & 1 == 1
}

/// Copies the bits from `at` on to the start of `into`. The last word may contain further bits.
#[inline]
pub(super) fn read(words: &[u64], at: usize, bits: usize, into: &mut [u64]) {
    let (first, shift) = (at / 64, at % 64);
    let into = &mut into[..words_for(bits)];
    if into.is_empty() {
        return;
    }
    if shift == 0 {
        into.copy_from_slice(&words[first..first + into.len()]);
        return;
    }
    let whole = into.len().min(words.len() - first - 1);
    let pairs = words[first..].iter().zip(&words[first + 1..]);
    for (into, (low, high)) in into[..whole].iter_mut().zip(pairs) {
        *into = low >> shift | high << (64 - shift);
    }
    for (i, into) in into.iter_mut().enumerate().skip(whole) {
        *into = word_at(words, at + 64 * i);
    }
}

/// Copies `bits` bits from `at` on over the zeros of `into` from `to` on.
#[inline]
pub(super) fn copy(words: &[u64], at: usize, bits: usize, into: &mut [u64], to: usize) {
    let (mut at, mut left, mut word, shift) = (at, bits, to / 64, to % 64);
    // First come the bits up to the end of a word of `into`.
    let first = left.min(64 - shift);
    into[word] |= (word_at(words, at) & low(first)) << shift;
    (at, left, word) = (at + first, left - first, word + 1);
    if left == 0 {
        return;
    }
    let whole = left / 64;
    read(words, at, 64 * whole, &mut into[word..]);
    (at, left, word) = (at + 64 * whole, left % 64, word + whole);
    if left > 0 {
        into[word] |= word_at(words, at) & low(left);
    }
}

/// Copies the bits at `at`, `at` + `stride`, … over the zeros of `into` from `to` on.
#[inline]
pub(super) fn copy_spread(
    words: &[u64],
    (at, stride): (usize, isize),
    bits: usize,
    into: &mut [u64],
    to: usize,
) {
    let (mut at, mut to, mut left) = (at, to, bits);
    while left > 0 {
        let count = left.min(64 - to % 64);
        let mut word = 0;
        for i in 0..count {
            word |= (words[at / 64] >> (at % 64) & 1) << i;
            // After the last bit the position may wrap around.
            at = at.wrapping_add_signed(stride);
        }
        into[to / 64] |= word << (to % 64);
        (to, left) = (to + count, left - count);
    }
}

/// Writes `value` over `bits` zeros of `into` from `to` on.
pub(super) fn fill(value: bool, bits: usize, into: &mut [u64], to: usize) {
    let all = u64::from(value).wrapping_neg();
    let (mut to, mut left) = (to, bits);
    while left > 0 {
        let count = left.min(64 - to % 64);
        into[to / 64] |= (all & low(count)) << (to % 64);
        (to, left) = (to + count, left - count);
    }
}

/// A reader of bits, a few at a time.
pub(super) struct BitReader<'w> {
    words: slice::Iter<'w, u64>,
    /// The bits of the last word that are still to be read, and their number.
    held: u64,
    count: u32,
}

impl<'w> BitReader<'w> {
    /// Returns a reader that starts at bit `at`.
    pub(super) fn new(words: &'w [u64], at: usize) -> Self {
        let mut reader = Self {
            words: words.get(at / 64..).unwrap_or_default().iter(),
            held: 0,
            count: 0,
        };
        if !at.is_multiple_of(64) {
            reader.take((at % 64) as u32);
        }
        reader
    }

    /// Returns the next `bits` bits, from 1 to 64. Bits after the last word are 0.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u32) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        if bits <= self.count {
            let taken = self.held & mask;
            // This is a shift by `bits`, which may be 64, in two steps.
            self.held = self.held >> 1 >> (bits - 1);
            self.count -= bits;
            return taken;
        }
        let next = self.words.next().copied().unwrap_or_default();
        let taken = (self.held | next << self.count) & mask;
        let used = bits - self.count;
        self.held = next >> 1 >> (used - 1);
        self.count = 64 - used;
        taken
    }
}

/// A writer of rows one after the other, without gaps. It is wiped when dropped.
#[derive(Default)]
pub struct BitWriter {
    words: Zeroizing<Vec<u64>>,
    /// The bits of the current word, which is not in `words` yet.
    last: Zeroizing<u64>,
    filled: usize,
}

impl fmt::Debug for BitWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BitWriter(..)")
    }
}

impl BitWriter {
    /// Returns a writer with room for `bits` bits. Writing more would leave words behind unwiped.
    pub(super) fn with_capacity(bits: u64) -> Self {
        Self {
            words: Zeroizing::new(Vec::with_capacity(words_for(bits as usize))),
            ..Self::default()
        }
    }

    /// Restarts the writer with room for `bits` bits.
    pub(in crate::gmw) fn restart(&mut self, bits: u64) {
        if self.words.capacity() < words_for(bits as usize) {
            *self = Self::with_capacity(bits);
        }
        self.words.clear();
        (*self.last, self.filled) = (0, 0);
    }

    /// Appends the lowest `bits` bits of a word, from 1 to 64. The other bits must be zero.
    #[inline(always)]
    pub(in crate::gmw) fn push_word(&mut self, word: u64, bits: usize) {
        *self.last |= word << self.filled;
        if self.filled + bits >= 64 {
            self.words.push(*self.last);
            // This is a shift by 64 − `filled` in two steps.
            *self.last = word >> 1 >> (63 - self.filled);
        }
        self.filled = (self.filled + bits) % 64;
    }

    /// Fills the last word up with zeros.
    pub(in crate::gmw) fn fill_up(&mut self) {
        if self.filled > 0 {
            self.words.push(*self.last);
            (*self.last, self.filled) = (0, 0);
        }
    }

    /// Returns the full words.
    pub(in crate::gmw) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Appends the first `bits` bits of a row.
    #[inline]
    pub(in crate::gmw) fn push(&mut self, row: impl Iterator<Item = u64>, bits: usize) {
        let mut left = bits;
        for word in row.take(words_for(bits)) {
            let count = left.min(64);
            left -= count;
            let word = word & low(count);
            self.push_word(word, count);
        }
    }

    /// Returns the words. The last one is filled up with zeros.
    pub(super) fn into_words(mut self) -> Zeroizing<Vec<u64>> {
        if self.filled > 0 {
            self.words.push(*self.last);
        }
        self.words
    }
}
