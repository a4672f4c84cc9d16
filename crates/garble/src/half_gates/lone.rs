//! A gate that is alone in its batch: its two halves in the lanes of a vector.
//!
//! A lone gate waits for the one before and is waited for by the next. What counts is how long it
//! takes, and that few instructions do it, so that the CPU sees past it to the next one. The label
//! that was written last stays in a register: to read it back from its slot takes about as long as
//! two rounds of AES.
//!
//! A *pair* is `N` vectors that hold a block of the first half (G) and one of the second (E): in the
//! first two lanes of one vector, or each in a vector of a single lane. Lanes beyond repeat the
//! second. With H_0 and H_1 the hashes of (W_a^0, W_b^0) and (W_a^1, W_b^1), and O = (p_b Δ, 0), the
//! garbler's table is H_0 ⊕ H_1 ⊕ O ⊕ (0, W_a^0), and the output's label the sum of the halves of
//! H_0 ⊕ (p_a, p_b)·(H_0 ⊕ H_1 ⊕ O).

use tacit_circuit::{AndGate, NEGATED, XorGate};
use tacit_kernels::{Block, Numbered, Simd, SlotView};

use super::AND_BYTES;
use super::hashing::{Hashing, MAX_LANES};

/// Most XOR gates before a lone gate for which its label is worth looking for in the register.
const FEW_XORS: usize = 4;

/// The blocks of which a pair is masked: the first half's, then the second's.
const HALVES: [Block; 2] = [Block::ONES, Block::ZERO];

/// Which half lane `lane` of vector `v` of a pair is of.
#[inline(always)]
pub(super) fn half<S: Simd>(v: usize, lane: usize) -> usize {
    (v * S::LANES + lane).min(1)
}

/// The pair of the lanes of `first` and `second`.
#[inline(always)]
fn pair<S: Simd, const N: usize>(simd: S, first: S::Vector, second: S::Vector) -> [S::Vector; N] {
    let (mut pair, between) = ([second; N], simd.xor(first, second));
    for (v, vector) in pair.iter_mut().enumerate() {
        let mask = simd.gather(&HALVES, |lane| half::<S>(v, lane));
        *vector = simd.xor(*vector, simd.and(between, mask));
    }
    pair
}

/// The label that was written last, in every lane, and its slot. Which slot is read is public.
pub(super) struct Recent<S: Simd> {
    slot: u32,
    label: S::Vector,
}

impl<S: Simd> Recent<S> {
    /// None.
    #[inline(always)]
    pub(super) fn none(simd: S) -> Self {
        Self {
            // Not the number of a slot.
            slot: NEGATED,
            label: simd.splat(Block::ZERO),
        }
    }

    /// The label in `slot`, in every lane.
    #[inline(always)]
    fn read(&self, simd: S, slots: &SlotView<'_>, slot: u32) -> S::Vector {
        if slot == self.slot {
            self.label
        } else {
            simd.splat(*slots.at(slot as usize))
        }
    }

    #[inline(always)]
    fn write(&mut self, simd: S, slots: &mut SlotView<'_>, slot: u32, label: S::Vector) {
        simd.store_first(label, slots.at_mut(slot as usize));
        *self = Self { slot, label };
    }

    /// Computes the XOR gates before a lone gate, in order.
    #[inline(always)]
    pub(super) fn xor_gates(&mut self, simd: S, slots: &mut SlotView<'_>, gates: &[XorGate]) {
        if gates.len() > FEW_XORS {
            super::gates::xor_gates(slots, gates);
            *self = Self::none(simd);
            return;
        }
        for gate in gates {
            let a = self.read(simd, slots, gate.a);
            let label = simd.xor(a, self.read(simd, slots, gate.b));
            self.write(simd, slots, gate.out, label);
        }
    }
}

