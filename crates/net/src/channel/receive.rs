//! Receives messages: reads frames as they arrive, and joins those of a long message.

use std::borrow::Cow;
use std::mem;

use super::{CONTINUED, Channel, Frame, FrameHeader, HEADER_BYTES, Stream};
use crate::buffer::Buffer;
use crate::sides::{ASIDE, ChannelSides};
use crate::{Awaited, NetError, Wait};

/// A frame whose header has arrived.
#[derive(Clone, Copy)]
struct NextFrame {
    header: FrameHeader,
    /// Whether its payload comes by a side stream.
    is_aside: bool,
}

impl NextFrame {
    /// Returns the number of its bytes in the channel's own stream.
    fn own_bytes(&self) -> usize {
        if self.is_aside {
            return HEADER_BYTES;
        }
        HEADER_BYTES + self.header.carried()
    }

    /// Returns its payload once it has arrived, from the side streams or from the channel's own.
    fn payload<'a>(&self, incoming: &'a mut Buffer, sides: Option<&'a ChannelSides>) -> &'a [u8] {
        match sides {
            Some(sides) if self.is_aside => sides.lent.payload(),
            _ => &incoming.take(self.own_bytes())[HEADER_BYTES..],
        }
    }
}

impl Channel {
    /// Receives the next message, of at most `max_len` bytes. Flushes first if it has to wait.
    ///
    /// # Errors
    ///
    /// The message does not arrive within the timeout, or arrives too slowly once it has started;
    /// it is announced as longer than `max_len` (nothing is allocated for it, and the channel reads
    /// no further); or the connection ended.
    pub fn receive(&mut self, max_len: usize) -> Result<Frame<'_>, NetError> {
        let (kind, only) = self.receive_message(max_len)?;
        let payload = match only {
            Some(only) => only.payload(&mut self.incoming, self.sides.as_deref()),
            None => self.assembly.whole(),
        };
        Ok(Frame { kind, payload })
    }

    /// Receives the next message as [`Channel::receive`] does. Returns its kind and its payload,
    /// which the channel gives away, for the memory `spare`, if it came over a side stream.
    ///
    /// # Errors
    ///
    /// Those of [`Channel::receive`].
    pub fn receive_given(
        &mut self,
        max_len: usize,
        spare: &mut Vec<u8>,
    ) -> Result<(u8, Cow<'_, [u8]>), NetError> {
        let (kind, only) = self.receive_message(max_len)?;
        let payload = match (only, &mut self.sides) {
            (Some(only), Some(sides)) if only.is_aside => {
                Cow::Owned(sides.lent.exchange(mem::take(spare)))
            }
            (Some(only), _) => only.payload(&mut self.incoming, None).into(),
            (None, _) => self.assembly.whole().into(),
        };
        Ok((kind, payload))
    }

    /// Receives the next message. Returns its kind and its only frame, or `None` if it has several
    /// frames, which have been joined.
    fn receive_message(&mut self, max_len: usize) -> Result<(u8, Option<NextFrame>), NetError> {
        loop {
            let next = match self.announced(max_len)? {
                Some(next) if self.incoming.len() >= next.own_bytes() => next,
                _ => self.wait_for_frame(max_len)?,
            };
            let header = next.header;
            if next.is_aside {
                self.flush_or_closed()?;
                self.receive_aside(header.carried())?;
            }
            self.note_received(header.carried());
            self.counter.count_received(HEADER_BYTES + header.carried());
            if header.kind != CONTINUED && header.is_last() {
                self.assembly.pass_short();
                return Ok((header.kind, Some(next)));
            }
            let carried = next.payload(&mut self.incoming, self.sides.as_deref());
            if let Some(kind) = self.assembly.add(header, carried) {
                return Ok((kind, None));
            }
        }
    }

    /// Returns the header of the next frame, if it has arrived.
    fn announced(&self, max_len: usize) -> Result<Option<NextFrame>, NetError> {
        let Some(bytes) = self.incoming.filled().first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let next = self.next_frame(*bytes);
        let header = next.header;
        let (kind, length) = match (header.kind, self.assembly.open()) {
            (CONTINUED, Some((kind, length))) => {
                let expected = length - self.assembly.received();
                if header.left() != expected {
                    let announced = header.left;
                    return Err(NetError::WrongFrame {
                        announced,
                        expected,
                    });
                }
                (kind, length)
            }
            (CONTINUED, None) => {
                let (announced, expected) = (header.left, 0);
                return Err(NetError::WrongFrame {
                    announced,
                    expected,
                });
            }
            // An unfinished message may give way only to a message of one frame, such as an abort.
            // Any longer one would start a new wait each time, without an end.
            (_, Some((_, length))) if !header.is_last() => {
                let (announced, expected) = (header.left, length - self.assembly.received());
                return Err(NetError::WrongFrame {
                    announced,
                    expected,
                });
            }
            (kind, _) => (kind, header.left()),
        };
        if length <= max_len {
            return Ok(Some(next));
        }
        if matches!(self.stream, Stream::Clear(_)) && is_tls(*bytes) {
            return Err(NetError::OneSidedTls);
        }
        Err(NetError::TooLong {
            kind,
            announced: length as u32,
            limit: max_len,
        })
    }

    /// Waits until the next frame has arrived completely. A peer that sends a byte now and then
    /// makes no progress by that.
    fn wait_for_frame(&mut self, max_len: usize) -> Result<NextFrame, NetError> {
        self.flush_or_closed()?;
        let cancel = self.cancel.clone();
        let wait = self.wait_for_progress(&cancel);
        self.fill(HEADER_BYTES, &wait, max_len)?;
        let Some(next) = self.announced(max_len)? else {
            return Err(self.closed(max_len));
        };
        self.fill(next.own_bytes(), &wait, max_len)?;
        Ok(next)
    }

    /// Writes out everything that was sent, unless the peer has closed. A peer that has left may
    /// have sent the reason before.
    fn flush_or_closed(&mut self) -> Result<(), NetError> {
        match self.flush() {
            Err(NetError::Closed { .. }) => Ok(()),
            flushed => flushed,
        }
    }

    /// Returns the frame that a header describes.
    fn next_frame(&self, bytes: [u8; HEADER_BYTES]) -> NextFrame {
        let mut header = FrameHeader::parse(bytes);
        let is_aside = self.sides.is_some() && header.kind & ASIDE != 0;
        if is_aside {
            header.kind &= !ASIDE;
        }
        NextFrame { header, is_aside }
    }

    /// Returns the kind of the next frame, if its header has arrived.
    pub(super) fn kind_here(&self) -> Option<u8> {
        let bytes = self.incoming.filled().first_chunk::<HEADER_BYTES>()?;
        Some(self.next_frame(*bytes).header.kind)
    }

    pub(super) fn fill(
        &mut self,
        need: usize,
        wait: &Wait<'_>,
        max_len: usize,
    ) -> Result<(), NetError> {
        let stream = &mut self.stream;
        let read = |spare: &mut [u8]| {
            let count = stream.read(spare, wait)?;
            wait.moved(count);
            Ok(count)
        };
        match self.incoming.fill(need, read) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.closed(max_len)),
            Err(interrupt) => Err(self.interrupted(interrupt, self.awaited(max_len))),
        }
    }

    fn awaited(&self, max_len: usize) -> Awaited {
        let received = self.assembly.received();
        match (self.assembly.open(), self.announced(max_len)) {
            (Some((kind, length)), announced) => {
                let here = self.incoming.len().saturating_sub(HEADER_BYTES);
                let received = received + announced.map_or(0, |_| here);
                Awaited::Rest {
                    kind,
                    received,
                    length,
                }
            }
            (None, Ok(Some(next))) => Awaited::Rest {
                kind: next.header.kind,
                received: self.incoming.len() - HEADER_BYTES,
                length: next.header.left(),
            },
            (None, _) => Awaited::Message,
        }
    }

    fn closed(&self, max_len: usize) -> NetError {
        NetError::Closed {
            awaited: self.awaited(max_len),
        }
    }
}

/// Returns whether a peer that should speak in the clear begins with a TLS record: an alert or a
/// handshake, of any version 3.x (RFC 8446, section 5.1).
fn is_tls([kind, major, minor, ..]: [u8; HEADER_BYTES]) -> bool {
    const ALERT: u8 = 21;
    const HANDSHAKE: u8 = 22;
    matches!(kind, ALERT | HANDSHAKE) && major == 3 && minor <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_tls_are_known_from_messages() {
        assert!(is_tls([21, 3, 3, 0, 2]) && is_tls([22, 3, 1, 2, 0]));
        assert!(
            !is_tls([21, 4, 3, 0, 2]) && !is_tls([23, 3, 3, 0, 2]) && !is_tls([22, 3, 5, 0, 2])
        );
    }
}
