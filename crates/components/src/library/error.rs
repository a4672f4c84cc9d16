//! Errors of requests to the library.

use tacit_circuit::CircuitError;
use thiserror::Error;

/// A component that the library cannot make.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// There is no component of that name.
    #[error("the library has no component {name:?}; there are: {}", names())]
    UnknownComponent {
        /// The name, cut to 64 characters.
        name: String,
    },
    /// A parameter that the component does not take.
    #[error("{component} takes no parameter {parameter:?}; it takes: {known}")]
    UnknownParameter {
        /// The component.
        component: &'static str,
        /// The parameter's name, cut to 64 characters.
        parameter: String,
        /// The parameters that the component takes.
        known: String,
    },
    /// A parameter without a value.
    #[error(
        "{component} needs the parameter {parameter} ({description}); give it a value from \
         {minimum} to {maximum}"
    )]
    MissingParameter {
        /// The component.
        component: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The thing that the parameter counts.
        description: &'static str,
        /// The least value.
        minimum: u64,
        /// The greatest value.
        maximum: u64,
    },
    /// A parameter's value out of its range.
    #[error(
        "{component}: the parameter {parameter} is {found}; it must be from {minimum} to {maximum}"
    )]
    ParameterRange {
        /// The component.
        component: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The given value.
        found: u64,
        /// The least value.
        minimum: u64,
        /// The greatest value.
        maximum: u64,
    },
    /// The generator made an invalid circuit. The parameters' ranges should rule this out.
    #[error(transparent)]
    Circuit(CircuitError),
}

fn names() -> String {
    let names: Vec<&str> = super::list().iter().map(|entry| entry.name).collect();
    names.join(", ")
}