/// Garbles gate `number` under keys that are at hand.
#[inline(always)]
pub(super) fn garble<S: Simd, H: Hashing<S>>(
    simd: S,
    hashing: &mut H,
    offsets: &[Block; 2],
    number: u64,
    gate: AndGate,
    (slots, recent): (&mut SlotView<'_>, &mut Recent<S>),
    table: &mut [u8],
) {
    let label = |pin: u32| {
        let zero = recent.read(simd, slots, pin & !NEGATED);
        simd.xor(zero, simd.splat(offsets[(pin >> 31) as usize]))
    };
    let inputs = [label(gate.a), label(gate.b)];
    let delta = simd.splat(offsets[1]);
    let out = if S::LANES == 1 {
        garble_pair::<S, H, 2>(simd, hashing, delta, number, inputs, table)
    } else {
        garble_pair::<S, H, 1>(simd, hashing, delta, number, inputs, table)
    };
    recent.write(simd, slots, gate.out, out);
}

/// Garbles a gate with these input labels of value 0, in every lane; returns that of its output.
#[inline(always)]
fn garble_pair<S: Simd, H: Hashing<S>, const N: usize>(
    simd: S,
    hashing: &mut H,
    delta: S::Vector,
    number: u64,
    [a, b]: [S::Vector; 2],
    table: &mut [u8],
) -> S::Vector {
    let zero = simd.splat(Block::ZERO);
    let x: [S::Vector; N] = pair(simd, a, b);
    let mut labels = [[delta; 2]; N];
    for (labels, x) in labels.iter_mut().zip(x) {
        *labels = [x, simd.xor(x, delta)];
    }
    let offsets: [S::Vector; N] = pair(simd, simd.and(simd.lsb_mask(b), delta), zero);
    let second: [S::Vector; N] = pair(simd, zero, a);
    let hashes = hashing.lone(simd, number, labels);
    let (mut rows, mut out) = (x, x);
    for (v, [h_0, h_1]) in hashes.into_iter().enumerate() {
        let sum = simd.xor(h_0, simd.xor(h_1, offsets[v]));
        rows[v] = simd.xor(sum, second[v]);
        out[v] = simd.xor(h_0, simd.and(simd.lsb_mask(x[v]), sum));
    }
    let mut blocks = [Block::ZERO; 2 * MAX_LANES];
    for (v, row) in rows.into_iter().enumerate() {
        simd.store(row, &mut blocks[v * S::LANES..]);
    }
    for (row, block) in table.chunks_exact_mut(Block::BYTES).zip(&blocks) {
        row.copy_from_slice(&block.to_bytes());
    }
    simd.sum_of_pair(out)
}

/// Evaluates gate `number` under keys that are at hand.
#[inline(always)]
pub(super) fn evaluate<S: Simd, H: Hashing<S>>(
    simd: S,
    hashing: &mut H,
    number: u64,
    gate: AndGate,
    (slots, recent): (&mut SlotView<'_>, &mut Recent<S>),
    table: &[u8],
) {
    let inputs = [gate.a, gate.b].map(|pin| pin & !NEGATED);
    let inputs = [
        recent.read(simd, slots, inputs[0]),
        recent.read(simd, slots, inputs[1]),
    ];
    let out = if S::LANES == 1 {
        evaluate_pair::<S, H, 2>(simd, hashing, number, inputs, table)
    } else {
        evaluate_pair::<S, H, 1>(simd, hashing, number, inputs, table)
    };
    recent.write(simd, slots, gate.out, out);
}

/// Evaluates a gate with these input labels, in every lane; returns its output's.
#[inline(always)]
fn evaluate_pair<S: Simd, H: Hashing<S>, const N: usize>(
    simd: S,
    hashing: &mut H,
    number: u64,
    [a, b]: [S::Vector; 2],
    table: &[u8],
) -> S::Vector {
    let x: [S::Vector; N] = pair(simd, a, b);
    let second: [S::Vector; N] = pair(simd, simd.splat(Block::ZERO), a);
    let mut rows = [[0; Block::BYTES]; AND_BYTES / Block::BYTES];
    rows.as_flattened_mut().copy_from_slice(table);
    let [t_g, t_e] = rows.map(|row| simd.splat(Block::from_bytes(row)));
    let rows: [S::Vector; N] = pair(simd, t_g, t_e);
    let mut labels = [[a]; N];
    for (labels, x) in labels.iter_mut().zip(x) {
        *labels = [x];
    }
    let hashes = hashing.lone(simd, number, labels);
    let mut out = x;
    for (v, [hash]) in hashes.into_iter().enumerate() {
        let row = simd.and(simd.lsb_mask(x[v]), simd.xor(rows[v], second[v]));
        out[v] = simd.xor(hash, row);
    }
    simd.sum_of_pair(out)
}
