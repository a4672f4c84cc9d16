//! Tests that steps are checked by the meaning of bits, and not only by their number.

use super::run;
use crate::{FunctionBuilder, FunctionError, Operand, Part, Recipient, Role};

/// Builds a function from a component, its parameters, the type of its two inputs, and the type of
/// its result.
fn two(component: &str, given: &[(&str, u64)], input: &str, output: &str) -> FunctionBuilder {
    let mut builder = FunctionBuilder::new("two");
    builder
        .library("f", component, given)
        .input("a", input, Role::Garbler)
        .input("b", input, Role::Evaluator)
        .value("r", output)
        .call(
            match component {
                "comparator" => vec!["r", "_", "_"],
                _ => vec!["r"],
            },
            "f",
            ["a", "b"],
        )
        .output("r", output, Recipient::Both, "r");
    builder
}

const BYTE: &[(&str, u64)] = &[("bits", 8)];

#[test]
fn numbers_with_a_sign_are_not_compared_without_it() {
    assert_errors! {
        two("comparator", BYTE, "i8", "bit").finish() => Meaning,
            "r,_,_=f(a,b): a is of type i8, and port a (u8) would read its bits as u8",
            "take a component for i8", "through a value of type bits[8]";
    }
    let unsigned = two("comparator", BYTE, "u8", "bit").finish().unwrap();
    assert_eq!(run(&unsigned, &["251", "3"]), ["0"]);
}

#[test]
fn fixed_point_numbers_are_not_multiplied_as_integers() {
    assert_errors! {
        two("multiplier", BYTE, "fixed[4,4]", "fixed[4,4]").finish() => Meaning,
            "a is of type fixed[4,4]";
    }
}

#[test]
fn a_port_takes_the_kind_of_numbers_that_it_says() {
    let mut product = two("multiplier-wide-signed", BYTE, "i8", "i16");
    let product = product.finish().unwrap();
    assert_eq!(run(&product, &["-128", "-128"]), ["16384"]);
    for (input, output) in [
        ("i8", "i8"),
        ("i8", "u8"),
        ("u8", "i8"),
        ("u8", "fixed[8,0]"),
    ] {
        let result = two("adder", BYTE, input, output).finish();
        assert!(
            matches!(result, Err(FunctionError::Meaning { .. })),
            "{input} to {output}: {result:?}"
        );
    }
}

/// The types of two values, and whether one may be assigned to the other.
const ASSIGNED: &[(&str, &str, bool)] = &[
    ("u8", "u8", true),
    ("u8", "i8", false),
    ("i16", "fixed[8,8]", false),
    ("fixed[8,8]", "fixed[9,7]", false),
    ("u8[2]", "u16", false),
    ("u16", "u8[2]", false),
    ("u8[2][3]", "u8[6]", true),
    ("i8", "bits[8]", true),
    ("bits[8]", "fixed[4,4]", true),
    ("bytes[2]", "u8[2]", true),
    ("u16", "bytes[2]", true),
    ("bit", "u1", true),
    ("bit[8]", "i8", true),
];

#[test]
fn values_are_assigned_if_they_mean_the_same() {
    for &(from, to, is_same) in ASSIGNED {
        let mut assigned = FunctionBuilder::new("assigned");
        assigned
            .input("from", from, Role::Garbler)
            .value("to", to)
            .assign("to", "from")
            .output("to", to, Recipient::Both, "to");
        let mut output = FunctionBuilder::new("output");
        output.input("from", from, Role::Garbler);
        output.output("to", to, Recipient::Both, "from");
        for builder in [&mut assigned, &mut output] {
            let result = builder.finish();
            assert_eq!(result.is_ok(), is_same, "{from} to {to}: {result:?}");
            if let Err(error) = result {
                assert!(matches!(error, FunctionError::Meaning { .. }), "{error}");
            }
        }
    }
}

/// The types of x (8 bits) and of the value, whether x comes before a number, the number and its
/// type, and whether that may be assigned.
const ROWS: &[(&str, &str, bool, i128, &str, bool)] = &[
    ("i8", "i8[2]", true, -1, "i8", true),
    ("i8", "u8[2]", true, 0, "u8", false),
    ("u8", "u8[2]", true, 0, "i8", true),
    ("u8", "u8[2]", true, 1, "i8", false),
    ("u8", "u8[2]", true, 1, "u8", true),
    // Bits in a row form a number.
    ("u8", "u16", true, 0, "u8", true),
    ("i8", "u16", true, 0, "u8", true),
    ("u8", "u8", false, -1, "i8", false),
    ("u8", "u8", false, 5, "i8", false),
    ("u8", "u8", false, 0, "i8", true),
];

#[test]
fn parts_of_a_value_are_compared_each() {
    let assigned = |x: &str, to: &str, value: Operand| {
        let mut builder = FunctionBuilder::new("rows");
        builder
            .input("x", x, Role::Garbler)
            .value("to", to)
            .assign("to", value)
            .output("to", to, Recipient::Both, "to");
        builder.finish()
    };
    for &(x, to, after_x, number, ty, passes) in ROWS {
        let number = Operand::typed(number, ty.parse().unwrap());
        let value = if after_x {
            Operand::from("x").then(number)
        } else {
            number
        };
        let result = assigned(x, to, value.clone());
        assert_eq!(
            result.is_ok(),
            passes,
            "{to} = {value} with x {x}: {result:?}"
        );
    }
    assert!(assigned("u8", "bits[4]", Part::of("x").range(0, 4).into()).is_ok());
}

#[test]
fn bits_may_be_read_otherwise_on_purpose() {
    let mut builder = FunctionBuilder::new("purpose");
    builder
        .input("x", "i8", Role::Garbler)
        .value("raw", "bits[8]")
        .assign("raw", "x")
        .output("bits_of_x", "u8", Recipient::Both, "raw");
    let function = builder.finish().unwrap();
    assert_eq!(run(&function, &["-1"]), ["255"]);
}
