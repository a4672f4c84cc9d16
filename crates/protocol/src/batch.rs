//! `batch`: many executions of one function, prepared and checked together, secure against a
//! malicious party; each then takes four short messages.
//!
//! Lindell and Riva, "Blazing fast 2PC in the offline/online setting with security for malicious
//! adversaries" (CCS 2015), over their "Cut-and-choose Yao-based secure computation in the
//! online/offline and batch settings" (CRYPTO 2014), with corrections and deviations that
//! `docs/protocols/batch.md` lists, each with its reason.
//!
//! | module | step |
//! |---|---|
//! | [`plan`], [`parameters`] | how many circuits, and every way to cheat added up |
//! | `circuit` | a circuit from its seed; recovery |
//! | `consistency` | one input of the garbler to all circuits of an execution |
//! | `cut`, `transfer` | which circuits are checked, buckets; oblivious transfer |
//! | [`offline`], [`online`] | the parties |
//! | [`outline`] | what an execution takes, without making one |
//! | `crate::malicious` | commitments by AES and by SHA-256, encoding of inputs, the garbler's result |
//!
//! **Assumptions.** SHA-256 as a random oracle that commits and may be programmed; BLAKE3 as one
//! that is watched and never programmed; AES as an ideal cipher for garbling and commitments to
//! labels, a pseudorandom permutation elsewhere; the malicious OT extension's.
//!
//! **Prepared** by [`Batch::prepare_as_garbler`] and [`Batch::prepare_as_evaluator`]: both keep N
//! executions through [`Circuits`]. **Run** by [`OnlineGarbler::run`] and [`OnlineEvaluator::run`],
//! each execution once. While
//! preparing, a check that fails or a connection that is lost is terminal: all of the batch and its
//! OTs are discarded, and another is prepared from fresh randomness. In a run it costs that
//! execution alone.

mod caught;
mod circuit;
mod consistency;
mod cut;
mod execution;
mod layout;
mod messages;
pub mod offline;
pub mod online;
pub mod outline;
pub mod parameters;
pub mod plan;
#[cfg(test)]
pub(crate) mod tests;
mod transfer;

pub use caught::Caught;
pub use execution::{Circuits, EvaluatorBytes, EvaluatorExecution, GarblerExecution};
pub use layout::Batch;
pub use messages::READY;
pub use online::{OnlineEvaluator, OnlineGarbler, ReadyExecution};
pub use plan::{Bound, Plan, held_bits};

use crate::error::cheated;
use crate::malicious::{encoding, frames, oracle, parallel, returned};
