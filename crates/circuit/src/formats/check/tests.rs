use std::fs::{self, File};

use super::*;
use crate::formats::{BristolFormat, write_bristol};
use crate::{Gate, Port, Type};

fn write(directory: &Path, name: &str, circuit: &Circuit, format: BristolFormat, order: BitOrder) {
    let file = File::create(directory.join(name)).unwrap();
    write_bristol(circuit, file, format, order).unwrap();
}

/// XOR of two bits, as the low bit of a 64-bit sum is.
fn xor_of_first_bits() -> Circuit {
    let pair = vec![
        Port::new("in0", Type::bits(64)),
        Port::new("in1", Type::bits(64)),
    ];
    let gates = [Gate::Xor(0, 64), Gate::Xor(0, 0)];
    let outputs = [vec![128], vec![129; 63]].concat();
    Circuit::new(
        pair,
        vec![Port::new("out0", Type::bits(64))],
        gates,
        outputs,
    )
    .unwrap()
}

#[test]
fn each_kind_of_file_has_its_finding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let circuit = xor_of_first_bits();
    for name in ["adder64.txt", "neg64.txt", "other.txt", "ignored.csv"] {
        write(
            path,
            name,
            &circuit,
            BristolFormat::Fashion,
            BitOrder::AsGiven,
        );
    }
    fs::write(path.join("sub64.txt"), "1 2\n1 1\n1 1\n\n1 1 7 1 INV\n").unwrap();
    fs::create_dir(path.join("directory.txt")).unwrap();
    let reports = check_directory(path, &Limits::default()).unwrap();
    let [adder, neg, other, sub] = reports.as_slice() else {
        panic!("{reports:?}")
    };
    // 1 + (2^64 - 1) = 0 and 0 + 1 = 1 are met; the third sum is not.
    assert_eq!(adder.finding, Finding::Wrong { case: 2 });
    assert_eq!(adder.order, BitOrder::AsGiven);
    assert_eq!(adder.circuit.unwrap().1.xor, 2);
    assert!(matches!(
        neg.finding,
        Finding::OtherPorts(CircuitError::ValueCount { .. })
    ));
    assert_eq!(
        (&other.finding, other.is_good()),
        (&Finding::NoKnownAnswer, true)
    );
    assert!(matches!(
        sub.finding,
        Finding::Unreadable(CircuitError::File { line: 5, .. })
    ));
    assert_eq!((sub.circuit, sub.is_good()), (None, false));
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = check_directory(&missing, &Limits::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("missing") && error.contains("check that it is there"),
        "{error}"
    );
}
