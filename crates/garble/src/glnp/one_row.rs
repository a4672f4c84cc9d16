//! XOR in one ciphertext: procedures G and G′ (sections 3.2 and 3.6; figure 1).
//!
//! k̃_i^b = F(k_i^b, g‖λ)[1..n] and Δ_ℓ = k̃_i^0 ⊕ k̃_i^1. The key of j with select bit 0 becomes
//! F(k_j, g‖0)[1..n] in G and stays as it is in G′; the other becomes that ⊕ Δ_ℓ, which the
//! ciphertext C masks with F(k_j, g‖1)[1..n]. Output: k̃_i ⊕ k̃_j.
//!
//! **G′ only for a private j**, which no other gate uses. If λ_j = 1, the output's hidden key and
//! j's differ by k̃_i, which the evaluator knows; F under both would be F under related keys.
//!
//! Cost: 127 bits in 16 bytes; G takes 4 calls of the garbler, G′ 3, and both take 2 of the
//! evaluator. Each call has a key schedule of its own.

use tacit_circuit::XorGate;
use tacit_kernels::{Block, Simd};

use super::XorRows;
use super::frame::{Frame, MAX_STEP, tweak_place};

/// XOR in one ciphertext.
#[derive(Debug)]
pub struct OneRow;

/// The bytes of a ciphertext, with bit 0 zero.
const BYTES: usize = 16;

/// Returns the gate of a step that is lane `l` of vector `v`. The ciphertexts of two vectors are
/// then in order, alternating between the vectors.
#[inline(always)]
fn paired<S: Simd>(v: usize, lane: usize) -> usize {
    v / 2 * 2 * S::LANES + 2 * lane + v % 2
}

impl XorRows for OneRow {
    const BYTES: usize = BYTES;
    const COINS: bool = false;

    #[inline(always)]
    fn garble<S: Simd>(
        frame: &mut Frame<'_, S>,
        mut gates: &[XorGate],
        private: bool,
        _coins: &[Block],
        mut tables: &mut [u8],
    ) {
        if frame.keeps() {
            let steps = gates.chunks(2 * S::LANES);
            for (gates, table) in steps.zip(tables.chunks_mut(2 * BYTES * S::LANES)) {
                garble_kept_step(frame, gates, private, table);
            }
            return;
        }
        let total = gates.len();
        let mut next = |count: usize| {
            let table = tables.split_off_mut(..BYTES * count);
            let table = table.expect("a ciphertext for each gate");
            (gates.split_off(..count).expect("gates are left"), table)
        };
        // One step takes as many private gates as fill their three fours of keys; other gates fill
        // two.
        let fours = if private { total / (4 * S::LANES) } else { 0 };
        for _ in 0..fours {
            let (gates, table) = next(4 * S::LANES);
            garble_step::<S, 4, 3, 3>(frame, gates, true, table);
        }
        let shared = total - fours * 4 * S::LANES;
        for _ in 0..shared / (2 * S::LANES) {
            let (gates, table) = next(2 * S::LANES);
            garble_step::<S, 2, 4, 2>(frame, gates, private, table);
        }
        let rest = shared % (2 * S::LANES);
        if rest > 0 {
            let (gates, table) = next(rest);
            garble_step::<S, 2, 4, 2>(frame, gates, private, table);
        }
    }

    #[inline(always)]
    fn evaluate<S: Simd>(
        frame: &mut Frame<'_, S>,
        mut gates: &[XorGate],
        private: bool,
        mut tables: &[u8],
    ) {
        while !gates.is_empty() {
            let count = gates.len().min(4 * S::LANES);
            let gates = gates.split_off(..count).expect("gates are left");
            let table = tables.split_off(..BYTES * count);
            let table = table.expect("a ciphertext for each gate");
            if count > 2 * S::LANES {
                evaluate_step::<S, 4, 2>(frame, gates, private, table);
            } else {
                evaluate_step::<S, 2, 1>(frame, gates, private, table);
            }
        }
    }
}

