//! WebSockets (RFC 6455) as transports, for pages, which have no other sockets.
//!
//! TLS runs inside as it does over TCP, so a proxy may end the outer TLS and learn nothing. Bytes
//! travel in binary messages, whose boundaries mean nothing; text messages say how many of the
//! bytes were taken ([`credit`]). A browser reports the origin of a page; a page whose origin is
//! not allowed is refused, so that a stranger's page cannot use the network of its visitor. A
//! program reports no origin, or any that it likes: TLS keeps strangers out.

mod arrived;
mod credit;
mod guest;

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::handshake::{HandshakeError, HandshakeRole, MidHandshake};
use tungstenite::http::{HeaderValue, StatusCode, header};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket, accept_hdr_with_config, client};
use web_time::Instant;

use self::arrived::Arrived;
use self::credit::{Credit, WINDOW};
pub use self::guest::{Guest, GuestEvent, RelayedMessage};
use crate::{Awaited, Interrupt, NetError, Settings, Sink, Source, Transport, Wait, tcp};

/// The name of the inner protocol at both sides: bytes, and counts of taken bytes.
const SUBPROTOCOL: &str = "tacit-2";

/// The longest messages, in bytes: of those received, and of those sent.
const MAX_MESSAGE: usize = 512 * 1024;
const MESSAGE: usize = 64 * 1024;
const _: () = assert!(MAX_MESSAGE <= WINDOW);

/// The bytes that are read before the wait is checked again: a peer may send pieces without content
/// for as long as it likes.
const READ_BUDGET: usize = 1 << 20;

/// The time for which messages are read before the wait is checked again.
const READ_TIME: Duration = Duration::from_millis(25);

/// The most messages that are read in a row until one has content: a peer may send messages without
/// content for as long as it likes.
const MOST_LOOKS: usize = 64;

/// The longest part of an origin that an error shows.
const SHOWN: usize = 100;

/// A socket whose reads pause when the budget is used up, or its time: a peer may send a byte now
/// and then, so that none waits long.
struct Budgeted {
    socket: Arc<TcpStream>,
    budget: usize,
    /// The end of the time. The library itself bounds a handshake, which has none.
    until: Option<Instant>,
}

impl Budgeted {
    /// Allows the next reads, until the wait is checked again.
    fn renew(&mut self) {
        (self.budget, self.until) = (READ_BUDGET, Some(Instant::now() + READ_TIME));
    }
}

impl Read for Budgeted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.budget);
        if most == 0 || self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = (&*self.socket).read(&mut into[..most])?;
        self.budget -= count;
        Ok(count)
    }
}

impl Write for Budgeted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.socket).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.socket).flush()
    }
}

/// Returns whether the first byte belongs to an HTTP request: the first byte of TLS is no letter of
/// one.
pub(crate) fn is_asked_for(socket: &TcpStream, wait: &Wait<'_>) -> Result<bool, Interrupt> {
    let mut first = [0];
    let count = tcp::repeat(wait, || socket.peek(&mut first))?;
    Ok(count == 1 && first == *b"G")
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(MESSAGE)
        .write_buffer_size(0)
        .max_write_buffer_size(4 * MESSAGE)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
}

