//! Backends with AES instructions: AES-NI, VAES with 256 bits and VAES with 512 bits on x86-64, and
//! those of ARMv8 on 64-bit ARM.
//!
//! Each is a thin layer of lane operations ([`BlockVectors`] and [`Lanes`], one or a few
//! instructions each). The AES rounds and the key schedule ([`rounds`]) and everything above
//! ([`operations`]) are written once on top of it.

use crate::simd::{BlockVectors, Simd};
use crate::{Block, KeyedPair, SlotView};

/// Makes a backend's token, which proves the features. They are only detected and enabled here.
macro_rules! token {
    ($name:ident: $is_detected:ident($($feature:tt),+), $enabled:tt) => {
        /// Proof that the CPU has the features above: only [`detect`](Self::detect) makes one.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name(());

        impl $name {
            /// Returns the token, if the CPU has the features.
            pub(crate) fn detect() -> Option<Self> {
                ($(std::arch::$is_detected!($feature))&&+).then_some(Self(()))
            }

            /// Runs `kernel` in a function compiled for the features.
            #[inline]
            pub(crate) fn run<K: crate::cpu::Kernel>(self, kernel: K) -> K::Output {
                #[target_feature(enable = $enabled)]
                fn with_features<K: crate::cpu::Kernel>(token: $name, kernel: K) -> K::Output {
                    kernel.run(token)
                }
                // SAFETY: `self` proves the features.
                unsafe { with_features(self, kernel) }
            }
        }

        impl crate::simd::Sealed for $name {}
    };
}

/// Makes operations of vectors of a type, each from an expression of the backend's instructions.
macro_rules! instructions {
    ($vector:ty;
     $($name:ident $(<const $of:ident>)? ($($argument:ident),*) => $result:expr;)*) => {$(
        #[inline(always)]
        fn $name $(<const $of: i32>)? (self, $($argument: $vector),*) -> $vector {
            // SAFETY: `self` proves the features.
            unsafe { $result }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod aes_ni;
#[cfg(target_arch = "aarch64")]
mod armv8;
mod operations;
mod rounds;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

#[cfg(target_arch = "x86_64")]
pub(crate) use aes_ni::AesNi;
#[cfg(target_arch = "aarch64")]
pub(crate) use armv8::ArmV8;
#[cfg(target_arch = "x86_64")]
pub(crate) use vaes256::Vaes256;
#[cfg(target_arch = "x86_64")]
pub(crate) use vaes512::Vaes512;

/// The operations of a backend for AES and universal hashing, besides [`BlockVectors`].
pub trait Lanes: BlockVectors {
    /// Returns the carry-less product of a 64-bit half of `a`, selected by bit 0 of `HALVES`, and
    /// one of `b`, selected by bit 4.
    fn multiply<const HALVES: i32>(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the bytes of the low 64-bit halves of each lane of `a` and of `b`, alternating.
    fn zip_low_bytes(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the bytes of the high 64-bit halves of each lane of `a` and of `b`, alternating.
    fn zip_high_bytes(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the state before the first round, given the first round key. x86-64's instructions
    /// add a round's key at its end, so this adds the first key. ARMv8's add the key of the round
    /// before at the start of a round, so this adds nothing.
    fn begin(self, state: Self::Vector, first: Self::Vector) -> Self::Vector;
    /// Makes a round of AES, given its key and that of the round before.
    fn round(self, state: Self::Vector, before: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// Makes the last round of AES, given its key and that of the round before.
    fn last_round(
        self,
        state: Self::Vector,
        before: Self::Vector,
        key: Self::Vector,
    ) -> Self::Vector;
    /// Computes SubBytes and ShiftRows, then the sum with `addend`.
    fn substituted(self, state: Self::Vector, addend: Self::Vector) -> Self::Vector;
    /// Returns RotWord of the last column of each lane, in all four columns.
    fn rotated_last_word(self, key: Self::Vector) -> Self::Vector;
    /// Returns RotWord of every column, at the place from which ShiftRows takes it.
    fn rotated_words(self, words: Self::Vector) -> Self::Vector;
    /// Returns the columns (a₀, b₀, a₁, b₁) of each lane.
    fn interleave_low_columns(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the columns (a₂, b₂, a₃, b₃) of each lane.
    fn interleave_high_columns(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Moves each column up one place, and moves zero in.
    fn up_one_column(self, a: Self::Vector) -> Self::Vector;
    /// Moves each column up two places, and moves zeros in.
    fn up_two_columns(self, a: Self::Vector) -> Self::Vector;
    /// Loads row `row` of the [`KeyedPair`]s in slots `slot(lane)`, as pairs of blocks. They fill
    /// two vectors; `half` selects one of them.
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> Self::Vector;
    /// Writes the row that [`Lanes::load_row`] reads.
    fn store_row(
        self,
        blocks: Self::Vector,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    );
}

/// Returns the 16 bytes of a row from byte `at` on.
#[inline(always)]
fn in_row<const BYTES: usize>(row: &[u8; BYTES], at: usize) -> &[u8; 16] {
    row[at..].first_chunk().expect("16 bytes of a row")
}

/// Does the same as [`in_row`], for writing.
#[inline(always)]
fn in_row_mut<const BYTES: usize>(row: &mut [u8; BYTES], at: usize) -> &mut [u8; 16] {
    row[at..].first_chunk_mut().expect("16 bytes of a row")
}

/// The source of each byte in [`Lanes::rotated_words`]: ShiftRows takes the byte of column c and
/// row r to column c − r, where byte r + 1 of that column's word belongs.
const ROTATED_WORDS: Block = {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (column, row) = (i / 4, i % 4);
        bytes[i] = (4 * ((column + 4 - row) % 4) + (row + 1) % 4) as u8;
        i += 1;
    }
    Block::from_bytes(bytes)
};
