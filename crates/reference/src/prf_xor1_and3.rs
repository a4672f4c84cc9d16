//! XOR in one ciphertext and AND in three, from a pseudorandom function alone (Gueron, Lindell,
//! Nof and Pinkas, "Fast garbling of circuits under standard assumptions", CCS 2015, section 3).
//!
//! In the paper's notation: a label is k‖λ with the select bit λ = π ⊕ v in bit 0, and
//! [1..n] drops bit 0. Each call of F has a tweak of its own for each side of the gate.

use crate::{Circuit, Garbled, Gate, Output, Use, aes_128, select_bit, times, tweak};

/// Bits 1 to 127.
pub(crate) const KEY: u128 = !1;

/// F(k, x): AES keyed by a label without its select bit, at a public start point.
pub(crate) fn f(start: u128, label: u128, x: u128) -> u128 {
    aes_128(label & KEY, start ^ x)
}

/// A random key: AES in counter mode under one half of the seed, from the other half on.
pub(crate) fn coin(seed: [u8; 32], counter: u128) -> u128 {
    let (key, first) = seed.split_at(16);
    let number = |half: &[u8]| u128::from_le_bytes(half.try_into().expect("sixteen bytes"));
    aes_128(number(key), number(first) ^ counter) & KEY
}

/// What the tweaks of a gate depend on.
#[derive(Clone, Copy)]
struct Place {
    start: u128,
    instance: u32,
    gate: u64,
}

impl Place {
    /// F of a XOR gate's input on `side`, at g‖`bit`, cut to n bits.
    fn xor(self, label: u128, bit: bool, side: u8) -> u128 {
        let at = tweak(Use::Xor, self.instance, self.gate, u8::from(bit), side);
        f(self.start, label, at) & KEY
    }

    /// F of an AND gate's input on `side`, at g‖`row`.
    fn and(self, label: u128, row: usize, side: u8) -> u128 {
        let at = tweak(Use::And, self.instance, self.gate, row as u8, side);
        f(self.start, label, at)
    }
}

/// Garbles `circuit`, given both labels of each input.
#[must_use]
pub fn garble(
    circuit: &Circuit,
    seed: [u8; 32],
    start: u128,
    instance: u32,
    inputs: &[[u128; 2]],
) -> Garbled {
    let mut wires = inputs.to_vec();
    let mut tables = Vec::new();
    let (mut xors, mut ands) = (0, 0);
    for gate in &circuit.gates {
        let labels = match *gate {
            Gate::Xor(i, j) => {
                let place = Place {
                    start,
                    instance,
                    gate: xors,
                };
                xors += 1;
                let (labels, c) = garble_xor(place, wires[i], wires[j]);
                tables.extend(c.to_le_bytes());
                labels
            }
            Gate::And(i, j) => {
                let random = coin(seed, tweak(Use::And, instance, ands, 0, 0));
                let place = Place {
                    start,
                    instance,
                    gate: ands,
                };
                ands += 1;
                let (i, j) = (i.labels(&wires), j.labels(&wires));
                let (labels, rows) = garble_and(place, random, i, j);
                tables.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
                labels
            }
        };
        wires.push(labels);
    }
    let labels = |(number, output): (usize, &Output)| match *output {
        Output::Wire(pin) => pin.labels(&wires),
        Output::Constant(bit) => {
            let inactive = coin(seed, tweak(Use::Out, instance, number as u64, 0, 0)) | 1;
            [times(bit, inactive), times(!bit, inactive)]
        }
    };
    let outputs = circuit.outputs.iter().enumerate().map(labels).collect();
    Garbled {
        wires,
        outputs,
        tables,
    }
}

/// The output's labels, and the ciphertext.
fn garble_xor(place: Place, i: [u128; 2], j: [u128; 2]) -> ([u128; 2], u128) {
    let (pi_i, pi_j) = (select_bit(i[0]), select_bit(j[0]));
    let translated_i = [place.xor(i[0], pi_i, 0), place.xor(i[1], !pi_i, 0)];
    let delta = translated_i[0] ^ translated_i[1];
    let (with_0, with_1) = if pi_j { (j[1], j[0]) } else { (j[0], j[1]) };
    let translated_with_0 = place.xor(with_0, false, 1);
    let translated_with_1 = translated_with_0 ^ delta;
    let c = place.xor(with_1, true, 1) ^ translated_with_1;
    let translated_j0 = if pi_j {
        translated_with_1
    } else {
        translated_with_0
    };
    let k0 = translated_i[0] ^ translated_j0;
    let k1 = k0 ^ delta;
    let pi = u128::from(pi_i ^ pi_j);
    ([k0 | pi, k1 | (pi ^ 1)], c)
}

