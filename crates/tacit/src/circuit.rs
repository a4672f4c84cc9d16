//! The layer below [`Circuit`](crate::Circuit) and [`Function`](crate::Function): components, file
//! formats, and the building and optimising of circuits.

pub use tacit_circuit::{
    CircuitError, Component, Digest, HostValue, NumberFormat, Numbers, Port, Promise, Statistics,
    UniqueJson, builder, formats, wipe_json,
};
pub use tacit_components::{Optimised, Pass, Size, optimise};
pub use tacit_function::FunctionError;
