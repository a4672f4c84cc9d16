//! AES-128 on eight blocks in bitsliced form, in the 128-bit vectors of WebAssembly.
//!
//! A state is eight planes: byte i of plane j holds bit j of byte i of all blocks, and block b has
//! bit b of it (Käsper and Schwabe, "Faster and timing-attack resistant AES-GCM", 2009, section 4).
//! So ShiftRows and the rotations of MixColumns are one shuffle of bytes a plane, and bitslicing is
//! [`exchange`] on the blocks themselves.
//!
//! WebAssembly does not promise that its instructions take the same time for all operands. Those
//! used here (logic, shifts by constants, shuffles by constants) do in every engine that compiles
//! them to the CPU's own.

use core::arch::wasm32::*;
use core::array;
use core::ops::{BitAnd, BitXor, Not};

use super::sbox::{self, Word, exchange};
use super::{Block, Cipher};

/// A plane.
#[derive(Clone, Copy)]
pub(crate) struct Plane(v128);

type Planes = [Plane; 8];

impl BitXor for Plane {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }
}

impl BitAnd for Plane {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(v128_and(self.0, other.0))
    }
}

impl Not for Plane {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(v128_not(self.0))
    }
}

impl Word for Plane {
    #[inline(always)]
    fn repeat(word: u64) -> Self {
        Self(u64x2_splat(word))
    }

    #[inline(always)]
    fn up(self, bits: u32) -> Self {
        Self(u64x2_shl(self.0, bits))
    }

    #[inline(always)]
    fn down(self, bits: u32) -> Self {
        Self(u64x2_shr(self.0, bits))
    }
}

/// AES-128 on eight blocks at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vectors;

impl Cipher for Vectors {
    /// Bits 0 to 3 of each byte are of the four lanes, and bits 4 to 7 of the same again.
    type Schedule = [Planes; 11];

    fn expand(keys: [Block; 4]) -> [Planes; 11] {
        expand([keys; 2])
    }

    fn splat_schedule(round_keys: &[Block; 11]) -> [Planes; 11] {
        round_keys.map(|key| pack([[key; 4]; 2]))
    }

    fn round_keys(schedule: &[Planes; 11]) -> [Block; 11] {
        schedule.map(|planes| unpack(planes)[0][0])
    }

    /// Two vectors under one schedule go together, and where one is left, with that of the next.
    #[inline]
    fn encrypt<const N: usize, const M: usize>(
        schedules: [&[Planes; 11]; N],
        mut blocks: [[[Block; 4]; M]; N],
    ) -> [[[Block; 4]; M]; N] {
        for (schedule, vectors) in schedules.into_iter().zip(&mut blocks) {
            for pair in vectors.as_chunks_mut::<2>().0 {
                *pair = encrypt(schedule, *pair);
            }
        }
        if M % 2 == 1 {
            for first in (0..N).step_by(2) {
                let second = (first + 1).min(N - 1);
                let schedule = joined(schedules[first], schedules[second]);
                let pair = [blocks[first][M - 1], blocks[second][M - 1]];
                let pair = encrypt(&schedule, pair);
                blocks[first][M - 1] = pair[0];
                blocks[second][M - 1] = pair[1];
            }
        }
        blocks
    }

    /// Eight keys are expanded at once.
    #[inline]
    fn encrypt_rekeyed<const N: usize, const M: usize>(
        keys: [[Block; 4]; N],
        mut blocks: [[[Block; 4]; M]; N],
    ) -> [[[Block; 4]; M]; N] {
        for first in (0..N).step_by(2) {
            let second = (first + 1).min(N - 1);
            let schedule = expand([keys[first], keys[second]]);
            for m in 0..M {
                let pair = encrypt(&schedule, [blocks[first][m], blocks[second][m]]);
                blocks[first][m] = pair[0];
                blocks[second][m] = pair[1];
            }
        }
        blocks
    }
}

/// The first four lanes of one schedule and the last four of another.
#[inline(always)]
fn joined(first: &[Planes; 11], second: &[Planes; 11]) -> [Planes; 11] {
    let of_first = u8x16_splat(0x0f);
    array::from_fn(|round| {
        array::from_fn(|j| {
            let (first, second) = (first[round][j].0, second[round][j].0);
            Plane(v128_bitselect(first, second, of_first))
        })
    })
}

