//! Plain TCP between two processes on one machine: no encryption, no identities, no binding.
//!
//! Both ends of the socket must be loopback addresses; the check applies to the resolved address,
//! not to the name. For benchmarks and debugging.

use std::net::{SocketAddr, TcpStream};

use crate::tcp::{self, Listening, Reach};
use crate::{Awaited, Channel, NetError, Settings};

/// Connects to `address` (`HOST:PORT`, loopback), and repeats the try until the other party
/// listens.
///
/// # Errors
///
/// [`NetError::NotLoopback`], [`NetError::Address`], or nobody listens in time.
pub fn connect(address: &str, settings: &Settings) -> Result<Channel, NetError> {
    channel(tcp::connect(address, Reach::Loopback, settings)?, settings)
}

/// A socket on a loopback address to which the other party connects.
#[derive(Debug)]
pub struct Listener(Listening);

impl Listener {
    /// Listens on `address` (`HOST:PORT`, loopback; port 0 takes a free one).
    ///
    /// # Errors
    ///
    /// [`NetError::NotLoopback`], or [`NetError::Address`] if it is malformed or taken.
    pub fn bind(address: &str) -> Result<Self, NetError> {
        Ok(Self(Listening::bind(address, Reach::Loopback)?))
    }

    /// Returns the address, with the port that was taken.
    pub fn local_address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Waits for the other party.
    ///
    /// # Errors
    ///
    /// Nobody came in time, or the wait was cancelled.
    pub fn accept(&self, settings: &Settings) -> Result<Channel, NetError> {
        channel(self.0.accept(settings)?, settings)
    }
}

fn channel(socket: TcpStream, settings: &Settings) -> Result<Channel, NetError> {
    let transport = tcp::transport(socket).map_err(|reason| NetError::Io {
        awaited: Awaited::Connection,
        reason,
    })?;
    let mut channel = Channel::over(match settings.link {
        Some(link) => transport.shaped(link),
        None => transport,
    });
    channel.set_timeout(settings.timeout);
    channel.set_cancel_handle(settings.cancel.clone());
    Ok(channel)
}
