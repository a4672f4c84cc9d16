//! AND in two rows and four bits: the 4–2 row reduction by XORs, procedure G″ (section 4).
//!
//! K_{2a+b} = F(k_i, g‖ab‖0) ⊕ F(k_j, g‖ab‖1) for the labels with select bits a and b; m_α is bit 0
//! of K_α, X = K_1 ⊕ K_2 ⊕ K_3, and s = 2π̄_i + π̄_j the row that holds the 1. Cut to 127 bits,
//!
//! | s | k^0 | k^1 | T_1 | T_2 |
//! |---|---|---|---|---|
//! | 0 | X | K_0 | K_2 ⊕ K_3 | K_1 ⊕ K_3 |
//! | 1 | K_0 | X | K_2 ⊕ K_3 | K_0 ⊕ K_2 |
//! | 2 | K_0 | X | K_0 ⊕ K_1 | K_1 ⊕ K_3 |
//! | 3 | K_0 | X | K_0 ⊕ K_1 | K_0 ⊕ K_2 |
//!
//! π_ℓ is random, and t_α = m_α ⊕ π_ℓ ⊕ [α = s]. The evaluator has k = K_α ⊕ (0, T_1, T_2,
//! T_1 ⊕ T_2)_α and λ = m_α ⊕ t_α.
//!
//! **In the code** the table's lines are one formula: with D = K_0 ⊕ X, T_1 = K_0 ⊕ K_1 ⊕ π_i D and
//! T_2 = K_0 ⊕ K_2 ⊕ π_j D. The four bits are sent as the coefficients of a polynomial, t_{2a+b} =
//! c_0 ⊕ a c_1 ⊕ b c_2 ⊕ ab c_3: c_1 in bit 0 of T_2, c_2 in bit 0 of T_1, c_0 and c_3 in two bits
//! at the end of the segment's tables. Evaluation then works on all 128 bits at once.
//!
//! Cost: 258 bits; 8 calls of the garbler with 4 key schedules, 2 calls of the evaluator.

use tacit_circuit::{AndGate, NEGATED};
use tacit_kernels::{Block, MAX_LANES, Simd};

use super::AndRows;
use super::frame::{Frame, Gate, MAX_STEP, tweak_place};

/// AND in two rows and four bits.
#[derive(Debug)]
pub struct TwoRows;

/// The bytes of T_1 and T_2.
const BYTES: usize = 32;
/// The bits at the segment's end: c_0, c_3.
const BITS: usize = 2;

/// Returns the gate of a step that is lane `l` of vector `v`.
#[inline(always)]
fn in_order<S: Simd>(v: usize, lane: usize) -> usize {
    v * S::LANES + lane
}

impl AndRows for TwoRows {
    const BYTES: usize = BYTES;
    const BITS: usize = BITS;

    #[inline(always)]
    fn garble<S: Simd>(
        frame: &mut Frame<'_, S>,
        mut gates: &[AndGate],
        mut coins: &[Block],
        mut rows: &mut [u8],
        bits: &mut [u8],
        mut at: usize,
    ) {
        // Kept schedules are expanded for two vectors of gates at once.
        let vectors = if frame.keeps() { 2 } else { 1 };
        while !gates.is_empty() {
            let count = gates.len().min(vectors * S::LANES);
            let gates = gates.split_off(..count).expect("gates are left");
            let rows = rows.split_off_mut(..BYTES * count).expect("rows for each");
            let mut extra = [Block::ZERO; 2 * MAX_LANES];
            if frame.keeps() {
                garble_kept_step(frame, gates, coins, rows, &mut extra);
            } else {
                garble_step(frame, gates, coins, rows, &mut extra);
            }
            for (number, extra) in (at..).zip(&extra[..count]) {
                bits[number / 4] |= (extra.to_u128() as u8 & 3) << (number % 4 * BITS);
            }
            coins = &coins[count..];
            at += count;
        }
    }