/// Bitslices eight blocks.
#[inline(always)]
fn pack(blocks: [[Block; 4]; 2]) -> Planes {
    let mut planes = array::from_fn(|b| {
        let value = blocks[b / 4][b % 4].to_u128();
        Plane(u64x2(value as u64, (value >> 64) as u64))
    });
    exchange(&mut planes);
    planes
}

/// The eight blocks of a bitsliced state.
#[inline(always)]
fn unpack(mut planes: Planes) -> [[Block; 4]; 2] {
    exchange(&mut planes);
    let block = |b: usize| {
        let low = u64x2_extract_lane::<0>(planes[b].0);
        let high = u64x2_extract_lane::<1>(planes[b].0);
        Block::from_u128(u128::from(low) | u128::from(high) << 64)
    };
    array::from_fn(|half| array::from_fn(|lane| block(4 * half + lane)))
}

/// Row r rotated by r columns.
#[inline(always)]
fn shift_rows(state: &mut Planes) {
    for plane in state {
        plane.0 =
            i8x16_shuffle::<0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11>(plane.0, plane.0);
    }
}

/// In each row what is in the next.
#[inline(always)]
fn next_row(plane: Plane) -> Plane {
    Plane(i8x16_shuffle::<
        1,
        2,
        3,
        0,
        5,
        6,
        7,
        4,
        9,
        10,
        11,
        8,
        13,
        14,
        15,
        12,
    >(plane.0, plane.0))
}

/// In each row what is in the next but one.
#[inline(always)]
fn second_next_row(plane: Plane) -> Plane {
    Plane(i8x16_shuffle::<
        2,
        3,
        0,
        1,
        6,
        7,
        4,
        5,
        10,
        11,
        8,
        9,
        14,
        15,
        12,
        13,
    >(plane.0, plane.0))
}

/// Row r becomes 2(s_r ⊕ s_{r+1}) ⊕ s_{r+1} ⊕ s_{r+2} ⊕ s_{r+3}.
#[inline(always)]
fn mix_columns(state: &mut Planes) {
    let next = state.map(next_row);
    let sums: Planes = array::from_fn(|j| state[j] ^ next[j]);
    for j in 0..8 {
        let doubled = match j {
            0 => sums[7],
            1 | 3 | 4 => sums[j - 1] ^ sums[7],
            _ => sums[j - 1],
        };
        state[j] = doubled ^ next[j] ^ second_next_row(sums[j]);
    }
}

/// Adds a round key.
#[inline(always)]
fn add_key(state: &mut Planes, key: &Planes) {
    for (plane, key) in state.iter_mut().zip(key) {
        *plane = *plane ^ *key;
    }
}

/// Expands eight keys.
fn expand(keys: [[Block; 4]; 2]) -> [Planes; 11] {
    let mut schedule = [[Plane(u64x2_splat(0)); 8]; 11];
    schedule[0] = pack(keys);
    for round in 0..10 {
        let mut words = schedule[round];
        sbox::sub_bytes(&mut words);
        for (j, word) in words.into_iter().enumerate() {
            // RotWord of column 3, in every column; the round constant is in row 0.
            let rotated =
                i8x16_shuffle::<13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12>(
                    word.0, word.0,
                );
            let constant = u32::from(sbox::ROUND_CONSTANTS[round] >> j & 1) * 0xff;
            let added = v128_xor(rotated, u32x4_splat(constant));
            // Each column and all before it.
            let zero = u64x2_splat(0);
            let key = schedule[round][j].0;
            let key = v128_xor(key, i32x4_shuffle::<4, 0, 1, 2>(key, zero));
            let key = v128_xor(key, i32x4_shuffle::<4, 4, 0, 1>(key, zero));
            schedule[round + 1][j] = Plane(v128_xor(key, added));
        }
    }
    schedule
}

/// AES-128 of eight blocks, each under its own key.
fn encrypt(schedule: &[Planes; 11], blocks: [[Block; 4]; 2]) -> [[Block; 4]; 2] {
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
