//! Work on several threads.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

use crate::wiping_stack;

/// Calls `work` once for each item. Each worker has a thread, the first one the caller's, and takes
/// the next item whenever it is free: so the items of one worker come in order. Returns when all
/// items are done. What the other threads leave on their stacks is wiped as by [`wiping_stack`].
///
/// Where the system gives no thread, fewer workers do all items. For few items as many workers
/// work.
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
    if count <= 1 {
        return items.for_each(|item| work(own, item));
    }
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work_off = |worker: &mut W| {
        while let Some(item) = next() {
            work(worker, item);
        }
    };
    thread::scope(|scope| {
        let work_off = &work_off;
        let others = others.iter_mut().take(count - 1).map(|worker| {
            let named = thread::Builder::new().name("worker".to_owned());
            named.spawn_scoped(scope, move || wiping_stack(|| work_off(worker)))
        });
        let others: Vec<_> = others.collect();
        work_off(own);
        for thread in others.into_iter().flatten() {
            thread.join().unwrap_or_else(|e| panic::resume_unwind(e));
        }
    });
}

/// A worker without a state for each of `threads` threads.
#[must_use]
pub fn workers(threads: NonZeroUsize) -> Vec<()> {
    vec![(); threads.get()]
}

#[cfg(test)]
mod tests {
    use super::*;

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
