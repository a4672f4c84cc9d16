//! Components as circuit files.

use std::fs::File;

use tacit_circuit::formats::{BitOrder, BristolFormat, Import, read_bristol_file, write_bristol};
use tacit_circuit::{Type, Value};

use crate::by_name::component;

/// From FIPS 197, appendix C.1: a key, a block and its ciphertext.
const AES_128: [&str; 3] = [
    "000102030405060708090a0b0c0d0e0f",
    "00112233445566778899aabbccddeeff",
    "69c4e0d86a7b0430d8cdb78070b4c55a",
];

#[test]
fn aes_is_read_under_the_default_order_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("aes_128.txt");
    let aes = component("aes-128", &[]);
    let [key, block, ciphertext] = AES_128.map(|text| {
        let value = Value::parse(&Type::bytes(16), text).unwrap();
        value.to_bits().to_vec()
    });
    let inputs = [key, block].concat();
    let computes_aes = |format, order| {
        let file = File::create(&path).unwrap();
        write_bristol(&aes, file, format, order).unwrap();
        let read = read_bristol_file(&path, &Import::default()).unwrap();
        read.evaluate(&inputs) == ciphertext
    };
    for format in [BristolFormat::Fashion, BristolFormat::Old] {
        assert!(computes_aes(format, BitOrder::default()));
        for order in [
            BitOrder::AsGiven,
            BitOrder::ReversedBits,
            BitOrder::Reversed,
        ] {
            assert!(!computes_aes(format, order), "{order}");
        }
    }
}
