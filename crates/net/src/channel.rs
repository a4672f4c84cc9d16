//! The channel: messages in [frames](mod@frames) over a transport, bounded in time and length.

use std::fmt;
use std::io::IoSlice;
use std::time::Duration;

use web_time::Instant;

pub use self::aside::SharedBytes;
use self::frames::Assembly;
pub use self::frames::{CONTINUED, FRAME_BYTES, FrameHeader, HEADER_BYTES, frames};
use crate::buffer::Buffer;
use crate::identity::worker::{ShownIdentity, WorkerTerms};
use crate::meter::FrameCounter;
use crate::sides::{ASIDE, ChannelSides};
use crate::tls::TlsStream;
use crate::{
    Awaited, CancelHandle, Fingerprint, Interrupt, Link, Meter, NetError, Transport, Wait,
};

/// Frames of at least this many bytes are written from the caller's memory, not from the buffer.
pub(crate) const DIRECT_BYTES: usize = 32 * 1024;

/// The most bytes of frames that a channel reads while a send waits for room. The memory for them
/// grows by doubling, by at most 300 KiB too much, and is freed once they are received.
pub const READ_AHEAD_BYTES: usize = 16 << 20;

/// The least room when a channel reads ahead, in bytes.
const READ_AT_ONCE: usize = 64 * 1024;

/// The longest time that [`Channel::close`] takes to send the rest.
const CLOSE_AT_MOST: Duration = Duration::from_secs(5);

/// A message as it arrived. The payload is in the channel's memory and valid until the next call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The kind that the sender gave it. Any value is possible.
    pub kind: u8,
    /// The payload.
    pub payload: &'a [u8],
}

impl fmt::Debug for Frame<'_> {
    /// Prints kind and length only: the payload may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame(kind {}, {} bytes)", self.kind, self.payload.len())
    }
}

/// The layer between frames and transport, with or without encryption.
enum Stream {
    Clear(Transport),
    Tls(Box<TlsStream>),
}

impl Stream {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        match self {
            Self::Clear(transport) => transport.read(into, wait),
            Self::Tls(tls) => tls.read(into, wait),
        }
    }

    /// Takes some of `parts`, which are not all empty. They may go into a buffer of its own.
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        match self {
            Self::Clear(transport) => transport.write(parts, wait),
            Self::Tls(tls) => tls.write(parts, wait),
        }
    }

    /// Reads the bytes that have arrived, if any, without a wait for the rest of a record.
    fn read_at_once(
        &mut self,
        into: &mut [u8],
        wait: &Wait<'_>,
    ) -> Result<Option<usize>, Interrupt> {
        match self {
            Self::Clear(transport) => transport.read_at_once(into, wait),
            Self::Tls(tls) => tls.read_at_once(into, wait),
        }
    }

    fn flush(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self {
            Self::Clear(_) => Ok(()),
            Self::Tls(tls) => tls.flush(wait),
        }
    }

    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self {
            Self::Clear(transport) => transport.finish(wait),
            Self::Tls(tls) => tls.finish(wait),
        }
    }

    /// Waits until a read returns something, if the transport can.
    fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self {
            Self::Clear(transport) => transport.rest(wait),
            Self::Tls(tls) => tls.rest(wait),
        }
    }

    /// Reads and discards bytes, without decrypting them.
    fn discard(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        match self {
            Self::Clear(transport) => transport.read(into, wait),
            Self::Tls(tls) => tls.discard(into, wait),
        }
    }

    fn transport(&self) -> &Transport {
        match self {
            Self::Clear(transport) => transport,
            Self::Tls(tls) => tls.transport(),
        }
    }
}

