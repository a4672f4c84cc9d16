//! The component library: generators of circuits that are worth a name.
//!
//! A generator is a plain function over handles of a [`Builder`], so that components nest. The
//! registry gives finished circuits by name: [`list`] says which there are, [`find`] makes one.
//! All circuits keep the library's bit order: byte strings in order, each byte least significant
//! bit first, integers least significant bit first.

mod aes;
mod error;
mod integers;
mod sha256;

use std::collections::BTreeMap;

pub use aes::{aes_128, aes_128_copies};
pub use error::LibraryError;
pub use integers::{adder, comparator, millionaires};
pub use sha256::{sha_256, sha_256_compress};

use crate::builder::Builder;
use crate::{Circuit, CircuitError};

/// A number that a component of the library takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// What it counts.
    pub description: &'static str,
    /// Least value.
    pub minimum: u64,
    /// Greatest value.
    pub maximum: u64,
    /// The value where none is given; without it, one must be.
    pub default: Option<u64>,
}

/// A component of the library.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it computes, in a line.
    pub description: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    generate: fn(&[u64]) -> Result<Circuit, CircuitError>,
}

const BITS: Parameter = Parameter {
    name: "bits",
    description: "width of the integers in bits",
    minimum: 1,
    maximum: 4096,
    default: Some(32),
};

const ENTRIES: &[Entry] = &[
    Entry {
        name: "aes-128",
        description: "AES-128 encryption of one block, key expansion inside",
        parameters: &[],
        generate: |_| aes::circuit(),
    },
    Entry {
        name: "aes-128-copies",
        description: "many independent AES-128 encryptions, for benchmarks",
        parameters: &[Parameter {
            name: "copies",
            description: "number of encryptions, each with its own key",
            minimum: 1,
            maximum: 1024,
            default: None,
        }],
        generate: |values| aes::circuit_of_copies(values[0] as usize),
    },
    Entry {
        name: "sha-256",
        description: "SHA-256 of a message of fixed length, padding inside",
        parameters: &[Parameter {
            name: "bytes",
            description: "length of the message in bytes",
            minimum: 1,
            maximum: 16384,
            default: None,
        }],
        generate: |values| sha256::circuit(values[0] as usize),
    },
    Entry {
        name: "sha-256-compress",
        description: "the bare compression function of SHA-256",
        parameters: &[],
        generate: |_| sha256::circuit_of_compression(),
    },
    Entry {
        name: "millionaires",
        description: "whether a is richer than b, and nothing else",
        parameters: &[BITS],
        generate: |values| integers::circuit_of_millionaires(values[0] as usize),
    },
    Entry {
        name: "adder",
        description: "the sum of two unsigned integers, without its last carry",
        parameters: &[BITS],
        generate: |values| integers::circuit_of_adder(values[0] as usize),
    },
    Entry {
        name: "comparator",
        description: "whether a is less than, equal to, or greater than b",
        parameters: &[BITS],
        generate: |values| integers::circuit_of_comparator(values[0] as usize),
    },
];

/// The components of the library, in the order in which they are shown.
#[must_use]
pub fn list() -> &'static [Entry] {
    ENTRIES
}

/// The circuit `name` with these parameters.
///
/// # Errors
///
/// There is no such component, a parameter is missing, unknown or out of range.
pub fn find(name: &str, parameters: &BTreeMap<String, u64>) -> Result<Circuit, LibraryError> {
    let unknown = || LibraryError::UnknownComponent { name: shown(name) };
    let entry = ENTRIES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(unknown)?;
    entry.circuit(parameters)
}

impl Entry {
    /// The circuit with these parameters.
    ///
    /// # Errors
    ///
    /// A parameter is missing, unknown or out of range.
    pub fn circuit(&self, parameters: &BTreeMap<String, u64>) -> Result<Circuit, LibraryError> {
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
            self.check(parameter, given)
        });
        let values = values.collect::<Result<Vec<u64>, _>>()?;
        (self.generate)(&values).map_err(LibraryError::Circuit)
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

/// A name for a message, cut to 64 characters.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Builds one circuit.
fn build(describe: impl FnOnce(&Builder)) -> Result<Circuit, CircuitError> {
    let builder = Builder::new();
    describe(&builder);
    builder.finish()
}
