//! `privacy-free`: free XOR, and AND in one ciphertext, for an evaluator that knows the input.
//!
//! Frederiksen, Nielsen and Orlandi, "Privacy-free garbled circuits with applications to efficient
//! zero-knowledge" (EUROCRYPT 2015), with the AND gate of Zahur, Rosulek and Evans, "Two halves
//! make a whole" (EUROCRYPT 2015): of their two half-gates the one whose evaluator knows an input.
//! **It hides no input**; what it promises is authenticity, for zero-knowledge proofs.
//!
//! **Assumption.** AES is an ideal cipher, under the two-call hash of [`tacit_kernels::hash`]: 118
//! bits at 2^40 gates, since an AND gate gives one hash to aim at and a cipher key serves 2^10.
//!
//! **Notation.** W^v is the label of wire W for value v; its bit 0 is v, and no permute bit hides
//! it. So W^1 = W^0 ⊕ Δ, bit 0 of W^0 is 0, and H′(x) is H(x, (AND, g, 0)) with bit 0 cleared. Of
//! gate g with inputs A and B:
//! T = H′(A^0) ⊕ H′(A^1) ⊕ B^0, C^0 = H′(A^0);
//! the evaluator of labels A, B of values a, b has C = H′(A) ⊕ a(T ⊕ B), whose bit 0 is ab.
//! A negation adds Δ with bit 0 cleared to W^0, and flips bit 0 of the evaluator's label.
//!
//! **Deviation.** The papers hand the evaluator labels and values apart. Here a label's bit 0 is
//! its value.
//!
//! **Tables**, in the program's order: T of each AND gate, 16 bytes, bit 0 zero; the evaluator
//! ignores it.
//!
//! **Cost** of an AND: 127 ciphertext bits; 4 cipher calls for the garbler, 2 for the evaluator. A
//! XOR is free.

use tacit_circuit::AndGate;
use tacit_garble::rule::{AndRule, GatesInLanes, Hashing, Segment, TwoCall, walk};
use tacit_kernels::{Block, MAX_LANES, Simd, SlotView};

use super::Comparison;

/// Bytes of an AND gate's table.
const AND_BYTES: usize = Block::BYTES;
/// Vectors of gates in one step of the garbler: two labels each, so eight in flight.
const GARBLED: usize = 4;
/// Vectors of gates in one step of the evaluator: one label each, so eight in flight.
const EVALUATED: usize = 8;

/// All of a label but its value.
pub(super) const KEY: Block = Block::from_u128(!1);
/// The value in a label.
const VALUE: Block = Block::from_u128(1);

/// Privacy-free garbling. Bit 0 of the inputs' labels of value 0 is zero.
#[derive(Clone, Copy)]
pub(crate) struct PrivacyFree;

impl Comparison for PrivacyFree {
    const AND_BYTES: usize = AND_BYTES;

    #[inline(always)]
    fn garble<S: Simd>(self, simd: S, mut of: Segment<'_>, delta: Block, tables: &mut [u8]) {
        const STEP: usize = GARBLED * MAX_LANES;
        let rows = tables.as_chunks_mut::<AND_BYTES>().0;
        let rule = &mut Garble {
            hashing: TwoCall::new(simd, [simd.splat(of.start)], of.instance),
            delta,
            negations: [Block::ZERO, delta & KEY],
        };
        walk::<S, _, AND_BYTES, 1, GARBLED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(self, simd: S, mut of: Segment<'_>, tables: &[u8]) {
        const STEP: usize = EVALUATED * MAX_LANES;
        let rows = tables.as_chunks::<AND_BYTES>().0;
        let rule = &mut Evaluate(TwoCall::new(simd, [simd.splat(of.start)], of.instance));
        walk::<S, _, AND_BYTES, 1, EVALUATED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
    }

    fn garbler_negation(delta: Block) -> Block {
        delta & KEY
    }

    fn evaluator_negation() -> Block {
        VALUE
    }
}

/// The labels of both inputs of a vector of gates, after their negations.
#[inline(always)]
fn inputs<S: Simd>(
    simd: S,
    negations: &[Block; 2],
    gates: &[AndGate],
    slots: &SlotView<'_>,
) -> [S::Vector; 2] {
    let pin = |pin: fn(&AndGate) -> u32| {
        let label = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
        let negation = simd.gather(negations, |lane| (pin(&gates[lane]) >> 31) as usize);
        simd.xor(label, negation)
    };
    [pin(|gate| gate.a), pin(|gate| gate.b)]
}

struct Garble<S: Simd> {
    hashing: TwoCall<S>,
    delta: Block,
    negations: [Block; 2],
}

impl<S: Simd> AndRule<S, AND_BYTES> for Garble<S> {
    type Rows<'t> = &'t mut [[u8; AND_BYTES]];
    /// A^0 and B^0.
    type Labels<const N: usize> = [[S::Vector; 2]; N];
    type Hashes<const N: usize> = [[S::Vector; 2]; N];

