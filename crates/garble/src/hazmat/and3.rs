//! `hazmat-fixed-key-and3`: free XOR and AND in three rows, all under one public key of AES.
//!
//! Bellare, Hoang, Keelveedhi and Rogaway (IEEE S&P 2013): the scheme `GaXR` of JustGarble, with the
//! row reduction of Naor, Pinkas and Sumner (EC 1999). A row has one hash of both inputs' labels:
//! with K = σ(A) ⊕ σ(σ(B)) ⊕ i, P = π(K) ⊕ K. JustGarble doubles labels in GF(2^128) where σ stands
//! here. **What is wrong with it** is what is wrong with all of this module: 86 bits are left after
//! 2^40 AND gates, three hashes of each of which the evaluator does not have.
//!
//! **Notation.** `P_ij` is the hash of the labels with select bits i and j. The label of row 00 is
//! `P_00`, so that C^0 = `P_00` ⊕ p_a p_b Δ; the rows are `P_01` ⊕ `P_00` ⊕ p_a Δ,
//! `P_10` ⊕ `P_00` ⊕ p_b Δ and `P_11` ⊕ `P_00` ⊕ (p_a ⊕ p_b ⊕ 1)Δ.
//!
//! **Cost** of an AND: 384 ciphertext bits; 4 cipher calls for the garbler, 1 for the evaluator.

use core::fmt;

use tacit_circuit::{AndGate, Output, Program};
use tacit_kernels::{Block, Cpu, Kernel, Simd, SlotView, Tweak, Use, hash, prefetch_beyond};
use zeroize::ZeroizeOnDrop;

use crate::half_gates::garbler::labels;
use crate::half_gates::gates::{Gates, Slots, fill_up, xor_gates};
use crate::half_gates::hashing::MAX_LANES;

/// Bytes of an AND gate's table.
const AND_BYTES: usize = 3 * Block::BYTES;
/// Vectors of gates in one step of the garbler: four hashes each, so eight in flight.
const GARBLED: usize = 2;
/// Vectors of gates in one step of the evaluator: one hash each.
const EVALUATED: usize = 8;

/// Bytes of a program's tables under fixed-key garbling with three rows.
#[must_use]
pub fn fixed_key_and3_table_bytes(program: &Program) -> usize {
    AND_BYTES * program.ands().len()
}

/// The garbler of fixed-key garbling with three rows. Not for use: see the module above.
#[derive(ZeroizeOnDrop)]
pub struct FixedKeyAnd3Garbler {
    #[zeroize(skip)]
    cpu: Cpu,
    key: Block,
    delta: Block,
    slots: Slots,
}

impl FixedKeyAnd3Garbler {
    /// A garbler with this public cipher key and this secret Δ, of which bit 0 is set.
    ///
    /// # Panics
    ///
    /// If bit 0 of `delta` is not set.
    #[must_use]
    pub fn new(cpu: Cpu, key: Block, delta: Block) -> Self {
        assert!(
            bool::from(delta.lsb()),
            "bit 0 of Δ is set, so that the labels of a wire differ in their select bits"
        );
        Self {
            cpu,
            key,
            delta,
            slots: Slots::new(),
        }
    }

    /// Garbles `program`, given the inputs' labels of value 0, and appends the outputs' to
    /// `outputs`.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has, or `tables` not
    /// [`fixed_key_and3_table_bytes`].
    pub fn garble(
        &mut self,
        program: &Program,
        inputs: &[Block],
        tables: &mut [u8],
        outputs: &mut Vec<Block>,
    ) {
        assert_eq!(
            tables.len(),
            fixed_key_and3_table_bytes(program),
            "tables fit"
        );
        let (mut tables, _) = tables.as_chunks_mut::<AND_BYTES>();
        self.slots.begin(program, inputs);
        for segment in 0..program.segments().len() {
            let gates = Gates::of(program, segment);
            let these;
            (these, tables) = tables.split_at_mut(gates.ands.len());
            self.cpu.dispatch(Garble {
                key: self.key,
                delta: self.delta,
                slots: self.slots.as_mut_slice(),
                gates,
                tables: these,
            });
        }
        let negated = |negated: bool| if negated { self.delta } else { Block::ZERO };
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, negated: by } => self.slots.get(slot) ^ negated(by),
            Output::Constant(bit) => negated(bit),
        }));
    }
}

impl fmt::Debug for FixedKeyAnd3Garbler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FixedKeyAnd3Garbler({:?})", self.cpu)
    }
}

/// The evaluator of fixed-key garbling with three rows. Not for use: see the module above.
#[derive(ZeroizeOnDrop)]
pub struct FixedKeyAnd3Evaluator {
    #[zeroize(skip)]
    cpu: Cpu,
    key: Block,
    slots: Slots,
}

