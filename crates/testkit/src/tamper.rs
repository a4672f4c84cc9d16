//! A tampering peer: an honest party whose outgoing messages are changed.
//!
//! [`TamperingSink`] is below a channel and sees its messages. At the message that a [`Tampering`]
//! names it commits one [`Fault`]; everything before and after is honest, so that each state of a
//! protocol meets each fault. A sink made by [`TamperingSink::rewriting`] instead tells lies that
//! are messages of the right form.

use std::io::IoSlice;

use tacit_net::{CONTINUED, FrameHeader, HEADER_BYTES, Interrupt, Sink, Wait, frames};

/// A change of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The last byte of the payload is missing.
    Truncate,
    /// The payload is empty.
    Empty,
    /// The payload has one byte more.
    Extend,
    /// The first bit of the payload is flipped.
    FlipFirst,
    /// The middle byte of the payload has its lowest bit flipped.
    FlipMiddle,
    /// The last bit of the payload is flipped.
    FlipLast,
    /// All bytes of the payload are 0xff.
    Ones,
    /// All bytes of the payload are zero.
    Zeros,
    /// The message is sent twice.
    Repeat,
    /// The message is sent after the next one, or never if there is none.
    Reorder,
    /// The message is never sent, but later ones are.
    Drop,
    /// The message is sent in single bytes.
    Trickle,
    /// The message has another kind that exists.
    OtherKind,
    /// The message has a kind that does not exist.
    UnknownKind,
    /// The header announces the greatest possible length.
    Inflate,
    /// The header announces one byte more than is sent, so the next header is taken for payload.
    InflateByOne,
    /// The connection ends before the message.
    CloseBefore,
    /// The connection ends in the middle of the message.
    CloseWithin,
    /// Meaningless bytes are sent instead of the message.
    Garbage,
    /// Nothing more is sent, and the connection stays open.
    Silence,
}

impl Fault {
    /// All faults.
    pub const ALL: &[Self] = &[
        Self::Truncate,
        Self::Empty,
        Self::Extend,
        Self::FlipFirst,
        Self::FlipMiddle,
        Self::FlipLast,
        Self::Ones,
        Self::Zeros,
        Self::Repeat,
        Self::Reorder,
        Self::Drop,
        Self::Trickle,
        Self::OtherKind,
        Self::UnknownKind,
        Self::Inflate,
        Self::InflateByOne,
        Self::CloseBefore,
        Self::CloseWithin,
        Self::Garbage,
        Self::Silence,
    ];

    /// The longest message that can be sent in single bytes within seconds.
    const MOST_TRICKLED: usize = 1 << 14;

    /// Returns whether it breaks the format and not only a value. The receiver of such a message
    /// has no result.
    #[must_use]
    pub fn breaks_the_format(self) -> bool {
        matches!(
            self,
            Self::Truncate
                | Self::Empty
                | Self::Extend
                | Self::OtherKind
                | Self::UnknownKind
                | Self::Inflate
                | Self::InflateByOne
                | Self::CloseBefore
                | Self::CloseWithin
                | Self::Garbage
                | Self::Silence
        )
    }

    /// Returns whether it changes a message with a payload of this length.
    #[must_use]
    pub fn changes(self, payload_bytes: usize) -> bool {
        let of_payload = matches!(
            self,
            Self::Truncate
                | Self::Empty
                | Self::FlipFirst
                | Self::FlipMiddle
                | Self::FlipLast
                | Self::Ones
                | Self::Zeros
        );
        payload_bytes > 0 || !of_payload
    }

    /// Returns whether a message with a payload of this length then takes longer than parties that
    /// wait for seconds.
    #[must_use]
    pub fn takes_long(self, payload_bytes: usize) -> bool {
        self == Self::Trickle && payload_bytes > Self::MOST_TRICKLED
    }

    /// Returns whether a test that takes one of `every` faults for each message takes this one for
    /// message `number`. Over `every` consecutive messages each fault occurs once, and each message
    /// has its share of faults if there are at least `every`.
    #[must_use]
    pub fn in_sample(self, number: usize, every: usize) -> bool {
        let place = Self::ALL.iter().position(|fault| *fault == self);
        place.is_some_and(|place| (place + number).is_multiple_of(every))
    }
}

