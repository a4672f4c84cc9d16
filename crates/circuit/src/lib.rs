//! Boolean circuits, typed ports, functions and programs; no cryptography but digests.
#![forbid(unsafe_code)]

pub mod builder;
mod circuit;
mod compile;
mod digest;
mod error;
mod evaluate;
pub mod formats;
mod function;
mod function_error;
pub mod library;
mod netlist;
mod program;
mod statistics;
mod types;
mod value;

pub use circuit::{Circuit, Gate, Port, Wire};
pub use compile::BrokenInvariant;
pub use digest::{Digest, NotADigest};
pub use error::CircuitError;
pub use evaluate::{LANES, Lanes};
pub use function::{
    Bits, Call, Component, ComponentId, Function, FunctionBuilder, FunctionInput, FunctionOutput,
    Recipient, Role, gather,
};
pub use function_error::FunctionError;
pub use program::{AndGate, Batch, NEGATED, Output, Program, Segment, XorGate};
pub use statistics::Statistics;
pub use types::{Kind, Type};
pub use value::{Value, wipe_json};
