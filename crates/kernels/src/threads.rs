//! Work on several threads.

use std::num::NonZeroUsize;
use std::ops::Range;

#[cfg(not(target_family = "wasm"))]
use std::{
    process,
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Mutex, OnceLock, PoisonError},
};

#[cfg(not(target_family = "wasm"))]
use rayon_core::{ThreadPool, ThreadPoolBuilder};

#[cfg(not(target_family = "wasm"))]
use crate::{process_generation, wiping_stack};

/// Returns the threads that all work shares, one for each processor. They start with the first
/// call.
///
/// Returns `None` if the system gives no threads, and in a forked process: there the parent's
/// threads are missing.
#[cfg(not(target_family = "wasm"))]
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<((u64, u32), Option<ThreadPool>)> = OnceLock::new();
    let own = (process_generation(), process::id());
    let (owner, pool) = POOL.get_or_init(|| {
        let named = ThreadPoolBuilder::new().thread_name(|_| "worker".to_owned());
        (own, named.build().ok())
    });
    pool.as_ref().filter(|_| *owner == own)
}

/// The threads of the pool that work.
#[cfg(not(target_family = "wasm"))]
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// A thread of the pool that works for one call.
#[cfg(not(target_family = "wasm"))]
struct TakenThread;

#[cfg(not(target_family = "wasm"))]
impl TakenThread {
    /// Takes a thread that does not work. If it took another, the call would wait for the work of
    /// others.
    fn one_of(pool: &ThreadPool) -> Option<Self> {
        let threads = pool.current_num_threads();
        let more = |taken| (taken < threads).then_some(taken + 1);
        let order = Ordering::Relaxed;
        TAKEN.fetch_update(order, order, more).ok().map(|_| Self)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Drop for TakenThread {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Calls `work` once for each item. Each worker has a thread, the first one the caller's, and takes
/// the next item whenever it is free: so the items of one worker come in order. Returns when all
/// items are done. Wipes the stacks of the other threads as [`wiping_stack`] does.
///
/// All calls of a process share as many threads as there are processors. If they are busy or
/// missing, fewer workers do all items.
///
/// # Panics
///
/// If there are items and no worker, or `work` panics: with its panic, after the others are done.
pub fn share_out<W, I>(workers: &mut [W], items: I, work: impl Fn(&mut W, I::Item) + Sync)
where
    W: Send,
    I: IntoIterator<IntoIter: ExactSizeIterator + Send, Item: Send>,
{
    let items = items.into_iter();
    let count = workers.len().min(items.len());
    let Some((own, others)) = workers.split_first_mut() else {
        assert!(items.len() == 0, "items need a worker");
        return;
    };
    #[cfg(not(target_family = "wasm"))]
    if count > 1
        && let Some(pool) = pool()
    {
        let items = Mutex::new(items);
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work_off = &|worker: &mut W| {
            while let Some(item) = next() {
                work(worker, item);
            }
        };
        return pool.in_place_scope(|scope| {
            for worker in others.iter_mut().take(count - 1) {
                let Some(taken) = TakenThread::one_of(pool) else {
                    break;
                };
                scope.spawn(move |_| {
                    let _taken = taken;
                    wiping_stack(|| work_off(worker));
                });
            }
            work_off(own);
        });
    }
    let _ = (others, count);
    items.for_each(|item| work(own, item));
}

/// A worker without a state for each of `threads` threads.
pub fn workers(threads: NonZeroUsize) -> Vec<()> {
    vec![(); threads.get()]
}

/// Returns the results of `work` on consecutive parts of 0..`count`, in order. There are at most as
/// many parts as `threads`, and all but the last have at least `least` numbers.
///
/// # Panics
///
/// If `work` panics, as [`share_out`] does.
pub fn map_parts<R: Send>(
    count: usize,
    threads: NonZeroUsize,
    least: usize,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let part = count.div_ceil(threads.get()).max(least).max(1);
    let parts = (0..count).step_by(part);
    let parts = parts.map(|first| first..count.min(first + part));
    map_each(parts, threads, work)
}

/// Returns the results of `work` on each item, in order, made on up to `threads` threads.
///
/// # Panics
///
/// If `work` panics, as [`share_out`] does.
pub fn map_each<I, R>(items: I, threads: NonZeroUsize, work: impl Fn(I::Item) -> R + Sync) -> Vec<R>
where
    I: IntoIterator<IntoIter: ExactSizeIterator + Send, Item: Send>,
    R: Send,
{
    let items = items.into_iter();
    let mut results: Vec<Option<R>> = (0..items.len()).map(|_| None).collect();
    let each = items.zip(&mut results);
    share_out(&mut workers(threads), each, |(), (item, result)| {
        *result = Some(work(item));
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(panic = "unwind")]
    use std::panic;

    #[test]
    fn each_item_is_done_once_by_workers_in_order() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (3, 100), (8, 3), (16, 1000)] {
            let mut done = vec![0; count];
            let mut taken = vec![Vec::new(); threads];
            share_out(&mut taken, done.iter_mut().enumerate(), |taken, item| {
                let (number, done) = item;
                taken.push(number);
                *done += 1;
            });
            assert!(done.iter().all(|done| *done == 1));
            assert!(taken.iter().all(|taken| taken.is_sorted()));
        }
    }

    #[cfg(panic = "unwind")]
    #[test]
    fn a_panic_of_a_thread_is_the_callers() {
        for threads in [1, 2, 4] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let caught = panic::catch_unwind(|| {
                share_out(&mut workers(threads), 0..100, |(), item| {
                    assert!(item != 40, "item {item}");
                });
            });
            let panic = caught.unwrap_err();
            assert_eq!(*panic.downcast::<String>().unwrap(), "item 40");
        }
    }
}
