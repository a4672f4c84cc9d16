//! Tests of the programs into which components are compiled.

use tacit_circuit::{Digest, Program};

use crate::by_name::component;
use crate::oracle::vectors::vectors;
use crate::oracle::{Random, compiled};

#[test]
fn the_library_compiles() {
    let mut random = Random(8);
    // Component, parameters, AND gates, XOR gates, and the most slots.
    for (name, pairs, ands, xors, slots) in [
        ("aes-128", [].as_slice(), 6400, 22976, 800),
        ("sha-256-compress", &[], 22271, 89487, 1500),
        ("sha-256", &[("bytes", 64)], 37999, 147624, 1200),
        ("aes-128-copies", &[("copies", 5)], 32000, 114880, 3200),
        ("millionaires", &[("bits", 64)], 64, 189, 130),
    ] {
        let program = compiled(&component(name, pairs), &mut random);
        assert_eq!(
            (program.ands().len(), program.xors().len()),
            (ands, xors),
            "{name}"
        );
        assert!(
            program.slots() <= slots,
            "{name}: {} slots",
            program.slots()
        );
    }
}

#[test]
fn batches_are_wide_where_the_circuit_is() {
    let width = |name, pairs| {
        let program = Program::compile(&component(name, pairs));
        let batches = program
            .batches()
            .iter()
            .filter(|batch| batch.ands > 0)
            .count();
        program.ands().len() / batches
    };
    assert!(width("aes-128", &[]) >= 75);
    assert!(width("aes-128-copies", &[("copies", 8)]) >= 120);
    assert!(width("sha-256-compress", &[]) >= 10);
}

#[test]
fn programs_are_frozen() {
    for vector in vectors("program-", 2) {
        let circuit = component(vector.name.strip_prefix("program-").unwrap(), &[]);
        let program = Program::compile(&circuit);
        let digest = |name| vector.one(name).parse::<Digest>().unwrap();
        let number = |name| vector.one(name).parse::<usize>().unwrap();
        assert_eq!(circuit.digest(), digest("circuit-digest"));
        assert_eq!(usize::from(Program::VERSION), number("version"));
        assert_eq!(program.slots(), number("slots"));
        assert_eq!(program.batches().len(), number("batches"));
        assert_eq!(program.segments().len(), number("segments"));
        assert_eq!(program.fingerprint(), digest("fingerprint"));
    }
}
