//! SHA-256 and SHA-512 (FIPS 180-4). The constants of SHA-256 are the upper halves of SHA-512's.
//!
//! Cost of one compression with unknown state and block: 22271 AND gates for SHA-256, and 57572 for
//! SHA-512. The circuits in common use in the field have 22573 and 57947.
//!
//! Deviations from a literal translation of the standard, all of which save AND gates. Ch and Maj
//! take one AND gate per bit: Ch(e, f, g) = g ⊕ (e ∧ (f ⊕ g)) and Maj(a, b, c) = b ⊕ ((a ⊕ b) ∧ (b
//! ⊕ c)), where b ⊕ c is the a ⊕ b of the previous round. The five terms of T1, and the terms of
//! the message schedule, are added in carry-save form ([`UInt::sum`]).

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Builder, Bytes, UInt};

/// One hash function of the family. Rotations are those of section 4.1, in the order of the
/// standard. The last one of a small sigma is a shift.
pub(super) struct Variant {
    word_bits: usize,
    rounds: usize,
    big_sigma_0: [usize; 3],
    big_sigma_1: [usize; 3],
    small_sigma_0: [usize; 3],
    small_sigma_1: [usize; 3],
}

impl Variant {
    fn block_bytes(&self) -> usize {
        2 * self.word_bits
    }

    /// Returns the upper bits of a constant of SHA-512.
    fn constant<'b>(&self, builder: &'b Builder, of_sha_512: u64) -> UInt<'b> {
        let word = of_sha_512 >> (64 - self.word_bits);
        UInt::constant(builder, self.word_bits, word.into())
    }
}

pub(super) const SHA_256: Variant = Variant {
    word_bits: 32,
    rounds: 64,
    big_sigma_0: [2, 13, 22],
    big_sigma_1: [6, 11, 25],
    small_sigma_0: [7, 18, 3],
    small_sigma_1: [17, 19, 10],
};

pub(super) const SHA_512: Variant = Variant {
    word_bits: 64,
    rounds: 80,
    big_sigma_0: [28, 34, 39],
    big_sigma_1: [14, 18, 41],
    small_sigma_0: [1, 8, 7],
    small_sigma_1: [19, 61, 6],
};

/// The first 64 bits of the fractional parts of the square roots of the first 8 primes
/// (FIPS 180-4, sections 5.3.3 and 5.3.5).
const INITIAL_STATE: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// The first 64 bits of the fractional parts of the cube roots of the first 80 primes
/// (FIPS 180-4, sections 4.2.2 and 4.2.3).
const ROUND_CONSTANTS: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];

/// Applies the compression function of SHA-256: returns the state after a block of 64 bytes.
///
/// # Panics
///
/// If the state is not 8 words of 32 bits, or the block not 64 bytes.
pub fn sha_256_compress<'b>(state: &[UInt<'b>], block: &Bytes<'b>) -> Vec<UInt<'b>> {
    compress(&SHA_256, state, block)
}

/// Computes SHA-256 of a message of any fixed length, including the padding.
pub fn sha_256<'b>(message: &Bytes<'b>) -> Bytes<'b> {
    hash(&SHA_256, message)
}

/// Applies the compression function of SHA-512: returns the state after a block of 128 bytes.
///
/// # Panics
///
/// If the state is not 8 words of 64 bits, or the block not 128 bytes.
pub fn sha_512_compress<'b>(state: &[UInt<'b>], block: &Bytes<'b>) -> Vec<UInt<'b>> {
    compress(&SHA_512, state, block)
}

/// Computes SHA-512 of a message of any fixed length, including the padding.
pub fn sha_512<'b>(message: &Bytes<'b>) -> Bytes<'b> {
    hash(&SHA_512, message)
}

pub(super) fn circuit(builder: &Builder, variant: &Variant, bytes: usize) {
    let message = builder.bytes("message", bytes);
    builder.output("digest", &hash(variant, &message));
}

pub(super) fn circuit_of_compression(builder: &Builder, variant: &Variant) {
    let word = Type::unsigned(variant.word_bits);
    let state: Array<UInt<'_>> = builder.input("state", word.array(8));
    let block = builder.bytes("block", variant.block_bytes());
    let words: Vec<UInt<'_>> = state.iter().cloned().collect();
    builder.output("next_state", &Array::new(compress(variant, &words, &block)));
}

