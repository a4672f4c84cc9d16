//! The evaluator of privacy-free garbling, who knows every value.

use core::fmt;

use tacit_circuit::{AndGate, Output, Program};
use tacit_kernels::{Block, Cpu, Kernel, Simd, SlotView, prefetch_beyond};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{AND_BYTES, KEY, VALUE, ValuedLabel};
use crate::StartPoint;
use crate::half_gates::gates::{Gates, Slots, fill_up, xor_gates};
use crate::half_gates::hashing::{Hashing, MAX_LANES, TwoCall};

/// Vectors of gates in one step: one label each, so eight in flight.
const EVALUATED: usize = 8;
/// Most gates of one step.
const STEP: usize = EVALUATED * MAX_LANES;

/// The evaluator's half of privacy-free garbling. Wiped when dropped.
#[derive(ZeroizeOnDrop)]
pub struct PrivacyFreeEvaluator {
    #[zeroize(skip)]
    cpu: Cpu,
    start: StartPoint,
    instance: u32,
    /// The segment that comes next.
    next: usize,
    slots: Slots,
}

impl PrivacyFreeEvaluator {
    pub(super) const fn new(cpu: Cpu, start: StartPoint) -> Self {
        Self {
            cpu,
            start,
            instance: 0,
            next: 0,
            slots: Slots::new(),
        }
    }

    /// Starts evaluating `program` as `instance` on these labels and their values.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has.
    pub fn begin(&mut self, instance: u32, program: &Program, inputs: &[ValuedLabel]) {
        let labels: Vec<Block> = inputs.iter().map(|label| label.0).collect();
        self.slots.begin(program, &Zeroizing::new(labels));
        self.instance = instance;
        self.next = 0;
    }

    /// Evaluates one segment with its tables, exactly
    /// [`table_bytes`](super::PrivacyFree::table_bytes) of them. The bytes come from the peer: any
    /// value is evaluated to some labels, none panics, and the values are right whatever they are.
    ///
    /// # Panics
    ///
    /// If it is another segment's turn, or `tables` has another length.
    pub fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        assert_eq!(segment, self.next, "segments are evaluated in order");
        self.next += 1;
        self.cpu.dispatch(Evaluate {
            start: self.start,
            instance: self.instance,
            slots: self.slots.as_mut_slice(),
            gates: Gates::of(program, segment),
            tables,
        });
    }

    /// Appends the output labels of the program that was evaluated, with their values, to
    /// `outputs`.
    ///
    /// # Panics
    ///
    /// If a segment is left.
    pub fn finish(&mut self, program: &Program, outputs: &mut Vec<ValuedLabel>) {
        assert_eq!(
            self.next,
            program.segments().len(),
            "every segment is evaluated before the end"
        );
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, negated } => ValuedLabel(self.slots.get(slot)).negated_if(negated),
            Output::Constant(bit) => ValuedLabel(Block::ZERO).negated_if(bit),
        }));
    }
}

impl fmt::Debug for PrivacyFreeEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivacyFreeEvaluator({:?})", self.cpu)
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

/// Evaluates AND gates under one key, from gate `number` on: as many whole steps as there are, and
/// then what is left.
#[inline(always)]
fn evaluate_run<S: Simd>(
    simd: S,
    hashing: &TwoCall<S>,
    mut number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[[u8; AND_BYTES]],
) {
    let step = EVALUATED * S::LANES;
    let whole = gates.len() - gates.len() % step;
    let (gates, left) = gates.split_at(whole);
    let (tables, left_tables) = tables.split_at(whole);
    for (gates, tables) in gates.chunks_exact(step).zip(tables.chunks_exact(step)) {
        prefetch_beyond(gates);
        prefetch_beyond(tables);
        evaluate_step::<S, EVALUATED>(simd, hashing, number, gates, slots, tables);
        number += step as u64;
    }
    if left.is_empty() {
        return;
    }
    let filled = fill_up::<STEP>(left, 0, slots);
    let mut rows = [[0; AND_BYTES]; STEP];
    rows[..left.len()].copy_from_slice(left_tables);
    if left.len() <= S::LANES {
        let (filled, rows) = (&filled[..S::LANES], &rows[..S::LANES]);
        evaluate_step::<S, 1>(simd, hashing, number, filled, slots, rows);
    } else {
        let (filled, rows) = (&filled[..step], &rows[..step]);
        evaluate_step::<S, EVALUATED>(simd, hashing, number, filled, slots, rows);
    }
}

/// Evaluates `N` vectors of gates.
#[inline(always)]
fn evaluate_step<S: Simd, const N: usize>(
    simd: S,
    hashing: &TwoCall<S>,
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[[u8; AND_BYTES]],
) {
    let key = simd.splat(KEY);
    let negations = [Block::ZERO, VALUE];
    let pin = |slots: &SlotView<'_>, gates: &[AndGate], pin: fn(&AndGate) -> u32| {
        let label = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
        let negation = simd.gather(&negations, |lane| (pin(&gates[lane]) >> 31) as usize);
        simd.xor(label, negation)
    };
    let mut a = [[key; 1]; N];
    let mut b = [key; N];
    for ((a, b), gates) in a.iter_mut().zip(&mut b).zip(gates.chunks_exact(S::LANES)) {
        *a = [pin(slots, gates, |gate| gate.a)];
        *b = pin(slots, gates, |gate| gate.b);
    }
    let inner = hashing.first_call(simd, a);
    let hashes = hashing.second_call(simd, number, [0], inner);
    let gates = gates.chunks_exact(S::LANES);
    let tables = tables.chunks_exact(S::LANES);
    let labels = a.into_iter().zip(b).zip(hashes);
    for ((([a], b), [h]), (gates, tables)) in labels.zip(gates.zip(tables)) {
        let value = simd.lsb_mask(a);
        let t = simd.and(value, simd.load_rows(tables, 0));
        let label = simd.and(simd.xor(h, t), key);
        let label = simd.xor(label, simd.and(value, b));
        simd.scatter(label, slots, |lane| gates[lane].out as usize);
    }
}
