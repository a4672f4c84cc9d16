//! Backends with AES instructions: on x86-64 AES-NI, VAES with 256 bits and VAES with 512 bits, on
//! 64-bit ARM those of ARMv8.
//!
//! Each is a thin layer of lane operations ([`Lanes`], one instruction each or a few), over which
//! the AES rounds and the key schedule ([`rounds`]) and everything above ([`operations`]) are
//! written once.

use crate::simd::{Sealed, Simd};
use crate::{Block, KeyedPair, Numbered, SlotView};

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

/// The operations that differ between the backends; the same names as in [`Simd`] mean the same.
pub trait Lanes: Sealed + Copy + Send + Sync + 'static {
    /// Blocks in a vector.
    const LANES: usize;
    /// A vector of blocks.
    type Vector: Copy;

    /// See [`Simd::splat`].
    fn splat(self, block: Block) -> Self::Vector;
    /// See [`Simd::load`].
    fn load(self, from: &[Block]) -> Self::Vector;
    /// See [`Simd::store`].
    fn store(self, vector: Self::Vector, into: &mut [Block]);
    /// See [`Simd::gather`].
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize)
    -> Self::Vector;
    /// See [`Simd::scatter`].
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: Self::Vector,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    );
    /// See [`Simd::sum_of_pair`].
    fn sum_of_pair<const N: usize>(self, pair: [Self::Vector; N]) -> Self::Vector;
    /// See [`Simd::store_first`].
    fn store_first(self, vector: Self::Vector, into: &mut Block);
    /// See [`Simd::load_pairs`].
    fn load_pairs(self, from: &[u8]) -> (Self::Vector, Self::Vector);
    /// See [`Simd::store_pairs`].
    fn store_pairs(self, first: Self::Vector, second: Self::Vector, into: &mut [u8]);
    /// See [`Simd::load_rows`].
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> Self::Vector;
    /// See [`Simd::store_rows`].
    fn store_rows<const BYTES: usize>(
        self,
        vector: Self::Vector,
        rows: &mut [[u8; BYTES]],
        at: usize,
    );
    /// Exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Conjunction.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::lsb_mask`].
    fn lsb_mask(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::msb_masks_of_halves`].
    fn msb_masks_of_halves(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::add_halves`].
    fn add_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Carry-less product of a 64-bit half of `a`, by bit 0 of `HALVES`, and one of `b`, by bit 4.
    fn multiply<const HALVES: i32>(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::swap_halves`].
    fn swap_halves(self, a: Self::Vector) -> Self::Vector;
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
    /// See [`Simd::low_halves`].
    fn low_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::high_halves`].
    fn high_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::halves`].
    fn halves(self, low: Self::Vector, high: Self::Vector) -> Self::Vector;
    /// See [`Simd::shift_up`].
    fn shift_up<const BITS: i32>(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::shift_down`].
    fn shift_down<const BITS: i32>(self, a: Self::Vector) -> Self::Vector;
    /// Each column moved up one place, zero moved in.
    fn up_one_column(self, a: Self::Vector) -> Self::Vector;
    /// Each column moved up two places, zeros moved in.
    fn up_two_columns(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::zip`].
    fn zip(self, vectors: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// See [`Simd::unzip`].
    fn unzip(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// See [`Simd::first_of_pairs`].
    fn first_of_pairs(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2];
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
