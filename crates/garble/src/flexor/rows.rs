//! The arithmetic of one gate, for both roles, after the calls of F.
//!
//! The rows of an AND gate are K_{2a+b} = F(i_a, g‖2a+b‖0) ⊕ F(j_b, g‖2a+b‖1), where i_a and j_b
//! are the labels with select bits a and b, and s is the row that holds the 1. A translation to
//! offset D: t_0 = F(i_0)[1..n], t_1 = t_0 ⊕ D, and C = F(i_1)[1..n] ⊕ t_1.

use subtle::{Choice, ConditionallySelectable};
use tacit_kernels::Block;

use super::AndForm;
use crate::LabelPair;
use crate::prf_calls::KEY;

/// The row and side of the calls for the keys (i_0, i_1, j_0, j_1) of an AND gate in rows, two per
/// key.
pub(super) const ROW_POINTS: [(u8, u8); 8] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 0),
    (0, 1),
    (2, 1),
    (1, 1),
    (3, 1),
];

/// Translates a wire with permute bit `pi` to `offset`, given F of its labels by select bit.
/// Returns the wire and the ciphertext.
#[inline(always)]
pub(super) fn translate(f: [Block; 2], pi: Choice, offset: Block) -> (LabelPair, Block) {
    let with_0 = f[0] & KEY;
    let with_1 = with_0 ^ offset;
    let ciphertext = (f[1] ^ with_1) & KEY;
    (LabelPair::with_active(with_0, pi, with_1), ciphertext)
}

/// Returns the label that the evaluator of a translation gets.
#[inline(always)]
pub(super) fn follow_translation(f: Block, select: Choice, ciphertext: Block) -> Block {
    (f ^ ciphertext.and_bit(select)).with_lsb(select)
}

/// Computes K_0 to K_3 from the eight values of F at [`ROW_POINTS`].
#[inline(always)]
pub(super) fn row_keys(f: &[Block]) -> [Block; 4] {
    [f[0] ^ f[4], f[1] ^ f[6], f[2] ^ f[5], f[3] ^ f[7]]
}

/// Computes AND in three rows, for inputs with permute bits `pi`, with `offset` on the output.
#[inline(always)]
pub(super) fn three_rows(k: [Block; 4], pi: [Choice; 2], offset: Block) -> (LabelPair, [Block; 3]) {
    let [i, j] = pi;
    // Row 0 is the label of its own value.
    let wire = LabelPair::with_active(k[0], i & j, k[0] ^ offset);
    // Row 2a + b stands for 1 if a = NOT π_i and b = NOT π_j.
    let holds_one = [i & !j, !i & j, !i & !j];
    let mut rows = [k[1], k[2], k[3]];
    for (row, one) in rows.iter_mut().zip(holds_one) {
        *row ^= Block::conditional_select(&wire.of(false), &wire.of(true), one);
    }
    (wire, rows)
}

/// Computes AND in two rows and a bit: procedure G″, with the permute bit that makes t_0 zero.
///
/// The bits t_1 and t_2 are in bit 0 of the rows, and the bit is t_1 ⊕ t_2 ⊕ t_3.
#[inline(always)]
pub(super) fn two_rows(k: [Block; 4], pi: [Choice; 2]) -> (LabelPair, [Block; 2], Choice) {
    let [i, j] = pi;
    let at_0 = i & j;
    let x = k[1] ^ k[2] ^ k[3];
    let permute = k[0].lsb() ^ at_0;
    let zero = Block::conditional_select(&k[0], &x, at_0).with_lsb(permute);
    let one = Block::conditional_select(&x, &k[0], at_0).with_lsb(!permute);
    let first = Block::conditional_select(&(k[0] ^ k[1]), &(k[2] ^ k[3]), i);
    let second = Block::conditional_select(&(k[0] ^ k[2]), &(k[1] ^ k[3]), j);
    let t = |row: Block, holds_one: Choice| row.lsb() ^ permute ^ holds_one;
    let t = [t(k[1], i & !j), t(k[2], !i & j), t(k[3], !i & !j)];
    let rows = [first.with_lsb(t[0]), second.with_lsb(t[1])];
    (LabelPair::new([zero, one]), rows, t[0] ^ t[1] ^ t[2])
}

/// Computes AND as half-gates, from the inputs' labels for 0 and F of all four labels, in the order
/// of their values.
#[inline(always)]
pub(super) fn half_gates(f: &[Block], [a, b]: [Block; 2], delta: Block) -> (LabelPair, [Block; 2]) {
    let generator = f[0] ^ f[1] ^ delta.and_bit(b.lsb());
    let both = f[2] ^ f[3];
    let zero = f[0] ^ generator.and_bit(a.lsb()) ^ f[2] ^ both.and_bit(b.lsb());
    (LabelPair::new([zero, zero ^ delta]), [generator, both ^ a])
}

/// Returns the label that the evaluator of an AND gate gets from those of its inputs, F of both,
/// the gate's rows and its bit.
#[inline(always)]
pub(super) fn evaluate_and(
    form: AndForm,
    f: [Block; 2],
    [i, j]: [Block; 2],
    rows: &[[u8; Block::BYTES]],
    bit: Choice,
) -> Block {
    let (a, b) = (i.lsb(), j.lsb());
    let row = |number: usize| Block::from_bytes(rows[number]);
    let key = f[0] ^ f[1];
    match form {
        AndForm::ThreeRows => {
            let row = row(0).and_bit(!a & b) ^ row(1).and_bit(a & !b) ^ row(2).and_bit(a & b);
            key ^ row
        }
        AndForm::TwoRows => {
            let label = key ^ row(0).and_bit(b) ^ row(1).and_bit(a);
            label.with_lsb(label.lsb() ^ (a & b & bit))
        }
        AndForm::HalfGates => key ^ row(0).and_bit(a) ^ (row(1) ^ i).and_bit(b),
    }
}
