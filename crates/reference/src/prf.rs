//! The schemes from a pseudorandom function alone (Gueron, Lindell, Nof and Pinkas, "Fast garbling
//! of circuits under standard assumptions", CCS 2015, sections 3 and 4).
//!
//! In the paper's notation: a label is k‖λ with the select bit λ = π ⊕ v in bit 0, and
//! [1..n] drops bit 0. Each call of F has a tweak of its own for each side of the gate.

use crate::{Circuit, Garbled, Gate, Output, Use, aes_128, select_bit, times, tweak};

/// Bits 1 to 127.
pub(crate) const KEY: u128 = !1;

/// The number of ciphertexts of a XOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Xor {
    /// One: G, and G′ if an input that need not be translated has no other use.
    One,
    /// Three.
    Three,
}

/// The number of ciphertexts of an AND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum And {
    /// Two, and four bits, of which two are in the rows.
    Two,
    /// Three.
    Three,
}

/// Computes F(k, x): AES keyed by a label without its select bit, at a public start point.
pub(crate) fn f(start: u128, label: u128, x: u128) -> u128 {
    aes_128(label & KEY, start ^ x)
}

/// Returns a random block: AES in counter mode under one half of the seed, starting from the other
/// half.
pub(crate) fn coin(seed: [u8; 32], counter: u128) -> u128 {
    let (key, first) = seed.split_at(16);
    let number = |half: &[u8]| u128::from_le_bytes(half.try_into().expect("sixteen bytes"));
    aes_128(number(key), number(first) ^ counter)
}

/// The values that the tweaks of a gate depend on.
#[derive(Clone, Copy)]
struct GateContext {
    start: u128,
    instance: u32,
    gate: u64,
}

impl GateContext {
    /// Computes F of a XOR gate's input on `side`, at g‖`bit`, cut to n bits.
    fn xor(self, label: u128, bit: bool, side: u8) -> u128 {
        let at = tweak(Use::Xor, self.instance, self.gate, u8::from(bit), side);
        f(self.start, label, at) & KEY
    }

    /// Computes F of a gate's input on `side`, at g‖`row`.
    fn row(self, usage: Use, label: u128, row: usize, side: u8) -> u128 {
        let at = tweak(usage, self.instance, self.gate, row as u8, side);
        f(self.start, label, at)
    }
}

/// A gate's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateTable {
    /// Its rows.
    pub rows: Vec<u8>,
    /// c_0 and c_3, if bits outside the rows decide the select bit.
    pub bits: Vec<bool>,
}

impl GateTable {
    fn rows(rows: &[u128]) -> Self {
        Self {
            rows: rows.iter().flat_map(|row| row.to_le_bytes()).collect(),
            bits: Vec::new(),
        }
    }
}

/// Returns the number of uses of each wire. An input or output counts as if it had more than one.
fn uses(circuit: &Circuit) -> Vec<usize> {
    let mut uses = vec![0; circuit.inputs + circuit.gates.len()];
    uses[..circuit.inputs].fill(2);
    for gate in &circuit.gates {
        let inputs = match *gate {
            Gate::Xor(a, b) => [a, b],
            Gate::And(a, b) => [a.wire, b.wire],
        };
        for wire in inputs {
            uses[wire] += 1;
        }
    }
    for output in &circuit.outputs {
        if let Output::Wire(pin) = output {
            uses[pin.wire] += 2;
        }
    }
    uses
}

/// Returns the inputs of a XOR gate in the order in which procedure G or G′ takes them, and whether
/// it is G′: the second input, which is then not translated, is a gate's output without another
/// use.
fn order(uses: &[usize], i: usize, j: usize) -> (usize, usize, bool) {
    match (uses[i] == 1, uses[j] == 1) {
        (_, true) => (i, j, true),
        (true, false) => (j, i, true),
        (false, false) => (i, j, false),
    }
}

