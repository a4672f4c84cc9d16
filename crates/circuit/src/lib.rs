//! Boolean circuits, typed ports, functions and programs; no cryptography but digests.
#![forbid(unsafe_code)]

pub mod builder;
mod circuit;
mod digest;
mod error;
mod evaluate;
pub mod library;
mod netlist;
mod program;
mod statistics;
mod types;
mod value;

pub use circuit::{Circuit, Gate, Port, Wire};
pub use digest::{Digest, NotADigest};
pub use error::CircuitError;
pub use evaluate::{LANES, Lanes};
pub use program::{AndGate, Batch, NEGATED, Output, Program, Segment, XorGate};
pub use statistics::Statistics;
pub use types::{Kind, Type};
pub use value::{Value, wipe_json};
