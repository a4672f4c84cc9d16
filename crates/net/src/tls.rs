//! TLS 1.3 between two parties that know each other's fingerprints.
//!
//! Both sides prove an Ed25519 identity as a raw public key (RFC 7250), and each accepts only
//! fingerprints that it was told. There is one cipher suite (AES-128-GCM with SHA-256), one key
//! exchange (X25519MLKEM768), no resumption, no early data, and the application protocol is
//! `tacit/1`. Assumptions: those of TLS 1.3. Recorded traffic stays secret unless both X25519 and
//! ML-KEM-768 are broken; whoever breaks Ed25519 can take a party's place from then on.
//!
//! In TLS 1.3 a client's handshake is over before the server has looked at its identity, so that
//! a client that is refused learns it ([`NetError::Refused`]) when it first receives.

mod hybrid;
mod pinned;
mod reception;
#[cfg(test)]
mod strangers;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

pub(crate) use stream::TlsStream;

use self::reception::Reception;
use crate::tcp::{self, BackOff, Listening, Reach};
#[cfg(not(target_family = "wasm"))]
use crate::websocket;
use crate::{
    Awaited, Channel, Fingerprint, Identity, Interrupt, NetError, Settings, Transport, Wait,
};

/// The exporter label of [`Channel::binding`].
const BINDING_LABEL: &[u8] = b"EXPORTER-tacit-session";

/// What addresses of WebSockets begin with.
#[cfg(not(target_family = "wasm"))]
const WEBSOCKET: &str = "ws://";

/// Connects to `address` (`HOST:PORT`, or `ws://HOST:PORT` for a WebSocket), trying until the other
/// party listens, as `identity`, and accepts only a peer whose fingerprint is `expected`. A
/// connection that is closed before its handshake is done is tried again, since a party to which
/// many connect at once may have no time for all.
///
/// # Errors
///
/// Nobody listens in time, the peer is another ([`NetError::WrongIdentity`]), or TLS fails.
pub fn connect(
    address: &str,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
    let mut back_off = BackOff::busy();
    loop {
        let began = Instant::now();
        let closed = match connect_once(address, identity, expected, settings, &wait) {
            Err(closed @ NetError::Closed { .. }) => closed,
            ended => return ended,
        };
        match back_off.pause(began, &wait) {
            Ok(()) => {}
            Err(Interrupt::TimedOut) => return Err(closed),
            Err(other) => return Err(tcp::ended(other, settings)),
        }
    }
}

