//! The garbler of half-gates.

use core::fmt;

use subtle::Choice;
use tacit_circuit::{AndGate, Output, Program};
use tacit_kernels::{
    Block, Construction, Cpu, Kernel, Simd, SlotView, TweakableHash, prefetch_beyond,
};
use zeroize::ZeroizeOnDrop;

use super::gates::{Gates, Slots, fill_up, xor_gates};
use super::hashing::{GARBLED, Hashing, MAX_LANES, Rekeyed, TwoCall, lanes_for};
use super::lone::{self, Recent};
use super::{AND_BYTES, output_tag, output_tweak};
use crate::link::offset_links;
use crate::{Garbler, StartPoint};

/// Most gates of one step.
const STEP: usize = GARBLED * MAX_LANES;

/// The garbler's half of half-gates. A wire is its label of value 0. Wiped when dropped.
#[derive(ZeroizeOnDrop)]
pub struct HalfGatesGarbler {
    #[zeroize(skip)]
    pub(crate) cpu: Cpu,
    #[zeroize(skip)]
    construction: Construction,
    pub(crate) start: StartPoint,
    pub(crate) delta: Block,
    pub(crate) instance: u32,
    /// The segment that comes next.
    next: usize,
    pub(crate) slots: Slots,
}

impl HalfGatesGarbler {
    pub(super) fn new(
        cpu: Cpu,
        construction: Construction,
        start: StartPoint,
        delta: Block,
    ) -> Self {
        assert!(
            bool::from(delta.lsb()),
            "bit 0 of Δ is set, so that the labels of a wire differ in their select bits"
        );
        Self {
            cpu,
            construction,
            start,
            delta,
            instance: 0,
            next: 0,
            slots: Slots::new(),
        }
    }

    /// Takes up the next segment, which this must be.
    pub(crate) fn enter(&mut self, segment: usize) {
        assert_eq!(segment, self.next, "segments are garbled in order");
        self.next += 1;
    }

    /// Goes on as if every segment had been garbled, which was done elsewhere.
    pub(super) fn skip_to_end(&mut self, program: &Program) {
        self.next = program.segments().len();
    }

    /// The wire with this label of value 0, negated if `negated` (which is public).
    fn negated_if(&self, zero: Block, negated: bool) -> Block {
        zero ^ self.delta.and_bit(Choice::from(u8::from(negated)))
    }
}

impl Garbler for HalfGatesGarbler {
    type Wire = Block;

    fn wire_with_active(&mut self, active: Block, bit: bool) -> Block {
        active ^ self.delta.and_bit(Choice::from(u8::from(bit)))
    }

    fn wire_from_cot(&self, _index: u64, q: Block) -> Block {
        q
    }

    fn begin(&mut self, instance: u32, program: &Program, inputs: &[Block]) {
        self.slots.begin(program, inputs);
        self.instance = instance;
        self.next = 0;
    }

    fn garble(&mut self, program: &Program, segment: usize, tables: &mut [u8]) {
        self.enter(segment);
        self.cpu.dispatch(Garble {
            construction: self.construction,
            start: self.start,
            instance: self.instance,
            delta: self.delta,
            slots: self.slots.as_mut_slice(),
            gates: Gates::of(program, segment),
            tables,
        });
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Block>) {
        assert_eq!(
            self.next,
            program.segments().len(),
            "every segment is garbled before the end"
        );
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, negated } => self.negated_if(self.slots.get(slot), negated),
            Output::Constant(bit) => self.negated_if(Block::ZERO, bit),
        }));
    }

    fn decoding(&self, first: u64, wires: &[Block], out: &mut Vec<u8>) {
        let hash = TweakableHash::on(self.cpu, self.construction, self.start);
        let mut zeros = wires.to_vec();
        let mut ones = vec![Block::ZERO; wires.len()];
        hash.hash_both(output_tweak(first), self.delta, &mut zeros, &mut ones);
        for tag in zeros.iter().zip(&ones).flat_map(|(zero, one)| [zero, one]) {
            out.extend_from_slice(&output_tag(*tag));
        }
    }

    fn label_with_select(&self, wire: &Block, select: bool) -> (Block, bool) {
        let value = wire.lsb() ^ Choice::from(u8::from(select));
        (*wire ^ self.delta.and_bit(value), value.into())
    }

    fn link(&self, _: StartPoint, _: u64, from: &[Block], to: &[Block], out: &mut Vec<u8>) {
        offset_links(from, to, out);
    }
}

impl fmt::Debug for HalfGatesGarbler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HalfGatesGarbler({:?}, {:?})",
            self.construction, self.cpu
        )
    }
}

/// The garbling of one segment.
pub(crate) struct Garble<'a> {
    pub(crate) construction: Construction,
    pub(crate) start: StartPoint,
    pub(crate) instance: u32,
    pub(crate) delta: Block,
    pub(crate) slots: &'a mut [Block],
    pub(crate) gates: Gates<'a>,
    pub(crate) tables: &'a mut [u8],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.construction {
            Construction::Rekeyed => self.walk::<S, Rekeyed<S>>(simd),
            _ => self.walk::<S, TwoCall<S>>(simd),
        }
    }
}

