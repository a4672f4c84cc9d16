//! Memory for many blocks: zeros that nobody writes, and large pages.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use crate::Block;

/// Returns `count` blocks that are all zero. New memory from the system is zero, and this function
/// does not write to it. So the system clears each page when a thread first uses it, and several
/// threads can share that work.
///
/// # Panics
///
/// If `count` blocks do not fit into the address space.
pub fn zero_blocks(count: usize) -> Vec<Block> {
    zeros(count)
}

/// Does the same for other values.
pub(crate) fn zeros<T: ZeroBytes>(count: usize) -> Vec<T> {
    let layout = Layout::array::<T>(count).expect("values that fit into memory");
    if layout.size() == 0 {
        return Vec::new();
    }
    // SAFETY: the layout's size is not zero.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the global allocator gave this memory for `count` values, and zero bytes are values.
    unsafe { Vec::from_raw_parts(memory, count, count) }
}

/// A type of which zero bytes are a value.
///
/// # Safety
///
/// They must be one.
pub unsafe trait ZeroBytes: Copy {}

// SAFETY: an integer's bytes may be zero.
unsafe impl ZeroBytes for u32 {}
// SAFETY: as above.
unsafe impl ZeroBytes for u64 {}
// SAFETY: a block is two integers.
unsafe impl ZeroBytes for Block {}
// SAFETY: so are those of each value of an array.
unsafe impl<T: ZeroBytes, const N: usize> ZeroBytes for [T; N] {}

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