    #[inline(always)]
    fn evaluate<S: Simd>(
        frame: &mut Frame<'_, S>,
        mut gates: &[AndGate],
        mut rows: &[u8],
        bits: &[u8],
        mut at: usize,
    ) {
        while !gates.is_empty() {
            let count = gates.len().min(4 * S::LANES);
            let gates = gates.split_off(..count).expect("gates are left");
            let rows = rows.split_off(..BYTES * count).expect("rows for each");
            if count > 2 * S::LANES {
                evaluate_step::<S, 4, 2>(frame, gates, rows, step_bits(bits, at));
            } else {
                evaluate_step::<S, 2, 1>(frame, gates, rows, step_bits(bits, at));
            }
            at += count;
        }
    }
}

/// Garbles a vector of gates. Writes c_0 and c_3 of each to bits 0 and 1 of `extra`.
#[inline(always)]
fn garble_step<S: Simd>(
    frame: &mut Frame<'_, S>,
    gates: &[AndGate],
    coins: &[Block],
    rows: &mut [u8],
    extra: &mut [Block],
) {
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, S::LANES, &mut room);
    let (inputs, k) = call_rows(frame, gates);
    let output = finish_gates(frame, inputs, k, gates, coins, rows, extra);
    frame.write_pair(output, |lane| gates[lane].out);
    frame.advance(count);
}

/// Does the same as [`garble_step`] for up to two vectors of gates whose inputs' round keys are
/// kept.
#[inline(always)]
fn garble_kept_step<S: Simd>(
    frame: &mut Frame<'_, S>,
    gates: &[AndGate],
    coins: &[Block],
    rows: &mut [u8],
    extra: &mut [Block],
) {
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, 2 * S::LANES, &mut room);
    let numbers: [S::Vector; 2] = frame.numbers(in_order::<S>);
    let mut outputs = [[numbers[0]; 2]; 2];
    for (v, output) in outputs.iter_mut().enumerate() {
        let gates = &gates[v * S::LANES..(v + 1) * S::LANES];
        let points = [
            frame.points_of_pairs([0, 2], 0, numbers[v]),
            frame.points_of_pairs([1, 3], 0, numbers[v]),
            frame.points_of_pairs([0, 1], 1, numbers[v]),
            frame.points_of_pairs([2, 3], 1, numbers[v]),
        ];
        let input = |n: usize, lane: usize| if n < 2 { gates[lane].a } else { gates[lane].b };
        let mut f = frame.call_kept(input, points);
        for f in &mut f {
            *f = simd.unzip(*f);
        }
        let k = [
            simd.xor(f[0][0], f[2][0]),
            simd.xor(f[1][0], f[2][1]),
            simd.xor(f[0][1], f[3][0]),
            simd.xor(f[1][1], f[3][1]),
        ];
        let i = simd.unzip(frame.kept_pairs(|lane| gates[lane].a));
        let j = simd.unzip(frame.kept_pairs(|lane| gates[lane].b));
        let (from, end) = ((v * S::LANES).min(count), ((v + 1) * S::LANES).min(count));
        let (coins, rows) = (&coins[from..], &mut rows[BYTES * from..BYTES * end]);
        let extra = &mut extra[v * S::LANES..];
        *output = simd.zip(finish_gates(frame, [i, j], k, gates, coins, rows, extra));
    }
    frame.keep(outputs, |v, lane| gates[in_order::<S>(v, lane)].out);
    frame.advance(count);
}

