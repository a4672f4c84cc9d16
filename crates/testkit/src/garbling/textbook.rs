//! The fast schemes against the textbook, bit for bit.

use tacit_circuit::{NEGATED, Output, Program};
use tacit_garble::{Garbler, Hash, Scheme, SchemeName};
use tacit_reference::{Circuit, Gate, Pin, half_gates, prf_xor1_and3};

use super::circuits::Case;
use super::garbled::{Garbled, Setting};

/// Passes if `scheme` garbles `program` to the very tables, labels and decoding information that
/// the textbook's garbling of the same gates has.
pub(super) fn agrees<S: Scheme>(scheme: S, case: &Case, program: &Program) {
    let setting = Setting::numbered(7);
    let garbled = Garbled::new(scheme, &setting, program);
    let pair = |wire: &S::Wire| {
        let (label, bit) = garbled.garbler.label_with_select(wire, false);
        let (other, _) = garbled.garbler.label_with_select(wire, true);
        let (label, other) = (label.to_u128(), other.to_u128());
        if bit { [other, label] } else { [label, other] }
    };
    let inputs: Vec<[u128; 2]> = garbled.inputs.iter().map(pair).collect();
    let circuit = as_reference(program);
    let start = setting.start.to_u128();
    let (expected, decoding) = match scheme.id().name {
        SchemeName::HalfGates => {
            let hash = match scheme.id().hash {
                Hash::TwoCall => half_gates::Hash::TwoCall,
                Hash::Rekeyed => half_gates::Hash::Rekeyed,
                other => panic!("the textbook has no half-gates under {other}"),
            };
            let zeros: Vec<u128> = inputs.iter().map(|labels| labels[0]).collect();
            let delta = setting.delta.to_u128();
            let expected =
                half_gates::garble(&circuit, hash, start, setting.instance, delta, &zeros);
            let decoding =
                half_gates::decoding(hash, start, setting.first_output, &expected.outputs);
            (expected, decoding)
        }
        SchemeName::PrfXor1And3 => {
            let expected =
                prf_xor1_and3::garble(&circuit, setting.seed, start, setting.instance, &inputs);
            let decoding = prf_xor1_and3::decoding(start, setting.first_output, &expected.outputs);
            (expected, decoding)
        }
        other => panic!("the textbook has no {other}"),
    };
    let name = case.name;
    assert!(
        garbled.tables.concat() == expected.tables,
        "{name}: tables as in the textbook"
    );
    let outputs: Vec<[u128; 2]> = garbled.outputs.iter().map(pair).collect();
    assert!(
        outputs == expected.outputs,
        "{name}: output labels as in the textbook"
    );
    assert!(
        garbled.decoding == decoding,
        "{name}: decoding as in the textbook"
    );
}

/// The program's gates, in its order, with a wire of its own for each value that a slot takes.
fn as_reference(program: &Program) -> Circuit {
    let mut wire_in: Vec<usize> = (0..program.slots()).collect();
    let mut gates = Vec::new();
    let (mut xors, mut ands) = (program.xors().iter(), program.ands().iter());
    for batch in program.batches() {
        for gate in xors.by_ref().take(batch.xors as usize) {
            gates.push(Gate::Xor(
                wire_in[gate.a as usize],
                wire_in[gate.b as usize],
            ));
            wire_in[gate.out as usize] = program.inputs() + gates.len() - 1;
        }
        for gate in ands.by_ref().take(batch.ands as usize) {
            let [a, b] = [gate.a, gate.b].map(|input| Pin {
                wire: wire_in[(input & !NEGATED) as usize],
                negated: input & NEGATED != 0,
            });
            gates.push(Gate::And(a, b));
            wire_in[gate.out as usize] = program.inputs() + gates.len() - 1;
        }
    }
    let output = |output: &Output| match *output {
        Output::Slot { slot, negated } => tacit_reference::Output::Wire(Pin {
            wire: wire_in[slot as usize],
            negated,
        }),
        Output::Constant(bit) => tacit_reference::Output::Constant(bit),
    };
    let outputs = program.outputs().iter().map(output).collect();
    Circuit {
        inputs: program.inputs(),
        gates,
        outputs,
    }
}
