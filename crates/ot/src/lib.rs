//! Oblivious transfer: base, extension, correlated; no I/O.
//!
//! | module | what it does | source |
//! |---|---|---|
//! | [`base`] | a few random OTs from public-key operations, maliciously secure | McQuoid, Rosulek, Roy 2021 |
//!
//! How the parts meet: the *evaluator* is the sender of the base OTs and the receiver of the
//! correlated ones; the *garbler* is the receiver of the base OTs, with the bits of Δ as its
//! choices, and the sender of the correlated ones. The two base messages do not depend on each
//! other and cross on the wire.
#![forbid(unsafe_code)]

pub mod base;
mod delta;
mod error;
mod tag;

pub use delta::Delta;
pub use error::{ApiMisuse, Error, Message, PeerMisbehaved};
pub use tag::SessionTag;
