//! Tests of functions.

/// Results, each with the variant of its error, and what the message has.
macro_rules! assert_errors {
    ($(
        $result:expr => $variant:ident $({ $($field:ident: $value:pat),+ })?, $($part:literal),+;
    )+) => {$(
        let pattern = |error: &FunctionError| {
            matches!(error, FunctionError::$variant { $($($field: $value,)+)? .. })
        };
        $crate::function::tests::check_error($result, pattern, &[$($part),+]);
    )+};
}

mod digests;
mod errors;
mod limits;
mod meaning;
mod random;
mod results;
mod stateful;

use std::collections::BTreeMap;

use super::{Component, Function, FunctionBuilder, FunctionError, shipped};
use crate::{Circuit, Value, library};

/// Parameters by name.
fn parameters<const N: usize>(given: [(&str, u64); N]) -> BTreeMap<String, u64> {
    given
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// A component of the library.
fn component(name: &str, given: &[(&str, u64)]) -> Component {
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    let circuit: Circuit = library::find(name, &given).expect("a component of the library");
    Component::new(name, circuit)
}

/// A function that comes with Tacit.
fn shipped_with<const N: usize>(name: &str, given: [(&str, u64); N]) -> Function {
    let family = shipped::find(name).unwrap();
    let family = family.expect("a function that comes with Tacit");
    family.instantiate(&parameters(given)).unwrap()
}

/// The builder's function for these parameters.
fn instance<const N: usize>(
    builder: &mut FunctionBuilder,
    given: [(&str, u64); N],
) -> Result<Function, FunctionError> {
    builder.finish()?.instantiate(&parameters(given))
}

/// The function of a builder that this fills.
fn built(
    fill: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder,
) -> Result<Function, FunctionError> {
    instance(fill(&mut FunctionBuilder::new("f")), [])
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

/// The outputs as text, from inputs as text.
fn run(function: &Function, inputs: &[&str]) -> Vec<String> {
    let ports = function
        .inputs()
        .iter()
        .map(|input| &input.port)
        .chain(function.loads());
    let mut bits = Vec::new();
    for (port, text) in ports.zip(inputs) {
        bits.extend_from_slice(
            &port
                .parse_value(text)
                .expect("a value of the port")
                .to_bits(),
        );
    }
    let outputs = function.evaluate(&bits);
    let mut rest = &outputs[..];
    let ports = function
        .outputs()
        .iter()
        .map(|output| &output.port)
        .chain(function.saves());
    let text = |port: &crate::Port| {
        let (bits, after) = rest.split_at(port.ty.width());
        rest = after;
        Value::from_bits(&port.ty, bits)
            .expect("bits of the port")
            .to_text()
    };
    ports.map(text).collect()
}
