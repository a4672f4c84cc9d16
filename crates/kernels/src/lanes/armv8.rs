//! ARMv8's AES instructions: one block per vector.
//!
//! Instructions used: NEON, AES (AESE, AESMC) and PMULL, which belongs to the same architecture
//! extension as AES.
//!
//! AESE adds the round key *before* SubBytes, whereas AESENC adds it after MixColumns. So a round
//! takes the key of the round before, and only the last one adds two ([`Lanes::begin`],
//! [`Lanes::round`], [`Lanes::last_round`]).

#![allow(
    inline_always_mismatching_target_features,
    reason = "what they are inlined into is itself inlined into a function that has the features; \
              macOS always has them, and there the lint finds nothing"
)]

use core::arch::aarch64::*;

use super::{Lanes, ROTATED_WORDS, in_row, in_row_mut};
use crate::simd::BlockVectors;
use crate::{Block, KeyedPair, Numbered, SlotView};

token!(ArmV8: is_aarch64_feature_detected("neon", "aes", "pmull"), "neon,aes");

/// The source of each byte in [`Lanes::rotated_last_word`]. ShiftRows does not change equal
/// columns.
const ROTATED_LAST_WORD: Block = {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        bytes[i] = 12 + (i as u8 + 1) % 4;
        i += 1;
    }
    Block::from_bytes(bytes)
};

/// Returns a vector as 64-bit halves.
#[inline(always)]
fn halves_of(a: uint8x16_t) -> uint64x2_t {
    // SAFETY: every build for 64-bit ARM has NEON.
    unsafe { vreinterpretq_u64_u8(a) }
}

/// Returns the vector of these 64-bit halves.
#[inline(always)]
fn of_halves(a: uint64x2_t) -> uint8x16_t {
    // SAFETY: every build for 64-bit ARM has NEON.
    unsafe { vreinterpretq_u8_u64(a) }
}

/// Returns a vector as columns.
#[inline(always)]
fn columns_of(a: uint8x16_t) -> uint32x4_t {
    // SAFETY: every build for 64-bit ARM has NEON.
    unsafe { vreinterpretq_u32_u8(a) }
}

/// Returns the vector of these columns.
#[inline(always)]
fn of_columns(a: uint32x4_t) -> uint8x16_t {
    // SAFETY: every build for 64-bit ARM has NEON.
    unsafe { vreinterpretq_u8_u32(a) }
}

/// Reads 16 bytes.
#[inline(always)]
fn read(from: &[u8; 16]) -> uint8x16_t {
    // SAFETY: there are 16 bytes.
    unsafe { vld1q_u8(from.as_ptr()) }
}

/// Writes 16 bytes.
#[inline(always)]
fn write(vector: uint8x16_t, into: &mut [u8; 16]) {
    // SAFETY: there are 16 bytes.
    unsafe { vst1q_u8(into.as_mut_ptr(), vector) }
}

/// Reads a block.
#[inline(always)]
fn read_block(from: &Block) -> uint8x16_t {
    // SAFETY: a block is 16 bytes.
    unsafe { vld1q_u8(core::ptr::from_ref(from).cast()) }
}

/// Writes a block.
#[inline(always)]
fn write_block(vector: uint8x16_t, into: &mut Block) {
    // SAFETY: a block is 16 bytes.
    unsafe { vst1q_u8(core::ptr::from_mut(into).cast(), vector) }
}

impl BlockVectors for ArmV8 {
    const LANES: usize = 1;
    type Vector = uint8x16_t;

