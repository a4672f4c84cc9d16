//! Long streams of bytes, cut into messages.

use std::mem;

use crate::io::{Io, Message};
use crate::message::Kind;
use crate::party::PeerName;
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

    /// Sends the messages that are whole; `part` says what a part of this many bytes is.
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

    /// Sends all that is left, at the stream's end.
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

    /// The next message, shorter than [`FRAME_BYTES`] only at the stream's end; whether there was
    /// one.
    pub(crate) fn take(&mut self, message: &mut Vec<u8>) -> bool {
        let end = self.bytes.len().min(self.sent + FRAME_BYTES);
        message.clear();
        if self.sent == 0 && self.bytes.len() - end < FRAME_BYTES {
            // Less is left than is sent: that moves, and the message stays where it is.
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

    /// The next message, or nothing at the stream's end.
    pub(crate) fn expected(&self) -> Option<Message> {
        match self.next_bytes() {
            0 => None,
            bytes => Some(Message::exactly(self.kind, bytes)),
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

    /// Takes the next message, and gives `pieces` each piece that is now whole, from where it lies
    /// if it came in one message.
    ///
    /// # Errors
    ///
    /// The message has another length than the next, or what `pieces` finds.
    pub(crate) fn pass_on(
        &mut self,
        payload: &[u8],
        pieces: &mut impl Pieces,
    ) -> Result<(), Error> {
        self.admit(payload)?;
        self.pass(payload, pieces)
    }

    /// Gives `pieces` those for which nothing has to come.
    ///
    /// # Errors
    ///
    /// What `pieces` finds.
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

    /// Takes pieces back that are done with, for their memory.
    pub(crate) fn give_back(&mut self, pieces: impl IntoIterator<Item = Vec<u8>>) {
        let cleared = pieces.into_iter().map(|mut bytes| {
            bytes.clear();
            bytes
        });
        self.spare.extend(cleared);
    }
}

/// Who takes the pieces of a stream in which each says how long the next one is.
pub(crate) trait Pieces {
    /// Length of the next piece, or nothing behind the last. It stays until that is taken.
    fn next_bytes(&self) -> Option<usize>;

    /// Takes the next piece.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    fn take(&mut self, piece: &[u8]) -> Result<(), Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces that are due, and those that came.
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

    /// Pieces that end with a message, span one and several, and have no bytes.
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
