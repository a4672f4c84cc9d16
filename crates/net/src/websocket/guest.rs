//! A party at a relay: one thread reads its messages while another one writes to it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use super::{Budgeted, MAX_MESSAGE, READ_BUDGET, agree, budgeted, config, ended, failed};
use crate::relay::{Answer, Hello};
use crate::{Awaited, CancelHandle, Interrupt, NetError, Settings, Wait, tcp};

/// The longest time that a call blocks.
const SLICE: Duration = Duration::from_millis(100);

/// The bytes that are read at once. Each party that waits has this much allocated.
const READ_BYTES: usize = 16 * 1024;

/// The most bytes that wait to be sent: one message, and answers to pings.
const MAX_UNSENT: usize = 2 * MAX_MESSAGE;

/// A party's connection to a relay.
pub struct Guest {
    socket: Arc<TcpStream>,
    reader: Mutex<WebSocket<OneWay>>,
    writer: Mutex<WebSocket<Budgeted>>,
}

/// What a party did.
pub enum GuestEvent {
    /// Nothing of content, for a short time.
    Nothing,
    /// It sent this.
    Message(RelayedMessage),
    /// It ended its connection in order.
    End,
}

/// A message from one party for the other.
pub struct RelayedMessage(Message);

/// The half of a socket that bytes come from. The library also answers pings and closing where it
/// reads; these answers would come between the parts of a message that another thread writes.
struct OneWay(Budgeted);

impl Read for OneWay {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for OneWay {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Guest {
    /// Answers a party that asks for a WebSocket on `socket`, and hears its hello. Returns no hello
    /// if its first message is none.
    ///
    /// # Errors
    ///
    /// A page's origin is not one of `origins` ([`NetError::Origin`]), the party speaks no
    /// WebSocket, or it takes longer than `time`.
    pub fn accept(
        socket: Arc<TcpStream>,
        origins: &[String],
        time: Duration,
    ) -> Result<(Self, Option<Hello>), NetError> {
        let settings = Settings {
            handshake_timeout: time,
            ..Settings::default()
        };
        let cancel = CancelHandle::new();
        let wait = Wait::at_most(time, &cancel);
        let over = |interrupt| NetError::interrupted(interrupt, Awaited::Handshake, time);
        let guest = Self::over(socket, origins, &settings, &wait)?;
        loop {
            match guest.hear().map_err(|error| over(error.into()))?.0 {
                GuestEvent::Message(RelayedMessage(message)) => {
                    let bytes = message.into_data();
                    let hello = bytes[..].try_into().ok().and_then(Hello::from_bytes);
                    return Ok((guest, hello));
                }
                GuestEvent::Nothing => wait.slice().map(drop).map_err(over)?,
                GuestEvent::End => {
                    return Err(over(io::Error::from(io::ErrorKind::BrokenPipe).into()));
                }
            }
        }
    }

    fn over(
        socket: Arc<TcpStream>,
        origins: &[String],
        settings: &Settings,
        wait: &Wait<'_>,
    ) -> Result<Self, NetError> {
        let io_failed = |error| failed(format!("the socket: {error}"));
        tcp::prepare(&socket).map_err(io_failed)?;
        // The library refuses a client that sends more before it has the answer: nothing is lost.
        agree(Arc::clone(&socket), origins, settings, wait)?;
        socket.set_read_timeout(Some(SLICE)).map_err(io_failed)?;
        socket.set_write_timeout(Some(SLICE)).map_err(io_failed)?;
        let half = config().max_write_buffer_size(MAX_UNSENT);
        let (reads, writes) = (half.read_buffer_size(READ_BYTES), half.read_buffer_size(0));
        let from = OneWay(budgeted(Arc::clone(&socket)));
        let to = budgeted(Arc::clone(&socket));
        Ok(Self {
            socket,
            reader: Mutex::new(WebSocket::from_raw_socket(from, Role::Server, Some(reads))),
            writer: Mutex::new(WebSocket::from_raw_socket(to, Role::Server, Some(writes))),
        })
    }

    /// Waits for a short time for what the party does next. Also returns the number of bytes read.
    ///
    /// # Errors
    ///
    /// The connection broke, or the party breaks the rules of WebSockets.
    pub fn hear(&self) -> io::Result<(GuestEvent, u64)> {
        let mut reader = lock(&self.reader);
        reader.get_mut().0.renew();
        let read = reader.read();
        let count = READ_BUDGET - reader.get_ref().0.budget;
        drop(reader);
        let heard = match read {
            Ok(message @ (Message::Binary(_) | Message::Text(_))) => {
                GuestEvent::Message(RelayedMessage(message))
            }
            Ok(Message::Ping(content)) => {
                self.write(Message::Pong(content))?;
                GuestEvent::Nothing
            }
            Ok(Message::Pong(_) | Message::Frame(_)) => GuestEvent::Nothing,
            Ok(Message::Close(_)) => GuestEvent::End,
            Err(error) => {
                not_yet(error)?;
                GuestEvent::Nothing
            }
        };
        Ok((heard, count as u64))
    }

    /// Takes a message for the party, all of which [`Guest::flush`] sends.
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn send(&self, message: RelayedMessage) -> io::Result<()> {
        self.write(message.0)
    }

    fn write(&self, message: Message) -> io::Result<()> {
        lock(&self.writer).write(message).or_else(not_yet)
    }

    /// Sends what was taken, for a short time. Returns whether all of it was sent.
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn flush(&self) -> io::Result<bool> {
        match lock(&self.writer).flush() {
            Ok(()) => Ok(true),
            Err(error) => not_yet(error).map(|()| false),
        }
    }

    /// Gives the party the only answer of the relay.
    ///
    /// # Errors
    ///
    /// The party does not take it at once.
    pub fn answer(&self, answer: Answer) -> io::Result<()> {
        self.write(Message::binary(vec![answer as u8]))?;
        if self.flush()? {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }

    /// Tells the party that no more follows, with [`Guest::flush`].
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn finish(&self) -> io::Result<()> {
        lock(&self.writer).close(None).or_else(not_yet)
    }

    /// Ends the connection, whatever is on its way.
    pub fn end(&self) {
        // A connection that is gone already needs no end.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Returns whether the party is still there and silent.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        let looked = self.socket.set_nonblocking(true);
        let looked = looked.and_then(|()| self.socket.peek(&mut [0]));
        matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            && self.socket.set_nonblocking(false).is_ok()
    }
}

fn lock<T>(half: &Mutex<T>) -> MutexGuard<'_, T> {
    half.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accepts that an operation did not happen yet, unless the connection ended or broke.
fn not_yet(error: tungstenite::Error) -> io::Result<()> {
    match ended(error) {
        Ok(false) => Ok(()),
        Ok(true) => Err(io::ErrorKind::ConnectionReset.into()),
        Err(Interrupt::Io(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}
