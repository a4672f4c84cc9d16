//! The garbler, which has both labels of each wire.

use subtle::Choice;
use tacit_circuit::{AndGate, NEGATED, Output, Program, WireOrdering, XorGate};
use tacit_kernels::{Block, Cpu, Use, encrypt_each, encrypt_each_twice};
use zeroize::Zeroizing;

use super::rows::{ROW_POINTS, half_gates, row_keys, three_rows, translate, two_rows};
use super::{AndForm, CIPHERTEXT_BYTES, FlexOrForm, Layout, Part, Step, TOGETHER, walk};
use crate::link::{hashed_links, offset_links, share_offset};
use crate::prf_calls::{Coins, KEY, LabelPair, Points, TABLES, decoding, place_inputs};
use crate::{Garbler, StartPoint};

/// The garbler of a scheme with offsets.
pub struct FlexOrGarbler {
    cpu: Cpu,
    form: FlexOrForm,
    points: Points,
    delta: Zeroizing<Block>,
    coins: Coins,
    /// The number of wires that were made around an active label.
    active_wires: u64,
    /// The next segment.
    segment: usize,
    slots: Zeroizing<Vec<LabelPair>>,
    /// The offsets, by their numbers in the ordering.
    offsets: Zeroizing<Vec<Block>>,
    work: Box<GateBuffers>,
}

/// The buffers for gates that are processed together.
struct GateBuffers {
    keys: Zeroizing<[Block; 4 * TOGETHER]>,
    /// The points of F, which its values overwrite.
    values: Zeroizing<[Block; 8 * TOGETHER]>,
}

impl FlexOrGarbler {
    pub(super) fn new(
        cpu: Cpu,
        form: FlexOrForm,
        seed: [u8; 32],
        start: StartPoint,
        delta: Block,
    ) -> Self {
        assert!(
            bool::from(delta.lsb()),
            "bit 0 of Δ is set, so that the labels of a wire differ in their select bits"
        );
        let seed = Zeroizing::new(seed);
        Self {
            cpu,
            form,
            points: Points { start, instance: 0 },
            delta: Zeroizing::new(delta),
            coins: Coins::new(cpu, &seed),
            active_wires: 0,
            segment: 0,
            slots: Zeroizing::default(),
            offsets: Zeroizing::default(),
            work: Box::new(GateBuffers {
                keys: Zeroizing::new([Block::ZERO; 4 * TOGETHER]),
                values: Zeroizing::new([Block::ZERO; 8 * TOGETHER]),
            }),
        }
    }

    /// Returns a wire whose label for `bit` is `active`. The other label differs by Δ or is random,
    /// depending on the scheme.
    fn wire_around(&self, active: Block, bit: bool, usage: Use, number: u64) -> LabelPair {
        let bit = Choice::from(u8::from(bit));
        let other = match self.form {
            FlexOrForm::RelatedKey(_) => {
                let instance = if usage == Use::Out {
                    self.points.instance
                } else {
                    0
                };
                self.coins.one(usage, instance, number)
            }
            FlexOrForm::CircularAnd3 | FlexOrForm::CircularHalfGates => active ^ *self.delta,
        };
        LabelPair::with_active(active, bit, other)
    }

    /// Makes the translations `steps`, of which there are at most [`TOGETHER`].
    fn translate(&mut self, steps: &[Step], tables: &mut [u8]) {
        let keys = &mut self.work.keys[..2 * steps.len()];
        let values = &mut self.work.values[..2 * steps.len()];
        for (n, step) in steps.iter().enumerate() {
            let labels = self.slots[step.from as usize].by_select();
            for (select, label) in [0, 1].into_iter().zip(labels) {
                let at = 2 * n + usize::from(select);
                keys[at] = label & KEY;
                values[at] = self.points.at(Use::Xor, step.number, select, step.side);
            }
        }
        encrypt_each(self.cpu, keys, values);
        let tables = tables.as_chunks_mut::<CIPHERTEXT_BYTES>().0;
        for (step, f) in steps.iter().zip(values.as_chunks().0) {
            let pi = self.slots[step.from as usize].permute_bit();
            let (wire, ciphertext) = translate(*f, pi, self.offsets[step.offset as usize]);
            tables[step.place] = ciphertext.to_bytes();
            self.slots[step.to as usize] = wire;
        }
    }

