//! Finds what a computation leaves in memory (tests only).
//!
//! A secret that was not wiped stays in freed memory until other data is written there. Tests look
//! for it in two places: [`Watching`] is an allocator that keeps all memory that was allocated
//! while a test watches, and [`on_own_stack`] runs code on a stack that the test reads afterwards.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering};
use std::alloc::System;

/// An allocator that remembers what a thread allocates while [`watch`] runs on it.
#[derive(Debug)]
pub struct Watching;

/// The header before each allocation.
#[repr(C, align(16))]
struct Header {
    /// The block that was remembered before this one.
    next: *mut Header,
    /// The size of the caller's memory, in bytes.
    size: usize,
    /// The layout of header and memory.
    layout: Layout,
    state: AtomicU8,
}

/// Not remembered: returned to the system once freed.
const PLAIN: u8 = 0;
/// Remembered and in use.
const IN_USE: u8 = 1;
/// Remembered and freed: kept until the watch ends.
const FREED: u8 = 2;

thread_local! {
    /// The last allocation of this thread while it watches; `None` if it does not watch.
    static LAST: Cell<Option<*mut Header>> = const { Cell::new(None) };
}

/// Returns the layout with a header in front, and the offset of the caller's memory.
fn with_header(layout: Layout) -> Option<(Layout, usize)> {
    Layout::new::<Header>().extend(layout).ok()
}

// SAFETY: the system's allocator is asked for room for a header and, behind it and as aligned as
// asked, the caller's memory; each is given back with the layout that it was asked for with.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, begin)) = with_header(layout) else {
            return ptr::null_mut();
        };
        // The memory is zeroed, so that bytes that are never written do not hold old contents.
        // SAFETY: the layout has the size of a header at least.
        let start = unsafe { System.alloc_zeroed(whole) };
        if start.is_null() {
            return start;
        }
        // SAFETY: the memory begins `begin` bytes in; a header fits before that, aligned, since
        // `begin` is a multiple of the alignment of both and at least a header's size.
        unsafe {
            let memory = start.add(begin);
            let header = memory.cast::<Header>().sub(1);
            // A thread that is ending has no list any more, and does not watch.
            let last = LAST.try_with(Cell::get).ok().flatten();
            header.write(Header {
                next: last.unwrap_or(ptr::null_mut()),
                size: layout.size(),
                layout: whole,
                state: AtomicU8::new(if last.is_some() { IN_USE } else { PLAIN }),
            });
            if last.is_some() {
                LAST.set(Some(header));
            }
            memory
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        let header = memory.cast::<Header>().wrapping_sub(1);
        // SAFETY: `alloc` wrote this header, and the caller gives the memory up. Of a remembered
        // block the watch that ends decides the same way, so that one of both gives it back.
        unsafe {
            if change(header, IN_USE, FREED) {
                return;
            }
            give_back(header);
        }
    }
}

/// Changes a header's state if it is `from`.
///
/// # Safety
///
/// The header is one that `alloc` wrote and that was not given back.
unsafe fn change(header: *const Header, from: u8, to: u8) -> bool {
    // SAFETY: the caller says so.
    let state = unsafe { &(*header).state };
    let order = (Ordering::AcqRel, Ordering::Acquire);
    state.compare_exchange(from, to, order.0, order.1).is_ok()
}

/// Returns a block to the system.
///
/// # Safety
///
/// The header is one that `alloc` wrote, and nobody uses the block.
unsafe fn give_back(header: *mut Header) {
    // SAFETY: the caller says so; the layout says where the block starts.
    unsafe {
        let layout = (*header).layout;
        let memory = header.add(1).cast::<u8>();
        let begin = layout.size() - (*header).size;
        System.dealloc(memory.sub(begin), layout);
    }
}

/// The allocations of a watch. They return to the system when this is dropped or, if later, when
/// they are freed.
#[derive(Debug)]
pub struct Memory {
    last: *mut Header,
}

