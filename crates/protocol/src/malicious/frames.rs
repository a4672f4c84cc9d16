//! Long streams of bytes, cut into messages.

use std::mem;

use crate::io::{Io, Message};
use crate::message::Kind;
use crate::party::PeerName;
use crate::{Error, Misbehaviour};

/// The size of a message of a stream in bytes. The last message of a stream may be shorter.
pub(crate) const FRAME_BYTES: usize = 256 << 10;

/// The bytes of a stream that are made and not yet sent.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    /// Returns the buffer to which the stream's next bytes are appended.
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

    /// Whether a whole message is ready.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() - self.sent >= FRAME_BYTES
    }

    /// Sends the messages that are whole. `part` returns the message of a part of this length.
    pub(crate) fn send_full<P: PeerName>(
        &mut self,
        io: &mut Io<'_, P>,
        to: P,
        part: impl Fn(usize) -> Message,
    ) -> Result<(), Error> {
        while self.is_full() {
            self.take(io.message());
            io.send_to(to, part(FRAME_BYTES))?;
        }
        Ok(())
    }

    /// Sends everything that is left, at the stream's end.
    pub(crate) fn send_rest<P: PeerName>(
        mut self,
        io: &mut Io<'_, P>,
        to: P,
        part: impl Fn(usize) -> Message,
    ) -> Result<(), Error> {
        while self.take(io.message()) {
            let bytes = io.message().len();
            io.send_to(to, part(bytes))?;
        }
        Ok(())
    }

    /// Takes the next message, which is shorter than [`FRAME_BYTES`] only at the stream's end.
    /// Returns whether there was one.
    pub(crate) fn take(&mut self, message: &mut Vec<u8>) -> bool {
        let end = self.bytes.len().min(self.sent + FRAME_BYTES);
        message.clear();
        if self.sent == 0 && self.bytes.len() - end < FRAME_BYTES {
            // Fewer bytes remain than are sent, so the remainder moves and the message stays in
            // place.
            message.extend_from_slice(&self.bytes[end..]);
            self.bytes.truncate(end);
            mem::swap(message, &mut self.bytes);
            return !message.is_empty();
        }
        message.extend_from_slice(&self.bytes[self.sent..end]);
        self.sent = end;
        !message.is_empty()
    }
}

/// An incoming stream of known length, which consists of pieces.
pub(crate) struct Incoming {
    kind: Kind,
    due: usize,
    count: usize,
    /// The number of pieces that have arrived in whole.
    pieces: usize,
    /// The received part of the next piece.
    partial: Vec<u8>,
    /// Memory for later pieces.
    spare: Vec<Vec<u8>>,
}

impl Incoming {
    /// Returns a stream of messages of this kind: `count` pieces of `due` bytes in all.
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

    /// Returns the next message, or `None` at the stream's end.
    pub(crate) fn expected(&self) -> Option<Message> {
        match self.next_bytes() {
            0 => None,
            bytes => Some(Message::exactly(self.kind, bytes)),
        }
    }

    /// Returns the length of the next message, 0 at the stream's end.
    pub(crate) fn next_bytes(&self) -> usize {
        self.due.min(FRAME_BYTES)
    }

    /// Takes the next message. Appends each piece that is now complete to `whole` with its number;
    /// piece `i` is `length(i)` bytes long.
    pub(crate) fn receive(
        &mut self,
        payload: &[u8],
        length: impl Fn(usize) -> usize,
        whole: &mut Vec<(usize, Vec<u8>)>,
    ) -> Result<(), Error> {
        self.admit(payload)?;
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
                whole.push((self.pieces, mem::take(&mut self.partial)));
                self.pieces += 1;
            }
        }
        Ok(())
    }

    /// Takes the next message, and passes each piece that is now complete to `pieces`. A piece that
    /// came in one message is passed without a copy.
    pub(crate) fn pass_on(
        &mut self,
        payload: &[u8],
        pieces: &mut impl Pieces,
    ) -> Result<(), Error> {
        self.admit(payload)?;
        self.pass(payload, pieces)
    }

    /// Passes to `pieces` those pieces that have no bytes and are next.
    pub(crate) fn pass_empty(&mut self, pieces: &mut impl Pieces) -> Result<(), Error> {
        self.pass(&[], pieces)
    }

    fn pass(&mut self, mut rest: &[u8], pieces: &mut impl Pieces) -> Result<(), Error> {
        while let Some(bytes) = pieces.next_bytes() {
            let missing = bytes - self.partial.len();
            let (these, after) = rest.split_at(missing.min(rest.len()));
            rest = after;
            if these.len() < missing {
                self.partial.extend_from_slice(these);
                break;
            }
            if self.partial.is_empty() {
                pieces.take(these)?;
            } else {
                self.partial.extend_from_slice(these);
                pieces.take(&self.partial)?;
                self.partial.clear();
            }
        }
        Ok(())
    }

    fn admit(&mut self, payload: &[u8]) -> Result<(), Error> {
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
        Ok(())
    }

    /// Takes back pieces that are no longer needed, to reuse their memory.
    pub(crate) fn give_back(&mut self, pieces: impl IntoIterator<Item = Vec<u8>>) {
        let cleared = pieces.into_iter().map(|mut bytes| {
            bytes.clear();
            bytes
        });
        self.spare.extend(cleared);
    }
}

/// The receiver of the pieces of a stream. Each piece determines the length of the next.
pub(crate) trait Pieces {
    /// Returns the length of the next piece, or `None` after the last. The length stays the same
    /// until the piece is taken.
    fn next_bytes(&self) -> Option<usize>;

    /// Takes the next piece.
    fn take(&mut self, piece: &[u8]) -> Result<(), Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the expected pieces, and the received pieces.
    struct Taken<'t>(&'t [usize], Vec<Vec<u8>>);

    impl Pieces for Taken<'_> {
        fn next_bytes(&self) -> Option<usize> {
            self.0.get(self.1.len()).copied()
        }

        fn take(&mut self, piece: &[u8]) -> Result<(), Error> {
            self.1.push(piece.to_vec());
            Ok(())
        }
    }

    /// The lengths of pieces that end with a message, span one or several, and have no bytes.
    const LENGTHS: [usize; 9] = [0, 5, FRAME_BYTES - 5, 0, 3 * FRAME_BYTES - 1, 1, 2, 0, 0];

    #[test]
    fn a_stream_is_cut_into_messages_and_put_together_again() {
        let due: usize = LENGTHS.iter().sum();
        let bytes: Vec<u8> = (0..due).map(|i| (i % 251) as u8).collect();
        for appended in [1000, FRAME_BYTES, FRAME_BYTES + 1, due] {
            let mut incoming = Incoming::new(Kind::Copies, LENGTHS.len(), due);
            let mut taken = Taken(&LENGTHS, Vec::new());
            let (mut outgoing, mut message) = (Outgoing::default(), Vec::new());
            let mut rest = bytes.chunks(appended);
            loop {
                while !outgoing.is_full()
                    && let Some(bytes) = rest.next()
                {
                    outgoing.append(bytes);
                }
                if !outgoing.take(&mut message) {
                    break;
                }
                assert_eq!(message.len(), incoming.next_bytes());
                incoming.pass_on(&message, &mut taken).unwrap();
            }
            assert_eq!(incoming.next_bytes(), 0);
            let lengths: Vec<_> = taken.1.iter().map(Vec::len).collect();
            assert_eq!(lengths, LENGTHS);
            assert_eq!(taken.1.concat(), bytes, "{appended} at a time");
            assert!(incoming.pass_on(&[1], &mut taken).is_err());
        }
    }
}