/// A connection to one peer that carries frames both ways.
///
/// Sending fills a buffer, which is written out when it is full, when [`Channel::flush`] is called,
/// and before [`Channel::receive`] waits. Every call returns at the latest when fewer than
/// [`PROGRESS_BYTES`](crate::PROGRESS_BYTES) moved within the timeout. So n bytes take at most
/// n / `PROGRESS_BYTES` timeouts. [`Channel::set_time_limit`] bounds all calls together.
///
/// After [`NetError::Timeout`] or [`NetError::Cancelled`] the received bytes stay, and the call may
/// be repeated. Sent bytes stay in order, and a send counts as made. However, no further frame of
/// an incomplete message is sent, so that the next message, which may give the reason, takes its
/// place. After [`NetError::Closed`] on a send, [`Channel::receive`] still returns the messages
/// that the peer sent before it left. Dropping a channel drops all bytes that were not flushed.
///
/// A received message is in memory as a whole. Its memory grows as it arrives, up to its length;
/// while it moves to a larger allocation, it takes half as much again.
///
/// While a send waits for room, the channel reads what the peer sends, up to [`READ_AHEAD_BYTES`].
/// So each end may send half of that before it receives. Two ends that send more and never receive
/// end in a timeout, as they do over a transport that cannot tell whether bytes have arrived (one
/// with a [mapped](Transport::map_sink) sink, and sockets on systems other than Unix).
///
/// If both ends have agreed on side streams ([`Settings::side_streams`](crate::Settings)), these
/// carry the payloads of long frames, and the bounds hold for all streams together.
///
/// A channel is used by one thread at a time.
pub struct Channel {
    stream: Stream,
    outgoing: Buffer,
    incoming: Buffer,
    assembly: Assembly,
    /// Whether the peer has closed its direction, or it broke.
    has_ended: bool,
    counter: FrameCounter,
    timeout: Duration,
    limit: Option<TimeLimit>,
    cancel: CancelHandle,
    peer: Option<ShownIdentity>,
    binding: [u8; 32],
    /// The side streams, which carry the payloads of long frames, if both ends have agreed on them.
    sides: Option<Box<ChannelSides>>,
}

/// The end of all waits together.
#[derive(Clone, Copy)]
struct TimeLimit {
    limit: Duration,
    begun: Instant,
}

impl TimeLimit {
    /// Returns the end; `None` beyond the clock's range.
    fn end(&self) -> Option<Instant> {
        self.begun.checked_add(self.limit)
    }

    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }
}

impl Channel {
    /// The default timeout of each wait.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// The [`Channel::binding`] of channels that are not bound to anything.
    pub const UNBOUND: [u8; 32] = [0; 32];

    /// Returns a channel over `transport`, in the clear and with an unknown peer. For transports
    /// within one machine, and for tests.
    pub fn over(transport: Transport) -> Self {
        Self::new(Stream::Clear(transport), None, Self::UNBOUND)
    }

    /// Returns a channel over a transport that has authenticated the peer by other means, such as a
    /// tunnel or a test. [`Channel::binding`] describes `binding`.
    pub fn over_proved(transport: Transport, peer: Fingerprint, binding: [u8; 32]) -> Self {
        Self::new(Stream::Clear(transport), Some(peer.into()), binding)
    }

    /// Returns a channel over TLS after its handshake.
    pub(crate) fn over_tls(stream: TlsStream, peer: ShownIdentity, binding: [u8; 32]) -> Self {
        Self::new(Stream::Tls(Box::new(stream)), Some(peer), binding)
    }

    fn new(stream: Stream, peer: Option<ShownIdentity>, binding: [u8; 32]) -> Self {
        Self {
            stream,
            outgoing: Buffer::new(),
            incoming: Buffer::new(),
            assembly: Assembly::default(),
            has_ended: false,
            counter: FrameCounter::default(),
            timeout: Self::DEFAULT_TIMEOUT,
            limit: None,
            cancel: CancelHandle::new(),
            peer,
            binding,
            sides: None,
        }
    }

    /// Sends a message of any kind except [`CONTINUED`]; with side streams the kind is below 128.
    /// The message goes into the buffer; bytes that do not fit are written out.
    ///
    /// # Errors
    ///
    /// The payload is longer than a header can express, the peer took too little for longer than
    /// the timeout, or the connection ended.
    pub fn send(&mut self, kind: u8, payload: &[u8]) -> Result<(), NetError> {
        debug_assert_ne!(kind, CONTINUED, "no message has this kind");
        debug_assert!(!self.has_sides() || kind < ASIDE, "no kind has this bit");
        for (mut header, carried) in frames(kind, payload)? {
            self.counter.count_sent(HEADER_BYTES + carried.len());
            if self.goes_aside(carried.len()) {
                header[0] |= ASIDE;
                self.outgoing.push(&header);
                self.send_aside(carried.len(), |out| out.push(carried))?;
                continue;
            }
            self.outgoing.push(&header);
            if carried.len() >= DIRECT_BYTES {
                self.write_out(carried)?;
            } else {
                self.outgoing.push(carried);
                self.write_if_full()?;
            }
        }
        Ok(())
    }

