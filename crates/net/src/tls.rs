//! TLS 1.3 between two parties that know each other's fingerprints.
//!
//! Both sides prove an Ed25519 identity as a raw public key (RFC 7250), and each accepts only the
//! fingerprints that it was given. There are two cipher suites (AES-128-GCM with SHA-256, and for
//! pages ChaCha20-Poly1305 with SHA-256), one key exchange (X25519MLKEM768), no resumption and no
//! early data; the application protocol is `tacit/1`. The assumptions are those of TLS 1.3.
//! Recorded traffic stays secret unless both X25519 and ML-KEM-768 are broken; an attacker who
//! breaks Ed25519 can take a party's place from then on.
//!
//! In TLS 1.3 a client's handshake is over before the server has checked its identity, so a refused
//! client learns of the refusal ([`NetError::Refused`]) when it first receives.

mod door;
mod hybrid;
mod pinned;
#[cfg(test)]
mod proxied;
mod reception;
mod sides;
#[cfg(test)]
mod strangers;
mod stream;
#[cfg(test)]
mod workers;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use web_time::Instant;

pub use door::{Admitted, Arrived, Door, INTRODUCTION, Introduction};
pub(crate) use sides::SideHandshake;
#[cfg(test)]
pub(crate) use sides::side_client_config;
pub(crate) use stream::TlsStream;

use self::reception::Reception;
use crate::identity::worker::ShownIdentity;
use crate::sides as side_streams;
use crate::tcp::{self, Listening, Owner, Reach};
#[cfg(not(target_family = "wasm"))]
use crate::websocket;
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::websocket::connect as websocket_to;
use crate::{Awaited, Channel, Fingerprint, Identity, NetError, Settings, Transport, Wait, proxy};

/// The exporter label of [`Channel::binding`].
const BINDING_LABEL: &[u8] = b"EXPORTER-tacit-session";

/// The prefix of WebSocket addresses.
const WEBSOCKET: &str = "ws://";

/// Connects to `address` (`HOST:PORT`, or `ws://HOST:PORT` for a WebSocket) as `identity`, and
/// repeats the try until the other party listens. Accepts only a peer whose fingerprint is
/// `expected`. A connection that is closed before its handshake is done is tried again, since a
/// party to which many connect at once may not have time for all.
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
    tcp::while_busy(settings, &wait, tcp::is_closed, || {
        connect_once(address, identity, expected, settings, &wait)
    })
}

fn connect_once(
    address: &str,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Channel, NetError> {
    if let Some(address) = address.strip_prefix(WEBSOCKET) {
        let address = address.trim_end_matches('/');
        let socket = tcp::connect_within(address, Reach::Anywhere, settings, wait)?;
        let transport = websocket_to(socket, address, settings)?;
        return client(transport, identity, expected, settings);
    }
    let socket = tcp::connect_within(address, Reach::Anywhere, settings, wait)?;
    sides::connect(socket, identity, expected, settings)
}

/// A socket to which the other party connects.
///
/// Side streams of a session ([`Settings::side_streams`](crate::Settings)) come to the port that
/// accepted it. So the port stays held after this is dropped, while such a session is open and some
/// of its side streams have not come. Any other connection there is closed.
#[derive(Debug)]
pub struct Listener(Owner);

impl Listener {
    /// Listens on `address` (`HOST:PORT`; port 0 takes a free one).
    ///
    /// # Errors
    ///
    /// [`NetError::Address`] if it is malformed or taken.
    pub fn bind(address: &str) -> Result<Self, NetError> {
        Ok(Self(Owner::bind(address, Reach::Anywhere)?))
    }

    /// Returns the address, with the port that was taken.
    pub fn local_address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Waits for one connection and accepts it, as `identity`, if its peer's fingerprint is one of
    /// `allowed`. Any connection can make it fail: [`Listener::accept_peer`] goes on in that case.
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
        let admission = pinned::Admission::pinned(allowed);
        let config = session_config(identity, admission, settings)?;
        let terms = HandshakeTerms::session(identity.fingerprint(), settings);
        loop {
            let socket = self.0.accept(settings)?;
            let Some((transport, _)) = arrived(socket, &self.0, &terms, settings)? else {
                continue;
            };
            let (config, terms) = (Arc::clone(&config), terms.clone());
            let channel = sides::serve(config, transport, terms, &self.0, settings)?;
            sides::attend(&channel, &self.0, settings);
            return Ok(channel);
        }
    }

    /// Waits until a party connects whose fingerprint is one of `allowed`. No other party ends the
    /// wait: a connection that fails is refused, and `refused` is called with its address and the
    /// reason. Meanwhile others are accepted, each within [`Settings::handshake_timeout`]. A
    /// handshake that started in time may end a little later.
    ///
    /// # Errors
    ///
    /// Nobody came in time ([`NetError::Timeout`]), only others came ([`NetError::OnlyOthers`]), or
    /// the wait was cancelled.
    pub fn accept_peer(
        &self,
        identity: &Identity,
        allowed: &[Fingerprint],
        settings: &Settings,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<Channel, NetError> {
        let admission = pinned::Admission::pinned(allowed);
        let config = session_config(identity, admission, settings)?;
        let terms = HandshakeTerms::session(identity.fingerprint(), settings);
        let reception = Reception::new(config, terms, settings, Arc::clone(&self.0));
        let mut channel = reception.wait(refused)?;
        channel.set_cancel_handle(settings.cancel.clone());
        sides::attend(&channel, &self.0, settings);
        Ok(channel)
    }
}

/// Runs the connecting side of TLS over any transport.
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
    let terms = HandshakeTerms::alone(identity.fingerprint(), pinned::PROTOCOL);
    let (stream, agreed) = call(Arc::new(config), transport, &terms, settings)?;
    channel(stream, &agreed, settings)
}

