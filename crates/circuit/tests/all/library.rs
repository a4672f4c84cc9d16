//! The component library: published known answers first, then random inputs against plain code,
//! then gate counts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tacit_circuit::library::{self, LibraryError};
use tacit_circuit::{Circuit, Kind, Type};

fn parameters(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect()
}

fn component(name: &str, pairs: &[(&str, u64)]) -> Circuit {
    library::find(name, &parameters(pairs)).unwrap()
}

fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes
        .iter()
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
        .collect()
}

fn bytes(bits: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| (0..8).fold(0, |byte, bit| byte | u8::from(bits[bit]) << bit);
    bits.chunks_exact(8).map(byte).collect()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn run(circuit: &Circuit, input: &[u8]) -> Vec<u8> {
    bytes(&circuit.evaluate(&bits(input)))
}

/// FIPS 197, appendices B and C.1.
#[test]
fn aes_128_known_answers() {
    let circuit = component("aes-128", &[]);
    for (key, block, ciphertext) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3243f6a8885a308d313198a2e0370734",
            "3925841d02dc09fbdc118597196a0b32",
        ),
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "69c4e0d86a7b0430d8cdb78070b4c55a",
        ),
    ] {
        let input = [hex(key), hex(block)].concat();
        assert_eq!(run(&circuit, &input), hex(ciphertext));
    }
}

/// FIPS 180-4's examples: one block ("abc") and two.
#[test]
fn sha_256_known_answers() {
    for (message, digest) in [
        (
            "abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
    ] {
        let circuit = component("sha-256", &[("bytes", message.len() as u64)]);
        assert_eq!(run(&circuit, message.as_bytes()), hex(digest));
    }
}

#[test]
fn sha_256_pads_every_length_around_a_block() {
    let message: Vec<u8> = (0_u8..130).map(|i| i.wrapping_mul(7)).collect();
    for len in [1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 128] {
        let circuit = component("sha-256", &[("bytes", len as u64)]);
        assert_eq!(
            run(&circuit, &message[..len]),
            Sha256::digest(&message[..len])[..],
            "{len}"
        );
    }
}

#[test]
fn sha_256_compresses_a_known_block() {
    let circuit = component("sha-256-compress", &[]);
    let state: [u32; 8] = [
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
        0x5be0cd19,
    ];
    let mut input: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut block = [0; 64];
    block[..4].copy_from_slice(b"abc\x80");
    block[63] = 24;
    input.extend(block);
    let output = run(&circuit, &input);
    let digest: Vec<u8> = output
        .chunks(4)
        .flat_map(|word| word.iter().rev().copied())
        .collect();
    assert_eq!(digest, Sha256::digest(b"abc")[..]);
}

#[test]
fn aes_128_agrees_with_plain_code() {
    let circuit = component("aes-128", &[]);
    let instances: Vec<Vec<u8>> = (0_u32..128)
        .map(|i| Sha256::digest(i.to_le_bytes()).to_vec())
        .collect();
    let inputs: Vec<Vec<bool>> = instances.iter().map(|instance| bits(instance)).collect();
    for (instance, output) in instances.iter().zip(circuit.evaluate_batch(&inputs)) {
        let [key, block] =
            [0, 16].map(|at| u128::from_le_bytes(instance[at..at + 16].try_into().unwrap()));
        let ciphertext = tacit_reference::aes_128(key, block).to_le_bytes();
        assert_eq!(bytes(&output), ciphertext);
    }
}

#[test]
fn copies_are_independent() {
    let circuit = component("aes-128-copies", &[("copies", 3)]);
    let single = component("aes-128", &[]);
    let (keys, blocks): (Vec<u8>, Vec<u8>) = ((0..48).collect(), (100..148).collect());
    let output = run(&circuit, &[keys.clone(), blocks.clone()].concat());
    for copy in 0..3 {
        let range = 16 * copy..16 * copy + 16;
        let input = [&keys[range.clone()], &blocks[range.clone()]].concat();
        assert_eq!(output[range], run(&single, &input));
    }
}

#[test]
fn gate_counts() {
    // Component, parameters, AND gates, XOR gates.
    type Row = (&'static str, &'static [(&'static str, u64)], u64, u64);
    let table: &[Row] = &[
        ("aes-128", &[], 6400, 22976),
        ("aes-128-copies", &[("copies", 4)], 25600, 91904),
        ("sha-256-compress", &[], 22271, 89487),
        ("sha-256", &[("bytes", 3)], 20121, 77936),
        ("sha-256", &[("bytes", 64)], 37999, 147624),
        ("millionaires", &[("bits", 32)], 32, 93),
        ("millionaires", &[], 32, 93),
        ("adder", &[("bits", 64)], 63, 251),
        ("comparator", &[("bits", 32)], 63, 126),
    ];
    let count = |(name, pairs, ..): &Row| {
        let statistics = component(name, pairs).statistics();
        (*name, *pairs, statistics.and as u64, statistics.xor as u64)
    };
    let found: Vec<_> = table.iter().map(count).collect();
    assert_eq!(found, table);
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

proptest! {
    #[test]
    fn integers_agree_with_plain_code(a: u64, b: u64, close: bool, bits in 1_u64..=64) {
        let mask = u64::MAX >> (64 - bits);
        let a = a & mask;
        let b = if close { a ^ (b & 1) } else { b } & mask;
        let input: Vec<bool> =
            [a, b].into_iter().flat_map(|x| (0..bits).map(move |bit| x >> bit & 1 == 1)).collect();
        let run = |name| component(name, &[("bits", bits)]).evaluate(&input);
        prop_assert_eq!(run("millionaires"), [a > b]);
        prop_assert_eq!(run("comparator"), [a < b, a == b, a > b]);
        let sum = run("adder").iter().rev().fold(0, |sum, &bit| sum << 1 | u64::from(bit));
        prop_assert_eq!(sum, a.wrapping_add(b) & mask);
    }
}
