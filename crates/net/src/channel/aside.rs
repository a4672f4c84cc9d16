//! Long frames over side streams: only their headers go over the channel's own stream.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use web_time::Instant;

use super::{Channel, DIRECT_BYTES, FRAME_BYTES, FrameHeader, HEADER_BYTES};
use crate::meter::WireCounter;
use crate::sides::{ASIDE, ChannelSides, Direction, FrameBuffer};
use crate::{Awaited, Interrupt, NetError, READ_AHEAD_BYTES, Wait};

/// The bytes of payloads that go to side streams before their headers are written out.
const ANNOUNCE_BYTES: usize = 256 * 1024;

/// The interval at which a send that waits for a side stream reads the channel's own stream.
const LOOK: Duration = Duration::from_millis(2);

/// A range of bytes in memory that several threads may hold.
pub type SharedBytes = (Arc<Vec<u8>>, Range<usize>);

impl Channel {
    /// Sends a message as [`Channel::send`] does, whose payload consists of `parts`. The threads of
    /// side streams read them where they are.
    ///
    /// # Errors
    ///
    /// Those of [`Channel::send`].
    pub fn send_shared(&mut self, kind: u8, parts: Vec<SharedBytes>) -> Result<(), NetError> {
        let bytes = parts.iter().map(|(bytes, range)| &bytes[range.clone()]);
        let length = bytes.clone().map(<[u8]>::len).sum();
        if length > FRAME_BYTES {
            return self.send(kind, &bytes.collect::<Vec<_>>().concat());
        }
        self.counter.count_sent(HEADER_BYTES + length);
        let (is_aside, left) = (self.goes_aside(length), length as u32);
        let kind = if is_aside { kind | ASIDE } else { kind };
        self.outgoing.push(&FrameHeader { kind, left }.to_bytes());
        if is_aside {
            return self.send_aside(length, |out| out.push_shared(parts));
        }
        let mut written = Ok(());
        for part in bytes {
            if part.len() >= DIRECT_BYTES && written.is_ok() {
                written = self.write_out(part);
            } else {
                // Also after an error, so that no frame is torn.
                self.outgoing.push(part);
            }
        }
        written.and_then(|()| self.write_if_full())
    }

    /// Returns the same channel, with side streams.
    pub(crate) fn with_sides(self, sides: ChannelSides) -> Self {
        Self {
            sides: Some(Box::new(sides)),
            ..self
        }
    }

    /// Returns whether the channel may have side streams.
    pub(crate) fn has_sides(&self) -> bool {
        self.sides.is_some()
    }

    /// Returns whether a payload of this length, in a frame to be sent, goes over a side stream.
    pub(super) fn goes_aside(&mut self, carried: usize) -> bool {
        let Some(sides) = &mut self.sides else {
            return false;
        };
        if carried < DIRECT_BYTES {
            return false;
        }
        sides.note(true, carried);
        sides.out().is_ready()
    }

    /// Counts the payload of a received frame, from any stream.
    pub(super) fn note_received(&mut self, carried: usize) {
        if let Some(sides) = &mut self.sides
            && carried >= DIRECT_BYTES
        {
            sides.note(false, carried);
        }
    }

    /// Gives a payload of this length to a side stream, by `push`. Its header is already in the
    /// buffer.
    pub(super) fn send_aside(
        &mut self,
        carried: usize,
        push: impl FnOnce(&Direction),
    ) -> Result<(), NetError> {
        let room = self.await_aside(Awaited::Room, ChannelSides::out, Direction::await_room);
        let Some(sides) = &mut self.sides else {
            return room;
        };
        // Push even without room, so that no frame is torn.
        push(sides.out());
        sides.unannounced_bytes += carried;
        room?;
        if sides.unannounced_bytes >= ANNOUNCE_BYTES {
            sides.unannounced_bytes = 0;
            self.write_out(&[])?;
        }
        Ok(())
    }

    /// Waits until all payloads have been sent. Their headers are written out.
    pub(super) fn flush_aside(&mut self) -> Result<(), NetError> {
        let Some(sides) = &mut self.sides else {
            return Ok(());
        };
        sides.unannounced_bytes = 0;
        if !sides.out().is_ready() {
            return Ok(());
        }
        self.await_aside(Awaited::Room, ChannelSides::out, Direction::await_empty)
    }

