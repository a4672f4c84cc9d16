//! AES-128 on eight blocks in bitsliced form, in the 128-bit vectors of WebAssembly.
//!
//! A state is eight planes: plane j holds bit j of every byte of all blocks. Byte 4r + c of a plane
//! belongs to row r and column c, and bit b of it to block b, so a row is one 32-bit lane.
//! Bitslicing is [`exchange`] on the blocks (Käsper and Schwabe, "Faster and timing-attack
//! resistant AES-GCM", 2009, section 4), after their bytes are arranged row by row.
//!
//! ShiftRows is never done (Adomnicai and Peyrin, "Fixslicing AES-like ciphers", TCHES 2021): after
//! i rounds a state is i ShiftRows behind. MixColumns of such a state takes bytes from the next
//! row, m columns further, with m = i modulo 4; four ShiftRows are the identity. So a round has two
//! shuffles per plane instead of three, a round key is kept as far behind as its state, and
//! unpacking does the last two ShiftRows. The constant of the S-box is in the round keys.
//!
//! WebAssembly does not promise that the time of its instructions is the same for all operands. For
//! those used here (logic, shifts by constants, shuffles and swizzles by constants) it is, in every
//! engine that compiles them to the CPU's own.

use core::arch::wasm32::*;
use core::array;
use core::hint::black_box;
use core::ops::{BitAnd, BitXor, Not};

use super::sbox::{self, Word, exchange};

/// A plane.
#[derive(Clone, Copy)]
pub(crate) struct Plane(v128);

type Planes = [Plane; 8];

/// The round keys of eight keys, as far behind as the states to which they are added, with the
/// constant of the S-box.
pub(crate) type Schedule = [Planes; 11];

/// Eight blocks.
pub(super) type Octet = [v128; 8];

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

/// Returns a schedule to be filled.
pub(super) fn no_schedule() -> Schedule {
    [[Plane(u64x2_splat(0)); 8]; 11]
}

/// Returns a schedule with these round keys in every lane.
pub(super) fn splat_schedule(round_keys: &[v128; 11]) -> Schedule {
    let mut schedule = no_schedule();
    for (round, (kept, key)) in schedule.iter_mut().zip(round_keys).enumerate() {
        *kept = keep(pack([*key; 8]), round);
    }
    schedule
}

/// Returns the round keys of the first block.
pub(super) fn round_keys(schedule: &Schedule) -> [v128; 11] {
    array::from_fn(|round| {
        let planes = constant_in(&schedule[round], round).map(|Plane(plane)| {
            Plane(match round % 4 {
                0 => plane,
                1 => ahead::<1>(plane),
                2 => ahead::<2>(plane),
                _ => ahead::<3>(plane),
            })
        });
        unpack(planes)[0]
    })
}

/// Returns the first four blocks' keys of one schedule and the last four of another.
#[inline(always)]
pub(super) fn joined(first: &Schedule, second: &Schedule) -> Schedule {
    let of_first = u8x16_splat(0x0f);
    let mut schedule = no_schedule();
    for (round, joined) in schedule.iter_mut().enumerate() {
        for (j, joined) in joined.iter_mut().enumerate() {
            let (first, second) = (first[round][j].0, second[round][j].0);
            *joined = Plane(v128_bitselect(first, second, of_first));
        }
    }
    schedule
}

/// Moves byte 4c + r of a block to byte 4r + c of a plane, or the other way round.
#[inline(always)]
fn rows_and_columns(bytes: v128) -> v128 {
    let from = u8x16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    i8x16_swizzle(bytes, from)
}

/// Bitslices eight blocks.
#[inline(always)]
fn pack(blocks: Octet) -> Planes {
    let mut planes = blocks.map(|block| Plane(rows_and_columns(block)));
    exchange(&mut planes);
    planes
}

/// Returns the eight blocks of a state that is not behind.
#[inline(always)]
fn unpack(mut planes: Planes) -> Octet {
    exchange(&mut planes);
    planes.map(|Plane(plane)| rows_and_columns(plane))
}

/// Computes `TIMES` ShiftRows: row r rotated by r · `TIMES` columns.
#[inline(always)]
fn ahead<const TIMES: usize>(plane: v128) -> v128 {
    let from = match TIMES {
        1 => u8x16(0, 1, 2, 3, 5, 6, 7, 4, 10, 11, 8, 9, 15, 12, 13, 14),
        2 => u8x16(0, 1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 11, 14, 15, 12, 13),
        _ => u8x16(0, 1, 2, 3, 7, 4, 5, 6, 10, 11, 8, 9, 13, 14, 15, 12),
    };
    i8x16_swizzle(plane, from)
}

/// Adds the S-box constant to the true key of `round`, or removes it; leaves the ShiftRows as they
/// are.
#[inline(always)]
fn constant_in(key: &Planes, round: usize) -> Planes {
    let ones = u64x2_splat(u64::MAX);
    array::from_fn(|j| {
        if round > 0 && 0x63 >> j & 1 == 1 {
            Plane(v128_xor(key[j].0, ones))
        } else {
            key[j]
        }
    })
}

/// Converts the true key of `round` to its kept form.
#[inline(always)]
fn keep(key: Planes, round: usize) -> Planes {
    constant_in(&key, round).map(|Plane(plane)| {
        Plane(match round % 4 {
            0 => plane,
            1 => ahead::<3>(plane),
            2 => ahead::<2>(plane),
            _ => ahead::<1>(plane),
        })
    })
}

/// The sources of the bytes of a plane or a block.
struct Swizzles {
    /// In each row the bytes of the next row, m columns further, for m = 1, 2 and 3.
    next_row: [v128; 3],
    /// In each row the bytes of the next row but one, two columns further.
    second_next_row: v128,
    /// Converts columns to rows.
    rows: v128,
    /// Converts rows to columns, after two ShiftRows.
    columns: v128,
}

