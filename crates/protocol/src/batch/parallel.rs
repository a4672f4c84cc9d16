//! Work on several threads.

use std::thread;

/// What `work` makes of each item, in order, on so many threads.
pub(super) fn map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    if share >= items.len() {
        return items.iter().map(work).collect();
    }
    thread::scope(|scope| {
        let mut shares = items.chunks(share);
        let own = shares.next().unwrap_or_default();
        let work = &work;
        let others: Vec<_> = shares
            .map(|items| scope.spawn(move || items.iter().map(work).collect::<Vec<_>>()))
            .collect();
        let mut all: Vec<R> = own.iter().map(work).collect();
        for other in others {
            match other.join() {
                Ok(mut made) => all.append(&mut made),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}
