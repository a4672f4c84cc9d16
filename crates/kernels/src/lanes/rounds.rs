//! The rounds of AES-128 and its key schedule, for several keys at once.
//!
//! The key schedule takes SubWord from the instruction for the last round; a byte shuffle undoes
//! that instruction's ShiftRows beforehand. Four vectors of keys are expanded as four vectors of
//! their words: one vector holds column i of four keys, so that one such instruction serves four
//! keys and the columns' sums need no shifts. Each round key is transposed back for use. That is 17
//! instructions per round for four vectors of keys on x86-64, where one key at a time takes 28. The
//! next SubWord always comes before the transposition, whose shuffles would otherwise take the
//! ports that the only long chain of dependent instructions waits for: a round of four vectors on
//! Zen 3 is 8 cycles instead of 11.

use core::mem::MaybeUninit;

use super::Lanes;
use crate::Block;

/// The round constants of the key schedule (FIPS 197, section 5.2), in all four columns.
const ROUND_CONSTANTS: [Block; 10] = {
    let bytes = [
        0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36_u128,
    ];
    let mut blocks = [Block::ZERO; 10];
    let mut i = 0;
    while i < 10 {
        blocks[i] = Block::from_u128(bytes[i] * (1 | 1 << 32 | 1 << 64 | 1 << 96));
        i += 1;
    }
    blocks
};

/// Returns the round key after `key`.
#[inline(always)]
pub(super) fn next_key<L: Lanes>(lanes: L, key: L::Vector, round: usize) -> L::Vector {
    let rotated = lanes.rotated_last_word(key);
    let sums = lanes.xor(key, lanes.up_one_column(key));
    let sums = lanes.xor(sums, lanes.up_two_columns(sums));
    let sums = lanes.xor(sums, lanes.splat(ROUND_CONSTANTS[round]));
    lanes.substituted(rotated, sums)
}

/// Transposes the columns of four vectors, lane by lane: keys to words and back.
#[inline(always)]
pub(super) fn transpose_columns<L: Lanes>(lanes: L, x: [L::Vector; 4]) -> [L::Vector; 4] {
    let [a, b, c, d] = x;
    let ab_low = lanes.interleave_low_columns(a, b);
    let ab_high = lanes.interleave_high_columns(a, b);
    let cd_low = lanes.interleave_low_columns(c, d);
    let cd_high = lanes.interleave_high_columns(c, d);
    [
        lanes.low_halves(ab_low, cd_low),
        lanes.high_halves(ab_low, cd_low),
        lanes.low_halves(ab_high, cd_high),
        lanes.high_halves(ab_high, cd_high),
    ]
}

/// Computes SubWord of the last words' rotation, and adds the round constant: the next round key
/// waits for this.
#[inline(always)]
pub(super) fn substituted<L: Lanes>(lanes: L, words: [L::Vector; 4], round: usize) -> L::Vector {
    let constant = lanes.splat(ROUND_CONSTANTS[round]);
    lanes.substituted(lanes.rotated_words(words[3]), constant)
}

/// Returns the words of the round keys after those with these words. The sums do not wait for
/// SubWord, so a round's latency is a shuffle, SubWord and a XOR.
#[inline(always)]
pub(super) fn next_words<L: Lanes>(
    lanes: L,
    words: [L::Vector; 4],
    substituted: L::Vector,
) -> [L::Vector; 4] {
    let [w0, w1, w2, w3] = words;
    let w01 = lanes.xor(w0, w1);
    let w012 = lanes.xor(w01, w2);
    let w0123 = lanes.xor(w012, w3);
    [
        lanes.xor(w0, substituted),
        lanes.xor(w01, substituted),
        lanes.xor(w012, substituted),
        lanes.xor(w0123, substituted),
    ]
}

/// Computes AES under four vectors of keys, with each round behind the one of the key schedule, so
/// that no instruction waits for the one just before it.
#[inline(always)]
pub(super) fn encrypt_behind<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    begin(lanes, keys, blocks);
    let mut before = *keys;
    let words = transpose_columns(lanes, *keys);
    let mut words = next_words(lanes, words, substituted(lanes, words, 0));
    let next = substituted(lanes, words, 1);
    let mut keys = transpose_columns(lanes, words);
    words = next_words(lanes, words, next);
    for number in 2..core::hint::black_box(10).min(10) {
        let next = substituted(lanes, words, number);
        round(lanes, &before, &keys, blocks);
        before = keys;
        keys = transpose_columns(lanes, words);
        words = next_words(lanes, words, next);
    }
    round(lanes, &before, &keys, blocks);
    last_round(lanes, &keys, &transpose_columns(lanes, words), blocks);
}

/// Computes AES under two fours of vectors of keys, after all are expanded: the words of the keys
/// or the states fit into sixteen registers, but not both.
#[inline(always)]
pub(super) fn encrypt_after<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[[L::Vector; 4]; 2],
    blocks: &mut [[[L::Vector; M]; 4]; 2],
) {
    let mut words = *keys;
    for words in &mut words {
        *words = transpose_columns(lanes, *words);
        *words = next_words(lanes, *words, substituted(lanes, *words, 0));
    }
    let mut round_keys = [const { MaybeUninit::<[[L::Vector; 4]; 2]>::uninit() }; 9];
    // As in `encrypt`, the compiler must not know the number of rounds.
    let rounds = core::hint::black_box(9).min(9);
    for (number, round_keys) in round_keys[..rounds].iter_mut().enumerate() {
        // SubWord comes first: the rest of the round fills its latency.
        let mut next = [words[0][0]; 2];
        for (next, words) in next.iter_mut().zip(&words) {
            *next = substituted(lanes, *words, number + 1);
        }
        let mut keys = words;
        for ((keys, words), next) in keys.iter_mut().zip(&mut words).zip(next) {
            *keys = transpose_columns(lanes, *words);
            *words = next_words(lanes, *words, next);
        }
        round_keys.write(keys);
    }
    for (keys, blocks) in keys.iter().zip(&mut *blocks) {
        begin(lanes, keys, blocks);
    }
    let mut before = keys;
    for round_keys in &round_keys[..rounds] {
        // SAFETY: the loop above wrote the first `rounds` of them.
        let round_keys = unsafe { round_keys.assume_init_ref() };
        for ((before, keys), blocks) in before.iter().zip(round_keys).zip(&mut *blocks) {
            round(lanes, before, keys, blocks);
        }
        before = round_keys;
    }
    for ((before, words), blocks) in before.iter().zip(words).zip(blocks) {
        last_round(lanes, before, &transpose_columns(lanes, words), blocks);
    }
}

/// Computes the states before the first round.
#[inline(always)]
fn begin<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    for (states, key) in blocks.iter_mut().zip(keys) {
        for state in states {
            *state = lanes.begin(*state, *key);
        }
    }
}

/// Makes a round of AES.
#[inline(always)]
fn round<L: Lanes, const M: usize>(
    lanes: L,
    before: &[L::Vector; 4],
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    for ((states, before), key) in blocks.iter_mut().zip(before).zip(keys) {
        for state in states {
            *state = lanes.round(*state, *before, *key);
        }
    }
}

/// Makes the last round of AES.
#[inline(always)]
fn last_round<L: Lanes, const M: usize>(
    lanes: L,
    before: &[L::Vector; 4],
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    for ((states, before), key) in blocks.iter_mut().zip(before).zip(keys) {
        for state in states {
            *state = lanes.last_round(*state, *before, *key);
        }
    }
}