/// Garbles up to `V` vectors of gates with `C` calls each, as `F` fours of keys. With three calls,
/// the gates are private.
#[inline(always)]
fn garble_step<S: Simd, const V: usize, const C: usize, const F: usize>(
    frame: &mut Frame<'_, S>,
    gates: &[XorGate],
    private: bool,
    table: &mut [u8],
) {
    const { assert!(V * C == 4 * F && V.is_multiple_of(2)) };
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, V * S::LANES, &mut room);
    let zero = simd.splat(Block::ZERO);
    let gate = |v: usize, lane: usize| &gates[paired::<S>(v, lane)];
    let numbers: [S::Vector; V] = frame.numbers(paired::<S>);
    let mut keys = [[zero; 4]; F];
    let mut points = [[[zero]; 4]; F];
    let mut values = [zero; V];
    let mut untranslated = [zero; V];
    for v in 0..V {
        let i = frame.pair(|lane| gate(v, lane).a);
        let j = frame.pair(|lane| gate(v, lane).b);
        let calls = [(i[0], 0, 0), (i[1], 1, 0), (j[1], 1, 1), (j[0], 0, 1)];
        for (c, (label, row, side)) in calls.into_iter().take(C).enumerate() {
            keys.as_flattened_mut()[C * v + c] = frame.key(label);
            points.as_flattened_mut()[C * v + c] = [frame.point(row, side, numbers[v])];
        }
        values[v] = frame.bit(simd.xor(i[0], j[0]));
        untranslated[v] = j[0];
    }
    let f = simd.encrypt_rekeyed(keys, points);
    let f = f.as_flattened();
    let mut ciphertexts = [zero; V];
    for v in 0..V {
        let (i_0, i_1, j_1) = (f[C * v][0], f[C * v + 1][0], f[C * v + 2][0]);
        let j_0 = if private {
            untranslated[v]
        } else {
            f[C * v + C - 1][0]
        };
        let delta = simd.xor(i_0, i_1);
        ciphertexts[v] = frame.key(simd.xor(simd.xor(j_1, j_0), delta));
        // The translated labels with equal select bits give the output with select bit 0.
        let with_0 = frame.key(simd.xor(i_0, j_0));
        let with_1 = frame.key(simd.xor(i_1, j_0));
        let pair = [
            simd.xor(with_0, values[v]),
            frame.flip(simd.xor(with_1, values[v])),
        ];
        frame.write_pair(pair, |lane| gate(v, lane).out);
    }
    write_blocks(simd, ciphertexts, table);
    frame.advance(count);
}

/// Garbles up to two vectors of gates whose inputs' round keys are kept.
#[inline(always)]
fn garble_kept_step<S: Simd>(
    frame: &mut Frame<'_, S>,
    gates: &[XorGate],
    private: bool,
    table: &mut [u8],
) {
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, 2 * S::LANES, &mut room);
    let zero = simd.splat(Block::ZERO);
    let gate = |v: usize, lane: usize| &gates[paired::<S>(v, lane)];
    let numbers: [S::Vector; 2] = frame.numbers(paired::<S>);
    let mut points = [[zero; 2]; 4];
    for (n, points) in points.iter_mut().enumerate() {
        *points = frame.points_of_pairs([0, 1], n as u8 % 2, numbers[n / 2]);
    }
    let input = |n: usize, lane: usize| {
        let gate = gate(n / 2, lane);
        if n.is_multiple_of(2) { gate.a } else { gate.b }
    };
    let f = frame.call_kept(input, points);
    let (mut ciphertexts, mut outputs) = ([zero; 2], [[zero; 2]; 2]);
    for v in 0..2 {
        let (f_i, f_j) = (f[2 * v], f[2 * v + 1]);
        let i = frame.kept_pairs(|lane| gate(v, lane).a);
        let j_0 = simd.first_of_pairs(frame.kept_pairs(|lane| gate(v, lane).b));
        let translated = if private {
            j_0
        } else {
            simd.first_of_pairs(f_j)
        };
        let i_0 = simd.first_of_pairs(f_i);
        let mut masked = f_j;
        for half in 0..2 {
            let key = simd.xor(f_i[half], translated[half]);
            let value = frame.bit(simd.xor(i[half], j_0[half]));
            outputs[v][half] = simd.xor(frame.key(key), value);
            // With select bit 1, this is the mask of C and the value under it.
            masked[half] = simd.xor(masked[half], simd.xor(key, i_0[half]));
        }
        let [_, ciphertext] = simd.unzip(masked);
        ciphertexts[v] = frame.key(ciphertext);
    }
    frame.keep(outputs, |v, lane| gate(v, lane).out);
    write_blocks(simd, ciphertexts, table);
    frame.advance(count);
}

