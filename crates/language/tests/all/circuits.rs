//! Tests of circuits of the library and of files, as functions of a program.

use std::fs;
use std::path::PathBuf;

use tacit_circuit::formats::{BitOrder, BristolFormat, write_bristol};
use tacit_language::program::EntryId;
use tacit_language::{Diagnostic, Loaded, NoFiles, ParamValues, ProgramFolder};

/// Returns a separate folder for a test, with these components of the library as circuit files.
fn folder(test: &str, files: &[(&str, &str, BristolFormat, BitOrder)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).expect("a folder");
    for (name, component, format, order) in files {
        let circuit = tacit_components::library::find(component, &Default::default());
        let mut bytes = Vec::new();
        write_bristol(&circuit.expect("a circuit"), &mut bytes, *format, *order).expect("a file");
        fs::write(folder.join(name), bytes).expect("a file");
    }
    folder
}

fn check(folder: &PathBuf, text: &str) -> Vec<Diagnostic> {
    let loaded = Loaded::new("program.tacit", text, &NoFiles);
    loaded.check(&ParamValues::new(), &ProgramFolder::new(folder))
}

fn bits(hex: &str) -> Vec<bool> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    let bytes = (0..hex.len()).step_by(2).map(byte);
    bytes
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
        .collect()
}

fn encrypting(file: &str, order: &str) -> String {
    format!(
        "parties alice, bob;\n\
         component fn aes(key: bytes<16>, block: bytes<16>) -> bytes<16> = \
         file \"{file}\" order {order};\n\
         main(key: bytes<16> of alice, block: bytes<16> of bob) -> (out: bytes<16> to both) {{\n\
         \x20   aes(key, block)\n}}\n"
    )
}

/// FIPS-197, appendix C.1, with a file in each bit order.
#[test]
fn a_file_of_aes_gives_the_ciphertext_of_the_standard_in_every_order() {
    let orders = [
        ("reversed_bytes", BitOrder::ReversedBytes),
        ("reversed_bits", BitOrder::ReversedBits),
        ("as_given", BitOrder::AsGiven),
        ("reversed", BitOrder::Reversed),
    ];
    for (word, order) in orders {
        let name = format!("{word}.txt");
        let file = (name.as_str(), "aes-128", BristolFormat::Fashion, order);
        let folder = folder("orders", &[file]);
        let text = encrypting(&name, word);
        assert!(check(&folder, &text).is_empty(), "{word}");
        let loaded = Loaded::new("aes.tacit", &text, &NoFiles);
        let program = loaded.program(&ParamValues::new()).expect("a program");
        let lowered = program.lower("main", EntryId(0), &ProgramFolder::new(&folder));
        let function = lowered.expect("a function").function;
        let mut inputs = bits("000102030405060708090a0b0c0d0e0f");
        inputs.extend(bits("00112233445566778899aabbccddeeff"));
        let expected = bits("69c4e0d86a7b0430d8cdb78070b4c55a");
        assert_eq!(function.evaluate(&inputs), expected, "{word}");
    }
}

/// Orders of numbers do not determine the first byte. Before they were refused, they gave another
/// ciphertext.
#[test]
fn bytes_under_an_order_of_numbers_are_refused() {
    let file = (
        "aes.txt",
        "aes-128",
        BristolFormat::Fashion,
        BitOrder::ReversedBytes,
    );
    let folder = folder("numbers", &[file]);
    for word in ["lsb_first", "msb_first"] {
        let errors = check(&folder, &encrypting("aes.txt", word));
        let [error] = &errors[..] else {
            panic!("{word}: {errors:?}");
        };
        assert!(
            error.message.contains("write `reversed_bytes`"),
            "{error:?}"
        );
    }
    // Bytes inside other values also count as bytes.
    let nested = "parties alice, bob;\nstruct Pair { key: bytes<16>, block: bytes<16> }\n\
         component fn aes(pair: Pair) -> u128 = file \"aes.txt\" order lsb_first;\n\
         main(pair: Pair of alice) -> (out: u128 to bob) { aes(pair) }\n";
    let errors = check(&folder, nested);
    assert!(
        errors[0].message.contains("orders of numbers"),
        "{errors:?}"
    );
}

/// `check` reports the errors that a run would report about the circuits that a program names.
#[test]
fn a_circuit_that_cannot_be_used_is_found_by_check() {
    let file = (
        "add.txt",
        "adder",
        BristolFormat::Fashion,
        BitOrder::AsGiven,
    );
    let folder = folder("check", &[file]);
    let width = tacit_components::library::find("adder", &Default::default())
        .expect("a circuit")
        .output_bits();
    let right = "file \"add.txt\" order lsb_first";
    for (width, body, reason) in [
        (width, right, None),
        (8, "library \"adder\"(bits: 8)", None),
        (
            width,
            "file \"none.txt\" order lsb_first",
            Some("`none.txt` cannot be used"),
        ),
        (
            width,
            "file \"../add.txt\" order lsb_first",
            Some("`../add.txt` cannot be used"),
        ),
        (width + 1, right, Some("has inputs of")),
        (8, "library \"nonsense\"", Some("nonsense")),
        (
            8,
            "library \"adder\"(bits: 9)",
            Some("has inputs of [9, 9] bits"),
        ),
        (8, "library \"adder\"(bytes: 8)", Some("bytes")),
    ] {
        let text = format!(
            "parties alice, bob;\n\
             component fn sum(a: u{width}, b: u{width}) -> u{width} = {body};\n\
             main(a: u{width} of alice, b: u{width} of bob) -> (out: u{width} to both) {{\n\
             \x20   sum(a, b)\n}}\n"
        );
        let errors = check(&folder, &text);
        match reason {
            None => assert!(errors.is_empty(), "{body}: {errors:?}"),
            Some(reason) => {
                assert_eq!(errors.len(), 1, "{body}: {errors:?}");
                assert!(errors[0].message.contains(reason), "{body}: {errors:?}");
            }
        }
    }
}

/// Under a test's params, the circuit may have other ports.
#[test]
fn a_circuit_that_a_test_cannot_use_is_found_by_check() {
    let text = "parties alice, bob;\nparam W: 1..=16 = 8;\n\
         component fn sum(a: u<W>, b: u<W>) -> u<W> = library \"adder\"(bits: 8);\n\
         main(a: u<W> of alice, b: u<W> of bob) -> (out: u<W> to both) { sum(a, b) }\n\
         test \"narrow\" with W = 7 { assert main(1, 2) == 3; }\n";
    let errors = check(&folder("test", &[]), text);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].message.contains("[8, 8] bits"), "{errors:?}");
}