/// Garbles `circuit`, given both labels of each input. Also returns the gates' tables one by one;
/// the tables as a whole are their rows.
#[must_use]
pub fn garble(
    circuit: &Circuit,
    (xor, and): (Xor, And),
    seed: [u8; 32],
    start: u128,
    instance: u32,
    inputs: &[[u128; 2]],
) -> (Garbled, Vec<GateTable>) {
    let uses = uses(circuit);
    let mut wires = inputs.to_vec();
    let mut gates = Vec::new();
    let (mut xors, mut ands) = (0, 0);
    for gate in &circuit.gates {
        let place = |gate| GateContext {
            start,
            instance,
            gate,
        };
        let (labels, table) = match *gate {
            Gate::Xor(i, j) => {
                let (number, place) = (xors, place(xors));
                xors += 1;
                match xor {
                    Xor::One => {
                        let (i, j, untranslated) = order(&uses, i, j);
                        let (labels, c) = garble_xor(place, wires[i], wires[j], untranslated);
                        (labels, GateTable::rows(&[c]))
                    }
                    Xor::Three => {
                        let random = coin(seed, tweak(Use::Xor, instance, number, 0, 0));
                        let f = |a, b| a ^ b;
                        let (labels, rows) =
                            garble_three(place, Use::Xor, random, wires[i], wires[j], f);
                        (labels, GateTable::rows(&rows))
                    }
                }
            }
            Gate::And(i, j) => {
                let random = coin(seed, tweak(Use::And, instance, ands, 0, 0));
                let place = place(ands);
                ands += 1;
                let (i, j) = (i.labels(&wires), j.labels(&wires));
                match and {
                    And::Two => garble_two(place, select_bit(random), i, j),
                    And::Three => {
                        let (labels, rows) =
                            garble_three(place, Use::And, random, i, j, |a, b| a & b);
                        (labels, GateTable::rows(&rows))
                    }
                }
            }
        };
        wires.push(labels);
        gates.push(table);
    }
    let labels = |(number, output): (usize, &Output)| match *output {
        Output::Wire(pin) => pin.labels(&wires),
        Output::Constant(bit) => {
            let inactive = KEY & coin(seed, tweak(Use::Out, instance, number as u64, 0, 0)) | 1;
            [times(bit, inactive), times(!bit, inactive)]
        }
    };
    let outputs = circuit.outputs.iter().enumerate().map(labels).collect();
    let tables = gates.iter().flat_map(|gate| gate.rows.clone()).collect();
    let garbled = Garbled {
        wires,
        outputs,
        tables,
    };
    (garbled, gates)
}

