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

use std::collections::BTreeMap;

use super::{Component, Function, FunctionBuilder, FunctionError};
use crate::{Circuit, Recipient, Role, Value, library};

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

/// SHA-256 applied `n` times, first to 16 bytes of each party.
fn chain(n: u64) -> Function {
    let mut builder = FunctionBuilder::new("chain");
    builder
        .parameter("n", 1..=10_000, None)
        .library("sha_256", "sha-256", &[("bytes", "32")])
        .input("a", "bytes[16]", Role::Garbler)
        .input("b", "bytes[16]", Role::Evaluator)
        .value("state", "bytes[32][n+1]")
        .step("state[0] = a ++ b")
        .repeat("i in 0..n", |each| {
            each.step("state[i+1] = sha_256(state[i])");
        })
        .output("digest", "bytes[32]", Recipient::Both, "state[n]");
    instance(&mut builder, [("n", n)]).unwrap()
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
