//! The keys that may occur more than once among many: those whose hashes do.

use std::hash::RandomState;
use std::num::NonZeroUsize;

use crate::{WipedVec, map_each, share_out, workers};

/// The least numbers for which another thread is worth its start.
const LEAST_NUMBERS: usize = 1 << 14;

/// The most parts: each thread looks at all numbers for its own.
const MOST_PARTS: usize = 32;

/// The number of keys that a thread hashes at a time.
const SPAN_KEYS: usize = if cfg!(test) { 1 << 5 } else { 1 << 12 };

/// The hashes of keys. To sort them shows in a fraction of a map's time that each key occurs once,
/// as in most tables. They are secret like the keys, which they let anyone guess who also reads the
/// hasher from memory, and are wiped.
#[derive(Debug)]
pub struct KeyHashes {
    hashes: WipedVec<u64>,
    /// Those that occur more than once, each once and in ascending order.
    repeated: WipedVec<u64>,
}

impl KeyHashes {
    /// The hash of a row without a key. The hash of a key may be the same.
    pub const NO_KEY: u64 = 0;

    /// Hashes `count` keys on `threads` threads. `hash` writes the hashes of the keys from a number
    /// on, as many as there is room for.
    pub fn of(
        count: usize,
        threads: NonZeroUsize,
        hash: impl Fn(&RandomState, usize, &mut [u64]) + Sync,
    ) -> Self {
        let (mut hashes, hasher) = (WipedVec::zeros(count), RandomState::new());
        let spans = hashes.chunks_mut(SPAN_KEYS).enumerate();
        share_out(&mut workers(threads), spans, |(), (number, hashes)| {
            hash(&hasher, number * SPAN_KEYS, hashes);
        });
        let repeated = repeated(&hashes, threads);
        Self { hashes, repeated }
    }

    /// Whether the hashes of all keys differ, so that each key occurs once.
    pub fn are_different(&self) -> bool {
        self.repeated.is_empty()
    }

    /// Whether a row may have no key.
    pub fn may_lack(&self) -> bool {
        self.hashes.contains(&Self::NO_KEY)
    }

    /// Whether this row may have the key of another one, or none.
    pub fn may_repeat(&self, row: usize) -> bool {
        let hash = self.hashes[row];
        hash == Self::NO_KEY || self.repeated.binary_search(&hash).is_ok()
    }
}

/// Returns the numbers that occur more than once, each once and in ascending order. Each thread
/// sorts those of one part of the range, since they are hashes, which are evenly spread.
fn repeated(hashes: &[u64], threads: NonZeroUsize) -> WipedVec<u64> {
    let parts = threads.get().min(hashes.len() / LEAST_NUMBERS);
    let parts = parts.clamp(1, MOST_PARTS);
    let of_part = |part: usize| {
        let is_own = |hash: &&u64| ((u128::from(**hash) * parts as u128) >> 64) as usize == part;
        let mut own = WipedVec::zeros(hashes.iter().filter(is_own).count());
        for (own, hash) in own.iter_mut().zip(hashes.iter().filter(is_own)) {
            *own = *hash;
        }
        own.sort_unstable();
        let mut repeated = own.chunk_by(u64::eq).filter(|equal| equal.len() > 1);
        let count = repeated.clone().count();
        let mut first = WipedVec::zeros(count);
        first.fill_with(|| repeated.next().map_or(0, |equal| equal[0]));
        first
    };
    let parts = map_each(0..parts, threads, of_part);
    let mut all = WipedVec::zeros(parts.iter().map(|part| part.len()).sum());
    for (all, number) in all
        .iter_mut()
        .zip(parts.iter().flat_map(|part| part.iter()))
    {
        *all = *number;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_occur_twice_are_found_on_any_number_of_threads() {
        for count in [0, 1, 2, 1000, 5 * LEAST_NUMBERS + 7] {
            // Multiples of an odd number are all different.
            let number = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let once: Vec<u64> = (0..count).map(number).collect();
            let mut more = once.clone();
            more.extend(once.iter().step_by(7));
            more.extend(once.iter().step_by(14));
            let mut expected: Vec<u64> = once.iter().step_by(7).copied().collect();
            expected.sort_unstable();
            for threads in [1, 2, 3, 8] {
                let threads = NonZeroUsize::new(threads).unwrap();
                assert_eq!(*repeated(&once, threads), []);
                assert_eq!(*repeated(&more, threads), expected, "{count} on {threads}");
            }
        }
    }

    #[test]
    fn keys_that_repeat_are_found_by_their_rows() {
        let hashes = [5, 7, 5, KeyHashes::NO_KEY, 9, 7, 11];
        let of = |hashes: &[u64], threads| {
            KeyHashes::of(hashes.len(), threads, |_, first, into| {
                into.copy_from_slice(&hashes[first..first + into.len()]);
            })
        };
        let found = of(&hashes, NonZeroUsize::MIN);
        assert!(!found.are_different() && found.may_lack());
        let rows: Vec<usize> = (0..7).filter(|row| found.may_repeat(*row)).collect();
        assert_eq!(rows, [0, 1, 2, 3, 5]);
        let once: Vec<u64> = (1..=3 * SPAN_KEYS as u64 + 1).collect();
        let found = of(&once, NonZeroUsize::new(2).unwrap());
        assert!(found.are_different() && !found.may_lack());
        assert!(!(0..once.len()).any(|row| found.may_repeat(row)));
    }
}
