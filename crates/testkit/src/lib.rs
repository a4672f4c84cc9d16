//! The conformance suites, a tampering peer and known answers (tests only).
#![forbid(unsafe_code)]

pub mod disassembly;
pub mod fuzz;
pub mod garbling;
pub mod link;
pub mod process;
pub mod protocols;
pub mod sessions;
pub mod tamper;
pub mod three;
pub mod vectors;

/// The guide to writing circuits. This tests its code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/circuits.md")]
struct Guide;
