//! Boolean circuits, typed ports, functions and programs; no cryptography but digests.
#![forbid(unsafe_code)]

pub mod builder;
mod circuit;
mod compile;
mod component;
mod digest;
mod error;
mod evaluate;
pub mod formats;
mod function;
pub mod library;
pub mod netlist;
mod optimise;
mod ordering;
mod program;
mod promise;
mod statistics;
mod types;
mod value;
mod xor_levels;

pub use circuit::{Circuit, Gate, Port, Wire};
pub use component::Component;
pub use digest::{Digest, NotADigest};
pub use error::CircuitError;
pub use evaluate::{LANES, Lanes, decode_values, encode_values};
pub use function::{
    Call, ErrorLocation, Function, FunctionBuilder, FunctionError, FunctionInput, FunctionOutput,
    Graph, GraphCall, GraphSource, Outputs, Recipient, Role, Step, Values,
};
pub use optimise::{Optimised, Pass, PassName, Size, optimise};
pub use ordering::{Bridge, Level, OrderingRule, Translation, WireOrdering};
pub use program::{AndGate, Batch, NEGATED, Output, Program, Segment, XorGate};
pub use promise::Promise;
pub use statistics::Statistics;
pub use types::{Kind, Type};
pub use value::{Given, NumberFormat, Numbers, UniqueJson, Value, wipe_json};
pub use xor_levels::{XorLevel, XorLevels};
