//! Large pages for memory that is written as a whole.

/// Memory of this many bytes contains a whole page of 2 MiB, wherever it begins.
#[cfg(target_os = "linux")]
const LEAST: usize = 4 << 20;

/// Asks Linux to back this memory by pages of 2 MiB, so that first touches cost fewer page faults.
///
/// Call it before the memory is first written, and only where all of it will be: the system clears
/// a page as a whole. It does nothing below 4 MiB.
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

/// Does nothing: other systems choose pages by themselves.
#[cfg(not(target_os = "linux"))]
pub fn hint_large_pages<T>(_memory: &[T]) {}
