//! VAES with 256-bit registers: two blocks per vector.
//!
//! Instructions used: AVX2, AES-NI, VAES, VPCLMULQDQ.
//!
//! No block is moved between lanes by an instruction if memory can do it: on Zen 3 such a move
//! takes the place of an AES round, while a load that fills both lanes and a blend cost nothing. So
//! lanes are gathered by loads and blends, and pairs are read and written by overlapping loads and
//! stores: half-gates on a wide circuit take 2 to 3 % less time.

use core::arch::asm;
use core::arch::x86_64::*;

use super::{Lanes, ROTATED_WORDS, in_row, in_row_mut};
use crate::simd::BlockVectors;
use crate::{Block, KeyedPair, Numbered, SlotView};

token!(
    Vaes256:
    is_x86_feature_detected("avx2", "aes", "vaes", "vpclmulqdq"),
    "avx2,aes,vaes,vpclmulqdq"
);

/// Returns `block` in both lanes, loaded in that form if it is in memory.
///
/// The compiler would recognise this and a blend as an insertion into a lane, and emit that
/// instruction. The assembly hides their connection.
#[inline]
#[target_feature(enable = "avx2")]
fn in_both_lanes(block: __m128i) -> __m256i {
    let mut both = _mm256_broadcastsi128_si256(block);
    // SAFETY: there is no instruction, and any vector is one.
    unsafe {
        asm!("/* {0} */", inlateout(ymm_reg) both, options(pure, nomem, nostack, preserves_flags));
    }
    both
}

impl BlockVectors for Vaes256 {
    const LANES: usize = 2;
    type Vector = __m256i;

    #[inline(always)]
    fn splat(self, block: Block) -> __m256i {
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe { _mm256_broadcastsi128_si256(_mm_load_si128((&raw const block).cast())) }
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> __m256i {
        let from: &[Block] = &from[..2];
        // SAFETY: `self` proves the features; the slice is 32 bytes long.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, vector: __m256i, into: &mut [Block]) {
        let into: &mut [Block] = &mut into[..2];
        // SAFETY: `self` proves the features; the slice is 32 bytes long.
        unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize) -> __m256i {
        let lane0: &Block = from.at(index(0));
        let lane1: &Block = from.at(index(1));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_load_si128(core::ptr::from_ref(lane0).cast()));
            let high = _mm_load_si128(core::ptr::from_ref(lane1).cast());
            _mm256_blend_epi32::<0xf0>(low, in_both_lanes(high))
        }
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: __m256i,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        let lane: &mut Block = into.at_mut(index(0));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(lane).cast(),
                _mm256_castsi256_si128(vector),
            )
        }
        let lane: &mut Block = into.at_mut(index(1));
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(lane).cast(),
                _mm256_extracti128_si256::<1>(vector),
            )
        }
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [__m256i; N]) -> __m256i {
        let pair = pair[0];
        // SAFETY: `self` proves the features.
        unsafe { _mm256_xor_si256(pair, _mm256_permute2x128_si256::<1>(pair, pair)) }
    }

    #[inline(always)]
    fn store_first(self, vector: __m256i, into: &mut Block) {
        // SAFETY: `self` proves the features; a block is 16 bytes, aligned to 16.
        unsafe {
            _mm_store_si128(
                core::ptr::from_mut(into).cast(),
                _mm256_castsi256_si128(vector),
            )
        }
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> (__m256i, __m256i) {
        let from: &[u8] = &from[..64];
        // SAFETY: `self` proves the features; the slice is 64 bytes long.
        unsafe {
            let low = _mm256_loadu_si256(from.as_ptr().cast());
            let middle = _mm256_loadu_si256(from.as_ptr().add(16).cast());
            let high = _mm256_loadu_si256(from.as_ptr().add(32).cast());
            (
                _mm256_blend_epi32::<0xf0>(low, middle),
                _mm256_blend_epi32::<0xf0>(middle, high),
            )
        }
    }

    #[inline(always)]
    fn store_pairs(self, first: __m256i, second: __m256i, into: &mut [u8]) {
        let into: &mut [u8] = &mut into[..64];
        // SAFETY: `self` proves the features; the slice is 64 bytes long.
        unsafe {
            let middle = _mm256_blend_epi32::<0xf0>(second, first);
            _mm256_storeu_si256(into.as_mut_ptr().cast(), first);
            _mm256_storeu_si256(into.as_mut_ptr().add(32).cast(), second);
            _mm256_storeu_si256(into.as_mut_ptr().add(16).cast(), middle);
        }
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> __m256i {
        let rows: &[_] = &rows[..2];
        let [lane0, lane1] = [in_row(&rows[0], at), in_row(&rows[1], at)];
        // SAFETY: `self` proves the features; a lane has 16 bytes.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_loadu_si128(lane0.as_ptr().cast()));
            let high = _mm_loadu_si128(lane1.as_ptr().cast());
            _mm256_blend_epi32::<0xf0>(low, in_both_lanes(high))
        }
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(self, vector: __m256i, rows: &mut [[u8; BYTES]], at: usize) {
        let rows: &mut [_] = &mut rows[..2];
        let lane = in_row_mut(&mut rows[0], at);
        // SAFETY: `self` proves the features; a lane has 16 bytes.
        unsafe { _mm_storeu_si128(lane.as_mut_ptr().cast(), _mm256_castsi256_si128(vector)) }
        let lane = in_row_mut(&mut rows[1], at);
        // SAFETY: `self` proves the features; a lane has 16 bytes.
        unsafe {
            let high = _mm256_extracti128_si256::<1>(vector);
            _mm_storeu_si128(lane.as_mut_ptr().cast(), high);
        }
    }

    #[inline(always)]
    fn zip(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves the features.
        unsafe {
            [
                _mm256_permute2x128_si256::<0x20>(a, b),
                _mm256_permute2x128_si256::<0x31>(a, b),
            ]
        }
    }

    #[inline(always)]
    fn unzip(self, halves: [__m256i; 2]) -> [__m256i; 2] {
        self.zip(halves)
    }

    #[inline(always)]
    fn first_of_pairs(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves the features.
        unsafe {
            [
                _mm256_permute2x128_si256::<0>(a, a),
                _mm256_permute2x128_si256::<0>(b, b),
            ]
        }
    }

    instructions! { __m256i;
        xor(a, b) => _mm256_xor_si256(a, b);
        and(a, b) => _mm256_and_si256(a, b);
        lsb_mask(a) =>
            _mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(_mm256_shuffle_epi32::<0>(a)));
        msb_masks_of_halves(a) => _mm256_srai_epi32::<31>(_mm256_shuffle_epi32::<0b11_11_01_01>(a));
        add_halves(a, b) => _mm256_add_epi64(a, b);
        swap_halves(a) => _mm256_shuffle_epi32::<0b01_00_11_10>(a);
        low_halves(a, b) => _mm256_unpacklo_epi64(a, b);
        high_halves(a, b) => _mm256_unpackhi_epi64(a, b);
        halves(low, high) => _mm256_blend_epi32::<0xcc>(low, high);
        shift_up<const BITS>(a) => _mm256_slli_epi64::<BITS>(a);
        shift_down<const BITS>(a) => _mm256_srli_epi64::<BITS>(a);
    }
}

