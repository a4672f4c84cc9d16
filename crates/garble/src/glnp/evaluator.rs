//! The evaluator, which has one label of each wire.

use core::marker::PhantomData;

use tacit_circuit::{AndGate, Program, XorGate, XorLevel};
use tacit_kernels::{Block, Cpu, Kernel, MAX_LANES, Simd, Use};
use zeroize::Zeroizing;

use super::frame::{Frame, blocks_for};
use super::{AndRows, Gates, XorRows, bits_bytes, cot_label};
use crate::prf_calls::{Points, TABLES, decode, output_labels, place_inputs};
use crate::{DecodeError, Evaluator, StartPoint};

/// The number of labels that the evaluator has of a wire.
const LABELS: usize = 1;
/// The evaluator of schemes without a global offset.
pub struct GlnpEvaluator<G> {
    cpu: Cpu,
    points: Points,
    /// The next segment.
    segment: usize,
    /// A label for each slot, of [`blocks_for`] slots.
    slots: Zeroizing<Vec<Block>>,
    gates: PhantomData<fn() -> G>,
}

impl<G: Gates> GlnpEvaluator<G> {
    pub(super) fn new(cpu: Cpu, start: StartPoint) -> Self {
        Self {
            cpu,
            points: Points { start, instance: 0 },
            segment: 0,
            slots: Zeroizing::default(),
            gates: PhantomData,
        }
    }

    /// Implements [`Gates::evaluate_segment`].
    pub(crate) fn evaluate_next(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        assert_eq!(
            segment, self.segment,
            "segments are evaluated in order, each once"
        );
        self.segment += 1;
        let segment = &program.segments()[segment];
        let at_end = tables.len().checked_sub(bits_bytes::<G>(segment));
        let (mut tables, bits) = tables.split_at(at_end.expect(TABLES));
        let (mut xor, mut and) = (segment.xors.start, segment.ands.start);
        for batch in segment.batches.clone() {
            let levels = program.xor_levels();
            let (xors, ands) = {
                let batch = program.batches()[batch];
                (batch.xors as usize, batch.ands as usize)
            };
            self.cpu.dispatch(Xors::<G> {
                points: self.points,
                slots: &mut self.slots,
                first: xor,
                gates: &levels.gates()[xor..xor + xors],
                levels: levels.levels(batch),
                tables: tables.split_off(..G::Xor::BYTES * xors).expect(TABLES),
                scheme: PhantomData,
            });
            self.cpu.dispatch(Ands::<G> {
                points: self.points,
                slots: &mut self.slots,
                first: and,
                gates: &program.ands()[and..and + ands],
                rows: tables.split_off(..G::And::BYTES * ands).expect(TABLES),
                bits,
                at: and - segment.ands.start,
                scheme: PhantomData,
            });
            (xor, and) = (xor + xors, and + ands);
        }
        assert!(tables.is_empty(), "{TABLES}");
    }
}

/// Evaluates a batch's XOR gates, level by level.
struct Xors<'a, G> {
    points: Points,
    slots: &'a mut [Block],
    first: usize,
    gates: &'a [XorGate],
    levels: &'a [XorLevel],
    tables: &'a [u8],
    scheme: PhantomData<G>,
}

impl<G: Gates> Kernel for Xors<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut frame = Frame::new(simd, self.slots, LABELS, self.points, Use::Xor, self.first);
        let (mut gates, mut tables) = (self.gates, self.tables);
        for level in self.levels {
            for (private, count) in [(true, level.private), (false, level.shared)] {
                let count = count as usize;
                let gates = gates.split_off(..count).expect("the level's gates");
                let tables = tables.split_off(..G::Xor::BYTES * count).expect(TABLES);
                G::Xor::evaluate(&mut frame, gates, private, tables);
            }
        }
    }
}

/// Evaluates a batch's AND gates.
struct Ands<'a, G> {
    points: Points,
    slots: &'a mut [Block],
    first: usize,
    gates: &'a [AndGate],
    rows: &'a [u8],
    bits: &'a [u8],
    /// The place of the first gate in its segment.
    at: usize,
    scheme: PhantomData<G>,
}

impl<G: Gates> Kernel for Ands<'_, G> {
    type Output = ();

    fn gains_by_width(&self) -> bool {
        self.gates.len() > 2 * MAX_LANES
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut frame = Frame::new(simd, self.slots, LABELS, self.points, Use::And, self.first);
        G::And::evaluate(&mut frame, self.gates, self.rows, self.bits, self.at);
    }
}

impl<G: Gates> Evaluator for GlnpEvaluator<G> {
    fn label_from_cot(&self, index: u64, t: Block, _bit: bool) -> Block {
        cot_label(self.cpu, self.points.start, index, t)
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.points.instance = instance;
        self.segment = 0;
        let blocks = blocks_for(program.slots(), LABELS);
        place_inputs(program, inputs, &mut self.slots, blocks);
    }

    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        G::evaluate_segment(self, program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        output_labels(program, &self.slots, outputs);
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
