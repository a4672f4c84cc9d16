//! CPU features found at run time, and the dispatch of generic kernels to what the CPU has.
//!
//! A [`Cpu`] is a proof token: it can only be obtained for a backend whose instructions this CPU
//! has, so whoever holds one may run them. [`Cpu::dispatch`] hands a [`Kernel`] the backend's
//! [`Simd`] token inside a function compiled for the backend's instructions; because every method
//! of the token is inlined, safe generic code becomes one straight loop per backend.

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
    /// Bitsliced Rust without tables, on every CPU.
    Portable,
    /// Bitsliced AES in the 128-bit vectors of WebAssembly, where it was compiled for them.
    Simd128,
    /// ARMv8's AES and PMULL: one block an instruction.
    ArmV8,
    /// AES-NI and SSE4.1: one block an instruction.
    AesNi,
    /// VAES and AVX2: two blocks an instruction.
    Vaes256,
    /// VAES and AVX-512: four blocks an instruction.
    Vaes512,
}

impl Backend {
    /// Every backend, slowest first, whether this CPU has it or not.
    pub const ALL: [Self; 6] = [
        Self::Portable,
        Self::Simd128,
        Self::ArmV8,
        Self::AesNi,
        Self::Vaes256,
        Self::Vaes512,
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
        })
    }
}

/// Proof that this CPU runs a backend's instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cpu(Token);

/// The backends' own tokens. Each is constructed in [`Cpu::new`] alone, after detection.
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
}

/// Generic code to run with the instructions of whichever backend is chosen.
///
/// `run`, and whatever it calls with the token, must be `#[inline(always)]`: else it is still
/// right, but pays a call for each instruction.
pub trait Kernel {
    /// What it returns.
    type Output;

    /// The code.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

impl Cpu {
    /// The fastest backend that this CPU has. The standard library caches what it finds.
    #[must_use]
    pub fn detect() -> Self {
        Backend::ALL
            .into_iter()
            .rev()
            .find_map(Self::new)
            .unwrap_or(Self::portable())
    }

    /// The backend that every CPU has. Where code is compiled for WebAssembly's vectors that is
    /// their backend: a page loads no kernel twice.
    #[must_use]
    pub const fn portable() -> Self {
        #[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
        let token = Token::Portable(Portable::new());
        #[cfg(all(not(test), target_arch = "wasm32", target_feature = "simd128"))]
        let token = Token::Simd128(Simd128::new());
        Self(token)
    }

    /// A token for `backend`, if this CPU has it. For tests and measurements.
    #[must_use]
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
            _ => None,
        }
    }

    /// Tokens for all backends that this CPU has, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Backend::ALL.into_iter().filter_map(Self::new)
    }

    /// The backend that this token stands for.
    #[must_use]
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
        }
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

    struct Lanes;

    impl Kernel for Lanes {
        type Output = usize;

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

    #[test]
    fn dispatch_reaches_the_backend_of_the_token() {
        for cpu in Cpu::available() {
            let lanes = match cpu.backend() {
                Backend::Portable | Backend::Simd128 | Backend::Vaes512 => 4,
                Backend::AesNi | Backend::ArmV8 => 1,
                Backend::Vaes256 => 2,
            };
            assert_eq!(cpu.dispatch(Lanes), lanes, "{cpu:?}");
            assert_eq!(MAX_LANES % lanes, 0, "{cpu:?}");
        }
    }
}
