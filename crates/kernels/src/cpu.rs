//! Detects CPU features at run time, and dispatches generic kernels to the CPU's instructions.
//!
//! A [`Cpu`] is a proof token: it can only be obtained for a backend whose instructions this CPU
//! has, so its holder may run them. [`Cpu::dispatch`] passes the backend's [`Simd`] token to a
//! [`Kernel`] inside a function compiled for the backend's instructions. Because every method of
//! the token is inlined, safe generic code becomes one straight loop per backend.

use core::fmt;

#[cfg(target_arch = "aarch64")]
use crate::lanes::ArmV8;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{AesNi, Vaes256, Vaes512};
#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
use crate::portable::Portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use crate::portable::Simd128;
use crate::simd::Simd;

/// A set of instructions that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Bitsliced Rust without tables, for every CPU.
    Portable,
    /// Bitsliced AES in the 128-bit vectors of WebAssembly, in builds for them.
    Simd128,
    /// ARMv8's AES and PMULL: one block an instruction.
    ArmV8,
    /// AES-NI and SSE4.1: one block an instruction.
    AesNi,
    /// VAES and AVX2: two blocks an instruction.
    Vaes256,
    /// VAES and AVX-512: four blocks an instruction.
    Vaes512,
    /// Each kernel by VAES with AVX2 or AVX-512, the faster for it, on CPUs that process
    /// 512-bit vectors in two halves.
    VaesByKernel,
}

impl Backend {
    /// All backends, slowest first, including those that this CPU does not have.
    pub const ALL: [Self; 7] = [
        Self::Portable,
        Self::Simd128,
        Self::ArmV8,
        Self::AesNi,
        Self::Vaes256,
        Self::Vaes512,
        Self::VaesByKernel,
    ];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::Simd128 => "simd128",
            Self::ArmV8 => "armv8",
            Self::AesNi => "aes-ni",
            Self::Vaes256 => "vaes-256",
            Self::Vaes512 => "vaes-512",
            Self::VaesByKernel => "vaes-by-kernel",
        })
    }
}

/// Proof that this CPU runs a backend's instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cpu(Token);

/// The backends' own tokens. Each is only constructed in [`Cpu::new`], after detection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    #[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
    Portable(Portable),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(Simd128),
    #[cfg(target_arch = "aarch64")]
    ArmV8(ArmV8),
    #[cfg(target_arch = "x86_64")]
    AesNi(AesNi),
    #[cfg(target_arch = "x86_64")]
    Vaes256(Vaes256),
    #[cfg(target_arch = "x86_64")]
    Vaes512(Vaes512),
    #[cfg(target_arch = "x86_64")]
    VaesByKernel(Vaes256, Vaes512),
}

/// Generic code to run with the instructions of the chosen backend.
///
/// `run`, and everything that it calls with the token, must be `#[inline(always)]`. Otherwise it is
/// still correct, but pays a call for each instruction.
pub trait Kernel {
    /// The result.
    type Output;

    /// Returns whether the kernel is faster with 512-bit vectors even on a CPU that processes them
    /// in two halves ([`Backend::VaesByKernel`]). Most kernels are not.
    #[inline(always)]
    fn gains_by_width(&self) -> bool {
        false
    }

    /// Runs the code.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

impl Cpu {
    /// Returns the fastest backend that this CPU has.
    pub fn detect() -> Self {
        Backend::ALL
            .into_iter()
            .rev()
            .find_map(Self::new)
            .unwrap_or(Self::portable())
    }

    /// Returns the backend that every CPU has. In builds for WebAssembly's vectors that is their
    /// backend, so that a page loads no kernel twice.
    pub const fn portable() -> Self {
        #[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
        let token = Token::Portable(Portable::new());
        #[cfg(all(not(test), target_arch = "wasm32", target_feature = "simd128"))]
        let token = Token::Simd128(Simd128::new());
        Self(token)
    }

    /// Returns a token for `backend`, if this CPU has it. For tests and measurements.
    pub fn new(backend: Backend) -> Option<Self> {
        match backend {
            #[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
            Backend::Portable => Some(Self::portable()),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Backend::Simd128 => Some(Self(Token::Simd128(Simd128::new()))),
            #[cfg(target_arch = "aarch64")]
            Backend::ArmV8 => ArmV8::detect().map(|token| Self(Token::ArmV8(token))),
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi => AesNi::detect().map(|token| Self(Token::AesNi(token))),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256 => Vaes256::detect().map(|token| Self(Token::Vaes256(token))),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512 => Vaes512::detect().map(|token| Self(Token::Vaes512(token))),
            #[cfg(target_arch = "x86_64")]
            Backend::VaesByKernel if halves::has_halves() => Vaes256::detect()
                .zip(Vaes512::detect())
                .map(|(narrow, wide)| Self(Token::VaesByKernel(narrow, wide))),
            _ => None,
        }
    }

    /// Returns tokens for all backends that this CPU has, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Backend::ALL.into_iter().filter_map(Self::new)
    }

