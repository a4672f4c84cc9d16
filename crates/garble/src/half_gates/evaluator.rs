//! The evaluator of half-gates.

use core::fmt;

use subtle::ConstantTimeEq;
use tacit_circuit::{AndGate, Output, Program};
use tacit_kernels::{
    Block, Construction, Cpu, Kernel, Simd, SlotView, TweakableHash, prefetch_beyond,
};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::gates::{Gates, Slots, fill_up, xor_gates};
use super::hashing::{EVALUATED, Hashing, MAX_LANES, Rekeyed, TwoCall, lanes_for};
use super::lone::{self, Recent};
use super::{AND_BYTES, OUTPUT_BYTES, TAG_BYTES, output_tag, output_tweak};
use crate::decoding::{self, Fit};
use crate::link::follow_offset_links;
use crate::{DecodeError, Evaluator, StartPoint};

/// Most gates of one step.
const STEP: usize = EVALUATED * MAX_LANES;

/// The evaluator's half of half-gates. Wiped when dropped.
#[derive(ZeroizeOnDrop)]
pub struct HalfGatesEvaluator {
    #[zeroize(skip)]
    pub(crate) cpu: Cpu,
    #[zeroize(skip)]
    construction: Construction,
    pub(crate) start: StartPoint,
    pub(crate) instance: u32,
    /// The segment that comes next.
    next: usize,
    pub(crate) slots: Slots,
}

impl HalfGatesEvaluator {
    pub(super) const fn new(cpu: Cpu, construction: Construction, start: StartPoint) -> Self {
        Self {
            cpu,
            construction,
            start,
            instance: 0,
            next: 0,
            slots: Slots::new(),
        }
    }

    /// Takes up the next segment, which this must be.
    pub(crate) fn enter(&mut self, segment: usize) {
        assert_eq!(segment, self.next, "segments are evaluated in order");
        self.next += 1;
    }
}

impl Evaluator for HalfGatesEvaluator {
    fn label_from_cot(&self, _index: u64, t: Block, _bit: bool) -> Block {
        t
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.slots.begin(program, inputs);
        self.instance = instance;
        self.next = 0;
    }

    fn evaluate(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        self.enter(segment);
        self.cpu.dispatch(Evaluate {
            construction: self.construction,
            start: self.start,
            instance: self.instance,
            slots: self.slots.as_mut_slice(),
            gates: Gates::of(program, segment),
            tables,
        });
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        assert_eq!(
            self.next,
            program.segments().len(),
            "every segment is evaluated before the end"
        );
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, .. } => self.slots.get(slot),
            Output::Constant(_) => Block::ZERO,
        }));
    }

    fn follow_links(&self, _: StartPoint, _: u64, labels: &mut [Block], links: &[u8]) {
        follow_offset_links(labels, links);
    }

    fn decode(
        &self,
        first: u64,
        labels: &[Block],
        decoding: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, DecodeError> {
        let expected = OUTPUT_BYTES * labels.len();
        if decoding.len() != expected {
            return Err(DecodeError::WrongLength {
                expected,
                found: decoding.len(),
            });
        }
        let mut hashes = Zeroizing::new(labels.to_vec());
        TweakableHash::on(self.cpu, self.construction, self.start)
            .hash(output_tweak(first), &mut hashes);
        let tags = decoding.chunks_exact(OUTPUT_BYTES);
        let fits = hashes.iter().zip(tags).map(|(hash, tags)| {
            let (zero, one) = tags.split_at(TAG_BYTES);
            let tag = Zeroizing::new(output_tag(*hash));
            Fit {
                zero: tag.ct_eq(zero),
                one: tag.ct_eq(one),
            }
        });
        decoding::values(first, fits).map_err(DecodeError::NeitherValue)
    }
}

impl fmt::Debug for HalfGatesEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HalfGatesEvaluator({:?}, {:?})",
            self.construction, self.cpu
        )
    }
}

/// The evaluation of one segment.
pub(crate) struct Evaluate<'a> {
    pub(crate) construction: Construction,
    pub(crate) start: StartPoint,
    pub(crate) instance: u32,
    pub(crate) slots: &'a mut [Block],
    pub(crate) gates: Gates<'a>,
    pub(crate) tables: &'a [u8],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.construction {
            Construction::Rekeyed => self.walk::<S, Rekeyed<S>>(simd),
            _ => self.walk::<S, TwoCall<S>>(simd),
        }
    }
}