    /// Writes out everything that was sent.
    ///
    /// # Errors
    ///
    /// The peer took too little for longer than the timeout, or the connection ended.
    pub fn flush(&mut self) -> Result<(), NetError> {
        self.write_out(&[])?;
        self.flush_aside()
    }

    /// Returns [`Channel::meter`] and starts a new count of rounds: the next message starts a
    /// round even if it goes in the direction of the last one.
    pub fn mark(&mut self) -> Meter {
        self.counter.forget_direction();
        self.meter()
    }

    /// Returns the traffic and waiting time of this channel so far.
    pub fn meter(&self) -> Meter {
        let own = *self.stream.transport().counter();
        self.counter.snapshot(&self.wire_with_sides(own))
    }

    /// Returns the longest time that one call may wait.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sets the longest time that one call may wait.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sets a time from now on after which no wait goes on, in addition to the timeout of each, so
    /// that a peer that is slow at everything cannot go on forever. `None` removes the bound.
    pub fn set_time_limit(&mut self, limit: Option<Duration>) {
        let begun = Instant::now();
        self.limit = limit.map(|limit| TimeLimit { limit, begun });
    }

    /// Checks that this channel is neither cancelled nor beyond its time limit. For a side that
    /// works for long without sending or receiving.
    ///
    /// # Errors
    ///
    /// [`NetError::Cancelled`] or [`NetError::TimeLimit`].
    pub fn check(&self) -> Result<(), NetError> {
        let cancel = self.cancel_handle();
        let checked = match self.limit {
            Some(limit) => Wait::at_most(limit.left(), &cancel).slice(),
            None => Wait::until(&cancel).slice(),
        };
        checked
            .map(|_| ())
            .map_err(|interrupt| self.interrupted(interrupt, Awaited::Work))
    }

    /// Returns the longest time that the next call may wait.
    fn patience(&self) -> Duration {
        match self.limit {
            Some(limit) => self.timeout.min(limit.left()),
            None => self.timeout,
        }
    }

