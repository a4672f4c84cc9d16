//! Compares programs with the circuits from which they are compiled.

use proptest::prelude::*;
use proptest::sample::Index;
use tacit_circuit::{Circuit, Gate, LANES, Lanes, Output, Port, Program, Type};

use crate::oracle::{Random, compiled};

fn circuit(inputs: usize, gates: Vec<Gate>, outputs: Vec<u32>) -> Circuit {
    let input = Port::new("in", Type::bits(inputs));
    let output = Port::new("out", Type::bits(outputs.len()));
    Circuit::new(vec![input], vec![output], gates, outputs).unwrap()
}

/// Returns a circuit of all kinds of gates, whose inputs are at most `reach` wires back.
fn random_circuit(inputs: u32, gates: u32, reach: u32, random: &mut Random) -> Circuit {
    let gate = |wire: u32| {
        let mut pick = || wire - 1 - random.below(wire.min(reach).into()) as u32;
        let (a, b) = (pick(), pick());
        match random.below(8) {
            0..3 => Gate::And(a, b),
            3..6 => Gate::Xor(a, b),
            6 => Gate::Inv(a),
            _ => Gate::And(a, a),
        }
    };
    let gates = (inputs..inputs + gates).map(gate).collect::<Vec<_>>();
    let last = inputs + gates.len() as u32;
    circuit(
        inputs as usize,
        gates,
        (last - last.min(200)..last).collect(),
    )
}

#[test]
fn degenerate_gates_vanish() {
    let (x, y) = (0, 1);
    let gates = vec![
        Gate::And(x, x),  // 2: x
        Gate::Inv(x),     // 3: ¬x
        Gate::And(x, 3),  // 4: 0
        Gate::Xor(y, y),  // 5: 0
        Gate::Xor(x, 3),  // 6: 1
        Gate::And(y, 6),  // 7: y
        Gate::Xor(7, 6),  // 8: ¬y
        Gate::And(3, 8),  // 9: ¬x ∧ ¬y, the one gate that is left
        Gate::And(9, 5),  // 10: 0
        Gate::And(x, 9),  // 11: read by nobody
        Gate::Inv(9),     // 12: ¬9
        Gate::Xor(12, 4), // 13: ¬9
    ];
    let circuit = circuit(2, gates, vec![2, 3, 4, 6, 8, 9, 10, 12, 13]);
    let program = compiled(&circuit, &mut Random(1));
    assert_eq!((program.ands().len(), program.xors().len()), (1, 0));
    assert_eq!(
        (
            program.slots(),
            program.batches().len(),
            program.segments().len()
        ),
        (3, 1, 1)
    );
    let slot = |slot, negated| Output::Slot { slot, negated };
    assert_eq!(
        program.outputs(),
        [
            slot(0, false),
            slot(0, true),
            Output::Constant(false),
            Output::Constant(true),
            slot(1, true),
            slot(2, false),
            Output::Constant(false),
            slot(2, true),
            slot(2, true),
        ]
    );
}

#[test]
fn without_gates_there_is_no_segment() {
    let program = compiled(&circuit(3, vec![], vec![2, 0, 2]), &mut Random(2));
    assert!(program.segments().is_empty() && program.batches().is_empty());
    assert_eq!(program.slots(), 3);
}

#[test]
fn a_chain_is_one_batch_a_gate() {
    let gates = (0..40_000).map(|i| Gate::And(i % 2, i + 1)).collect();
    let program = compiled(&circuit(2, gates, vec![40_001]), &mut Random(3));
    assert!(program.batches().iter().all(|batch| batch.ands == 1));
    assert!(program.slots() <= 4, "{}", program.slots());
}

#[test]
fn a_wide_layer_fills_its_batches() {
    let gates = (0..5_000).map(|i| Gate::And(i, i + 1)).collect();
    let program = compiled(
        &circuit(5_001, gates, (5_001..10_001).collect()),
        &mut Random(4),
    );
    let widths: Vec<u32> = program.batches().iter().map(|batch| batch.ands).collect();
    assert_eq!(widths, [[512; 9].as_slice(), &[392]].concat());
}

