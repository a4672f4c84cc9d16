//! Work on several threads.

use std::thread;

/// Returns the result of `work` for each item, in order, on this number of threads. `work` gets an
/// empty buffer, which a thread reuses for its next item.
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

/// Does what [`map`] does where `work` appends to its buffer. `out` gets everything that was
/// appended, in order. This thread's share is not copied.
pub(crate) fn append<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    out: &mut Vec<u8>,
    work: impl Fn(&mut Vec<u8>, &T) -> R + Sync,
) -> Vec<R> {
    let share = items.len().div_ceil(threads.max(1));
    let (own, others) = items.split_at(share);
    thread::scope(|scope| {
        let work = &work;
        let others = others.chunks(share.max(1)).map(|items| {
            scope.spawn(move || {
                let mut appended = Vec::new();
                let each = items.iter().map(|item| work(&mut appended, item));
                let made: Vec<R> = each.collect();
                (made, appended)
            })
        });
        let others: Vec<_> = others.collect();
        let mut all: Vec<R> = own.iter().map(|item| work(out, item)).collect();
        for other in others {
            match other.join() {
                Ok((mut made, appended)) => {
                    all.append(&mut made);
                    out.extend_from_slice(&appended);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

fn all_of<T, R>(items: &[T], work: &impl Fn(&mut Vec<u8>, &T) -> R) -> Vec<R> {
    let mut memory = Vec::new();
    let each = items.iter().map(|item| {
        memory.clear();
        work(&mut memory, item)
    });
    each.collect()
}
