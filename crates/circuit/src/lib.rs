//! Boolean circuits, typed ports, functions and programs; no cryptography but digests.
#![forbid(unsafe_code)]

mod digest;
mod program;

pub use digest::{Digest, NotADigest};
pub use program::{AndGate, Batch, NEGATED, Output, Program, Segment, XorGate};
