//! Two-party and three-party protocols as states and messages, without I/O.
//!
//! | module | contents |
//! |---|---|
//! | [`io`] | the interface through which a protocol script sends and receives |
//! | [`party`] | the names of a party's peers, its progress, and the check of a received message |
//! | [`message`] | the kinds of messages and the reasons to abort |
//! | [`outline`] | the messages that a run sends, computed without running it |
//! | [`session`] | the agreement of two parties on a run, and the tags that bind a run to it |
//! | [`saved`] | values that stay garbled between runs |
//! | [`setup`] | base OTs, from which a session's correlated OTs grow |
//! | [`direct`] | garbling, streaming and evaluation in one pass: semi-honest, constant memory |
//! | [`gmw`] | evaluation on XOR shares, one layer at a time: semi-honest |
//! | [`authenticated`] | any function, once, with or without prepared material: malicious |
//! | [`batch`] | many executions checked together: malicious, four messages each |
//! | [`matching`] | the keys that two tables have in common: semi-honest |
//! | [`outsourced`] | a thin client, a generator and a cloud that does the work: malicious, stateful |
//! | [`prepared`] | linking of components that were garbled before: semi-honest, one round trip |
//!
//! Every protocol takes bytes and returns bytes, so that it runs over TLS, in memory and in a
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
mod shares;

pub use error::{Check, Error, Incompatibility, Misbehaviour};
