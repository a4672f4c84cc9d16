//! SHA-256 (FIPS 180-4).
//!
//! Cost of one compression with unknown state and block: 22271 AND gates. The circuit in common use
//! in the field has 22573.
//!
//! Deviations from a literal translation of the standard, all of which save AND gates. Ch and Maj
//! take one AND gate per bit: Ch(e, f, g) = g ⊕ (e ∧ (f ⊕ g)) and Maj(a, b, c) = b ⊕ ((a ⊕ b) ∧ (b
//! ⊕ c)), where b ⊕ c is the a ⊕ b of the previous round. The five terms of T1, and the terms of
//! the message schedule, are added in carry-save form ([`UInt::sum`]).

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Builder, Bytes, UInt};

const BLOCK_BYTES: usize = 64;

/// The first 32 bits of the fractional parts of the square roots of the first 8 primes
/// (FIPS 180-4, section 5.3.3).
const INITIAL_STATE: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes
/// (FIPS 180-4, section 4.2.2).
const ROUND_CONSTANTS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// Builds the hash of a message of `bytes` bytes.
pub(super) fn circuit(builder: &Builder, bytes: usize) {
    let message = builder.bytes("message", bytes);
    builder.output("digest", &sha_256(&message));
}

pub(super) fn circuit_of_compression(builder: &Builder) {
    let state: Array<UInt<'_>> = builder.input("state", Type::unsigned(32).array(8));
    let block = builder.bytes("block", BLOCK_BYTES);
    let words: Vec<UInt<'_>> = state.iter().cloned().collect();
    builder.output("next_state", &Array::new(compress(&words, &block)));
}

/// Applies the compression function: returns the state after a block of 16 words.
fn compress<'b>(state: &[UInt<'b>], block: &Bytes<'b>) -> Vec<UInt<'b>> {
    let mut schedule: Vec<UInt<'b>> = (0..16)
        .map(|word| block.slice(4 * word..4 * (word + 1)).to_uint_be())
        .collect();
    let mut working = state.to_vec();
    for (round, &constant) in ROUND_CONSTANTS.iter().enumerate() {
        // Make word t when round t needs it, so that gates are close to their readers.
        if round >= 16 {
            schedule.push(schedule_word(&schedule));
        }
        apply_round(&mut working, constant, &schedule[round]);
    }
    state
        .iter()
        .zip(&working)
        .map(|(before, after)| before + after)
        .collect()
}

/// Computes SHA-256 of a message of any fixed length, including the padding.
pub(super) fn sha_256<'b>(message: &Bytes<'b>) -> Bytes<'b> {
    let builder = message.bus().builder();
    let padded = message.concat(&Bytes::constant(builder, &padding(message.len())));
    let mut state = INITIAL_STATE
        .map(|word| UInt::constant(builder, 32, word.into()))
        .to_vec();
    for start in (0..padded.len()).step_by(BLOCK_BYTES) {
        state = compress(&state, &padded.slice(start..start + BLOCK_BYTES));
    }
    let words = state.iter().map(Bytes::from_uint_be);
    words
        .reduce(|digest, word| digest.concat(&word))
        .expect("eight words")
}

/// Returns the padding: a one bit, zeros, and the length in bits, in eight bytes (section 5.1.1).
fn padding(len: usize) -> Vec<u8> {
    let zeros = (BLOCK_BYTES - (len + 1 + 8) % BLOCK_BYTES) % BLOCK_BYTES;
    let mut padding = vec![0; 1 + zeros];
    padding[0] = 0x80;
    padding.extend((8 * len as u64).to_be_bytes());
    padding
}

/// Returns the next word of the message schedule (section 6.2.2, step 1).
fn schedule_word<'b>(words: &[UInt<'b>]) -> UInt<'b> {
    let back = |by: usize| &words[words.len() - by];
    let small_sigma = |word: &UInt<'b>, [first, second, shift]: [usize; 3]| {
        word.rotate_right(first) ^ word.rotate_right(second) ^ word.shift_right(shift)
    };
    let sigma_0 = small_sigma(back(15), [7, 18, 3]);
    let sigma_1 = small_sigma(back(2), [17, 19, 10]);
    UInt::sum(&[back(16), &sigma_0, back(7), &sigma_1])
}

/// Applies one round to the working variables a to h (section 6.2.2, step 3).
fn apply_round<'b>(working: &mut [UInt<'b>], constant: u32, word: &UInt<'b>) {
    let [a, b, c, d, e, f, g, h] = &*working else {
        unreachable!("eight working variables")
    };
    let constant = UInt::constant(word.bus().builder(), 32, constant.into());
    let big_sigma = |word: &UInt<'b>, [first, second, third]: [usize; 3]| {
        word.rotate_right(first) ^ word.rotate_right(second) ^ word.rotate_right(third)
    };
    let choice = g ^ (e & (f ^ g));
    let majority = b ^ ((a ^ b) & (b ^ c));
    let sigma_1 = big_sigma(e, [6, 11, 25]);
    let t_1 = UInt::sum(&[word, &constant, h, &choice, &sigma_1]);
    let new_e = d + &t_1;
    let new_a = UInt::sum(&[&majority, &big_sigma(a, [2, 13, 22]), &t_1]);
    working.rotate_right(1);
    working[0] = new_a;
    working[4] = new_e;
}
