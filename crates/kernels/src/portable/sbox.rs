//! The AES S-box on bit planes, as a Boolean circuit of 32 AND and 83 XOR gates.
//!
//! J. Boyar and R. Peralta, "A new combinational logic minimization technique with applications
//! to cryptology" (SEA 2010), figures 2 to 4; the variables keep the paper's names. The paper's
//! bit 0 is the most significant.

use core::ops::{BitAnd, BitXor, Not};

/// The bits on which the circuit works at once. It operates on whole words and takes any value.
pub(super) trait Word:
    Copy + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self>
{
    /// Returns these 64 bits, repeated.
    fn repeat(word: u64) -> Self;

    /// Shifts each 64 bits towards their bit 63.
    fn up(self, bits: u32) -> Self;

    /// Shifts each 64 bits towards their bit 0.
    fn down(self, bits: u32) -> Self;
}

/// The round constants of the key schedule (FIPS 197, section 5.2).
pub(super) const ROUND_CONSTANTS: [u8; 10] =
    [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Exchanges the bits of `b` under `mask` with those of `a` that are `bits` higher.
#[inline(always)]
fn exchange_two<W: Word>(words: &mut [W; 8], [a, b]: [usize; 2], bits: u32, mask: u64) {
    let t = (words[a].down(bits) ^ words[b]) & W::repeat(mask);
    words[b] = words[b] ^ t;
    words[a] = words[a] ^ t.up(bits);
}

/// Transposes bits between the words' indices and the bits' indices within bytes. An involution.
///
/// The pairs are listed one by one, because the compiler keeps arrays that a loop indexes in
/// memory.
#[inline(always)]
pub(super) fn exchange<W: Word>(words: &mut [W; 8]) {
    let mask = 0x5555_5555_5555_5555;
    exchange_two(words, [0, 1], 1, mask);
    exchange_two(words, [2, 3], 1, mask);
    exchange_two(words, [4, 5], 1, mask);
    exchange_two(words, [6, 7], 1, mask);
    let mask = 0x3333_3333_3333_3333;
    exchange_two(words, [0, 2], 2, mask);
    exchange_two(words, [1, 3], 2, mask);
    exchange_two(words, [4, 6], 2, mask);
    exchange_two(words, [5, 7], 2, mask);
    let mask = 0x0f0f_0f0f_0f0f_0f0f;
    exchange_two(words, [0, 4], 4, mask);
    exchange_two(words, [1, 5], 4, mask);
    exchange_two(words, [2, 6], 4, mask);
    exchange_two(words, [3, 7], 4, mask);
}

/// The output of the top linear layer: y₁…y₂₁ (index 0 is x₇, which is used like one of them).
type Top<W> = [W; 22];

/// Computes the top linear layer.
#[inline(always)]
fn top<W: Word>(x: [W; 8]) -> Top<W> {
    let y14 = x[3] ^ x[5];
    let y13 = x[0] ^ x[6];
    let y9 = x[0] ^ x[3];
    let y8 = x[0] ^ x[5];
    let t0 = x[1] ^ x[2];
    let y1 = t0 ^ x[7];
    let y4 = y1 ^ x[3];
    let y12 = y13 ^ y14;
    let y2 = y1 ^ x[0];
    let y5 = y1 ^ x[6];
    let y3 = y5 ^ y8;
    let t1 = x[4] ^ y12;
    let y15 = t1 ^ x[5];
    let y20 = t1 ^ x[1];
    let y6 = y15 ^ x[7];
    let y10 = y15 ^ t0;
    let y11 = y20 ^ y9;
    let y7 = x[7] ^ y11;
    let y17 = y10 ^ y11;
    let y19 = y10 ^ y8;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let y18 = x[0] ^ y16;
    [
        x[7], y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19,
        y20, y21,
    ]
}

/// Computes the middle, an inversion in GF(2⁴): t₂₉, t₃₃, t₃₇, t₄₀, t₄₁, t₄₂, t₄₃, t₄₄, t₄₅.
#[inline(always)]
fn middle<W: Word>(y: &Top<W>) -> [W; 9] {
    let t2 = y[12] & y[15];
    let t4 = y[3] & y[6] ^ t2;
    let t6 = y[4] & y[0] ^ t2;
    let t7 = y[13] & y[16];
    let t9 = y[5] & y[1] ^ t7;
    let t11 = y[2] & y[7] ^ t7;
    let t12 = y[9] & y[11];
    let t14 = y[14] & y[17] ^ t12;
    let t16 = y[8] & y[10] ^ t12;
    let t21 = t4 ^ t14 ^ y[20];
    let t22 = t6 ^ t16 ^ y[19];
    let t23 = t9 ^ t14 ^ y[21];
    let t24 = t11 ^ t16 ^ y[18];
    let t25 = t21 ^ t22;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t29 = t25 & t27 ^ t22;
    let t30 = t23 ^ t24;
    let t31 = t22 ^ t26;
    let t33 = t31 & t30 ^ t24;
    let t34 = t23 ^ t33;
    let t35 = t27 ^ t33;
    let t36 = t24 & t35;
    let t37 = t36 ^ t34;
    let t38 = t27 ^ t36;
    let t40 = t25 ^ t29 & t38;
    let t41 = t40 ^ t37;
    let t42 = t29 ^ t33;
    let t43 = t29 ^ t40;
    let t44 = t33 ^ t37;
    [t29, t33, t37, t40, t41, t42, t43, t44, t42 ^ t41]
}

/// Computes the products z₀…z₁₇ that the bottom linear layer sums up.
#[inline(always)]
fn products<W: Word>(y: &Top<W>, t: [W; 9]) -> [W; 18] {
    let [t29, t33, t37, t40, t41, t42, t43, t44, t45] = t;
    [
        t44 & y[15],
        t37 & y[6],
        t33 & y[0],
        t43 & y[16],
        t40 & y[1],
        t29 & y[7],
        t42 & y[11],
        t45 & y[17],
        t41 & y[10],
        t44 & y[12],
        t37 & y[3],
        t33 & y[4],
        t43 & y[13],
        t40 & y[5],
        t29 & y[2],
        t42 & y[9],
        t45 & y[14],
        t41 & y[8],
    ]
}

/// Computes the bottom linear layer, without the affine constant of the S-box.
#[inline(always)]
fn bottom<W: Word>(z: [W; 18]) -> [W; 8] {
    let t46 = z[15] ^ z[16];
    let t47 = z[10] ^ z[11];
    let t48 = z[5] ^ z[13];
    let t49 = z[9] ^ z[10];
    let t50 = z[2] ^ z[12];
    let t51 = z[2] ^ z[5];
    let t52 = z[7] ^ z[8];
    let t53 = z[0] ^ z[3];
    let t54 = z[6] ^ z[7];
    let t55 = z[16] ^ z[17];
    let t56 = z[12] ^ t48;
    let t57 = t50 ^ t53;
    let t58 = z[4] ^ t46;
    let t59 = z[3] ^ t54;
    let t60 = t46 ^ t57;
    let t61 = z[14] ^ t57;
    let t62 = t52 ^ t58;
    let t63 = t49 ^ t58;
    let t64 = z[4] ^ t59;
    let t65 = t61 ^ t62;
    let t66 = z[1] ^ t63;
    let t67 = t64 ^ t65;
    let s3 = t53 ^ t66;
    [
        t59 ^ t63,
        t64 ^ s3,
        t55 ^ t67,
        s3,
        t51 ^ t66,
        t47 ^ t65,
        t56 ^ t62,
        t48 ^ t60,
    ]
}

/// Computes SubBytes on all bytes of a bitsliced state, whose word j holds bit j of each.
#[inline(always)]
pub(super) fn sub_bytes<W: Word>(state: &mut [W; 8]) {
    sub_bytes_without_constant(state);
    for j in [0, 1, 5, 6] {
        state[j] = !state[j];
    }
}

/// Does the same as [`sub_bytes`] without the affine constant, 0x63.
#[inline(always)]
pub(super) fn sub_bytes_without_constant<W: Word>(state: &mut [W; 8]) {
    let [x7, x6, x5, x4, x3, x2, x1, x0] = *state;
    let y = top([x0, x1, x2, x3, x4, x5, x6, x7]);
    let [s0, s1, s2, s3, s4, s5, s6, s7] = bottom(products(&y, middle(&y)));
    *state = [s7, s6, s5, s4, s3, s2, s1, s0];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the S-box by its definition (FIPS 197, section 5.1.1): inversion and an affine map.
    fn by_definition(x: u8) -> u8 {
        let times = |a: u8, b: u8| {
            (0..8).rev().fold(0_u8, |product, i| {
                let reduced = product << 1 ^ if product >> 7 == 1 { 0x1b } else { 0 };
                reduced ^ if b >> i & 1 == 1 { a } else { 0 }
            })
        };
        let inverse = (0..254).fold(1, |power, _| times(power, x));
        (1..5).fold(inverse ^ 0x63, |sum, i| sum ^ inverse.rotate_left(i))
    }

    #[test]
    fn every_byte_is_substituted_as_defined() {
        assert_eq!(by_definition(0x53), 0xed);
        for x in 0..=255_u8 {
            let mut state = core::array::from_fn(|j| u64::from(x >> j & 1) << 17);
            sub_bytes(&mut state);
            let found = (0..8).fold(0, |byte, j| byte | ((state[j] >> 17 & 1) as u8) << j);
            assert_eq!(found, by_definition(x), "S-box of {x:#04x}");
        }
    }
}
