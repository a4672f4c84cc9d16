//! The numbers that occur more than once among many.

use std::num::NonZeroUsize;

use crate::map_each;

/// The least numbers for which another thread is worth its start.
const LEAST_NUMBERS: usize = 1 << 14;

/// The most parts: each thread looks at all numbers for its own.
const MOST_PARTS: usize = 32;

/// Returns the numbers that occur more than once, each once and in ascending order. Each thread
/// sorts those of one part of the range, since they are hashes, which are evenly spread.
pub fn repeated(hashes: &[u64], threads: NonZeroUsize) -> Vec<u64> {
    let parts = threads.get().min(hashes.len() / LEAST_NUMBERS);
    let parts = parts.clamp(1, MOST_PARTS);
    let room = hashes.len() / parts * 9 / 8;
    let of_part = |part: usize| {
        let mut own = Vec::with_capacity(room);
        for hash in hashes {
            if ((u128::from(*hash) * parts as u128) >> 64) as usize == part {
                own.push(*hash);
            }
        }
        own.sort_unstable();
        let pairs = own.windows(2).filter(|pair| pair[0] == pair[1]);
        let mut repeated: Vec<u64> = pairs.map(|pair| pair[0]).collect();
        repeated.dedup();
        repeated
    };
    map_each(0..parts, threads, of_part).concat()
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
                assert_eq!(repeated(&once, threads), []);
                assert_eq!(repeated(&more, threads), expected, "{count} on {threads}");
            }
        }
    }
}
