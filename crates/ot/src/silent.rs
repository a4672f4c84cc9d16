//! Silent OT extension: many correlated OTs with random choices from few bytes.
//!
//! Source: Yang, Weng, Lan, Zhang, Wang, "Ferret: Fast Extension for coRRElated oT with small
//! communication" (CCS 2020), figures 5 to 8, with regular noise, over the correlated trees of Guo
//! et al. (EUROCRYPT 2023). The bootstrap in two steps and the parameters are described in
//! `params`. A round turns a secret of k COTs and 11 COTs for each of t trees into t·2^11 new ones,
//! w = v ⊕ uΔ with u = x·A ⊕ e, where x are the choices of the secret, A is public and sparse, and
//! e has one unit vector for each tree. The first of the new ones are the input of the next round.
//!
//! Assumptions: LPN with regular noise and a 10-local code, at 128 bits by the estimates that
//! `crates/ot/tests/all/lpn.rs` computes; AES under public keys is an ideal cipher.
//! Not here: the codes of Silver, which were broken (Raghuraman, Rindal, Tanguy, CRYPTO 2023), and
//! the expand-accumulate and expand-convolute codes, whose assumptions are younger.
//!
//! **Malicious security.** The base COTs come from the maliciously secure extension. A receiver
//! sends nothing but one element of GF(2^128). Ferret's check (figure 7) catches a sender's wrong
//! trees: with χ from a random oracle on the sender's message, the receiver sends x' = Σ χ_α ⊕ x*
//! for 128 COTs' random choices x*, and the sender answers with a hash of Σ χ·v ⊕ Z ⊕ Δx', which is
//! the receiver's Σ χ·w ⊕ Y if all trees are right. A sender may guess positions α: each wrong
//! guess ends the session, and n bits are guessed right with probability 2^-n. No output leaves
//! before its batch is checked.
//!
//! | message | from | bytes for a batch of 380 trees |
//! |---|---|---|
//! | bootstrap, once: correlated OTs with k = 8 | receiver | about 88,000 |
//! | trees, 11 levels each | sender | 66,880; once 143,360 |
//! | x', malicious only | receiver | 16 |
//! | the check's hash, malicious only | sender | 32 |
//!
//! Cost: 0.75 bits per OT; three cipher calls and ten reads from 4 MiB for each party, or ten from
//! 8 MiB for an OT of each direction ([`JointSums`]).

mod batch;
mod device;
mod double;
mod joint;
mod lpn;
mod params;
mod receiver;
mod reorder;
mod sender;
#[cfg(test)]
mod tests;
mod tree;
mod vole;

pub(crate) use batch::{ANSWER_BYTES, REPLY_BYTES, Rounds};
#[cfg(any(test, feature = "reference-device"))]
pub use device::OnThreads;
pub use device::{BatchSizes, Device, DeviceBatch, DeviceHalf, HalfStart, HashedBits};
pub use joint::JointSums;
pub(crate) use params::{BOOTSTRAP, SECURITY_BITS, Schedule};
pub use params::{LPN_SIZES, LpnSizes};
pub use receiver::{ReceiverBatch, SilentReceiver};
pub use sender::{SenderBatch, SilentSender};
pub use vole::{VOLE_BASE_COUNT, VoleCost, VoleReceiver, VoleSender, VoleSenderBatch};

use crate::base::check_length;
