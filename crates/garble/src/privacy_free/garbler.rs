//! The garbler of privacy-free garbling.

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use tacit_circuit::{AndGate, Output, Program};
use tacit_kernels::{Block, Cpu, Kernel, Simd, SlotView, prefetch_beyond};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{AND_BYTES, KEY, NotAuthentic, Opening, PrivacyFreeWire, ValuedLabel};
use crate::StartPoint;
use crate::decoding::{self, Fit};
use crate::half_gates::gates::{Gates, Slots, fill_up, xor_gates};
use crate::half_gates::hashing::{Hashing, MAX_LANES, TwoCall};

/// Vectors of gates in one step: two labels each, so eight in flight.
const GARBLED: usize = 4;
/// Most gates of one step.
const STEP: usize = GARBLED * MAX_LANES;

/// The garbler's half of privacy-free garbling. Wiped when dropped.
#[derive(ZeroizeOnDrop)]
pub struct PrivacyFreeGarbler {
    #[zeroize(skip)]
    cpu: Cpu,
    start: StartPoint,
    delta: Block,
    instance: u32,
    /// The segment that comes next.
    next: usize,
    slots: Slots,
}

impl PrivacyFreeGarbler {
    pub(super) fn new(cpu: Cpu, start: StartPoint, delta: Block) -> Self {
        assert!(
            bool::from(delta.lsb()),
            "bit 0 of Δ is set, so that bit 0 of a label is its value"
        );
        Self {
            cpu,
            start,
            delta,
            instance: 0,
            next: 0,
            slots: Slots::new(),
        }
    }

    /// The label of `wire` for `value`.
    #[must_use]
    pub fn label(&self, wire: PrivacyFreeWire, value: bool) -> ValuedLabel {
        ValuedLabel(wire.0 ^ self.delta.and_bit(Choice::from(u8::from(value))))
    }

    /// Starts garbling `program` as `instance`, which is never used again under this start point.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has.
    pub fn begin(&mut self, instance: u32, program: &Program, inputs: &[PrivacyFreeWire]) {
        let zeros: Vec<Block> = inputs.iter().map(|wire| wire.0).collect();
        self.slots.begin(program, &Zeroizing::new(zeros));
        self.instance = instance;
        self.next = 0;
    }

    /// Garbles one segment into `tables`, which is exactly
    /// [`table_bytes`](super::PrivacyFree::table_bytes) long. Segments are taken in order, each
    /// once, of the program that was begun.
    ///
    /// # Panics
    ///
    /// If it is another segment's turn, or `tables` has another length.
    pub fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        assert_eq!(segment, self.next, "segments are garbled in order");
        self.next += 1;
        self.cpu.dispatch(Garble {
            start: self.start,
            instance: self.instance,
            delta: self.delta,
            slots: self.slots.as_mut_slice(),
            gates: Gates::of(program, segment),
            tables,
        });
    }

    /// Appends the output wires of the program that was garbled to `outputs`.
    ///
    /// # Panics
    ///
    /// If a segment is left.
    pub fn finish(&mut self, program: &Program, outputs: &mut Vec<PrivacyFreeWire>) {
        assert_eq!(
            self.next,
            program.segments().len(),
            "every segment is garbled before the end"
        );
        let negated_if = |zero: Block, negated: bool| {
            let offset = self.delta & KEY;
            PrivacyFreeWire(zero ^ offset.and_bit(Choice::from(u8::from(negated))))
        };
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, negated } => negated_if(self.slots.get(slot), negated),
            Output::Constant(bit) => negated_if(Block::ZERO, bit),
        }));
    }

    /// The values that `labels`, which come from the evaluator, prove for `wires`, whose first has
    /// number `first` in an error. The time does not depend on the labels, nor on which of them is
    /// refused.
    ///
    /// # Errors
    ///
    /// A label is neither of its wire's, or there are more or fewer labels than wires.
    pub fn authenticate(
        &self,
        first: u64,
        wires: &[PrivacyFreeWire],
        labels: &[ValuedLabel],
    ) -> Result<Zeroizing<Vec<bool>>, NotAuthentic> {
        if wires.len() != labels.len() {
            return Err(NotAuthentic::WrongCount {
                expected: wires.len(),
                found: labels.len(),
            });
        }
        let fits = wires.iter().zip(labels).map(|(wire, label)| Fit {
            zero: label.0.ct_eq(&wire.0),
            one: label.0.ct_eq(&(wire.0 ^ self.delta)),
        });
        decoding::values(first, fits).map_err(NotAuthentic::NeitherLabel)
    }

    /// Gives away all secrets of a garbling that began with `inputs`: for the evaluator to check
    /// it, once the evaluator is committed to what it will show. Δ is of no use any more.
    #[must_use]
    pub fn open(self, inputs: &[PrivacyFreeWire]) -> Opening {
        Opening {
            delta: self.delta,
            inputs: inputs.iter().map(|wire| wire.0).collect(),
        }
    }
}

