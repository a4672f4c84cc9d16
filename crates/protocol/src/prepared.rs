//! `prepared`: link components that were garbled before the function and the inputs were known.
//!
//! CompGC (Groce, Ledger, Malozemoff, Yerukhimovich, "CompGC: efficient offline/online semi-honest
//! two-party computation"), sections 4 to 6, with these deviations: one label an input bit, link
//! and garbler input bit where wires share Δ, never a link for several wires at once, every
//! instance and every OT used at most once, and no wire numbers on the network.
//!
//! *Before*: the garbler garbles instances of components on fresh wires and sends start point and
//! tables; correlated OTs are made for random choices of the evaluator, with the Δ of the garbler.
//! Both sides keep their half.
//!
//! *Agreement*: both walk the function ([`Demand`]); the evaluator names the numbers that it has
//! leased for the run, and the garbler leases the same ([`Leases`]). From there on every call
//! knows its instance: the k-th call of a component takes the k-th number. No wire or instance
//! numbers cross the network after that.
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
//! The first two messages ([gathered](Run::gather)) leave when function, ranges and the garbler's
//! inputs are known, and need nothing of the evaluator's. They are masked with a PRG whose seed
//! comes after the corrections: the evaluator gets no label before it has fixed all its inputs,
//! which is what a simulator needs that makes the tables first (`docs/protocols/prepared.md`).
//!
//! *A value* is a wire: an output of an instance, a garbler's input or a constant around a label
//! that both derive from the label seed, or an evaluator's input, which is its OT's wire with the
//! correction d applied: q ⊕ dΔ. *A link* takes it to the input of the instance that reads it.
//!
//! *A saved value* is a value whose labels both keep: the garbler Δ and the labels of 0, the
//! evaluator the labels that it has ([`saved`](crate::saved)). A run that loads it begins with
//! links from these labels to fresh wires of its own, by hashes: the stock may have another Δ
//! since. A run that saves stops before its results ([`Garbled::save`], [`Evaluated::save`])
//! until both have kept what it saves.

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

use tacit_function::Function;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::session::RunTag;

/// A run on which both parties have agreed, down to the leases: [`garble`](Self::garble) is the
/// garbler's side of it, [`gather`](Self::gather) and [`evaluate`](Self::evaluate) are the
/// evaluator's.
#[derive(Clone, Copy)]
pub struct Run<'f, S> {
    /// The garbling scheme.
    pub scheme: S,
    /// The function.
    pub function: &'f Function,
    /// What the run is bound to.
    pub tag: RunTag,
}

/// Bytes of a frame of links, at least; each but the last of its kind is that long.
const FRAME_BYTES: usize = 64 << 10;

/// How much a party does before it gives way: AND gates, and bits that calls and assignments move.
/// Some milliseconds; a call is finished first.
const WORK: usize = 1 << 19;

/// Most bytes of links that a run holds at once.
const MAX_LINK_BYTES: u64 = 1 << 30;

/// Where a run's prepared instances come from, in the order of its calls.
pub trait Instances {
    /// One party's half of an instance.
    type Instance;

    /// The next instance of the function's component number `component`; each is given once.
    ///
    /// # Errors
    ///
    /// It can't be had: [`Error::Material`].
    fn next(&mut self, component: usize) -> Result<Self::Instance, Error>;
}

/// The garbler's half of prepared OTs.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct GarblerOts {
    /// The number of each.
    #[zeroize(skip)]
    pub numbers: Vec<u64>,
    /// q of each.
    pub q: Vec<Block>,
}

/// The evaluator's half of prepared OTs.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct EvaluatorOts {
    /// The number of each.
    #[zeroize(skip)]
    pub numbers: Vec<u64>,
    /// The random choice b of each.
    pub choices: Vec<bool>,
    /// t = q ⊕ bΔ of each.
    pub labels: Vec<Block>,
}

/// Masks links, or undoes the mask, by what `pad` draws next.
fn mask(pad: &mut Prg, links: &mut [u8]) {
    let mut drawn = vec![0; links.len()];
    pad.fill_bytes(&mut drawn);
    links
        .iter_mut()
        .zip(&drawn)
        .for_each(|(byte, pad)| *byte ^= pad);
}
