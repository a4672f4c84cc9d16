//! Keccak, ChaCha20 and HMAC. SHA-2 comes from a library.

use sha2::{Digest, Sha256};

/// Computes Keccak-f[1600] by FIPS 202, section 3.2. Its constants are computed, not listed.
pub(crate) fn keccak_f_1600(lanes: &[u64]) -> Vec<u64> {
    let mut a = lanes.to_vec();
    let mut register = 1_u32;
    for _ in 0..24 {
        let parity: Vec<u64> = (0..5)
            .map(|x| (0..5).fold(0, |sum, y| sum ^ a[x + 5 * y]))
            .collect();
        for at in 0..25 {
            a[at] ^= parity[(at + 4) % 5] ^ parity[(at + 1) % 5].rotate_left(1);
        }
        // Applies the rotations of ρ, and π, along the path on which the standard defines both.
        let (mut x, mut y, mut moved) = (1, 0, a[1]);
        for t in 0..24 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let rotated = moved.rotate_left((t + 1) * (t + 2) / 2 % 64);
            moved = core::mem::replace(&mut a[x + 5 * y], rotated);
        }
        for row in a.chunks_mut(5) {
            let old = row.to_vec();
            (0..5).for_each(|x| row[x] = old[x] ^ (!old[(x + 1) % 5] & old[(x + 2) % 5]));
        }
        for j in 0..7 {
            if register & 1 == 1 {
                a[0] ^= 1 << ((1 << j) - 1);
            }
            register = register << 1 ^ if register >> 7 == 1 { 0x171 } else { 0 };
        }
    }
    a
}

pub(crate) fn sha3_256(message: &[u8]) -> Vec<u8> {
    let mut padded = message.to_vec();
    padded.push(6);
    padded.resize(padded.len().next_multiple_of(136), 0);
    *padded.last_mut().unwrap() |= 0x80;
    let state = padded.chunks(136).fold(vec![0; 25], |mut state, block| {
        for (lane, bytes) in block.chunks(8).enumerate() {
            state[lane] ^= u64::from_le_bytes(bytes.try_into().unwrap());
        }
        keccak_f_1600(&state)
    });
    state[..4]
        .iter()
        .flat_map(|lane| lane.to_le_bytes())
        .collect()
}

pub(crate) fn chacha20_block(key: &[u8], counter: u32, nonce: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let mut start: Vec<u32> = b"expand 32-byte k".chunks(4).map(word).collect();
    start.extend(key.chunks(4).map(word));
    start.push(counter);
    start.extend(nonce.chunks(4).map(word));
    let mut s = start.clone();
    for round in 0..20 {
        for column in 0..4 {
            let shift = if round % 2 == 0 { 0 } else { 1 };
            let at = |row: usize| 4 * row + (column + shift * row) % 4;
            let (a, b, c, d) = (at(0), at(1), at(2), at(3));
            for (x, y, z, by) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
                s[x] = s[x].wrapping_add(s[y]);
                s[z] = (s[z] ^ s[x]).rotate_left(by);
            }
        }
    }
    s.iter()
        .zip(start)
        .flat_map(|(s, start)| s.wrapping_add(start).to_le_bytes())
        .collect()
}

pub(crate) fn hmac_sha_256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut key = if key.len() > 64 {
        Sha256::digest(key).to_vec()
    } else {
        key.to_vec()
    };
    key.resize(64, 0);
    let pad = |byte: u8| key.iter().map(|key| key ^ byte).collect::<Vec<u8>>();
    let inner = Sha256::digest([pad(0x36), message.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}
