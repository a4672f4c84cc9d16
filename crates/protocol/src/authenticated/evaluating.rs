//! The evaluator's gates: active labels, masked values, and the expected proof of the garbler.
//!
//! Let Λ be masked values, `[λ]` the evaluator's part of λΔ_A, and T from the table. Then
//!
//! > H(label_i) ⊕ Λ_i (T_0 ⊕ `[λ_j]`) ⊕ H(label_j) ⊕ Λ_j (T_1 ⊕ `[λ_i]` ⊕ label_i) ⊕ `[λ_i λ_j ⊕
//! λ_o]`
//!
//! equals L_o ⊕ Λ_oΔ_A, in the notation of [`garbling`](super::garbling). **Cost** of an AND: two
//! hashes.

use tacit_function::{Outputs as Results, Values};
use tacit_kernels::{Block, TweakableHash};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::buffers::Buffers;
use super::columns::mask;
use super::fold::{FOLD_BYTES, Fold};
use super::gates::OpenGates;
use super::leaky::{push_lsbs, zero_blocks};
use super::rows::CheckingRows;
use super::walk::{Ands, CallWalk, Calls, Rules, Stop};
use crate::Error;
use crate::bits::{BitWriter, bit, bytes_for, check_bits};
use crate::message::Kind;

/// The wire contents of constants: the label is the constant.
pub(super) const LABEL_RULES: Rules<Block> = Rules {
    constant: Block::from_u128(1),
    negation: Block::ZERO,
};

/// The evaluator's labels.
pub(super) struct Evaluating<'f, C = Values<'f, Block>> {
    walk: CallWalk<'f, Block, C>,
    hash: TweakableHash,
    /// The number of evaluated gates of the lot.
    gate: usize,
    /// The output labels of these gates.
    labels: Outputs,
    /// The masked values of the inputs and outputs of these gates.
    masked: [BitWriter; 3],
    /// The masked values of the lot that ended last.
    told: [Zeroizing<Vec<u8>>; 3],
    /// The tables of the current message, their select bits, and the number of its first gate.
    tables: Vec<[u8; Block::BYTES]>,
    selects: Vec<u8>,
    first: usize,
    /// The folds of labels and of ⟨0⟩.
    proof: Fold<2>,
    scratch: [Outputs; 4],
    /// The rows that prove the gates, if there are rows.
    rows: Option<CheckingRows>,
}

