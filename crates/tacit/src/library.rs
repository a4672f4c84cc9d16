//! Functions of the library by name.
//!
//! A name belongs to a function that comes with Tacit ([`shipped`]), or to a component. A component
//! of [`tacit_components::library`] becomes a function when its ports have owners and its results
//! recipients. [`function`] uses the defaults: the first input belongs to the garbler and every
//! other to the evaluator (a single one to the evaluator), and both get every result.

use std::collections::BTreeMap;

use tacit_circuit::{Circuit, Port};
use tacit_function::{Function, Recipient, Role};
use tacit_language::most_like;

use crate::Error;

pub use tacit_components::library::{Entry, LibraryError, Parameter, find, list};
pub use tacit_language::shipped;

/// Returns the library's `name` with these parameters. A component gets the default owners and
/// recipients.
///
/// # Errors
///
/// There is no such function or component, or a parameter is missing, unknown or out of range.
pub fn function(name: &str, parameters: &BTreeMap<String, u64>) -> Result<Function, Error> {
    if let Some(shipped) = shipped::find(name) {
        let typed = shipped.function(parameters);
        let typed = typed.map_err(|error| Error::Input(error.to_string()))?;
        return Ok(typed.function().clone());
    }
    let circuit = find(name, parameters).map_err(|error| match (&error, like(name)) {
        (LibraryError::UnknownComponent { .. }, Some(meant)) => Error::Input(format!(
            "the library has no function {name:?}; did you mean {meant:?}?"
        )),
        _ => error.into(),
    })?;
    let owner = usual_owner(&circuit);
    let function = Function::of_circuit(name, circuit, owner, |_| Recipient::Both);
    Ok(function?.with_parameters(parameter_values(name, parameters)))
}

/// Returns the parameters of the component `name`, with the values in `given` or their defaults.
pub fn parameter_values(name: &str, given: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let entry = list().iter().find(|entry| entry.name == name);
    entry.map_or_else(Vec::new, |entry| entry.values(given))
}

/// Returns the function or component whose name is most similar to `name`, if one is similar.
pub fn like(name: &str) -> Option<String> {
    let components = list().iter().map(|entry| entry.name);
    most_like(name, components.chain(shipped::names()))
}

/// Returns the default owner of each input port of a library circuit.
pub fn usual_owner(circuit: &Circuit) -> impl Fn(&Port) -> Role + use<> {
    let garblers = match circuit.inputs() {
        [first, _, ..] => Some(first.name.clone()),
        _ => None,
    };
    move |port| match &garblers {
        Some(name) if port.name == *name => Role::Garbler,
        _ => Role::Evaluator,
    }
}