#[test]
fn narrow_layers_go_by_eights() {
    // Thirteen chains side by side.
    let gates = (0..13 * 100).map(|i| Gate::And(i, i + 13)).collect();
    let program = compiled(&circuit(26, gates, (1313..1326).collect()), &mut Random(5));
    assert!(program.batches().iter().all(|batch| batch.ands <= 8));
    let full = program
        .batches()
        .iter()
        .filter(|batch| batch.ands == 8)
        .count();
    assert!(full >= 160, "{full} of {}", program.batches().len());
}

#[test]
fn xor_gates_alone_are_cut_into_segments() {
    let gates = (0..20_000).map(|i| Gate::Xor(i, i + 1)).collect();
    let program = compiled(&circuit(2, gates, vec![20_001]), &mut Random(6));
    let sizes: Vec<u32> = program.batches().iter().map(|batch| batch.xors).collect();
    assert_eq!(sizes, [8192, 8192, 3616]);
    assert_eq!((program.segments().len(), program.slots()), (3, 2));
}

#[test]
fn a_long_program_has_its_first_segments_as_its_head() {
    let chain = |gates| {
        let gates = (0..gates).map(|i| Gate::Xor(i, i + 1)).collect::<Vec<_>>();
        let last = gates.len() as u32 + 1;
        Program::compile(&circuit(2, gates, vec![last]))
    };
    let (long, short) = (chain(70 * 8192), chain(3 * 8192));
    assert_eq!(
        (long.segments().len(), long.head().segments().len()),
        (70, 64)
    );
    assert_eq!(long.head().xors(), &long.xors()[..64 * 8192]);
    assert_eq!(long.head().check_invariants(), Ok(()));
    assert_eq!(short.head(), &short);
}

#[test]
fn circuits_past_the_window() {
    let mut random = Random(7);
    for reach in [3, 100, 10_000, u32::MAX] {
        let circuit = random_circuit(40, 60_000, reach, &mut random);
        compiled(&circuit, &mut random);
    }
}

#[test]
fn every_part_of_a_program_is_in_its_fingerprint() {
    let gates = |first, last| vec![first, Gate::Xor(0, 2), last];
    let base = gates(Gate::And(0, 1), Gate::And(2, 3));
    let fingerprint = |gates, outputs| Program::compile(&circuit(2, gates, outputs)).fingerprint();
    let mut found = vec![
        fingerprint(base.clone(), vec![4]),
        fingerprint(base.clone(), vec![4, 4]),
        fingerprint(base.clone(), vec![3]),
        fingerprint(gates(Gate::And(0, 1), Gate::Xor(1, 3)), vec![4]),
        fingerprint(gates(Gate::Xor(0, 1), Gate::And(2, 3)), vec![4]),
    ];
    assert_eq!(found[0], fingerprint(base, vec![4]));
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 5);
}

prop_compose! {
    fn any_circuit()(inputs in 1_usize..6, count in 0_usize..120)(
        inputs in Just(inputs),
        kinds in prop::collection::vec((0_u8..6, any::<Index>(), any::<Index>()), count),
        outputs in prop::collection::vec(any::<Index>(), 1..8),
    ) -> Circuit {
        let wire = |index: Index, below: usize| index.index(below) as u32;
        let gates = kinds.into_iter().enumerate().map(|(number, (kind, a, b))| {
            let wires = inputs + number;
            let (a, b) = (wire(a, wires), wire(b, wires));
            match kind {
                0 | 1 => Gate::And(a, b),
                2 | 3 => Gate::Xor(a, b),
                4 => Gate::Inv(a),
                _ if number % 2 == 0 => Gate::And(a, a),
                _ => Gate::Xor(a, a),
            }
        });
        let gates: Vec<Gate> = gates.collect();
        let wires = inputs + gates.len();
        circuit(inputs, gates, outputs.into_iter().map(|index| wire(index, wires)).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn programs_compute_what_circuits_do(circuit in any_circuit()) {
        // There are at most five input bits, so that 64 lanes hold every input.
        let program = Program::compile(&circuit);
        prop_assert_eq!(program.check_invariants(), Ok(()));
        let lane = |bit: usize| (0..LANES).fold(0, |lane, k| lane | ((k >> bit & 1) as Lanes) << k);
        let inputs: Vec<Lanes> = (0..circuit.input_bits()).map(lane).collect();
        prop_assert_eq!(program.interpret_lanes(&inputs), circuit.evaluate_lanes(&inputs));
        prop_assert_eq!(&program, &Program::compile(&circuit));
    }
}
