//! A queue of bits that are written once, read in order and released.

use std::collections::VecDeque;

use zeroize::Zeroizing;

/// The number of words that are allocated, and later wiped and freed, at a time.
const SEGMENT_WORDS: u64 = 1 << 13;

/// Secret bits by number. Those before an advancing number are wiped.
#[derive(Default)]
pub(super) struct BitQueue {
    segments: VecDeque<Zeroizing<Vec<u64>>>,
    /// The number of released segments.
    gone: u64,
    /// The number after that of the last bit.
    end: u64,
}

impl BitQueue {
    /// Returns the bytes of a queue to which this many bits are added.
    pub(super) fn memory_bytes(bits: u64) -> u64 {
        let segments = bits.div_ceil(64 * SEGMENT_WORDS);
        segments.saturating_mul(8 * SEGMENT_WORDS)
    }

    /// Adds `bits` zeros. Returns the number of the first one.
    pub(super) fn add(&mut self, bits: u64) -> u64 {
        let first = self.end;
        self.end += bits;
        let segments = self.end.div_ceil(64 * SEGMENT_WORDS);
        while self.gone + (self.segments.len() as u64) < segments {
            let segment = vec![0; SEGMENT_WORDS as usize];
            self.segments.push_back(Zeroizing::new(segment));
        }
        first
    }

    /// Writes the first `bits` bits of `words`, whose other bits must be zero, over the zeros from
    /// number `at` on.
    pub(super) fn put(&mut self, at: u64, words: &[u64], bits: usize) {
        let shift = (at % 64) as u32;
        let words = &words[..bits.div_ceil(64)];
        for (i, (place, word)) in (at / 64..).zip(words).enumerate() {
            self.or(place, word << shift);
            let count = (bits - 64 * i).min(64);
            if shift as usize + count > 64 {
                self.or(place + 1, word >> (64 - shift));
            }
        }
    }

    fn or(&mut self, place: u64, word: u64) {
        let segment = (place / SEGMENT_WORDS - self.gone) as usize;
        self.segments[segment][(place % SEGMENT_WORDS) as usize] |= word;
    }

    /// Copies the bits from number `at` on to the start of `into`. The last word may contain
    /// further bits.
    pub(super) fn read(&self, at: u64, bits: usize, into: &mut [u64]) {
        let shift = (at % 64) as u32;
        let into = &mut into[..bits.div_ceil(64)];
        for (place, into) in (at / 64..).zip(into) {
            // This is a shift by 64 − `shift` in two steps.
            *into = self.get(place) >> shift | self.get(place + 1) << 1 << (63 - shift);
        }
    }

    /// Returns a word, which is zero after the last one.
    fn get(&self, place: u64) -> u64 {
        let segment = self
            .segments
            .get((place / SEGMENT_WORDS - self.gone) as usize);
        segment.map_or(0, |words| words[(place % SEGMENT_WORDS) as usize])
    }

    /// Returns the bytes that are held.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> u64 {
        let words = self.segments.iter().map(|segment| segment.capacity());
        8 * words.sum::<usize>() as u64
    }

    /// Wipes the whole segments before number `before`, which are no longer read.
    pub(super) fn release(&mut self, before: u64) {
        while self.gone < before / (64 * SEGMENT_WORDS) && self.segments.pop_front().is_some() {
            self.gone += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_as_they_were_written_at_any_place() {
        let mut queue = BitQueue::default();
        let mut expected = Vec::new();
        let mut word = 1_u64;
        for round in 0..5000 {
            let bits = [1, 63, 64, 65, 127, 200, 7][round % 7];
            let words: Vec<u64> = (0..bits_words(bits))
                .map(|i| {
                    word = word
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .wrapping_add(i as u64 | 1);
                    word & (u64::MAX >> (64 - (bits - 64 * i).min(64)))
                })
                .collect();
            let at = queue.add(bits as u64);
            assert_eq!(at, expected.len() as u64);
            queue.put(at, &words, bits);
            expected.extend((0..bits).map(|i| words[i / 64] >> (i % 64) & 1));
        }
        let check = |queue: &BitQueue, from: usize| {
            for bits in [1, 64, 65, 1000] {
                for at in (from..expected.len() - bits).step_by(997) {
                    let mut words = vec![0; bits_words(bits)];
                    queue.read(at as u64, bits, &mut words);
                    let found = (0..bits).map(|i| words[i / 64] >> (i % 64) & 1);
                    assert!(
                        found.eq(expected[at..at + bits].iter().copied()),
                        "{bits} at {at}"
                    );
                }
            }
        };
        check(&queue, 0);
        let segments = queue.segments.len();
        queue.release(expected.len() as u64 / 2);
        assert_eq!(queue.segments.len(), segments.div_ceil(2));
        check(&queue, expected.len() / 2);
    }

    fn bits_words(bits: usize) -> usize {
        bits.div_ceil(64)
    }
}
