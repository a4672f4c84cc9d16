//! AES-128 encryption, straight from FIPS-197.
//!
//! This is a test oracle: it looks secret bytes up in a table, and is slow.

/// The S-box, computed from its definition: inversion in GF(2^8), then an affine map.
const S_BOX: [u8; 256] = s_box();

/// Returns the product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn product(a: u8, b: u8) -> u8 {
    let (mut a, mut b, mut sum) = (a, b, 0);
    while b != 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    sum
}

const fn s_box() -> [u8; 256] {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        // x^254 is the inverse of x, and 0 for 0.
        let mut inverse = 1;
        let mut exponent = 0;
        while exponent < 254 {
            inverse = product(inverse, x as u8);
            exponent += 1;
        }
        table[x] = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4)
            ^ 0x63;
        x += 1;
    }
    table
}

/// Returns the eleven round keys of `key`.
fn round_keys(key: [u8; 16]) -> [[u8; 16]; 11] {
    let mut keys = [key; 11];
    let mut round_constant = 1;
    for round in 1..11 {
        let before = keys[round - 1];
        let mut word = [13, 14, 15, 12].map(|i: usize| S_BOX[usize::from(before[i])]);
        word[0] ^= round_constant;
        round_constant = product(round_constant, 2);
        for column in 0..4 {
            for row in 0..4 {
                word[row] ^= before[4 * column + row];
                keys[round][4 * column + row] = word[row];
            }
        }
    }
    keys
}

fn add(state: [u8; 16], key: [u8; 16]) -> [u8; 16] {
    core::array::from_fn(|i| state[i] ^ key[i])
}

/// Computes `SubBytes`, then `ShiftRows`.
fn substitute_and_shift(state: [u8; 16]) -> [u8; 16] {
    core::array::from_fn(|i| S_BOX[usize::from(state[(i + 4 * (i % 4)) % 16])])
}

fn mix_columns(state: [u8; 16]) -> [u8; 16] {
    core::array::from_fn(|i| {
        let column = i - i % 4;
        let at = |row: usize| state[column + (i + row) % 4];
        product(at(0), 2) ^ product(at(1), 3) ^ at(2) ^ at(3)
    })
}

/// Computes AES-128 of `block` under `key`, both as the numbers of their little-endian bytes.
#[must_use]
pub fn aes_128(key: u128, block: u128) -> u128 {
    let keys = round_keys(key.to_le_bytes());
    let mut state = add(block.to_le_bytes(), keys[0]);
    for key in &keys[1..10] {
        state = add(mix_columns(substitute_and_shift(state)), *key);
    }
    u128::from_le_bytes(add(substitute_and_shift(state), keys[10]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fips_197_appendices_b_and_c() {
        let cases: [[u128; 3]; 2] = [
            [
                0x2b7e151628aed2a6abf7158809cf4f3c,
                0x3243f6a8885a308d313198a2e0370734,
                0x3925841d02dc09fbdc118597196a0b32,
            ],
            [
                0x000102030405060708090a0b0c0d0e0f,
                0x00112233445566778899aabbccddeeff,
                0x69c4e0d86a7b0430d8cdb78070b4c55a,
            ],
        ];
        for case in cases {
            let [key, block, expected] = case.map(u128::swap_bytes);
            assert_eq!(aes_128(key, block), expected);
        }
    }
}
