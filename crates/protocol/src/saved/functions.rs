//! Functions that save values and load them, for the tests of the protocols that keep any.

use std::collections::BTreeMap;

use tacit_circuit::{Function, FunctionFamily};

/// A function from JSON.
pub(crate) fn function(text: &str) -> Function {
    let family = FunctionFamily::from_json(text).expect("well formed");
    family.instantiate(&BTreeMap::new()).expect("no parameters")
}

/// Saves an input of each party and a constant, without a gate.
pub(crate) fn begin() -> Function {
    function(
        r#"{
        "tacit_function": 1,
        "name": "begin",
        "inputs": [
            { "name": "a", "type": "u8", "owner": "garbler" },
            { "name": "b", "type": "u8", "owner": "evaluator" }
        ],
        "outputs": [
            { "name": "total", "type": "u8", "to": "saved", "value": "a" },
            { "name": "step", "type": "u8", "to": "saved", "value": "b" },
            { "name": "limit", "type": "u8", "to": "saved", "value": "77" }
        ]
    }"#,
    )
}

pub(crate) const GO_ON: &str = r#"{
        "tacit_function": 1,
        "name": "go-on",
        "components": [{ "name": "add", "library": "adder", "parameters": { "bits": 8 } }],
        "inputs": [
            { "name": "more", "type": "u8", "owner": "evaluator" },
            { "name": "total", "type": "u8", "owner": "saved" },
            { "name": "step", "type": "u8", "owner": "saved" },
            { "name": "limit", "type": "u8", "owner": "saved" }
        ],
        "values": [{ "name": "half", "type": "u8" }, { "name": "sum", "type": "u8" }],
        "steps": ["half = add(total, step)", "sum = add(half, more)"],
        "outputs": [
            { "name": "shown", "type": "u8", "to": "evaluator", "value": "sum" },
            { "name": "told", "type": "u8", "to": "garbler", "value": "limit" },
            { "name": "total", "type": "u8", "to": "saved", "value": "sum" },
            { "name": "step", "type": "u8", "to": "saved", "value": "step" }
        ]
    }"#;

/// Adds what was saved and what the evaluator gives to the total. The step goes on as it is, and
/// the garbler gets the limit.
pub(crate) fn go_on() -> Function {
    function(GO_ON)
}

pub(crate) fn bits(number: u8) -> Vec<bool> {
    (0..8).map(|i| number >> i & 1 == 1).collect()
}
