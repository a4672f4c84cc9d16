//! Tests of the bounds of programs, on both sides of each.

use tacit_circuit::formats::{BitOrder, Import, Limits, read_bristol};
use tacit_circuit::{Circuit, Port, Program, Type};

/// A file states its number of wires before its content. All sizes that it may announce must
/// compile.
#[test]
fn a_file_may_announce_as_many_wires_as_compile() {
    let import = Import {
        format: None,
        order: BitOrder::AsGiven,
        limits: Limits {
            gates: 1 << 28,
            port_bits: 1 << 24,
            ports: 1 << 16,
        },
    };
    let announcing = |wires: u64| {
        let file = format!("1 {wires}\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n");
        let read = read_bristol(file.as_bytes(), &import);
        read.expect_err("the output is the last wire").to_string()
    };
    let refused = announcing((1 << 28) + 1);
    assert!(
        refused.contains("268435457 wires") && refused.contains("268435456"),
        "{refused}"
    );
    // The error of this file is that nothing drives its output.
    let refused = announcing(1 << 28);
    assert!(!refused.contains("limit"), "{refused}");
}

/// Reader counts and places have 30 bits. A larger number would be mistaken for another one.
#[test]
#[should_panic(expected = "at most 2^29 wires and outputs")]
fn a_circuit_of_more_wires_and_outputs_has_no_program() {
    let inputs = vec![Port::new("a", Type::bits(1 << 29))];
    let outputs = vec![Port::new("b", Type::bits(1))];
    let circuit = Circuit::new(inputs, outputs, [], vec![0]).expect("a circuit");
    let _ = Program::compile(&circuit);
}
