//! Backends with AES instructions: on x86-64 AES-NI, VAES with 256 bits and VAES with 512 bits, on
//! 64-bit ARM those of ARMv8.
//!
//! Each is a thin layer of lane operations ([`BlockVectors`] and [`Lanes`], one instruction each or
//! a few), over which the AES rounds and the key schedule ([`rounds`]) and everything above
//! ([`operations`]) are written once.

use crate::simd::{BlockVectors, Simd};
use crate::{Block, KeyedPair, SlotView};

/// A backend's token: proof of the features, which are detected and enabled here alone.
macro_rules! token {
    ($name:ident: $is_detected:ident($($feature:tt),+), $enabled:tt) => {
        /// Proof that the CPU has the features above: only [`detect`](Self::detect) makes one.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name(());

        impl $name {
            /// The token, if the CPU has the features.
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

/// Operations of vectors of a type, each an expression of the backend's instructions.
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

/// What AES and universal hashing take of a backend besides [`BlockVectors`].
pub trait Lanes: BlockVectors {
    /// Carry-less product of a 64-bit half of `a`, by bit 0 of `HALVES`, and one of `b`, by bit 4.
    fn multiply<const HALVES: i32>(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The bytes of the low 64-bit halves of each lane of `a` and of `b`, by turns.
    fn zip_low_bytes(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The bytes of the high 64-bit halves of each lane of `a` and of `b`, by turns.
    fn zip_high_bytes(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The state before the first round, given the first round key. x86-64's instructions add a
    /// round's key at its end, so the first key is added here. ARMv8's add the key of the round
    /// before at the start of a round, so nothing is added here.
    fn begin(self, state: Self::Vector, first: Self::Vector) -> Self::Vector;
    /// A round of AES, given its key and that of the round before.
    fn round(self, state: Self::Vector, before: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// The last round of AES, given its key and that of the round before.
    fn last_round(
        self,
        state: Self::Vector,
        before: Self::Vector,
        key: Self::Vector,
    ) -> Self::Vector;
    /// SubBytes and ShiftRows, then the sum with `addend`.
    fn substituted(self, state: Self::Vector, addend: Self::Vector) -> Self::Vector;
    /// RotWord of the last column of each lane, in all four columns.
    fn rotated_last_word(self, key: Self::Vector) -> Self::Vector;
    /// RotWord of every column, moved to where ShiftRows takes it from.
    fn rotated_words(self, words: Self::Vector) -> Self::Vector;
    /// Columns (a₀, b₀, a₁, b₁) of each lane.
    fn interleave_low_columns(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Columns (a₂, b₂, a₃, b₃) of each lane.
    fn interleave_high_columns(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Each column moved up one place, zero moved in.
    fn up_one_column(self, a: Self::Vector) -> Self::Vector;
    /// Each column moved up two places, zeros moved in.
    fn up_two_columns(self, a: Self::Vector) -> Self::Vector;
    /// Row `row` of the [`KeyedPair`]s in slots `slot(lane)`, as pairs of blocks. They fill two
    /// vectors; `half` says which of the two is read.
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> Self::Vector;
    /// Writes what [`Lanes::load_row`] reads.
    fn store_row(
        self,
        blocks: Self::Vector,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    );
}

/// The 16 bytes of a row from byte `at` on.
#[inline(always)]
fn in_row<const BYTES: usize>(row: &[u8; BYTES], at: usize) -> &[u8; 16] {
    row[at..].first_chunk().expect("16 bytes of a row")
}

/// [`in_row`], to write.
#[inline(always)]
fn in_row_mut<const BYTES: usize>(row: &mut [u8; BYTES], at: usize) -> &mut [u8; 16] {
    row[at..].first_chunk_mut().expect("16 bytes of a row")
}

/// Where each byte comes from in [`Lanes::rotated_words`]: ShiftRows takes the byte of column c
/// and row r to column c − r, where byte r + 1 of that column's word belongs.
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
