//! The garbler's gates: half-gates whose tables only both parties' shares together complete, and
//! the proof that they are right.
//!
//! This is section 4.3 of Katz, Ranellucci, Rosulek and Wang (CRYPTO 2018). Let L be the label of
//! *masked* value 0 and `[λ]` the garbler's part of λΔ_A:
//!
//! > T_0 = H(L_i) ⊕ H(L_i ⊕ Δ_A) ⊕ `[λ_j]`, T_1 = H(L_j) ⊕ H(L_j ⊕ Δ_A) ⊕ `[λ_i]` ⊕ L_i,
//! > L_o = H(L_i) ⊕ H(L_j) ⊕ `[λ_i λ_j ⊕ λ_o]`.
//!
//! Bit 0 of L_o is sent with the table and then cleared, so that bit 0 of every active label is the
//! wire's masked value.
//!
//! **Assumption**: as for [`leaky`](super::leaky); both constructions can be used. **Cost** of an
//! AND: four hashes; 32 bytes and a bit. XOR and negations are free.

use subtle::Choice;
use tacit_function::{Outputs as Results, Values};
use tacit_kernels::{Block, TweakableHash};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::caught::Caught;
use super::fold::{FOLD_BYTES, Fold};
use super::gates::OpenGates;
use super::leaky::{push_lsbs, zero_blocks};
use super::oracle::compare;
use super::rows::GarblingRows;
use super::walk::{Ands, CallWalk, Calls, Rules, Stop};
use crate::Error;
use crate::bits::{BitWriter, bit};

/// All bits but bit 0.
pub(super) const WITHOUT_LSB: Block = Block::from_u128(!1);

/// Returns the wire contents of constants. Both parties know the active label, which is the
/// constant.
pub(super) fn label_rules(delta: Block) -> Rules<Block> {
    Rules {
        constant: Block::from_u128(1) ^ delta,
        negation: Block::ZERO,
    }
}

/// The garbler's labels.
pub(super) struct Garbling<'f, C = Values<'f, Block>> {
    walk: CallWalk<'f, Block, C>,
    hash: TweakableHash,
    /// Boxed, so that a moved value leaves no copy behind.
    delta: Box<Zeroizing<Block>>,
    /// The number of garbled gates of the lot.
    gate: usize,
    /// The output labels of these gates.
    labels: Outputs,
    /// The tables and the select bits of the current message.
    tables: Vec<u8>,
    selects: BitWriter,
    /// The number of gates in the current message.
    framed: usize,
    /// The rows that are sent with the tables, if there are rows.
    rows: Option<GarblingRows>,
    scratch: [Outputs; 5],
}

impl<'f, C: Calls<'f, Block>> Garbling<'f, C> {
    pub(super) fn new(walk: CallWalk<'f, Block, C>, hash: TweakableHash, delta: Block) -> Self {
        Self {
            walk,
            hash,
            delta: Box::new(delta.into()),
            gate: 0,
            labels: Outputs::default(),
            tables: Vec::new(),
            selects: BitWriter::default(),
            framed: 0,
            rows: None,
            scratch: Default::default(),
        }
    }

    /// Adds rows to the tables.
    pub(super) fn with_rows(self, rows: Option<GarblingRows>) -> Self {
        Self { rows, ..self }
    }

    /// Returns the calls.
    pub(super) fn calls(&mut self) -> &mut C {
        self.walk.calls()
    }

    /// Starts a lot. `labels` is memory for the labels of its gates' outputs.
    pub(super) fn begin(&mut self, labels: Outputs) {
        self.gate = 0;
        self.labels = labels;
    }

    /// Takes the output labels of the lot's gates.
    pub(super) fn take_labels(&mut self) -> Outputs {
        std::mem::take(&mut self.labels)
    }

    /// Garbles until a message has `count` gates, and then writes it to `message`. Returns whether
    /// it did.
    pub(super) fn frame(&mut self, gates: &OpenGates, count: usize, message: &mut Vec<u8>) -> bool {
        while self.framed < count {
            match self.walk.next() {
                Stop::Ands(ands) => {
                    for half in self
                        .scratch
                        .iter_mut()
                        .filter(|half| half.len() < ands.count())
                    {
                        *half = zero_blocks(ands.count());
                    }
                    self.garble(ands, gates);
                }
                Stop::Pause => return false,
                Stop::End => break,
            }
        }
        self.tables.extend_from_slice(&self.selects.take());
        if let Some(rows) = &mut self.rows {
            rows.end(&mut self.tables);
        }
        self.framed = 0;
        std::mem::swap(&mut self.tables, message);
        self.tables.clear();
        true
    }

    fn garble(&mut self, ands: Ands<'_>, gates: &OpenGates) {
        let count = ands.count();
        let range = self.gate..self.gate + count;
        let [a0, a1, b0, b1, inputs] = self.scratch.each_mut().map(|half| &mut half[..count]);
        for i in 0..count {
            [a0[i], b0[i]] = self.walk.inputs(ands, i);
        }
        inputs.copy_from_slice(a0);
        if let Some(rows) = &mut self.rows {
            let (proof, _) = gates.proof_parts(range.clone());
            rows.garble(&ands, &self.delta, [a0, b0], proof);
        }
        let halves = [[&mut *a0, &mut *a1], [&mut *b0, &mut *b1]];
        self.hash
            .hash_both_inputs(ands.tweak(), &self.delta, halves);
        let [first, second, output] = gates.table_parts(range.clone());
        let labels = &mut self.labels[range];
        let begin = self.tables.len();
        self.tables.resize(begin + 2 * count * Block::BYTES, 0);
        let (tables, _) = self.tables[begin..].as_chunks_mut::<{ Block::BYTES }>();
        for (i, tables) in tables.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            tables[0] = (a0[i] ^ a1[i] ^ second[i]).to_bytes();
            tables[1] = (b0[i] ^ b1[i] ^ first[i] ^ inputs[i]).to_bytes();
            labels[i] = a0[i] ^ b0[i] ^ output[i];
        }
        push_lsbs(&mut self.selects, labels);
        for label in labels {
            *label = *label & WITHOUT_LSB;
        }
        self.framed += count;
        let (labels, gate) = (&self.labels, self.gate);
        self.walk.pass(ands, |i| labels[gate + i]);
        self.gate += count;
    }

    /// Walks on towards the function's end. Returns whether it is reached.
    pub(super) fn walk_to_end(&mut self) -> bool {
        !matches!(self.walk.next(), Stop::Pause)
    }
}