    /// Returns the backend of this token.
    pub const fn backend(self) -> Backend {
        match self.0 {
            #[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
            Token::Portable(_) => Backend::Portable,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Token::Simd128(_) => Backend::Simd128,
            #[cfg(target_arch = "aarch64")]
            Token::ArmV8(_) => Backend::ArmV8,
            #[cfg(target_arch = "x86_64")]
            Token::AesNi(_) => Backend::AesNi,
            #[cfg(target_arch = "x86_64")]
            Token::Vaes256(_) => Backend::Vaes256,
            #[cfg(target_arch = "x86_64")]
            Token::Vaes512(_) => Backend::Vaes512,
            #[cfg(target_arch = "x86_64")]
            Token::VaesByKernel(..) => Backend::VaesByKernel,
        }
    }

    /// Runs `kernel`, compiled for this backend.
    #[inline]
    pub fn dispatch<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
            Token::Portable(token) => token.run(kernel),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Token::Simd128(token) => token.run(kernel),
            #[cfg(target_arch = "aarch64")]
            Token::ArmV8(token) => token.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::AesNi(token) => token.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::Vaes256(token) => token.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::Vaes512(token) => token.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::VaesByKernel(_, token) if kernel.gains_by_width() => token.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::VaesByKernel(token, _) => token.run(kernel),
        }
    }
}

/// CPUs that process 512-bit vectors in two halves.
///
/// AMD's Zen 4 does. Most of what the width saves in instructions is lost again: gates that do not
/// fill a wide vector cost as much as those that do, and labels are assembled from narrower stores.
/// It gains if each call has a key of its own, and in transpositions (docs/bench.md).
#[cfg(target_arch = "x86_64")]
mod halves {
    use core::arch::x86_64::__cpuid;
    use std::sync::LazyLock;

    /// Returns whether this CPU is one. The query takes microseconds in a virtual machine, so it is
    /// made once.
    pub(super) fn has_halves() -> bool {
        static FOUND: LazyLock<bool> = LazyLock::new(|| {
            let vendor = __cpuid(0);
            is_zen_4([vendor.ebx, vendor.edx, vendor.ecx], __cpuid(1).eax)
        });
        *FOUND
    }

    /// Returns whether this is Zen 4, the only CPU of family 19h with AVX-512; Zen 3 has the same
    /// family.
    pub(super) fn is_zen_4(vendor: [u32; 3], signature: u32) -> bool {
        let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
        vendor.map(u32::to_le_bytes).as_flattened() == b"AuthenticAMD" && family == 0x19
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cpu({})", self.backend())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_LANES;

    /// A kernel that gains by width if the field is true.
    struct Width(bool);

    impl Kernel for Width {
        type Output = usize;

        fn gains_by_width(&self) -> bool {
            self.0
        }

        #[inline(always)]
        fn run<S: Simd>(self, _simd: S) -> usize {
            S::LANES
        }
    }

    #[test]
    fn portable_is_always_there_and_detection_takes_the_last() {
        let available: Vec<Backend> = Cpu::available().map(Cpu::backend).collect();
        assert_eq!(available[0], Backend::Portable);
        assert_eq!(available.last(), Some(&Cpu::detect().backend()));
        assert!(available.is_sorted());
    }

    /// Signatures from the makers' lists (CPUID leaf 1, EAX).
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn vectors_in_halves_are_those_of_zen_4() {
        let words = |vendor: &[u8; 12]| {
            let word =
                |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| vendor[4 * at + byte]));
            [word(0), word(1), word(2)]
        };
        let amd = words(b"AuthenticAMD");
        // EPYC 9004, Ryzen 7000, EPYC 97x4.
        for zen_4 in [0x00a1_0f11, 0x00a6_0f12, 0x00aa_0f02] {
            assert!(halves::is_zen_4(amd, zen_4), "{zen_4:x}");
        }
        // EPYC 9005, EPYC 7002.
        for other in [0x00b0_0f21, 0x0083_0f10] {
            assert!(!halves::is_zen_4(amd, other), "{other:x}");
        }
        assert!(!halves::is_zen_4(words(b"GenuineIntel"), 0x00a1_0f11));
    }

    #[test]
    fn dispatch_reaches_the_backend_of_the_token() {
        for cpu in Cpu::available() {
            let lanes = match cpu.backend() {
                Backend::Portable | Backend::Simd128 | Backend::Vaes512 => [4, 4],
                Backend::AesNi | Backend::ArmV8 => [1, 1],
                Backend::Vaes256 => [2, 2],
                Backend::VaesByKernel => [2, 4],
            };
            let found = [false, true].map(|gains| cpu.dispatch(Width(gains)));
            assert_eq!(found, lanes, "{cpu:?}");
            let fits = |lanes: &usize| MAX_LANES.is_multiple_of(*lanes);
            assert!(lanes.iter().all(fits), "{cpu:?}");
        }
    }
}
