//! The evaluator: one label of each wire.

use core::mem;
use tacit_circuit::{AndGate, NEGATED, Output, Program, XorGate};
use tacit_kernels::{Block, Cpu, Use, encrypt_each};
use zeroize::Zeroizing;

use super::runs::Runs;
use super::{AND_BYTES, TOGETHER, XOR_BYTES, cot_label};
use crate::label_keyed::{KEY, Points, decode};
use crate::{DecodeError, Evaluator, StartPoint};

/// What a caller broke who gave tables of another size.
const TABLES: &str = "exactly as many bytes as the segment's tables have";

/// The evaluator of `prf-xor1-and3`.
pub struct PrfXor1And3Evaluator {
    cpu: Cpu,
    points: Points,
    /// The segment whose turn it is.
    segment: usize,
    slots: Zeroizing<Vec<Block>>,
    runs: Runs,
    work: Box<Work>,
}

/// Room for what is worked on together: for each gate the keys of i and j.
struct Work {
    keys: Zeroizing<[Block; 2 * TOGETHER]>,
    /// Points of F, overwritten by its values.
    values: Zeroizing<[Block; 2 * TOGETHER]>,
}

impl PrfXor1And3Evaluator {
    pub(super) fn new(cpu: Cpu, start: StartPoint) -> Self {
        Self {
            cpu,
            points: Points { start, instance: 0 },
            segment: 0,
            slots: Zeroizing::default(),
            runs: Runs::default(),
            work: Box::new(Work {
                keys: Zeroizing::new([Block::ZERO; 2 * TOGETHER]),
                values: Zeroizing::new([Block::ZERO; 2 * TOGETHER]),
            }),
        }
    }

    /// Evaluates a run of a batch's XOR gates, the batch's first gate being number `first` and
    /// `tables` the batch's.
    fn evaluate_xors(&mut self, first: usize, gates: &[XorGate], run: &[u32], tables: &[u8]) {
        let keys = &mut self.work.keys[..2 * run.len()];
        let values = &mut self.work.values[..2 * run.len()];
        for (n, index) in run.iter().map(|index| *index as usize).enumerate() {
            for (side, slot) in [(0, gates[index].a), (1, gates[index].b)] {
                let label = self.slots[slot as usize];
                let row = label.lsb().unwrap_u8();
                keys[2 * n + usize::from(side)] = label & KEY;
                values[2 * n + usize::from(side)] =
                    self.points.at(Use::Xor, first + index, row, side);
            }
        }
        encrypt_each(self.cpu, keys, values);
        let tables = tables.as_chunks::<XOR_BYTES>().0;
        for (index, f) in run.iter().zip(values.chunks_exact(2)) {
            let gate = &gates[*index as usize];
            let (i, j) = (self.slots[gate.a as usize], self.slots[gate.b as usize]);
            let c = Block::from_bytes(tables[*index as usize]).and_bit(j.lsb());
            let key = f[0] ^ f[1] ^ c;
            self.slots[gate.out as usize] = key.with_lsb(i.lsb() ^ j.lsb());
        }
    }

    /// Evaluates AND gates that do not wait for each other, at most [`TOGETHER`] of them.
    fn evaluate_ands(&mut self, first: usize, gates: &[AndGate], tables: &[u8]) {
        let keys = &mut self.work.keys[..2 * gates.len()];
        let values = &mut self.work.values[..2 * gates.len()];
        for (n, gate) in gates.iter().enumerate() {
            let inputs = [gate.a, gate.b].map(|input| self.slots[(input & !NEGATED) as usize]);
            let [a, b] = inputs.map(|label| label.lsb().unwrap_u8());
            for (side, label) in [0, 1].into_iter().zip(inputs) {
                keys[2 * n + usize::from(side)] = label & KEY;
                values[2 * n + usize::from(side)] =
                    self.points.at(Use::And, first + n, 2 * a + b, side);
            }
        }
        encrypt_each(self.cpu, keys, values);
        let tables = tables.as_chunks::<AND_BYTES>().0;
        for ((gate, f), table) in gates.iter().zip(values.chunks_exact(2)).zip(tables) {
            let [a, b] =
                [gate.a, gate.b].map(|input| self.slots[(input & !NEGATED) as usize].lsb());
            let row = [!a & b, a & !b, a & b]
                .into_iter()
                .zip(table.as_chunks().0)
                .fold(Block::ZERO, |sum, (taken, row)| {
                    sum ^ Block::from_bytes(*row).and_bit(taken)
                });
            self.slots[gate.out as usize] = f[0] ^ f[1] ^ row;
        }
    }
}

impl Evaluator for PrfXor1And3Evaluator {
    fn label_from_cot(&self, index: u64, t: Block, _bit: bool) -> Block {
        cot_label(self.cpu, self.points.start, index, t)
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        assert_eq!(
            inputs.len(),
            program.inputs(),
            "one label for each input of the program"
        );
        self.points.instance = instance;
        self.segment = 0;
        self.runs.reserve(program.slots());
        if self.slots.len() < program.slots() {
            // A new vector, since growing the old one would leave labels behind in memory.
            self.slots = Zeroizing::new(vec![Block::ZERO; program.slots()]);
        }
        self.slots[..inputs.len()].copy_from_slice(inputs);
    }

    fn evaluate(&mut self, program: &Program, segment: usize, mut tables: &[u8]) {
        assert_eq!(
            segment, self.segment,
            "segments are evaluated in order, each once"
        );
        self.segment += 1;
        let segment = &program.segments()[segment];
        let (mut xor, mut and) = (segment.xors.start, segment.ands.start);
        // Lent out, so that gates can be evaluated run by run.
        let mut runs = mem::take(&mut self.runs);
        for batch in &program.batches()[segment.batches.clone()] {
            let xors = &program.xors()[xor..xor + batch.xors as usize];
            let xor_tables = tables.split_off(..XOR_BYTES * xors.len()).expect(TABLES);
            runs.schedule(xors);
            for run in runs.iter() {
                self.evaluate_xors(xor, xors, run, xor_tables);
            }
            xor += xors.len();
            let ands_end = and + batch.ands as usize;
            while and < ands_end {
                let len = TOGETHER.min(ands_end - and);
                let run = tables.split_off(..AND_BYTES * len).expect(TABLES);
                self.evaluate_ands(and, &program.ands()[and..and + len], run);
                and += len;
            }
        }
        self.runs = runs;
        assert!(tables.is_empty(), "{TABLES}");
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        let label = |output: &Output| match *output {
            Output::Slot { slot, .. } => self.slots[slot as usize],
            Output::Constant(_) => Block::ZERO,
        };
        outputs.extend(program.outputs().iter().map(label));
    }

    /// The values, with ⊥ where a label fits neither decoding value, or both.
    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
        decode(self.cpu, self.points, first, labels, decoding)
    }
}
