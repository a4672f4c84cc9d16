//! Wipes the data that a kernel leaves on the stack.
//!
//! A kernel keeps values for which it has no register in its frame: labels, Δ, round keys. No code
//! can wipe those places by name, since the compiler made them, so the whole frame is overwritten
//! once the kernel has returned. Only the compiler knows the size of a frame: from a few hundred
//! bytes to dozens of KiB, by kernel and backend. So the kernel reads the stack pointer at its end,
//! and the memory between that and the caller's is overwritten.
//!
//! Kernels that are called for few blocks at a time wipe nothing. Their caller wipes once, for all
//! of them, and a fixed size ([`wiping_stack`]).

use core::hint::black_box;

use crate::simd::Simd;
use crate::{Backend, Cpu, Kernel};

impl Cpu {
    /// Does the same as [`Cpu::dispatch`] for kernels with secrets: overwrites the part of the
    /// stack that `kernel` used. The caller must wipe the values that `kernel` itself holds: let it
    /// borrow secrets.
    #[inline]
    pub fn dispatch_and_wipe<K: Kernel>(self, kernel: K) -> K::Output {
        let top = stack_pointer();
        let (output, bottom) = run(self, kernel);
        let of_frame = match (top, bottom) {
            (Some(top), Some(bottom)) => top.saturating_sub(bottom),
            _ => UNKNOWN_BYTES,
        };
        let of_calls = match self.backend() {
            Backend::Portable | Backend::Simd128 => CALLED_PORTABLE_BYTES,
            _ => CALLED_BYTES,
        };
        overwrite(of_frame + of_calls);
        output
    }
}

/// Does `work`, which calls kernels that wipe nothing, and then overwrites the part of the stack
/// that they used. The caller must wipe the values that `work` itself holds: let it borrow secrets.
#[inline]
pub fn wiping_stack<T>(work: impl FnOnce() -> T) -> T {
    let output = apart(work);
    zeros::<WORK_BYTES>();
    // Otherwise the call would be a jump out of a frame that no longer exists.
    black_box(());
    output
}

/// Does `work` in frames of its own.
#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// The bytes of stack that work with its kernels is expected to use: those of a kernel and of its
/// callers.
const WORK_BYTES: usize = 32 << 10;
/// The bytes that are overwritten below a kernel's frame: those of copies and fills.
const CALLED_BYTES: usize = 512;
/// The same for portable kernels, which call their cipher.
const CALLED_PORTABLE_BYTES: usize = 16 << 10;
/// The bytes of a frame if the stack pointer cannot be read.
const UNKNOWN_BYTES: usize = 16 << 10;

/// Runs `kernel` in frames of its own, and returns their end too.
#[inline(never)]
fn run<K: Kernel>(cpu: Cpu, kernel: K) -> (K::Output, Option<usize>) {
    cpu.dispatch(Marked(kernel))
}

/// A kernel that also returns the stack pointer at its end.
struct Marked<K>(K);

impl<K: Kernel> Kernel for Marked<K> {
    type Output = (K::Output, Option<usize>);

    #[inline(always)]
    fn gains_by_width(&self) -> bool {
        self.0.gains_by_width()
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        (self.0.run(simd), stack_pointer())
    }
}

/// Returns the end of the caller's frame, if it can be read.
#[inline(always)]
fn stack_pointer() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: usize;
        // SAFETY: it reads a register.
        unsafe {
            core::arch::asm!("mov {}, rsp", out(reg) pointer,
                options(nomem, nostack, preserves_flags));
        }
        Some(pointer)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let pointer: usize;
        // SAFETY: it reads a register.
        unsafe {
            core::arch::asm!("mov {}, sp", out(reg) pointer,
                options(nomem, nostack, preserves_flags));
        }
        Some(pointer)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// Overwrites at least `bytes` bytes of the stack below the caller's frame, up to 256 KiB. No
/// kernel's frame is larger than a tenth of that.
#[inline(always)]
fn overwrite(bytes: usize) {
    match bytes.div_ceil(1 << 10) {
        ..=2 => zeros::<{ 2 << 10 }>(),
        3..=4 => zeros::<{ 4 << 10 }>(),
        5..=8 => zeros::<{ 8 << 10 }>(),
        9..=16 => zeros::<{ 16 << 10 }>(),
        17..=32 => zeros::<{ 32 << 10 }>(),
        33..=64 => zeros::<{ 64 << 10 }>(),
        _ => zeros::<{ 256 << 10 }>(),
    }
    // Otherwise the call would be a jump out of a frame that no longer exists.
    black_box(());
}

/// Writes zeros into its own frame.
#[inline(never)]
fn zeros<const BYTES: usize>() {
    // The compiler must assume that the zeros are read.
    black_box(&mut [0_u8; BYTES]);
}
