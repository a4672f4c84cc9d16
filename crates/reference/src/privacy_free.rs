//! Privacy-free garbling (Frederiksen, Nielsen and Orlandi, EUROCRYPT 2015) with the AND gate of
//! Zahur, Rosulek and Evans, under the two-call hash. Bit 0 of a label is the value it stands for.

use crate::half_gates::{Hash, Place};
use crate::{Circuit, Garbled, Gate, Output, Pin, times};

/// The labels of a pin by value, given the labels of all wires. A negation flips bit 0, so that it
/// stays the value.
fn labels_of(pin: Pin, wires: &[[u128; 2]]) -> [u128; 2] {
    let [zero, one] = wires[pin.wire];
    if pin.negated {
        [one ^ 1, zero ^ 1]
    } else {
        [zero, one]
    }
}

/// The evaluator's label of a pin, given those of all wires.
fn label_of(pin: Pin, wires: &[u128]) -> u128 {
    wires[pin.wire] ^ u128::from(pin.negated)
}

/// H′: the hash of a label in AND gate `gate`, with bit 0 cleared.
fn hash(start: u128, instance: u32, gate: u64, label: u128) -> u128 {
    Place::new(Hash::TwoCall, start, instance, gate).hash(label, 0) & !1
}

/// Garbles `circuit` with offset `delta`, of which bit 0 is set, given the inputs' labels for zero,
/// of which bit 0 is not.
#[must_use]
pub fn garble(
    circuit: &Circuit,
    start: u128,
    instance: u32,
    delta: u128,
    inputs: &[u128],
) -> Garbled {
    let mut wires: Vec<[u128; 2]> = inputs.iter().map(|&zero| [zero, zero ^ delta]).collect();
    let (mut tables, mut gate) = (Vec::new(), 0);
    for g in &circuit.gates {
        let zero = match *g {
            Gate::Xor(a, b) => wires[a][0] ^ wires[b][0],
            Gate::And(a, b) => {
                let ([a_0, a_1], [b_0, _]) = (labels_of(a, &wires), labels_of(b, &wires));
                let [h_0, h_1] = [a_0, a_1].map(|label| hash(start, instance, gate, label));
                tables.extend((h_0 ^ h_1 ^ b_0).to_le_bytes());
                gate += 1;
                h_0
            }
        };
        wires.push([zero, zero ^ delta]);
    }
    let labels = |output: &Output| match *output {
        Output::Wire(pin) => labels_of(pin, &wires),
        Output::Constant(bit) => [times(bit, delta ^ 1), times(!bit, delta ^ 1) ^ 1],
    };
    let outputs = circuit.outputs.iter().map(labels).collect();
    Garbled {
        wires,
        outputs,
        tables,
    }
}

/// Evaluates `circuit` on the inputs' labels, which carry their values; returns the outputs'.
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
    let mut gate = 0;
    for g in &circuit.gates {
        let label = match *g {
            Gate::Xor(a, b) => wires[a] ^ wires[b],
            Gate::And(a, b) => {
                let (a, b) = (label_of(a, &wires), label_of(b, &wires));
                let t = rows.next().expect("a row for each AND gate");
                let label = hash(start, instance, gate, a) ^ times(a & 1 == 1, t ^ b);
                gate += 1;
                label
            }
        };
        wires.push(label);
    }
    let label = |output: &Output| match *output {
        Output::Wire(pin) => label_of(pin, &wires),
        Output::Constant(bit) => u128::from(bit),
    };
    circuit.outputs.iter().map(label).collect()
}
