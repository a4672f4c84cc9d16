//! The garbler: both labels of each wire.

use core::mem;

use subtle::{Choice, ConditionallySelectable};
use tacit_circuit::{AndGate, NEGATED, Output, Program, XorGate};
use tacit_kernels::{Block, Cpu, Use, encrypt_each, encrypt_each_twice};
use zeroize::Zeroizing;

use super::runs::Runs;
use super::{AND_BYTES, TOGETHER, XOR_BYTES, cot_label};
use crate::label_keyed::{Coins, KEY, LabelPair, Points, decoding};
use crate::{Garbler, StartPoint};

/// What a caller broke who gave tables of another size.
const ROOM: &str = "exactly as many bytes as the segment's tables have";

/// The garbler of `prf-xor1-and3`.
pub struct PrfXor1And3Garbler {
    cpu: Cpu,
    points: Points,
    delta: Zeroizing<Block>,
    coins: Coins,
    /// How many wires were made around an active label.
    active_wires: u64,
    /// The segment whose turn it is.
    segment: usize,
    slots: Zeroizing<Vec<LabelPair>>,
    runs: Runs,
    work: Box<Work>,
}

/// Room for what is worked on together.
struct Work {
    /// Four keys a gate: i with select bits 0 and 1, j with select bits 0 and 1.
    keys: Zeroizing<[Block; 4 * TOGETHER]>,
    /// Points of F, overwritten by its values: one a key for XOR gates, two for AND gates.
    values: Zeroizing<[Block; 8 * TOGETHER]>,
    /// A random key for each AND gate.
    coins: Zeroizing<[Block; TOGETHER]>,
}

impl PrfXor1And3Garbler {
    pub(super) fn new(cpu: Cpu, seed: [u8; 32], start: StartPoint, delta: Block) -> Self {
        let seed = Zeroizing::new(seed);
        Self {
            cpu,
            points: Points { start, instance: 0 },
            delta: Zeroizing::new(delta),
            coins: Coins::new(cpu, &seed),
            active_wires: 0,
            segment: 0,
            slots: Zeroizing::default(),
            runs: Runs::default(),
            work: Box::new(Work {
                keys: Zeroizing::new([Block::ZERO; 4 * TOGETHER]),
                values: Zeroizing::new([Block::ZERO; 8 * TOGETHER]),
                coins: Zeroizing::new([Block::ZERO; TOGETHER]),
            }),
        }
    }

    /// Garbles a run of a batch's XOR gates, the batch's first gate being number `first` and
    /// `tables` the batch's.
    fn garble_xors(&mut self, first: usize, gates: &[XorGate], run: &[u32], tables: &mut [u8]) {
        const CALLS: [(u8, u8); 4] = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let keys = &mut self.work.keys[..4 * run.len()];
        let values = &mut self.work.values[..4 * run.len()];
        for (n, index) in run.iter().map(|index| *index as usize).enumerate() {
            let i = self.slots[gates[index].a as usize].by_select();
            let j = self.slots[gates[index].b as usize].by_select();
            for (column, label) in [i[0], i[1], j[0], j[1]].into_iter().enumerate() {
                keys[4 * n + column] = label & KEY;
            }
            for (column, (select, side)) in CALLS.iter().enumerate() {
                values[4 * n + column] = self.points.at(Use::Xor, first + index, *select, *side);
            }
        }
        encrypt_each(self.cpu, keys, values);
        for (index, f) in run.iter().zip(values.chunks_exact(4)) {
            let gate = &gates[*index as usize];
            let pi_i = self.slots[gate.a as usize].permute_bit();
            let pi_j = self.slots[gate.b as usize].permute_bit();
            let delta = (f[0] ^ f[1]) & KEY;
            let c = (f[2] ^ f[3]) & KEY ^ delta;
            let table = &mut tables[XOR_BYTES * *index as usize..][..XOR_BYTES];
            table.copy_from_slice(&c.to_bytes());
            // The translated labels with equal select bits give the output with select bit 0.
            let with_0 = (f[0] ^ f[2]) & KEY;
            self.slots[gate.out as usize] =
                LabelPair::with_active(with_0, pi_i ^ pi_j, with_0 ^ delta);
        }
    }