    fn wait_for_progress<'c>(&self, cancel: &'c CancelHandle) -> Wait<'c> {
        let end = self.limit.and_then(|limit| limit.end());
        Wait::for_progress(self.timeout, end, cancel)
    }

    /// Returns the handle that ends this channel's waits.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Replaces this channel's handle. One handle may serve many channels.
    pub fn set_cancel_handle(&mut self, cancel: CancelHandle) {
        self.cancel = cancel;
    }

    /// Returns the peer's authenticated identity; `None` without authentication (plain TCP,
    /// memory).
    pub fn peer(&self) -> Option<Fingerprint> {
        self.peer.as_ref().map(|peer| peer.fingerprint)
    }

    /// Returns the worker that the peer is, if it is not the party itself.
    pub fn peer_worker(&self) -> Option<&WorkerTerms> {
        self.peer.as_ref()?.worker.as_ref()
    }

    /// Returns a value that both ends of this connection know and that no other connection has: the
    /// TLS exporter (RFC 8446, 7.5) with the label `EXPORTER-tacit-session` and an empty context.
    /// It is [`Channel::UNBOUND`] for plain TCP and memory, which offer no such value.
    pub fn binding(&self) -> [u8; 32] {
        self.binding
    }

    /// Returns the same channel. From now on it delays and paces what it sends, as `link` says.
    #[must_use]
    pub fn shaped(self, link: Link) -> Self {
        let stream = match self.stream {
            Stream::Clear(transport) => Stream::Clear(transport.shaped(link)),
            Stream::Tls(tls) => Stream::Tls(Box::new(tls.shaped(link))),
        };
        // Each stream would imitate a link of its own.
        let sides = None;
        Self {
            stream,
            sides,
            ..self
        }
    }

    /// Writes out everything that was sent and tells the peer that no more follows.
    ///
    /// # Errors
    ///
    /// Those of [`Channel::flush`].
    pub fn close(mut self) -> Result<(), NetError> {
        self.finish(self.timeout.min(CLOSE_AT_MOST))
    }

    /// Sends one last message and closes, within `time` and even when cancelled, to tell the peer
    /// why this side leaves. Discards the peer's bytes meanwhile, so that the peer gets to read the
    /// message: closing a connection with unread bytes resets it, and the message is lost.
    ///
    /// # Errors
    ///
    /// The message could not be sent in that time.
    pub fn abort(mut self, kind: u8, payload: &[u8], time: Duration) -> Result<(), NetError> {
        self.cancel = CancelHandle::new();
        self.part(kind, payload, time)
    }

    /// Does the same as [`Channel::abort`], but ends at once if the channel is cancelled.
    pub(crate) fn part(mut self, kind: u8, payload: &[u8], time: Duration) -> Result<(), NetError> {
        self.limit = None;
        self.timeout = time;
        if let Some(sides) = &self.sides {
            sides.inward().discard();
        }
        self.send(kind, payload)?;
        self.finish(time)?;
        let cancel = self.cancel.clone();
        let wait = Wait::at_most(time, &cancel);
        let spare = self.incoming.spare(1);
        while matches!(self.stream.discard(spare, &wait), Ok(1..)) {}
        Ok(())
    }

    fn finish(&mut self, time: Duration) -> Result<(), NetError> {
        self.timeout = time;
        self.flush()?;
        let cancel = self.cancel.clone();
        let wait = Wait::at_most(time, &cancel);
        self.stream
            .finish(&wait)
            .map_err(|interrupt| self.interrupted(interrupt, Awaited::Room))
    }

    fn interrupted(&self, interrupt: Interrupt, awaited: Awaited) -> NetError {
        if let (Interrupt::TimedOut, Some(limit)) = (&interrupt, self.limit)
            && limit.left().is_zero()
        {
            let limit = limit.limit;
            return NetError::TimeLimit { awaited, limit };
        }
        NetError::interrupted(interrupt, awaited, self.timeout)
    }

    fn write_if_full(&mut self) -> Result<(), NetError> {
        if self.outgoing.len() >= FRAME_BYTES {
            self.write_out(&[])?;
        }
        Ok(())
    }

    /// Writes out the buffer and then `rest`. If an error occurs, the unwritten part of `rest` goes
    /// into the buffer, so that no frame is torn.
    fn write_out(&mut self, mut rest: &[u8]) -> Result<(), NetError> {
        let cancel = self.cancel.clone();
        let mut wait = self.wait_for_progress(&cancel);
        loop {
            wait = wait.reading(self.reads_ahead());
            let is_all = self.outgoing.len() + rest.len() == 0;
            let written = if is_all {
                self.stream.flush(&wait).map(|()| 0)
            } else {
                let parts = [IoSlice::new(self.outgoing.filled()), IoSlice::new(rest)];
                self.stream.write(&parts, &wait)
            };
            let ended = match written {
                Ok(_) if is_all => return Ok(()),
                Ok(count) => {
                    let buffered = count.min(self.outgoing.len());
                    self.outgoing.consume(buffered);
                    rest = &rest[count - buffered..];
                    continue;
                }
                Err(Interrupt::Readable) => match self.read_ahead(&wait) {
                    Ok(()) => continue,
                    Err(interrupt) => interrupt,
                },
                Err(interrupt) => interrupt,
            };
            self.outgoing.push(rest);
            return Err(self.interrupted(ended, Awaited::Room));
        }
    }

    /// Returns whether a send that waits for room reads what arrives meanwhile.
    fn reads_ahead(&self) -> bool {
        let has_room = self.incoming.len() < READ_AHEAD_BYTES;
        has_room && !self.has_ended && self.stream.transport().reads_ahead()
    }

    /// Reads what has arrived. That is no progress of the waiting send.
    fn read_ahead(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        let room = READ_AHEAD_BYTES - self.incoming.len();
        let spare = self.incoming.spare(room.min(READ_AT_ONCE));
        let most = spare.len().min(room);
        match self.stream.read_at_once(&mut spare[..most], wait) {
            // Writing finds out whether the connection has ended in both directions.
            Ok(Some(0)) | Err(Interrupt::Io(_)) => self.has_ended = true,
            Ok(Some(count)) => self.incoming.extend_by(count),
            Ok(None) => {}
            Err(interrupt) => return Err(interrupt),
        }
        Ok(())
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("peer", &self.peer())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

mod aside;

#[cfg(all(test, unix))]
mod duplex;
mod frames;
mod next;
mod receive;