/// Writes the rows of a vector of gates and c_0 and c_3, from the labels of i and j, and K_0 to
/// K_3. Returns the output labels.
#[inline(always)]
fn finish_gates<S: Simd>(
    frame: &Frame<'_, S>,
    [i, j]: [[S::Vector; 2]; 2],
    [k_0, k_1, k_2, k_3]: [S::Vector; 4],
    gates: &[AndGate],
    coins: &[Block],
    rows: &mut [u8],
    extra: &mut [Block],
) -> [S::Vector; 2] {
    let simd = frame.simd;
    let k_01 = simd.xor(k_0, k_1);
    let d = simd.xor(k_01, simd.xor(k_2, k_3));

    let [pi_i, pi_j] = permute_bits(frame, gates, [i, j]);
    // With bit 0 of D set, bit 0 of the rows is c_2 = m_0 ⊕ m_1 ⊕ π_i and c_1 = m_0 ⊕ m_2 ⊕ π_j.
    let d_key = frame.key(d);
    let d_row = frame.flip(d_key);
    let t_1 = simd.xor(k_01, simd.and(pi_i, d_row));
    let t_2 = simd.xor(simd.xor(k_0, k_2), simd.and(pi_j, d_row));
    if rows.len() == BYTES * S::LANES {
        simd.store_pairs(t_1, t_2, rows);
    } else {
        let mut padded = [0; BYTES * MAX_LANES];
        simd.store_pairs(t_1, t_2, &mut padded);
        rows.copy_from_slice(&padded[..rows.len()]);
    }

    // K_0 stands for [s = 0] and has this select bit; X has the other select bit.
    let pi = frame.bit(simd.load(coins));
    let value = frame.bit(simd.and(pi_i, pi_j));
    let select = simd.xor(pi, value);
    let c_0 = simd.xor(frame.bit(k_0), select);
    let c_3 = frame.flip(frame.bit(d));
    simd.store(simd.xor(c_0, simd.add_halves(c_3, c_3)), extra);
    let swap = simd.and(simd.lsb_mask(select), d_key);
    let with_0 = simd.xor(frame.key(k_0), swap);
    [
        simd.xor(with_0, pi),
        frame.flip(simd.xor(simd.xor(with_0, d_key), pi)),
    ]
}

/// Evaluates up to `V` vectors of gates, two calls each, as `F` fours of keys.
#[inline(always)]
fn evaluate_step<S: Simd, const V: usize, const F: usize>(
    frame: &mut Frame<'_, S>,
    gates: &[AndGate],
    rows: &[u8],
    bits: u64,
) {
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, V * S::LANES, &mut room);
    let (keys, masks) = call_ands::<S, _, V, F>(frame, gates);
    frame.advance(count);
    let mut padded;
    let rows = if count == V * S::LANES {
        rows
    } else {
        padded = [0; BYTES * MAX_STEP];
        padded[..rows.len()].copy_from_slice(rows);
        &padded
    };
    for (v, rows) in rows.chunks_exact(BYTES * S::LANES).take(V).enumerate() {
        let [a, b] = masks[v];
        let (t_1, t_2) = simd.load_pairs(rows);
        let bit = |lane: usize, bit: usize| bits >> (in_order::<S>(v, lane) * BITS + bit) & 1 == 1;
        let c_0 = frame.public_bits(|lane| bit(lane, 0));
        let c_3 = frame.public_bits(|lane| bit(lane, 1));
        let label = simd.xor(keys[v], simd.xor(c_0, simd.and(simd.and(a, b), c_3)));
        let row = simd.xor(simd.and(b, t_1), simd.and(a, t_2));
        frame.write(simd.xor(label, row), |lane| {
            gates[in_order::<S>(v, lane)].out
        });
    }
}

/// Returns the bits of a step's gates, from bit 0 on. The first gate is number `at` of its segment.
#[inline(always)]
fn step_bits(bits: &[u8], at: usize) -> u64 {
    const { assert!(BITS * (MAX_STEP + 3) <= 64) };
    let bits = &bits[at * BITS / 8..];
    let mut word = [0; 8];
    let length = bits.len().min(8);
    word[..length].copy_from_slice(&bits[..length]);
    u64::from_le_bytes(word) >> (at * BITS % 8)
}