    /// Garbles AND gates that do not wait for each other, at most [`TOGETHER`] of them.
    fn garble_ands(&mut self, first: usize, gates: &[AndGate], tables: &mut [u8]) {
        let keys = &mut self.work.keys[..4 * gates.len()];
        let values = &mut self.work.values[..8 * gates.len()];
        let coins = &mut self.work.coins[..gates.len()];
        self.coins
            .fill(Use::And, self.points.instance, first as u64, coins);
        // Row 2a + b takes i with select bit a (side 0) and j with select bit b (side 1).
        const ROWS: [(u8, u8); 8] = [
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 0),
            (0, 1),
            (2, 1),
            (1, 1),
            (3, 1),
        ];
        for (n, gate) in gates.iter().enumerate() {
            let i = self.slots[(gate.a & !NEGATED) as usize].by_select();
            let j = self.slots[(gate.b & !NEGATED) as usize].by_select();
            for (column, label) in [i[0], i[1], j[0], j[1]].into_iter().enumerate() {
                keys[4 * n + column] = label & KEY;
            }
            for (column, (row, side)) in ROWS.iter().enumerate() {
                values[8 * n + column] = self.points.at(Use::And, first + n, *row, *side);
            }
        }
        encrypt_each_twice(self.cpu, keys, values);
        let tables = tables.chunks_exact_mut(AND_BYTES);
        let rows = values.chunks_exact(8).zip(coins).zip(tables);
        for (gate, ((f, coin), table)) in gates.iter().zip(rows) {
            let k = [f[0] ^ f[4], f[1] ^ f[6], f[2] ^ f[5], f[3] ^ f[7]];
            let pi_i = input(&self.slots, gate.a).permute_bit();
            let pi_j = input(&self.slots, gate.b).permute_bit();
            // Row 0 is the label of its value; the other label has a random key.
            let wire = LabelPair::with_active(k[0], pi_i & pi_j, *coin);
            // Row 2a + b stands for 1 where a = NOT π_i and b = NOT π_j.
            let holds_one = [pi_i & !pi_j, !pi_i & pi_j, !pi_i & !pi_j];
            let rows = table.chunks_exact_mut(Block::BYTES);
            for ((k, one), row) in k[1..].iter().zip(holds_one).zip(rows) {
                let label = Block::conditional_select(&wire.of(false), &wire.of(true), one);
                row.copy_from_slice(&(*k ^ label).to_bytes());
            }
            self.slots[gate.out as usize] = wire;
        }
    }
}

/// The labels that an AND gate's input sees.
#[inline(always)]
fn input(slots: &[LabelPair], input: u32) -> LabelPair {
    slots[(input & !NEGATED) as usize].negated_if(input & NEGATED != 0)
}

impl Garbler for PrfXor1And3Garbler {
    type Wire = LabelPair;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> LabelPair {
        let key = self.coins.one(Use::PublicLabel, 0, self.active_wires);
        self.active_wires += 1;
        LabelPair::with_active(active, Choice::from(u8::from(bit)), key)
    }

    fn wire_from_cot(&self, index: u64, q: Block) -> LabelPair {
        let label = |x: Block| cot_label(self.cpu, self.points.start, index, x);
        // Bit 0 of Δ is one, so that the select bits differ.
        LabelPair::new([label(q), label(q ^ *self.delta)])
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[LabelPair]) {
        assert_eq!(
            inputs.len(),
            program.inputs(),
            "one wire for each input of the program"
        );
        self.points.instance = instance;
        self.segment = 0;
        self.runs.reserve(program.slots());
        if self.slots.len() < program.slots() {
            // A new vector, since growing the old one would leave labels behind in memory.
            self.slots = Zeroizing::new(vec![LabelPair::default(); program.slots()]);
        }
        self.slots[..inputs.len()].copy_from_slice(inputs);
    }

    fn garble(&mut self, program: &Program, segment: usize, mut tables: &mut [u8]) {
        assert_eq!(
            segment, self.segment,
            "segments are garbled in order, each once"
        );
        self.segment += 1;
        let segment = &program.segments()[segment];
        let (mut xor, mut and) = (segment.xors.start, segment.ands.start);
        // Lent out, so that gates can be garbled run by run.
        let mut runs = mem::take(&mut self.runs);
        for batch in &program.batches()[segment.batches.clone()] {
            let xors = &program.xors()[xor..xor + batch.xors as usize];
            let xor_tables = tables.split_off_mut(..XOR_BYTES * xors.len()).expect(ROOM);
            runs.schedule(xors);
            for run in runs.iter() {
                self.garble_xors(xor, xors, run, xor_tables);
            }
            xor += xors.len();
            let ands_end = and + batch.ands as usize;
            while and < ands_end {
                let len = TOGETHER.min(ands_end - and);
                let run = tables.split_off_mut(..AND_BYTES * len).expect(ROOM);
                self.garble_ands(and, &program.ands()[and..and + len], run);
                and += len;
            }
        }
        self.runs = runs;
        assert!(tables.is_empty(), "{ROOM}");
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<LabelPair>) {
        let instance = self.points.instance;
        let wire = |(number, output): (u64, &Output)| match *output {
            Output::Slot { slot, negated } => self.slots[slot as usize].negated_if(negated),
            // The evaluator's label of a constant is zero: what it stands for is no secret.
            Output::Constant(bit) => {
                let key = self.coins.one(Use::Out, instance, number);
                LabelPair::with_active(Block::ZERO, Choice::from(u8::from(bit)), key)
            }
        };
        outputs.extend((0..).zip(program.outputs()).map(wire));
    }

    fn decoding(&self, first: u64, wires: &[LabelPair], out: &mut Vec<u8>) {
        decoding(self.cpu, self.points, first, wires, out);
    }

    fn label_with_select(&self, wire: &LabelPair, select: bool) -> (Block, bool) {
        let select = Choice::from(u8::from(select));
        let [with_0, with_1] = wire.by_select();
        let label = Block::conditional_select(&with_0, &with_1, select);
        (label, (wire.permute_bit() ^ select).into())
    }
}
