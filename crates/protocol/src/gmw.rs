//! `gmw`: XOR shares, one message a layer.
//!
//! Goldreich, Micali, Wigderson (STOC 1987), semi-honest: both parties hold shares of each value,
//! XOR is local, and all ANDs of a layer are opened in one message each way. ANDs take correlated
//! OTs with random choices, hashed (Asharov, Lindell, Schneider, Zohner, CCS 2013), of which those
//! with a common operand share one (Heath, Kolesnikov, Peceny, "MOTIF", ASIACRYPT 2020).
//!
//! ```text
//! garbler                                   evaluator
//!   ◀─ base OTs, of each direction ─────────────▶      (once a session)
//!   ◀─ OT refills of both directions ───────────▶      (before a step that lacks OTs)
//!   ◀─ layer: the bits that a step opens ───────▶      (each step)
//!   ◀─ result: shares of the other's results ───▶      (to each recipient)
//! ```
//!
//! What a step opens follows from the function alone ([`Schedule`](tacit_function::Schedule)), and
//! so do all lengths. A party's own inputs cost nothing.
//!
//! **What it does not promise**: a malicious party can flip any opened bit and any result, and
//! nothing detects it; from the result it can learn an operand of a gate.
//!
//! **Cost**: an AND of two shared bits takes an OT each way and 4 opened bits, an AND with an
//! operand that one party owns half of both, and ANDs with a common operand share its OTs. A step
//! waits for one message each way.

mod crosses;
mod directions;
mod memory;
mod messages;
mod outline;
mod queue;
pub mod rows;
mod run;
mod stock;
#[cfg(test)]
mod tests;

pub use directions::{DirectionSetup, Directions};
pub use memory::memory_bytes;
pub use messages::LAYER_FRAME_BYTES;
pub use outline::{Outline, outline};
pub use run::{FRAMES_AHEAD, Run, check};
pub use stock::{CrossBlock, CrossDemand, CrossKind, StockedCrosses, prepare};

/// The version of the rules by which layers, groups, steps and OTs follow from a function, as
/// proposals have it.
pub const RULES: u32 = 1;
