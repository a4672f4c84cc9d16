//! Requests memory before it is needed.

/// The bytes of a cache line.
const LINE: usize = 64;

/// The distance at which memory is requested: memory that is read at a byte per cycle or two
/// arrives in time from main memory.
const AHEAD: usize = 2048;

/// Requests as much memory as `now` occupies, 2 KiB further on: for a walk through memory in steps,
/// of which `now` is one. Past the end of the memory this has no effect.
///
/// The CPU's own prefetching of a walk ends at each page, but a garbled circuit's tables and gates
/// are large, and each byte of them is used once.
#[inline(always)]
pub fn prefetch_beyond<T>(now: &[T]) {
    let start = now.as_ptr().cast::<i8>().wrapping_add(AHEAD);
    for at in (0..size_of_val(now)).step_by(LINE) {
        prefetch(start.wrapping_add(at));
    }
}

/// Requests the value with this number for the second-level cache, for a read that is hundreds of
/// reads away. Past the end of the memory this has no effect. The number is public.
#[inline(always)]
pub fn prefetch_later<T>(values: &[T], number: usize) {
    let value = values.as_ptr().wrapping_add(number);
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T2, _mm_prefetch};
        // SAFETY: a prefetch may name any address: it neither faults nor changes anything.
        unsafe { _mm_prefetch::<_MM_HINT_T2>(value.cast()) }
    }
    // The intrinsics of other CPUs are not stable yet.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Requests the cache line of this address.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch(address: *const i8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch may name any address: it neither faults nor changes anything.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// Does nothing: the intrinsics of other CPUs are not stable yet.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch(_address: *const i8) {}