fn connect_once(
    address: &str,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Channel, NetError> {
    #[cfg(not(target_family = "wasm"))]
    if let Some(address) = address.strip_prefix(WEBSOCKET) {
        let address = address.trim_end_matches('/');
        let socket = tcp::connect_within(address, Reach::Anywhere, settings, wait)?;
        tcp::prepare(&socket).map_err(io_failed)?;
        let wait = Wait::at_most(settings.handshake_timeout, &settings.cancel);
        let transport = websocket::connect(socket, address, settings, &wait)?;
        return client(transport, identity, expected, settings);
    }
    let socket = tcp::connect_within(address, Reach::Anywhere, settings, wait)?;
    client(transport(socket)?, identity, expected, settings)
}

/// A socket to which the other party connects.
#[derive(Debug)]
pub struct Listener(Listening);

impl Listener {
    /// Listens on `address` (`HOST:PORT`; port 0 takes a free one).
    ///
    /// # Errors
    ///
    /// [`NetError::Address`] where it is malformed or taken.
    pub fn bind(address: &str) -> Result<Self, NetError> {
        Ok(Self(Listening::bind(address, Reach::Anywhere)?))
    }

    /// The address, with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Waits for one connection and accepts it, as `identity`, if its peer's fingerprint is one of
    /// `allowed`. Anybody can connect and make it fail: [`Listener::accept_peer`] goes on.
    ///
    /// # Errors
    ///
    /// Nobody came in time, the peer is another ([`NetError::WrongIdentity`]), or TLS failed.
    pub fn accept(
        &self,
        identity: &Identity,
        allowed: &[Fingerprint],
        settings: &Settings,
    ) -> Result<Channel, NetError> {
        let socket = self.0.accept(settings)?;
        server(transport(socket)?, identity, allowed, settings)
    }

    /// Waits until somebody connects whose fingerprint is one of `allowed`. Nobody else ends the
    /// wait: a connection that fails is refused, and `refused` is called with the reason and where
    /// it was from, while others are accepted, each within
    /// [`Settings::handshake_timeout`]. A handshake that has started in time may end a little
    /// later.
    ///
    /// # Errors
    ///
    /// Nobody came in time ([`NetError::Timeout`]), others only ([`NetError::OnlyOthers`]), or the
    /// wait was cancelled.
    pub fn accept_peer(
        &self,
        identity: &Identity,
        allowed: &[Fingerprint],
        settings: &Settings,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<Channel, NetError> {
        let config = pinned::server_config(identity, allowed).map_err(|error| failed(&error))?;
        let terms = HandshakeTerms::session(identity.fingerprint());
        let mut channel = Reception::new(config, terms, settings).wait(&self.0, refused)?;
        channel.set_cancel_handle(settings.cancel.clone());
        Ok(channel)
    }
}

/// A socket to which several parties connect, one after another or at the same time.
pub struct Door {
    listening: Listening,
    reception: Reception,
}

impl Listener {
    /// Opens the socket to all parties whose fingerprints are among `allowed`, as `identity`.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn open(
        self,
        identity: &Identity,
        allowed: &[Fingerprint],
        settings: &Settings,
    ) -> Result<Door, NetError> {
        let config = pinned::server_config(identity, allowed).map_err(|error| failed(&error))?;
        Ok(Door {
            reception: Reception::new(
                config,
                HandshakeTerms::session(identity.fingerprint()),
                settings,
            ),
            listening: self.0,
        })
    }
}

impl Door {
    /// The address, with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// The next party that has connected and proved who it is, and where it is from; waits for
    /// `pause` at most. Handshakes run at the same time, also between calls, each within
    /// [`Settings::handshake_timeout`]; calls `refused` for one that fails.
    pub fn next(
        &mut self,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<(Channel, SocketAddr)> {
        self.reception.step(&self.listening, true, pause, refused)
    }

    /// Lets these parties in from now on, as `identity`. Channels that are open stay open.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn allow(&mut self, identity: &Identity, allowed: &[Fingerprint]) -> Result<(), NetError> {
        let config = pinned::server_config(identity, allowed).map_err(|error| failed(&error))?;
        let terms = HandshakeTerms::session(identity.fingerprint());
        self.reception.configure(config, terms);
        Ok(())
    }
}

/// The connecting side of TLS over any transport.
///
/// # Errors
///
/// The peer is another ([`NetError::WrongIdentity`]), or TLS fails.
pub fn client(
    transport: Transport,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let config = pinned::client_config(identity, &[*expected]).map_err(|error| failed(&error))?;
    let terms = HandshakeTerms::session(identity.fingerprint());
    call(config, transport, terms, settings)
}

/// The connecting side of a pairing, over any transport, with the party that has this fingerprint.
pub(crate) fn pairing_client(
    transport: Transport,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let config = pinned::pairing_client_config(identity, expected);
    let config = config.map_err(|error| failed(&error))?;
    let terms = HandshakeTerms::pairing(identity.fingerprint());
    call(config, transport, terms, settings)
}

/// The accepting side of a pairing, over any transport, with whoever is there.
pub(crate) fn pairing_server(
    transport: Transport,
    identity: &Identity,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let config = pinned::pairing_server_config(identity).map_err(|error| failed(&error))?;
    let terms = HandshakeTerms::pairing(identity.fingerprint());
    serve(Arc::new(config), transport, terms, settings)
}

impl Listener {
    /// Waits for the first party of which `complete` makes something. Handshakes and `complete` run
    /// beside each other, each within its own time; calls `refused` for one that fails.
    pub(crate) fn accept_pairing<T: Send + 'static>(
        &self,
        identity: &Identity,
        settings: &Settings,
        complete: impl Fn(Channel) -> Result<T, NetError> + Send + Sync + 'static,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<T, NetError> {
        let config = pinned::pairing_server_config(identity).map_err(|error| failed(&error))?;
        let terms = HandshakeTerms::pairing(identity.fingerprint());
        Reception::completing(config, terms, settings, Arc::new(complete)).wait(&self.0, refused)
    }
}

/// What a side goes by in a handshake, besides its keys.
#[derive(Clone, Copy)]
struct HandshakeTerms {
    own: Fingerprint,
    protocol: &'static [u8],
}

