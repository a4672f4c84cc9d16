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
    /// The number of bits that are allocated, and later wiped and freed, at a time.
    pub(super) const SEGMENT_BITS: u64 = 64 * SEGMENT_WORDS;

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
        if bits == 0 {
            return;
        }
        let (shift, mut carry) = (at % 64, 0);
        let mut words = words[..bits.div_ceil(64)].iter();
        let (mut place, end) = (at / 64, (at + bits as u64).div_ceil(64));
        while place < end {
            let here = (end - place).min(SEGMENT_WORDS - place % SEGMENT_WORDS);
            let segment = &mut self.segments[(place / SEGMENT_WORDS - self.gone) as usize];
            let first = (place % SEGMENT_WORDS) as usize;
            for into in &mut segment[first..first + here as usize] {
                let word = words.next().copied().unwrap_or_default();
                *into |= word << shift | carry;
                // This is a shift by 64 − `shift` in two steps.
                carry = word >> 1 >> (63 - shift);
            }
            place += here;
        }
    }

    /// Writes whole words, given as bytes, over the zeros from number `at` on, where a word starts.
    pub(super) fn put_bytes(&mut self, at: u64, bytes: &[u8]) {
        let mut place = at / 64;
        let mut words = bytes.as_chunks().0;
        while !words.is_empty() {
            let first = (place % SEGMENT_WORDS) as usize;
            let here = words.len().min(SEGMENT_WORDS as usize - first);
            let (now, later) = words.split_at(here);
            let segment = &mut self.segments[(place / SEGMENT_WORDS - self.gone) as usize];
            for (into, word) in segment[first..].iter_mut().zip(now) {
                *into = u64::from_le_bytes(*word);
            }
            (place, words) = (place + here as u64, later);
        }
    }

    /// Copies the bits from number `at` on to the start of `into`. The last word may contain
    /// further bits.
    pub(super) fn read(&self, at: u64, bits: usize, into: &mut [u64]) {
        let mut into = &mut into[..bits.div_ceil(64)];
        let (mut place, shift) = (at / 64, at % 64);
        while !into.is_empty() {
            let first = (place % SEGMENT_WORDS) as usize;
            let here = into.len().min(SEGMENT_WORDS as usize - first);
            let (now, later) = into.split_at_mut(here);
            let words = self.segment(place).map(|words| &words[first..]);
            let Some((words, rest)) = words.and_then(|words| words.split_at_checked(here)) else {
                now.fill(0);
                into = later;
                continue;
            };
            if shift == 0 {
                now.copy_from_slice(words);
            } else {
                let pairs = words.iter().zip(&words[1..]);
                for (into, (low, high)) in now.iter_mut().zip(pairs) {
                    *into = low >> shift | high << (64 - shift);
                }
                let last = words[here - 1] >> shift;
                let next = match rest.first() {
                    Some(next) => *next,
                    None => self.get(place + here as u64),
                };
                now[here - 1] = last | next << (64 - shift);
            }
            (place, into) = (place + here as u64, later);
        }
    }

    /// Returns the segment of a word, if it is there.
    fn segment(&self, place: u64) -> Option<&[u64]> {
        let segment = self
            .segments
            .get((place / SEGMENT_WORDS - self.gone) as usize);
        segment.map(|words| &words[..])
    }

    /// Returns a word, which is zero after the last one.
    fn get(&self, place: u64) -> u64 {
        let words = self.segment(place);
        words.map_or(0, |words| words[(place % SEGMENT_WORDS) as usize])
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