/// Applies the compression function: returns the state after a block of 16 words.
fn compress<'b>(variant: &Variant, state: &[UInt<'b>], block: &Bytes<'b>) -> Vec<UInt<'b>> {
    assert_eq!(state.len(), 8, "words of the state");
    assert_eq!(block.len(), variant.block_bytes(), "bytes of the block");
    let bytes = variant.word_bits / 8;
    let mut schedule: Vec<UInt<'b>> = (0..16)
        .map(|word| block.slice(bytes * word..bytes * (word + 1)).to_uint_be())
        .collect();
    let mut working = state.to_vec();
    for (round, &constant) in ROUND_CONSTANTS[..variant.rounds].iter().enumerate() {
        // Make word t when round t needs it, so that gates are close to their readers.
        if round >= 16 {
            schedule.push(schedule_word(variant, &schedule));
        }
        apply_round(variant, &mut working, constant, &schedule[round]);
    }
    state
        .iter()
        .zip(&working)
        .map(|(before, after)| before + after)
        .collect()
}

/// Hashes a message of any fixed length, including the padding.
fn hash<'b>(variant: &Variant, message: &Bytes<'b>) -> Bytes<'b> {
    let builder = message.bus().builder();
    let block_bytes = variant.block_bytes();
    let padding = Bytes::constant(builder, &padding(message.len(), block_bytes));
    let padded = message.concat(&padding);
    let mut state = INITIAL_STATE
        .map(|word| variant.constant(builder, word))
        .to_vec();
    for start in (0..padded.len()).step_by(block_bytes) {
        state = compress(variant, &state, &padded.slice(start..start + block_bytes));
    }
    let words = state.iter().map(Bytes::from_uint_be);
    words
        .reduce(|digest, word| digest.concat(&word))
        .expect("eight words")
}

/// Returns the padding: a one bit, zeros, and the length in bits, in an eighth of a block (section
/// 5.1).
fn padding(len: usize, block_bytes: usize) -> Vec<u8> {
    let length_bytes = block_bytes / 8;
    let zeros = (block_bytes - (len + 1 + length_bytes) % block_bytes) % block_bytes;
    let mut padding = vec![0; 1 + zeros + length_bytes - 8];
    padding[0] = 0x80;
    padding.extend((8 * len as u64).to_be_bytes());
    padding
}

/// Returns the next word of the message schedule (section 6.2.2, step 1).
fn schedule_word<'b>(variant: &Variant, words: &[UInt<'b>]) -> UInt<'b> {
    let back = |by: usize| &words[words.len() - by];
    let small_sigma = |word: &UInt<'b>, [first, second, shift]: [usize; 3]| {
        word.rotate_right(first) ^ word.rotate_right(second) ^ word.shift_right(shift)
    };
    let sigma_0 = small_sigma(back(15), variant.small_sigma_0);
    let sigma_1 = small_sigma(back(2), variant.small_sigma_1);
    UInt::sum(&[back(16), &sigma_0, back(7), &sigma_1])
}

/// Applies one round to the working variables a to h (section 6.2.2, step 3).
fn apply_round<'b>(variant: &Variant, working: &mut [UInt<'b>], constant: u64, word: &UInt<'b>) {
    let [a, b, c, d, e, f, g, h] = &*working else {
        unreachable!("eight working variables")
    };
    let constant = variant.constant(word.bus().builder(), constant);
    let big_sigma = |word: &UInt<'b>, [first, second, third]: [usize; 3]| {
        word.rotate_right(first) ^ word.rotate_right(second) ^ word.rotate_right(third)
    };
    let choice = g ^ (e & (f ^ g));
    let majority = b ^ ((a ^ b) & (b ^ c));
    let sigma_1 = big_sigma(e, variant.big_sigma_1);
    let t_1 = UInt::sum(&[word, &constant, h, &choice, &sigma_1]);
    let new_e = d + &t_1;
    let new_a = UInt::sum(&[&majority, &big_sigma(a, variant.big_sigma_0), &t_1]);
    working.rotate_right(1);
    working[0] = new_a;
    working[4] = new_e;
}
