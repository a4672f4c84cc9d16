//! `half-gates`: free XOR, and AND in two ciphertexts, in the ideal-cipher model.
//!
//! Zahur, Rosulek and Evans, "Two halves make a whole" (EUROCRYPT 2015), figure 2.
//!
//! **Assumption.** AES is an ideal cipher, under either construction of [`tacit_kernels::hash`].
//! [`Construction::security_bits`] computes the concrete security: 117 bits *two-call*, where a key
//! serves decoding as well, and 126 *re-keyed*.
//!
//! **In the paper's notation**: W^0 is the label of value 0, p the permute bit, H(x, i) the hash;
//! gate g hashes its first input with tweak (AND, g, 0), the garbler's half (G), and its second
//! with (AND, g, 1), the evaluator's half (E). With W_a^0, W_b^0 the inputs:
//! `T_G` = H(W_a^0) ⊕ H(W_a^1) ⊕ p_b Δ, `T_E` = H(W_b^0) ⊕ H(W_b^1) ⊕ W_a^0.
//!
//! **Both halves are one formula** ([`garble_half`]). Let W be the half's input, H_0 and H_1 the
//! hashes of W^0 and W^1, and (O, second) = (p_b Δ, 0) in the garbler's half and (0, W_a^0) in the
//! evaluator's. Then sum = H_0 ⊕ H_1 ⊕ O, the row is sum ⊕ second, and the half's output label of
//! value 0 is H_0 ⊕ p·sum. The gate's label is the sum of its halves'. The evaluator of a label W
//! with select bit s computes H(W) ⊕ s(row ⊕ second), with second = 0 and W_a ([`evaluate_half`]).
//!
//! **Tables**, in the program's order: for each AND gate `T_G` and `T_E`, 32 bytes.
//!
//! **Cost** of an AND: 256 ciphertext bits; two-call 8 cipher calls for the garbler, 4 for the
//! evaluator; re-keyed 4 and 2, and 2 key schedules for each. A XOR is free.
//!
//! **Layout**: a vector holds one input of several gates, one gate per lane. A gate that is alone
//! in its batch has its two halves in the lanes instead; several garblings of a small program are
//! in the lanes side by side ([`side_by_side`]). Re-keyed, the keys of the next gates are expanded
//! before their labels are known, so that each gate of a chain waits for one cipher call; two-call,
//! it waits for two.

mod side_by_side;

use core::marker::PhantomData;

use tacit_circuit::{AndGate, Program};
use tacit_kernels::{Block, Construction, Cpu, MAX_LANES, Simd, SlotView};

use crate::free_xor::{Ands, FreeXor, FreeXorEvaluator, FreeXorGarbler, Secrets, Segment};
use crate::hashing::{GatesInLanes, HalvesInLanes, Hashing, Rekeyed, TwoCall};
use crate::scheme::compiled_here;
use crate::walk::{AndRule, pair, walk};
use crate::{SchemeId, WholeGarbling};

/// The bytes of an AND gate's table.
const AND_BYTES: usize = 2 * Block::BYTES;

/// The number of hashed inputs of a gate.
const INPUTS: usize = 2;
/// The vectors of inputs in one step of the garbler: two labels each, so eight in flight.
const GARBLED: usize = 4;
/// The vectors of inputs in one step of the evaluator: one label each, so eight in flight.
const EVALUATED: usize = 8;

/// Garbles one half of a gate. Returns its row, and its part of the output's label of value 0.
#[inline(always)]
fn garble_half<S: Simd>(
    simd: S,
    [h_0, h_1]: [S::Vector; 2],
    p: S::Vector,
    offset: S::Vector,
    second: S::Vector,
) -> [S::Vector; 2] {
    let sum = simd.xor(simd.xor(h_0, h_1), offset);
    [simd.xor(sum, second), simd.xor(h_0, simd.and(p, sum))]
}

/// Evaluates one half of a gate. Returns its part of the output's label.
#[inline(always)]
fn evaluate_half<S: Simd>(
    simd: S,
    h: S::Vector,
    s: S::Vector,
    row: S::Vector,
    second: S::Vector,
) -> S::Vector {
    simd.xor(h, simd.and(s, simd.xor(row, second)))
}

/// Garbles both halves of a gate with these labels of value 0. Returns `T_G` and `T_E`, and the
/// output's label of value 0.
#[inline(always)]
fn garble_gate<S: Simd>(
    simd: S,
    delta: S::Vector,
    [a, b]: [S::Vector; 2],
    [h_a, h_b]: [[S::Vector; 2]; 2],
) -> ([S::Vector; 2], S::Vector) {
    let zero = simd.splat(Block::ZERO);
    let (p_a, p_b) = (simd.lsb_mask(a), simd.lsb_mask(b));
    let [t_g, w_g] = garble_half(simd, h_a, p_a, simd.and(p_b, delta), zero);
    let [t_e, w_e] = garble_half(simd, h_b, p_b, zero, a);
    ([t_g, t_e], simd.xor(w_g, w_e))
}

