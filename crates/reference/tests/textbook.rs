//! The reference computes the right results of its circuits, for every input and many permute bits.

use tacit_reference::{
    Circuit, Garbled, Gate, Output, Pin, aes_128, half_gates, prf, three_halves,
};

const START: u128 = 0x5354_4152_545f_5354_4152_545f_5354_4152;
const INSTANCE: u32 = 5;

/// Returns pseudorandom labels: AES of a counter.
fn random(number: usize) -> u128 {
    aes_128(0x1234_5678_9abc_def0, number as u128)
}

fn pin(wire: usize, negated: bool) -> Pin {
    Pin { wire, negated }
}

/// Returns a circuit with every kind of gate and output, over three inputs.
fn circuit() -> Circuit {
    let mut gates = vec![Gate::Xor(0, 1)];
    for signs in 0..4 {
        gates.push(Gate::And(pin(3, signs & 1 == 1), pin(2, signs & 2 == 2)));
    }
    gates.push(Gate::Xor(4, 1));
    gates.push(Gate::And(pin(8, false), pin(6, true)));
    gates.push(Gate::Xor(9, 8));
    let mut outputs: Vec<_> = (0..11)
        .map(|wire| Output::Wire(pin(wire, wire % 3 == 0)))
        .collect();
    outputs.extend([Output::Constant(true), Output::Constant(false)]);
    Circuit {
        inputs: 3,
        gates,
        outputs,
    }
}

fn plain(circuit: &Circuit, inputs: &[bool]) -> Vec<bool> {
    let mut wires = inputs.to_vec();
    for gate in &circuit.gates {
        let value = |pin: Pin| wires[pin.wire] ^ pin.negated;
        let bit = match *gate {
            Gate::Xor(a, b) => wires[a] ^ wires[b],
            Gate::And(a, b) => value(a) & value(b),
        };
        wires.push(bit);
    }
    let value = |output: &Output| match *output {
        Output::Wire(pin) => wires[pin.wire] ^ pin.negated,
        Output::Constant(bit) => bit,
    };
    circuit.outputs.iter().map(value).collect()
}

/// Checks that each label of `labels` is the one that `garbled` gives to the bit of `expected`.
fn assert_labels(garbled: &Garbled, labels: &[u128], expected: &[bool]) {
    assert_eq!(labels.len(), expected.len());
    for (i, (label, bit)) in labels.iter().zip(expected).enumerate() {
        assert_eq!(*label, garbled.outputs[i][usize::from(*bit)], "output {i}");
    }
}

/// Returns the labels of the inputs for these bits.
fn active(wires: &[[u128; 2]], bits: [bool; 3]) -> Vec<u128> {
    wires
        .iter()
        .zip(bits)
        .map(|(labels, bit)| labels[usize::from(bit)])
        .collect()
}

fn inputs_of(number: usize) -> [bool; 3] {
    [number & 1 == 1, number & 2 == 2, number & 4 == 4]
}

#[test]
fn half_gates_compute_the_circuit_under_both_hashes() {
    let circuit = circuit();
    for hash in [half_gates::Hash::TwoCall, half_gates::Hash::Rekeyed] {
        for run in 0..24 {
            let delta = random(1000 + run) | 1;
            let zeros: Vec<u128> = (0..3).map(|i| random(3 * run + i)).collect();
            let garbled = half_gates::garble(&circuit, hash, START, INSTANCE, delta, &zeros);
            assert_eq!(garbled.tables.len(), 5 * 32);
            for number in 0..8 {
                let bits = inputs_of(number);
                let labels = active(&garbled.wires, bits);
                let tables = &garbled.tables;
                let outputs =
                    half_gates::evaluate(&circuit, hash, START, INSTANCE, tables, &labels);
                let expected = plain(&circuit, &bits);
                assert_labels(&garbled, &outputs, &expected);
                let mine = half_gates::decoding(hash, START, 7, &pairs(&outputs));
                let all = half_gates::decoding(hash, START, 7, &garbled.outputs);
                assert_eq!(all.len(), 16 * outputs.len());
                for (i, &value) in expected.iter().enumerate() {
                    // The tag of the label is that of its value and not of the other.
                    let tag = &mine[16 * i..16 * i + 8];
                    let of = |value: bool| &all[16 * i + 8 * usize::from(value)..][..8];
                    assert!(tag == of(value) && tag != of(!value));
                }
            }
        }
    }
}

