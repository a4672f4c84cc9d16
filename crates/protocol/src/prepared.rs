//! `prepared`: linking of components that were garbled before the function and the inputs were
//! known.
//!
//! This is CompGC (Groce, Ledger, Malozemoff, Yerukhimovich, "CompGC: efficient offline/online
//! semi-honest two-party computation"), sections 4 to 6, with these deviations: one label for each
//! input bit, link and garbler input bit where wires share Δ; never one link for several wires;
//! every instance and every OT is used at most once; and no wire numbers are sent.
//!
//! *Before a run*, the garbler garbles instances of components on fresh wires and sends start
//! points and tables. The parties make correlated OTs for random choices of the evaluator, with the
//! garbler's Δ. Both parties keep their half.
//!
//! *Agreement*: both parties walk through the function ([`Demand`]). The evaluator names the
//! numbers that it has leased for the run, and the garbler leases the same ([`Leases`]). Every call
//! then knows its instance: the k-th call of a component takes the k-th number. No wire or instance
//! numbers are sent after that.
//!
//! ```text
//! garbler                                             evaluator
//!   ── start point, label seed ──────────────────────────▶
//!   ── masked links that no input of the evaluator decides ▶     (of saved values first)
//!   - - - - - - - - - online: one round trip - - - - - - - -
//!   ◀── corrections: its input bits ⊕ its OTs' choices ───
//!   ── the mask ─────────────────────────────────────────▶
//!   ── links from the evaluator's inputs ────────────────▶
//!   ◀── what is saved is durable ── at both ─────────────▶     (if anything is saved)
//!   ── decoding information of its outputs ──────────────▶     (if it gets any)
//!   ◀── select bits and hash of the garbler's outputs ────     (if the garbler gets any)
//! ```
//!
//! The first two messages ([gathered](Run::gather)) need nothing from the evaluator, and leave as
//! soon as the function, the ranges and the garbler's inputs are known. They are masked with a PRG
//! whose seed comes after the corrections. So the evaluator gets no label before it has fixed all
//! its inputs, as a simulator that makes the tables first requires (`docs/protocols/prepared.md`).
//!
//! *A value* is a wire: an output of an instance; a garbler's input or a constant, around a label
//! that both parties derive from the label seed; or an evaluator's input, which is its OT's wire
//! with the correction d applied: q ⊕ dΔ. *A link* leads from a value to the input of the instance
//! that reads it.
//!
//! *A saved value* is a value whose labels both parties keep: the garbler Δ and the labels of 0,
//! the evaluator the labels that it found ([`saved`](crate::saved)). A run that loads it starts
//! with hashed links from these labels to fresh wires of its own, because the stock may have
//! another Δ by then. A run that saves values stops before its results ([`Garbled::save`],
//! [`Evaluated::save`]) until both parties have kept these values.

mod demand;
mod evaluator;
mod garbler;
mod gathering;
mod instance;
mod leases;
mod lot;
mod messages;
mod outline;
mod saving;
#[cfg(test)]
mod tests;

pub(crate) use demand::comes_late;

pub use demand::Demand;
pub use evaluator::{Evaluated, EvaluatorOpening};
pub use garbler::{Garbled, GarblerOpening};
pub use gathering::EarlyLinks;
pub use instance::{GarblerInstance, InstanceSeed, InstanceTables};
pub use leases::{Leases, LeasesAnswer, MAX_RUNS_AHEAD, MAX_RUNS_ON_THE_SPOT, MAX_SPANS};
pub use lot::{LOT_FRAME_BYTES, receive_lot, send_lot};
pub use outline::outline;
pub use saving::{Past, check};

pub use crate::saved::PairChain;

use std::collections::VecDeque;

use tacit_function::Function;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::session::RunTag;

/// A run on which both parties have agreed, including the leases. [`garble`](Self::garble) runs the
/// garbler's side; [`gather`](Self::gather) and [`evaluate`](Self::evaluate) run the evaluator's.
#[derive(Clone, Copy)]
pub struct Run<'f, S> {
    /// The garbling scheme.
    pub scheme: S,
    /// The function.
    pub function: &'f Function,
    /// The tag that the run is bound to.
    pub tag: RunTag,
}

/// The smallest size of a frame of links in bytes. Only the last frame of a kind is shorter.
const FRAME_BYTES: usize = 64 << 10;

/// The amount of work that a party does before it yields, in AND gates and in bits that calls and
/// assignments move. It takes some milliseconds. A party finishes a call before it yields.
const WORK: usize = 1 << 19;

/// The largest number of bytes of links that a run holds at once.
const MAX_LINK_BYTES: u64 = 1 << 30;

/// The source of a run's prepared instances, in the order of its calls.
pub trait Instances {
    /// One party's half of an instance.
    type Instance;

    /// Returns the next instance of the function's component number `component`. Each instance is
    /// returned once.
    ///
    /// # Errors
    ///
    /// [`Error::Material`]: no instance is available.
    fn next(&mut self, component: usize) -> Result<Self::Instance, Error>;
}

/// Instances in memory: those of each component, first in, first out.
#[derive(Clone, Default)]
pub struct QueuedInstances<T>(pub Vec<VecDeque<T>>);

impl<T> Instances for QueuedInstances<T> {
    type Instance = T;

    fn next(&mut self, component: usize) -> Result<T, Error> {
        let queue = self.0.get_mut(component);
        queue
            .and_then(VecDeque::pop_front)
            .ok_or_else(|| Error::Material(format!("no instance is left of component {component}")))
    }
}

/// The garbler's half of prepared OTs.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct GarblerOts {
    /// The number of each OT.
    #[zeroize(skip)]
    pub numbers: Vec<u64>,
    /// q of each OT.
    pub q: Vec<Block>,
}

/// The evaluator's half of prepared OTs.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct EvaluatorOts {
    /// The number of each OT.
    #[zeroize(skip)]
    pub numbers: Vec<u64>,
    /// The random choice b of each OT.
    pub choices: Vec<bool>,
    /// t = q ⊕ bΔ of each OT.
    pub labels: Vec<Block>,
}

/// Masks links, or removes their mask, with the next bytes of `pad`.
fn mask(pad: &mut Prg, links: &mut [u8]) {
    let mut drawn = vec![0; links.len()];
    pad.fill_bytes(&mut drawn);
    links
        .iter_mut()
        .zip(&drawn)
        .for_each(|(byte, pad)| *byte ^= pad);
}