impl Garble<'_> {
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
            "tables have room for the segment's AND gates"
        );
        let offsets = [Block::ZERO, self.delta];
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
                let (row, rest) = tables.split_at_mut(AND_BYTES);
                tables = rest;
                hashing.keys_for(simd, number);
                lone::garble(
                    simd,
                    &mut hashing,
                    &offsets,
                    number,
                    gate,
                    (slots, &mut recent),
                    row,
                );
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
                (rows, tables) = tables.split_at_mut(AND_BYTES * count);
                garble_run(simd, &mut hashing, &offsets, number, now, slots, rows);
                number += count as u64;
            }
        }
    }
}

/// Garbles AND gates under keys that are at hand, from gate `number` on: as many whole steps as
/// there are, and then what is left in one step, or a vector at a time.
#[inline(always)]
fn garble_run<S: Simd, H: Hashing<S>>(
    simd: S,
    hashing: &mut H,
    offsets: &[Block; 2],
    mut number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [u8],
) {
    let step = GARBLED * S::LANES;
    let mut gates = gates.chunks_exact(step);
    let mut tables = tables.chunks_exact_mut(AND_BYTES * step);
    for (gates, tables) in gates.by_ref().zip(tables.by_ref()) {
        prefetch_beyond(gates);
        prefetch_beyond(tables);
        let x = labels::<S, GARBLED>(simd, offsets, gates, slots);
        let hashes = hashing.four(simd, number, x);
        finish_gates(simd, x, hashes, gates, slots, tables);
        number += step as u64;
    }
    let (mut gates, mut tables) = (gates.remainder(), tables.into_remainder());
    if !H::ALIGNED && gates.len() > S::LANES {
        let filled = fill_up::<STEP>(gates, 0, slots);
        let mut rows = [[0; AND_BYTES]; STEP];
        let x = labels::<S, GARBLED>(simd, offsets, &filled, slots);
        let hashes = hashing.four(simd, number, x);
        finish_gates(simd, x, hashes, &filled, slots, rows.as_flattened_mut());
        copy_tables(&rows, tables);
        return;
    }
    while !gates.is_empty() {
        let (first, count) = lanes_for::<S, H>(number, gates.len());
        let filled = fill_up::<MAX_LANES>(&gates[..count], first, slots);
        let mut rows = [[0; AND_BYTES]; MAX_LANES];
        let [x] = labels(simd, offsets, &filled, slots);
        let hashes = hashing.four_soon(simd, number - first as u64, x);
        finish_gates(simd, [x], [hashes], &filled, slots, rows.as_flattened_mut());
        let these;
        (these, tables) = tables.split_at_mut(AND_BYTES * count);
        copy_tables(&rows[first..], these);
        gates = &gates[count..];
        number += count as u64;
    }
}

/// Copies as many rows as `tables` has room for.
#[inline(always)]
pub(crate) fn copy_tables(rows: &[[u8; AND_BYTES]], tables: &mut [u8]) {
    let (tables, _) = tables.as_chunks_mut::<AND_BYTES>();
    for (table, row) in tables.iter_mut().zip(rows) {
        *table = *row;
    }
}

/// W_a^0, W_a^1, W_b^0, W_b^1 of the gates' inputs, after their negations.
#[inline(always)]
pub(crate) fn labels<S: Simd, const N: usize>(
    simd: S,
    offsets: &[Block; 2],
    gates: &[AndGate],
    slots: &SlotView<'_>,
) -> [[S::Vector; 4]; N] {
    let delta = simd.splat(offsets[1]);
    let mut x = [[delta; 4]; N];
    for (x, gates) in x.iter_mut().zip(gates.chunks_exact(S::LANES)) {
        let side = |pin: fn(&AndGate) -> u32| {
            let zero = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
            let offset = simd.gather(offsets, |lane| (pin(&gates[lane]) >> 31) as usize);
            simd.xor(zero, offset)
        };
        let (a, b) = (side(|gate| gate.a), side(|gate| gate.b));
        *x = [a, simd.xor(a, delta), b, simd.xor(b, delta)];
    }
    x
}

/// The tables and the output labels of gates, from their input labels and the hashes of these.
#[inline(always)]
pub(crate) fn finish_gates<S: Simd, const N: usize>(
    simd: S,
    x: [[S::Vector; 4]; N],
    hashes: [[S::Vector; 4]; N],
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [u8],
) {
    let gates = gates.chunks_exact(S::LANES);
    let tables = tables.chunks_exact_mut(AND_BYTES * S::LANES);
    let labels = x.into_iter().zip(hashes);
    for (([a, a1, b, _], hashes), (gates, tables)) in labels.zip(gates.zip(tables)) {
        let [h_a0, h_a1, h_b0, h_b1] = hashes;
        let delta = simd.xor(a, a1);
        let (p_a, p_b) = (simd.lsb_mask(a), simd.lsb_mask(b));
        let t_g = simd.xor(simd.xor(h_a0, h_a1), simd.and(p_b, delta));
        let both_b = simd.xor(h_b0, h_b1);
        simd.store_pairs(t_g, simd.xor(both_b, a), tables);
        let w_g = simd.xor(h_a0, simd.and(p_a, t_g));
        let w_e = simd.xor(h_b0, simd.and(p_b, both_b));
        simd.scatter(simd.xor(w_g, w_e), slots, |lane| gates[lane].out as usize);
    }
}
