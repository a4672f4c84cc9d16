//! Side streams: further TLS connections of a session, which carry the payloads of long frames.
//!
//! A single thread seals, opens and copies the bytes of one TLS connection. If both parties give a
//! session several threads ([`Settings::side_streams`](crate::Settings)), long frames go over side
//! streams, each of which has a thread of its own at either end. Everything else stays the same:
//! the header of every frame, and whole short frames, go over the session's own connection.
//!
//! | step | description |
//! |---|---|
//! | agreement | by ALPN in the session's handshake: `tacit/1+N` for at most N streams in each direction, or `tacit/1` for none; it costs no message |
//! | opening | by the end that connected, in the background, once [`OPEN_AFTER_BYTES`] have gone in a direction in long frames |
//! | binding | see below |
//! | use | a direction is used once all its streams are open. A header with [`ASIDE`] in its kind says that the payload comes over the next stream of that direction, in rotation |
//! | on a stream | the length of each payload, 4 bytes little-endian, and the payload |
//!
//! **Binding.** The exporter of the session's connection (RFC 8446, 7.5; label
//! `EXPORTER-tacit-side-stream`, context: the direction and the stream's number) gives an id of 16
//! bytes and two proofs of 32. A connection begins with [`PREAMBLE`] and the id, in the clear, so
//! that a connection for no session costs no handshake. Then both ends prove the session's
//! identities by TLS. Inside TLS, the end that connects sends its proof, and the other one answers
//! with its own. So a stream of another session, of another direction or number, or of another peer
//! is refused. An observer of the network who reads the id has neither the identity nor a proof.
//! Each id is used once.
//!
//! **Order.** Headers are authenticated and in order on the session's own connection, and TLS keeps
//! the order on each stream. A frame that is omitted, cut or swapped has another length or place,
//! or fails to open.
//!
//! **Memory.** Each stream holds up to [`QUEUED_FRAMES`] frames of 256 KiB, and TLS has buffers of
//! 256 KiB. While a send waits, the bytes that arrive are bounded by
//! [`READ_AHEAD_BYTES`](crate::READ_AHEAD_BYTES) for all streams together.
//!
//! If the streams cannot be opened, for example because another process of the same identity
//! answers, the session goes on without them.

mod attend;
mod direction;
mod join;
#[cfg(test)]
mod tests;
mod work;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use attend::attend;
pub(crate) use direction::{Direction, FrameBuffer};
pub(crate) use join::{Expected, Opener, Token, is_asked_for, join};

use crate::CancelHandle;

/// The bit in the kind of a frame whose payload comes over a side stream.
pub(crate) const ASIDE: u8 = 0x80;

/// The most side streams in each direction.
pub(crate) const MOST: u8 = 8;

/// The number of frames that may wait for the thread of a stream, or for the channel.
const QUEUED_FRAMES: usize = 4;

/// The bytes in long frames after which a direction gets side streams: small runs end before.
pub(crate) const OPEN_AFTER_BYTES: u64 = 1 << 20;

/// The first bytes of a connection that is meant as a side stream.
const PREAMBLE: [u8; 8] = *b"tacit-s\n";

/// The direction of a stream's payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamDirection {
    /// From the end that connected.
    Forth,
    /// To the end that connected.
    Back,
}

impl StreamDirection {
    pub(crate) const BOTH: [Self; 2] = [Self::Forth, Self::Back];
}

/// The side streams of a channel in both directions: the state that its threads and the channel
/// share.
pub(crate) struct Sides {
    /// Ends the threads.
    stop: CancelHandle,
    forth: Direction,
    back: Direction,
}

impl Sides {
    /// Makes room for this many streams in each direction, none of which is open.
    pub(crate) fn new(streams: u8) -> Self {
        Self {
            stop: CancelHandle::new(),
            forth: Direction::new(streams),
            back: Direction::new(streams),
        }
    }

    pub(crate) fn way(&self, way: StreamDirection) -> &Direction {
        match way {
            StreamDirection::Forth => &self.forth,
            StreamDirection::Back => &self.back,
        }
    }
}

/// A channel's handle on its side streams. Their threads end once it is dropped.
pub(crate) struct ChannelSides {
    shared: Arc<Sides>,
    /// The opener of streams, at the end that connected.
    opener: Option<Opener>,
    /// The bytes in long frames so far, forth and back.
    long_bytes: [u64; 2],
    /// The bytes of payloads that went aside since the headers were written out.
    pub(crate) unannounced_bytes: usize,
    /// The time that the channel has waited for them.
    pub(crate) waiting: Duration,
    /// The payload that the channel has lent last.
    pub(crate) lent: FrameBuffer,
}

impl ChannelSides {
    pub(crate) fn new(shared: Arc<Sides>, opener: Option<Opener>) -> Self {
        Self {
            shared,
            opener,
            long_bytes: [0; 2],
            unannounced_bytes: 0,
            waiting: Duration::ZERO,
            lent: FrameBuffer::default(),
        }
    }

    /// Returns whether this is the end that connected.
    fn connects(&self) -> bool {
        self.opener.is_some()
    }

    /// Returns the direction from this end.
    pub(crate) fn out(&self) -> &Direction {
        let way = if self.connects() {
            StreamDirection::Forth
        } else {
            StreamDirection::Back
        };
        self.shared.way(way)
    }

    /// Returns the direction to this end.
    pub(crate) fn inward(&self) -> &Direction {
        let way = if self.connects() {
            StreamDirection::Back
        } else {
            StreamDirection::Forth
        };
        self.shared.way(way)
    }

    /// Counts a long frame, sent or received, and opens streams when it is time.
    pub(crate) fn note(&mut self, leaves: bool, bytes: usize) {
        let Some(opener) = &mut self.opener else {
            return;
        };
        let way = if leaves {
            StreamDirection::Forth
        } else {
            StreamDirection::Back
        };
        let total = &mut self.long_bytes[way as usize];
        let before = *total;
        *total = total.saturating_add(bytes as u64);
        if before < OPEN_AFTER_BYTES && *total >= OPEN_AFTER_BYTES {
            opener.open(way, &self.shared);
        }
    }
}

impl Drop for ChannelSides {
    fn drop(&mut self) {
        // This takes no lock: in a forked process a lock may never become free.
        self.shared.stop.cancel();
        self.shared.forth.wake_all();
        self.shared.back.wake_all();
    }
}
