//! The evaluator of three halves.

use core::fmt;

use tacit_circuit::{AndGate, Program};
use tacit_kernels::{Block, Kernel, Simd, SlotView, prefetch_beyond};
use zeroize::Zeroizing;

use super::{AND_BYTES, C_U, C_V, Z_0, Z_1, Z_2};
use super::{CONTROL_AT, EVALUATED, SECOND_AT};
use crate::half_gates::HalfGatesEvaluator;
use crate::half_gates::gates::{Gates, fill_up, xor_gates};
use crate::half_gates::hashing::{Hashing, MAX_LANES, TwoCall};
use crate::{DecodeError, Evaluator, StartPoint};

/// Most gates of one step.
const STEP: usize = EVALUATED * MAX_LANES;

/// The evaluator's half of three halves. Wiped when dropped.
pub struct ThreeHalvesEvaluator {
    /// Labels, links and decoding are those of half-gates.
    labels: HalfGatesEvaluator,
}

impl ThreeHalvesEvaluator {
    pub(super) const fn new(labels: HalfGatesEvaluator) -> Self {
        Self { labels }
    }
}

impl Evaluator for ThreeHalvesEvaluator {
    fn label_from_cot(&self, index: u64, t: Block, bit: bool) -> Block {
        self.labels.label_from_cot(index, t, bit)
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.labels.begin(instance, program, inputs);
    }

    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        let labels = &mut self.labels;
        labels.enter(segment);
        labels.cpu.dispatch(Evaluate {
            start: labels.start,
            instance: labels.instance,
            slots: labels.slots.as_mut_slice(),
            gates: Gates::of(program, segment),
            tables,
        });
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        self.labels.finish(program, outputs);
    }

    fn follow_links(&self, start: StartPoint, first: u64, labels: &mut [Block], links: &[u8]) {
        self.labels.follow_links(start, first, labels, links);
    }

    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
        self.labels.decode(first, labels, decoding)
    }
}

impl fmt::Debug for ThreeHalvesEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreeHalvesEvaluator({:?})", self.labels.cpu)
    }
}

/// The evaluation of one segment.
struct Evaluate<'a> {
    start: StartPoint,
    instance: u32,
    slots: &'a mut [Block],
    gates: Gates<'a>,
    tables: &'a [u8],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { mut gates, .. } = self;
        assert_eq!(
            self.tables.len(),
            AND_BYTES * gates.ands.len(),
            "tables hold the segment's AND gates"
        );
        let (mut tables, _) = self.tables.as_chunks::<AND_BYTES>();
        let slots = &mut SlotView::new(self.slots);
        let mut hashing = TwoCall::new(simd, self.start, self.instance);
        let mut number = gates.first_and;
        for batch in gates.batches {
            let xors;
            (xors, gates.xors) = gates.xors.split_at(batch.xors as usize);
            xor_gates(slots, xors);
            let mut ands;
            (ands, gates.ands) = gates.ands.split_at(batch.ands as usize);
            while !ands.is_empty() {
                let count = ands.len().min(hashing.keys_for(simd, number));
                let (now, rows);
                (now, ands) = ands.split_at(count);
                (rows, tables) = tables.split_at(count);
                evaluate_run(simd, &hashing, number, now, slots, rows);
                number += count as u64;
            }
        }
    }
}

/// Evaluates AND gates under keys that are at hand, from gate `number` on: as many whole steps as
/// there are, and then what is left.
#[inline(always)]
fn evaluate_run<S: Simd>(
    simd: S,
    hashing: &TwoCall<S>,
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[[u8; AND_BYTES]],
) {
    let step = EVALUATED * S::LANES;
    let whole = gates.len() - gates.len() % step;
    let (gates, left) = gates.split_at(whole);
    let (tables, left_tables) = tables.split_at(whole);
    evaluate_steps::<S, EVALUATED>(simd, hashing, number, gates, slots, tables);
    if left.is_empty() {
        return;
    }
    let filled = fill_up::<STEP>(left, 0, slots);
    let mut rows = [[0; AND_BYTES]; STEP];
    rows[..left_tables.len()].copy_from_slice(left_tables);
    let number = number + whole as u64;
    if left.len() <= S::LANES {
        let (filled, rows) = (&filled[..S::LANES], &rows[..S::LANES]);
        evaluate_steps::<S, 1>(simd, hashing, number, filled, slots, rows);
    } else {
        let (filled, rows) = (&filled[..step], &rows[..step]);
        evaluate_steps::<S, EVALUATED>(simd, hashing, number, filled, slots, rows);
    }
}

/// Evaluates gates in steps of `N` vectors, from gate `number` on.
///
/// The first calls of a step are made before the step before it is finished, so that neither waits
/// for the other. No gate of a batch reads what another one writes, so labels may be read early.
#[inline(always)]
fn evaluate_steps<S: Simd, const N: usize>(
    simd: S,
    hashing: &TwoCall<S>,
    mut number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[[u8; AND_BYTES]],
) {
    let step = N * S::LANES;
    let mut steps = gates.chunks_exact(step).zip(tables.chunks_exact(step));
    let Some(mut now) = steps.next() else {
        return;
    };
    let mut labels = read_labels::<S, N>(simd, now.0, slots);
    let mut inner = hashing.first_call(simd, labels);
    for next in steps {
        prefetch_beyond(next.0);
        prefetch_beyond(next.1);
        let hashes = hashing.second_call(simd, number, PLACES, inner);
        let read = read_labels::<S, N>(simd, next.0, slots);
        inner = hashing.first_call(simd, read);
        finish_step(simd, labels, hashes, now.0, slots, now.1);
        (labels, now) = (read, next);
        number += step as u64;
    }
    let hashes = hashing.second_call(simd, number, PLACES, inner);
    finish_step(simd, labels, hashes, now.0, slots, now.1);
}

