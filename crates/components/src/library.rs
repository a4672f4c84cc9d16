//! The component library: generators of named circuits.
//!
//! A generator is a plain function over handles of a [`Builder`], so components nest. [`list`]
//! lists the components, and [`find`] makes the circuit of one. All circuits use the library's bit
//! order: byte strings in order, each byte least significant bit first, and integers least
//! significant bit first.

mod aes;
mod aes_rounds;
mod arithmetic;
mod catalogue;
mod cell_map;
mod chacha20;
mod edit_distance;
mod error;
mod hmac;
mod integers;
mod keccak;
mod min_cut;
mod sha2;
mod substring;
mod tables;

pub use error::LibraryError;

use std::collections::BTreeMap;

use tacit_circuit::builder::{Builder, CircuitForm};
use tacit_circuit::{Circuit, CircuitError};

use catalogue::ENTRIES;

/// A number that a component of the library takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's name on the command line.
    pub name: &'static str,
    /// The thing that it counts.
    pub description: &'static str,
    /// The least value.
    pub minimum: u64,
    /// The greatest value.
    pub maximum: u64,
    /// The default value. If there is none, a value must be given.
    pub default: Option<u64>,
}

/// A component of the library.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The component's name.
    pub name: &'static str,
    /// A one-line description of what it computes.
    pub description: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    generate: fn(CircuitForm, &[usize]) -> Result<Circuit, CircuitError>,
}

/// Returns the components of the library, in display order.
pub fn list() -> &'static [Entry] {
    ENTRIES
}

/// Returns the circuit `name` with these parameters.
///
/// # Errors
///
/// There is no such component, or a parameter is missing, unknown or out of range.
pub fn find(name: &str, parameters: &BTreeMap<String, u64>) -> Result<Circuit, LibraryError> {
    find_in_form(name, parameters, CircuitForm::Small)
}

/// Returns the same circuit, built from operations of this form.
///
/// # Errors
///
/// The same as for [`find`].
pub fn find_in_form(
    name: &str,
    parameters: &BTreeMap<String, u64>,
    form: CircuitForm,
) -> Result<Circuit, LibraryError> {
    let unknown = || LibraryError::UnknownComponent { name: shown(name) };
    let entry = ENTRIES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(unknown)?;
    entry.circuit_in_form(parameters, form)
}

impl Entry {
    /// Returns the parameters, with the values in `given` or their defaults.
    pub fn values(&self, given: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
        let values = self.parameters.iter().filter_map(|parameter| {
            let value = given.get(parameter.name).copied().or(parameter.default)?;
            Some((parameter.name.to_owned(), value))
        });
        values.collect()
    }

    /// Returns the circuit with these parameters.
    ///
    /// # Errors
    ///
    /// A parameter is missing, unknown or out of range.
    pub fn circuit(&self, parameters: &BTreeMap<String, u64>) -> Result<Circuit, LibraryError> {
        self.circuit_in_form(parameters, CircuitForm::Small)
    }

    fn circuit_in_form(
        &self,
        parameters: &BTreeMap<String, u64>,
        form: CircuitForm,
    ) -> Result<Circuit, LibraryError> {
        let is_known = |name: &String| self.parameters.iter().any(|known| known.name == name);
        if let Some(name) = parameters.keys().find(|&name| !is_known(name)) {
            let known: Vec<&str> = self.parameters.iter().map(|known| known.name).collect();
            return Err(LibraryError::UnknownParameter {
                component: self.name,
                parameter: shown(name),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            });
        }
        let values = self.parameters.iter().map(|parameter| {
            let given = parameters
                .get(parameter.name)
                .copied()
                .or(parameter.default);
            self.check(parameter, given).map(|value| value as usize)
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        (self.generate)(form, &values).map_err(LibraryError::Circuit)
    }

    fn check(&self, parameter: &Parameter, given: Option<u64>) -> Result<u64, LibraryError> {
        let &Parameter {
            name,
            description,
            minimum,
            maximum,
            ..
        } = parameter;
        let component = self.name;
        match given {
            None => Err(LibraryError::MissingParameter {
                component,
                parameter: name,
                description,
                minimum,
                maximum,
            }),
            Some(found) if !(minimum..=maximum).contains(&found) => {
                Err(LibraryError::ParameterRange {
                    component,
                    parameter: name,
                    found,
                    minimum,
                    maximum,
                })
            }
            Some(value) => Ok(value),
        }
    }
}

/// Shortens a name to 64 characters, for messages.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Builds one circuit.
fn build(form: CircuitForm, describe: impl FnOnce(&Builder)) -> Result<Circuit, CircuitError> {
    let builder = Builder::new().in_form(form);
    describe(&builder);
    builder.finish()
}