/// Runs the connecting side of a pairing, over any transport, with the party that has this
/// fingerprint.
pub(crate) fn pairing_client(
    transport: Transport,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let config = pinned::pairing_client_config(identity, expected);
    let config = config.map_err(|error| failed(&error))?;
    let terms = HandshakeTerms::alone(identity.fingerprint(), pinned::PAIRING);
    let (stream, agreed) = call(Arc::new(config), transport, &terms, settings)?;
    channel(stream, &agreed, settings)
}

/// Runs the accepting side of a pairing, over any transport, with any party.
pub(crate) fn pairing_server(
    transport: Transport,
    identity: &Identity,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let config = pinned::pairing_server_config(identity).map_err(|error| failed(&error))?;
    let terms = HandshakeTerms::alone(identity.fingerprint(), pinned::PAIRING);
    let (stream, agreed) = serve(Arc::new(config), transport, &terms, settings)?;
    channel(stream, &agreed, settings)
}

impl Listener {
    /// Waits for the first party for which `complete` succeeds. Handshakes and `complete` run at
    /// the same time, each within its own time. Calls `refused` for each that fails.
    pub(crate) fn accept_pairing<T: Send + 'static>(
        &self,
        identity: &Identity,
        settings: &Settings,
        complete: impl Fn(Channel) -> Result<T, NetError> + Send + Sync + 'static,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<T, NetError> {
        let config = pinned::pairing_server_config(identity).map_err(|error| failed(&error))?;
        let terms = HandshakeTerms::alone(identity.fingerprint(), pinned::PAIRING);
        let (config, listening) = (Arc::new(config), Arc::clone(&self.0));
        Reception::completing(config, terms, settings, listening, Arc::new(complete)).wait(refused)
    }
}

/// A side's parameters in a handshake, besides its keys.
#[derive(Clone)]
struct HandshakeTerms {
    own: Fingerprint,
    /// The application protocols. The place of one, counted from the last, is its number of side
    /// streams; the last has none.
    protocols: Vec<Vec<u8>>,
}

impl HandshakeTerms {
    /// Returns the terms of a session over TCP.
    fn session(own: Fingerprint, settings: &Settings) -> Self {
        let protocols = pinned::with_side_streams(settings.side_streams());
        Self { own, protocols }
    }

    /// Returns the terms of a connection without side streams.
    fn alone(own: Fingerprint, protocol: &[u8]) -> Self {
        let protocols = vec![protocol.to_vec()];
        Self { own, protocols }
    }

    fn has_side_streams(&self) -> bool {
        self.protocols.len() > 1
    }
}

/// The values that a handshake has agreed on.
struct Agreed {
    peer: ShownIdentity,
    /// The number of side streams in each direction.
    side_streams: u8,
}

/// Returns the configuration of the accepting side of sessions over TCP.
fn session_config(
    identity: &Identity,
    admission: pinned::Admission,
    settings: &Settings,
) -> Result<Arc<ServerConfig>, NetError> {
    let config = pinned::server_config_for(pinned::provider(), identity, admission);
    let mut config = config.map_err(|error| failed(&error))?;
    config.alpn_protocols = pinned::with_side_streams(settings.side_streams());
    Ok(Arc::new(config))
}

fn call(
    config: Arc<ClientConfig>,
    transport: Transport,
    terms: &HandshakeTerms,
    settings: &Settings,
) -> Result<(TlsStream, Agreed), NetError> {
    // The name is neither sent nor checked; the fingerprint takes its place.
    let name = ServerName::try_from("peer.invalid").map_err(|error| NetError::Tls {
        reason: error.to_string(),
    })?;
    let connection = ClientConnection::new(config, name).map_err(|error| failed(&error))?;
    establish(connection.into(), transport, terms, settings)
}