/// A message and the fault that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tampering {
    /// The message's number among those that this side sends, from 0.
    pub message: usize,
    /// The fault.
    pub fault: Fault,
}

/// Gets the number, kind and payload of each message. Returns the payload to send instead, if any.
pub type Rewrite = Box<dyn FnMut(usize, u8, &[u8]) -> Option<Vec<u8>> + Send>;

/// The replacement of an outgoing message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The message itself.
    AsIs,
    /// A message of the same kind with this payload.
    Payload(Vec<u8>),
    /// A message of another kind.
    Message(u8, Vec<u8>),
    /// Nothing more: the connection ends.
    End,
}

/// Gets the kind and payload of each message. Returns its replacement.
pub type Play = Box<dyn FnMut(u8, &[u8]) -> Sent + Send>;

enum Change {
    Fault(Tampering),
    First(u8, Fault),
    Rewrite(Rewrite),
    Play(Play),
}

/// A sink that passes messages on, except those that it changes.
pub struct TamperingSink {
    inner: Box<dyn Sink>,
    change: Change,
    /// The bytes of an incomplete message.
    pending: Vec<u8>,
    sent: usize,
    held: Vec<u8>,
    closed: bool,
    silent: bool,
}

impl TamperingSink {
    /// Returns a sink over `inner` that commits `tampering`.
    pub fn new(inner: Box<dyn Sink>, tampering: Tampering) -> Self {
        Self::with(inner, Change::Fault(tampering))
    }

    /// Returns a sink over `inner` that commits `fault` on the first message of a kind.
    pub fn on_first(inner: Box<dyn Sink>, kind: u8, fault: Fault) -> Self {
        Self::with(inner, Change::First(kind, fault))
    }

    /// Returns a sink over `inner` that sends the result of `rewrite` for each message.
    pub fn rewriting(inner: Box<dyn Sink>, rewrite: Rewrite) -> Self {
        Self::with(inner, Change::Rewrite(rewrite))
    }

    /// Returns a sink over `inner` that sends the replacement that `play` gives for each message.
    pub fn playing(inner: Box<dyn Sink>, play: Play) -> Self {
        Self::with(inner, Change::Play(play))
    }

    fn with(inner: Box<dyn Sink>, change: Change) -> Self {
        Self {
            inner,
            change,
            pending: Vec::new(),
            sent: 0,
            held: Vec::new(),
            closed: false,
            silent: false,
        }
    }

    fn pass(&mut self, kind: u8, payload: &[u8], wait: &Wait<'_>) -> Result<(), Interrupt> {
        let number = self.sent;
        self.sent += 1;
        if let Change::First(first, fault) = self.change
            && first == kind
        {
            let message = number;
            self.change = Change::Fault(Tampering { message, fault });
        }
        let sent = match &mut self.change {
            Change::Fault(Tampering { message, fault }) if *message == number => {
                let fault = *fault;
                return self.commit(fault, kind, payload, wait);
            }
            Change::Fault(_) | Change::First(..) => Sent::AsIs,
            Change::Rewrite(rewrite) => {
                rewrite(number, kind, payload).map_or(Sent::AsIs, Sent::Payload)
            }
            Change::Play(play) => play(kind, payload),
        };
        let bytes = match sent {
            Sent::AsIs => framed(kind, payload),
            Sent::Payload(payload) => framed(kind, &payload),
            Sent::Message(kind, payload) => framed(kind, &payload),
            Sent::End => return self.close(wait),
        };
        self.emit(&bytes, wait)?;
        let held = std::mem::take(&mut self.held);
        self.emit(&held, wait)
    }

