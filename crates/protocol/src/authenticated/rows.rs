//! Rows for MACs of ⟨0⟩, from which the evaluator alone sees that gates are right.
//!
//! Wang, Ranellucci and Katz (CCS 2017) garble MACs with the rows of a gate. Here the rows have the
//! form of half-gates. With h a hash from another start point, in the notation of
//! [`garbling`](super::garbling):
//!
//! > R_0 = h(L_i) ⊕ h(L_i ⊕ Δ_A) ⊕ M_a[λ_j], R_1 = h(L_j) ⊕ h(L_j ⊕ Δ_A) ⊕ M_a[λ_i],
//! > R_2 = h(L_i) ⊕ h(L_j) ⊕ M_a[λ_i λ_j ⊕ λ_o].
//!
//! From the two active labels the evaluator computes h ⊕ h ⊕ R_2 ⊕ Λ_i R_0 ⊕ Λ_j R_1, which is the
//! garbler's MAC of ⟨0⟩ except for bit 0, and compares it with the value from its own half. Each
//! row is cut to its last bytes: the first two bits of a MAC hide nothing, since those of Δ_B are
//! known. `docs/protocols/instances.md` explains why this is correct.
//!
//! **Cost** of an AND: four hashes at the garbler and two at the evaluator; 3 ⌈(s + 40) / 8⌉ bytes.

use std::ops::Range;

use tacit_kernels::{Block, TweakableHash};
use tacit_ot::Outputs;

use super::caught::Caught;
use super::columns::mask;
use super::gates::OpenGates;
use super::leaky::zero_blocks;
use super::parameters::SecurityBits;
use super::walk::Ands;
use crate::Error;
use crate::error::cheated;

/// The number of rows of a gate.
pub(super) const GATE_ROWS: usize = 3;

/// The number of bits by which a row is longer than s. A guess passes with probability 2^-(s + 40),
/// and the lots leave 2^-9 of 2^-s. That leaves room for 2^31 guesses, each of which ends a lot. So
/// runs from a stock need not be counted.
const MARGIN_BITS: usize = 40;

/// Returns the size of a row in bytes in a lot that was ordered with this s, even if the lot is
/// made with a higher one.
pub(crate) const fn row_bytes(ordered_at: SecurityBits) -> usize {
    (ordered_at.get() as usize + MARGIN_BITS).div_ceil(8)
}

/// The garbler's rows.
pub(super) struct GarblingRows {
    hash: TweakableHash,
    row_bytes: usize,
    /// The rows of the current message.
    rows: Vec<u8>,
    scratch: [Outputs; 4],
}

impl GarblingRows {
    pub(super) fn new(hash: TweakableHash, row_bytes: usize) -> Self {
        Self {
            hash,
            row_bytes,
            rows: Vec::new(),
            scratch: Default::default(),
        }
    }

    /// Adds the rows of gates whose inputs have these labels of masked value 0.
    pub(super) fn garble(
        &mut self,
        ands: &Ands<'_>,
        delta: &Block,
        labels: [&[Block]; 2],
        proof: [&[Block]; 3],
    ) {
        let count = ands.count();
        grow(&mut self.scratch, count);
        let [a0, a1, b0, b1] = self.scratch.each_mut().map(|half| &mut half[..count]);
        a0.copy_from_slice(labels[0]);
        b0.copy_from_slice(labels[1]);
        let halves = [[&mut *a0, &mut *a1], [&mut *b0, &mut *b1]];
        self.hash.hash_both_inputs(ands.tweak(), delta, halves);
        for i in 0..count {
            for row in [
                a0[i] ^ a1[i] ^ proof[1][i],
                b0[i] ^ b1[i] ^ proof[0][i],
                a0[i] ^ b0[i] ^ proof[2][i],
            ] {
                let first = Block::BYTES - self.row_bytes;
                self.rows.extend_from_slice(&row.to_bytes()[first..]);
            }
        }
    }

    /// Appends the rows to the end of a message.
    pub(super) fn end(&mut self, message: &mut Vec<u8>) {
        message.append(&mut self.rows);
    }
}

/// The evaluator's check of rows.
pub(super) struct CheckingRows {
    hash: TweakableHash,
    row_bytes: usize,
    /// The rows of the loaded gates.
    rows: Vec<u8>,
    scratch: [Outputs; 2],
    /// The bits in which some MAC was wrong.
    wrong: u128,
}

impl CheckingRows {
    pub(super) fn new(hash: TweakableHash, row_bytes: usize) -> Self {
        Self {
            hash,
            row_bytes,
            rows: Vec::new(),
            scratch: Default::default(),
            wrong: 0,
        }
    }

    /// Takes the rows of the next `count` gates.
    ///
    /// Refuses another number of rows than three for each gate: gates without rows would pass.
    pub(super) fn load(&mut self, rows: Vec<u8>, count: usize) -> Result<(), Error> {
        if rows.len() != GATE_ROWS * self.row_bytes * count {
            return Err(Error::DamagedMaterial(
                "an instance has not three rows for each gate".to_owned(),
            ));
        }
        self.rows = rows;
        Ok(())
    }

    /// Compares the MACs of `range` of the loaded gates, whose inputs and outputs have these active
    /// labels. Only [`check`](Self::check) reports a wrong MAC.
    pub(super) fn compare(
        &mut self,
        ands: &Ands<'_>,
        inputs: [&[Block]; 2],
        outputs: &[Block],
        gates: &OpenGates,
        range: Range<usize>,
    ) {
        let count = ands.count();
        grow(&mut self.scratch, count);
        let [a, b] = self.scratch.each_mut().map(|half| &mut half[..count]);
        a.copy_from_slice(inputs[0]);
        b.copy_from_slice(inputs[1]);
        self.hash.hash_inputs(ands.tweak(), [&mut *a, &mut *b]);
        let size = self.row_bytes;
        let rows = &self.rows[GATE_ROWS * size * range.start..GATE_ROWS * size * range.end];
        let rows = rows.chunks_exact(GATE_ROWS * size);
        let ([first, second, product], one) = gates.proof_parts(range);
        let active = |label: Block| mask(label.to_u128() as u64);
        for (i, rows) in rows.enumerate() {
            let [r0, r1, r2] = [0, 1, 2].map(|row| block(&rows[size * row..size * (row + 1)]));
            let [left, right] = inputs.map(|labels| active(labels[i]));
            let found = a[i] ^ b[i] ^ r2 ^ r0 & left ^ r1 & right;
            let public = left & right ^ active(outputs[i]);
            let due = product[i] ^ first[i] & right ^ second[i] & left ^ public & one;
            self.wrong |= (found ^ due).to_u128() >> (128 - 8 * size);
        }
    }

    /// Checks that all MACs were right.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.wrong {
            0 => Ok(()),
            _ => Err(cheated(Caught::GateProof)),
        }
    }
}

/// Returns a row as the last bytes of a block.
fn block(row: &[u8]) -> Block {
    let mut bytes = [0; Block::BYTES];
    bytes[Block::BYTES - row.len()..].copy_from_slice(row);
    Block::from_bytes(bytes)
}

fn grow(scratch: &mut [Outputs], count: usize) {
    for half in scratch.iter_mut().filter(|half| half.len() < count) {
        *half = zero_blocks(count);
    }
}
