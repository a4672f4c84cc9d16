//! Splits the work of a batch over threads, if there are several.

use core::num::NonZeroUsize;
use core::ops::Range;
use std::{panic, thread};

/// The smallest number of OTs that is worth a thread: about 200 µs of work.
const MIN_PART: usize = 8;

/// Returns the results of `work` on 0..`count`, in order. Parts of it run on up to `threads`
/// threads, including the caller's. If the system cannot start a thread, the caller does that part
/// too.
pub(super) fn in_parts<T: Send, E: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(Range<usize>) -> Result<Vec<T>, E> + Sync,
) -> Result<Vec<T>, E> {
    let part = count.div_ceil(threads.get()).max(MIN_PART);
    if part >= count || cfg!(target_family = "wasm") {
        return work(0..count);
    }
    let work = &work;
    thread::scope(|scope| {
        let ranges = (part..count).step_by(part);
        let ranges = ranges.map(|first| first..count.min(first + part));
        let others = ranges.map(|range| {
            let ours = range.clone();
            let builder = thread::Builder::new().name("base OT".to_owned());
            (ours, builder.spawn_scoped(scope, move || work(range)))
        });
        let others: Vec<_> = others.collect();
        let mut results = work(0..part)?;
        results.reserve_exact(count - part);
        for (range, thread) in others {
            results.extend(match thread {
                Ok(thread) => thread.join().unwrap_or_else(|e| panic::resume_unwind(e))?,
                Err(_) => work(range)?,
            });
        }
        Ok(results)
    })
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