impl fmt::Debug for PrivacyFreeGarbler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivacyFreeGarbler({:?})", self.cpu)
    }
}

/// The garbling of one segment.
struct Garble<'a> {
    start: StartPoint,
    instance: u32,
    delta: Block,
    slots: &'a mut [Block],
    gates: Gates<'a>,
    tables: &'a mut [u8],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { mut gates, .. } = self;
        assert_eq!(
            self.tables.len(),
            AND_BYTES * gates.ands.len(),
            "tables have room for the segment's AND gates"
        );
        let (mut tables, _) = self.tables.as_chunks_mut::<AND_BYTES>();
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
                (rows, tables) = tables.split_at_mut(count);
                garble_run(simd, &hashing, self.delta, number, now, slots, rows);
                number += count as u64;
            }
        }
    }
}

/// Garbles AND gates under one key, from gate `number` on: as many whole steps as there are, and
/// then what is left.
#[inline(always)]
fn garble_run<S: Simd>(
    simd: S,
    hashing: &TwoCall<S>,
    delta: Block,
    mut number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [[u8; AND_BYTES]],
) {
    let step = GARBLED * S::LANES;
    let whole = gates.len() - gates.len() % step;
    let (gates, left) = gates.split_at(whole);
    let (tables, left_tables) = tables.split_at_mut(whole);
    for (gates, tables) in gates.chunks_exact(step).zip(tables.chunks_exact_mut(step)) {
        prefetch_beyond(gates);
        prefetch_beyond(tables);
        garble_step::<S, GARBLED>(simd, hashing, delta, number, gates, slots, tables);
        number += step as u64;
    }
    if left.is_empty() {
        return;
    }
    let filled = fill_up::<STEP>(left, 0, slots);
    let mut rows = [[0; AND_BYTES]; STEP];
    if left.len() <= S::LANES {
        let (filled, rows) = (&filled[..S::LANES], &mut rows[..S::LANES]);
        garble_step::<S, 1>(simd, hashing, delta, number, filled, slots, rows);
    } else {
        let (filled, rows) = (&filled[..step], &mut rows[..step]);
        garble_step::<S, GARBLED>(simd, hashing, delta, number, filled, slots, rows);
    }
    left_tables.copy_from_slice(&rows[..left.len()]);
}

/// Garbles `N` vectors of gates.
#[inline(always)]
fn garble_step<S: Simd, const N: usize>(
    simd: S,
    hashing: &TwoCall<S>,
    delta: Block,
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [[u8; AND_BYTES]],
) {
    let (offset, key) = (simd.splat(delta), simd.splat(KEY));
    let negations = [Block::ZERO, delta & KEY];
    let pin = |slots: &SlotView<'_>, gates: &[AndGate], pin: fn(&AndGate) -> u32| {
        let zero = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
        let negation = simd.gather(&negations, |lane| (pin(&gates[lane]) >> 31) as usize);
        simd.xor(zero, negation)
    };
    let mut a = [[offset; 2]; N];
    let mut b = [offset; N];
    for ((a, b), gates) in a.iter_mut().zip(&mut b).zip(gates.chunks_exact(S::LANES)) {
        let zero = pin(slots, gates, |gate| gate.a);
        *a = [zero, simd.xor(zero, offset)];
        *b = pin(slots, gates, |gate| gate.b);
    }
    let inner = hashing.first_call(simd, a);
    let hashes = hashing.second_call(simd, number, [0, 0], inner);
    let gates = gates.chunks_exact(S::LANES);
    let tables = tables.chunks_exact_mut(S::LANES);
    for (([h_0, h_1], b), (gates, tables)) in hashes.into_iter().zip(b).zip(gates.zip(tables)) {
        let t = simd.and(simd.xor(simd.xor(h_0, h_1), b), key);
        simd.store_rows(t, tables, 0);
        let zero = simd.and(h_0, key);
        simd.scatter(zero, slots, |lane| gates[lane].out as usize);
    }
}
