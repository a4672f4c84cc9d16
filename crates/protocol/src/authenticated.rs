//! `authenticated`: any function, once, against a malicious peer: from nothing, or from triples or
//! instances of components that were made ahead.
//!
//! Sources: Wang, Ranellucci and Katz, "Authenticated garbling and efficient maliciously secure
//! two-party computation" (CCS 2017); Katz, Ranellucci, Rosulek and Wang, "Optimizing
//! authenticated garbling for faster secure two-party computation" (CRYPTO 2018). The theorem,
//! what is promised, every deviation and the messages byte by byte are on the protocol's page,
//! `docs/protocols/authenticated.md`.
//!
//! ```text
//! garbler                                                     evaluator
//!   ⇄ a lot of triples, and the first time masks of inputs        (`lot`; not from a stock)
//!   ◀── the evaluator's masked inputs ────────────────────────────  the first time
//!   ◀── gate openings ────────────────────────────────────────────
//!   ── seed of labels, the garbler's masked inputs ──────────────▶  the first time
//!   ── gate openings ────────────────────────────────────────────▶
//!   ── tables, in frames of some 64 KiB ─────────────────────────▶
//!   ◀── masked values of the lot's gates ─────────────────────────
//!       … and again, as long as there are gates …
//!   ◀── fold of the labels of all gates ──────────────────────────
//!   ── proof of all gates, masks of the evaluator's results ─────▶
//!   ⇄ what the run saves is durable at both                         if it saves anything, and
//!   ── masks of the evaluator's results ─────────────────────────▶  not before, if it has any
//!   ◀── masks of the garbler's results ───────────────────────────  if it has any
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `parameters` | s, and how many leaky ANDs make a triple |
//! | `epoch` | both Δ, the OTs under them, numbers that nothing has twice |
//! | `share`, `columns`, `buffers` | shares of bits with MACs, passes over many, their memory |
//! | `leaky`, `bucket`, `lot` | leaky ANDs, triples of them, the messages that make a lot |
//! | `stocked` | triples from a stock: how they are kept, made ahead, and taken by a run |
//! | `linked` | instances of components: how they are made, kept, and linked by a run |
//! | `chain`, `saving` | both Δ of runs that keep values, and the shares that they keep |
//! | `walk` | a function batch by batch, whatever its wires carry |
//! | `gates` | masks of wires and the openings of gates |
//! | `garbling`, `evaluating` | the formulas of a gate at both parties |
//! | `rows` | the same of rows in tables that prove a gate |
//! | `run`, `terms`, `garbler`, `evaluator` | how a run begins and ends, and each party's side of it |
//! | `messages`, `outline` | each message once; what a run sends, without running it |
//! | `oracle`, `fold`, `caught` | every hash, sums of MACs, and what a cheating peer is caught at |
//!
//! **Memory** is bounded by a lot, of at most 1.2 million leaky ANDs, whatever the function's
//! size: about 180 MB a party at most. **Only one way is full at a time**, so that no link stands
//! still with both parties writing.

mod bucket;
mod buffers;
mod caught;
mod chain;
mod columns;
mod epoch;
mod evaluating;
mod evaluator;
mod fold;
mod garbler;
mod garbling;
mod gates;
mod leaky;
mod linked;
mod lot;
mod messages;
mod oracle;
mod outline;
mod parameters;
mod rows;
mod run;
mod saving;
mod share;
mod stocked;
mod terms;
mod walk;

pub use caught::Caught;
pub use chain::SharedChain;
pub use epoch::{Epoch, EpochBase, EpochSetup, EpochTags};
pub use linked::{InstanceOrder, LinkedRun, check_linked, instance_bytes, linked_outline};
pub use outline::{Outline, outline, stocked_outline};
pub use parameters::{LotSize, MAX_SECURITY_BITS, MIN_SECURITY_BITS, SecurityBits, charge_bits};
pub use run::Proven;
pub use stocked::{
    BLOCK_BYTES, BLOCK_TRIPLES, StockedTriples, TripleBlocks, TripleOrder, blocks_for,
};
pub use terms::{Terms, check};

#[cfg(test)]
mod tests;
