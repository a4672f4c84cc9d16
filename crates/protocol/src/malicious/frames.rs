//! Long streams of bytes, cut into messages.

use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// Bytes of a message of a stream; the last of a stream is shorter.
pub(crate) const FRAME_BYTES: usize = 256 << 10;

/// What is made and not sent.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    /// Where more is appended.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.sent > 0 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.bytes
    }

    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Whether a whole message is there.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() - self.sent >= FRAME_BYTES
    }

    /// The next message, shorter than [`FRAME_BYTES`] only at the stream's end; whether there was
    /// one.
    pub(crate) fn take(&mut self, message: &mut Vec<u8>) -> bool {
        let end = self.bytes.len().min(self.sent + FRAME_BYTES);
        message.clear();
        message.extend_from_slice(&self.bytes[self.sent..end]);
        self.sent = end;
        !message.is_empty()
    }
}

/// A stream of known length on its way in, which is a sequence of pieces.
pub(crate) struct Incoming {
    kind: Kind,
    due: usize,
    count: usize,
    /// Pieces that have come whole.
    pieces: usize,
    /// The next piece, as far as it has come.
    partial: Vec<u8>,
    /// Memory for pieces to come.
    spare: Vec<Vec<u8>>,
}

impl Incoming {
    /// A stream of messages `kind`: `count` pieces of `due` bytes in all.
    pub(crate) fn new(kind: Kind, count: usize, due: usize) -> Self {
        Self {
            kind,
            due,
            count,
            pieces: 0,
            partial: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Length of the next message, 0 at the stream's end.
    pub(crate) fn next_bytes(&self) -> usize {
        self.due.min(FRAME_BYTES)
    }

    /// Takes the next message. Each piece that is now whole goes to `whole` with its number; piece
    /// `i` is `length(i)` bytes long.
    ///
    /// # Errors
    ///
    /// The message has another length than the next.
    pub(crate) fn receive(
        &mut self,
        payload: &[u8],
        length: impl Fn(usize) -> usize,
        whole: &mut Vec<(usize, Vec<u8>)>,
    ) -> Result<(), Error> {
        let expected = self.next_bytes();
        if payload.len() != expected || expected == 0 {
            return Err(Misbehaviour::WrongLength {
                kind: self.kind,
                expected: expected as u64,
                found: payload.len() as u64,
            }
            .into());
        }
        self.due -= expected;
        let mut rest = payload;
        while self.pieces < self.count {
            let bytes = length(self.pieces);
            if rest.is_empty() && self.partial.len() < bytes {
                break;
            }
            if self.partial.is_empty() {
                self.partial = self.spare.pop().unwrap_or_default();
                self.partial.reserve_exact(bytes);
            }
            let (these, after) = rest.split_at(rest.len().min(bytes - self.partial.len()));
            self.partial.extend_from_slice(these);
            rest = after;
            if self.partial.len() == bytes {
                whole.push((self.pieces, std::mem::take(&mut self.partial)));
                self.pieces += 1;
            }
        }
        Ok(())
    }

    /// Takes pieces back that are done with, for their memory.
    pub(crate) fn give_back(&mut self, pieces: impl IntoIterator<Item = Vec<u8>>) {
        let cleared = pieces.into_iter().map(|mut bytes| {
            bytes.clear();
            bytes
        });
        self.spare.extend(cleared);
    }
}
