//! AES with all key lengths (FIPS 197), with separate key expansion and rounds, and CBC.
//!
//! A round here starts with its round key: it adds the key, and then applies SubBytes, ShiftRows
//! and MixColumns. The last round has no MixColumns, and also adds the last round key. So AES-128
//! consists of nine rounds and a last one, ten consecutive components with nothing in between. The
//! experiments on prepared components cut AES in this way.
//!
//! Cost in AND gates, at 32 an S-box:
//!
//! | | key expansion | rounds | together |
//! |---|---|---|---|
//! | AES-128 | 1280 | 10 · 512 | 6400 |
//! | AES-192 | 1024 | 12 · 512 | 7168 |
//! | AES-256 | 1664 | 14 · 512 | 8832 |

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Builder, Bytes, UInt};

use super::aes::{double_constant, mix_column, s_box, shift_rows};

/// Returns the round keys of a key of 16, 24 or 32 bytes: 11, 13 or 15 keys of 16 bytes.
fn aes_expand_key<'b>(key: &Bytes<'b>) -> Array<Bytes<'b>> {
    assert!(
        matches!(key.len(), 16 | 24 | 32),
        "an AES key of {} bytes",
        key.len()
    );
    let builder = key.bus().builder();
    let key_words = key.len() / 4;
    let mut words: Vec<Vec<UInt<'b>>> = (0..key_words)
        .map(|word| key.slice(4 * word..4 * word + 4).bytes().collect())
        .collect();
    let mut round_constant = 1_u8;
    for index in key_words..4 * (key_words + 7) {
        let mut word = words[index - 1].clone();
        if index % key_words == 0 {
            word.rotate_left(1);
            word = word.iter().map(s_box).collect();
            word[0] = &word[0] ^ UInt::constant(builder, 8, round_constant.into());
            round_constant = double_constant(round_constant);
        } else if key_words == 8 && index % 8 == 4 {
            word = word.iter().map(s_box).collect();
        }
        let before = &words[index - key_words];
        words.push(
            before
                .iter()
                .zip(&word)
                .map(|(before, byte)| before ^ byte)
                .collect(),
        );
    }
    let round_keys = words
        .chunks(4)
        .map(|words| Bytes::from_bytes(builder, words.iter().flatten()));
    Array::new(round_keys.collect())
}

/// Encrypts a block of 16 bytes with AES, under the round keys of [`aes_expand_key`].
fn aes_with_round_keys<'b>(round_keys: &Array<Bytes<'b>>, block: &Bytes<'b>) -> Bytes<'b> {
    let rounds = round_keys.len() - 1;
    assert!(rounds >= 2, "round keys of AES");
    let state = (0..rounds - 1).fold(block.clone(), |state, round| {
        aes_round(&state, &round_keys[round])
    });
    aes_last_round(&state, &round_keys[rounds - 1], &round_keys[rounds])
}

/// Applies a round: adds the round key to the state, then SubBytes, ShiftRows and MixColumns.
fn aes_round<'b>(state: &Bytes<'b>, round_key: &Bytes<'b>) -> Bytes<'b> {
    let state = substitute_and_shift(state, round_key);
    let mixed: Vec<UInt<'b>> = state.chunks(4).flat_map(mix_column).collect();
    Bytes::from_bytes(round_key.bus().builder(), &mixed)
}

/// Applies the last round: adds its round key, then SubBytes, ShiftRows, and adds the last round
/// key.
fn aes_last_round<'b>(
    state: &Bytes<'b>,
    round_key: &Bytes<'b>,
    last_round_key: &Bytes<'b>,
) -> Bytes<'b> {
    let state = substitute_and_shift(state, round_key);
    Bytes::from_bytes(round_key.bus().builder(), &state) ^ last_round_key
}

/// Encrypts a block of 16 bytes with AES, under a key of 16, 24 or 32 bytes.
fn aes<'b>(key: &Bytes<'b>, block: &Bytes<'b>) -> Bytes<'b> {
    aes_with_round_keys(&aes_expand_key(key), block)
}

/// Encrypts with cipher block chaining (NIST SP 800-38A, section 6.2): adds each block to the
/// previous ciphertext, the first one to `initialization_vector`, and encrypts the sum.
fn aes_cbc<'b>(
    key: &Bytes<'b>,
    initialization_vector: &Bytes<'b>,
    blocks: &Array<Bytes<'b>>,
) -> Array<Bytes<'b>> {
    let round_keys = aes_expand_key(key);
    let mut before = initialization_vector.clone();
    let ciphertexts = blocks.iter().map(|block| {
        before = aes_with_round_keys(&round_keys, &(block ^ &before));
        before.clone()
    });
    Array::new(ciphertexts.collect())
}

fn substitute_and_shift<'b>(state: &Bytes<'b>, round_key: &Bytes<'b>) -> Vec<UInt<'b>> {
    assert_eq!(
        (state.len(), round_key.len()),
        (16, 16),
        "bytes of a state and its round key"
    );
    let substituted: Vec<UInt<'b>> = (state ^ round_key)
        .bytes()
        .map(|byte| s_box(&byte))
        .collect();
    shift_rows(&substituted)
}

/// Builds the encryption with a key of `key_bytes`.
pub(super) fn circuit(builder: &Builder, key_bytes: usize) {
    let (key, block) = (builder.bytes("key", key_bytes), builder.bytes("block", 16));
    builder.output("ciphertext", &aes(&key, &block));
}

/// Builds the key expansion of AES for keys of `key_bytes`.
pub(super) fn circuit_of_key_expansion(builder: &Builder, key_bytes: usize) {
    let key = builder.bytes("key", key_bytes);
    builder.output("round_keys", &aes_expand_key(&key));
}

/// Builds AES-128 under an expanded key.
pub(super) fn circuit_with_round_keys(builder: &Builder) {
    let round_keys: Array<Bytes<'_>> = builder.input("round_keys", Type::bytes(16).array(11));
    let block = builder.bytes("block", 16);
    builder.output("ciphertext", &aes_with_round_keys(&round_keys, &block));
}

pub(super) fn circuit_of_round(builder: &Builder) {
    let (state, key) = (builder.bytes("state", 16), builder.bytes("round_key", 16));
    builder.output("next_state", &aes_round(&state, &key));
}

pub(super) fn circuit_of_last_round(builder: &Builder) {
    let (state, key) = (builder.bytes("state", 16), builder.bytes("round_key", 16));
    let last_key = builder.bytes("last_round_key", 16);
    builder.output("ciphertext", &aes_last_round(&state, &key, &last_key));
}

/// Builds the XOR of two byte strings, by which CBC adds a block to the previous ciphertext.
pub(super) fn circuit_of_xor(builder: &Builder, bytes: usize) {
    let (a, b) = (builder.bytes("a", bytes), builder.bytes("b", bytes));
    builder.output("sum", &(a ^ b));
}

pub(super) fn circuit_of_cbc(builder: &Builder, blocks: usize) {
    let key = builder.bytes("key", 16);
    let initialization_vector = builder.bytes("initialization_vector", 16);
    let blocks: Array<Bytes<'_>> = builder.input("blocks", Type::bytes(16).array(blocks));
    builder.output(
        "ciphertexts",
        &aes_cbc(&key, &initialization_vector, &blocks),
    );
}