impl FixedKeyAnd3Evaluator {
    /// An evaluator with this public cipher key.
    #[must_use]
    pub const fn new(cpu: Cpu, key: Block) -> Self {
        Self {
            cpu,
            key,
            slots: Slots::new(),
        }
    }

    /// Evaluates `program` on labels of its inputs, and appends the outputs' labels to `outputs`.
    ///
    /// # Panics
    ///
    /// If `inputs` are not as many as the program has, or `tables` not
    /// [`fixed_key_and3_table_bytes`].
    pub fn evaluate(
        &mut self,
        program: &Program,
        inputs: &[Block],
        tables: &[u8],
        outputs: &mut Vec<Block>,
    ) {
        assert_eq!(
            tables.len(),
            fixed_key_and3_table_bytes(program),
            "tables fit"
        );
        let (mut tables, _) = tables.as_chunks::<AND_BYTES>();
        self.slots.begin(program, inputs);
        for segment in 0..program.segments().len() {
            let gates = Gates::of(program, segment);
            let these;
            (these, tables) = tables.split_at(gates.ands.len());
            self.cpu.dispatch(Evaluate {
                key: self.key,
                slots: self.slots.as_mut_slice(),
                gates,
                tables: these,
            });
        }
        outputs.extend(program.outputs().iter().map(|output| match *output {
            Output::Slot { slot, .. } => self.slots.get(slot),
            Output::Constant(_) => Block::ZERO,
        }));
    }
}

impl fmt::Debug for FixedKeyAnd3Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FixedKeyAnd3Evaluator({:?})", self.cpu)
    }
}

/// The garbling of one segment.
struct Garble<'a> {
    key: Block,
    delta: Block,
    slots: &'a mut [Block],
    gates: Gates<'a>,
    tables: &'a mut [[u8; AND_BYTES]],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            mut gates,
            mut tables,
            ..
        } = self;
        let slots = &mut SlotView::new(self.slots);
        let permutation = &simd.expand(simd.splat(self.key));
        let offsets = &[Block::ZERO, self.delta];
        let step = GARBLED * S::LANES;
        let mut number = gates.first_and;
        for batch in gates.batches {
            let xors;
            (xors, gates.xors) = gates.xors.split_at(batch.xors as usize);
            xor_gates(slots, xors);
            let mut ands;
            (ands, gates.ands) = gates.ands.split_at(batch.ands as usize);
            while !ands.is_empty() {
                let count = ands.len().min(step);
                let (now, rows);
                (now, ands) = ands.split_at(count);
                (rows, tables) = tables.split_at_mut(count);
                if count == step {
                    prefetch_beyond(now);
                    prefetch_beyond(rows);
                    garble_step(simd, permutation, offsets, number, now, slots, rows);
                } else {
                    const STEP: usize = GARBLED * MAX_LANES;
                    let filled = &fill_up::<STEP>(now, 0, slots)[..step];
                    let mut own = [[0; AND_BYTES]; STEP];
                    let own_rows = &mut own[..step];
                    garble_step(simd, permutation, offsets, number, filled, slots, own_rows);
                    rows.copy_from_slice(&own[..count]);
                }
                number += count as u64;
            }
        }
    }
}

/// P of hashes' inputs K.
#[inline(always)]
fn pads<S: Simd, const N: usize, const M: usize>(
    simd: S,
    permutation: &S::Schedule,
    k: [[S::Vector; M]; N],
) -> [[S::Vector; M]; N] {
    let mut pads = simd.encrypt([permutation; N], k);
    for (pads, k) in pads.iter_mut().zip(k) {
        for (pad, k) in pads.iter_mut().zip(k) {
            *pad = simd.xor(*pad, k);
        }
    }
    pads
}

/// The tweaks of gates from `number` on.
#[inline(always)]
fn tweaks<S: Simd>(simd: S, number: u64) -> S::Vector {
    let first = Tweak {
        usage: Use::And,
        instance: 0,
        number,
        a: 0,
        b: 0,
    };
    hash::counting_tweaks(simd, first)
}

