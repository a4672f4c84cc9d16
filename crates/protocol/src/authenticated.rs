//! `authenticated`: any function, once, against a malicious peer. A run starts from nothing, or
//! from triples or instances of components that were made ahead.
//!
//! Sources: Wang, Ranellucci and Katz, "Authenticated garbling and efficient maliciously secure
//! two-party computation" (CCS 2017); Katz, Ranellucci, Rosulek and Wang, "Optimizing authenticated
//! garbling for faster secure two-party computation" (CRYPTO 2018). The protocol's page,
//! `docs/protocols/authenticated.md`, has the theorem, the guarantees, every deviation and the
//! messages byte by byte.
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
//! | file | contents |
//! |---|---|
//! | `parameters` | s, and the number of leaky ANDs for a triple |
//! | `epoch` | both Δ, the OTs under them, and numbers that are never used twice |
//! | `share`, `columns`, `buffers` | shares of bits with MACs, passes over many shares, and their memory |
//! | `leaky`, `bucket`, `lot` | leaky ANDs, triples made from them, and the messages that make a lot |
//! | `stocked` | triples from a stock: their storage, how they are made, and their use by a run |
//! | `linked` | instances of components: how they are made, their storage, and a run that links them |
//! | `chain`, `saving` | both Δ of runs that keep values, and the shares that these runs keep |
//! | `walk` | a walk over a function batch by batch, for any contents of its wires |
//! | `gates` | masks of wires and the openings of gates |
//! | `garbling`, `evaluating` | the formulas of a gate at both parties |
//! | `rows` | the formulas of the rows that prove a gate |
//! | `run`, `terms`, `garbler`, `evaluator` | the start and the end of a run, and each party's side of it |
//! | `messages`, `outline` | each message, stated once; the messages of a run, without running it |
//! | `oracle`, `spread_hash` | every hash, and the hash of many blocks on several threads |
//! | `fold`, `caught` | sums of MACs, and the checks that catch a cheating peer |
//!
//! **Memory** is bounded by a lot of at most 1.2 million leaky ANDs, for functions of any size: at
//! most about 180 MB for each party. **Only one direction is full at a time**, so that no
//! connection stalls with both parties writing.

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
mod spread_hash;
mod stocked;
mod terms;
mod walk;

pub use caught::Caught;
pub use chain::SharedChain;
pub use epoch::{Epoch, EpochBase, EpochSetup, EpochTags};
pub use linked::{InstanceOrder, LinkedRun, check_linked, instance_bytes};
pub use outline::{Outline, outline};
pub use parameters::{LotSize, MAX_SECURITY_BITS, MIN_SECURITY_BITS, SecurityBits, charge_bits};
pub use run::Proven;
pub use stocked::{
    BLOCK_BYTES, BLOCK_TRIPLES, KEPT_BLOCKS, StockedTriples, TripleBlocks, TripleOrder, blocks_for,
};
pub use terms::{Terms, check};

#[cfg(test)]
mod tests;
