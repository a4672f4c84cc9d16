//! Large pages for memory that is written as a whole.

/// The least size in bytes of memory that contains a whole page of 2 MiB at any address.
#[cfg(target_os = "linux")]
const LEAST: usize = 4 << 20;

/// Asks Linux to back this memory with pages of 2 MiB, so that first accesses cause fewer page
/// faults.
///
/// Call it before the memory is first written, and only if all of it will be: the system clears a
/// page as a whole. It does nothing below 4 MiB.
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
    // A system without large pages refuses, and the memory has small ones.
    let _ = hinted;
}

/// Does nothing: other systems choose page sizes themselves.
#[cfg(not(target_os = "linux"))]
pub fn hint_large_pages<T>(_memory: &[T]) {}