    /// Receives into `sides.lent` the payload of a frame whose header has arrived.
    pub(super) fn receive_aside(&mut self, length: usize) -> Result<(), NetError> {
        let awaited = match self.assembly.open() {
            Some((kind, length)) => Awaited::Rest {
                kind,
                received: self.assembly.received(),
                length,
            },
            None => Awaited::Message,
        };
        if let Some(sides) = &self.sides {
            sides.inward().read_ahead(false);
        }
        let frame = self.await_aside(awaited, ChannelSides::inward, Direction::await_frame)?;
        let found = frame.payload().len();
        if let Some(sides) = &mut self.sides {
            let before = std::mem::replace(&mut sides.lent, frame);
            sides.inward().give_back(before);
        }
        if found != length {
            let (announced, expected) = (found as u32, length);
            return Err(NetError::WrongFrame {
                announced,
                expected,
            });
        }
        self.incoming.consume(HEADER_BYTES);
        Ok(())
    }

    /// Waits for an event of one direction's side streams.
    fn await_aside<T>(
        &mut self,
        awaited: Awaited,
        way: fn(&ChannelSides) -> &Direction,
        ready: fn(&Direction, Duration) -> Option<Result<T, Interrupt>>,
    ) -> Result<T, NetError> {
        let cancel = self.cancel.clone();
        let wait = self.wait_for_progress(&cancel);
        let sends = matches!(awaited, Awaited::Room);
        let begun = Instant::now();
        let mut slice = Duration::ZERO;
        loop {
            let Some(sides) = &mut self.sides else {
                return Err(NetError::Closed { awaited });
            };
            let direction = way(sides);
            let before = direction.moved();
            let found = ready(direction, slice);
            wait.moved((direction.moved() - before) as usize);
            if let Some(found) = found {
                if !slice.is_zero() {
                    sides.waiting += begun.elapsed();
                }
                return found.map_err(|interrupt| self.interrupted(interrupt, awaited));
            }
            if sends && slice.is_zero() {
                sides.inward().read_ahead(true);
            }
            slice = match wait.slice() {
                Ok(slice) => slice,
                Err(interrupt) => return Err(self.interrupted(interrupt, awaited)),
            };
            if sends {
                slice = slice.min(LOOK);
                self.take_in(&wait)
                    .map_err(|interrupt| self.interrupted(interrupt, awaited))?;
            }
        }
    }

    /// Reads what has arrived on the channel's own stream, as far as there is room for it.
    fn take_in(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        while self.reads_ahead() {
            let before = self.incoming.len();
            self.read_ahead(wait)?;
            if self.incoming.len() == before {
                break;
            }
        }
        debug_assert!(self.incoming.len() <= READ_AHEAD_BYTES);
        Ok(())
    }

    /// Returns the totals of all streams, where `own` are those of the channel's own.
    pub(super) fn wire_with_sides(&self, own: WireCounter) -> WireCounter {
        let Some(sides) = &self.sides else {
            return own;
        };
        let (out, into) = (sides.out().wire(), sides.inward().wire());
        WireCounter {
            sent_bytes: own.sent_bytes + out.sent_bytes + into.sent_bytes,
            received_bytes: own.received_bytes + out.received_bytes + into.received_bytes,
            waiting: own.waiting + sides.waiting,
        }
    }

    /// Frees the memory of side streams that is not in use.
    pub(super) fn release_aside(&mut self) {
        if let Some(sides) = &mut self.sides {
            sides.lent = FrameBuffer::default();
            sides.out().release();
            sides.inward().release();
        }
    }
}

#[cfg(test)]
impl Channel {
    pub(crate) fn sides(&self) -> Option<&ChannelSides> {
        self.sides.as_deref()
    }

    pub(crate) fn sides_mut(&mut self) -> Option<&mut ChannelSides> {
        self.sides.as_deref_mut()
    }

    /// Sends bytes that are no frame.
    pub(crate) fn push_raw(&mut self, bytes: &[u8]) {
        self.outgoing.push(bytes);
    }
}
