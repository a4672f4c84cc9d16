//! Tells a process from those that are forked from it.
//!
//! The number of a process does not: the system gives it again once the process has ended, and the
//! first process of each namespace has the number 1. Linux can wipe a page of memory in each
//! process that is forked ([`MADV_WIPEONFORK`], since 4.14). A process that finds the page empty
//! has not counted itself yet, and takes the next number of a count that it has inherited. So its
//! number differs from that of every process from which it inherited anything.
//!
//! [`MADV_WIPEONFORK`]: https://man7.org/linux/man-pages/man2/madvise.2.html

#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The number of this process among those that it descends from by forks. It stays the same while
/// the process lives, and a process that is forked from this one has another number.
///
/// It is 0 where the system cannot wipe memory at a fork: on systems other than Linux, and where
/// Linux refuses. Then it tells nothing, and the number of the process alone remains.
pub fn process_generation() -> u64 {
    #[cfg(target_os = "linux")]
    return generation();
    #[cfg(not(target_os = "linux"))]
    0
}

/// The generations that this process and those before it have taken.
#[cfg(target_os = "linux")]
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// The target of [`PAGE`] where the system has no page that it wipes.
#[cfg(target_os = "linux")]
static NO_PAGE: AtomicU64 = AtomicU64::new(u64::MAX);

/// The generation of this process on a page that is wiped at a fork; null before the first use.
/// There is no lock: a fork while another thread holds one would leave it held for ever.
#[cfg(target_os = "linux")]
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

#[cfg(target_os = "linux")]
fn generation() -> u64 {
    let own = page();
    let known = own.load(Ordering::SeqCst);
    if known == u64::MAX {
        return 0;
    }
    if known > 0 {
        return known;
    }
    let next = TAKEN.fetch_add(1, Ordering::SeqCst) + 1;
    let other = own.compare_exchange(0, next, Ordering::SeqCst, Ordering::SeqCst);
    other.err().unwrap_or(next)
}

/// The number on the page, which is made at the first call.
#[cfg(target_os = "linux")]
fn page() -> &'static AtomicU64 {
    let mut page = PAGE.load(Ordering::SeqCst);
    if page.is_null() {
        let made = map().unwrap_or_else(|| std::ptr::from_ref(&NO_PAGE).cast_mut());
        let null = std::ptr::null_mut();
        // The page of a thread that came second stays mapped and unused.
        let before = PAGE.compare_exchange(null, made, Ordering::SeqCst, Ordering::SeqCst);
        page = before.err().unwrap_or(made);
    }
    // SAFETY: the pointer is `NO_PAGE`'s, or that of a page which `map` made and nobody unmaps. Its
    // start is aligned, zero is an `AtomicU64`, and it is written through `AtomicU64` alone.
    unsafe { &*page }
}

/// A page of zeros that is zero again in each process that is forked.
#[cfg(target_os = "linux")]
fn map() -> Option<*mut AtomicU64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
    // The system takes whole pages, of whatever size.
    const BYTES: usize = size_of::<AtomicU64>();
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping wherever the system has room overlaps nothing.
    let page = unsafe { mmap_anonymous(std::ptr::null_mut(), BYTES, access, MapFlags::PRIVATE) };
    let page = page.ok()?;
    // SAFETY: these are the bytes of the page that was just made, which nothing refers to yet.
    if unsafe { madvise(page, BYTES, Advice::LinuxWipeOnFork) }.is_ok() {
        return Some(page.cast());
    }
    // SAFETY: as above.
    let _ = unsafe { munmap(page, BYTES) };
    None
}
