//! VAES with 512-bit registers: four blocks per vector.
//!
//! Instructions used: AVX-512F, AVX-512BW, AVX2, AES-NI, VAES, VPCLMULQDQ. Only the layer in this
//! file is specific to the backend. A build machine without AVX-512 compiles it and cannot test it;
//! the tests of every kernel include it automatically on a CPU that has AVX-512.

use core::arch::x86_64::*;

use super::{Lanes, ROTATED_WORDS, in_row, in_row_mut};
use crate::simd::BlockVectors;
use crate::{Block, KeyedPair, Numbered, SlotView};

token!(
    Vaes512:
    is_x86_feature_detected("avx512f", "avx512bw", "avx2", "aes", "vaes", "vpclmulqdq"),
    "avx512f,avx512bw,avx2,aes,vaes,vpclmulqdq"
);

impl BlockVectors for Vaes512 {
    const LANES: usize = 4;
    type Vector = __m512i;

    #[inline(always)]
    fn splat(self, block: Block) -> __m512i {
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm512_broadcast_i32x4(_mm_load_si128((&raw const block).cast())) }
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> __m512i {
        let from: &[Block] = &from[..4];
        // SAFETY: `self` proves the features; the slice is 64 bytes long.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, vector: __m512i, into: &mut [Block]) {
        let into: &mut [Block] = &mut into[..4];
        // SAFETY: `self` proves the features; the slice is 64 bytes long.
        unsafe { _mm512_storeu_si512(into.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize) -> __m512i {
        let lane0: &Block = from.at(index(0));
        let lane1: &Block = from.at(index(1));
        let lane2: &Block = from.at(index(2));
        let lane3: &Block = from.at(index(3));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_load_si128(core::ptr::from_ref(lane0).cast()));
            let low = _mm256_inserti128_si256::<1>(
                low,
                _mm_load_si128(core::ptr::from_ref(lane1).cast()),
            );
            let high = _mm256_castsi128_si256(_mm_load_si128(core::ptr::from_ref(lane2).cast()));
            let high = _mm256_inserti128_si256::<1>(
                high,
                _mm_load_si128(core::ptr::from_ref(lane3).cast()),
            );
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: __m512i,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        let lane: &mut Block = into.at_mut(index(0));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(lane).cast(),
                _mm512_castsi512_si128(vector),
            )
        }
        let lane: &mut Block = into.at_mut(index(1));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(lane).cast(),
                _mm512_extracti32x4_epi32::<1>(vector),
            )
        }
        let lane: &mut Block = into.at_mut(index(2));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(lane).cast(),
                _mm512_extracti32x4_epi32::<2>(vector),
            )
        }
        let lane: &mut Block = into.at_mut(index(3));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(lane).cast(),
                _mm512_extracti32x4_epi32::<3>(vector),
            )
        }
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [__m512i; N]) -> __m512i {
        let pair = pair[0];
        // SAFETY: `self` proves the features.
        unsafe { _mm512_xor_si512(pair, _mm512_shuffle_i32x4::<1>(pair, pair)) }
    }

    #[inline(always)]
    fn store_first(self, vector: __m512i, into: &mut Block) {
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(into).cast(),
                _mm512_castsi512_si128(vector),
            )
        }
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> (__m512i, __m512i) {
        let from: &[u8] = &from[..128];
        // SAFETY: `self` proves the features; the slice is 128 bytes long.
        unsafe {
            let low = _mm512_loadu_si512(from.as_ptr().cast());
            let high = _mm512_loadu_si512(from.as_ptr().add(64).cast());
            (
                _mm512_shuffle_i32x4::<0b10_00_10_00>(low, high),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(low, high),
            )
        }
    }

    #[inline(always)]
    fn store_pairs(self, first: __m512i, second: __m512i, into: &mut [u8]) {
        let into: &mut [u8] = &mut into[..128];
        // SAFETY: `self` proves the features; the slice is 128 bytes long.
        unsafe {
            let low = _mm512_permutex2var_epi64(
                first,
                _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                second,
            );
            let high = _mm512_permutex2var_epi64(
                first,
                _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15),
                second,
            );
            _mm512_storeu_si512(into.as_mut_ptr().cast(), low);
            _mm512_storeu_si512(into.as_mut_ptr().add(64).cast(), high);
        }
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> __m512i {
        let rows: &[_] = &rows[..4];
        let lanes: [&[u8; 16]; 4] = core::array::from_fn(|i| in_row(&rows[i], at));
        // SAFETY: `self` proves the features; a lane has 16 bytes.
        unsafe {
            let [a, b, c, d] = lanes.map(|lane| _mm_loadu_si128(lane.as_ptr().cast()));
            let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
            let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(self, vector: __m512i, rows: &mut [[u8; BYTES]], at: usize) {
        let rows: &mut [_] = &mut rows[..4];
        // SAFETY: `self` proves the features.
        let lanes = unsafe {
            [
                _mm512_castsi512_si128(vector),
                _mm512_extracti32x4_epi32::<1>(vector),
                _mm512_extracti32x4_epi32::<2>(vector),
                _mm512_extracti32x4_epi32::<3>(vector),
            ]
        };
        for (row, lane) in rows.iter_mut().zip(lanes) {
            let into = in_row_mut(row, at);
            // SAFETY: `self` proves the features; `into` has 16 bytes.
            unsafe { _mm_storeu_si128(into.as_mut_ptr().cast(), lane) }
        }
    }

    #[inline(always)]
    fn zip(self, [a, b]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: `self` proves the features.
        unsafe {
            let low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            [
                _mm512_permutex2var_epi64(a, low, b),
                _mm512_permutex2var_epi64(a, high, b),
            ]
        }
    }

    #[inline(always)]
    fn unzip(self, [low, high]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: `self` proves the features.
        unsafe {
            [
                _mm512_shuffle_i32x4::<0b10_00_10_00>(low, high),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(low, high),
            ]
        }
    }

    #[inline(always)]
    fn first_of_pairs(self, [a, b]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: `self` proves the features.
        unsafe {
            [
                _mm512_shuffle_i32x4::<0b10_10_00_00>(a, a),
                _mm512_shuffle_i32x4::<0b10_10_00_00>(b, b),
            ]
        }
    }

    instructions! { __m512i;
        xor(a, b) => _mm512_xor_si512(a, b);
        and(a, b) => _mm512_and_si512(a, b);
        lsb_mask(a) =>
            _mm512_srai_epi64::<63>(_mm512_slli_epi64::<63>(_mm512_unpacklo_epi64(a, a)));
        msb_masks_of_halves(a) => _mm512_srai_epi64::<63>(a);
        add_halves(a, b) => _mm512_add_epi64(a, b);
        swap_halves(a) => _mm512_shuffle_epi32::<0b01_00_11_10>(a);
        low_halves(a, b) => _mm512_unpacklo_epi64(a, b);
        high_halves(a, b) => _mm512_unpackhi_epi64(a, b);
        halves(low, high) => _mm512_mask_blend_epi64(0xaa, low, high);
        shift_up<const BITS>(a) => _mm512_sll_epi64(a, _mm_cvtsi32_si128(BITS));
        shift_down<const BITS>(a) => _mm512_srl_epi64(a, _mm_cvtsi32_si128(BITS));
    }
}

impl Lanes for Vaes512 {
    #[inline(always)]
    fn begin(self, state: __m512i, first: __m512i) -> __m512i {
        self.xor(state, first)
    }

    #[inline(always)]
    fn last_round(self, state: __m512i, _before: __m512i, key: __m512i) -> __m512i {
        self.substituted(state, key)
    }

    #[inline(always)]
    fn rotated_words(self, words: __m512i) -> __m512i {
        let mask = self.splat(ROTATED_WORDS);
        // SAFETY: `self` proves the features.
        unsafe { _mm512_shuffle_epi8(words, mask) }
    }

    #[inline(always)]
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> __m512i {
        let low: &[Block; 2] = &kept.slot(slot(2 * half)).rows[row];
        let high: &[Block; 2] = &kept.slot(slot(2 * half + 1)).rows[row];
        // SAFETY: `self` proves the features; two blocks are 32 bytes.
        unsafe {
            let low = _mm256_loadu_si256(core::ptr::from_ref(low).cast());
            let high = _mm256_loadu_si256(core::ptr::from_ref(high).cast());
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    #[inline(always)]
    fn store_row(
        self,
        blocks: __m512i,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) {
        let low: &mut [Block; 2] = &mut kept.slot_mut(slot(2 * half)).rows[row];
        // SAFETY: `self` proves the features; two blocks are 32 bytes.
        unsafe {
            _mm256_storeu_si256(
                core::ptr::from_mut(low).cast(),
                _mm512_castsi512_si256(blocks),
            )
        }
        let high: &mut [Block; 2] = &mut kept.slot_mut(slot(2 * half + 1)).rows[row];
        // SAFETY: `self` proves the features; two blocks are 32 bytes.
        unsafe {
            _mm256_storeu_si256(
                core::ptr::from_mut(high).cast(),
                _mm512_extracti64x4_epi64::<1>(blocks),
            )
        }
    }

    instructions! { __m512i;
        zip_low_bytes(a, b) => _mm512_unpacklo_epi8(a, b);
        zip_high_bytes(a, b) => _mm512_unpackhi_epi8(a, b);
        multiply<const HALVES>(a, b) => _mm512_clmulepi64_epi128::<HALVES>(a, b);
        round(state, _before, key) => _mm512_aesenc_epi128(state, key);
        substituted(state, addend) => _mm512_aesenclast_epi128(state, addend);
        rotated_last_word(key) => _mm512_shuffle_epi8(key, _mm512_set1_epi32(0x0c0f_0e0d));
        interleave_low_columns(a, b) => _mm512_unpacklo_epi32(a, b);
        interleave_high_columns(a, b) => _mm512_unpackhi_epi32(a, b);
        up_one_column(a) => _mm512_bslli_epi128::<4>(a);
        up_two_columns(a) => _mm512_bslli_epi128::<8>(a);
    }
}
