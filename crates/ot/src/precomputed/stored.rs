//! Both halves as bytes, for a stock on disk.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `TOTS` (the sender's half) or `TOTR` (the receiver's) |
//! | 4 | version, 1 |
//! | 5..8 | zero |
//! | 8..16 | number of the first OT, little-endian |
//! | 16.. | q or t of each OT, 16 bytes, bit 0 of a t being its choice |
//!
//! How many there are follows from the length. Δ is not in it: it belongs to the stock. All of it
//! is secret.

use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::{ReceiverOts, SenderOts, read_block};
use crate::{Corrupted, Delta, Error, Outputs, Stored};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 16;

impl SenderOts {
    /// This half as bytes, without Δ. Secret.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        write(b"TOTS", self.range().start, self.blocks())
    }

    /// What [`to_bytes`](Self::to_bytes) wrote, under `delta`. Whoever calls this twice for the
    /// same OTs and uses both gives Δ away.
    ///
    /// # Errors
    ///
    /// [`Corrupted`] unless the bytes are such a half.
    pub fn from_bytes(bytes: &[u8], delta: &Delta) -> Result<Self, Error> {
        let what = Stored::SenderOts;
        let (first, q) = read(what, b"TOTS", bytes)?;
        if q.iter().any(|q| q.lsb().into()) {
            return Err(Corrupted::Value { what }.into());
        }
        Ok(Self::new(first, delta.clone(), q))
    }
}

impl ReceiverOts {
    /// This half as bytes. Secret.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        write(b"TOTR", self.range().start, self.blocks())
    }

    /// What [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    ///
    /// [`Corrupted`] unless the bytes are such a half.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (first, t) = read(Stored::ReceiverOts, b"TOTR", bytes)?;
        Ok(Self::new(first, t))
    }
}

fn write(magic: &[u8; 4], first: u64, blocks: &[Block]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(
        HEADER_BYTES + blocks.len() * Block::BYTES,
    ));
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&[VERSION, 0, 0, 0]);
    bytes.extend_from_slice(&first.to_le_bytes());
    for block in blocks {
        bytes.extend_from_slice(&block.to_bytes());
    }
    bytes
}

fn read(what: Stored, magic: &[u8; 4], bytes: &[u8]) -> Result<(u64, Outputs), Corrupted> {
    let (head, blocks) = bytes
        .split_at_checked(HEADER_BYTES)
        .ok_or(Corrupted::Length { what })?;
    if head[..4] != *magic || head[5..8] != [0; 3] {
        return Err(Corrupted::Kind { what });
    }
    if head[4] != VERSION {
        return Err(Corrupted::Version {
            what,
            expected: VERSION,
            found: head[4],
        });
    }
    let mut first = [0; 8];
    first.copy_from_slice(&head[8..]);
    let first = u64::from_le_bytes(first);
    let (blocks, rest) = blocks.as_chunks::<{ Block::BYTES }>();
    if !rest.is_empty() || first.checked_add(blocks.len() as u64).is_none() {
        return Err(Corrupted::Length { what });
    }
    let blocks = blocks.iter().map(|bytes| read_block(bytes)).collect();
    Ok((first, Zeroizing::new(blocks)))
}
