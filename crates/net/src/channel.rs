//! The channel: frames over a transport, bounded in time and length.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | kind, the protocol's own |
//! | 1..5 | length of the payload, little-endian |
//! | 5.. | payload |

use std::fmt;
use std::io::IoSlice;
use std::time::Duration;

use web_time::Instant;

use crate::buffer::{BUFFER_BYTES, Buffer};
use crate::meter::FrameCounter;
use crate::tls::TlsStream;
use crate::{
    Awaited, CancelHandle, Fingerprint, Interrupt, Link, Meter, NetError, Transport, Wait,
};

/// Length of a frame's header in bytes.
pub const HEADER_BYTES: usize = 5;

/// Payloads of at least this many bytes are written from where they stand, not from the buffer.
const DIRECT_BYTES: usize = 32 * 1024;

/// How long [`Channel::close`] waits at most to get rid of what is left.
const CLOSE_AT_MOST: Duration = Duration::from_secs(5);

/// A message as it came. The payload lies in the channel's buffer until the next call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The kind that the sender gave it; any value.
    pub kind: u8,
    /// Its bytes.
    pub payload: &'a [u8],
}

impl fmt::Debug for Frame<'_> {
    /// Kind and length alone: the payload may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame(kind {}, {} bytes)", self.kind, self.payload.len())
    }
}

/// What encrypts, or doesn't, between frames and transport.
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

    /// Takes some of `parts`, which are not all empty, perhaps into a buffer of its own.
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        match self {
            Self::Clear(transport) => transport.write(parts, wait),
            Self::Tls(tls) => tls.write(parts, wait),
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

    /// Waits until a read gives something, where the transport can.
    fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self {
            Self::Clear(transport) => transport.rest(wait),
            Self::Tls(tls) => tls.rest(wait),
        }
    }

    /// Reads bytes that nobody will look at, without decrypting them.
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
/// Sending fills a buffer, which goes out when it is full, when [`Channel::flush`] is called, and
/// before [`Channel::receive`] waits. Every call returns within the timeout. After
/// [`NetError::Timeout`] or [`NetError::Cancelled`] nothing is lost: what was sent stays in order,
/// what had come stays, and the call may be made again (a send counts as made). After
/// [`NetError::Closed`] on a send, a [`Channel::receive`] still gives what the peer had to say
/// before it left. Dropping a channel drops what was not flushed.
///
/// A channel is used by one thread at a time. Two ends that both send more than lies between them
/// holds (some hundred kilobytes), and neither receives, end in a timeout.
pub struct Channel {
    stream: Stream,
    outgoing: Buffer,
    incoming: Buffer,
    counter: FrameCounter,
    timeout: Duration,
    limit: Option<TimeLimit>,
    cancel: CancelHandle,
    peer: Option<Fingerprint>,
    binding: [u8; 32],
}

/// When all waits together are over.
#[derive(Clone, Copy)]
struct TimeLimit {
    limit: Duration,
    begun: Instant,
}

impl TimeLimit {
    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }
}

impl Channel {
    /// The timeout of each wait unless told otherwise.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// The [`Channel::binding`] of channels that are not bound to anything.
    pub const UNBOUND: [u8; 32] = [0; 32];

    /// A channel over `transport`, in the clear and with a peer unknown. For transports within
    /// one machine, and for tests.
    #[must_use]
    pub fn over(transport: Transport) -> Self {
        Self::new(Stream::Clear(transport), None, Self::UNBOUND)
    }

    /// A channel over a transport that has proved by other means who the peer is, such as a tunnel
    /// or a test. `binding` is as [`Channel::binding`] has it.
    #[must_use]
    pub fn over_proved(transport: Transport, peer: Fingerprint, binding: [u8; 32]) -> Self {
        Self::new(Stream::Clear(transport), Some(peer), binding)
    }

    /// A channel over TLS whose handshake is done.
    pub(crate) fn over_tls(stream: TlsStream, peer: Fingerprint, binding: [u8; 32]) -> Self {
        Self::new(Stream::Tls(Box::new(stream)), Some(peer), binding)
    }

    fn new(stream: Stream, peer: Option<Fingerprint>, binding: [u8; 32]) -> Self {
        Self {
            stream,
            outgoing: Buffer::new(),
            incoming: Buffer::new(),
            counter: FrameCounter::default(),
            timeout: Self::DEFAULT_TIMEOUT,
            limit: None,
            cancel: CancelHandle::new(),
            peer,
            binding,
        }
    }