impl Swizzles {
    /// Returns the constants, which pass through memory once. Otherwise each use would build its
    /// constant anew, which costs an engine more than the swizzle.
    #[inline(always)]
    fn new() -> Self {
        black_box(Self {
            next_row: [
                u8x16(5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0),
                u8x16(6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1),
                u8x16(7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, 3, 0, 1, 2),
            ],
            second_next_row: u8x16(10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5),
            rows: u8x16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
            columns: u8x16(0, 6, 8, 14, 1, 7, 9, 15, 2, 4, 10, 12, 3, 5, 11, 13),
        })
    }

    /// Returns in each row the bytes of the next row, `BEHIND` columns further.
    #[inline(always)]
    fn next_row<const BEHIND: usize>(&self, Plane(plane): Plane) -> Plane {
        Plane(match BEHIND {
            0 => i32x4_shuffle::<1, 2, 3, 0>(plane, plane),
            _ => i8x16_swizzle(plane, self.next_row[BEHIND - 1]),
        })
    }

    /// Returns in each row the bytes of the next row but one, twice `BEHIND` columns further.
    #[inline(always)]
    fn second_next_row<const BEHIND: usize>(&self, Plane(plane): Plane) -> Plane {
        Plane(match BEHIND % 2 {
            0 => i32x4_shuffle::<2, 3, 0, 1>(plane, plane),
            _ => i8x16_swizzle(plane, self.second_next_row),
        })
    }
}

/// Makes a round other than the last: row r becomes 2(s_r ⊕ s_{r+1}) ⊕ s_{r+1} ⊕ s_{r+2} ⊕ s_{r+3}.
#[inline(always)]
fn round<const BEHIND: usize>(state: &mut Planes, key: &Planes, swizzles: &Swizzles) {
    sbox::sub_bytes_without_constant(state);
    let next = state.map(|plane| swizzles.next_row::<BEHIND>(plane));
    let [s0, s1, s2, s3, s4, s5, s6, s7]: Planes = array::from_fn(|j| state[j] ^ next[j]);
    let doubled = [s7, s0 ^ s7, s1, s2 ^ s7, s3 ^ s7, s4, s5, s6];
    let sums = [s0, s1, s2, s3, s4, s5, s6, s7].map(|s| swizzles.second_next_row::<BEHIND>(s));
    *state = array::from_fn(|j| doubled[j] ^ next[j] ^ sums[j] ^ key[j]);
}

/// Adds a round key.
#[inline(always)]
fn add_key(state: &mut Planes, key: &Planes) {
    for (plane, key) in state.iter_mut().zip(key) {
        *plane = *plane ^ *key;
    }
}

/// Encrypts eight blocks, each under its own key.
#[inline(never)]
pub(super) fn encrypt(schedule: &Schedule, blocks: &mut Octet) {
    let swizzles = Swizzles::new();
    let mut state = blocks.map(|block| Plane(i8x16_swizzle(block, swizzles.rows)));
    exchange(&mut state);
    add_key(&mut state, &schedule[0]);
    round::<1>(&mut state, &schedule[1], &swizzles);
    for keys in schedule[2..10].as_chunks::<4>().0 {
        round::<2>(&mut state, &keys[0], &swizzles);
        round::<3>(&mut state, &keys[1], &swizzles);
        round::<0>(&mut state, &keys[2], &swizzles);
        round::<1>(&mut state, &keys[3], &swizzles);
    }
    sbox::sub_bytes_without_constant(&mut state);
    add_key(&mut state, &schedule[10]);
    exchange(&mut state);
    *blocks = state.map(|Plane(plane)| i8x16_swizzle(plane, swizzles.columns));
}

/// Expands two times eight keys. One S-box serves both, because a round needs it only for one
/// column.
#[inline(never)]
pub(super) fn expand(keys: &[Octet; 2], schedules: &mut [Schedule; 2]) {
    let mut current = keys.map(pack);
    schedules[0][0] = current[0];
    schedules[1][0] = current[1];
    for round in 1..11 {
        // Column 3 of the first eight in column 3, and that of the others in column 2.
        let column_3 = u32x4_splat(0xff00_0000);
        let mut words: Planes = array::from_fn(|j| {
            let (first, second) = (current[0][j].0, current[1][j].0);
            Plane(v128_bitselect(first, u32x4_shr(second, 8), column_3))
        });
        sbox::sub_bytes_without_constant(&mut words);
        for (j, Plane(word)) in words.into_iter().enumerate() {
            // RotWord, in every column; the round constant is in row 0.
            let first = u8x16(7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15, 3, 3, 3, 3);
            let second = u8x16(6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14, 14, 2, 2, 2, 2);
            let constant = u32::from(sbox::ROUND_CONSTANTS[round - 1] >> j & 1).wrapping_neg();
            let of_sbox = (0x63_u32 >> j & 1).wrapping_neg();
            let constant = u32x4(constant ^ of_sbox, of_sbox, of_sbox, of_sbox);
            for (keys, from) in current.iter_mut().zip([first, second]) {
                // The sum of each column and all before it.
                let key = keys[j].0;
                let key = v128_xor(key, u32x4_shl(key, 8));
                let key = v128_xor(key, u32x4_shl(key, 16));
                let added = v128_xor(i8x16_swizzle(word, from), constant);
                keys[j] = Plane(v128_xor(key, added));
            }
        }
        for (schedule, keys) in schedules.iter_mut().zip(current) {
            schedule[round] = keep(keys, round);
        }
    }
}