    fn xor_gates(&mut self, gates: &[XorGate]) {
        for gate in gates {
            let [a, b] = [gate.a, gate.b].map(|slot| self.slots[slot as usize]);
            let zero = a.of(false);
            self.slots[gate.out as usize] = LabelPair::new([zero ^ b.of(false), zero ^ b.of(true)]);
        }
    }

    /// Calls F for AND gates in rows: eight values per gate.
    fn call_rows(&mut self, first: usize, gates: &[AndGate]) {
        let keys = &mut self.work.keys[..4 * gates.len()];
        let values = &mut self.work.values[..8 * gates.len()];
        let gates = gates.iter().enumerate();
        for ((n, gate), (keys, values)) in
            gates.zip(keys.chunks_exact_mut(4).zip(values.chunks_exact_mut(8)))
        {
            let i = input(&self.slots, gate.a).by_select();
            let j = input(&self.slots, gate.b).by_select();
            for (key, label) in keys.iter_mut().zip([i[0], i[1], j[0], j[1]]) {
                *key = label & KEY;
            }
            for (value, (row, side)) in values.iter_mut().zip(ROW_POINTS) {
                *value = self.points.at(Use::And, first + n, row, side);
            }
        }
        encrypt_each_twice(self.cpu, keys, values);
    }

    /// Calls F for AND gates as half-gates: four values per gate, in the order of the labels'
    /// values.
    fn call_halves(&mut self, first: usize, gates: &[AndGate]) {
        let keys = &mut self.work.keys[..4 * gates.len()];
        let values = &mut self.work.values[..4 * gates.len()];
        for (n, gate) in gates.iter().enumerate() {
            let [i, j] = [gate.a, gate.b].map(|pin| input(&self.slots, pin));
            let labels = [i.of(false), i.of(true), j.of(false), j.of(true)];
            for (column, label) in labels.into_iter().enumerate() {
                keys[4 * n + column] = label & KEY;
                values[4 * n + column] = self.points.at(Use::And, first + n, 0, column as u8 / 2);
            }
        }
        encrypt_each(self.cpu, keys, values);
    }

    /// Garbles at most [`TOGETHER`] AND gates that do not wait for each other. The bit of the first
    /// is bit `at` of `bits`.
    fn garble_ands(
        &mut self,
        first: usize,
        gates: &[AndGate],
        named: &[u32],
        rows: &mut [u8],
        bits: &mut [u8],
        at: usize,
    ) {
        let form = self.form.and();
        match form {
            AndForm::HalfGates => self.call_halves(first, gates),
            AndForm::ThreeRows | AndForm::TwoRows => self.call_rows(first, gates),
        }
        let rows = rows.chunks_exact_mut(form.row_bytes());
        for ((n, gate), rows) in gates.iter().enumerate().zip(rows) {
            let inputs = [gate.a, gate.b].map(|pin| input(&self.slots, pin));
            let pi = inputs.map(|wire| wire.permute_bit());
            let rows = rows.as_chunks_mut::<{ Block::BYTES }>().0;
            let values = &self.work.values;
            let name = named.get(n).copied();
            self.slots[gate.out as usize] = match form {
                AndForm::ThreeRows => {
                    let offset = match name {
                        Some(name) => self.offsets[name as usize],
                        None => *self.delta,
                    };
                    let (wire, found) = three_rows(row_keys(&values[8 * n..][..8]), pi, offset);
                    rows.copy_from_slice(&found.map(Block::to_bytes));
                    wire
                }
                AndForm::TwoRows => {
                    let (wire, found, bit) = two_rows(row_keys(&values[8 * n..][..8]), pi);
                    rows.copy_from_slice(&found.map(Block::to_bytes));
                    bits[(at + n) / 8] |= bit.unwrap_u8() << ((at + n) % 8);
                    if let Some(name) = name.filter(|name| *name != WireOrdering::UNNAMED) {
                        self.offsets[name as usize] = wire.of(false) ^ wire.of(true);
                    }
                    wire
                }
                AndForm::HalfGates => {
                    let zeros = inputs.map(|wire| wire.of(false));
                    let f = &values[4 * n..][..4];
                    let (wire, found) = half_gates(f, zeros, *self.delta);
                    rows.copy_from_slice(&found.map(Block::to_bytes));
                    wire
                }
            };
        }
    }
}

