//! The common parts of SHA-256 and SHA-512 (FIPS 180-4).
//!
//! Deviations from a literal translation of the standard, all of which save AND gates. Ch and Maj
//! take one AND gate per bit: Ch(e, f, g) = g ⊕ (e ∧ (f ⊕ g)) and Maj(a, b, c) = b ⊕ ((a ⊕ b) ∧ (b
//! ⊕ c)), where b ⊕ c is the a ⊕ b of the previous round. The five terms of T1, and the terms of
//! the message schedule, are added in carry-save form ([`UInt::sum`]).

use tacit_circuit::builder::{Bytes, UInt};

/// One hash function of the family. Rotations are those of section 4.1, in the order of the
/// standard. The last one of a small sigma is a shift.
pub(super) struct Variant {
    pub(super) word_bits: usize,
    pub(super) initial_state: [u64; 8],
    pub(super) round_constants: &'static [u64],
    pub(super) big_sigma_0: [usize; 3],
    pub(super) big_sigma_1: [usize; 3],
    pub(super) small_sigma_0: [usize; 3],
    pub(super) small_sigma_1: [usize; 3],
}

impl Variant {
    fn block_bytes(&self) -> usize {
        2 * self.word_bits
    }
}

/// Applies the compression function: returns the state after a block of 16 words.
pub(super) fn compress<'b>(
    variant: &Variant,
    state: &[UInt<'b>],
    block: &Bytes<'b>,
) -> Vec<UInt<'b>> {
    assert_eq!(state.len(), 8, "words of the state");
    assert_eq!(block.len(), variant.block_bytes(), "bytes of the block");
    let bytes = variant.word_bits / 8;
    let mut schedule: Vec<UInt<'b>> = (0..16)
        .map(|word| block.slice(bytes * word..bytes * (word + 1)).to_uint_be())
        .collect();
    let mut working = state.to_vec();
    for (round, &constant) in variant.round_constants.iter().enumerate() {
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
pub(super) fn hash<'b>(variant: &Variant, message: &Bytes<'b>) -> Bytes<'b> {
    let builder = message.bus().builder();
    let block_bytes = variant.block_bytes();
    let padding = Bytes::constant(builder, &padding(message.len(), block_bytes));
    let padded = message.concat(&padding);
    let constant = |&word: &u64| UInt::constant(builder, variant.word_bits, word.into());
    let mut state: Vec<UInt<'b>> = variant.initial_state.iter().map(constant).collect();
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
    let constant = UInt::constant(word.bus().builder(), variant.word_bits, constant.into());
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
