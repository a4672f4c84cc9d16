//! Tests of the exchanges of circuits over XOR shares, and of the rows that they need. The tests of
//! schedules in `tacit-function` execute whole runs.

use tacit_circuit::{Circuit, Gate, LayerOutline, Owners, Port, Role, RowProgram, Type};

const A: Owners = Owners::of(Role::Garbler);
const B: Owners = Owners::of(Role::Evaluator);

fn circuit(inputs: &[usize], gates: impl IntoIterator<Item = Gate>, results: Vec<u32>) -> Circuit {
    let port = |(i, width): (usize, &usize)| Port::new(format!("p{i}"), Type::bits(*width));
    let inputs = inputs.iter().enumerate().map(port).collect();
    let outputs = vec![Port::new("r", Type::bits(results.len()))];
    Circuit::new(inputs, outputs, gates, results).expect("a circuit")
}

#[test]
fn a_cross_has_at_most_128_gates_of_one_layer() {
    // ANDs of wire 0 with 300 others, and then one of the last of these ANDs with wire 0.
    let first = (1..301).map(|y| Gate::And(0, y));
    let then = [Gate::And(600, 0)];
    let circuit = circuit(&[1, 300], first.chain(then), vec![601]);
    let layers = circuit.layers(&[Owners::BOTH, Owners::BOTH]);
    assert_eq!(layers.depth(), 2);
    let widths = |layer| {
        layers
            .crosses(layer)
            .map(|cross| (cross.chooser, cross.gates.len()))
    };
    let both = |width| [(Role::Garbler, width), (Role::Evaluator, width)];
    assert!(widths(1).eq([both(128), both(128), both(44)].concat()));
    assert!(widths(2).eq(both(1)));
    let program = RowProgram::compile(&circuit, &[Owners::BOTH, Owners::BOTH]);
    let outline = LayerOutline {
        ots: [3, 3],
        narrow_ots: [0, 0],
        opened_bits: [303, 303],
    };
    assert_eq!(program.outline(1), outline);
    assert_eq!(program.outline(2).narrow_ots, [1, 1]);
}

#[test]
fn an_owned_operand_takes_one_cross_and_a_public_one_none() {
    let circuit = circuit(&[1, 1], [Gate::And(0, 1)], vec![2]);
    for (owners, ots, opened) in [
        ([A, B], [0, 1], [1, 1]),
        ([B, A], [1, 0], [1, 1]),
        ([A, Owners::BOTH], [0, 1], [1, 1]),
        ([Owners::BOTH, Owners::BOTH], [1, 1], [2, 2]),
    ] {
        let program = RowProgram::compile(&circuit, &owners);
        assert_eq!(program.depth(), 1, "{owners:?}");
        let outline = program.outline(1);
        assert_eq!(
            (outline.ots, outline.opened_bits),
            (ots, opened),
            "{owners:?}"
        );
    }
    for owners in [[A, A], [Owners::PUBLIC, Owners::BOTH], [B, Owners::PUBLIC]] {
        assert_eq!(circuit.layers(&owners).depth(), 0, "{owners:?}");
    }
}

#[test]
fn an_and_of_a_wire_with_itself_is_no_gate() {
    let gates = [Gate::Inv(0), Gate::And(0, 0), Gate::And(0, 1)];
    let circuit = circuit(&[1], gates, vec![2, 3]);
    let program = RowProgram::compile(&circuit, &[Owners::BOTH]);
    assert_eq!((program.depth(), program.operations(0).len()), (0, 0));
    let zero = program
        .zero_slot()
        .expect("x and its negation are 0 together");
    let slots: Vec<u32> = program.results().iter().map(|result| result.slot).collect();
    assert_eq!(slots, [program.inputs()[0], zero]);
    assert_eq!(program.owners_of_results(), [Owners::BOTH, Owners::PUBLIC]);
}

#[test]
fn rows_are_taken_over_after_their_last_reading() {
    // A chain of ANDs and XORs with two wires.
    let gates = (0..1000).map(|i| {
        let last = if i == 0 { 0 } else { 1 + i };
        if i % 2 == 0 {
            Gate::And(last, 1)
        } else {
            Gate::Xor(last, 1)
        }
    });
    let circuit = circuit(&[2], gates, vec![1001]);
    let program = RowProgram::compile(&circuit, &[Owners::BOTH]);
    assert_eq!(
        (program.depth(), program.live(), program.slots()),
        (500, 2, 2)
    );
}

#[test]
fn what_nobody_reads_is_opened_and_not_computed() {
    let gates = [Gate::Xor(0, 1), Gate::And(0, 1), Gate::Xor(3, 0)];
    let circuit = circuit(&[1, 1], gates, vec![0]);
    let program = RowProgram::compile(&circuit, &[A, B]);
    assert_eq!(
        (program.depth(), program.outline(1).opened_bits),
        (1, [1, 1])
    );
    assert!((0..2).all(|layer| program.operations(layer).is_empty()));
}
