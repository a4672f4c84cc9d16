//! A party's shares of the inputs of a run of `gmw`: the bits that it gives, and those that the
//! stage of a join has made.

use std::num::NonZeroUsize;

use tacit_kernels::{Block, WipedVec, share_out, workers};
use zeroize::Zeroizing;

/// The bits of an input that a stage has made, packed. Secret.
pub struct MadeBits {
    words: WipedVec<u64>,
    count: usize,
}

impl std::fmt::Debug for MadeBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MadeBits({})", self.count)
    }
}

/// The bits of an element while it is made, packed among those of others: zeros at first.
pub(crate) struct ElementBits<'w> {
    words: &'w mut [u64],
    /// The bit after the element's last one.
    end: usize,
}

/// The number of elements whose bits a thread makes at a time. Their bits fill whole words.
const SPAN_ELEMENTS: usize = 64 * 64;

impl MadeBits {
    /// Returns the bits of `count` elements, each of `width` bits, one after the other, made on
    /// `threads` threads. `write` writes those of an element by its number, from a bit on.
    pub(crate) fn of_elements(
        (count, width): (usize, usize),
        threads: NonZeroUsize,
        write: impl Fn(usize, usize, &mut ElementBits<'_>) + Sync,
    ) -> Self {
        // A word follows the last one, so that each word of bits has a next one.
        let mut words = WipedVec::zeros(count * width / 64 + 2);
        let spans = words.chunks_mut((SPAN_ELEMENTS / 64 * width).max(1));
        let spans = (0..count).step_by(SPAN_ELEMENTS).zip(spans);
        let spans: Vec<_> = spans.collect();
        share_out(&mut workers(threads), spans, |(), (first, words)| {
            for number in first..count.min(first + SPAN_ELEMENTS) {
                let at = (number - first) * width;
                let (words, end) = (&mut *words, at + width);
                write(number, at, &mut ElementBits { words, end });
            }
        });
        let count = count * width;
        Self { words, count }
    }

    /// Returns the bits one by one.
    #[cfg(test)]
    pub(crate) fn to_bools(&self) -> Vec<bool> {
        (0..self.count).map(|i| self.word(i) & 1 == 1).collect()
    }

    /// Returns the 64 bits from bit `at` on.
    fn word(&self, at: usize) -> u64 {
        let (low, high) = (self.words[at / 64], self.words[at / 64 + 1]);
        low >> (at % 64) | high << 1 << (63 - at % 64)
    }
}

impl ElementBits<'_> {
    /// Writes `count` bits of `value`, from its bit `from` on, over the zeros from bit `at` on.
    pub(crate) fn put(&mut self, at: usize, value: &[Block], from: usize, count: usize) {
        assert!(at + count <= self.end, "bits within the element");
        for done in (0..count).step_by(64) {
            let bits = (count - done).min(64);
            let (from, at) = (from + done, at + done);
            let low = value[from / 128].to_u128() >> (from % 128);
            let high = match value.get(from / 128 + 1) {
                Some(next) if from % 128 > 64 => next.to_u128() << (128 - from % 128),
                _ => 0,
            };
            let word = (low | high) as u64 & (u64::MAX >> (64 - bits));
            self.words[at / 64] |= word << (at % 64);
            // This is a shift by 64 − `at` in two steps. No bits follow the last word.
            if let Some(next) = self.words.get_mut(at / 64 + 1) {
                *next |= word >> 1 >> (63 - at % 64);
            }
        }
    }
}

/// A party's shares of its inputs, in port order.
#[derive(Clone, Copy)]
pub struct InputShares<'s> {
    given: &'s [bool],
    /// The bits that were made, and their place among the others.
    made: Option<(usize, &'s MadeBits)>,
    /// The number of zeros after these.
    zeros: usize,
}

impl std::fmt::Debug for InputShares<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "InputShares({})", self.len())
    }
}

impl<'s> InputShares<'s> {
    /// Returns the shares that a party gives, with the bits that were made between the first
    /// `before` of them and the others.
    ///
    /// # Panics
    ///
    /// If the party gives fewer.
    #[must_use]
    pub fn with_made(given: &'s [bool], before: usize, made: &'s MadeBits) -> Self {
        assert!(before <= given.len(), "a place among the shares");
        let (made, zeros) = (Some((before, made)), 0);
        Self { given, made, zeros }
    }

