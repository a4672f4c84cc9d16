//! `batch`: many executions of one function, prepared and checked together, secure against a
//! malicious party. Each execution then takes four short messages.
//!
//! The protocol is that of Lindell and Riva, "Blazing fast 2PC in the offline/online setting with
//! security for malicious adversaries" (CCS 2015), over their "Cut-and-choose Yao-based secure
//! computation in the online/offline and batch settings" (CRYPTO 2014). `docs/protocols/batch.md`
//! lists the corrections and deviations, each with its reason.
//!
//! | module | step |
//! |---|---|
//! | [`plan`], [`parameters`] | the number of circuits, and the sum of all ways to cheat |
//! | `circuit` | a circuit from its seed; recovery |
//! | `consistency` | the check that all circuits of an execution get the same input of the garbler |
//! | `cut`, `transfer` | the checked circuits and the buckets; oblivious transfer |
//! | [`offline`], [`online`] | the parties |
//! | [`outline`] | the costs of an execution, without making one |
//! | `crate::malicious` | commitments by AES and by SHA-256, encoding of inputs, the garbler's result |
//!
//! **Assumptions.** SHA-256 is a random oracle that commits and may be programmed. BLAKE3 is one
//! that is observed and never programmed. AES is an ideal cipher for garbling and for commitments
//! to labels, and a pseudorandom permutation elsewhere. The malicious OT extension adds its own.
//!
//! **Preparation**: [`Batch::prepare_as_garbler`] and [`Batch::prepare_as_evaluator`] store N
//! executions through [`Circuits`]. **Runs**: [`OnlineGarbler::run`] and [`OnlineEvaluator::run`]
//! run each execution once. A failed check or a lost connection during a preparation is terminal:
//! the whole batch and its OTs are discarded, and another one is prepared from fresh randomness.
//! During a run it costs only that execution.

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