/// Runs the accepting side of TLS over any transport.
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
    let terms = HandshakeTerms::alone(identity.fingerprint(), pinned::PROTOCOL);
    let (stream, agreed) = serve(Arc::new(config), transport, &terms, settings)?;
    channel(stream, &agreed, settings)
}

/// Runs the accepting side with this configuration.
fn serve(
    config: Arc<ServerConfig>,
    transport: Transport,
    terms: &HandshakeTerms,
    settings: &Settings,
) -> Result<(TlsStream, Agreed), NetError> {
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

/// Finds the purpose of an accepted connection. Returns the transport of a peer, by TCP or by
/// WebSocket where that is allowed, and settings with the rest of the handshake's time. Returns
/// `None` for a side stream, which has joined its session.
fn arrived(
    socket: TcpStream,
    listening: &Listening,
    terms: &HandshakeTerms,
    settings: &Settings,
) -> Result<Option<(Transport, Settings)>, NetError> {
    let has_proxies = !settings.proxies.is_empty();
    if !terms.has_side_streams() && settings.websocket_origins.is_none() && !has_proxies {
        return Ok(Some((transport(socket)?, settings.clone())));
    }
    let began = Instant::now();
    let wait = Wait::at_most(settings.handshake_timeout, &settings.cancel);
    let over = |interrupt| {
        NetError::interrupted(interrupt, Awaited::Handshake, settings.handshake_timeout)
    };
    tcp::prepare(&socket).map_err(io_failed)?;
    // A load balancer's own header is taken already.
    if has_proxies && proxy::begins(&socket, &wait).map_err(over)? {
        let what = "it is from an address that is none of the load balancers'";
        return Err(NetError::ProxyHeader { what });
    }
    if terms.has_side_streams() && side_streams::is_asked_for(&socket, &wait).map_err(over)? {
        side_streams::join(socket, listening.expected(), settings)?;
        return Ok(None);
    }
    let transport = by_either(socket, settings, &wait)?;
    let rest = settings.handshake_timeout.saturating_sub(began.elapsed());
    let settings = Settings {
        // The time is in whole milliseconds, since people read it.
        handshake_timeout: Duration::from_millis(rest.as_millis() as u64),
        ..settings.clone()
    };
    Ok(Some((transport, settings)))
}

/// Returns the transport over a socket: a WebSocket, if that is allowed and requested.
#[cfg(not(target_family = "wasm"))]
fn by_either(
    socket: TcpStream,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Transport, NetError> {
    let Some(origins) = &settings.websocket_origins else {
        return transport(socket);
    };
    let is_http = websocket::is_asked_for(&socket, wait).map_err(|over| {
        NetError::interrupted(over, Awaited::Handshake, settings.handshake_timeout)
    })?;
    if is_http {
        return websocket::accept(socket, origins, settings, wait);
    }
    transport(socket)
}

/// Returns the transport over a socket. A browser never calls it, since it has no sockets.
#[cfg(target_family = "wasm")]
fn by_either(socket: TcpStream, _: &Settings, _: &Wait<'_>) -> Result<Transport, NetError> {
    transport(socket)
}

/// Returns the transport over a socket. A browser never calls it, since it has no sockets.
#[cfg(target_family = "wasm")]
pub(crate) fn websocket_to(
    socket: TcpStream,
    _: &str,
    _: &Settings,
) -> Result<Transport, NetError> {
    transport(socket)
}

fn failed(error: &rustls::Error) -> NetError {
    NetError::Tls {
        reason: error.to_string(),
    }
}

/// Does the handshake and checks its results.
fn establish(
    connection: Connection,
    transport: Transport,
    terms: &HandshakeTerms,
    settings: &Settings,
) -> Result<(TlsStream, Agreed), NetError> {
    let transport = match settings.link {
        Some(link) => transport.shaped(link),
        None => transport,
    };
    let mut stream = TlsStream::new(connection, transport, terms.own);
    let wait = Wait::at_most(settings.handshake_timeout, &settings.cancel);
    stream.handshake(&wait).map_err(|interrupt| {
        NetError::interrupted(interrupt, Awaited::Handshake, settings.handshake_timeout)
    })?;
    let (peer, place) = stream.agreed(&terms.protocols)?;
    let side_streams = (terms.protocols.len() - 1 - place) as u8;
    Ok((stream, Agreed { peer, side_streams }))
}

/// Returns the channel over a connection whose handshake is done.
fn channel(stream: TlsStream, agreed: &Agreed, settings: &Settings) -> Result<Channel, NetError> {
    let binding = stream.export(BINDING_LABEL, &[])?;
    let mut channel = Channel::over_tls(stream, agreed.peer.clone(), *binding);
    channel.set_timeout(settings.timeout);
    channel.set_cancel_handle(settings.cancel.clone());
    Ok(channel)
}
