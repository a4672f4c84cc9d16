//! Precomputed OT: made in advance with random choices, and used online once.
//!
//! Source: Beaver, "Precomputing Oblivious Transfer" (CRYPTO 1995), over correlated OTs: the sender
//! has q for each OT, the receiver a random choice b and t = q ⊕ bΔ, with b in bit 0 of t and bit 0
//! of q clear. Online the receiver sends d = c ⊕ b for its real choice c, one bit, and the sender
//! answers in one of these forms:
//!
//! | form | the sender's answer | bytes an OT | the receiver gets |
//! |---|---|---|---|
//! | correlated | nothing: its label for 0 is q ⊕ dΔ | 0 | q ⊕ dΔ ⊕ cΔ, which is t |
//! | linked, to a wire W under the same Δ | q ⊕ dΔ ⊕ W^0 | 16 | W^c |
//! | chosen blocks | m_0 ⊕ r_d, m_1 ⊕ r_(1 ⊕ d) | 32 | m_c |
//! | chosen strings | the same, pads from a PRG under r | 2 · length | m_c |
//! | random | no d and no answer | 0 | b and r_b |
//!
//! r_0 = H(i, q) and r_1 = H(i, q ⊕ Δ), where H is the re-keyed tweakable hash of `kernels` under
//! the OT's number i and a start point from the session's tag. Chosen strings also let one choice
//! serve many messages: all labels of one wire in many circuits, with their openings, are one
//! string.
//!
//! **Once.** Answering one OT for both d reveals Δ, and with it every recorded run. So each use
//! consumes both halves, and neither can be copied. A caller that keeps them on disk must record a
//! use durably before it sends the first byte that depends on it.
//!
//! A cheating sender's answer can be wrong for one choice and right for the other. No form here
//! detects that, and a protocol above has to make it harmless. Any d is some choice, so the
//! receiver cannot cheat.
//!
//! Assumption: H is correlation robust under Δ (AES as an ideal cipher); AES-128 in counter mode is
//! a PRG.

mod receiver;
mod sender;

use sha2::Digest;
use tacit_kernels::{Block, Construction, Tweak, TweakableHash, Use};

pub use receiver::{ChosenOts, RandomChoices, ReceiverOts};
pub use sender::SenderOts;

use crate::{ApiMisuse, Message, PeerMisbehaved, SessionTag};

const START: &[u8; 32] = b"tacit OT v1 start of pads' hash ";

/// Returns the hash that makes pads from labels, and the tweak of OT `first`.
fn pad_hash(tag: &SessionTag, first: u64) -> (TweakableHash, Tweak) {
    let mut start = [0; Block::BYTES];
    start.copy_from_slice(&tag.hash(START).finalize()[..Block::BYTES]);
    let tweak = Tweak::of(Use::CorrelatedOt, first);
    let hash = TweakableHash::new(Construction::Rekeyed, Block::from_bytes(start));
    (hash, tweak)
}

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

/// Refuses a number of values that differs from the number of OTs.
fn check_count(what: &'static str, expected: usize, found: usize) -> Result<(), ApiMisuse> {
    if expected == found {
        Ok(())
    } else {
        Err(ApiMisuse::WrongCount {
            what,
            expected,
            found,
        })
    }
}

fn read_block(bytes: &[u8]) -> Block {
    let mut array = [0; Block::BYTES];
    array.copy_from_slice(bytes);
    Block::from_bytes(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_one_bit_an_ot_and_zeros() {
        assert_eq!(check_corrections(0, &[]), Ok(()));
        assert_eq!(check_corrections(8, &[0xff]), Ok(()));
        assert_eq!(check_corrections(9, &[0xff, 1]), Ok(()));
        let message = Message::Corrections;
        let padding = Err(PeerMisbehaved::Padding { message });
        assert_eq!(check_corrections(9, &[0xff, 2]), padding);
        assert_eq!(check_corrections(1, &[0x80]), padding);
        let length = check_corrections(9, &[0xff]);
        assert!(matches!(length, Err(PeerMisbehaved::WrongLength { .. })));
    }
}
