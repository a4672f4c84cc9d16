//! WebSockets (RFC 6455) as transports, for pages, which have no other sockets.
//!
//! TLS runs inside as it does over TCP, so that a proxy may end the outer one and learn nothing.
//! Bytes travel in binary messages, whose borders mean nothing. A browser says of which origin a
//! page is; a page of any origin that is not allowed is refused, so that a stranger's page cannot
//! use the network that its visitor is in. A program says no origin, or what it likes: what keeps
//! strangers out is TLS.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::handshake::{HandshakeError, HandshakeRole, MidHandshake};
use tungstenite::http::{HeaderValue, StatusCode, header};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Bytes, Message, WebSocket, accept_hdr_with_config, client};

use crate::{Awaited, Interrupt, NetError, Settings, Sink, Source, Transport, Wait, tcp};

/// What both sides call what they speak inside.
const SUBPROTOCOL: &str = "tacit";

/// The longest message that is read, and the longest that is sent.
const MAX_MESSAGE: usize = 512 * 1024;
const MESSAGE: usize = 64 * 1024;

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
    /// What came and was not read.
    message: Bytes,
    is_over: bool,
}

struct WebSource(Arc<Mutex<Shared>>);
struct WebSink(Arc<Mutex<Shared>>);

fn transport(socket: WebSocket<Budgeted>) -> Transport {
    let shared = Arc::new(Mutex::new(Shared {
        socket,
        message: Bytes::new(),
        is_over: false,
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
        other => Err(Interrupt::Failed(Box::new(failed(other)))),
    }
}

impl Shared {
    /// Sends what was taken; whether all of it went.
    fn flush(&mut self) -> Result<bool, Interrupt> {
        match self.socket.flush() {
            Ok(()) => Ok(true),
            Err(error) => match ended(error)? {
                true => Err(Interrupt::Io(io::ErrorKind::BrokenPipe.into())),
                false => Ok(false),
            },
        }
    }

    /// The next message, if it is there.
    fn look(&mut self) -> Result<(), Interrupt> {
        self.socket.get_mut().budget = READ_BUDGET;
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => self.message = bytes,
            Ok(Message::Close(_)) => self.is_over = true,
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(_) => return Err(Interrupt::Failed(Box::new(failed("a message of text")))),
            Err(error) => self.is_over |= ended(error)?,
        }
        Ok(())
    }
}

impl Source for WebSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut shared = lock(&self.0);
        while shared.message.is_empty() {
            if shared.is_over {
                return Ok(0);
            }
            shared.look()?;
            wait.slice()?;
        }
        let count = shared.message.len().min(into.len());
        let now = shared.message.split_to(count);
        into[..count].copy_from_slice(&now);
        Ok(count)
    }
}

impl Sink for WebSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut shared = lock(&self.0);
        // Before anything is taken, what was taken before is gone.
        while !shared.flush()? {
            wait.slice()?;
        }
        let mut bytes = Vec::new();
        for part in parts {
            let room = MESSAGE - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
        let count = bytes.len();
        match shared.socket.write(Message::Binary(bytes.into())) {
            Ok(()) => {}
            // It is taken all the same, and goes later.
            Err(error) => {
                if ended(error)? {
                    return Err(Interrupt::Io(io::ErrorKind::BrokenPipe.into()));
                }
            }
        }
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
