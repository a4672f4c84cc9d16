//! A library of named circuits, and an optimiser of circuits. The only cryptography here is
//! digests.
#![forbid(unsafe_code)]

pub mod library;
mod optimise;

pub use optimise::{Optimised, Pass, PassName, Size, optimise};