/// Returns the labels of an AND gate's input, after its negation.
#[inline(always)]
fn input(slots: &[LabelPair], input: u32) -> LabelPair {
    slots[(input & !NEGATED) as usize].negated_if(input & NEGATED != 0)
}

impl Garbler for FlexOrGarbler {
    type Wire = LabelPair;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> LabelPair {
        let number = self.active_wires;
        self.active_wires += 1;
        self.wire_around(active, bit, Use::PublicLabel, number)
    }

    fn wire_from_cot(&self, _index: u64, q: Block) -> LabelPair {
        LabelPair::new([q, q ^ *self.delta])
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[LabelPair]) {
        self.points.instance = instance;
        self.segment = 0;
        let plan = self.form.rule().map(|rule| program.ordering(rule));
        let scratch = plan.map_or(0, WireOrdering::scratch_slots);
        place_inputs(program, inputs, &mut self.slots, program.slots() + scratch);
        let count = plan.map_or(0, WireOrdering::offsets);
        self.offsets = Zeroizing::new(vec![Block::ZERO; count]);
        // Under the safe rules, AND gates replace their offsets.
        self.coins.fill(Use::Xor, instance, 0, &mut self.offsets);
        for offset in self.offsets.iter_mut() {
            *offset = offset.with_lsb(Choice::from(1));
        }
    }

    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        assert_eq!(
            segment, self.segment,
            "segments are garbled in order, each once"
        );
        self.segment += 1;
        let layout = Layout::of(self.form, program, segment);
        assert_eq!(tables.len(), layout.bytes(), "{TABLES}");
        let (bridges, tables) = tables.split_at_mut(layout.bridges);
        let (ciphertexts, tables) = tables.split_at_mut(layout.translations);
        let (mut rows, bits) = tables.split_at_mut(layout.rows);
        bits.fill(0);
        let plan = self.form.rule().map(|rule| program.ordering(rule));
        let named = plan.map_or(&[][..], WireOrdering::and_offsets);
        let row_bytes = self.form.and().row_bytes();
        walk(self.form, program, segment, |part| match part {
            Part::Bridge(steps) => self.translate(steps, bridges),
            Part::Translate(steps) => self.translate(steps, ciphertexts),
            Part::Xor(gates) => self.xor_gates(gates),
            Part::And { first, gates, at } => {
                let these = rows.split_off_mut(..row_bytes * gates.len());
                let named = named.get(first..first + gates.len()).unwrap_or(&[]);
                self.garble_ands(first, gates, named, these.expect(TABLES), bits, at);
            }
        });
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<LabelPair>) {
        let wire = |(number, output): (u64, &Output)| match *output {
            Output::Slot { slot, negated } => self.slots[slot as usize].negated_if(negated),
            // The evaluator's label of a constant is zero, because its value is no secret.
            Output::Constant(bit) => self.wire_around(Block::ZERO, bit, Use::Out, number),
        };
        outputs.extend((0..).zip(program.outputs()).map(wire));
    }

    fn decoding(&self, first: u64, wires: &[LabelPair], out: &mut Vec<u8>) {
        decoding(self.cpu, self.points, first, wires, out);
    }

    fn label_with_select(&self, wire: &LabelPair, select: bool) -> (Block, bool) {
        wire.with_select(select)
    }

    fn link(
        &self,
        start: StartPoint,
        first: u64,
        from: &[LabelPair],
        to: &[LabelPair],
        out: &mut Vec<u8>,
    ) {
        if !self.form.is_circular() {
            return hashed_links(self, start, first, from, to, out);
        }
        let share = share_offset(from, *self.delta) & share_offset(to, *self.delta);
        assert!(
            bool::from(share),
            "wires of garblers with different Δ are not linked by one label"
        );
        let zeros = |wires: &[LabelPair]| {
            let zeros = wires.iter().map(|wire| wire.of(false));
            Zeroizing::new(zeros.collect::<Vec<_>>())
        };
        offset_links(&zeros(from), &zeros(to), out);
    }
}
