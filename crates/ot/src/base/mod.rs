//! Base OT: a batch of random 1-out-of-2 OTs from public keys, secure against malicious parties.
//!
//! The protocol of McQuoid, Rosulek and Roy (Asiacrypt 2021) with a Feistel POPF, over
//! Diffie–Hellman on ristretto255; [`ristretto`] says what its proof asks.

mod parts;
pub mod ristretto;

use core::fmt;

pub use ristretto::{Receiver, Sender};
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{ApiMisuse, Message, PeerMisbehaved};

/// How many OTs one batch may have.
pub const MAX_COUNT: usize = 1 << 16;

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

/// Refuses a message in which one of these parts stands twice: honest parties draw each anew.
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
