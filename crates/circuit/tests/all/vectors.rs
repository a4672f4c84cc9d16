//! The frozen vectors of circuits, values and circuit files, in `vectors/circuit-*.txt`.
//!
//! A vector is lines of `field: content`; lines of `#` say what it is about. A Bristol file
//! stands in `file:` lines.

use std::fs;
use std::path::Path;

use tacit_circuit::formats::{BitOrder, Import, read_bristol};
use tacit_circuit::{Circuit, Gate, Port, Type, Value};

pub(crate) struct Vector {
    /// The file's, without its ending.
    pub(crate) name: String,
    lines: Vec<(String, String)>,
}

impl Vector {
    fn all(&self, field: &str) -> Vec<&str> {
        let of_field = self.lines.iter().filter(|(name, _)| name == field);
        of_field.map(|(_, content)| content.as_str()).collect()
    }

    pub(crate) fn one(&self, field: &str) -> &str {
        let contents = self.all(field);
        assert_eq!(contents.len(), 1, "{}: lines of {field}", self.name);
        contents[0]
    }

    fn ports(&self, field: &str) -> Vec<Port> {
        let port = |text: &str| {
            let (name, ty) = text.split_once(' ').expect("a name and a type");
            Port::new(name, ty.parse().expect("a type"))
        };
        self.all(field).into_iter().map(port).collect()
    }
}

/// The vectors whose names start with `prefix`; there are at least `least`.
pub(crate) fn vectors(prefix: &str, least: usize) -> Vec<Vector> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let mut vectors = Vec::new();
    for entry in fs::read_dir(directory).expect("the directory of vectors") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        let Some(name) = name
            .strip_suffix(".txt")
            .filter(|name| name.starts_with(prefix))
        else {
            continue;
        };
        let text = fs::read_to_string(entry.path()).expect("a vector");
        let content = text.lines().filter(|line| !line.starts_with('#'));
        let split = |line: &str| {
            let (field, content) = line.split_once(':').expect("a field and its content");
            (field.to_owned(), content.trim().to_owned())
        };
        vectors.push(Vector {
            name: name.to_owned(),
            lines: content.map(split).collect(),
        });
    }
    assert!(
        vectors.len() >= least,
        "vectors named {prefix}: {}",
        vectors.len()
    );
    vectors
}

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
