//! Functions of the library by name.
//!
//! A component of [`tacit_circuit::library`] becomes a function when its ports have owners and its
//! results recipients. [`function`] gives the usual ones: the first input belongs to the garbler
//! and every other to the evaluator (a single one to the evaluator), and both get every result.

use std::collections::BTreeMap;

use tacit_circuit::{Function, Port, Recipient, Role, library};

use crate::Error;

pub use tacit_circuit::library::{Entry, Parameter, list};

/// The library's `name` with these parameters, the usual owners and recipients.
///
/// # Errors
///
/// There is no such component, or a parameter is missing, unknown or out of range.
pub fn function(name: &str, parameters: &BTreeMap<String, u64>) -> Result<Function, Error> {
    let circuit = library::find(name, parameters)?;
    let only = circuit.inputs().len() == 1;
    let first = circuit.inputs().first().map(|port| port.name.clone());
    let owner = move |port: &Port| {
        let garblers = !only && Some(&port.name) == first.as_ref();
        Ok(if garblers {
            Role::Garbler
        } else {
            Role::Evaluator
        })
    };
    Ok(Function::of_circuit(name, circuit, owner, |_| {
        Ok(Recipient::Both)
    })?)
}
