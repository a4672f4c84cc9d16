//! The evaluator's gates: active labels, masked values, and what the garbler's proof must be.
//!
//! With Λ masked values, `[λ]` the evaluator's part of λΔ_A and T from the table:
//!
//! > H(label_i) ⊕ Λ_i (T_0 ⊕ `[λ_j]`) ⊕ H(label_j) ⊕ Λ_j (T_1 ⊕ `[λ_i]` ⊕ label_i) ⊕ `[λ_i λ_j ⊕ λ_o]`
//!
//! is L_o ⊕ Λ_oΔ_A: the notation is that of [`garbling`](super::garbling). **Cost** of an AND: two
//! hashes.

use subtle::Choice;
use tacit_circuit::Outputs as Results;
use tacit_kernels::{Block, TweakableHash};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::gates::OpenGates;
use super::leaky::{pack, zero_blocks};
use super::oracle::Oracle;
use super::share::Share;
use super::walk::{Ands, Rules, Stop, Walk};
use crate::malicious::bits::{bit, unused_are_clear};
use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// What wires carry for constants: the label that is the constant.
pub(super) const LABEL_RULES: Rules<Block> = Rules {
    constant: Block::from_u128(1),
    negation: Block::ZERO,
};

/// The evaluator's labels.
pub(super) struct Evaluating<'f> {
    walk: Walk<'f, Block>,
    hash: TweakableHash,
    delta: Zeroizing<Block>,
    one: Zeroizing<Share>,
    /// Gates of the lot that are evaluated.
    gate: usize,
    /// Their masked values.
    masked: Vec<Choice>,
    /// Tables of the message that is worked on, their select bits, and the gate that it begins
    /// with.
    tables: Vec<[u8; Block::BYTES]>,
    selects: Vec<u8>,
    first: usize,
    labels: Oracle,
    zeros: Oracle,
    scratch: [Outputs; 2],
}

impl<'f> Evaluating<'f> {
    pub(super) fn new(
        walk: Walk<'f, Block>,
        hash: TweakableHash,
        (delta, one): (Block, Share),
        [labels, zeros]: [Oracle; 2],
    ) -> Self {
        Self {
            walk,
            hash,
            delta: delta.into(),
            one: one.into(),
            gate: 0,
            masked: Vec::new(),
            tables: Vec::new(),
            selects: Vec::new(),
            first: 0,
            labels,
            zeros,
            scratch: Default::default(),
        }
    }

    /// Takes the tables of the next `count` gates.
    ///
    /// # Errors
    ///
    /// The select bits are not as many.
    pub(super) fn receive(&mut self, count: usize, payload: &[u8]) -> Result<(), Error> {
        let (tables, selects) = payload.split_at(2 * count * Block::BYTES);
        if !unused_are_clear(selects, count) {
            return Err(Misbehaviour::InvalidField {
                kind: Kind::AuthenticatedTables,
                field: "padding",
            }
            .into());
        }
        self.tables.clear();
        self.tables.extend_from_slice(tables.as_chunks().0);
        self.selects.clear();
        self.selects.extend_from_slice(selects);
        self.first = self.gate;
        Ok(())
    }

    /// Evaluates the gates whose tables were received last; whether that is done.
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
        let [a, b] = self.scratch.each_mut().map(|half| &mut half[..count]);
        for (i, (a, b)) in a.iter_mut().zip(b.iter_mut()).enumerate() {
            [*a, *b] = self.walk.inputs(ands, i);
        }
        self.hash.hash(ands.tweak(0), a);
        self.hash.hash(ands.tweak(1), b);
        for i in 0..count {
            let gate = self.gate + i;
            let inputs = self.walk.inputs(ands, i);
            let [first, second] = inputs.map(Block::lsb);
            let at = gate - self.first;
            let tables = [2 * at, 2 * at + 1].map(|t| Block::from_bytes(self.tables[t]));
            let select = Choice::from(u8::from(bit(&self.selects, at)));
            let parts = gates.evaluators_parts(gate);
            let label = a[i]
                ^ (tables[0] ^ parts[1]).and_bit(first)
                ^ b[i]
                ^ (tables[1] ^ parts[0] ^ inputs[0]).and_bit(second)
                ^ parts[2];
            let output = label.lsb() ^ select;
            a[i] = label.with_lsb(output);
            self.masked.push(output);
            self.labels.add(a[i]);
            let zero = gates.zero(gate, [first, second, output], *self.one);
            self.zeros.add(zero.others_mac(zero.bit(), *self.delta));
        }
        let labels = &*a;
        self.walk.pass(ands, |i| labels[i]);
        self.gate += count;
    }

    /// Ends a lot: the masked values of its gates, packed.
    pub(super) fn end_lot(&mut self) -> Vec<u8> {
        (self.gate, self.first) = (0, 0);
        self.tables.clear();
        pack(self.masked.drain(..))
    }

    /// Walks on to the function's end; whether it has come.
    pub(super) fn walk_to_end(&mut self) -> bool {
        !matches!(self.walk.next(), Stop::Pause)
    }

    /// The hashes of labels and of ⟨0⟩, and the labels of the outputs.
    pub(super) fn finish(self) -> ([Oracle; 2], Results<'f, Block>) {
        ([self.labels, self.zeros], self.walk.outputs())
    }
}
