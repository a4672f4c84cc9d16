//! WebSockets (RFC 6455) as transports, for pages, which have no other sockets.
//!
//! TLS runs inside as it does over TCP, so that a proxy may end the outer one and learn nothing.
//! Bytes travel in binary messages, whose borders mean nothing, and messages of text say how many
//! of them were taken ([`credit`]). A browser says of which origin a page is; a page of any origin
//! that is not allowed is refused, so that a stranger's page cannot use the network that its
//! visitor is in. A program says no origin, or what it likes: what keeps strangers out is TLS.

mod credit;

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::handshake::{HandshakeError, HandshakeRole, MidHandshake};
use tungstenite::http::{HeaderValue, StatusCode, header};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Bytes, Message, WebSocket, accept_hdr_with_config, client};

use self::credit::{Credit, WINDOW};
use crate::{Awaited, Interrupt, NetError, Settings, Sink, Source, Transport, Wait, tcp};

/// What both sides call what they speak inside: bytes, and how many were taken.
const SUBPROTOCOL: &str = "tacit-2";

/// The longest message that is read, and the longest that is sent.
const MAX_MESSAGE: usize = 512 * 1024;
const MESSAGE: usize = 64 * 1024;
const _: () = assert!(MAX_MESSAGE <= WINDOW);

/// Bytes that are read before the wait is looked at again: a peer may send pieces that amount to
/// nothing for as long as it likes.
const READ_BUDGET: usize = 1 << 20;

/// The most of an origin that is told.
const SHOWN: usize = 100;

/// A socket that stops for a moment when the budget is read.
struct Budgeted {
    socket: TcpStream,
    budget: usize,
}

impl Read for Budgeted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.budget);
        if most == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.socket.read(&mut into[..most])?;
        self.budget -= count;
        Ok(count)
    }
}

impl Write for Budgeted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Whether what comes first is a request of HTTP: the first byte of TLS is none of its letters.
///
/// # Errors
///
/// The wait ended, or the socket failed.
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

/// Answers a page, or a program, which asks for a WebSocket on `socket`.
///
/// # Errors
///
/// The page's origin is not one of `origins` ([`NetError::Origin`]), or it asks for something else.
#[expect(
    clippy::result_large_err,
    reason = "the library wants a whole response as the refusal"
)]
pub(crate) fn accept(
    socket: TcpStream,
    origins: &[String],
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Transport, NetError> {
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
        None => done.map(transport),
    }
}

/// Asks whoever is at the other end of `socket`, which is at `address`, for a WebSocket.
///
/// # Errors
///
/// It does not speak it, or not with us.
pub(crate) fn connect(
    socket: TcpStream,
    address: &str,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Transport, NetError> {
    let uri = format!("ws://{address}/").parse().map_err(failed)?;
    let request = client::ClientRequestBuilder::new(uri).with_sub_protocol(SUBPROTOCOL);
    let begun = client::client_with_config(request, budgeted(socket), Some(config()));
    finished(begun, settings, wait).map(|(socket, _)| transport(socket))
}

fn budgeted(socket: TcpStream) -> Budgeted {
    Budgeted {
        socket,
        budget: READ_BUDGET,
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

/// Goes on with a handshake until it ends or the wait does.
fn finished<R: HandshakeRole>(
    mut begun: Result<R::FinalResult, HandshakeError<R>>,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<R::FinalResult, NetError> {
    loop {
        let middle: MidHandshake<R> = match begun {
            Ok(done) => return Ok(done),
            Err(HandshakeError::Interrupted(middle)) => middle,
            Err(HandshakeError::Failure(error)) => return Err(failed(error)),
        };
        wait.slice().map_err(|over| {
            NetError::interrupted(over, Awaited::Handshake, settings.handshake_timeout)
        })?;
        begun = middle.handshake();
    }
}

/// Both halves of a WebSocket, of which a channel uses one at a time.
struct Shared {
    socket: WebSocket<Budgeted>,
    credit: Credit,
    /// What came and was not read: at most [`WINDOW`] bytes.
    arrived: VecDeque<Bytes>,
    is_over: bool,
    /// Why nothing more can be read.
    failed: Option<Interrupt>,
}

struct WebSource(Arc<Mutex<Shared>>);
struct WebSink(Arc<Mutex<Shared>>);

fn transport(socket: WebSocket<Budgeted>) -> Transport {
    let shared = Arc::new(Mutex::new(Shared {
        socket,
        credit: Credit::new(),
        arrived: VecDeque::new(),
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

/// Whether the connection ended, where something did not happen; an error where it broke.
fn ended(error: tungstenite::Error) -> Result<bool, Interrupt> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    use tungstenite::Error::{AlreadyClosed, ConnectionClosed, Io};
    match error {
        ConnectionClosed | AlreadyClosed => Ok(true),
        Io(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => Ok(false),
        Io(error) => Err(Interrupt::Io(error)),
        other => Err(wrong(other)),
    }
}

/// That something did not happen, unless the connection ended or broke.
fn not_ended(error: tungstenite::Error) -> Result<(), Interrupt> {
    match ended(error)? {
        true => Err(broken_pipe()),
        false => Ok(()),
    }
}

fn wrong(reason: impl ToString) -> Interrupt {
    Interrupt::Failed(Box::new(failed(reason)))
}

fn broken_pipe() -> Interrupt {
    Interrupt::Io(io::ErrorKind::BrokenPipe.into())
}

impl Shared {
    /// Sends what was taken; whether all of it went.
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

    /// The next message, if it is there; whether it was. What it grants is counted.
    fn look(&mut self) -> Result<bool, Interrupt> {
        self.socket.get_mut().budget = READ_BUDGET;
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => {
                self.credit.received(bytes.len()).map_err(wrong)?;
                if !bytes.is_empty() {
                    self.arrived.push_back(bytes);
                }
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

    /// Looks at what has come, up to the first bytes to read; whether there is something to read.
    fn look_at_once(&mut self) -> bool {
        let seen = self.at_once(|shared| {
            while shared.arrived.is_empty() && !shared.is_over && shared.look()? {}
            Ok(())
        });
        // A read tells of it.
        self.failed = self.failed.take().or(seen.err());
        self.is_over || self.failed.is_some() || !self.arrived.is_empty()
    }

    /// Waits until all that was taken is sent, and the peer has room for more.
    fn await_room(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        let flush = |shared: &mut Self| match wait.reads() {
            true => shared.at_once(Self::flush),
            false => shared.flush(),
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

    /// Sends a message; where it finds no room it goes later.
    fn write(&mut self, message: Message) -> Result<(), Interrupt> {
        self.socket.write(message).or_else(not_ended)
    }

    /// Tells the peer how much was taken, if it is time to. A peer that has left needs no word.
    fn tell(&mut self) -> Result<(), Interrupt> {
        match self.credit.take_untold() {
            Some(count) if self.socket.can_write() => {
                self.write(Message::text(count.to_string())).or_else(gone)
            }
            _ => Ok(()),
        }
    }
}

/// What is sent to a peer that has left is lost, and what it sent before is still read.
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
            // What was taken last may not have been told yet: the peer may wait for it.
            shared.flush().map(drop).or_else(gone)?;
            shared.look()?;
            wait.slice()?;
        }
        let first = &mut shared.arrived[0];
        let count = first.len().min(into.len());
        into[..count].copy_from_slice(&first.split_to(count));
        if first.is_empty() {
            shared.arrived.pop_front();
        }
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
