//! AES-128 on four blocks in bitsliced form.
//!
//! A state is eight planes: plane j holds bit j of all 64 bytes. The byte in row r and column c of
//! block b is at position 16r + 4c + b of its plane, so that a row is 16 neighbouring bits and a
//! column's neighbour is four bits away. ShiftRows rotates rows by nibbles, MixColumns rotates
//! planes by rows, and the key schedule moves columns by nibbles.

use super::Block;
use super::sbox::{self, Word, exchange};

/// A bitsliced state: plane j holds bit j of every byte.
type Planes = [u64; 8];

impl Word for u64 {
    #[inline(always)]
    fn repeat(word: u64) -> Self {
        word
    }

    #[inline(always)]
    fn up(self, bits: u32) -> Self {
        self << bits
    }

    #[inline(always)]
    fn down(self, bits: u32) -> Self {
        self >> bits
    }
}

/// The round keys of four keys, one per block.
pub(super) type Schedule = [Planes; 11];

/// Returns a schedule with these round keys for every block.
pub(super) fn splat_schedule(round_keys: &[Block; 11]) -> Schedule {
    round_keys.map(|key| pack([key; 4]))
}

/// Returns the round keys of block 0.
pub(super) fn round_keys(schedule: &Schedule) -> [Block; 11] {
    schedule.map(|planes| unpack(planes)[0])
}

/// Returns the bytes of `x` with a zero byte after each.
#[inline(always)]
fn spread(x: u32) -> u64 {
    let x = u64::from(x);
    let x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    (x | x << 8) & 0x00ff_00ff_00ff_00ff
}

/// Returns every second byte of `x`: the inverse of [`spread`].
#[inline(always)]
fn gather(x: u64) -> u32 {
    let x = x & 0x00ff_00ff_00ff_00ff;
    let x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) as u32
}

/// Bitslices four blocks.
///
/// Word 4(c mod 2) + b interleaves columns c and c + 2 of block b. [`exchange`] turns this order
/// into that of the planes.
#[inline(always)]
fn pack(blocks: [Block; 4]) -> Planes {
    let mut words = [0; 8];
    for (b, block) in blocks.into_iter().enumerate() {
        let value = block.to_u128();
        for c in 0..2 {
            let (even, odd) = ((value >> (32 * c)) as u32, (value >> (32 * c + 64)) as u32);
            words[4 * c + b] = spread(even) | spread(odd) << 8;
        }
    }
    exchange(&mut words);
    words
}

/// Returns the four blocks of a bitsliced state.
#[inline(always)]
fn unpack(mut words: Planes) -> [Block; 4] {
    exchange(&mut words);
    let mut blocks = [Block::ZERO; 4];
    for (b, block) in blocks.iter_mut().enumerate() {
        let mut value = 0;
        for c in 0..2 {
            let word = words[4 * c + b];
            value |= u128::from(gather(word)) << (32 * c);
            value |= u128::from(gather(word >> 8)) << (32 * c + 64);
        }
        *block = Block::from_u128(value);
    }
    blocks
}

/// Rotates row r by r columns.
#[inline(always)]
fn shift_rows(state: &mut Planes) {
    for x in state {
        *x = *x & 0x0000_0000_0000_ffff
            | *x >> 4 & 0x0000_0000_0fff_0000
            | *x << 12 & 0x0000_0000_f000_0000
            | *x >> 8 & 0x0000_00ff_0000_0000
            | *x << 8 & 0x0000_ff00_0000_0000
            | *x >> 12 & 0x000f_0000_0000_0000
            | *x << 4 & 0xfff0_0000_0000_0000;
    }
}

/// Replaces row r by 2(s_r ⊕ s_{r+1}) ⊕ s_{r+1} ⊕ s_{r+2} ⊕ s_{r+3}.
#[inline(always)]
fn mix_columns(state: &mut Planes) {
    let next = state.map(|x| x.rotate_right(16));
    let mut sums = *state;
    for (sum, next) in sums.iter_mut().zip(next) {
        *sum ^= next;
    }
    for j in 0..8 {
        let doubled = match j {
            0 => sums[7],
            1 | 3 | 4 => sums[j - 1] ^ sums[7],
            _ => sums[j - 1],
        };
        state[j] = doubled ^ next[j] ^ sums[j].rotate_right(32);
    }
}

/// Adds a round key.
#[inline(always)]
fn add_key(state: &mut Planes, key: &Planes) {
    for (x, k) in state.iter_mut().zip(key) {
        *x ^= k;
    }
}

/// Expands four keys.
pub(super) fn expand(keys: [Block; 4]) -> Schedule {
    let mut schedule = [[0; 8]; 11];
    schedule[0] = pack(keys);
    for round in 0..10 {
        let mut word = schedule[round];
        sbox::sub_bytes(&mut word);
        for (j, bit) in word.iter_mut().enumerate() {
            // RotWord of column 3, in column 0; the round constant is in its row 0.
            *bit = bit.rotate_right(16) >> 12 & 0x000f_000f_000f_000f;
            *bit ^= u64::from(sbox::ROUND_CONSTANTS[round] >> j & 1) * 0xf;
            let key = schedule[round][j] ^ *bit;
            let key = key ^ key << 4 & 0xfff0_fff0_fff0_fff0;
            schedule[round + 1][j] = key ^ key << 8 & 0xff00_ff00_ff00_ff00;
        }
    }
    schedule
}

/// Computes AES-128 of four blocks, each lane under its own key.
pub(super) fn encrypt(schedule: &Schedule, blocks: [Block; 4]) -> [Block; 4] {
    let mut state = pack(blocks);
    add_key(&mut state, &schedule[0]);
    for key in &schedule[1..10] {
        sbox::sub_bytes(&mut state);
        shift_rows(&mut state);
        mix_columns(&mut state);
        add_key(&mut state, key);
    }
    sbox::sub_bytes(&mut state);
    shift_rows(&mut state);
    add_key(&mut state, &schedule[10]);
    unpack(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_puts_each_byte_where_the_layout_says() {
        for b in 0..4 {
            for byte in 0..16 {
                let mut bytes = [[0; 16]; 4];
                bytes[b][byte] = 0b1010_0101;
                let blocks = bytes.map(Block::from_bytes);
                let planes = pack(blocks);
                let bit = 1_u64 << (16 * (byte % 4) + 4 * (byte / 4) + b);
                for (j, plane) in planes.into_iter().enumerate() {
                    let expected = if 0b1010_0101 >> j & 1 == 1 { bit } else { 0 };
                    assert_eq!(plane, expected, "block {b}, byte {byte}, plane {j}");
                }
                assert_eq!(unpack(planes), blocks);
            }
        }
    }
}