/// Evaluates both halves of a gate with these labels. Returns the output's label.
#[inline(always)]
fn evaluate_gate<S: Simd>(
    simd: S,
    [a, b]: [S::Vector; 2],
    [h_a, h_b]: [S::Vector; 2],
    [t_g, t_e]: [S::Vector; 2],
) -> S::Vector {
    let (s_a, s_b) = (simd.lsb_mask(a), simd.lsb_mask(b));
    let w_g = evaluate_half(simd, h_a, s_a, t_g, simd.splat(Block::ZERO));
    simd.xor(w_g, evaluate_half(simd, h_b, s_b, t_e, a))
}

/// The garbler's rule.
struct Garble<S: Simd, H> {
    hashing: H,
    /// 0 and Δ.
    offsets: [Block; 2],
    simd: PhantomData<S>,
}

impl<S: Simd, H: Hashing<S>> AndRule<S, AND_BYTES> for Garble<S, H> {
    type Rows<'t> = &'t mut [[u8; AND_BYTES]];
    /// The labels of values 0 and 1 of both inputs, after their negations.
    type Labels<const N: usize> = [[S::Vector; 2]; N];
    type Hashes<const N: usize> = [[S::Vector; 2]; N];

    const ALIGNED: bool = H::ALIGNED;
    const PIPELINED: bool = false;
    const LONE: bool = true;

    #[inline(always)]
    fn load_keys(&mut self, simd: S, number: u64) -> usize {
        self.hashing.keys_for(simd, number)
    }

    #[inline(always)]
    fn read<const N: usize>(
        &self,
        simd: S,
        gates: &[AndGate],
        slots: &SlotView<'_>,
    ) -> [[S::Vector; 2]; N] {
        let delta = simd.splat(self.offsets[1]);
        let mut x = [[delta; 2]; N];
        for (x, gates) in x.chunks_exact_mut(INPUTS).zip(gates.chunks_exact(S::LANES)) {
            let side = |pin: fn(&AndGate) -> u32| {
                let zero = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
                let offset = simd.gather(&self.offsets, |lane| (pin(&gates[lane]) >> 31) as usize);
                simd.xor(zero, offset)
            };
            let (a, b) = (side(|gate| gate.a), side(|gate| gate.b));
            x[0] = [a, simd.xor(a, delta)];
            x[1] = [b, simd.xor(b, delta)];
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
        self.hashing
            .hash::<GatesInLanes<INPUTS>, N, 2>(simd, number, *labels)
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
        let (labels, hashes) = (
            labels.as_chunks::<INPUTS>().0,
            hashes.as_chunks::<INPUTS>().0,
        );
        let gates = gates.chunks_exact(S::LANES);
        let gates = gates.zip(rows.chunks_exact_mut(S::LANES));
        for (([[a, a1], [b, _]], hashes), (gates, rows)) in labels.iter().zip(hashes).zip(gates) {
            let delta = simd.xor(*a, *a1);
            let ([t_g, t_e], zero) = garble_gate(simd, delta, [*a, *b], *hashes);
            simd.store_pairs(t_g, t_e, rows.as_flattened_mut());
            simd.scatter(zero, slots, |lane| gates[lane].out as usize);
        }
    }

    #[inline(always)]
    fn lone_gate_output(
        &mut self,
        simd: S,
        number: u64,
        gate: AndGate,
        [a, b]: [S::Vector; 2],
        rows: &mut [[u8; AND_BYTES]],
    ) -> S::Vector {
        let offset = |pin: u32| simd.splat(self.offsets[(pin >> 31) as usize]);
        let labels = [simd.xor(a, offset(gate.a)), simd.xor(b, offset(gate.b))];
        if S::LANES == 1 {
            self.garble_pair::<2>(simd, number, labels, rows)
        } else {
            self.garble_pair::<1>(simd, number, labels, rows)
        }
    }
}

impl<S: Simd, H: Hashing<S>> Garble<S, H> {
    /// Returns the rule under this hash and this Δ.
    #[inline(always)]
    fn new(hashing: H, delta: Block) -> Self {
        Self {
            hashing,
            offsets: [Block::ZERO, delta],
            simd: PhantomData,
        }
    }