impl Lanes for Vaes256 {
    #[inline(always)]
    fn begin(self, state: __m256i, first: __m256i) -> __m256i {
        self.xor(state, first)
    }

    #[inline(always)]
    fn last_round(self, state: __m256i, _before: __m256i, key: __m256i) -> __m256i {
        self.substituted(state, key)
    }

    #[inline(always)]
    fn rotated_words(self, words: __m256i) -> __m256i {
        let mask = self.splat(ROTATED_WORDS);
        // SAFETY: `self` proves the features.
        unsafe { _mm256_shuffle_epi8(words, mask) }
    }

    #[inline(always)]
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> __m256i {
        let keys: &[Block; 2] = &kept.slot(slot(half)).rows[row];
        // SAFETY: `self` proves the features; two blocks are 32 bytes.
        unsafe { _mm256_loadu_si256(core::ptr::from_ref(keys).cast()) }
    }

    #[inline(always)]
    fn store_row(
        self,
        blocks: __m256i,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) {
        let into: &mut [Block; 2] = &mut kept.slot_mut(slot(half)).rows[row];
        // SAFETY: `self` proves the features; two blocks are 32 bytes.
        unsafe { _mm256_storeu_si256(core::ptr::from_mut(into).cast(), blocks) }
    }

    instructions! { __m256i;
        zip_low_bytes(a, b) => _mm256_unpacklo_epi8(a, b);
        zip_high_bytes(a, b) => _mm256_unpackhi_epi8(a, b);
        multiply<const HALVES>(a, b) => _mm256_clmulepi64_epi128::<HALVES>(a, b);
        round(state, _before, key) => _mm256_aesenc_epi128(state, key);
        substituted(state, addend) => _mm256_aesenclast_epi128(state, addend);
        rotated_last_word(key) => _mm256_shuffle_epi8(key, _mm256_set1_epi32(0x0c0f_0e0d));
        interleave_low_columns(a, b) => _mm256_unpacklo_epi32(a, b);
        interleave_high_columns(a, b) => _mm256_unpackhi_epi32(a, b);
        up_one_column(a) => _mm256_slli_si256::<4>(a);
        up_two_columns(a) => _mm256_slli_si256::<8>(a);
    }
}
