//! Large pages for large pieces of memory.

use std::alloc::{GlobalAlloc, Layout};

/// From so many bytes on there is a page of 2 MiB within a piece, wherever it begins.
#[cfg(target_os = "linux")]
const LEAST: usize = 4 << 20;

/// An allocator whose pieces of 4 MiB and more the system backs by pages of 2 MiB, where it has
/// them: shares and tables of a run are written once, and by pages of 4 KiB a third of the CPU time
/// of a function of one lot under `authenticated` went to the system for first touches. A hint, on
/// Linux alone; no piece takes more memory but for the page that it ends in.
///
/// For a program to take as its global allocator, around the one that gives the memory.
pub struct LargePages<A>(pub A);

// SAFETY: each call goes to the allocator within, unchanged, and its answer comes back unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for LargePages<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        hinted(unsafe { self.0.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        hinted(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { self.0.dealloc(piece, layout) }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { self.0.realloc(piece, layout, size) }
    }
}

/// The piece, after the system heard that it is a large one.
#[cfg(target_os = "linux")]
#[inline]
fn hinted(piece: *mut u8, size: usize) -> *mut u8 {
    if size >= LEAST && !piece.is_null() {
        hint(piece, size);
    }
    piece
}

#[cfg(not(target_os = "linux"))]
#[inline]
fn hinted(piece: *mut u8, _size: usize) -> *mut u8 {
    piece
}

/// Tells the system to back the whole pages of 4 KiB in a piece by large ones.
#[cfg(target_os = "linux")]
#[cold]
fn hint(piece: *mut u8, size: usize) {
    use rustix::mm::{Advice, madvise};
    const PAGE: usize = 4096;

    let before = piece.addr().next_multiple_of(PAGE) - piece.addr();
    let whole = (size - before) / PAGE * PAGE;
    let first = piece.wrapping_add(before).cast();
    // SAFETY: the hint changes neither what the memory contains nor who may use it, and names no
    // byte outside the piece.
    let hinted = unsafe { madvise(first, whole, Advice::LinuxHugepage) };
    // A system without large pages says no, and the piece has small ones.
    let _ = hinted;
}
