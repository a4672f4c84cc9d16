//! Tests of the component library as a table: ports, requests, names. Also of the padding of
//! SHA-256.

use sha2::{Digest, Sha256};
use tacit_circuit::{Circuit, Kind, Type};
use tacit_components::library::{self, LibraryError};

use crate::by_name::{component, parameters};
use crate::oracle::{Bits, outputs};

#[test]
fn sha_256_pads_every_length_around_a_block() {
    let message: Vec<u8> = (0_u8..130).map(|i| i.wrapping_mul(7)).collect();
    for len in [1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 128] {
        let circuit = component("sha-256", &[("bytes", len as u64)]);
        let digest = outputs(&circuit, &[Bits::of_bytes(&message[..len])]);
        let expected = Sha256::digest(&message[..len]);
        assert_eq!(digest, [Bits::of_bytes(&expected)], "{len}");
    }
}

#[test]
fn ports_are_as_documented() {
    let shape = |circuit: &Circuit| -> Vec<String> {
        let ports = circuit.inputs().iter().chain(circuit.outputs());
        ports
            .map(|port| format!("{}: {}", port.name, port.ty))
            .collect()
    };
    for (name, pairs, ports) in [
        (
            "aes-128",
            vec![],
            "key: bytes[16], block: bytes[16], ciphertext: bytes[16]",
        ),
        (
            "aes-128-copies",
            vec![("copies", 2)],
            "keys: bytes[16][2], blocks: bytes[16][2], ciphertexts: bytes[16][2]",
        ),
        (
            "sha-256",
            vec![("bytes", 5)],
            "message: bytes[5], digest: bytes[32]",
        ),
        (
            "sha-256-compress",
            vec![],
            "state: u32[8], block: bytes[64], next_state: u32[8]",
        ),
        (
            "millionaires",
            vec![("bits", 7)],
            "a: u7, b: u7, a_is_richer: bit",
        ),
        ("adder", vec![("bits", 7)], "a: u7, b: u7, sum: u7"),
        (
            "comparator",
            vec![("bits", 1)],
            "a: u1, b: u1, less: bit, equal: bit, greater: bit",
        ),
    ] {
        assert_eq!(shape(&component(name, &pairs)).join(", "), ports);
    }
    let circuit = component("sha-256-compress", &[]);
    assert_eq!(
        *circuit.inputs()[0].ty.kind(),
        Kind::Array(Box::new(Type::unsigned(32)), 8)
    );
}

#[test]
fn wrong_requests_name_what_is_wrong() {
    let fails = |name, pairs: &[_]| library::find(name, &parameters(pairs)).unwrap_err();
    let error = fails("aes-129", &[]);
    assert!(matches!(error, LibraryError::UnknownComponent { .. }));
    assert!(
        error.to_string().contains("aes-256, aes-128-copies"),
        "{error}"
    );
    let error = fails("sha-256", &[("bytes", 3), ("rounds", 2)]);
    assert!(matches!(error, LibraryError::UnknownParameter { .. }));
    assert!(
        error.to_string().contains("\"rounds\"; it takes: bytes"),
        "{error}"
    );
    let error = fails("sha-256", &[]);
    assert!(matches!(
        error,
        LibraryError::MissingParameter {
            parameter: "bytes",
            ..
        }
    ));
    for found in [0, 4097, u64::MAX] {
        let error = fails("adder", &[("bits", found)]);
        let LibraryError::ParameterRange { found: shown, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(shown, found);
    }
    let long = "x".repeat(1000);
    let names: usize = library::list()
        .iter()
        .map(|entry| entry.name.len() + 2)
        .sum();
    assert!(fails(&long, &[]).to_string().len() < names + 150);
}

#[test]
fn every_entry_is_found_by_its_name() {
    for entry in library::list() {
        assert!(!entry.description.contains('\n') && !entry.description.is_empty());
        let pairs: Vec<_> = entry
            .parameters
            .iter()
            .map(|p| (p.name, p.minimum))
            .collect();
        component(entry.name, &pairs);
    }
}