impl HandshakeTerms {
    fn session(own: Fingerprint) -> Self {
        let protocol = pinned::PROTOCOL;
        Self { own, protocol }
    }

    fn pairing(own: Fingerprint) -> Self {
        let protocol = pinned::PAIRING;
        Self { own, protocol }
    }
}

fn call(
    config: ClientConfig,
    transport: Transport,
    terms: HandshakeTerms,
    settings: &Settings,
) -> Result<Channel, NetError> {
    // The name is neither sent nor looked at; the fingerprint takes its place.
    let name = ServerName::try_from("peer.invalid").map_err(|error| NetError::Tls {
        reason: error.to_string(),
    })?;
    let connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| failed(&error))?;
    establish(connection.into(), transport, terms, settings)
}

/// The accepting side of TLS over any transport.
///
/// # Errors
///
/// The peer is another ([`NetError::WrongIdentity`]), or TLS fails.
pub fn server(
    transport: Transport,
    identity: &Identity,
    allowed: &[Fingerprint],
    settings: &Settings,
) -> Result<Channel, NetError> {
    let config = pinned::server_config(identity, allowed).map_err(|error| failed(&error))?;
    let terms = HandshakeTerms::session(identity.fingerprint());
    serve(Arc::new(config), transport, terms, settings)
}

/// The accepting side with this configuration.
fn serve(
    config: Arc<ServerConfig>,
    transport: Transport,
    terms: HandshakeTerms,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let connection = ServerConnection::new(config).map_err(|error| failed(&error))?;
    establish(connection.into(), transport, terms, settings)
}

pub(crate) fn transport(socket: TcpStream) -> Result<Transport, NetError> {
    tcp::transport(socket).map_err(io_failed)
}

fn io_failed(reason: io::Error) -> NetError {
    NetError::Io {
        awaited: Awaited::Connection,
        reason,
    }
}

/// The transport over a socket on which somebody came: by TCP, or by WebSocket where that is
/// allowed. It and the TLS handshake share the handshake's time, of which the rest is given back.
#[cfg(not(target_family = "wasm"))]
fn arrived(socket: TcpStream, settings: &Settings) -> Result<(Transport, Settings), NetError> {
    let Some(origins) = &settings.websocket_origins else {
        return Ok((transport(socket)?, settings.clone()));
    };
    let began = Instant::now();
    let wait = Wait::at_most(settings.handshake_timeout, &settings.cancel);
    tcp::prepare(&socket).map_err(io_failed)?;
    let is_http = websocket::is_asked_for(&socket, &wait).map_err(|over| {
        NetError::interrupted(over, Awaited::Handshake, settings.handshake_timeout)
    })?;
    let transport = match is_http {
        true => websocket::accept(socket, origins, settings, &wait)?,
        false => transport(socket)?,
    };
    let rest = settings.handshake_timeout.saturating_sub(began.elapsed());
    let settings = Settings {
        // Whole milliseconds, since people read it.
        handshake_timeout: Duration::from_millis(rest.as_millis() as u64),
        ..settings.clone()
    };
    Ok((transport, settings))
}

/// A browser has nobody come to it.
#[cfg(target_family = "wasm")]
fn arrived(socket: TcpStream, settings: &Settings) -> Result<(Transport, Settings), NetError> {
    Ok((transport(socket)?, settings.clone()))
}

fn failed(error: &rustls::Error) -> NetError {
    NetError::Tls {
        reason: error.to_string(),
    }
}

/// Does the handshake and looks at what it has agreed on.
fn establish(
    connection: Connection,
    transport: Transport,
    terms: HandshakeTerms,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let transport = match settings.link {
        Some(link) => transport.shaped(link),
        None => transport,
    };
    let mut stream = TlsStream::new(connection, transport, terms.own);
    let wait = Wait::at_most(settings.handshake_timeout, &settings.cancel);
    stream.handshake(&wait).map_err(|interrupt| {
        NetError::interrupted(interrupt, Awaited::Handshake, settings.handshake_timeout)
    })?;
    let (peer, binding) = stream.agreed(terms.protocol, BINDING_LABEL)?;
    let mut channel = Channel::over_tls(stream, peer, binding);
    channel.set_timeout(settings.timeout);
    channel.set_cancel_handle(settings.cancel.clone());
    Ok(channel)
}