    #[inline(always)]
    fn splat(self, block: Block) -> uint8x16_t {
        read_block(&block)
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> uint8x16_t {
        read_block(&from[0])
    }

    #[inline(always)]
    fn store(self, vector: uint8x16_t, into: &mut [Block]) {
        write_block(vector, &mut into[0]);
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize) -> uint8x16_t {
        read_block(from.at(index(0)))
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: uint8x16_t,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        write_block(vector, into.at_mut(index(0)));
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [uint8x16_t; N]) -> uint8x16_t {
        self.xor(pair[0], pair[1])
    }

    #[inline(always)]
    fn store_first(self, vector: uint8x16_t, into: &mut Block) {
        write_block(vector, into);
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> (uint8x16_t, uint8x16_t) {
        let from: &[u8; 32] = from.first_chunk().expect("32 bytes of a pair");
        (read(in_row(from, 0)), read(in_row(from, 16)))
    }

    #[inline(always)]
    fn store_pairs(self, first: uint8x16_t, second: uint8x16_t, into: &mut [u8]) {
        let into: &mut [u8; 32] = into.first_chunk_mut().expect("32 bytes of a pair");
        write(first, in_row_mut(into, 0));
        write(second, in_row_mut(into, 16));
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> uint8x16_t {
        read(in_row(&rows[0], at))
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(
        self,
        vector: uint8x16_t,
        rows: &mut [[u8; BYTES]],
        at: usize,
    ) {
        write(vector, in_row_mut(&mut rows[0], at));
    }

    #[inline(always)]
    fn lsb_mask(self, a: uint8x16_t) -> uint8x16_t {
        // SAFETY: every build for 64-bit ARM has NEON.
        unsafe {
            let low = vdupq_laneq_u64::<0>(halves_of(a));
            let sign = vshlq_n_u64::<63>(low);
            vreinterpretq_u8_s64(vshrq_n_s64::<63>(vreinterpretq_s64_u64(sign)))
        }
    }

    #[inline(always)]
    fn zip(self, pair: [uint8x16_t; 2]) -> [uint8x16_t; 2] {
        pair
    }

    #[inline(always)]
    fn unzip(self, halves: [uint8x16_t; 2]) -> [uint8x16_t; 2] {
        halves
    }

    #[inline(always)]
    fn first_of_pairs(self, [first, _]: [uint8x16_t; 2]) -> [uint8x16_t; 2] {
        [first; 2]
    }

    instructions! { uint8x16_t;
        xor(a, b) => veorq_u8(a, b);
        and(a, b) => vandq_u8(a, b);
        msb_masks_of_halves(a) => vreinterpretq_u8_s64(vshrq_n_s64::<63>(vreinterpretq_s64_u8(a)));
        add_halves(a, b) => of_halves(vaddq_u64(halves_of(a), halves_of(b)));
        swap_halves(a) => vextq_u8::<8>(a, a);
        low_halves(a, b) => of_halves(vzip1q_u64(halves_of(a), halves_of(b)));
        high_halves(a, b) => of_halves(vzip2q_u64(halves_of(a), halves_of(b)));
        halves(low, high) => of_halves(vcopyq_laneq_u64::<1, 1>(halves_of(low), halves_of(high)));
        shift_up<const BITS>(a) => of_halves(vshlq_n_u64::<BITS>(halves_of(a)));
        shift_down<const BITS>(a) => of_halves(vshrq_n_u64::<BITS>(halves_of(a)));
    }
}

impl Lanes for ArmV8 {
    #[inline(always)]
    fn multiply<const HALVES: i32>(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        let (a, b) = (halves_of(a), halves_of(b));
        // SAFETY: `self` proves PMULL.
        unsafe {
            let a = match HALVES & 1 {
                0 => vgetq_lane_u64::<0>(a),
                _ => vgetq_lane_u64::<1>(a),
            };
            let b = match HALVES >> 4 {
                0 => vgetq_lane_u64::<0>(b),
                _ => vgetq_lane_u64::<1>(b),
            };
            vreinterpretq_u8_p128(vmull_p64(a, b))
        }
    }

    #[inline(always)]
    fn begin(self, state: uint8x16_t, _first: uint8x16_t) -> uint8x16_t {
        state
    }

    #[inline(always)]
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> uint8x16_t {
        read_block(&kept.slot(slot(0)).rows[row][half])
    }

    #[inline(always)]
    fn store_row(
        self,
        blocks: uint8x16_t,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) {
        write_block(blocks, &mut kept.slot_mut(slot(0)).rows[row][half]);
    }

    instructions! { uint8x16_t;
        zip_low_bytes(a, b) => vzip1q_u8(a, b);
        zip_high_bytes(a, b) => vzip2q_u8(a, b);
        round(state, before, _key) => vaesmcq_u8(vaeseq_u8(state, before));
        last_round(state, before, key) => veorq_u8(vaeseq_u8(state, before), key);
        substituted(state, constant) => veorq_u8(vaeseq_u8(state, vdupq_n_u8(0)), constant);
        rotated_last_word(key) => vqtbl1q_u8(key, read_block(&ROTATED_LAST_WORD));
        rotated_words(words) => vqtbl1q_u8(words, read_block(&ROTATED_WORDS));
        interleave_low_columns(a, b) => of_columns(vzip1q_u32(columns_of(a), columns_of(b)));
        interleave_high_columns(a, b) => of_columns(vzip2q_u32(columns_of(a), columns_of(b)));
        up_one_column(a) => vextq_u8::<12>(vdupq_n_u8(0), a);
        up_two_columns(a) => vextq_u8::<8>(vdupq_n_u8(0), a);
    }
}
