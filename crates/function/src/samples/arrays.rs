//! A function whose loops read arrays with constant strides.

use tacit_circuit::Owners;

use super::Sample;
use crate::schedule::Limits;
use crate::{Expression, FunctionBuilder, Operand, Part, Recipient, Role};

/// Returns a function that adds up elements of arrays: one after another, every second and every
/// third one, from the last to the first, always the same one, and halves of two.
///
/// # Panics
///
/// Never: the function is fixed.
pub fn array_sample() -> Sample {
    let at = |name: &str, i: Expression| Part::of(name).at(i);
    let mut builder = FunctionBuilder::new("arrays");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("x", "u8[200]", Role::Garbler)
        .input("y", "u8[200]", Role::Evaluator)
        .value("sums", "u8[200]")
        .value("pairs", "u8[100]")
        .value("back", "u8[100]")
        .value("far", "u8[60]")
        .value("mixed", "u8[60]")
        .repeat("i", 0, 200, |each, i| {
            let sum = [at("x", i.clone()), at("y", i.clone())];
            each.call([at("sums", i.clone())], "add", sum);
        })
        .repeat("i", 0, 100, |each, i| {
            let pair = [at("sums", i.times(2)), at("sums", i.times(2).plus(1))];
            each.call([at("pairs", i.clone())], "add", pair);
        })
        .repeat("i", 0, 100, |each, i| {
            let last = Expression::from(99).minus(i.clone());
            each.call(
                [at("back", i.clone())],
                "add",
                [at("pairs", last), at("x", 7.into())],
            );
        })
        .repeat("i", 0, 60, |each, i| {
            let sum = [at("back", i.clone()), at("x", i.times(3).plus(2))];
            each.call([at("far", i.clone())], "add", sum);
            let low = Operand::from(at("y", i.plus(9)).range(0, 4));
            let mixed = low.then(at("back", i.clone()).range(4, 8));
            each.call([at("mixed", i.clone())], "add", [mixed, Operand::number(5)]);
        })
        .output("far_out", "u8[60]", Recipient::Both, "far")
        .output("mixed_out", "u8[60]", Recipient::Garbler, "mixed")
        .output(
            "pairs_out",
            "u8[87]",
            Recipient::Evaluator,
            Part::of("pairs").range(3, 90),
        );
    let bit = |number: u32| number.wrapping_mul(2_654_435_761) >> 31 == 1;
    Sample {
        function: builder.finish().expect("a function"),
        owners: vec![Owners::of(Role::Garbler), Owners::of(Role::Evaluator)],
        shares: (0..3200)
            .map(|i| [i < 1600 && bit(i), i >= 1600 && bit(i)])
            .collect(),
        limits: Limits::default(),
    }
}
