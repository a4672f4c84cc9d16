//! What can be wrong with a function.

use thiserror::Error;

/// A function that cannot be built; the message names the port or call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// Two ports of one direction share a name.
    #[error("two ports are named {port:?}; give each its own name")]
    DuplicatePort {
        /// The name.
        port: String,
    },
    /// Inputs come before calls.
    #[error("input {port:?} is declared after the first call; declare all inputs first")]
    InputAfterCall {
        /// The input's name.
        port: String,
    },
    /// A component id of another builder.
    #[error("call {call} names a component that this function does not have")]
    UnknownComponent {
        /// The call's number, from 0.
        call: usize,
    },
    /// A call's arguments do not fit its component.
    #[error("call {call} gives {component} {found} bits where its input ports take {expected}")]
    ArgumentWidth {
        /// The call's number, from 0.
        call: usize,
        /// The component's name.
        component: String,
        /// Bits that it takes.
        expected: usize,
        /// Bits that it was given.
        found: usize,
    },
    /// An output's parts do not fit its type.
    #[error("output {port:?} is {expected} bits wide and is given {found}")]
    OutputWidth {
        /// The output's name.
        port: String,
        /// Bits of its type.
        expected: usize,
        /// Bits that it was given.
        found: usize,
    },
    /// A call or output reads what no input or earlier call wrote.
    #[error("{at} reads bits that no input and no earlier call has written")]
    NotYetWritten {
        /// The component or port that reads.
        at: String,
    },
    /// The function has more values than fit.
    #[error("at {at} the function's values pass 2^30 bits; split it into several functions")]
    TooManyBits {
        /// The component or port at which it overflows.
        at: String,
    },
    /// A circuit's port was given no owner.
    #[error("input {port:?} has no owner; say whose it is: the garbler's or the evaluator's")]
    NoOwner {
        /// The port.
        port: String,
    },
    /// A circuit's result was given no recipient.
    #[error("result {port:?} has no recipient; say who gets it: garbler, evaluator or both")]
    NoRecipient {
        /// The port.
        port: String,
    },
}