    /// Garbles a gate with these input labels of value 0, in every lane. Returns that of its
    /// output.
    #[inline(always)]
    fn garble_pair<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        [a, b]: [S::Vector; 2],
        rows: &mut [[u8; AND_BYTES]],
    ) -> S::Vector {
        let (zero, delta) = (simd.splat(Block::ZERO), simd.splat(self.offsets[1]));
        let x: [S::Vector; N] = pair(simd, a, b);
        let mut labels = [[delta; 2]; N];
        for (labels, x) in labels.iter_mut().zip(x) {
            *labels = [x, simd.xor(x, delta)];
        }
        let offset: [S::Vector; N] = pair(simd, simd.and(simd.lsb_mask(b), delta), zero);
        let second: [S::Vector; N] = pair(simd, zero, a);
        let hashes = self
            .hashing
            .hash::<HalvesInLanes, N, 2>(simd, number, labels);
        let mut out = x;
        let mut blocks = [Block::ZERO; 2 * MAX_LANES];
        for (v, hashes) in hashes.into_iter().enumerate() {
            let p = simd.lsb_mask(x[v]);
            let row;
            [row, out[v]] = garble_half(simd, hashes, p, offset[v], second[v]);
            simd.store(row, &mut blocks[v * S::LANES..]);
        }
        let table = rows.as_flattened_mut();
        for (row, block) in table.chunks_exact_mut(Block::BYTES).zip(&blocks) {
            row.copy_from_slice(&block.to_bytes());
        }
        simd.sum_of_pair(out)
    }
}

/// The evaluator's rule.
struct Evaluate<S: Simd, H> {
    hashing: H,
    simd: PhantomData<S>,
}

impl<S: Simd, H: Hashing<S>> AndRule<S, AND_BYTES> for Evaluate<S, H> {
    type Rows<'t> = &'t [[u8; AND_BYTES]];
    type Labels<const N: usize> = [[S::Vector; 1]; N];
    type Hashes<const N: usize> = [[S::Vector; 1]; N];

    const ALIGNED: bool = H::ALIGNED;
    const PIPELINED: bool = false;
    const LONE: bool = true;

    #[inline(always)]
    fn load_keys(&mut self, simd: S, number: u64) -> usize {
        self.hashing.keys_for(simd, number)
    }

    #[inline(always)]
    fn read<const N: usize>(
        &self,
        simd: S,
        gates: &[AndGate],
        slots: &SlotView<'_>,
    ) -> [[S::Vector; 1]; N] {
        let mut x = [[simd.splat(Block::ZERO)]; N];
        for (x, gates) in x.chunks_exact_mut(INPUTS).zip(gates.chunks_exact(S::LANES)) {
            x[0] = [simd.gather(slots, |lane| gates[lane].a as usize)];
            x[1] = [simd.gather(slots, |lane| gates[lane].b as usize)];
        }
        x
    }

    #[inline(always)]
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        labels: &[[S::Vector; 1]; N],
    ) -> [[S::Vector; 1]; N] {
        self.hashing
            .hash::<GatesInLanes<INPUTS>, N, 1>(simd, number, *labels)
    }

    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        simd: S,
        _number: u64,
        labels: &[[S::Vector; 1]; N],
        hashes: [[S::Vector; 1]; N],
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: &[[u8; AND_BYTES]],
    ) {
        let (labels, hashes) = (
            labels.as_chunks::<INPUTS>().0,
            hashes.as_chunks::<INPUTS>().0,
        );
        let gates = gates.chunks_exact(S::LANES);
        let gates = gates.zip(rows.chunks_exact(S::LANES));
        for (([[a], [b]], [[h_a], [h_b]]), (gates, rows)) in labels.iter().zip(hashes).zip(gates) {
            let (t_g, t_e) = simd.load_pairs(rows.as_flattened());
            let label = evaluate_gate(simd, [*a, *b], [*h_a, *h_b], [t_g, t_e]);
            simd.scatter(label, slots, |lane| gates[lane].out as usize);
        }
    }

    #[inline(always)]
    fn lone_gate_output(
        &mut self,
        simd: S,
        number: u64,
        _gate: AndGate,
        labels: [S::Vector; 2],
        rows: &[[u8; AND_BYTES]],
    ) -> S::Vector {
        if S::LANES == 1 {
            self.evaluate_pair::<2>(simd, number, labels, rows)
        } else {
            self.evaluate_pair::<1>(simd, number, labels, rows)
        }
    }
}

impl<S: Simd, H: Hashing<S>> Evaluate<S, H> {
    /// Returns the rule under this hash.
    #[inline(always)]
    fn new(hashing: H) -> Self {
        Self {
            hashing,
            simd: PhantomData,
        }
    }

