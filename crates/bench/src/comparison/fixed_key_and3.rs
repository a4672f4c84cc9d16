//! `hazmat-fixed-key-and3`: free XOR and AND in three rows, all under one public key of AES.
//!
//! Bellare, Hoang, Keelveedhi and Rogaway (IEEE S&P 2013): the scheme `GaXR` of JustGarble, with
//! the row reduction of Naor, Pinkas and Sumner (EC 1999). A row has one hash of both inputs'
//! labels: with K = σ(A) ⊕ σ(σ(B)) ⊕ i, P = π(K) ⊕ K. JustGarble doubles labels in GF(2^128) where
//! σ stands here. **What is wrong with it** is what is wrong with `fixed_key`: 86 bits are left
//! after 2^40 AND gates, three hashes of each of which the evaluator does not have.
//!
//! **Notation.** `P_ij` is the hash of the labels with select bits i and j. The label of row 00 is
//! `P_00`, so that C^0 = `P_00` ⊕ p_a p_b Δ; the rows are `P_01` ⊕ `P_00` ⊕ p_a Δ,
//! `P_10` ⊕ `P_00` ⊕ p_b Δ and `P_11` ⊕ `P_00` ⊕ (p_a ⊕ p_b ⊕ 1)Δ.
//!
//! **Cost** of an AND: 384 ciphertext bits; 4 cipher calls for the garbler, 1 for the evaluator.

use tacit_circuit::AndGate;
use tacit_garble::rule::{AndRule, GatesInLanes, Layout, Segment, walk};
use tacit_kernels::{Block, MAX_LANES, Simd, SlotView};

use super::Comparison;
use super::fixed_key::permuted;

/// Bytes of an AND gate's table.
const AND_BYTES: usize = 3 * Block::BYTES;
/// Vectors of gates in one step of the garbler: four hashes each, so eight in flight.
const GARBLED: usize = 2;
/// Vectors of gates in one step of the evaluator: one hash each.
const EVALUATED: usize = 8;

/// Fixed-key garbling with three rows. The start point is the key.
#[derive(Clone, Copy)]
pub(crate) struct FixedKeyAnd3;

impl Comparison for FixedKeyAnd3 {
    const NAME: &'static str = "hazmat-fixed-key-and3";
    const AND_BYTES: usize = AND_BYTES;
    const CALLS: [u64; 2] = [4, 1];

    #[inline(always)]
    fn garble<S: Simd>(self, simd: S, mut of: Segment<'_>, delta: Block, tables: &mut [u8]) {
        const STEP: usize = GARBLED * MAX_LANES;
        let rows = tables.as_chunks_mut::<AND_BYTES>().0;
        let rule = &mut Garble {
            instance: of.instance,
            permutation: simd.expand(simd.splat(of.start)),
            offsets: [Block::ZERO, delta],
        };
        walk::<S, _, AND_BYTES, 1, GARBLED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(self, simd: S, mut of: Segment<'_>, tables: &[u8]) {
        const STEP: usize = EVALUATED * MAX_LANES;
        let rows = tables.as_chunks::<AND_BYTES>().0;
        let rule = &mut Evaluate {
            instance: of.instance,
            permutation: simd.expand(simd.splat(of.start)),
        };
        walk::<S, _, AND_BYTES, 1, EVALUATED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
    }
}

struct Garble<S: Simd> {
    instance: u32,
    permutation: S::Schedule,
    /// 0 and Δ.
    offsets: [Block; 2],
}

impl<S: Simd> AndRule<S, AND_BYTES> for Garble<S> {
    type Rows<'t> = &'t mut [[u8; AND_BYTES]];
    /// The inputs' labels of value 0.
    type Labels<const N: usize> = [[S::Vector; 2]; N];
    type Hashes<const N: usize> = [[S::Vector; 4]; N];

    const ALIGNED: bool = false;
    const PIPELINED: bool = false;
    const LONE: bool = false;

    #[inline(always)]
    fn take_up(&mut self, _simd: S, _number: u64) -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn read<const N: usize>(
        &self,
        simd: S,
        gates: &[AndGate],
        slots: &SlotView<'_>,
    ) -> [[S::Vector; 2]; N] {
        let mut x = [[simd.splat(Block::ZERO); 2]; N];
        for (x, gates) in x.iter_mut().zip(gates.chunks_exact(S::LANES)) {
            let side = |pin: fn(&AndGate) -> u32| {
                let zero = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
                let offset = simd.gather(&self.offsets, |lane| (pin(&gates[lane]) >> 31) as usize);
                simd.xor(zero, offset)
            };
            *x = [side(|gate| gate.a), side(|gate| gate.b)];
        }
        x
    }

