//! `gmw`: XOR shares, with one message each way per layer.
//!
//! The protocol of Goldreich, Micali and Wigderson (STOC 1987), semi-honest. Both parties hold
//! shares of each value, XOR is local, and all ANDs of a layer are opened in one message each way.
//! ANDs use hashed correlated OTs with random choices (Asharov, Lindell, Schneider, Zohner, CCS
//! 2013). ANDs with a common operand share one OT (Heath, Kolesnikov, Peceny, "MOTIF", ASIACRYPT
//! 2020).
//!
//! ```text
//! garbler                                   evaluator
//!   ◀─ base OTs, of each direction ─────────────▶      (once a session)
//!   ◀─ OT refills of both directions ───────────▶      (before a step that lacks OTs)
//!   ◀─ layer: the bits that a step opens ───────▶      (each step)
//!   ◀─ result: shares of the other's results ───▶      (to each recipient)
//! ```
//!
//! The bits that a step opens, and all lengths, follow from the function alone
//! ([`Schedule`](tacit_function::Schedule)). A party's own inputs cost nothing.
//!
//! **Limits**: a malicious party can flip any opened bit and any result undetected. By lies in the
//! OTs, whose extension is semi-honest, it can learn the other's Δ, and with it the other's inputs.
//!
//! **Cost**: an AND of two shared bits takes an OT each way and 4 opened bits. An AND with an
//! operand that one party owns takes half of both. ANDs with a common operand share its OTs. A step
//! waits for one message each way.

mod crosses;
mod directions;
mod hashed;
mod memory;
mod messages;
mod outline;
mod packing;
mod queue;
pub mod rows;
mod run;
mod stock;
mod stocked;
#[cfg(test)]
mod tests;

pub use crate::shares::{InputShares, MadeBits};
pub use directions::{DirectionSetup, Directions};
pub use memory::memory_bytes;
pub use messages::LAYER_FRAME_BYTES;
pub use outline::{Outline, outline};
pub use run::{FRAMES_AHEAD, Run, check};
pub use stock::{CrossBlock, CrossDemand, CrossKind, prepare};
pub use stocked::StockedCrosses;

/// The version of the rules that derive layers, groups, steps and OTs from a function, as proposals
/// carry it.
pub const RULES: u32 = 2;
