//! `direct`: garbling, streaming and evaluation in one pass.
//!
//! Yao's protocol with streamed tables, secure against semi-honest parties. Both parties hold one
//! wire for each bit of the function's values, from its assignment to its last use, and the slots
//! of one program. Tables leave the garbler as soon as a frame is full. So memory does not grow
//! with the number of calls, and garbling, sending and evaluating overlap.
//!
//! ```text
//! garbler                                             evaluator
//!   ── garbling start: start point, label seed ──────────▶
//!   ◀─────────── OT extension for its input bits ─────────     (if it has any)
//!   ── tables, in frames of about 64 KiB ────────────────▶
//!   ── decoding information of its outputs ──────────────▶     (if it gets any)
//!   ◀── select bits and hash of the garbler's outputs ────     (if the garbler gets any)
//! ```
//!
//! *The garbler's inputs* cost no bytes: both parties derive the evaluator's label of each from the
//! label seed, and the garbler builds the wire around it. *Constants* of the function work in the
//! same way, each bit where a call or result reads it, with the labels that follow. *An evaluator's
//! input bit* costs one correlated OT, whose offset is the garbler's Δ. *The garbler's outputs*
//! come back as their select bits and a hash of their labels. The evaluator cannot compute that
//! hash for other values.
//!
//! Limits: a malicious garbler can garble another function or make the run fail depending on the
//! evaluator's input, and the evaluator may keep its result to itself (no fairness).

mod evaluator;
mod frames;
mod garbler;
mod outline;
mod spans;

pub(crate) use frames::check_without_values;
pub use frames::{FRAME_BYTES, check};
pub use outline::outline;
pub(crate) use spans::work_on;

use tacit_function::{Function, Role};
use tacit_garble::Scheme;

use crate::Error;
use crate::session::RunTag;

/// A run on which both parties have agreed. [`garble`](Self::garble) runs the garbler's side, and
/// [`evaluate`](Self::evaluate) the evaluator's.
#[derive(Clone, Copy)]
pub struct Run<'f, S> {
    /// The garbling scheme.
    pub scheme: S,
    /// The function, without saved values.
    pub function: &'f Function,
    /// The tag that the run is bound to.
    pub tag: RunTag,
    /// The number of threads of this party, at least one. Results and messages do not depend on it.
    /// A run on several threads needs a wire whose waits never return pending, such as a blocking
    /// channel.
    pub threads: usize,
}

impl<S: Scheme> Run<'_, S> {
    /// Whether other threads garble or evaluate: a small function is over before they have started,
    /// and a single one takes as long as this thread.
    fn is_on_threads(&self) -> bool {
        cfg!(not(target_family = "wasm"))
            && self.threads > 2
            && self.function.and_gates() >= spans::LEAST_ANDS
    }

    /// Checks that the function can be run with these inputs of the party in `role`.
    fn check(&self, role: Role, inputs: &[bool]) -> Result<(), Error> {
        check(self.function)?;
        if self.threads == 0 {
            return Err(Error::ApiMisuse("at least one thread"));
        }
        if inputs.len() == self.function.input_bits(role) {
            return Ok(());
        }
        Err(Error::ApiMisuse(
            "one input bit for each bit of the party's ports",
        ))
    }
}

/// Returns the largest number of output bits of a component of `function`.
fn widest_output(function: &Function) -> usize {
    let components = function.components().iter();
    let widths = components.map(|component| component.circuit().output_bits());
    widths.max().unwrap_or(0)
}
