//! Tests of functions.

/// Checks rows of a result, the variant of its error, and parts of the error's message.
macro_rules! assert_errors {
    ($(
        $result:expr => $variant:ident $({ $($field:ident: $value:pat),+ })?, $($part:literal),+;
    )+) => {$(
        let pattern = |error: &FunctionError| {
            matches!(error, FunctionError::$variant { $($($field: $value,)+)? .. })
        };
        $crate::tests::check_error($result, pattern, &[$($part),+]);
    )+};
}

mod digests;
mod errors;
mod limits;
mod meaning;
mod random;
mod results;
mod schedule;
mod streams;

use std::collections::BTreeMap;

use tacit_circuit::{Circuit, Value};
use tacit_components::library;

use crate::{Function, FunctionBuilder, FunctionError, Part, Recipient, Role};

/// Returns the library's adder of 8 bits.
fn adder() -> Circuit {
    library::find("adder", &BTreeMap::from([("bits".to_owned(), 8)])).expect("a component")
}

/// Returns a function of `a` plus `n` times `b`.
fn chain(n: u64) -> Function {
    let mut builder = FunctionBuilder::new("chain");
    builder
        .library("add", "adder", &[("bits", 8)])
        .input("a", "u8", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("state", &format!("u8[{}]", n + 1))
        .assign(Part::of("state").at(0), "a")
        .repeat("i", 0, n, |each, i| {
            each.call(
                [Part::of("state").at(i.plus(1))],
                "add",
                [Part::of("state").at(i), Part::of("b")],
            );
        })
        .output("sum", "u8", Recipient::Both, Part::of("state").at(n));
    builder.finish().unwrap()
}

/// Returns the function of a builder that `fill` fills.
fn built(
    fill: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder,
) -> Result<Function, FunctionError> {
    fill(&mut FunctionBuilder::new("f")).finish()
}

/// Checks the error of one row of `assert_errors!`.
fn check_error<T>(
    result: Result<T, FunctionError>,
    is_expected: impl FnOnce(&FunctionError) -> bool,
    parts: &[&str],
) {
    let error = result.map(|_| ()).unwrap_err();
    assert!(is_expected(&error), "{error:?}");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// Evaluates a function on inputs as text. Returns the outputs as text.
fn run(function: &Function, inputs: &[&str]) -> Vec<String> {
    let ports = function.inputs().iter().map(|input| &input.port);
    let values = ports.chain(function.loads()).zip(inputs);
    let values = values.map(|(port, text)| port.parse_value(text).expect("a value of the port"));
    let outputs = function.evaluate_values(&values.collect::<Vec<_>>());
    let outputs = outputs.expect("values of the ports");
    outputs.iter().map(Value::to_text).collect()
}
