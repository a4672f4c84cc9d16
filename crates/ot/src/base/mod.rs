//! Base OT: a batch of random 1-out-of-2 OTs on ristretto255, maliciously secure, in one
//! simultaneous exchange.
//!
//! Source: McQuoid, Rosulek, Roy, "Batching Base Oblivious Transfers" (Asiacrypt 2021): the batch
//! protocol with one sender message for all OTs, over a programmable-once public function (POPF)
//! of two Feistel rounds whose first is a masked XOR. For OT i of a batch with sender message
//! A = aG, the receiver with choice c sends φ = (T, s), and both can compute
//!
//! > Y_0 = T + H(i, 0, s),  Y_1 = T + H(i, 1, s ⊕ T).
//!
//! The receiver makes Y_c = bG by drawing b and s′, taking T = bG − H(i, c, s′) and
//! s = s′ ⊕ c·T. The keys are r_x = KDF(i, x, A, φ, aY_x); the receiver has r_c from bA.
//!
//! **Why the receiver's choice is hidden**: T and s are uniform and independent for either c,
//! whatever A is. **Why one key stays unknown**: whichever of the two H above is asked last is
//! answered when T is already fixed, so that Y is a random element that the receiver could not
//! aim; to know aY is to solve computational Diffie–Hellman. The simulator reads the choice off
//! the order of the questions, the moment φ arrives.
//!
//! **What goes wrong in a naive batch**, and is closed here: with one A for all OTs and no index
//! in the hashes, a receiver that sends the same φ twice gets equal outputs (and, in an
//! extension, a peer learns relations between secret columns). So i, x, the session tag and both
//! messages enter the key's hash, i, x and the tag enter H, and equal elements are refused.
//!
//! Assumption: H and KDF are random oracles; strong computational Diffie–Hellman holds on
//! ristretto255 (CDH with an oracle that decides for the fixed A, which consistent answers need
//! because A serves many OTs). Security is endemic, as in Masny and Rindal (CCS 2019): a corrupt
//! party may choose its own outputs, which an extension tolerates.
//!
//! Deviations: messages carry T before s, in halves that suit the encoder (H is twice an
//! Elligator image and scalars are twice what is drawn, so that all elements are encoded in
//! batches with one inversion).
//!
//! Cost for each OT: sender 2 variable-base multiplications, 2 hashes to the group, 1 decoding;
//! receiver 1 fixed-base and 1 variable-base multiplication, 1 hash to the group. 64 bytes from
//! the receiver for each OT, 32 bytes from the sender for all.
//!
//! | message | bytes | content |
//! |---|---|---|
//! | sender's | 0..32 | A |
//! | receiver's | 64i .. 64i+32 | T of OT i |
//! | | 64i+32 .. 64i+64 | s of OT i |

mod oracle;
mod receiver;
mod sender;

use core::fmt;

pub use receiver::Receiver;
pub use sender::Sender;
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{ApiMisuse, Message, PeerMisbehaved};

/// How many OTs one batch may have.
pub const MAX_COUNT: usize = 1 << 16;

/// Size of an encoded group element, in bytes.
const POINT_BYTES: usize = 32;

/// Size of φ, the receiver's part for one OT, in bytes.
const PHI_BYTES: usize = 64;

/// The output of one random OT: 32 secret bytes.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; 32]);

impl Key {
    /// The key with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// All 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 16 bytes as a block.
    #[must_use]
    pub fn to_block(&self) -> Block {
        let mut block = [0; 16];
        block.copy_from_slice(&self.0[..16]);
        let result = Block::from_bytes(block);
        block.zeroize();
        result
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Refuses batches that are empty or larger than [`MAX_COUNT`].
fn check_count(count: usize) -> Result<(), ApiMisuse> {
    if (1..=MAX_COUNT).contains(&count) {
        Ok(())
    } else {
        Err(ApiMisuse::BaseCount {
            found: count,
            limit: MAX_COUNT,
        })
    }
}

/// Refuses a message that is not exactly `expected` bytes long.
pub(crate) fn check_length(
    message: Message,
    expected: usize,
    bytes: &[u8],
) -> Result<(), PeerMisbehaved> {
    if bytes.len() == expected {
        Ok(())
    } else {
        Err(PeerMisbehaved::WrongLength {
            message,
            expected,
            found: bytes.len(),
        })
    }
}
