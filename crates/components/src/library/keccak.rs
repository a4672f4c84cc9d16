//! `Keccak-f[1600]` and SHA3-256 (FIPS 202).
//!
//! A lane is a word of 64 bits, and lane (x, y) is at index x + 5y of the state. Its bytes are
//! already in the library's order, the least significant first (FIPS 202, appendix B.1).
//!
//! Cost: χ takes one AND gate per bit, which is 1600 per round and 38400 in total. Everything else
//! is linear.

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Builder, Bytes, UInt};

/// The constants that ι adds to lane 0 in each round (FIPS 202, section 3.2.5).
const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// The distance by which ρ rotates each lane (FIPS 202, table 2, modulo 64).
#[rustfmt::skip]
const ROTATIONS: [usize; 25] = [
    0, 1, 62, 28, 27,
    36, 44, 6, 55, 20,
    3, 10, 43, 25, 39,
    41, 45, 15, 21, 8,
    18, 2, 61, 56, 14,
];

/// The bytes of a block of SHA3-256: 200 minus twice the digest's 32.
const RATE: usize = 136;

/// Applies the permutation `Keccak-f[1600]`.
fn keccak_f_1600<'b>(state: &[UInt<'b>]) -> Vec<UInt<'b>> {
    assert_eq!(state.len(), 25, "lanes of the state");
    ROUND_CONSTANTS
        .iter()
        .fold(state.to_vec(), |state, &constant| {
            apply_round(&state, constant)
        })
}

/// Computes SHA3-256 of a message of any fixed length, including the padding.
fn sha3_256<'b>(message: &Bytes<'b>) -> Bytes<'b> {
    let builder = message.bus().builder();
    let padded = message.concat(&Bytes::constant(builder, &padding(message.len())));
    let mut state = vec![UInt::constant(builder, 64, 0); 25];
    for start in (0..padded.len()).step_by(RATE) {
        for (lane, at) in (start..start + RATE).step_by(8).enumerate() {
            state[lane] = &state[lane] ^ UInt::new(padded.slice(at..at + 8).bus().clone());
        }
        state = keccak_f_1600(&state);
    }
    let lanes = state[..4].iter().map(|lane| Bytes::new(lane.bus().clone()));
    lanes
        .reduce(|digest, lane| digest.concat(&lane))
        .expect("four lanes")
}

/// Returns the suffix 01 and the padding 10*1 (FIPS 202, section 6.1 and appendix B.2).
fn padding(len: usize) -> Vec<u8> {
    let mut padding = vec![0; RATE - len % RATE];
    padding[0] = 0x06;
    *padding.last_mut().expect("at least one byte") |= 0x80;
    padding
}

/// Applies ι ∘ χ ∘ π ∘ ρ ∘ θ (FIPS 202, section 3.2).
fn apply_round<'b>(state: &[UInt<'b>], constant: u64) -> Vec<UInt<'b>> {
    let parity = |x: usize| {
        let column = (1..5).map(|y| &state[x + 5 * y]);
        column.fold(state[x].clone(), |sum, lane| sum ^ lane)
    };
    let parities: Vec<UInt<'b>> = (0..5).map(parity).collect();
    let theta = |x: usize| &parities[(x + 4) % 5] ^ parities[(x + 1) % 5].rotate_left(1);
    let effects: Vec<UInt<'b>> = (0..5).map(theta).collect();
    let mut moved = state.to_vec();
    for (x, y) in (0..5).flat_map(|y| (0..5).map(move |x| (x, y))) {
        let lane = &state[x + 5 * y] ^ &effects[x];
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = lane.rotate_left(ROTATIONS[x + 5 * y]);
    }
    let chi = |index: usize| {
        let (x, row) = (index % 5, index - index % 5);
        &moved[index] ^ (!&moved[row + (x + 1) % 5] & &moved[row + (x + 2) % 5])
    };
    let mut next: Vec<UInt<'b>> = (0..25).map(chi).collect();
    next[0] = &next[0] ^ UInt::constant(next[0].bus().builder(), 64, constant.into());
    next
}

pub(super) fn circuit_of_permutation(builder: &Builder) {
    let state: Array<UInt<'_>> = builder.input("state", Type::unsigned(64).array(25));
    let lanes: Vec<UInt<'_>> = state.iter().cloned().collect();
    builder.output("next_state", &Array::new(keccak_f_1600(&lanes)));
}

pub(super) fn circuit_of_sha3_256(builder: &Builder, bytes: usize) {
    let message = builder.bytes("message", bytes);
    builder.output("digest", &sha3_256(&message));
}
