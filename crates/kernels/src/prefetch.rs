//! Memory that is asked for before it is needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// How far ahead memory is asked for: what is walked through at a byte a cycle or two arrives in
/// time from main memory.
const AHEAD: usize = 2048;

/// Asks for as much memory as `now` takes, 2 KiB further on: for a walk through memory in
/// steps, of which `now` is one. Beyond the end of what is walked through nothing happens.
///
/// The CPU's own guess at where a walk goes ends with each page, and a garbled circuit's tables and
/// gates are large, and each byte of them used once.
#[inline(always)]
pub fn prefetch_beyond<T>(now: &[T]) {
    let start = now.as_ptr().cast::<i8>().wrapping_add(AHEAD);
    for at in (0..size_of_val(now)).step_by(LINE) {
        prefetch(start.wrapping_add(at));
    }
}

/// Asks for the cache line of this address.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch(address: *const i8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch may name any address: it neither faults nor changes anything.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// Nothing: the intrinsics of other CPUs are not stable yet.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch(_address: *const i8) {}