impl<'f, C: Calls<'f, Block>> Evaluating<'f, C> {
    pub(super) fn new(walk: CallWalk<'f, Block, C>, hash: TweakableHash, proof: Fold<2>) -> Self {
        Self {
            walk,
            hash,
            gate: 0,
            labels: Outputs::default(),
            masked: Default::default(),
            told: Default::default(),
            tables: Vec::new(),
            selects: Vec::new(),
            first: 0,
            proof,
            scratch: Default::default(),
            rows: None,
        }
    }

    /// Adds a check of rows.
    pub(super) fn with_rows(self, rows: Option<CheckingRows>) -> Self {
        Self { rows, ..self }
    }

    /// Starts a lot. `labels` is memory for the labels of its gates' outputs.
    pub(super) fn begin(&mut self, labels: Outputs) {
        (self.gate, self.first) = (0, 0);
        self.labels = labels;
    }

    /// Takes the tables of the next `count` gates.
    pub(super) fn receive(&mut self, count: usize, payload: &[u8]) -> Result<(), Error> {
        let (tables, selects) = payload.split_at(2 * count * Block::BYTES);
        check_bits(Kind::AuthenticatedTables, selects, count)?;
        self.tables.clear();
        self.tables.extend_from_slice(tables.as_chunks().0);
        self.selects.clear();
        self.selects.extend_from_slice(selects);
        self.first = self.gate;
        Ok(())
    }

    /// Loads the tables of the next gates, whose select bits are clear, and their rows.
    pub(super) fn load(
        &mut self,
        tables: Vec<[u8; Block::BYTES]>,
        rows: Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(checking) = &mut self.rows {
            checking.load(rows, tables.len() / 2)?;
        }
        self.selects.clear();
        self.selects.resize(bytes_for(tables.len() / 2), 0);
        self.tables = tables;
        self.first = self.gate;
        Ok(())
    }

    /// Evaluates the gates whose tables were received last. Returns whether all are done.
    pub(super) fn evaluate(&mut self, gates: &OpenGates) -> bool {
        while self.gate < self.first + self.tables.len() / 2 {
            match self.walk.next() {
                Stop::Ands(ands) => self.evaluate_batch(ands, gates),
                Stop::Pause => return false,
                Stop::End => break,
            }
        }
        true
    }

    fn evaluate_batch(&mut self, ands: Ands<'_>, gates: &OpenGates) {
        let count = ands.count();
        for half in self.scratch.iter_mut().filter(|half| half.len() < count) {
            *half = zero_blocks(count);
        }
        let [a, b, first, second] = self.scratch.each_mut().map(|half| &mut half[..count]);
        for i in 0..count {
            [first[i], second[i]] = self.walk.inputs(ands, i);
        }
        a.copy_from_slice(first);
        b.copy_from_slice(second);
        self.hash.hash_inputs(ands.tweak(), [&mut *a, &mut *b]);
        let range = self.gate..self.gate + count;
        let at = self.gate - self.first;
        let parts = gates.table_parts(range.clone());
        let labels = &mut self.labels[range.clone()];
        let tables = self.tables[2 * at..].as_chunks::<2>().0;
        for (i, label) in labels.iter_mut().enumerate() {
            let [t0, t1] = tables[i].map(Block::from_bytes);
            let select = Block::from_u128(u128::from(bit(&self.selects, at + i)));
            *label = a[i]
                ^ (t0 ^ parts[1][i]) & mask(lsb(first[i]))
                ^ b[i]
                ^ (t1 ^ parts[0][i] ^ first[i]) & mask(lsb(second[i]))
                ^ parts[2][i]
                ^ select;
        }
        match &mut self.rows {
            Some(rows) => rows.compare(&ands, [first, second], labels, gates, range),
            None => {
                for (bits, blocks) in self.masked.iter_mut().zip([first, second, labels]) {
                    push_lsbs(bits, blocks);
                }
            }
        }
        let (labels, gate) = (&self.labels, self.gate);
        self.walk.pass(ands, |i| labels[gate + i]);
        self.gate += count;
    }

    /// Ends a lot. Returns the masked values of its gates, packed.
    pub(super) fn end_lot(&mut self) -> &[u8] {
        self.told = self.masked.each_mut().map(BitWriter::take);
        &self.told[2]
    }

    /// Adds the labels of the lot that ended, and ⟨0⟩ of its gates, to the folds, unless rows have
    /// proven the gates. Gives their memory back.
    pub(super) fn fold(&mut self, gates: OpenGates, buffers: &mut Buffers) {
        if self.rows.is_none() {
            let masked = self.told.each_ref().map(|bits| &bits[..]);
            gates.prove(masked, &self.labels, Block::ZERO, &mut self.proof);
        }
        gates.give_back(std::mem::take(&mut self.labels), buffers);
    }

    /// Walks on towards the function's end. Returns whether it is reached.
    pub(super) fn walk_to_end(&mut self) -> bool {
        !matches!(self.walk.next(), Stop::Pause)
    }

    /// Checks that all rows were right, if there are rows.
    pub(super) fn check_rows(&self) -> Result<(), Error> {
        self.rows.as_ref().map_or(Ok(()), CheckingRows::check)
    }

    /// Returns the folds of labels and of ⟨0⟩, and the labels of the outputs.
    pub(super) fn finish(self) -> ([[u8; FOLD_BYTES]; 2], Results<'f, Block>)
    where
        C: Into<Values<'f, Block>>,
    {
        (self.proof.finish(), self.walk.outputs())
    }
}

/// Returns bit 0.
fn lsb(block: Block) -> u64 {
    block.to_u128() as u64 & 1
}
