//! Instances of components that are garbled and checked before the function is known, and the run
//! that links them.
//!
//! ```text
//! garbler                                                     evaluator
//!   ── masks of links ───────────────────────────────────────────▶  needs no input
//!   ── links between instances ──────────────────────────────────▶  nor do these
//!   ◀── masks of links ───────────────────────────────────────────  the garbler's are checked
//!   ◀── the evaluator's masked inputs ────────────────────────────
//!   ── the garbler's masked inputs ──────────────────────────────▶  the evaluator's are checked
//!   ── links from inputs and constants ──────────────────────────▶
//!   ── masks of the evaluator's results ─────────────────────────▶  if it has any
//!   ◀── the garbler's results under its masks ────────────────────  if any; rows are checked
//! ```
//!
//! *A value* is an output of an instance, an input or a constant. Inputs and constants have a
//! public active label, their masked value. A constant has the mask 0, and an input that of the
//! first wire that carries it. *A link* leads from a value to an input wire of an instance: both
//! parties know d = λ ⊕ λ', and the garbler sends its part of ℓ = L ⊕ L' ⊕ dΔ_A, to which the
//! evaluator adds its MAC of d. The evaluator continues with Λ ⊕ d and L ⊕ ℓ.
//! `docs/protocols/instances.md` explains why this is correct.
//!
//! **Each instance is used once**: two answers for the same wire sum to Δ_A. All instances of a run
//! belong to one epoch.

mod calls;
mod evaluator;
mod garbler;
mod kept;
mod linking;
mod making;
mod messages;
mod opening;
mod order;
mod wiring;

use tacit_function::{Function, Role};
use zeroize::Zeroizing;

pub use kept::instance_bytes;
pub use making::InstanceOrder;

#[cfg(test)]
pub(crate) use garbler::cheats;

use self::wiring::Wiring;
use super::parameters::SecurityBits;
use super::terms::Terms;
use crate::Error;

/// The number of links in a message.
const FRAME_LINKS: usize = 4096;

/// A run from instances on which both parties have agreed. [`garble`](Self::garble) runs the
/// garbler's side, and [`evaluate`](Self::evaluate) the evaluator's.
#[derive(Clone, Copy)]
pub struct LinkedRun<'f> {
    /// The terms of the run.
    pub terms: Terms<'f>,
    /// The id of the epoch in which the instances were made.
    pub id: [u8; 32],
    /// The s with which the lot of the instances was ordered.
    pub ordered_at: SecurityBits,
}

/// Checks that `function` can be run from instances.
///
/// # Errors
///
/// The function has saved values, no calls, too many gates or links, or a result that is an input
/// which no call reads.
pub fn check_linked(function: &Function) -> Result<(), Error> {
    Wiring::of(function).map(drop)
}

/// Returns those of a party's inputs that calls read.
fn check_inputs(
    function: &Function,
    wiring: &Wiring,
    role: Role,
    inputs: &[bool],
) -> Result<Zeroizing<Vec<bool>>, Error> {
    if inputs.len() == function.input_bits(role) {
        return Ok(Zeroizing::new(wiring.read(role, inputs).collect()));
    }
    Err(Error::ApiMisuse(
        "as many input bits as the party's ports have",
    ))
}
