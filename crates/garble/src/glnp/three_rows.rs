//! AND and XOR in three rows: the 4–3 row reduction of Naor, Pinkas and Sumner ("Privacy
//! preserving auctions and mechanism design", EC 1999; section 3.3 and figure 2 of the paper).
//!
//! K_{2a+b} = F(k_i, g‖ab‖0) ⊕ F(k_j, g‖ab‖1) for the labels with select bits a and b. K_0 is the
//! output's label for the value of row 0; the other label has a random key and the other select
//! bit. T_α = K_α ⊕ (label of row α's value), α = 1, 2, 3. The evaluator has one K_α and adds T_α.
//!
//! Cost: 384 bits; 8 calls of the garbler with 4 key schedules, 2 calls of the evaluator.

use tacit_circuit::{AndGate, XorGate};
use tacit_kernels::{Block, MAX_LANES, Simd};

use super::frame::{Frame, Gate, MAX_STEP};
use super::two_rows::{call_ands, call_rows, permute_bits};
use super::{AndRows, XorRows};

/// AND or XOR in three rows.
#[derive(Debug)]
pub struct ThreeRows;

/// The bytes of T_1, T_2 and T_3.
const BYTES: usize = 48;

/// The operation of a gate on its two inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    And,
    Xor,
}

impl AndRows for ThreeRows {
    const BYTES: usize = BYTES;
    const BITS: usize = 0;

    #[inline(always)]
    fn garble<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[AndGate],
        coins: &[Block],
        rows: &mut [u8],
        _bits: &mut [u8],
        _at: usize,
    ) {
        garble_gates(frame, gates, Kind::And, coins, rows);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[AndGate],
        rows: &[u8],
        _bits: &[u8],
        _at: usize,
    ) {
        evaluate_gates(frame, gates, rows);
    }
}

impl XorRows for ThreeRows {
    const BYTES: usize = BYTES;
    const COINS: bool = true;

    #[inline(always)]
    fn garble<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[XorGate],
        _private: bool,
        coins: &[Block],
        tables: &mut [u8],
    ) {
        garble_gates(frame, gates, Kind::Xor, coins, tables);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(
        frame: &mut Frame<'_, S>,
        gates: &[XorGate],
        _private: bool,
        tables: &[u8],
    ) {
        evaluate_gates(frame, gates, tables);
    }
}

/// Garbles gates that do not wait for each other, one vector at a time.
#[inline(always)]
fn garble_gates<S: Simd, G: Gate>(
    frame: &mut Frame<'_, S>,
    gates: &[G],
    kind: Kind,
    mut coins: &[Block],
    rows: &mut [u8],
) {
    let steps = gates.chunks(S::LANES);
    for (gates, rows) in steps.zip(rows.chunks_mut(BYTES * S::LANES)) {
        garble_step(frame, gates, kind, coins, rows);
        coins = &coins[gates.len()..];
    }
}

/// Garbles a vector of gates.
#[inline(always)]
fn garble_step<S: Simd, G: Gate>(
    frame: &mut Frame<'_, S>,
    gates: &[G],
    kind: Kind,
    coins: &[Block],
    rows: &mut [u8],
) {
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, S::LANES, &mut room);
    let (inputs, [k_0, k @ ..]) = call_rows(frame, gates);
    let [pi_i, pi_j] = permute_bits(frame, gates, inputs);
    let ones = simd.splat(Block::ONES);
    let zeros = simd.splat(Block::ZERO);
    // The value of row 0, and whether rows 1, 2 and 3 have another value.
    let (value, differs) = match kind {
        Kind::And => {
            let neither = simd.xor(ones, simd.xor(pi_i, pi_j));
            (simd.and(pi_i, pi_j), [pi_i, pi_j, neither])
        }
        Kind::Xor => (simd.xor(pi_i, pi_j), [ones, ones, zeros]),
    };
    let coin = simd.load(coins);
    let other = simd.xor(frame.key(coin), frame.flip(frame.bit(k_0)));
    let between = simd.xor(k_0, other);
    for (index, (k, differs)) in k.into_iter().zip(differs).enumerate() {
        let row = simd.xor(simd.xor(k, k_0), simd.and(differs, between));
        let mut blocks = [Block::ZERO; MAX_LANES];
        simd.store(row, &mut blocks);
        for (block, rows) in blocks.iter().zip(rows.chunks_exact_mut(BYTES)) {
            rows[16 * index..][..16].copy_from_slice(&block.to_bytes());
        }
    }

    // The label with select bit 0 is K_0 if m_0 is 0, and the other if it is 1.
    let between = frame.key(between);
    let with_0 = simd.xor(frame.key(k_0), simd.and(simd.lsb_mask(k_0), between));
    let value_of_0 = frame.bit(simd.xor(value, k_0));
    let pair = [
        simd.xor(with_0, value_of_0),
        frame.flip(simd.xor(simd.xor(with_0, between), value_of_0)),
    ];
    frame.write_pair(pair, |lane| gates[lane].slots()[2]);
    frame.advance(count);
}

/// Evaluates gates that do not wait for each other, up to four vectors at a time.
#[inline(always)]
fn evaluate_gates<S: Simd, G: Gate>(frame: &mut Frame<'_, S>, gates: &[G], rows: &[u8]) {
    let rows = rows.chunks(BYTES * 4 * S::LANES);
    for (gates, rows) in gates.chunks(4 * S::LANES).zip(rows) {
        if gates.len() > 2 * S::LANES {
            evaluate_step::<S, G, 4, 2>(frame, gates, rows);
        } else {
            evaluate_step::<S, G, 2, 1>(frame, gates, rows);
        }
    }
}

/// Evaluates up to `V` vectors of gates.
#[inline(always)]
fn evaluate_step<S: Simd, G: Gate, const V: usize, const F: usize>(
    frame: &mut Frame<'_, S>,
    gates: &[G],
    rows: &[u8],
) {
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, V * S::LANES, &mut room);
    let (keys, masks) = call_ands::<S, G, V, F>(frame, gates);
    frame.advance(count);
    let mut blocks = [Block::ZERO; 3 * MAX_STEP];
    for (block, row) in blocks.iter_mut().zip(rows.as_chunks().0) {
        *block = Block::from_bytes(*row);
    }
    for v in 0..V {
        let [a, b] = masks[v];
        let both = simd.and(a, b);
        let taken = [simd.xor(b, both), simd.xor(a, both), both];
        let label = taken
            .into_iter()
            .enumerate()
            .fold(keys[v], |label, (t, taken)| {
                let row = simd.gather(&blocks, |lane| 3 * (v * S::LANES + lane) + t);
                simd.xor(label, simd.and(taken, row))
            });
        frame.write(label, |lane| gates[v * S::LANES + lane].slots()[2]);
    }
}