/// The garbler's proof that its gates are right, from the masked values that the evaluator sent:
/// the garbler's MACs of ⟨0⟩ of each gate, and the labels that the values must have.
pub(super) struct Proof<'f, C = Values<'f, bool>> {
    walk: CallWalk<'f, bool, C>,
    /// Boxed, as in [`Garbling`].
    delta: Box<Zeroizing<Block>>,
    /// The number of finished gates of the lot.
    gate: usize,
    /// The masked values of the inputs of these gates.
    inputs: [BitWriter; 2],
    /// The folds of labels and of ⟨0⟩.
    fold: Fold<2>,
}

impl Proof<'_> {
    /// The wire contents, which are masked values: a constant has no mask, and a negation flips the
    /// mask instead of the masked value.
    pub(super) const RULES: Rules<bool> = Rules {
        constant: true,
        negation: false,
    };
}

impl<'f, C: Calls<'f, bool>> Proof<'f, C> {
    pub(super) fn new(walk: CallWalk<'f, bool, C>, delta: Block, fold: Fold<2>) -> Self {
        Self {
            walk,
            delta: Box::new(delta.into()),
            gate: 0,
            inputs: Default::default(),
            fold,
        }
    }

    /// Adds the gates of a lot, with their labels and the masked values that the evaluator sent.
    /// After the last lot, walks to the function's end. Returns whether that is done.
    pub(super) fn add(
        &mut self,
        gates: &OpenGates,
        labels: &[Block],
        told: &[u8],
        last: bool,
    ) -> bool {
        while self.gate < labels.len() || last {
            let ands = match self.walk.next() {
                Stop::Ands(ands) => ands,
                Stop::Pause => return false,
                Stop::End => break,
            };
            let first_gate = self.gate;
            for i in 0..ands.count() {
                let inputs = self.walk.inputs(ands, i);
                for (bits, input) in self.inputs.iter_mut().zip(inputs) {
                    bits.push(u64::from(input));
                }
            }
            self.walk.pass(ands, |i| bit(told, first_gate + i));
            self.gate += ands.count();
        }
        let [first, second] = self.inputs.each_mut().map(BitWriter::take);
        let masked = [&first, &second, told];
        gates.prove(masked, labels, **self.delta, &mut self.fold);
        self.gate = 0;
        true
    }

    /// Compares the fold of the evaluator's labels with that of the labels that its values must
    /// have. Returns the fold of ⟨0⟩, which may now be sent, and the masked values of the outputs.
    ///
    /// **Why before the proof is sent**: an evaluator that flips one value would learn from the
    /// proof the other input of the next AND gate.
    pub(super) fn check(
        self,
        payload: &[u8],
    ) -> Result<([u8; FOLD_BYTES], Results<'f, bool>), Error>
    where
        C: Into<Values<'f, bool>>,
    {
        let ([labels, zeros], masked) = (self.fold.finish(), self.walk.outputs());
        #[cfg(test)]
        let payload = if super::garbler::cheats::IGNORES_LABELS.get() {
            &labels[..]
        } else {
            payload
        };
        compare(&labels, payload, Caught::MaskedValues)?;
        Ok((zeros, masked))
    }
}

/// Returns the active label of an input with this masked value.
pub(super) fn input_label(labels: &mut tacit_kernels::Prg, masked: bool) -> Block {
    labels.next_block().with_lsb(Choice::from(u8::from(masked)))
}