impl Evaluate<'_> {
    #[inline(always)]
    pub(crate) fn walk<S: Simd, H: Hashing<S>>(self, simd: S) {
        let Self {
            mut gates,
            mut tables,
            slots,
            ..
        } = self;
        let slots = &mut SlotView::new(slots);
        assert_eq!(
            tables.len(),
            AND_BYTES * gates.ands.len(),
            "tables hold the segment's AND gates"
        );
        let mut hashing = H::new(simd, self.start, self.instance);
        let mut recent = Recent::none(simd);
        let mut number = gates.first_and;
        for batch in gates.batches {
            let xors;
            (xors, gates.xors) = gates.xors.split_at(batch.xors as usize);
            let mut ands;
            (ands, gates.ands) = gates.ands.split_at(batch.ands as usize);
            if let [gate] = *ands {
                recent.xor_gates(simd, slots, xors);
                let (row, rest) = tables.split_at(AND_BYTES);
                tables = rest;
                hashing.keys_for(simd, number);
                lone::evaluate(simd, &mut hashing, number, gate, (slots, &mut recent), row);
                number += 1;
                continue;
            }
            recent = Recent::none(simd);
            xor_gates(slots, xors);
            while !ands.is_empty() {
                let count = ands.len().min(hashing.keys_for(simd, number));
                let now;
                (now, ands) = ands.split_at(count);
                let rows;
                (rows, tables) = tables.split_at(AND_BYTES * count);
                evaluate_run(simd, &mut hashing, number, now, slots, rows);
                number += count as u64;
            }
        }
    }
}

/// Evaluates AND gates under keys that are at hand, from gate `number` on: as many whole steps as
/// there are, and then what is left in one step, or a vector at a time.
#[inline(always)]
fn evaluate_run<S: Simd, H: Hashing<S>>(
    simd: S,
    hashing: &mut H,
    mut number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[u8],
) {
    let step = EVALUATED * S::LANES;
    let mut gates = gates.chunks_exact(step);
    let mut tables = tables.chunks_exact(AND_BYTES * step);
    for (gates, tables) in gates.by_ref().zip(tables.by_ref()) {
        prefetch_beyond(gates);
        prefetch_beyond(tables);
        let x = labels::<S, EVALUATED>(simd, gates, slots);
        let hashes = hashing.two(simd, number, x);
        finish_gates(simd, x, hashes, gates, slots, tables);
        number += step as u64;
    }
    let (mut gates, mut tables) = (gates.remainder(), tables.remainder());
    if !H::ALIGNED && gates.len() > S::LANES {
        let filled = fill_up::<STEP>(gates, 0, slots);
        let rows = fill_up_tables::<STEP>(tables, 0);
        let x = labels::<S, EVALUATED>(simd, &filled, slots);
        let hashes = hashing.two(simd, number, x);
        finish_gates(simd, x, hashes, &filled, slots, rows.as_flattened());
        return;
    }
    while !gates.is_empty() {
        let (first, count) = lanes_for::<S, H>(number, gates.len());
        let these;
        (these, tables) = tables.split_at(AND_BYTES * count);
        let filled = fill_up::<MAX_LANES>(&gates[..count], first, slots);
        let rows = fill_up_tables::<MAX_LANES>(these, first);
        let [x] = labels(simd, &filled, slots);
        let hashes = hashing.two_soon(simd, number - first as u64, x);
        finish_gates(simd, [x], [hashes], &filled, slots, rows.as_flattened());
        gates = &gates[count..];
        number += count as u64;
    }
}

/// The tables of gates that [`fill_up`] puts from lane `at` on.
#[inline(always)]
pub(crate) fn fill_up_tables<const LENGTH: usize>(
    tables: &[u8],
    at: usize,
) -> [[u8; AND_BYTES]; LENGTH] {
    let mut rows = [[0; AND_BYTES]; LENGTH];
    for (row, table) in rows[at..].iter_mut().zip(tables.as_chunks().0) {
        *row = *table;
    }
    rows
}

/// W_a, W_b of the gates' inputs.
#[inline(always)]
pub(crate) fn labels<S: Simd, const N: usize>(
    simd: S,
    gates: &[AndGate],
    slots: &SlotView<'_>,
) -> [[S::Vector; 2]; N] {
    let mut x = [[simd.splat(Block::ZERO); 2]; N];
    for (x, gates) in x.iter_mut().zip(gates.chunks_exact(S::LANES)) {
        *x = [
            simd.gather(slots, |lane| gates[lane].a as usize),
            simd.gather(slots, |lane| gates[lane].b as usize),
        ];
    }
    x
}

/// The output labels of gates, from their input labels, the hashes of these, and the tables.
#[inline(always)]
pub(crate) fn finish_gates<S: Simd, const N: usize>(
    simd: S,
    x: [[S::Vector; 2]; N],
    hashes: [[S::Vector; 2]; N],
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[u8],
) {
    let gates = gates.chunks_exact(S::LANES);
    let tables = tables.chunks_exact(AND_BYTES * S::LANES);
    let labels = x.into_iter().zip(hashes);
    for (([a, b], [h_a, h_b]), (gates, tables)) in labels.zip(gates.zip(tables)) {
        let (s_a, s_b) = (simd.lsb_mask(a), simd.lsb_mask(b));
        let (t_g, t_e) = simd.load_pairs(tables);
        let w_g = simd.xor(h_a, simd.and(s_a, t_g));
        let w_e = simd.xor(h_b, simd.and(s_b, simd.xor(t_e, a)));
        simd.scatter(simd.xor(w_g, w_e), slots, |lane| gates[lane].out as usize);
    }
}
