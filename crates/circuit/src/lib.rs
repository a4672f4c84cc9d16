//! Boolean circuits, typed ports and values, and the programs that circuits are compiled to.
//!
//! This crate has no cryptography but digests. `tacit-components` has named circuits.
//! `tacit-function` describes the computations that two parties agree on.
#![forbid(unsafe_code)]

pub mod builder;
mod circuit;
mod compile;
mod component;
mod digest;
mod error;
mod evaluate;
pub mod formats;
mod layers;
pub mod netlist;
mod ordering;
mod owners;
mod program;
mod promise;
mod role;
mod row_program;
mod span;
mod statistics;
mod types;
mod value;
mod wiping;
mod xor_levels;

pub use circuit::{Circuit, Gate, Port, Wire};
pub use component::Component;
pub use digest::{Digest, NotADigest};
pub use error::CircuitError;
pub use evaluate::{LANES, Lanes, decode_values, encode_values};
pub use layers::{CROSS_GATES, Cross, CrossGate, LayerOutline, Layers};
pub use ordering::{Bridge, Level, OrderingRule, Translation, WireOrdering};
pub use owners::Owners;
pub use program::{AndGate, Batch, NEGATED, Output, Program, Segment, XorGate};
pub use promise::Promise;
pub use role::Role;
pub use row_program::{NO_SLOT, Piece, RowAction, RowGate, RowOperation, RowProgram, RowResult};
pub use span::Span;
pub use statistics::Statistics;
pub use types::{Kind, Type};
pub use value::{HostValue, NumberFormat, Numbers, UniqueJson, Value, wipe_json};
pub use wiping::{WipedTexts, reserve_wiping};
pub use xor_levels::{XorLevel, XorLevels};
