//! The transposition of squares of bytes.

use core::arch::wasm32::*;

use super::Quad;

/// Transposes the square in one lane: of sixteen rows, numbers i and i + 8 are interleaved, four
/// times. Rows are listed one by one: what a loop indexes, the compiler keeps in memory.
#[inline(always)]
pub(super) fn transpose_lane<const LANE: usize>(rows: &mut [Quad; 16]) {
    let held = [
        rows[0][LANE],
        rows[1][LANE],
        rows[2][LANE],
        rows[3][LANE],
        rows[4][LANE],
        rows[5][LANE],
        rows[6][LANE],
        rows[7][LANE],
        rows[8][LANE],
        rows[9][LANE],
        rows[10][LANE],
        rows[11][LANE],
        rows[12][LANE],
        rows[13][LANE],
        rows[14][LANE],
        rows[15][LANE],
    ];
    [
        rows[0][LANE],
        rows[1][LANE],
        rows[2][LANE],
        rows[3][LANE],
        rows[4][LANE],
        rows[5][LANE],
        rows[6][LANE],
        rows[7][LANE],
        rows[8][LANE],
        rows[9][LANE],
        rows[10][LANE],
        rows[11][LANE],
        rows[12][LANE],
        rows[13][LANE],
        rows[14][LANE],
        rows[15][LANE],
    ] = interleave(interleave(interleave(interleave(held))));
}

/// Vectors i and i + 8 byte by byte in turn, in vectors 2i and 2i + 1.
#[inline(always)]
fn interleave(v: [v128; 16]) -> [v128; 16] {
    [
        low_bytes(v[0], v[8]),
        high_bytes(v[0], v[8]),
        low_bytes(v[1], v[9]),
        high_bytes(v[1], v[9]),
        low_bytes(v[2], v[10]),
        high_bytes(v[2], v[10]),
        low_bytes(v[3], v[11]),
        high_bytes(v[3], v[11]),
        low_bytes(v[4], v[12]),
        high_bytes(v[4], v[12]),
        low_bytes(v[5], v[13]),
        high_bytes(v[5], v[13]),
        low_bytes(v[6], v[14]),
        high_bytes(v[6], v[14]),
        low_bytes(v[7], v[15]),
        high_bytes(v[7], v[15]),
    ]
}

/// The first eight bytes of two vectors in turn.
#[inline(always)]
fn low_bytes(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)
}

/// The last eight bytes of two vectors in turn.
#[inline(always)]
fn high_bytes(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
}
