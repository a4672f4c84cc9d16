//! Precomputed OT: made in advance with random choices, and used online once.
//!
//! Source: Beaver, "Precomputing Oblivious Transfer" (CRYPTO 1995), over correlated OTs: the sender
//! has q for each OT, the receiver a random choice b and t = q ⊕ bΔ, with b in bit 0 of t and bit 0
//! of q clear. Online the receiver sends d = c ⊕ b for its real choice c, one bit. The sender's
//! label for 0 is then q ⊕ dΔ, and the receiver's label is q ⊕ dΔ ⊕ cΔ, which is t.
//!
//! **Once.** Using one OT for both d reveals Δ, and with it every recorded run. So each use
//! consumes both halves, and neither can be copied. A caller that keeps them on disk must record a
//! use durably before it sends the first byte that depends on it.
//!
//! Any d is some choice, so the receiver cannot cheat.

mod receiver;
mod sender;

pub use receiver::ReceiverOts;
pub use sender::SenderOts;

use crate::{Message, PeerMisbehaved};

/// Returns bit `i` of packed bits, where each byte starts with its lowest bit.
fn bit(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 8] >> (i % 8) & 1
}

/// Refuses corrections that are not one bit for each of `count` OTs, padded with zeros.
fn check_corrections(count: usize, corrections: &[u8]) -> Result<(), PeerMisbehaved> {
    let message = Message::Corrections;
    crate::base::check_length(message, count.div_ceil(8), corrections)?;
    match corrections.last() {
        Some(&last) if !count.is_multiple_of(8) && last >> (count % 8) != 0 => {
            Err(PeerMisbehaved::Padding { message })
        }
        _ => Ok(()),
    }
}