/// Answers a page or a program that asks for a WebSocket on `socket`.
pub(crate) fn accept(
    socket: TcpStream,
    origins: &[String],
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Transport, NetError> {
    agree(Arc::new(socket), origins, settings, wait).map(transport)
}

#[expect(
    clippy::result_large_err,
    reason = "the library wants a whole response as the refusal"
)]
fn agree(
    socket: Arc<TcpStream>,
    origins: &[String],
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<WebSocket<Budgeted>, NetError> {
    let mut stranger = None;
    let answer = |request: &Request, mut response: Response| {
        let origin = request.headers().get(header::ORIGIN);
        let is_known = |origin: &HeaderValue| origins.iter().any(|known| origin == known.as_str());
        if let Some(origin) = origin.filter(|origin| !is_known(origin)) {
            stranger = Some(shown(origin));
            return Err(refusal(StatusCode::FORBIDDEN));
        }
        let asked = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
        if asked.is_none_or(|asked| asked != SUBPROTOCOL) {
            return Err(refusal(StatusCode::BAD_REQUEST));
        }
        let ours = HeaderValue::from_static(SUBPROTOCOL);
        response
            .headers_mut()
            .insert(header::SEC_WEBSOCKET_PROTOCOL, ours);
        Ok(response)
    };
    let begun = accept_hdr_with_config(budgeted(socket), answer, Some(config()));
    let done = finished(begun, settings, wait);
    match stranger {
        Some(origin) => Err(NetError::Origin { origin }),
        None => done,
    }
}

/// Asks the peer at the other end of `socket`, which is at `address`, for a WebSocket.
pub(crate) fn connect(
    socket: TcpStream,
    address: &str,
    settings: &Settings,
) -> Result<Transport, NetError> {
    let time = settings.handshake_timeout;
    let io_failed =
        |error: io::Error| NetError::interrupted(error.into(), Awaited::Handshake, time);
    tcp::prepare(&socket).map_err(io_failed)?;
    let wait = Wait::at_most(time, &settings.cancel);
    let uri = format!("ws://{address}/").parse().map_err(failed)?;
    let request = client::ClientRequestBuilder::new(uri).with_sub_protocol(SUBPROTOCOL);
    let begun = client::client_with_config(request, budgeted(Arc::new(socket)), Some(config()));
    finished(begun, settings, &wait).map(|(socket, _)| transport(socket))
}

fn budgeted(socket: Arc<TcpStream>) -> Budgeted {
    Budgeted {
        socket,
        budget: READ_BUDGET,
        until: None,
    }
}

fn refusal(status: StatusCode) -> ErrorResponse {
    let mut refusal = ErrorResponse::new(None);
    *refusal.status_mut() = status;
    refusal
}

fn shown(origin: &HeaderValue) -> String {
    let text = origin.to_str().unwrap_or("what is not text");
    text.chars().take(SHOWN).collect()
}

fn failed(error: impl ToString) -> NetError {
    NetError::WebSocket {
        reason: error.to_string(),
    }
}

/// Continues a handshake until it or the wait ends.
fn finished<R: HandshakeRole>(
    mut begun: Result<R::FinalResult, HandshakeError<R>>,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<R::FinalResult, NetError> {
    loop {
        let middle: MidHandshake<R> = match begun {
            Ok(done) => return Ok(done),
            Err(HandshakeError::Interrupted(middle)) => middle,
            Err(HandshakeError::Failure(error)) => return Err(unanswered(error, settings)),
        };
        wait.slice().map_err(|over| {
            NetError::interrupted(over, Awaited::Handshake, settings.handshake_timeout)
        })?;
        begun = middle.handshake();
    }
}

/// Returns the error of a handshake that failed. A peer that leaves may have no time for this one.
fn unanswered(error: tungstenite::Error, settings: &Settings) -> NetError {
    use tungstenite::Error::{Io, Protocol};
    use tungstenite::error::ProtocolError::HandshakeIncomplete;
    let (awaited, time) = (Awaited::Handshake, settings.handshake_timeout);
    match error {
        Protocol(HandshakeIncomplete) => NetError::Closed { awaited },
        Io(error) => NetError::interrupted(error.into(), awaited, time),
        other => failed(other),
    }
}

/// The state of both halves of a WebSocket, of which a channel uses one at a time.
struct Shared {
    socket: WebSocket<Budgeted>,
    credit: Credit,
    /// The bytes that arrived and were not read: at most [`WINDOW`].
    arrived: Arrived,
    is_over: bool,
    /// The reason why nothing more can be read.
    failed: Option<Interrupt>,
}

struct WebSource(Arc<Mutex<Shared>>);
struct WebSink(Arc<Mutex<Shared>>);

fn transport(socket: WebSocket<Budgeted>) -> Transport {
    let shared = Arc::new(Mutex::new(Shared {
        socket,
        credit: Credit::new(),
        arrived: Arrived::default(),
        is_over: false,
        failed: None,
    }));
    Transport::new(
        Box::new(WebSource(Arc::clone(&shared))),
        Box::new(WebSink(shared)),
    )
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether the connection ended, given why an operation did not happen. Returns an error if
/// the connection broke.
fn ended(error: tungstenite::Error) -> Result<bool, Interrupt> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    use tungstenite::Error::{AlreadyClosed, ConnectionClosed, Io, Protocol};
    use tungstenite::error::ProtocolError::ResetWithoutClosingHandshake;
    match error {
        // TLS notices whether something is missing.
        ConnectionClosed | AlreadyClosed | Protocol(ResetWithoutClosingHandshake) => Ok(true),
        Io(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => Ok(false),
        Io(error) => Err(Interrupt::Io(error)),
        other => Err(wrong(other)),
    }
}

/// Accepts that an operation did not happen, unless the connection ended or broke.
fn not_ended(error: tungstenite::Error) -> Result<(), Interrupt> {
    if ended(error)? {
        return Err(broken_pipe());
    }
    Ok(())
}

fn wrong(reason: impl ToString) -> Interrupt {
    Interrupt::Failed(Box::new(failed(reason)))
}

fn broken_pipe() -> Interrupt {
    Interrupt::Io(io::ErrorKind::BrokenPipe.into())
}

impl Shared {
    /// Sends the taken bytes. Returns whether all of them were sent.
    fn flush(&mut self) -> Result<bool, Interrupt> {
        match self.socket.flush() {
            Ok(()) => Ok(true),
            Err(error) => not_ended(error).map(|()| false),
        }
    }

    fn socket(&self) -> &TcpStream {
        &self.socket.get_ref().socket
    }

    /// Does `operation` without a wait for the socket.
    fn at_once<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, Interrupt>,
    ) -> Result<T, Interrupt> {
        self.socket().set_nonblocking(true)?;
        let done = operation(self);
        self.socket().set_nonblocking(false)?;
        done
    }

    /// Reads the next message, if one has arrived, and counts the bytes that it grants. Returns
    /// whether there was one.
    fn look(&mut self) -> Result<bool, Interrupt> {
        self.socket.get_mut().renew();
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => {
                self.credit.received(bytes.len()).map_err(wrong)?;
                self.arrived.keep(bytes);
            }
            Ok(Message::Text(text)) => self.credit.granted(&text).map_err(wrong)?,
            Ok(Message::Close(_)) => self.is_over = true,
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Err(error) => {
                self.is_over |= ended(error)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads messages that have arrived, up to the first bytes and at most [`MOST_LOOKS`]. Returns
    /// whether there is something to read.
    fn look_at_once(&mut self) -> bool {
        let seen = self.at_once(|shared| {
            for _ in 0..MOST_LOOKS {
                if !shared.arrived.is_empty() || shared.is_over || !shared.look()? {
                    break;
                }
            }
            Ok(())
        });
        // A later read returns the error.
        self.failed = self.failed.take().or(seen.err());
        self.is_over || self.failed.is_some() || !self.arrived.is_empty()
    }

    /// Waits until all taken bytes are sent, and the peer has room for more.
    fn await_room(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        let flush = |shared: &mut Self| {
            if wait.reads() {
                shared.at_once(Self::flush)
            } else {
                shared.flush()
            }
        };
        while !flush(self)? {
            let slice = wait.slice()?;
            let is_readable = wait.reads() && tcp::await_room(self.socket(), true, slice);
            if is_readable && self.look_at_once() {
                return Err(Interrupt::Readable);
            }
        }
        while self.credit.to_send() == 0 {
            if wait.reads() && !self.arrived.is_empty() {
                return Err(Interrupt::Readable);
            }
            if self.is_over {
                return Err(broken_pipe());
            }
            wait.slice()?;
            self.look()?;
        }
        Ok(())
    }

    /// Sends a message. If there is no room, it is sent later.
    fn write(&mut self, message: Message) -> Result<(), Interrupt> {
        self.socket.write(message).or_else(not_ended)
    }

    /// Tells the peer the number of taken bytes, if it is time to. A peer that has left need not
    /// know.
    fn tell(&mut self) -> Result<(), Interrupt> {
        match self.credit.take_untold() {
            Some(count) if self.socket.can_write() => {
                self.write(Message::text(count.to_string())).or_else(gone)
            }
            _ => Ok(()),
        }
    }
}

/// Ignores the loss of messages to a peer that has left. Its earlier messages are still read.
fn gone(interrupt: Interrupt) -> Result<(), Interrupt> {
    match interrupt {
        Interrupt::Io(_) => Ok(()),
        other => Err(other),
    }
}

impl Source for WebSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut shared = lock(&self.0);
        while shared.arrived.is_empty() {
            if let Some(failed) = shared.failed.take() {
                return Err(failed);
            }
            if shared.is_over {
                return Ok(0);
            }
            // The last taken bytes may not have been reported yet, and the peer may wait for that.
            shared.flush().map(drop).or_else(gone)?;
            shared.look()?;
            wait.slice()?;
        }
        let count = shared.arrived.take(into);
        shared.credit.taken(count);
        shared.tell()?;
        Ok(count)
    }

    fn is_ready(&mut self) -> bool {
        lock(&self.0).look_at_once()
    }
}

impl Sink for WebSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut shared = lock(&self.0);
        shared.await_room(wait)?;
        let most = MESSAGE.min(shared.credit.to_send());
        let mut bytes = Vec::new();
        for part in parts {
            let room = most - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
        let count = bytes.len();
        shared.write(Message::Binary(bytes.into()))?;
        shared.credit.sent(count);
        Ok(count)
    }

    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        let mut shared = lock(&self.0);
        if shared.is_over || !shared.socket.can_write() {
            return Ok(());
        }
        if let Err(error) = shared.socket.close(None) {
            ended(error)?;
        }
        loop {
            let is_done = match shared.socket.flush() {
                Ok(()) => true,
                Err(error) => ended(error)?,
            };
            if is_done {
                return Ok(());
            }
            wait.slice()?;
        }
    }
}

#[cfg(test)]
mod tests;