    #[inline(always)]
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        labels: &[[S::Vector; 2]; N],
    ) -> [[S::Vector; 4]; N] {
        let xor = |a, b| simd.xor(a, b);
        let delta = simd.splat(self.offsets[1]);
        let (of_a, of_b) = (simd.sigma(delta), simd.sigma(simd.sigma(delta)));
        let tweaks: [S::Vector; N] = GatesInLanes::<1>::tweaks(simd, self.instance, number);
        let mut k = [[delta; 4]; N];
        for ((k, [a, b]), tweak) in k.iter_mut().zip(labels).zip(tweaks) {
            let with_0 = |zero| xor(zero, simd.and(simd.lsb_mask(zero), delta));
            let both = xor(simd.sigma(with_0(*a)), simd.sigma(simd.sigma(with_0(*b))));
            let first = xor(both, tweak);
            let second = xor(first, of_a);
            *k = [first, xor(first, of_b), second, xor(second, of_b)];
        }
        permuted(simd, &self.permutation, k)
    }

    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        simd: S,
        _number: u64,
        labels: &[[S::Vector; 2]; N],
        hashes: [[S::Vector; 4]; N],
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: &mut [[u8; AND_BYTES]],
    ) {
        let xor = |a, b| simd.xor(a, b);
        let (delta, ones) = (simd.splat(self.offsets[1]), simd.splat(Block::ONES));
        let gates = gates.chunks_exact(S::LANES);
        let gates = gates.zip(rows.chunks_exact_mut(S::LANES));
        for (([a, b], [p_00, p_01, p_10, p_11]), (gates, rows)) in
            labels.iter().zip(hashes).zip(gates)
        {
            let (p_a, p_b) = (simd.lsb_mask(*a), simd.lsb_mask(*b));
            let row = |pad, with_delta| xor(xor(pad, p_00), simd.and(with_delta, delta));
            simd.store_rows(row(p_01, p_a), rows, 0);
            simd.store_rows(row(p_10, p_b), rows, 16);
            simd.store_rows(row(p_11, xor(xor(p_a, p_b), ones)), rows, 32);
            let zero = xor(p_00, simd.and(simd.and(p_a, p_b), delta));
            simd.scatter(zero, slots, |lane| gates[lane].out as usize);
        }
    }
}

struct Evaluate<S: Simd> {
    instance: u32,
    permutation: S::Schedule,
}

impl<S: Simd> AndRule<S, AND_BYTES> for Evaluate<S> {
    type Rows<'t> = &'t [[u8; AND_BYTES]];
    type Labels<const N: usize> = [[S::Vector; 2]; N];
    type Hashes<const N: usize> = [[S::Vector; 1]; N];

    const ALIGNED: bool = false;
    const PIPELINED: bool = false;
    const LONE: bool = false;

    #[inline(always)]
    fn take_up(&mut self, _simd: S, _number: u64) -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn read<const N: usize>(
        &self,
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

    #[inline(always)]
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        labels: &[[S::Vector; 2]; N],
    ) -> [[S::Vector; 1]; N] {
        let tweaks: [S::Vector; N] = GatesInLanes::<1>::tweaks(simd, self.instance, number);
        let mut k = [[tweaks[0]; 1]; N];
        for ((k, [a, b]), tweak) in k.iter_mut().zip(labels).zip(tweaks) {
            let both = simd.xor(simd.sigma(*a), simd.sigma(simd.sigma(*b)));
            *k = [simd.xor(both, tweak)];
        }
        permuted(simd, &self.permutation, k)
    }

    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        simd: S,
        _number: u64,
        labels: &[[S::Vector; 2]; N],
        hashes: [[S::Vector; 1]; N],
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: &[[u8; AND_BYTES]],
    ) {
        let xor = |a, b| simd.xor(a, b);
        let gates = gates.chunks_exact(S::LANES);
        let gates = gates.zip(rows.chunks_exact(S::LANES));
        for (([a, b], [pad]), (gates, rows)) in labels.iter().zip(hashes).zip(gates) {
            let (i, j) = (simd.lsb_mask(*a), simd.lsb_mask(*b));
            let row_1 = simd.load_rows(rows, 0);
            let row_2 = simd.load_rows(rows, 16);
            let both = xor(simd.load_rows(rows, 32), xor(row_1, row_2));
            let one = xor(simd.and(j, row_1), simd.and(i, row_2));
            let row = xor(one, simd.and(simd.and(i, j), both));
            simd.scatter(xor(pad, row), slots, |lane| gates[lane].out as usize);
        }
    }
}