/// Returns the output's labels, and the ciphertext.
fn garble_xor(
    place: GateContext,
    i: [u128; 2],
    j: [u128; 2],
    untranslated: bool,
) -> ([u128; 2], u128) {
    let (pi_i, pi_j) = (select_bit(i[0]), select_bit(j[0]));
    let translated_i = [place.xor(i[0], pi_i, 0), place.xor(i[1], !pi_i, 0)];
    let delta = translated_i[0] ^ translated_i[1];
    let (with_0, with_1) = if pi_j { (j[1], j[0]) } else { (j[0], j[1]) };
    let translated_with_0 = if untranslated {
        with_0 & KEY
    } else {
        place.xor(with_0, false, 1)
    };
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

/// Computes K_0 to K_3 of a gate, under the tweaks of `usage`.
fn keys(place: GateContext, usage: Use, i: [u128; 2], j: [u128; 2]) -> [u128; 4] {
    let (pi_i, pi_j) = (select_bit(i[0]), select_bit(j[0]));
    [0, 1, 2, 3].map(|alpha| {
        let (a, b) = (alpha & 2 != 0, alpha & 1 != 0);
        let (k_i, k_j) = (i[usize::from(pi_i ^ a)], j[usize::from(pi_j ^ b)]);
        place.row(usage, k_i, alpha, 0) ^ place.row(usage, k_j, alpha, 1)
    })
}

/// Returns the output's labels, and the rows T_1 to T_3, of a gate that computes `f`.
fn garble_three(
    place: GateContext,
    usage: Use,
    random: u128,
    i: [u128; 2],
    j: [u128; 2],
    f: fn(bool, bool) -> bool,
) -> ([u128; 2], [u128; 3]) {
    let k = keys(place, usage, i, j);
    let (pi_i, pi_j) = (select_bit(i[0]), select_bit(j[0]));
    let value = |alpha: usize| usize::from(f(pi_i ^ (alpha & 2 != 0), pi_j ^ (alpha & 1 != 0)));
    let other = random & KEY | u128::from(!select_bit(k[0]));
    let mut labels = [other; 2];
    labels[value(0)] = k[0];
    (
        labels,
        [1, 2, 3].map(|alpha| k[alpha] ^ labels[value(alpha)]),
    )
}

/// Returns the output's labels, and the table: line s of the figure, and four bits as coefficients.
fn garble_two(place: GateContext, pi: bool, i: [u128; 2], j: [u128; 2]) -> ([u128; 2], GateTable) {
    let full = keys(place, Use::And, i, j);
    let k = full.map(|key| key & KEY);
    let x = k[1] ^ k[2] ^ k[3];
    let s = 2 * usize::from(!select_bit(i[0])) + usize::from(!select_bit(j[0]));
    let [k0, k1, t_1, t_2] = match s {
        0 => [x, k[0], k[2] ^ k[3], k[1] ^ k[3]],
        1 => [k[0], x, k[2] ^ k[3], k[0] ^ k[2]],
        2 => [k[0], x, k[0] ^ k[1], k[1] ^ k[3]],
        _ => [k[0], x, k[0] ^ k[1], k[0] ^ k[2]],
    };
    let t = [0, 1, 2, 3].map(|alpha| select_bit(full[alpha]) ^ pi ^ (alpha == s));
    let (c_1, c_2) = (t[0] ^ t[2], t[0] ^ t[1]);
    let (c_0, c_3) = (t[0], t[0] ^ t[1] ^ t[2] ^ t[3]);
    let labels = [k0 | u128::from(pi), k1 | u128::from(!pi)];
    let mut table = GateTable::rows(&[t_1 | u128::from(c_2), t_2 | u128::from(c_1)]);
    table.bits = vec![c_0, c_3];
    (labels, table)
}

/// Evaluates `circuit` on the inputs' labels. Returns the outputs' labels.
///
/// # Panics
///
/// If the tables of `gates` are too short.
#[must_use]
pub fn evaluate(
    circuit: &Circuit,
    (xor, and): (Xor, And),
    start: u128,
    instance: u32,
    gates: &[GateTable],
    inputs: &[u128],
) -> Vec<u128> {
    let uses = uses(circuit);
    let mut wires = inputs.to_vec();
    let (mut xors, mut ands) = (0, 0);
    for (gate, table) in circuit.gates.iter().zip(gates) {
        let place = |gate| GateContext {
            start,
            instance,
            gate,
        };
        let rows: Vec<u128> = table
            .rows
            .chunks_exact(16)
            .map(|row| u128::from_le_bytes(row.try_into().expect("chunks of sixteen bytes")))
            .collect();
        let (usage, place, i, j) = match *gate {
            Gate::Xor(i, j) => {
                let place = place(xors);
                xors += 1;
                if xor == Xor::One {
                    let (i, j, untranslated) = order(&uses, i, j);
                    wires.push(evaluate_xor(
                        place,
                        wires[i],
                        wires[j],
                        rows[0],
                        untranslated,
                    ));
                    continue;
                }
                (Use::Xor, place, wires[i], wires[j])
            }
            Gate::And(i, j) => {
                let place = place(ands);
                ands += 1;
                (Use::And, place, wires[i.wire], wires[j.wire])
            }
        };
        let (a, b) = (select_bit(i), select_bit(j));
        let alpha = 2 * usize::from(a) + usize::from(b);
        let key = place.row(usage, i, alpha, 0) ^ place.row(usage, j, alpha, 1);
        wires.push(if usage == Use::And && and == And::Two {
            let t = table.bits[0] ^ (a & b & table.bits[1]);
            key ^ times(b, rows[0]) ^ times(a, rows[1]) ^ u128::from(t)
        } else {
            key ^ [0, rows[0], rows[1], rows[2]][alpha]
        });
    }
    circuit.output_labels(&wires)
}

fn evaluate_xor(place: GateContext, i: u128, j: u128, c: u128, untranslated: bool) -> u128 {
    let (lambda_i, lambda_j) = (select_bit(i), select_bit(j));
    let translated_i = place.xor(i, lambda_i, 0);
    let translated_j = if untranslated && !lambda_j {
        j & KEY
    } else {
        place.xor(j, lambda_j, 1) ^ times(lambda_j, c & KEY)
    };
    translated_i ^ translated_j | u128::from(lambda_i ^ lambda_j)
}

/// Returns d[j, b] for the outputs from number `first` on and b = 0, 1: 32 bytes per output.
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

/// Returns the values of labels of the outputs from number `first` on; `None` is ⊥.
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

/// Computes F(k, out‖λ)[1..n].
fn fingerprint(start: u128, number: u64, label: u128) -> u128 {
    let at = tweak(Use::Out, 0, number, u8::from(select_bit(label)), 0);
    f(start, label, at) & KEY
}
