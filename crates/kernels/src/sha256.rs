//! SHA-256's compression function (FIPS 180-4, section 6.2.2) of two independent blocks at once.
//!
//! A round waits for the one before: by the SHA extensions a block takes some 130 cycles of
//! latency, in which the unit that does it is idle for half of the time. Two blocks in turn fill
//! it. What hashes many short messages, or one in two halves, takes them in pairs.
//!
//! Elsewhere the blocks are compressed one after the other by the library that hashes everything
//! else, which takes what the CPU has for it.

use sha2::block_api::compress256;

/// The state before the first block (FIPS 180-4, section 5.3.3).
pub const SHA_256_INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Compresses block `i` into state `i`.
pub fn sha_256_compress_two(states: &mut [[u32; 8]; 2], blocks: [&[u8; 64]; 2]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = x86::ShaNi::detect() {
        return cpu.compress_two(states, blocks);
    }
    for (state, block) in states.iter_mut().zip(blocks) {
        compress256(state, &[*block]);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! SHA extensions, SSSE3 and SSE4.1.

    use core::arch::x86_64::*;
    use std::arch::is_x86_feature_detected;

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS
    /// 180-4, section 4.2.2), for four rounds a row.
    #[rustfmt::skip]
    const K: [u32; 64] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
        0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
        0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
        0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
        0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
        0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
        0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
        0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
        0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ];

    /// Proof that the CPU has the features above: only [`ShaNi::detect`] makes one.
    #[derive(Clone, Copy)]
    pub(super) struct ShaNi(());

    impl ShaNi {
        /// The token, if the CPU has the features.
        #[inline]
        pub(super) fn detect() -> Option<Self> {
            let found = is_x86_feature_detected!("sha")
                && is_x86_feature_detected!("ssse3")
                && is_x86_feature_detected!("sse4.1");
            found.then_some(Self(()))
        }

        /// See [`super::sha_256_compress_two`].
        #[inline]
        pub(super) fn compress_two(self, states: &mut [[u32; 8]; 2], blocks: [&[u8; 64]; 2]) {
            // SAFETY: `self` proves the features.
            unsafe { compress_two(states, blocks) }
        }
    }

    /// Four words, the first in the lowest column.
    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn vector(words: &[u32]) -> __m128i {
        let [a, b, c, d]: [u32; 4] = words.try_into().expect("four words");
        _mm_set_epi32(d as i32, c as i32, b as i32, a as i32)
    }

    /// Four words of a block, which has them with their most significant byte first.
    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn load(block: &[u8; 64], at: usize) -> __m128i {
        let bytes: [u8; 16] = block[at..at + 16].try_into().expect("16 bytes of a block");
        let all = u128::from_le_bytes(bytes);
        let loaded = _mm_set_epi64x((all >> 64) as i64, all as i64);
        let reversed = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        _mm_shuffle_epi8(loaded, reversed)
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn words(vector: __m128i) -> [u32; 4] {
        [
            _mm_extract_epi32::<0>(vector) as u32,
            _mm_extract_epi32::<1>(vector) as u32,
            _mm_extract_epi32::<2>(vector) as u32,
            _mm_extract_epi32::<3>(vector) as u32,
        ]
    }

    /// One of the two: its state as the instructions have it, and the last 16 words of its
    /// schedule.
    #[derive(Clone, Copy)]
    struct Lane {
        abef: __m128i,
        cdgh: __m128i,
        w: [__m128i; 4],
    }

    impl Lane {
        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn new(state: &[u32; 8], block: &[u8; 64]) -> Self {
            let cdab = _mm_shuffle_epi32::<0xb1>(vector(&state[..4]));
            let efgh = _mm_shuffle_epi32::<0x1b>(vector(&state[4..]));
            Self {
                abef: _mm_alignr_epi8::<8>(cdab, efgh),
                cdgh: _mm_blend_epi16::<0xf0>(efgh, cdab),
                w: [0, 16, 32, 48].map(|at| load(block, at)),
            }
        }

        /// Four rounds with these constants; the schedule moves on.
        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn rounds(&mut self, constants: __m128i) {
            let [w0, w1, w2, w3] = self.w;
            let words = _mm_add_epi32(w0, constants);
            self.cdgh = _mm_sha256rnds2_epu32(self.cdgh, self.abef, words);
            let upper = _mm_shuffle_epi32::<0x0e>(words);
            self.abef = _mm_sha256rnds2_epu32(self.abef, self.cdgh, upper);
            let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
            self.w = [w1, w2, w3, _mm_sha256msg2_epu32(sum, w3)];
        }

        /// Adds what came out to the state.
        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn finish(self, state: &mut [u32; 8]) {
            let feba = _mm_shuffle_epi32::<0x1b>(self.abef);
            let dchg = _mm_shuffle_epi32::<0xb1>(self.cdgh);
            let abcd = words(_mm_blend_epi16::<0xf0>(feba, dchg));
            let efgh = words(_mm_alignr_epi8::<8>(dchg, feba));
            for (state, word) in state.iter_mut().zip(abcd.into_iter().chain(efgh)) {
                *state = state.wrapping_add(word);
            }
        }
    }

    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn compress_two(states: &mut [[u32; 8]; 2], blocks: [&[u8; 64]; 2]) {
        let [mut a, mut b] = [0, 1].map(|i| Lane::new(&states[i], blocks[i]));
        for constants in K.chunks_exact(4) {
            let constants = vector(constants);
            a.rounds(constants);
            b.rounds(constants);
        }
        a.finish(&mut states[0]);
        b.finish(&mut states[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of at most 55 bytes as its only block.
    fn padded(message: &[u8]) -> [u8; 64] {
        let mut block = [0; 64];
        block[..message.len()].copy_from_slice(message);
        block[message.len()] = 0x80;
        block[56..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
        block
    }

    /// FIPS 180-4's example, and the empty message.
    #[test]
    fn known_answers() {
        let blocks = [padded(b"abc"), padded(b"")];
        let expected = [
            [
                0xba78_16bf,
                0x8f01_cfea,
                0x4141_40de,
                0x5dae_2223,
                0xb003_61a3,
                0x9617_7a9c,
                0xb410_ff61,
                0xf200_15ad,
            ],
            [
                0xe3b0_c442,
                0x98fc_1c14,
                0x9afb_f4c8,
                0x996f_b924,
                0x27ae_41e4,
                0x649b_934c,
                0xa495_991b,
                0x7852_b855,
            ],
        ];
        let mut two = [SHA_256_INITIAL; 2];
        sha_256_compress_two(&mut two, [&blocks[0], &blocks[1]]);
        assert_eq!(two, expected);
        let mut one = [SHA_256_INITIAL; 2];
        for (state, block) in one.iter_mut().zip(&blocks) {
            compress256(state, &[*block]);
        }
        assert_eq!(one, expected);
    }

    /// Blocks and states that depend on each other, so that any difference spreads.
    #[test]
    fn two_at_once_are_one_after_the_other() {
        let mut blocks = [[0x5a; 64], [0xa5; 64]];
        let mut two = [SHA_256_INITIAL, [0xffff_ffff; 8]];
        for _ in 0..100 {
            let mut one = two;
            sha_256_compress_two(&mut two, [&blocks[0], &blocks[1]]);
            for (state, block) in one.iter_mut().zip(&blocks) {
                compress256(state, &[*block]);
            }
            assert_eq!(two, one);
            for (block, state) in blocks.iter_mut().zip(two) {
                for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(state) {
                    *bytes = word.wrapping_mul(0x9e37_79b9).to_be_bytes();
                }
            }
        }
    }
}
