//! The layer below [`Circuit`](crate::Circuit) and [`Function`](crate::Function): components, file
//! formats, and the building of circuits.

pub use tacit_circuit::{
    CircuitError, Component, Digest, HostValue, NumberFormat, Numbers, Port, Promise, Statistics,
    UniqueJson, builder, formats, wipe_json,
};
pub use tacit_function::FunctionError;
