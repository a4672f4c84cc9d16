//! What is computed, in more detail than [`Circuit`](crate::Circuit) and
//! [`Function`](crate::Function): components, file formats, and circuits that are built
//! and made smaller.

pub use tacit_circuit::{
    CircuitError, Component, Digest, FunctionError, Given, Graph, GraphCall, GraphSource,
    NumberFormat, Numbers, Optimised, Pass, Port, Promise, Size, Statistics, UniqueJson, builder,
    formats, optimise, wipe_json,
};