    /// Returns `zeros` zeros, which take no memory.
    pub(crate) fn of_zeros(zeros: usize) -> Self {
        Self {
            given: &[],
            made: None,
            zeros,
        }
    }

    /// Returns the number of shares.
    #[must_use]
    pub fn len(&self) -> usize {
        self.given.len() + self.made.map_or(0, |(_, made)| made.count) + self.zeros
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns up to 64 shares from number `at` on, from the lowest bit on.
    pub(crate) fn word(&self, at: usize, count: usize) -> u64 {
        if at >= self.len() - self.zeros {
            return 0;
        }
        if let Some((before, made)) = self.made
            && (before..before + made.count).contains(&at)
            && at + count <= before + made.count
        {
            return made.word(at - before) & (u64::MAX >> (64 - count));
        }
        let bit = |i: usize| match self.made {
            Some((before, made)) if i >= before && i < before + made.count => {
                made.word(i - before) & 1 == 1
            }
            Some((before, made)) if i >= before => self.given[i - made.count],
            _ => self.given[i],
        };
        (0..count).fold(0, |word, i| word | u64::from(bit(at + i)) << i)
    }
}

impl<'s> From<&'s [bool]> for InputShares<'s> {
    fn from(given: &'s [bool]) -> Self {
        Self {
            given,
            made: None,
            zeros: 0,
        }
    }
}

impl<'s> From<&'s Vec<bool>> for InputShares<'s> {
    fn from(given: &'s Vec<bool>) -> Self {
        Self::from(&given[..])
    }
}

impl<'s> From<&'s Zeroizing<Vec<bool>>> for InputShares<'s> {
    fn from(given: &'s Zeroizing<Vec<bool>>) -> Self {
        Self::from(&given[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_shares_without_memory() {
        let shares = InputShares::of_zeros(100);
        assert_eq!(shares.len(), 100);
        assert!((0..37).all(|at| shares.word(at, 64) == 0));
    }

    /// The bits of an element may end in a word that the next one begins, on any thread.
    #[test]
    fn elements_are_made_on_threads_as_one_after_the_other() {
        for width in [1, 63, 64, 95, 130] {
            let mut values = [Block::ZERO; 2];
            tacit_kernels::Prg::new(Block::ONES).fill_blocks(&mut values);
            let bit = |i: usize| values[i / 128].to_u128() >> (i % 128) & 1 == 1;
            for count in [
                0,
                1,
                SPAN_ELEMENTS,
                SPAN_ELEMENTS + 1,
                3 * SPAN_ELEMENTS - 7,
            ] {
                let threads = NonZeroUsize::new(3).unwrap();
                let made = MadeBits::of_elements((count, width), threads, |number, at, bits| {
                    bits.put(at, &values, number % 7, width);
                });
                let each = (0..count * width).map(|i| bit(i / width % 7 + i % width));
                assert!(made.to_bools().into_iter().eq(each), "{count} of {width}");
            }
        }
    }

    #[test]
    fn shares_are_those_given_and_made_in_order() {
        let mut values = [Block::ZERO; 3];
        tacit_kernels::Prg::new(Block::ONES).fill_blocks(&mut values);
        let bit = |i: usize| values[i / 128].to_u128() >> (i % 128) & 1 == 1;
        let spans = [(0, 3), (60, 64), (64, 65), (120, 200), (1, 0), (300, 84)];
        let bits: Vec<bool> = spans
            .iter()
            .flat_map(|(from, count)| (*from..from + count).map(bit))
            .collect();
        let made = MadeBits::of_elements((1, bits.len()), NonZeroUsize::MIN, |_, mut at, made| {
            for (from, count) in spans {
                made.put(at, &values, from, count);
                at += count;
            }
        });
        for before in [0, 1, 5] {
            let given = [true, false, true, true, false];
            let shares = InputShares::with_made(&given, before, &made);
            let all = [&given[..before], &bits, &given[before..]].concat();
            assert_eq!(shares.len(), all.len());
            for count in [1, 7, 64] {
                for at in 0..=all.len() - count {
                    let word = shares.word(at, count);
                    assert!((0..64).all(|i| (word >> i & 1 == 1) == (i < count && all[at + i])));
                }
            }
        }
    }
}