    const ALIGNED: bool = false;
    const PIPELINED: bool = false;
    const LONE: bool = false;

    #[inline(always)]
    fn take_up(&mut self, simd: S, number: u64) -> usize {
        self.hashing.keys_for(simd, number)
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
            *x = inputs(simd, &self.negations, gates, slots);
        }
        x
    }

    #[inline(always)]
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        labels: &[[S::Vector; 2]; N],
    ) -> [[S::Vector; 2]; N] {
        let offset = simd.splat(self.delta);
        let mut a = *labels;
        for a in &mut a {
            a[1] = simd.xor(a[0], offset);
        }
        self.hashing.hash::<GatesInLanes<1>, N, 2>(simd, number, a)
    }

    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        simd: S,
        _number: u64,
        labels: &[[S::Vector; 2]; N],
        hashes: [[S::Vector; 2]; N],
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: &mut [[u8; AND_BYTES]],
    ) {
        let key = simd.splat(KEY);
        let gates = gates.chunks_exact(S::LANES);
        let gates = gates.zip(rows.chunks_exact_mut(S::LANES));
        for (([_, b], [h_0, h_1]), (gates, rows)) in labels.iter().zip(hashes).zip(gates) {
            let t = simd.and(simd.xor(simd.xor(h_0, h_1), *b), key);
            simd.store_rows(t, rows, 0);
            let zero = simd.and(h_0, key);
            simd.scatter(zero, slots, |lane| gates[lane].out as usize);
        }
    }
}

struct Evaluate<S: Simd>(TwoCall<S>);

impl<S: Simd> AndRule<S, AND_BYTES> for Evaluate<S> {
    type Rows<'t> = &'t [[u8; AND_BYTES]];
    type Labels<const N: usize> = [[S::Vector; 2]; N];
    type Hashes<const N: usize> = [[S::Vector; 1]; N];

    const ALIGNED: bool = false;
    const PIPELINED: bool = false;
    const LONE: bool = false;

    #[inline(always)]
    fn take_up(&mut self, simd: S, number: u64) -> usize {
        self.0.keys_for(simd, number)
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
            *x = inputs(simd, &[Block::ZERO, VALUE], gates, slots);
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
        let mut a = [[labels[0][0]]; N];
        for (a, [label, _]) in a.iter_mut().zip(labels) {
            *a = [*label];
        }
        self.0.hash::<GatesInLanes<1>, N, 1>(simd, number, a)
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
        let key = simd.splat(KEY);
        let gates = gates.chunks_exact(S::LANES);
        let gates = gates.zip(rows.chunks_exact(S::LANES));
        for (([a, b], [h]), (gates, rows)) in labels.iter().zip(hashes).zip(gates) {
            let value = simd.lsb_mask(*a);
            let t = simd.and(value, simd.load_rows(rows, 0));
            let label = simd.and(simd.xor(h, t), key);
            let label = simd.xor(label, simd.and(value, *b));
            simd.scatter(label, slots, |lane| gates[lane].out as usize);
        }
    }
}
