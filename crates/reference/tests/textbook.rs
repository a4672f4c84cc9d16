//! The reference computes what its circuits say, for every input and many permute bits.

use tacit_reference::{Circuit, Garbled, Gate, Output, Pin, aes_128, half_gates, prf_xor1_and3};

const START: u128 = 0x5354_4152_545f_5354_4152_545f_5354_4152;
const INSTANCE: u32 = 5;

/// Random-looking labels: AES of a counter.
fn random(number: usize) -> u128 {
    aes_128(0x1234_5678_9abc_def0, number as u128)
}

fn pin(wire: usize, negated: bool) -> Pin {
    Pin { wire, negated }
}

/// Every kind of gate and output, over three inputs.
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

/// Each label of `labels` must be the one that `garbled` gives to the bit of `expected`.
fn assert_labels(garbled: &Garbled, labels: &[u128], expected: &[bool]) {
    assert_eq!(labels.len(), expected.len());
    for (i, (label, bit)) in labels.iter().zip(expected).enumerate() {
        assert_eq!(*label, garbled.outputs[i][usize::from(*bit)], "output {i}");
    }
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
                let labels: Vec<u128> = (0..3)
                    .map(|i| garbled.wires[i][usize::from(bits[i])])
                    .collect();
                let tables = &garbled.tables;
                let outputs =
                    half_gates::evaluate(&circuit, hash, START, INSTANCE, tables, &labels);
                let expected = plain(&circuit, &bits);
                assert_labels(&garbled, &outputs, &expected);
                let mine = half_gates::decoding(hash, START, 7, &pairs(&outputs));
                let all = half_gates::decoding(hash, START, 7, &garbled.outputs);
                assert_eq!(all.len(), 16 * outputs.len());
                for (i, &value) in expected.iter().enumerate() {
                    // The tag of the label at hand is that of its value and not of the other.
                    let tag = &mine[16 * i..16 * i + 8];
                    let of = |value: bool| &all[16 * i + 8 * usize::from(value)..][..8];
                    assert!(tag == of(value) && tag != of(!value));
                }
            }
        }
    }
}

/// Each label twice, as if it stood for both values.
fn pairs(labels: &[u128]) -> Vec<[u128; 2]> {
    labels.iter().map(|&label| [label; 2]).collect()
}

#[test]
fn prf_xor1_and3_computes_the_circuit_and_refuses_other_labels() {
    let circuit = circuit();
    for run in 0..24 {
        let pair = |i: usize| {
            let permute = random(500 + 3 * run + i) & 1;
            [
                random(6 * run + 2 * i) & !1 | permute,
                random(6 * run + 2 * i + 1) & !1 | permute ^ 1,
            ]
        };
        let inputs: Vec<[u128; 2]> = (0..3).map(pair).collect();
        let garbled = prf_xor1_and3::garble(&circuit, [run as u8; 32], START, INSTANCE, &inputs);
        assert_eq!(garbled.tables.len(), 5 * 48 + 3 * 16);
        let decoding = prf_xor1_and3::decoding(START, 7, &garbled.outputs);
        for number in 0..8 {
            let bits = inputs_of(number);
            let labels: Vec<u128> = (0..3).map(|i| inputs[i][usize::from(bits[i])]).collect();
            let outputs =
                prf_xor1_and3::evaluate(&circuit, START, INSTANCE, &garbled.tables, &labels);
            let expected = plain(&circuit, &bits);
            assert_labels(&garbled, &outputs, &expected);
            let decoded = prf_xor1_and3::decode(START, 7, &outputs, &decoding);
            assert_eq!(
                decoded,
                expected.iter().map(|&bit| Some(bit)).collect::<Vec<_>>()
            );
            let wrong: Vec<u128> = outputs.iter().map(|label| label ^ 2).collect();
            let refused = prf_xor1_and3::decode(START, 7, &wrong, &decoding);
            assert!(refused.iter().all(Option::is_none));
        }
    }
}