    /// Sends a message: into the buffer, and out as far as the buffer is too small for it.
    ///
    /// # Errors
    ///
    /// The payload is longer than a header can say, or the peer took too little for longer than
    /// the timeout, or the connection ended.
    pub fn send(&mut self, kind: u8, payload: &[u8]) -> Result<(), NetError> {
        let header = header(kind, payload.len())?;
        self.counter.count_sent(HEADER_BYTES + payload.len());
        if payload.len() >= DIRECT_BYTES {
            self.outgoing.push(&header);
            return self.write_out(payload);
        }
        self.outgoing.push(&header);
        self.outgoing.push(payload);
        self.write_if_full()
    }

    /// Writes out all that was sent.
    ///
    /// # Errors
    ///
    /// The peer took too little for longer than the timeout, or the connection ended.
    pub fn flush(&mut self) -> Result<(), NetError> {
        self.write_out(&[])
    }

    /// Receives the next message, of at most `max_len` bytes, after a flush if it has to wait.
    ///
    /// # Errors
    ///
    /// The message is not there whole within the timeout, or is announced as longer than
    /// `max_len` (nothing is allocated for it, and the channel stands still at it), or the
    /// connection ended.
    pub fn receive(&mut self, max_len: usize) -> Result<Frame<'_>, NetError> {
        let length = match self.announced(max_len)? {
            Some((_, length)) if self.incoming.len() >= HEADER_BYTES + length => length,
            _ => self.wait_for_frame(max_len)?,
        };
        self.counter.count_received(HEADER_BYTES + length);
        let frame = self.incoming.take(HEADER_BYTES + length);
        Ok(Frame {
            kind: frame[0],
            payload: &frame[HEADER_BYTES..],
        })
    }

    /// [`Channel::meter`], from which on rounds are counted by themselves: the next message begins
    /// one, whichever way the last went.
    pub fn mark(&mut self) -> Meter {
        self.counter.forget_direction();
        self.meter()
    }

    /// What this channel has carried.
    #[must_use]
    pub fn meter(&self) -> Meter {
        self.counter.snapshot(self.stream.transport().counter())
    }

    /// The longest that one call may wait.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sets the longest that one call may wait.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Bounds all waits from now on together, whatever the timeout of each: a peer that is
    /// slow at everything cannot go on forever. `None` takes the bound away.
    pub fn set_time_limit(&mut self, limit: Option<Duration>) {
        let begun = Instant::now();
        self.limit = limit.map(|limit| TimeLimit { limit, begun });
    }

    /// Passes unless this channel is cancelled or its time limit over: for a side that works for
    /// long without sending or receiving.
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

    /// The longest that the next call may wait.
    fn patience(&self) -> Duration {
        match self.limit {
            Some(limit) => self.timeout.min(limit.left()),
            None => self.timeout,
        }
    }

    /// The handle that ends this channel's waits.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Puts this channel under another handle, which may serve many.
    pub fn set_cancel_handle(&mut self, cancel: CancelHandle) {
        self.cancel = cancel;
    }

    /// Who the peer has proved to be; `None` where nothing was proved (plain TCP, memory).
    #[must_use]
    pub fn peer(&self) -> Option<Fingerprint> {
        self.peer
    }

    /// A value that both ends of this very connection know, and that no other connection has:
    /// the TLS exporter (RFC 8446, 7.5) with the label `EXPORTER-tacit-session` and an empty
    /// context. [`Channel::UNBOUND`] for plain TCP and memory, where nothing stands behind it.
    #[must_use]
    pub fn binding(&self) -> [u8; 32] {
        self.binding
    }

    /// The same channel, delaying and pacing what it sends from now on as `link` says.
    #[must_use]
    pub fn shaped(self, link: Link) -> Self {
        let stream = match self.stream {
            Stream::Clear(transport) => Stream::Clear(transport.shaped(link)),
            Stream::Tls(tls) => Stream::Tls(Box::new(tls.shaped(link))),
        };
        Self { stream, ..self }
    }

    /// Writes out all that was sent and tells the peer that no more follows.
    ///
    /// # Errors
    ///
    /// As [`Channel::flush`].
    pub fn close(mut self) -> Result<(), NetError> {
        self.finish(self.timeout.min(CLOSE_AT_MOST))
    }

    /// Sends one last message and closes, within `time`, even when cancelled: to tell the peer why
    /// this side leaves. What the peer sends meanwhile is thrown away, so that it comes to read
    /// the message; a connection closed over unread bytes is reset, and the message lost.
    ///
    /// # Errors
    ///
    /// The message could not be sent in that time.
    pub fn abort(mut self, kind: u8, payload: &[u8], time: Duration) -> Result<(), NetError> {
        self.cancel = CancelHandle::new();
        self.part(kind, payload, time)
    }

    /// As [`Channel::abort`], but ends at once where the channel is cancelled.
    pub(crate) fn part(mut self, kind: u8, payload: &[u8], time: Duration) -> Result<(), NetError> {
        self.limit = None;
        self.timeout = time;
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

    /// Kind and length of the next message if its header is here.
    fn announced(&self, max_len: usize) -> Result<Option<(u8, usize)>, NetError> {
        let Some(header) = self.incoming.filled().first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [kind, l0, l1, l2, l3] = *header;
        let announced = u32::from_le_bytes([l0, l1, l2, l3]);
        match usize::try_from(announced) {
            Ok(length) if length <= max_len => Ok(Some((kind, length))),
            _ if matches!(self.stream, Stream::Clear(_)) && is_tls(*header) => {
                Err(NetError::OneSidedTls)
            }
            _ => Err(NetError::TooLong {
                kind,
                announced,
                limit: max_len,
            }),
        }
    }

    /// Waits until the next message is here whole. One deadline covers all of it, so that a peer
    /// cannot hold this side by sending a byte now and then.
    fn wait_for_frame(&mut self, max_len: usize) -> Result<usize, NetError> {
        match self.flush() {
            // The peer takes no more, but may have said why before it left.
            Ok(()) | Err(NetError::Closed { .. }) => {}
            Err(error) => return Err(error),
        }
        let cancel = self.cancel.clone();
        let wait = Wait::at_most(self.patience(), &cancel);
        self.fill(HEADER_BYTES, &wait, max_len)?;
        let Some((_, length)) = self.announced(max_len)? else {
            return Err(self.closed(max_len));
        };
        self.fill(HEADER_BYTES + length, &wait, max_len)?;
        Ok(length)
    }

    fn fill(&mut self, need: usize, wait: &Wait<'_>, max_len: usize) -> Result<(), NetError> {
        let stream = &mut self.stream;
        match self.incoming.fill(need, |spare| stream.read(spare, wait)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.closed(max_len)),
            Err(interrupt) => Err(self.interrupted(interrupt, self.awaited(max_len))),
        }
    }

    fn awaited(&self, max_len: usize) -> Awaited {
        match self.announced(max_len) {
            Ok(Some((kind, length))) => Awaited::Rest {
                kind,
                received: self.incoming.len() - HEADER_BYTES,
                length,
            },
            _ => Awaited::Message,
        }
    }

    fn closed(&self, max_len: usize) -> NetError {
        NetError::Closed {
            awaited: self.awaited(max_len),
        }
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
        if self.outgoing.len() >= BUFFER_BYTES - DIRECT_BYTES {
            self.write_out(&[])?;
        }
        Ok(())
    }

    /// Writes out the buffer and then `rest`. What of `rest` was not written when an error comes
    /// goes into the buffer, so that no frame is torn.
    fn write_out(&mut self, mut rest: &[u8]) -> Result<(), NetError> {
        let cancel = self.cancel.clone();
        let wait = Wait::at_most(self.patience(), &cancel);
        while self.outgoing.len() + rest.len() > 0 {
            let parts = [IoSlice::new(self.outgoing.filled()), IoSlice::new(rest)];
            match self.stream.write(&parts, &wait) {
                Ok(count) => {
                    let buffered = count.min(self.outgoing.len());
                    self.outgoing.consume(buffered);
                    rest = &rest[count - buffered..];
                }
                Err(interrupt) => {
                    self.outgoing.push(rest);
                    return Err(self.interrupted(interrupt, Awaited::Room));
                }
            }
        }
        self.stream
            .flush(&wait)
            .map_err(|interrupt| self.interrupted(interrupt, Awaited::Room))
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("peer", &self.peer)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Whether a peer that was to speak in the clear begins a TLS record: an alert or a handshake, of
/// some version 3.x (RFC 8446, section 5.1).
fn is_tls([kind, major, minor, ..]: [u8; HEADER_BYTES]) -> bool {
    const ALERT: u8 = 21;
    const HANDSHAKE: u8 = 22;
    matches!(kind, ALERT | HANDSHAKE) && major == 3 && minor <= 4
}

fn header(kind: u8, length: usize) -> Result<[u8; HEADER_BYTES], NetError> {
    let Ok(announced) = u32::try_from(length) else {
        return Err(NetError::TooLongToSend { kind, length });
    };
    let [l0, l1, l2, l3] = announced.to_le_bytes();
    Ok([kind, l0, l1, l2, l3])
}

mod next;
#[cfg(test)]
mod tests;
