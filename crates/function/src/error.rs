//! The errors of functions.

use core::fmt;

use tacit_circuit::{CircuitError, Type};
use tacit_components::library::LibraryError;
use thiserror::Error;

/// The location of an error in a function: a port, a component, or a step. If the error shows only
/// as the steps run, the location includes the number of the call and the loops' counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLocation(String);

impl ErrorLocation {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl FunctionError {
    pub(super) fn too_many(place: impl Into<String>, what: &'static str, limit: u64) -> Self {
        let place = ErrorLocation::new(place);
        Self::TooMany { place, what, limit }
    }

    pub(super) fn overflow(place: &ErrorLocation, expression: impl ToString) -> Self {
        Self::Overflow {
            place: place.clone(),
            expression: expression.to_string(),
        }
    }

    pub(super) fn unknown_name(place: &ErrorLocation, name: &str) -> Self {
        Self::UnknownName {
            place: place.clone(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ErrorLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A function that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// Something exceeds a limit of functions.
    #[error("{place}: {what} pass the limit of {limit}; split the function or make it smaller")]
    TooMany {
        /// The location.
        place: ErrorLocation,
        /// The thing that is counted.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A name with characters that are not allowed.
    #[error(
        "{place}: {name:?} cannot be a name here; use a letter and then up to 63 letters, digits \
         and underscores"
    )]
    Name {
        /// The location.
        place: ErrorLocation,
        /// The name, cut to 64 characters.
        name: String,
    },
    /// A name that is given twice.
    #[error("{place}: the name {name:?} is taken; give each port and value its own")]
    DuplicateName {
        /// The location of the second use.
        place: ErrorLocation,
        /// The name.
        name: String,
    },
    /// A name that is not declared.
    #[error("{place}: nothing is named {name:?}; declare it as an input or a value")]
    UnknownName {
        /// The location.
        place: ErrorLocation,
        /// The name.
        name: String,
    },
    /// A call of a component that the function does not declare.
    #[error("{place}: no component is named {name:?}; there are: {known}")]
    UnknownComponent {
        /// The call.
        place: ErrorLocation,
        /// The name.
        name: String,
        /// The declared components.
        known: String,
    },
    /// A component that the library cannot make.
    #[error("component {component}: {error}")]
    Library {
        /// The component's name in the function.
        component: String,
        /// The library's error.
        error: Box<LibraryError>,
    },
    /// An invalid type, or a type of a size that is not allowed.
    #[error("{place}: {error}")]
    Type {
        /// The location.
        place: ErrorLocation,
        /// The error.
        error: Box<CircuitError>,
    },
    /// A range whose width depends on a loop's counter.
    #[error(
        "{place}: the width of {range} changes with the loops' counters; a range has one width"
    )]
    RangeWidth {
        /// The location.
        place: ErrorLocation,
        /// The range.
        range: String,
    },
    /// An expression without a value below 2^63.
    #[error("{place}: {expression} has no value below 2^63")]
    Overflow {
        /// The location.
        place: ErrorLocation,
        /// The expression.
        expression: String,
    },
    /// More indices than dimensions.
    #[error("{place}: {reference} has one index too many for its type {ty}")]
    Dimensions {
        /// The location.
        place: ErrorLocation,
        /// The value as it is indexed.
        reference: String,
        /// The value's type.
        ty: String,
    },
    /// An index out of its dimension.
    #[error("{place}: {reference} picks {found} of a dimension that goes from 0 to before {size}")]
    Index {
        /// The call, the port and the counters.
        place: ErrorLocation,
        /// The value as it is indexed.
        reference: String,
        /// The index or range.
        found: String,
        /// The number of elements of the dimension.
        size: u64,
    },
    /// A call with too few or too many arguments.
    #[error("{place}: {component} takes {expected} arguments ({ports}) and is given {found}")]
    Arguments {
        /// The call.
        place: ErrorLocation,
        /// The component.
        component: String,
        /// Its input ports.
        ports: String,
        /// The number that it takes.
        expected: usize,
        /// The number that it was given.
        found: usize,
    },
    /// A call whose results have too few or too many places.
    #[error(
        "{place}: {component} gives {expected} results ({ports}) and {found} places are named; \
         write _ for one that is dropped"
    )]
    Results {
        /// The call.
        place: ErrorLocation,
        /// The component.
        component: String,
        /// Its output ports.
        ports: String,
        /// The number of its results.
        expected: usize,
        /// The number of places that were named.
        found: usize,
    },
    /// Something has another width than its destination.
    #[error("{place}: {port} is {expected} bits wide and {value} has {found}")]
    Width {
        /// The call or port.
        place: ErrorLocation,
        /// The component's port or the value, with its type.
        port: String,
        /// The value that is put there.
        value: String,
        /// The bits of the port.
        expected: u64,
        /// The bits of the value.
        found: u64,
    },
    /// A number where another kind of number is expected, so that its bits would be misread.
    #[error(
        "{place}: {value} is of type {found}, and {port} would read its bits as {expected}; take a \
         component for {found}, or, if the bits themselves are meant, pass them through a value of \
         type bits[{bits}]",
        bits = found.width()
    )]
    Meaning {
        /// The call, assignment or output.
        place: ErrorLocation,
        /// The value that is put there.
        value: String,
        /// The value's type.
        found: Box<Type>,
        /// The destination.
        port: String,
        /// The destination's type.
        expected: Box<Type>,
    },
    /// A port that requires a property of its value beyond the type, which nobody can ensure.
    #[error("{place}: {port} takes {promise}, and is given {value}; {why}")]
    Promise {
        /// The call.
        place: ErrorLocation,
        /// The component's port.
        port: String,
        /// The required property.
        promise: String,
        /// The value that is put there.
        value: String,
        /// The remedy.
        why: &'static str,
    },
    /// A constant that does not fit its destination, or has no known type.
    #[error("{place}: the constant {constant} does not fit here: {message}")]
    Constant {
        /// The call or port.
        place: ErrorLocation,
        /// The constant.
        constant: String,
        /// The problem.
        message: String,
    },
    /// An element that is assigned for the second time.
    #[error("{place}: {reference} has a value already; an element is assigned once")]
    TwoDrivers {
        /// The step and the counters.
        place: ErrorLocation,
        /// The element.
        reference: String,
    },
    /// An element that is read before it is assigned: a cycle, or steps in the wrong order.
    #[error(
        "{place}: {reference} is read before it is assigned, by {later}; a function has no \
         cycles, and its steps run in order"
    )]
    ReadAhead {
        /// The call, the port and the counters.
        place: ErrorLocation,
        /// The element.
        reference: String,
        /// The step that assigns it.
        later: ErrorLocation,
    },
    /// An element that is read and never assigned.
    #[error("{place}: {reference} is read and nothing assigns it; assign all of it first")]
    NeverAssigned {
        /// The call, the port and the counters.
        place: ErrorLocation,
        /// The element.
        reference: String,
    },
    /// A function without a result.
    #[error("the function {function} has no output; declare one, with its recipient")]
    NoOutput {
        /// The function.
        function: String,
    },
    /// A function with saved values, in a run that cannot keep shares of them.
    #[error(
        "the function {function} takes or leaves saved values, which a run over XOR shares does \
         not keep; run it under a protocol that does"
    )]
    SavedValues {
        /// The function.
        function: String,
    },
}
