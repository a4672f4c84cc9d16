//! Wiping what a kernel leaves on the stack.
//!
//! What a kernel has no register for it keeps in its frame: labels, Δ, round keys. No code can wipe
//! those places by name, since the compiler made them; so the whole frame is overwritten once the
//! kernel has returned. How large a frame is, the compiler alone knows: from a few hundred bytes to
//! dozens of KiB, by kernel and backend. So the kernel reads the stack pointer at its end, and as
//! much is overwritten as lies between that and the caller's.
//!
//! Kernels that are called for few blocks at a time wipe nothing. Their caller wipes once, for all
//! of them, and by a fixed size ([`wiping_stack`]).

use core::hint::black_box;

use crate::simd::Simd;
use crate::{Backend, Cpu, Kernel};

impl Cpu {
    /// [`Cpu::dispatch`] for kernels with secrets: overwrites the part of the stack that `kernel`
    /// used. What `kernel` itself holds is the caller's to wipe: let it borrow secrets.
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
/// that they used. What `work` itself holds is the caller's to wipe: let it borrow secrets.
#[inline]
pub fn wiping_stack<T>(work: impl FnOnce() -> T) -> T {
    let output = apart(work);
    zeros::<WORK_BYTES>();
    // Else the call would be a jump, out of a frame that is gone by then.
    black_box(());
    output
}

/// In frames of its own.
#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Bytes that work with its kernels is expected to use: that of a kernel, and of those who call it.
const WORK_BYTES: usize = 32 << 10;
/// Bytes that are overwritten below a kernel's frame: those of copies and fills.
const CALLED_BYTES: usize = 512;
/// The same of portable kernels, which call their cipher.
const CALLED_PORTABLE_BYTES: usize = 16 << 10;
/// Bytes of a frame where the stack pointer cannot be read.
const UNKNOWN_BYTES: usize = 16 << 10;

/// Runs `kernel` in frames of its own, and says where they end.
#[inline(never)]
fn run<K: Kernel>(cpu: Cpu, kernel: K) -> (K::Output, Option<usize>) {
    cpu.dispatch(Marked(kernel))
}

/// A kernel, and the stack pointer at its end.
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

/// Where the frame of the caller ends, if it can be read.
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

/// Overwrites at least `bytes` bytes of the stack below the caller's frame, up to 256 KiB: no
/// kernel's frame is as large as a tenth of that.
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
    // Else the call would be a jump, out of a frame that is gone by then.
    black_box(());
}

/// Has zeros in its frame.
#[inline(never)]
fn zeros<const BYTES: usize>() {
    // The compiler must take it that somebody reads them.
    black_box(&mut [0_u8; BYTES]);
}
