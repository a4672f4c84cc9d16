//! Work on several threads.

use std::mem;
use std::num::NonZeroUsize;

use tacit_kernels::{map_parts, share_out};

/// Returns the result of `work` for each item, in order, on this number of threads. `work` gets an
/// empty buffer, which a thread reuses for its next item.
pub(crate) fn map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&mut Vec<u8>, &T) -> R + Sync,
) -> Vec<R> {
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let parts = map_parts(items.len(), threads, 1, |part| {
        let mut memory = Vec::new();
        let each = items[part].iter().map(|item| {
            memory.clear();
            work(&mut memory, item)
        });
        each.collect::<Vec<_>>()
    });
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    parts.for_each(|mut part| all.append(&mut part));
    all
}

/// Does what [`map`] does where `work` appends to its buffer. `out` gets everything that was
/// appended, in order. This thread's share is not copied.
pub(crate) fn append<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    out: &mut Vec<u8>,
    work: impl Fn(&mut Vec<u8>, &T) -> R + Sync,
) -> Vec<R> {
    let threads = threads.max(1);
    let share = items.len().div_ceil(threads).max(1);
    if share >= items.len() {
        return items.iter().map(|item| work(out, item)).collect();
    }
    let shares = items.chunks(share);
    let mut made: Vec<_> = shares.clone().map(|_| (Vec::new(), Vec::new())).collect();
    made[0].0 = mem::take(out);
    share_out(
        &mut vec![(); threads],
        shares.zip(&mut made),
        |(), (items, made)| {
            let (appended, results) = made;
            results.extend(items.iter().map(|item| work(appended, item)));
        },
    );
    let mut all = Vec::with_capacity(items.len());
    for (place, (appended, mut results)) in made.into_iter().enumerate() {
        match place {
            0 => *out = appended,
            _ => out.extend_from_slice(&appended),
        }
        all.append(&mut results);
    }
    all
}