/// Returns the labels of i and j of a vector of gates, and K_0 to K_3, for their garbler.
#[inline(always)]
pub(super) fn call_rows<S: Simd, G: Gate>(
    frame: &Frame<'_, S>,
    gates: &[G],
) -> ([[S::Vector; 2]; 2], [S::Vector; 4]) {
    let simd = frame.simd;
    let [numbers] = frame.numbers(in_order::<S>);
    let i = frame.pair(|lane| gates[lane].slots()[0]);
    let j = frame.pair(|lane| gates[lane].slots()[1]);
    let keys = [
        frame.key(i[0]),
        frame.key(i[1]),
        frame.key(j[0]),
        frame.key(j[1]),
    ];
    let point = |row, side| frame.point(row, side, numbers);
    let points = [
        [point(0, 0), point(1, 0)],
        [point(2, 0), point(3, 0)],
        [point(0, 1), point(2, 1)],
        [point(1, 1), point(3, 1)],
    ];
    let [f] = simd.encrypt_rekeyed([keys], [points]);
    let k = [
        simd.xor(f[0][0], f[2][0]),
        simd.xor(f[0][1], f[3][0]),
        simd.xor(f[1][0], f[2][1]),
        simd.xor(f[1][1], f[3][1]),
    ];
    ([i, j], k)
}

/// Returns the masks of π_i and π_j, from the labels of both inputs before their negations.
#[inline(always)]
pub(super) fn permute_bits<S: Simd, G: Gate>(
    frame: &Frame<'_, S>,
    gates: &[G],
    [i, j]: [[S::Vector; 2]; 2],
) -> [S::Vector; 2] {
    let simd = frame.simd;
    let negated_i = frame.public_bits(|lane| gates[lane].slots()[0] & NEGATED != 0);
    let negated_j = frame.public_bits(|lane| gates[lane].slots()[1] & NEGATED != 0);
    [
        simd.lsb_mask(simd.xor(i[0], negated_i)),
        simd.lsb_mask(simd.xor(j[0], negated_j)),
    ]
}

/// Returns K_α of `V` vectors of gates, and the masks of λ_i and λ_j, for their evaluator.
#[inline(always)]
pub(super) fn call_ands<S: Simd, G: Gate, const V: usize, const F: usize>(
    frame: &Frame<'_, S>,
    gates: &[G],
) -> ([S::Vector; V], [[S::Vector; 2]; V]) {
    const { assert!(2 * V == 4 * F) };
    let simd = frame.simd;
    let zero = simd.splat(Block::ZERO);
    let gate = |v: usize, lane: usize| &gates[in_order::<S>(v, lane)];
    let numbers: [S::Vector; V] = frame.numbers(in_order::<S>);
    let (row_1, row_2) = (simd.splat(tweak_place(1, 0)), simd.splat(tweak_place(2, 0)));
    let mut keys = [[zero; 4]; F];
    let mut points = [[[zero]; 4]; F];
    let mut masks = [[zero; 2]; V];
    for v in 0..V {
        let i = frame.label(|lane| gate(v, lane).slots()[0]);
        let j = frame.label(|lane| gate(v, lane).slots()[1]);
        masks[v] = [simd.lsb_mask(i), simd.lsb_mask(j)];
        let row = simd.xor(simd.and(masks[v][0], row_2), simd.and(masks[v][1], row_1));
        for (side, label) in [i, j].into_iter().enumerate() {
            let point = simd.xor(frame.point(0, side as u8, numbers[v]), row);
            keys.as_flattened_mut()[2 * v + side] = frame.key(label);
            points.as_flattened_mut()[2 * v + side] = [point];
        }
    }
    let f = simd.encrypt_rekeyed(keys, points);
    let f = f.as_flattened();
    let mut keys = [zero; V];
    for (v, key) in keys.iter_mut().enumerate() {
        *key = simd.xor(f[2 * v][0], f[2 * v + 1][0]);
    }
    (keys, masks)
}