/// The output's labels, and the rows T_1 to T_3.
fn garble_and(place: Place, random: u128, i: [u128; 2], j: [u128; 2]) -> ([u128; 2], [u128; 3]) {
    let (pi_i, pi_j) = (select_bit(i[0]), select_bit(j[0]));
    let row = |alpha: usize| {
        let (a, b) = (alpha & 2 != 0, alpha & 1 != 0);
        let (k_i, k_j) = (i[usize::from(pi_i ^ a)], j[usize::from(pi_j ^ b)]);
        place.and(k_i, alpha, 0) ^ place.and(k_j, alpha, 1)
    };
    let s = 2 * usize::from(!pi_i) + usize::from(!pi_j);
    let active = row(0);
    let other = random | u128::from(!select_bit(active));
    let labels = if s == 0 {
        [other, active]
    } else {
        [active, other]
    };
    (
        labels,
        [1, 2, 3].map(|alpha| row(alpha) ^ labels[usize::from(alpha == s)]),
    )
}

/// Evaluates `circuit` on the inputs' labels; returns the outputs'.
///
/// # Panics
///
/// If `tables` are too short.
#[must_use]
pub fn evaluate(
    circuit: &Circuit,
    start: u128,
    instance: u32,
    tables: &[u8],
    inputs: &[u128],
) -> Vec<u128> {
    let mut wires = inputs.to_vec();
    let mut rows = tables
        .chunks_exact(16)
        .map(|row| u128::from_le_bytes(row.try_into().expect("chunks of sixteen bytes")));
    let mut next = || rows.next().expect("three rows for an AND, one for a XOR");
    let (mut xors, mut ands) = (0, 0);
    for gate in &circuit.gates {
        let label = match *gate {
            Gate::Xor(i, j) => {
                let place = Place {
                    start,
                    instance,
                    gate: xors,
                };
                xors += 1;
                evaluate_xor(place, wires[i], wires[j], next())
            }
            Gate::And(i, j) => {
                let place = Place {
                    start,
                    instance,
                    gate: ands,
                };
                ands += 1;
                let rows = [0, next(), next(), next()];
                let (i, j) = (wires[i.wire], wires[j.wire]);
                let alpha = 2 * usize::from(select_bit(i)) + usize::from(select_bit(j));
                place.and(i, alpha, 0) ^ place.and(j, alpha, 1) ^ rows[alpha]
            }
        };
        wires.push(label);
    }
    circuit.output_labels(&wires)
}

fn evaluate_xor(place: Place, i: u128, j: u128, c: u128) -> u128 {
    let (lambda_i, lambda_j) = (select_bit(i), select_bit(j));
    let translated_i = place.xor(i, lambda_i, 0);
    let translated_j = place.xor(j, lambda_j, 1) ^ times(lambda_j, c & KEY);
    translated_i ^ translated_j | u128::from(lambda_i ^ lambda_j)
}

/// d[j, b] for outputs number `first…` and b = 0, 1: 32 bytes an output.
#[must_use]
pub fn decoding(start: u128, first: u64, outputs: &[[u128; 2]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, labels) in (first..).zip(outputs) {
        for label in labels {
            bytes.extend(fingerprint(start, number, *label).to_le_bytes());
        }
    }
    bytes
}

/// The values of labels of outputs number `first…`; `None` is ⊥.
#[must_use]
pub fn decode(start: u128, first: u64, labels: &[u128], decoding: &[u8]) -> Vec<Option<bool>> {
    let value = |((number, label), d): ((u64, &u128), &[u8])| {
        let found = fingerprint(start, number, *label).to_le_bytes();
        match (found == d[..16], found == d[16..]) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        }
    };
    (first..)
        .zip(labels)
        .zip(decoding.chunks_exact(32))
        .map(value)
        .collect()
}

/// F(k, out‖λ)[1..n].
fn fingerprint(start: u128, number: u64, label: u128) -> u128 {
    let at = tweak(Use::Out, 0, number, u8::from(select_bit(label)), 0);
    f(start, label, at) & KEY
}