/// The places of A, B and S in the hash.
const PLACES: [u8; 3] = [0, 1, 2];

/// A, B and S of a step's gates.
#[inline(always)]
fn read_labels<S: Simd, const N: usize>(
    simd: S,
    gates: &[AndGate],
    slots: &SlotView<'_>,
) -> [[S::Vector; 3]; N] {
    let mut x = [[simd.splat(Block::ZERO); 3]; N];
    for (x, gates) in x.iter_mut().zip(gates.chunks_exact(S::LANES)) {
        let a = simd.gather(slots, |lane| gates[lane].a as usize);
        let b = simd.gather(slots, |lane| gates[lane].b as usize);
        *x = [a, b, simd.xor(a, b)];
    }
    x
}

/// Writes the output labels of a step's gates.
#[inline(always)]
fn finish_step<S: Simd, const N: usize>(
    simd: S,
    x: [[S::Vector; 3]; N],
    hashes: [[S::Vector; 3]; N],
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[[u8; AND_BYTES]],
) {
    for (n, (x, hashes)) in x.into_iter().zip(hashes).enumerate() {
        let (from, to) = (n * S::LANES, (n + 1) * S::LANES);
        let label = evaluate_gates(simd, rows_of(simd, &tables[from..to]), x, hashes);
        let gates = &gates[from..to];
        simd.scatter(label, slots, |lane| gates[lane].out as usize);
    }
}

/// The tables of a vector of gates, taken apart: `G_0`‖`G_1`, something below `G_2`, and the
/// control bits that belong to i, to j, and to neither.
#[inline(always)]
fn rows_of<S: Simd>(simd: S, tables: &[[u8; AND_BYTES]]) -> [S::Vector; 5] {
    let control =
        |part: &[Block; 32]| simd.gather(part, |lane| usize::from(tables[lane][CONTROL_AT] & 31));
    [
        simd.load_rows(tables, 0),
        simd.load_rows(tables, SECOND_AT),
        control(&CONTROL[0]),
        control(&CONTROL[1]),
        control(&CONTROL[2]),
    ]
}

/// By control byte, what is added to the dice (v at bit 63, u at bit 127) where i is set, where j is
/// set, and always: (z_2, z_0 ⊕ z_2), (z_1 ⊕ z_2, z_2), (c_v, c_u). Tables are public, and so is
/// this index.
const CONTROL: [[Block; 32]; 3] = {
    let mut parts = [[Block::ZERO; 32]; 3];
    let mut byte = 0;
    while byte < 32 {
        let bits = byte as u128;
        let [z_0, z_1, z_2] = [bits >> Z_0 & 1, bits >> Z_1 & 1, bits >> Z_2 & 1];
        let [c_u, c_v] = [bits >> C_U & 1, bits >> C_V & 1];
        parts[0][byte] = Block::from_u128(z_2 << 63 | (z_0 ^ z_2) << 127);
        parts[1][byte] = Block::from_u128((z_1 ^ z_2) << 63 | z_2 << 127);
        parts[2][byte] = Block::from_u128(c_v << 63 | c_u << 127);
        byte += 1;
    }
    parts
};

/// The output labels of gates, from their tables, the labels A, B and A ⊕ B, and their hashes.
#[inline(always)]
fn evaluate_gates<S: Simd>(
    simd: S,
    [first, second, control_i, control_j, control]: [S::Vector; 5],
    [a, b, _]: [S::Vector; 3],
    [h_a, h_b, h_s]: [S::Vector; 3],
) -> S::Vector {
    let xor = |a, b| simd.xor(a, b);
    let and = |a, b| simd.and(a, b);
    let zero = simd.splat(Block::ZERO);
    let (i, j) = (simd.lsb_mask(a), simd.lsb_mask(b));
    let halves = |low, high| simd.halves(low, high);

    let hashed = xor(halves(h_b, h_a), simd.low_twice(h_s));
    let told = xor(control, xor(and(i, control_i), and(j, control_j)));
    let dice = simd.msb_masks_of_halves(xor(hashed, told));
    let (u, v) = (simd.high_twice(dice), simd.low_twice(dice));

    let both = simd.high_twice(xor(h_s, and(xor(i, j), second)));
    let label = xor(halves(h_a, h_b), both);
    let label = xor(label, and(halves(i, j), xor(first, halves(b, a))));
    // The dice times x, ω taking it to its halves exchanged, and the low one added to itself.
    let x = xor(a, simd.sigma(b));
    let omega = xor(simd.swap_halves(x), halves(x, zero));
    xor(label, xor(and(u, omega), and(v, x)))
}
