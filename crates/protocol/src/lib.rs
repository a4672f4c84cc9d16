//! The protocols of two parties and of three, as states and messages; no I/O.
//!
//! | module | what it holds |
//! |---|---|
//! | [`io`] | what a protocol written as a script sends and receives by |
//! | [`party`] | the interface between a protocol's states and whoever moves its messages |
//! | [`message`] | the kinds of messages and the reasons to abort |
//! | [`outline`] | what a run sends, without running it |
//! | [`session`] | how two parties agree on what they run, and the tags that bind a run to it |
//! | [`saved`] | values that stay garbled between runs |
//! | [`setup`] | base OTs, from which a session's correlated OTs grow |
//! | [`direct`] | garble, stream and evaluate now: semi-honest, one pass, constant memory |
//! | [`authenticated`] | any function, once, from nothing or from what was made ahead: malicious |
//! | [`batch`] | many executions checked together: malicious, four messages each |
//! | [`matching`] | which keys two tables have in common: semi-honest |
//! | [`outsourced`] | a thin client, a generator and a cloud that does the work: malicious, stateful |
//! | [`prepared`] | link what was garbled before: semi-honest, one round trip |
//!
//! Everything here takes bytes and gives bytes, so that it runs over TLS, in memory and in a
//! browser alike.
#![forbid(unsafe_code)]

pub mod authenticated;
pub mod batch;
mod bits;
pub mod direct;
mod error;
pub mod gmw;
pub mod io;
mod malicious;
pub mod matching;
pub mod message;
pub mod outline;
pub mod outsourced;
pub mod party;
pub mod prepared;
mod result;
pub mod saved;
pub mod session;
pub mod setup;

pub use error::{Check, Error, Incompatibility, Misbehaviour};
