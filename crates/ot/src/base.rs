//! Base OT: a batch of random 1-out-of-2 OTs from public keys, secure against malicious parties.
//!
//! | module | assumption | flights | bytes for 128 |
//! |---|---|---|---|
//! | [`ristretto`] | strong Diffie–Hellman on ristretto255 | one, both ways at once | 8,224 |
//! | [`ml_kem`] | module learning with errors, as ML-KEM-768 does | receiver, then sender | 438,272 |
//!
//! Both are the protocol of McQuoid, Rosulek and Roy (Asiacrypt 2021) with a Feistel POPF, over a
//! Diffie–Hellman exchange and over a KEM; each module states the assumptions of its proof. A large
//! quantum computer breaks the first, even much later; no such attack on the second is known.
//! [`Receiver`] and [`Sender`] are those of the first.

pub mod ml_kem;
mod parts;
pub mod ristretto;

use core::fmt;

pub use ristretto::{Receiver, Sender};
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{ApiMisuse, Message, PeerMisbehaved};

/// The most OTs of one batch.
pub const MAX_COUNT: usize = 1 << 16;

/// The number of OTs in one part of the receiver's message. A receiver may send its message in
/// parts, so that the sender works on the first ones while it makes the others: no part depends on
/// the sender's answers.
pub const PART: usize = 16;

/// The assumption of a session's base OTs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BaseOt {
    /// Diffie–Hellman on ristretto255: few bytes, one exchange ([`ristretto`]).
    #[default]
    Ristretto255,
    /// ML-KEM-768: not known to be broken by quantum computers ([`ml_kem`]).
    MlKem768,
}

impl BaseOt {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Ristretto255, Self::MlKem768];

    /// Returns its name on the command line and in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ristretto255 => "ristretto255",
            Self::MlKem768 => "ml-kem-768",
        }
    }

    /// Returns the kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns whether OTs of this kind may be used where `asked` was requested. A caller that asks
    /// for [`MlKem768`](Self::MlKem768) excludes everything that rests on discrete logarithms.
    #[must_use]
    pub fn serves(self, asked: Self) -> bool {
        self == asked || asked == Self::Ristretto255
    }
}

impl fmt::Display for BaseOt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The output of one random OT: 32 secret bytes.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; 32]);

impl Key {
    /// Returns the key with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns all 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 16 bytes as a block.
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

/// Refuses to continue while OTs are left without their part of the receiver's message.
fn check_made(expected: usize, left: usize) -> Result<(), ApiMisuse> {
    if left == 0 {
        return Ok(());
    }
    Err(ApiMisuse::WrongCount {
        what: "parts of the receiver's message",
        expected,
        found: expected - left,
    })
}

/// Returns the number of OTs in a part of the receiver's message, with `phi_bytes` for each.
fn part_count(left: usize, phi_bytes: usize, part: &[u8]) -> Result<usize, PeerMisbehaved> {
    let count = part.len() / phi_bytes;
    let expected = phi_bytes * count.clamp(left.min(1), left);
    check_length(Message::BaseReceiver, expected, part)?;
    Ok(count)
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

/// Refuses a message in which one of these parts occurs twice: honest parties draw each one at
/// random.
fn refuse_repetitions<'a>(
    message: Message,
    parts: impl Iterator<Item = &'a [u8]>,
) -> Result<(), PeerMisbehaved> {
    let mut parts: Vec<(&[u8], usize)> = parts.zip(0..).collect();
    parts.sort_unstable();
    match parts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => Err(PeerMisbehaved::RepeatedPoint {
            message,
            first: pair[0].1,
            second: pair[1].1,
        }),
    }
}
