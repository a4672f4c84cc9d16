//! Splits the work of a batch over threads, if there are several.

use core::num::NonZeroUsize;
use core::ops::Range;

use tacit_kernels::map_parts;

/// The smallest number of OTs that is worth a thread: about 200 µs of work.
const MIN_PART: usize = 8;

/// Returns the results of `work` on 0..`count`, in order. Parts of it run on up to `threads`
/// threads.
pub(super) fn in_parts<T: Send, E: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(Range<usize>) -> Result<Vec<T>, E> + Sync,
) -> Result<Vec<T>, E> {
    let mut parts = map_parts(count, threads, MIN_PART, work).into_iter();
    let mut all = parts.next().transpose()?.unwrap_or_default();
    all.reserve_exact(count - all.len());
    for part in parts {
        all.append(&mut part?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_whole_and_in_order_for_any_split() {
        for count in [1, 7, 8, 9, 16, 17, 100] {
            for threads in [1, 2, 3, 16, 1000] {
                let threads = NonZeroUsize::new(threads).unwrap();
                let all: Result<Vec<_>, ()> = in_parts(count, threads, |range| Ok(range.collect()));
                assert_eq!(all.unwrap(), (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_first_error_is_the_one_reported() {
        let threads = NonZeroUsize::new(4).unwrap();
        let failed = in_parts(64, threads, |range| -> Result<Vec<()>, usize> {
            if range.start == 0 {
                Ok(vec![])
            } else {
                Err(range.start)
            }
        });
        assert_eq!(failed.unwrap_err(), 16);
    }
}