    /// Evaluates a gate with these input labels, in every lane. Returns its output's label.
    #[inline(always)]
    fn evaluate_pair<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        [a, b]: [S::Vector; 2],
        rows: &[[u8; AND_BYTES]],
    ) -> S::Vector {
        let x: [S::Vector; N] = pair(simd, a, b);
        let second: [S::Vector; N] = pair(simd, simd.splat(Block::ZERO), a);
        let (table, _) = rows[0].as_chunks();
        let (t_g, t_e) = (Block::from_bytes(table[0]), Block::from_bytes(table[1]));
        let rows: [S::Vector; N] = pair(simd, simd.splat(t_g), simd.splat(t_e));
        let mut labels = [[a]; N];
        for (labels, x) in labels.iter_mut().zip(x) {
            *labels = [x];
        }
        let hashes = self
            .hashing
            .hash::<HalvesInLanes, N, 1>(simd, number, labels);
        let mut out = x;
        for (v, [h]) in hashes.into_iter().enumerate() {
            out[v] = evaluate_half(simd, h, simd.lsb_mask(x[v]), rows[v], second[v]);
        }
        simd.sum_of_pair(out)
    }
}

/// Garbles a segment by half-gates under this hash.
///
/// # Panics
///
/// If `tables` does not have exactly one table for each AND gate of the segment.
#[inline(always)]
fn garble<S: Simd, H: Hashing<S>>(
    simd: S,
    hashing: H,
    mut of: Segment<'_>,
    delta: Block,
    tables: &mut [u8],
) {
    const STEP: usize = GARBLED / INPUTS * MAX_LANES;
    let rows = tables.as_chunks_mut::<AND_BYTES>().0;
    let rule = &mut Garble::new(hashing, delta);
    walk::<S, _, AND_BYTES, INPUTS, GARBLED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
}

/// Evaluates a segment by half-gates under this hash.
///
/// # Panics
///
/// If `tables` does not have exactly one table for each AND gate of the segment.
#[inline(always)]
fn evaluate<S: Simd, H: Hashing<S>>(simd: S, hashing: H, mut of: Segment<'_>, tables: &[u8]) {
    const STEP: usize = EVALUATED / INPUTS * MAX_LANES;
    let rows = tables.as_chunks::<AND_BYTES>().0;
    let rule = &mut Evaluate::new(hashing);
    walk::<S, _, AND_BYTES, INPUTS, EVALUATED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
}

/// The AND gates of half-gates, under one of two hashes.
#[derive(Clone, Copy, Debug)]
pub struct HalfGatesAnds {
    construction: Construction,
}

impl Ands for HalfGatesAnds {
    const BYTES: usize = AND_BYTES;
    const GATES_A_COIN: u64 = 0;

    fn id(self) -> SchemeId {
        match self.construction {
            Construction::Rekeyed => SchemeId::HALF_GATES_REKEYED,
            _ => SchemeId::HALF_GATES_TWO_CALL,
        }
    }

    fn construction(self) -> Construction {
        self.construction
    }

    fn wide_from(self) -> [usize; 2] {
        let gains = self.construction == Construction::Rekeyed;
        [[usize::MAX; 2], [4, 64]][usize::from(gains)]
    }

    #[inline(always)]
    fn garble<S: Simd>(self, simd: S, of: Segment<'_>, with: Secrets<'_>, tables: &mut [u8]) {
        let (starts, instance) = ([simd.splat(of.start)], of.instance);
        match self.construction {
            Construction::Rekeyed => {
                let hashing = Rekeyed::new(simd, starts, instance);
                garble(simd, hashing, of, *with.delta, tables);
            }
            _ => {
                let hashing = TwoCall::new(simd, starts, instance);
                garble(simd, hashing, of, *with.delta, tables);
            }
        }
    }

    #[inline(always)]
    fn evaluate<S: Simd>(self, simd: S, of: Segment<'_>, tables: &[u8]) {
        let (starts, instance) = ([simd.splat(of.start)], of.instance);
        match self.construction {
            Construction::Rekeyed => {
                evaluate(simd, Rekeyed::new(simd, starts, instance), of, tables);
            }
            _ => evaluate(simd, TwoCall::new(simd, starts, instance), of, tables),
        }
    }

    compiled_here!(FreeXorGarbler, FreeXorEvaluator);

    fn garble_side_by_side(
        scheme: HalfGates,
        instance: u32,
        program: &Program,
        garblings: &mut [WholeGarbling<'_, HalfGates>],
    ) {
        side_by_side::garble(scheme, instance, program, garblings);
    }
}

/// The scheme `half-gates`, under one of its two hashes. See the module's header.
pub type HalfGates = FreeXor<HalfGatesAnds>;

impl HalfGates {
    /// Returns the scheme, on this CPU's fastest backend.
    pub fn new(construction: Construction) -> Self {
        Self::on(Cpu::detect(), construction)
    }

    /// Returns the scheme on a given backend. All backends compute the same bits.
    pub const fn on(cpu: Cpu, construction: Construction) -> Self {
        Self {
            cpu,
            ands: HalfGatesAnds { construction },
        }
    }
}

#[cfg(test)]
mod tests;
