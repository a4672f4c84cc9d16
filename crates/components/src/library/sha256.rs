//! SHA-256 (FIPS 180-4).
//!
//! Cost of one compression with unknown state and block: 22271 AND gates. The circuit in common use
//! in the field has 22573.

use tacit_circuit::builder::{Array, Bytes, CircuitForm, UInt};
use tacit_circuit::{Circuit, CircuitError, Type};

use super::build;
use super::sha2::{Variant, compress, hash};

const SHA_256: Variant = Variant {
    word_bits: 32,
    initial_state: INITIAL_STATE,
    round_constants: &ROUND_CONSTANTS,
    big_sigma_0: [2, 13, 22],
    big_sigma_1: [6, 11, 25],
    small_sigma_0: [7, 18, 3],
    small_sigma_1: [17, 19, 10],
};

/// The first 32 bits of the fractional parts of the square roots of the first 8 primes
/// (FIPS 180-4, section 5.3.3).
const INITIAL_STATE: [u64; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes
/// (FIPS 180-4, section 4.2.2).
const ROUND_CONSTANTS: [u64; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Applies the compression function: returns the state after a block of 64 bytes.
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

pub(super) fn circuit(form: CircuitForm, bytes: usize) -> Result<Circuit, CircuitError> {
    build(form, |builder| {
        let message = builder.bytes("message", bytes);
        builder.output("digest", &sha_256(&message));
    })
}

pub(super) fn circuit_of_compression(form: CircuitForm) -> Result<Circuit, CircuitError> {
    build(form, |builder| {
        let state: Array<UInt<'_>> = builder.input("state", Type::unsigned(32).array(8));
        let block = builder.bytes("block", 64);
        let words: Vec<UInt<'_>> = state.iter().cloned().collect();
        builder.output("next_state", &Array::new(sha_256_compress(&words, &block)));
    })
}