    fn commit(
        &mut self,
        fault: Fault,
        kind: u8,
        payload: &[u8],
        wait: &Wait<'_>,
    ) -> Result<(), Interrupt> {
        let whole = framed(kind, payload);
        let announcing = |left: u32| {
            let mut bytes = whole.clone();
            bytes[1..HEADER_BYTES].copy_from_slice(&left.to_le_bytes());
            bytes
        };
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = payload.to_vec();
            change(&mut changed);
            framed(kind, &changed)
        };
        let flip = |at: Option<usize>, bit: u8| {
            with(&move |bytes| {
                if let Some(byte) = at.and_then(|at| bytes.get_mut(at)) {
                    *byte ^= bit;
                }
            })
        };
        let bytes = match fault {
            Fault::Truncate => with(&|bytes| bytes.truncate(bytes.len().saturating_sub(1))),
            Fault::Empty => with(&Vec::clear),
            Fault::Extend => with(&|bytes| bytes.push(0)),
            Fault::FlipFirst => flip(Some(0), 1),
            Fault::FlipMiddle => flip(Some(payload.len() / 2), 1),
            Fault::FlipLast => flip(payload.len().checked_sub(1), 0x80),
            Fault::Ones => with(&|bytes| bytes.fill(0xff)),
            Fault::Zeros => with(&|bytes| bytes.fill(0)),
            Fault::Repeat => [&whole[..], &whole].concat(),
            Fault::Reorder => {
                self.held = whole;
                return Ok(());
            }
            Fault::Drop => return Ok(()),
            Fault::Trickle => return whole.chunks(1).try_for_each(|byte| self.emit(byte, wait)),
            Fault::OtherKind => framed(if kind == 1 { 2 } else { 1 }, payload),
            Fault::UnknownKind => framed(0xee, payload),
            Fault::Inflate => announcing(u32::MAX),
            Fault::InflateByOne => announcing(payload.len() as u32 + 1),
            Fault::CloseBefore => return self.close(wait),
            Fault::CloseWithin => {
                self.emit(&whole[..whole.len() / 2], wait)?;
                return self.close(wait);
            }
            Fault::Garbage => (0..64_u8).map(|i| i.wrapping_mul(151) ^ 0xa5).collect(),
            Fault::Silence => {
                self.silent = true;
                return Ok(());
            }
        };
        self.emit(&bytes, wait)
    }

    fn emit(&mut self, mut bytes: &[u8], wait: &Wait<'_>) -> Result<(), Interrupt> {
        while !bytes.is_empty() && !self.closed && !self.silent {
            let taken = self.inner.write(&[IoSlice::new(bytes)], wait)?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    fn close(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.closed = true;
        self.inner.finish(wait)
    }
}

/// Returns a message in its frames.
pub(crate) fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    let frames = frames(kind, payload).expect("a test's message");
    let bytes = frames.flat_map(|(header, carried)| [&header[..], carried].concat());
    bytes.collect()
}

/// Returns the first complete message in `bytes`: its kind and payload, and the length of all
/// frames up to its end. The first frames may belong to a message that was given up.
pub(crate) fn first_message(bytes: &[u8]) -> Option<(u8, Vec<u8>, usize)> {
    let (mut kind, mut payload, mut end) = (CONTINUED, Vec::new(), 0);
    loop {
        let (header, rest) = bytes[end..].split_first_chunk::<HEADER_BYTES>()?;
        let header = FrameHeader::parse(*header);
        if header.kind != CONTINUED {
            kind = header.kind;
            payload.clear();
        }
        payload.extend_from_slice(rest.get(..header.carried())?);
        end += HEADER_BYTES + header.carried();
        if header.is_last() {
            return Some((kind, payload, end));
        }
    }
}

impl Sink for TamperingSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut taken = 0;
        for part in parts {
            self.pending.extend_from_slice(part);
            taken += part.len();
        }
        while let Some((kind, payload, end)) = first_message(&self.pending) {
            self.pending.drain(..end);
            self.pass(kind, &payload, wait)?;
        }
        Ok(taken)
    }

    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.inner.finish(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_every_message_and_every_fault() {
        for every in [1, 4, 10] {
            let taken = |number: usize| {
                let faults = Fault::ALL.iter();
                faults.filter(move |fault| fault.in_sample(number, every))
            };
            for number in 0..every {
                assert_eq!(taken(number).count(), Fault::ALL.len() / every);
            }
            let all: Vec<_> = (7..7 + every).flat_map(taken).collect();
            assert_eq!(all.len(), Fault::ALL.len());
            assert!(Fault::ALL.iter().all(|fault| all.contains(&fault)));
        }
    }
}
