//! Large pages for memory that is written as a whole.

/// From so many bytes on there is a page of 2 MiB within the memory, wherever it begins.
#[cfg(target_os = "linux")]
const LEAST: usize = 4 << 20;

/// Asks the system to back this memory by pages of 2 MiB, where it has any, before it is written
/// for the first time: each page that is touched costs the system a fault. A hint, on Linux alone,
/// for memory that is written from end to end, since a page that is touched is cleared as a whole.
/// Below 4 MiB nothing happens.
#[cfg(target_os = "linux")]
pub fn hint_large_pages<T>(memory: &[T]) {
    use rustix::mm::{Advice, madvise};
    const PAGE: usize = 4096;

    let size = size_of_val(memory);
    if size < LEAST {
        return;
    }
    let start = memory.as_ptr().cast::<u8>();
    let before = start.addr().next_multiple_of(PAGE) - start.addr();
    let whole = (size - before) / PAGE * PAGE;
    let first = start.wrapping_add(before).cast_mut().cast();
    // SAFETY: the hint changes neither what the memory holds nor who may use it, and names no byte
    // outside it.
    let hinted = unsafe { madvise(first, whole, Advice::LinuxHugepage) };
    // A system without large pages says no, and the memory has small ones.
    let _ = hinted;
}

/// Nothing: other systems choose pages by themselves.
#[cfg(not(target_os = "linux"))]
pub fn hint_large_pages<T>(_memory: &[T]) {}
