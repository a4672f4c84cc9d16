//! Long streams of bytes, cut into messages.

use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// Bytes of a message of a stream; the last of a stream is shorter.
pub(super) const FRAME_BYTES: usize = 256 << 10;

/// What is made and not sent.
#[derive(Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    /// Where more is appended.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.sent > 0 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.bytes
    }

    /// Whether a whole message is there.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() - self.sent >= FRAME_BYTES
    }

    /// The next message, shorter than [`FRAME_BYTES`] only at the stream's end; whether there was
    /// one.
    pub(super) fn take(&mut self, message: &mut Vec<u8>) -> bool {
        let end = self.bytes.len().min(self.sent + FRAME_BYTES);
        message.clear();
        message.extend_from_slice(&self.bytes[self.sent..end]);
        self.sent = end;
        !message.is_empty()
    }
}

/// A stream of known length on its way in.
pub(super) struct Incoming {
    kind: Kind,
    due: usize,
    bytes: Vec<u8>,
    /// Bytes that were taken.
    taken: usize,
}

impl Incoming {
    /// A stream of messages `kind`, `due` bytes in all.
    pub(super) fn new(kind: Kind, due: usize) -> Self {
        Self {
            kind,
            due,
            bytes: Vec::new(),
            taken: 0,
        }
    }

    /// Length of the next message, 0 at the stream's end.
    pub(super) fn next_bytes(&self) -> usize {
        self.due.min(FRAME_BYTES)
    }

    /// Takes the next message.
    pub(super) fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        let expected = self.next_bytes();
        if payload.len() != expected {
            return Err(Misbehaviour::WrongLength {
                kind: self.kind,
                expected: expected as u64,
                found: payload.len() as u64,
            }
            .into());
        }
        self.due -= expected;
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(payload);
        Ok(())
    }

    /// The next `count` bytes, if they are there.
    pub(super) fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let taken = self
            .bytes
            .get(self.taken..self.taken.checked_add(count)?)?
            .to_vec();
        self.taken += count;
        Some(taken)
    }
}
