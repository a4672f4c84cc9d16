//! AES-NI: one block per vector.
//!
//! Instructions used: SSE2, SSSE3 (PSHUFB), SSE4.1, AES-NI, PCLMULQDQ.

use core::arch::x86_64::*;

use super::{Lanes, ROTATED_WORDS, in_row, in_row_mut};
use crate::simd::BlockVectors;
use crate::{Block, KeyedPair, Numbered, SlotView};

token!(AesNi: is_x86_feature_detected("sse4.1", "aes", "pclmulqdq"), "sse4.1,aes,pclmulqdq");

impl BlockVectors for AesNi {
    const LANES: usize = 1;
    type Vector = __m128i;

    #[inline(always)]
    fn splat(self, block: Block) -> __m128i {
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_load_si128((&raw const block).cast()) }
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> __m128i {
        let from: &Block = &from[0];
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_load_si128(core::ptr::from_ref(from).cast()) }
    }

    #[inline(always)]
    fn store(self, vector: __m128i, into: &mut [Block]) {
        let into: &mut Block = &mut into[0];
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_store_si128(core::ptr::from_mut(into).cast(), vector) }
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize) -> __m128i {
        let lane0: &Block = from.at(index(0));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_load_si128(core::ptr::from_ref(lane0).cast()) }
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: __m128i,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        let into: &mut Block = into.at_mut(index(0));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_store_si128(core::ptr::from_mut(into).cast(), vector) }
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [__m128i; N]) -> __m128i {
        let [first, second] = [pair[0], pair[1]];
        // SAFETY: `self` proves the features.
        unsafe { _mm_xor_si128(first, second) }
    }

    #[inline(always)]
    fn store_first(self, vector: __m128i, into: &mut Block) {
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_store_si128(core::ptr::from_mut(into).cast(), vector) }
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> (__m128i, __m128i) {
        let from: &[u8] = &from[..32];
        // SAFETY: `self` proves the features; the slice is 32 bytes long.
        unsafe {
            let first = _mm_loadu_si128(from.as_ptr().cast());
            let second = _mm_loadu_si128(from.as_ptr().add(16).cast());
            (first, second)
        }
    }

    #[inline(always)]
    fn store_pairs(self, first: __m128i, second: __m128i, into: &mut [u8]) {
        let into: &mut [u8] = &mut into[..32];
        // SAFETY: `self` proves the features; the slice is 32 bytes long.
        unsafe {
            _mm_storeu_si128(into.as_mut_ptr().cast(), first);
            _mm_storeu_si128(into.as_mut_ptr().add(16).cast(), second);
        }
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> __m128i {
        let lane = in_row(&rows[0], at);
        // SAFETY: `self` proves the features; the lane has 16 bytes.
        unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(self, vector: __m128i, rows: &mut [[u8; BYTES]], at: usize) {
        let lane = in_row_mut(&mut rows[0], at);
        // SAFETY: `self` proves the features; the lane has 16 bytes.
        unsafe { _mm_storeu_si128(lane.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn zip(self, pair: [__m128i; 2]) -> [__m128i; 2] {
        pair
    }

    #[inline(always)]
    fn unzip(self, halves: [__m128i; 2]) -> [__m128i; 2] {
        halves
    }

    #[inline(always)]
    fn first_of_pairs(self, [first, _]: [__m128i; 2]) -> [__m128i; 2] {
        [first; 2]
    }

    instructions! { __m128i;
        xor(a, b) => _mm_xor_si128(a, b);
        and(a, b) => _mm_and_si128(a, b);
        lsb_mask(a) => _mm_srai_epi32::<31>(_mm_slli_epi32::<31>(_mm_shuffle_epi32::<0>(a)));
        msb_masks_of_halves(a) => _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0b11_11_01_01>(a));
        add_halves(a, b) => _mm_add_epi64(a, b);
        swap_halves(a) => _mm_shuffle_epi32::<0b01_00_11_10>(a);
        low_halves(a, b) => _mm_unpacklo_epi64(a, b);
        high_halves(a, b) => _mm_unpackhi_epi64(a, b);
        halves(low, high) => _mm_blend_epi16::<0xf0>(low, high);
        shift_up<const BITS>(a) => _mm_slli_epi64::<BITS>(a);
        shift_down<const BITS>(a) => _mm_srli_epi64::<BITS>(a);
    }
}

impl Lanes for AesNi {
    #[inline(always)]
    fn begin(self, state: __m128i, first: __m128i) -> __m128i {
        self.xor(state, first)
    }

    #[inline(always)]
    fn last_round(self, state: __m128i, _before: __m128i, key: __m128i) -> __m128i {
        self.substituted(state, key)
    }

    #[inline(always)]
    fn rotated_words(self, words: __m128i) -> __m128i {
        let mask = self.splat(ROTATED_WORDS);
        // SAFETY: `self` proves the features.
        unsafe { _mm_shuffle_epi8(words, mask) }
    }

    #[inline(always)]
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> __m128i {
        let key: &Block = &kept.slot(slot(0)).rows[row][half];
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_load_si128(core::ptr::from_ref(key).cast()) }
    }

    #[inline(always)]
    fn store_row(
        self,
        blocks: __m128i,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) {
        let key: &mut Block = &mut kept.slot_mut(slot(0)).rows[row][half];
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm_store_si128(core::ptr::from_mut(key).cast(), blocks) }
    }

    instructions! { __m128i;
        zip_low_bytes(a, b) => _mm_unpacklo_epi8(a, b);
        zip_high_bytes(a, b) => _mm_unpackhi_epi8(a, b);
        multiply<const HALVES>(a, b) => _mm_clmulepi64_si128::<HALVES>(a, b);
        round(state, _before, key) => _mm_aesenc_si128(state, key);
        substituted(state, addend) => _mm_aesenclast_si128(state, addend);
        rotated_last_word(key) => _mm_shuffle_epi8(key, _mm_set1_epi32(0x0c0f_0e0d));
        interleave_low_columns(a, b) => _mm_unpacklo_epi32(a, b);
        interleave_high_columns(a, b) => _mm_unpackhi_epi32(a, b);
        up_one_column(a) => _mm_slli_si128::<4>(a);
        up_two_columns(a) => _mm_slli_si128::<8>(a);
    }
}
