//! The evaluator, which has one label of each wire.

use tacit_circuit::{AndGate, NEGATED, Program, WireOrdering, XorGate};
use tacit_kernels::{Block, Cpu, Use, encrypt_each};
use zeroize::Zeroizing;

use super::rows::{evaluate_and, follow_translation};
use super::{AndForm, CIPHERTEXT_BYTES, FlexOrForm, Layout, Part, Step, TOGETHER, walk};
use crate::link::{follow_hashed_links, follow_offset_links};
use crate::prf_calls::{KEY, Points, TABLES, decode, output_labels, place_inputs};
use crate::{DecodeError, Evaluator, StartPoint};

/// The evaluator of a scheme with offsets.
pub struct FlexOrEvaluator {
    cpu: Cpu,
    form: FlexOrForm,
    points: Points,
    /// The next segment.
    segment: usize,
    slots: Zeroizing<Vec<Block>>,
    work: Box<GateBuffers>,
}

/// The buffers for gates that are processed together.
struct GateBuffers {
    keys: Zeroizing<[Block; 2 * TOGETHER]>,
    /// The points of F, which its values overwrite.
    values: Zeroizing<[Block; 2 * TOGETHER]>,
}

impl FlexOrEvaluator {
    pub(super) fn new(cpu: Cpu, form: FlexOrForm, start: StartPoint) -> Self {
        Self {
            cpu,
            form,
            points: Points { start, instance: 0 },
            segment: 0,
            slots: Zeroizing::default(),
            work: Box::new(GateBuffers {
                keys: Zeroizing::new([Block::ZERO; 2 * TOGETHER]),
                values: Zeroizing::new([Block::ZERO; 2 * TOGETHER]),
            }),
        }
    }

    /// Follows the translations `steps`, of which there are at most [`TOGETHER`].
    fn translate(&mut self, steps: &[Step], tables: &[u8]) {
        let keys = &mut self.work.keys[..steps.len()];
        let values = &mut self.work.values[..steps.len()];
        for ((step, key), value) in steps.iter().zip(&mut *keys).zip(&mut *values) {
            let label = self.slots[step.from as usize];
            let select = label.lsb().unwrap_u8();
            *key = label & KEY;
            *value = self.points.at(Use::Xor, step.number, select, step.side);
        }
        encrypt_each(self.cpu, keys, values);
        let tables = tables.as_chunks::<CIPHERTEXT_BYTES>().0;
        for (step, f) in steps.iter().zip(values) {
            let select = self.slots[step.from as usize].lsb();
            let ciphertext = Block::from_bytes(tables[step.place]);
            self.slots[step.to as usize] = follow_translation(*f, select, ciphertext);
        }
    }

    fn xor_gates(&mut self, gates: &[XorGate]) {
        for gate in gates {
            self.slots[gate.out as usize] =
                self.slots[gate.a as usize] ^ self.slots[gate.b as usize];
        }
    }

    /// Evaluates at most [`TOGETHER`] AND gates that do not wait for each other. The bit of the
    /// first is bit `at` of `bits`.
    fn evaluate_ands(
        &mut self,
        first: usize,
        gates: &[AndGate],
        rows: &[u8],
        bits: &[u8],
        at: usize,
    ) {
        let form = self.form.and();
        let keys = &mut self.work.keys[..2 * gates.len()];
        let values = &mut self.work.values[..2 * gates.len()];
        let label = |slots: &[Block], pin: u32| slots[(pin & !NEGATED) as usize];
        for (n, gate) in gates.iter().enumerate() {
            let inputs = [gate.a, gate.b].map(|pin| label(&self.slots, pin));
            let [a, b] = inputs.map(|label| label.lsb().unwrap_u8());
            let row = match form {
                AndForm::ThreeRows | AndForm::TwoRows => a << 1 | b,
                AndForm::HalfGates => 0,
            };
            for (side, label) in [0, 1].into_iter().zip(inputs) {
                keys[2 * n + usize::from(side)] = label & KEY;
                values[2 * n + usize::from(side)] = self.points.at(Use::And, first + n, row, side);
            }
        }
        encrypt_each(self.cpu, keys, values);
        let rows = rows.chunks_exact(form.row_bytes());
        let values = values.as_chunks().0.iter().zip(rows);
        for ((n, gate), (f, rows)) in gates.iter().enumerate().zip(values) {
            let inputs = [gate.a, gate.b].map(|pin| label(&self.slots, pin));
            let bit = bits
                .get((at + n) / 8)
                .map_or(0, |byte| byte >> ((at + n) % 8) & 1);
            let rows = rows.as_chunks().0;
            self.slots[gate.out as usize] = evaluate_and(form, *f, inputs, rows, bit.into());
        }
    }
}

impl Evaluator for FlexOrEvaluator {
    fn label_from_cot(&self, _index: u64, t: Block, _bit: bool) -> Block {
        t
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.points.instance = instance;
        self.segment = 0;
        let plan = self.form.rule().map(|rule| program.ordering(rule));
        let length = program.slots() + plan.map_or(0, WireOrdering::scratch_slots);
        place_inputs(program, inputs, &mut self.slots, length);
    }

    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        assert_eq!(
            segment, self.segment,
            "segments are evaluated in order, each once"
        );
        self.segment += 1;
        let layout = Layout::of(self.form, program, segment);
        assert_eq!(tables.len(), layout.bytes(), "{TABLES}");
        let (bridges, tables) = tables.split_at(layout.bridges);
        let (ciphertexts, tables) = tables.split_at(layout.translations);
        let (mut rows, bits) = tables.split_at(layout.rows);
        let row_bytes = self.form.and().row_bytes();
        walk(self.form, program, segment, |part| match part {
            Part::Bridge(steps) => self.translate(steps, bridges),
            Part::Translate(steps) => self.translate(steps, ciphertexts),
            Part::Xor(gates) => self.xor_gates(gates),
            Part::And { first, gates, at } => {
                let these = rows.split_off(..row_bytes * gates.len());
                self.evaluate_ands(first, gates, these.expect(TABLES), bits, at);
            }
        });
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        output_labels(program, &self.slots, outputs);
    }

    fn follow_links(&self, start: StartPoint, first: u64, labels: &mut [Block], links: &[u8]) {
        if self.form.is_circular() {
            follow_offset_links(labels, links);
        } else {
            follow_hashed_links(start, first, labels, links);
        }
    }

    /// Returns the values, with ⊥ if a label fits neither decoding value, or both.
    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
        decode(self.cpu, self.points, first, labels, decoding)
    }
}