/// Writes vectors of ciphertexts, two by two with alternating lanes, as many as there is room for.
#[inline(always)]
fn write_blocks<S: Simd, const V: usize>(simd: S, blocks: [S::Vector; V], table: &mut [u8]) {
    if table.len() == BYTES * V * S::LANES {
        write_whole(simd, blocks, table);
    } else {
        let mut padded = [0; BYTES * MAX_STEP];
        write_whole(simd, blocks, &mut padded);
        table.copy_from_slice(&padded[..table.len()]);
    }
}

/// Writes vectors of ciphertexts if there is room for all.
#[inline(always)]
fn write_whole<S: Simd, const V: usize>(simd: S, blocks: [S::Vector; V], table: &mut [u8]) {
    let pairs = blocks.as_chunks::<2>().0.iter();
    for (pair, into) in pairs.zip(table.chunks_exact_mut(2 * BYTES * S::LANES)) {
        simd.store_pairs(pair[0], pair[1], into);
    }
}

/// Evaluates up to `V` vectors of gates, two calls each, as `F` fours of keys.
#[inline(always)]
fn evaluate_step<S: Simd, const V: usize, const F: usize>(
    frame: &mut Frame<'_, S>,
    gates: &[XorGate],
    private: bool,
    table: &[u8],
) {
    const { assert!(2 * V == 4 * F) };
    let simd = frame.simd;
    let (count, mut room) = (gates.len(), None);
    let gates = frame.full(gates, V * S::LANES, &mut room);
    let zero = simd.splat(Block::ZERO);
    let gate = |v: usize, lane: usize| &gates[paired::<S>(v, lane)];
    let numbers: [S::Vector; V] = frame.numbers(paired::<S>);
    let row_1 = simd.splat(tweak_place(1, 0));
    let mut keys = [[zero; 4]; F];
    let mut points = [[[zero]; 4]; F];
    let mut inputs = [[zero; 2]; V];
    for v in 0..V {
        let labels = [
            frame.label(|lane| gate(v, lane).a),
            frame.label(|lane| gate(v, lane).b),
        ];
        for (side, label) in labels.into_iter().enumerate() {
            let row = simd.and(simd.lsb_mask(label), row_1);
            let point = frame.point(0, side as u8, numbers[v]);
            keys.as_flattened_mut()[2 * v + side] = frame.key(label);
            points.as_flattened_mut()[2 * v + side] = [simd.xor(point, row)];
        }
        inputs[v] = labels;
    }
    let f = simd.encrypt_rekeyed(keys, points);
    let f = f.as_flattened();
    let ciphertexts: [S::Vector; V] = read_blocks(simd, table);
    for v in 0..V {
        let [i, j] = inputs[v];
        let translated = f[2 * v + 1][0];
        let with_1 = simd.lsb_mask(j);
        let translated = if private {
            // The result is j itself if its select bit is 0. F is called in any case, so that the
            // time is the same.
            let other = simd.xor(simd.xor(translated, ciphertexts[v]), j);
            simd.xor(j, simd.and(with_1, other))
        } else {
            simd.xor(translated, simd.and(with_1, ciphertexts[v]))
        };
        let key = frame.key(simd.xor(f[2 * v][0], translated));
        let label = simd.xor(key, frame.bit(simd.xor(i, j)));
        frame.write(label, |lane| gate(v, lane).out);
    }
    frame.advance(count);
}

/// Reads the ciphertexts that [`write_blocks`] wrote.
#[inline(always)]
fn read_blocks<S: Simd, const V: usize>(simd: S, table: &[u8]) -> [S::Vector; V] {
    if table.len() == BYTES * V * S::LANES {
        return read_whole(simd, table);
    }
    let mut padded = [0; BYTES * MAX_STEP];
    padded[..table.len()].copy_from_slice(table);
    read_whole(simd, &padded)
}

/// Reads the ciphertexts that [`write_whole`] wrote.
#[inline(always)]
fn read_whole<S: Simd, const V: usize>(simd: S, table: &[u8]) -> [S::Vector; V] {
    let mut blocks = [simd.splat(Block::ZERO); V];
    let pairs = blocks.as_chunks_mut::<2>().0.iter_mut();
    for (pair, from) in pairs.zip(table.chunks_exact(2 * BYTES * S::LANES)) {
        [pair[0], pair[1]] = simd.load_pairs(from).into();
    }
    blocks
}
