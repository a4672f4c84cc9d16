//! The frozen vectors of circuits, values and circuit files, in `vectors/circuit-*.txt`.
//!
//! The lines `file:` contain a Bristol file.

use tacit_circuit::formats::{BitOrder, Import, read_bristol};
use tacit_circuit::{Circuit, Gate, Type, Value};

use crate::oracle::vectors::vectors;

fn gate(text: &str) -> Gate {
    let parts: Vec<&str> = text.split(' ').collect();
    let wire = |i: usize| parts[i].parse().expect("a wire");
    match parts[0] {
        "xor" => Gate::Xor(wire(1), wire(2)),
        "and" => Gate::And(wire(1), wire(2)),
        "inv" => Gate::Inv(wire(1)),
        other => panic!("{other} is no gate"),
    }
}

#[test]
fn digests_of_circuits() {
    for vector in vectors("circuit-digest-", 2) {
        let gates = vector.all("gate").into_iter().map(gate);
        let outputs = vector
            .one("output-wires")
            .split(' ')
            .map(|wire| wire.parse().unwrap());
        let (inputs, results) = (vector.ports("input"), vector.ports("output"));
        let circuit = Circuit::new(inputs, results, gates, outputs.collect()).unwrap();
        assert_eq!(
            circuit.digest().to_string(),
            vector.one("digest"),
            "{}",
            vector.name
        );
    }
}

#[test]
fn digests_of_imported_files() {
    for vector in vectors("circuit-file-", 3) {
        let file = vector.all("file").join("\n");
        let order: BitOrder = vector.one("order").parse().unwrap();
        let import = Import {
            order,
            ..Import::default()
        };
        let circuit = read_bristol(file.as_bytes(), &import).unwrap();
        let gates: Vec<Gate> = vector.all("gate").into_iter().map(gate).collect();
        assert_eq!(
            circuit.gates().collect::<Vec<_>>(),
            gates,
            "{}",
            vector.name
        );
        assert_eq!(
            circuit.digest().to_string(),
            vector.one("digest"),
            "{}",
            vector.name
        );
    }
}

#[test]
fn bits_text_and_json_of_values() {
    for vector in vectors("circuit-value-", 8) {
        let ty: Type = vector.one("type").parse().unwrap();
        let bits: Vec<bool> = vector.one("bits").bytes().map(|bit| bit == b'1').collect();
        let json = serde_json::from_str(vector.one("json")).unwrap();
        let value = Value::from_bits(&ty, &bits).unwrap();
        assert_eq!(ty.to_string(), vector.one("type"));
        assert_eq!(value.to_text(), vector.one("text"), "{}", vector.name);
        assert_eq!(value.to_json(), json, "{}", vector.name);
        assert_eq!(
            Value::from_json(&ty, &json).unwrap(),
            value,
            "{}",
            vector.name
        );
        for text in [vec![vector.one("text")], vector.all("also")].concat() {
            assert_eq!(
                Value::parse(&ty, text).unwrap(),
                value,
                "{}: {text}",
                vector.name
            );
        }
    }
}