/// Returns the result of `work`, and the memory that this thread allocated meanwhile, freed or in
/// use.
///
/// # Panics
///
/// If [`Watching`] is not the program's allocator, or this thread is already watching.
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, Memory) {
    assert!(LAST.get().is_none(), "one watch at a time");
    LAST.set(Some(ptr::null_mut()));
    drop(core::hint::black_box(Box::new(0_u64)));
    let result = work();
    let last = LAST.take().unwrap_or(ptr::null_mut());
    assert!(
        !last.is_null(),
        "the allocator of this program watches nothing"
    );
    (result, Memory { last })
}

impl Memory {
    /// Returns the number of times that these bytes occur in freed memory.
    pub fn freed(&self, bytes: &[u8]) -> usize {
        self.count(bytes, |state| state == FREED)
    }

    /// Returns the number of times that these bytes occur in memory that was freed or is in use.
    pub fn anywhere(&self, bytes: &[u8]) -> usize {
        self.count(bytes, |_| true)
    }

    fn count(&self, bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
        let (mut block, mut count) = (self.last, 0);
        while !block.is_null() {
            // SAFETY: remembered blocks are whole until `drop`, and all their bytes were written.
            // Tests read what nobody writes to at the same time.
            unsafe {
                if of((*block).state.load(Ordering::Acquire)) {
                    let memory = block.add(1).cast::<u8>();
                    let memory = core::slice::from_raw_parts(memory, (*block).size);
                    count += occurrences(memory, bytes);
                }
                block = (*block).next;
            }
        }
        count
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut block = self.last;
        while !block.is_null() {
            // SAFETY: as in `dealloc`: who changes the state second gives the block back.
            unsafe {
                let next = (*block).next;
                if !change(block, IN_USE, PLAIN) {
                    give_back(block);
                }
                block = next;
            }
        }
    }
}

fn occurrences(memory: &[u8], bytes: &[u8]) -> usize {
    memory
        .windows(bytes.len())
        .filter(|at| *at == bytes)
        .count()
}

/// The size of the stack of [`on_own_stack`], in bytes.
#[cfg(all(target_arch = "x86_64", unix))]
const STACK_BYTES: usize = 1 << 20;

/// Runs `work` on a stack of its own and returns that stack; `None` if the platform does not
/// support it.
///
/// `work` has a megabyte, and must not panic: that ends the process.
#[cfg(all(target_arch = "x86_64", unix))]
pub fn on_own_stack<F: FnOnce()>(work: F) -> Option<Stack> {
    extern "sysv64" fn enter<F: FnOnce()>(work: *mut Option<F>) {
        // SAFETY: it is the `work` below, which nobody else uses until this returns.
        let work = unsafe { &mut *work }.take();
        let run = std::panic::AssertUnwindSafe(|| work.map(|work| work()));
        if std::panic::catch_unwind(run).is_err() {
            std::process::abort();
        }
    }
    let mut stack = vec![0_u128; STACK_BYTES / 16];
    let mut work = Some(work);
    // SAFETY: the stack pointer is moved to the end of `stack`, aligned as the convention asks, and
    // moved back from a register that calls preserve; `enter` does not unwind.
    unsafe {
        core::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {enter}",
            "mov rsp, r12",
            top = in(reg) stack.as_mut_ptr_range().end,
            enter = in(reg) enter::<F> as extern "sysv64" fn(*mut Option<F>),
            in("rdi") &raw mut work,
            out("r12") _,
            clobber_abi("sysv64"),
        );
    }
    Some(Stack(stack))
}

/// Runs `work` on a stack of its own and returns that stack; `None` if the platform does not
/// support it.
#[cfg(not(all(target_arch = "x86_64", unix)))]
pub fn on_own_stack<F: FnOnce()>(work: F) -> Option<Stack> {
    work();
    None
}

/// A stack after use.
#[derive(Debug)]
pub struct Stack(Vec<u128>);

impl Stack {
    /// Returns the number of times that these bytes occur on it.
    pub fn count(&self, bytes: &[u8]) -> usize {
        let memory: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        occurrences(&memory, bytes)
    }
}