/// Garbles [`GARBLED`] vectors of gates.
#[inline(always)]
fn garble_step<S: Simd>(
    simd: S,
    permutation: &S::Schedule,
    offsets: &[Block; 2],
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &mut [[u8; AND_BYTES]],
) {
    let xor = |a, b| simd.xor(a, b);
    let delta = simd.splat(offsets[1]);
    let zeros = labels::<S, GARBLED>(simd, offsets, gates, slots);
    let (of_a, of_b) = (simd.sigma(delta), simd.sigma(simd.sigma(delta)));
    let mut tweak = tweaks(simd, number);
    let mut k = zeros;
    for (k, [a, _, b, _]) in k.iter_mut().zip(zeros) {
        let with_0 = |zero| xor(zero, simd.and(simd.lsb_mask(zero), delta));
        let both = xor(simd.sigma(with_0(a)), simd.sigma(simd.sigma(with_0(b))));
        let first = xor(both, tweak);
        let second = xor(first, of_a);
        *k = [first, xor(first, of_b), second, xor(second, of_b)];
        tweak = simd.add_halves(tweak, hash::number_step(simd, S::LANES));
    }
    let pads = pads(simd, permutation, k);
    let gates = gates.chunks_exact(S::LANES);
    let tables = tables.chunks_exact_mut(S::LANES);
    let ones = simd.splat(Block::ONES);
    for (([a, _, b, _], [p_00, p_01, p_10, p_11]), (gates, tables)) in
        zeros.into_iter().zip(pads).zip(gates.zip(tables))
    {
        let (p_a, p_b) = (simd.lsb_mask(a), simd.lsb_mask(b));
        let row = |pad, with_delta| xor(xor(pad, p_00), simd.and(with_delta, delta));
        simd.store_rows(row(p_01, p_a), tables, 0);
        simd.store_rows(row(p_10, p_b), tables, 16);
        simd.store_rows(row(p_11, xor(xor(p_a, p_b), ones)), tables, 32);
        let zero = xor(p_00, simd.and(simd.and(p_a, p_b), delta));
        simd.scatter(zero, slots, |lane| gates[lane].out as usize);
    }
}

/// The evaluation of one segment.
struct Evaluate<'a> {
    key: Block,
    slots: &'a mut [Block],
    gates: Gates<'a>,
    tables: &'a [[u8; AND_BYTES]],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            mut gates,
            mut tables,
            ..
        } = self;
        let slots = &mut SlotView::new(self.slots);
        let permutation = &simd.expand(simd.splat(self.key));
        let step = EVALUATED * S::LANES;
        let mut number = gates.first_and;
        for batch in gates.batches {
            let xors;
            (xors, gates.xors) = gates.xors.split_at(batch.xors as usize);
            xor_gates(slots, xors);
            let mut ands;
            (ands, gates.ands) = gates.ands.split_at(batch.ands as usize);
            while !ands.is_empty() {
                let count = ands.len().min(step);
                let (now, rows);
                (now, ands) = ands.split_at(count);
                (rows, tables) = tables.split_at(count);
                if count == step {
                    prefetch_beyond(now);
                    prefetch_beyond(rows);
                    evaluate_step::<S, EVALUATED>(simd, permutation, number, now, slots, rows);
                } else {
                    const STEP: usize = EVALUATED * MAX_LANES;
                    let filled = fill_up::<STEP>(now, 0, slots);
                    let mut own = [[0; AND_BYTES]; STEP];
                    own[..count].copy_from_slice(rows);
                    let (filled, rows) = (&filled[..step], &own[..step]);
                    evaluate_step::<S, EVALUATED>(simd, permutation, number, filled, slots, rows);
                }
                number += count as u64;
            }
        }
    }
}

/// Evaluates `N` vectors of gates.
#[inline(always)]
fn evaluate_step<S: Simd, const N: usize>(
    simd: S,
    permutation: &S::Schedule,
    number: u64,
    gates: &[AndGate],
    slots: &mut SlotView<'_>,
    tables: &[[u8; AND_BYTES]],
) {
    let xor = |a, b| simd.xor(a, b);
    let mut tweak = tweaks(simd, number);
    let (mut k, mut selects) = ([[tweak; 1]; N], [[tweak; 2]; N]);
    let lanes = gates.chunks_exact(S::LANES);
    for ((k, selects), gates) in k.iter_mut().zip(&mut selects).zip(lanes) {
        let a = simd.gather(slots, |lane| gates[lane].a as usize);
        let b = simd.gather(slots, |lane| gates[lane].b as usize);
        *k = [xor(xor(simd.sigma(a), simd.sigma(simd.sigma(b))), tweak)];
        *selects = [simd.lsb_mask(a), simd.lsb_mask(b)];
        tweak = simd.add_halves(tweak, hash::number_step(simd, S::LANES));
    }
    let pads = pads(simd, permutation, k);
    let gates = gates.chunks_exact(S::LANES);
    let tables = tables.chunks_exact(S::LANES);
    for (([pad], [i, j]), (gates, tables)) in pads.into_iter().zip(selects).zip(gates.zip(tables)) {
        let [row_1, row_2, row_3] = [0, 16, 32].map(|at| simd.load_rows(tables, at));
        let both = xor(row_3, xor(row_1, row_2));
        let one = xor(simd.and(j, row_1), simd.and(i, row_2));
        let row = xor(one, simd.and(simd.and(i, j), both));
        simd.scatter(xor(pad, row), slots, |lane| gates[lane].out as usize);
    }
}
