//! Circuits that are worth a name, and an optimiser of circuits; no cryptography but digests.
#![forbid(unsafe_code)]

pub mod library;
mod optimise;

pub use optimise::{Optimised, Pass, PassName, Size, optimise};
