//! What can be wrong with a function.

use core::fmt;

use tacit_circuit::{CircuitError, Type};
use tacit_components::library::LibraryError;
use thiserror::Error;

/// Where in a function something is wrong: a port, a component, or a step, with the number of the
/// call and the loops' counters where it shows only as the steps run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLocation(String);

impl ErrorLocation {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
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
    /// More of something than a function may have.
    #[error("{place}: {what} pass the limit of {limit}; split the function or make it smaller")]
    TooMany {
        /// Where it shows.
        place: ErrorLocation,
        /// What is counted.
        what: &'static str,
        /// The most that there may be.
        limit: u64,
    },
    /// A name that has other characters than allowed.
    #[error(
        "{place}: {name:?} cannot be a name here; use a letter and then up to 63 letters, digits \
         and underscores"
    )]
    Name {
        /// Where it stands.
        place: ErrorLocation,
        /// The name, cut to 64 characters.
        name: String,
    },
    /// A name that is given twice.
    #[error("{place}: the name {name:?} is taken; give each port and value its own")]
    DuplicateName {
        /// Where it is given for the second time.
        place: ErrorLocation,
        /// The name.
        name: String,
    },
    /// A name that nothing has.
    #[error("{place}: nothing is named {name:?}; declare it as an input or a value")]
    UnknownName {
        /// Where it is used.
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
        /// The components declared.
        known: String,
    },
    /// A component that the library cannot make.
    #[error("component {component}: {error}")]
    Library {
        /// The component's name in the function.
        component: String,
        /// What the library says.
        error: Box<LibraryError>,
    },
    /// A type that is none, or has a size that is not allowed.
    #[error("{place}: {error}")]
    Type {
        /// Where it stands.
        place: ErrorLocation,
        /// What is wrong with it.
        error: Box<CircuitError>,
    },
    /// A range whose width depends on a loop's counter.
    #[error(
        "{place}: the width of {range} changes with the loops' counters; a range has one width"
    )]
    RangeWidth {
        /// Where it stands.
        place: ErrorLocation,
        /// The range.
        range: String,
    },
    /// An expression without a value below 2^63.
    #[error("{place}: {expression} has no value below 2^63")]
    Overflow {
        /// Where it stands.
        place: ErrorLocation,
        /// The expression.
        expression: String,
    },
    /// More indices than dimensions.
    #[error("{place}: {reference} has one index too many for its type {ty}")]
    Dimensions {
        /// Where it stands.
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
        /// What is picked: an index or a range.
        found: String,
        /// Elements of the dimension.
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
        /// How many it takes.
        expected: usize,
        /// How many it was given.
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
        /// How many it gives.
        expected: usize,
        /// How many places were named.
        found: usize,
    },
    /// Something is put where another width belongs.
    #[error("{place}: {port} is {expected} bits wide and {value} has {found}")]
    Width {
        /// The call or port.
        place: ErrorLocation,
        /// The component's port or the value, with its type.
        port: String,
        /// What is put there.
        value: String,
        /// Bits of the port.
        expected: u64,
        /// Bits that it is given.
        found: u64,
    },
    /// A number where another kind of number is expected: its bits would be read as another one.
    #[error(
        "{place}: {value} is of type {found}, and {port} would read its bits as {expected}; take a \
         component for {found}, or, if the bits themselves are meant, pass them through a value of \
         type bits[{bits}]",
        bits = found.width()
    )]
    Meaning {
        /// The call, assignment or output.
        place: ErrorLocation,
        /// What is put there.
        value: String,
        /// Its type.
        found: Box<Type>,
        /// Where it is put.
        port: String,
        /// The type there.
        expected: Box<Type>,
    },
    /// A port that needs something of its value beyond the type, which nobody can see to.
    #[error("{place}: {port} takes {promise}, and is given {value}; {why}")]
    Promise {
        /// The call.
        place: ErrorLocation,
        /// The component's port.
        port: String,
        /// What it needs.
        promise: String,
        /// What is put there.
        value: String,
        /// What to do.
        why: &'static str,
    },
    /// A constant that does not fit where it stands, or whose type nothing says.
    #[error("{place}: the constant {constant} does not fit here: {message}")]
    Constant {
        /// The call or port.
        place: ErrorLocation,
        /// The constant.
        constant: String,
        /// What is wrong.
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
    /// A function without result.
    #[error("the function {function} has no output; declare one, with its recipient")]
    NoOutput {
        /// The function.
        function: String,
    },
    /// A function with saved values where shares of none are kept.
    #[error(
        "the function {function} takes or leaves saved values, which a run over XOR shares does \
         not keep; run it under a protocol that does"
    )]
    SavedValues {
        /// The function.
        function: String,
    },
}