#[test]
fn three_halves_computes_the_circuit_for_all_permute_bits() {
    let circuit = circuit();
    let mut permute_bits = [0; 8];
    for run in 0..64 {
        let delta = random(2000 + run) | 1;
        let zeros: Vec<u128> = (0..3).map(|i| random(3000 + 3 * run + i)).collect();
        permute_bits[zeros
            .iter()
            .fold(0, |all, zero| 2 * all + (*zero as usize & 1))] += 1;
        let seed = [run as u8; 32];
        let garbled = three_halves::garble(&circuit, seed, START, INSTANCE, delta, &zeros);
        assert_eq!(garbled.tables.len(), 5 * 25);
        for number in 0..8 {
            let bits = inputs_of(number);
            let labels = active(&garbled.wires, bits);
            let outputs =
                three_halves::evaluate(&circuit, START, INSTANCE, &garbled.tables, &labels);
            assert_labels(&garbled, &outputs, &plain(&circuit, &bits));
        }
    }
    assert!(
        permute_bits.iter().all(|runs| *runs > 0),
        "{permute_bits:?}"
    );
}

/// Returns each label twice, as if it belonged to both values.
fn pairs(labels: &[u128]) -> Vec<[u128; 2]> {
    labels.iter().map(|&label| [label; 2]).collect()
}

/// Returns labels for 0 and 1 with random keys and these permute bits.
fn input_pairs(run: usize, permute: usize) -> Vec<[u128; 2]> {
    let pair = |i: usize| {
        let permute = (permute >> i & 1) as u128;
        [
            random(6 * run + 2 * i) & !1 | permute,
            random(6 * run + 2 * i + 1) & !1 | permute ^ 1,
        ]
    };
    (0..3).map(pair).collect()
}

const PRF_ROWS: [(prf::Xor, prf::And); 3] = [
    (prf::Xor::One, prf::And::Two),
    (prf::Xor::One, prf::And::Three),
    (prf::Xor::Three, prf::And::Three),
];

#[test]
fn prf_schemes_compute_the_circuit_and_refuse_other_labels() {
    let mut circuit = circuit();
    // Some wires have one use, so that there are XOR gates of both kinds, G and G′.
    circuit.outputs.retain(|output| match output {
        Output::Wire(pin) => pin.wire >= 8,
        Output::Constant(_) => true,
    });
    for (rows, bytes) in PRF_ROWS
        .into_iter()
        .zip([5 * 32 + 3 * 16, 5 * 48 + 3 * 16, 8 * 48])
    {
        for run in 0..24 {
            let inputs = input_pairs(run, run);
            let seed = [run as u8; 32];
            let (garbled, gates) = prf::garble(&circuit, rows, seed, START, INSTANCE, &inputs);
            assert_eq!(garbled.tables.len(), bytes);
            let decoding = prf::decoding(START, 7, &garbled.outputs);
            for number in 0..8 {
                let bits = inputs_of(number);
                let labels = active(&inputs, bits);
                let outputs = prf::evaluate(&circuit, rows, START, INSTANCE, &gates, &labels);
                let expected = plain(&circuit, &bits);
                assert_labels(&garbled, &outputs, &expected);
                let decoded = prf::decode(START, 7, &outputs, &decoding);
                let some: Vec<_> = expected.iter().map(|&bit| Some(bit)).collect();
                assert_eq!(decoded, some);
                let wrong: Vec<u128> = outputs.iter().map(|label| label ^ 2).collect();
                let refused = prf::decode(START, 7, &wrong, &decoding);
                assert!(refused.iter().all(Option::is_none));
            }
        }
    }
}

/// Every s (negations and permute bits), input, permute bit of the output and use of the inputs,
/// for one gate of each kind.
#[test]
fn every_gate_under_every_s_and_input() {
    let mut output_permute_bits = [0; 2];
    for rows in PRF_ROWS {
        for case in 0..1 << 7 {
            let bit = |i: usize| case >> i & 1 == 1;
            let gate = if bit(0) {
                Gate::And(pin(3, bit(1)), pin(4, bit(2)))
            } else {
                Gate::Xor(3, 4)
            };
            // Wires 3 and 4 are gates' outputs that take every value. Whether 3 is used again
            // decides which input of a XOR gate stays untranslated.
            let gates = vec![
                Gate::Xor(0, 2),
                Gate::Xor(1, 2),
                gate,
                Gate::Xor(if bit(3) { 3 } else { 0 }, 1),
            ];
            let circuit = Circuit {
                inputs: 3,
                gates,
                outputs: vec![Output::Wire(pin(5, false)), Output::Wire(pin(6, true))],
            };
            let inputs = input_pairs(case, case >> 4);
            let seed = [case as u8; 32];
            let (garbled, gates) = prf::garble(&circuit, rows, seed, START, INSTANCE, &inputs);
            output_permute_bits[(garbled.wires[5][0] & 1) as usize] += 1;
            for number in 0..8 {
                let bits = inputs_of(number);
                let labels = active(&inputs, bits);
                let outputs = prf::evaluate(&circuit, rows, START, INSTANCE, &gates, &labels);
                assert_labels(&garbled, &outputs, &plain(&circuit, &bits));
            }
        }
    }
    assert!(output_permute_bits.iter().all(|count| *count > 50));
}
