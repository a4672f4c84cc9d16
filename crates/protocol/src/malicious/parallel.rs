//! Work on several threads.

use std::thread;

/// What `work` makes of each item, in order, on this many threads. It is given an empty buffer,
/// which a thread uses again for its next item.
pub(crate) fn map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&mut Vec<u8>, &T) -> R + Sync,
) -> Vec<R> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    if share >= items.len() {
        return all_of(items, &work);
    }
    thread::scope(|scope| {
        let mut shares = items.chunks(share);
        let own = shares.next().unwrap_or_default();
        let work = &work;
        let others: Vec<_> = shares
            .map(|items| scope.spawn(move || all_of(items, work)))
            .collect();
        let mut all = all_of(own, work);
        for other in others {
            match other.join() {
                Ok(mut made) => all.append(&mut made),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

fn all_of<T, R>(items: &[T], work: &impl Fn(&mut Vec<u8>, &T) -> R) -> Vec<R> {
    let mut scratch = Vec::new();
    let each = items.iter().map(|item| {
        scratch.clear();
        work(&mut scratch, item)
    });
    each.collect()
}
