//! Side streams in TLS: the sessions that have some, and their own handshakes.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, ServerConfig};

use super::{
    Agreed, HandshakeTerms, TlsStream, call, channel, failed, io_failed, pinned, transport,
};
use crate::sides::{self, ChannelSides, Opener, Sides, StreamDirection, Token};
use crate::tcp::Listening;
use crate::{CancelHandle, Channel, Fingerprint, Identity, NetError, Settings, Transport};

/// The exporter label of the values that bind side streams to their session.
const LABEL: &[u8] = b"EXPORTER-tacit-side-stream";

/// Runs the connecting side of a session over TCP.
pub(super) fn connect(
    socket: TcpStream,
    identity: &Identity,
    expected: &Fingerprint,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let address = socket.peer_addr().map_err(io_failed)?;
    let config = pinned::client_config(identity, &[*expected]);
    let mut config = config.map_err(|error| failed(&error))?;
    config.alpn_protocols = pinned::with_side_streams(settings.side_streams());
    let terms = HandshakeTerms::session(identity.fingerprint(), settings);
    let (stream, agreed) = call(
        Arc::new(config.clone()),
        transport(socket)?,
        &terms,
        settings,
    )?;
    if agreed.side_streams == 0 {
        return channel(stream, &agreed, settings);
    }
    config.alpn_protocols = vec![pinned::SIDE.to_vec()];
    let opener = Opener {
        address,
        config: Arc::new(config),
        own: terms.own,
        peer: agreed.peer.fingerprint,
        tokens: tokens(&stream, agreed.side_streams)?,
        handshake_timeout: settings.handshake_timeout,
    };
    let shared = Arc::new(Sides::new(agreed.side_streams));
    let channel = channel(stream, &agreed, settings)?;
    Ok(channel.with_sides(ChannelSides::new(shared, Some(opener))))
}

/// Runs the accepting side of a session over TCP. Its side streams come to the same address.
pub(super) fn serve(
    config: Arc<ServerConfig>,
    transport: Transport,
    terms: HandshakeTerms,
    listening: &Listening,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let (stream, agreed) = super::serve(Arc::clone(&config), transport, &terms, settings)?;
    if agreed.side_streams == 0 {
        return channel(stream, &agreed, settings);
    }
    let shared = Arc::new(Sides::new(agreed.side_streams));
    let tokens = tokens(&stream, agreed.side_streams)?;
    let channel = channel(stream, &agreed, settings)?;
    let mut config = (*config).clone();
    config.alpn_protocols = vec![pinned::SIDE.to_vec()];
    let parties = [terms.own, agreed.peer.fingerprint];
    let expected = listening.expected();
    expected.expect(tokens, parties, &Arc::new(config), &shared);
    Ok(channel.with_sides(ChannelSides::new(shared, None)))
}

/// Accepts the side streams of a channel, while nobody accepts peers at its address.
pub(super) fn attend(channel: &Channel, listening: &Arc<Listening>, settings: &Settings) {
    if channel.has_sides() {
        sides::attend(listening, settings);
    }
}

/// Returns the configuration with which `identity` opens side streams.
#[cfg(test)]
pub(crate) fn side_client_config(
    identity: &Identity,
    expected: &Fingerprint,
) -> Result<ClientConfig, NetError> {
    let config = pinned::client_config(identity, &[*expected]);
    let mut config = config.map_err(|error| failed(&error))?;
    config.alpn_protocols = vec![pinned::SIDE.to_vec()];
    Ok(config)
}

/// Returns the tokens that bind each side stream of both directions to this session.
fn tokens(stream: &TlsStream, side_streams: u8) -> Result<Vec<Token>, NetError> {
    let mut tokens = Vec::new();
    for way in StreamDirection::BOTH {
        for place in 0..side_streams {
            let exported = stream.export(LABEL, &[way as u8, place])?;
            tokens.push(Token::new(way, place.into(), &exported));
        }
    }
    Ok(tokens)
}

/// A party's parameters in the handshake of a side stream, besides its keys.
pub(crate) struct SideHandshake<'a> {
    pub(crate) own: Fingerprint,
    pub(crate) timeout: Duration,
    pub(crate) cancel: &'a CancelHandle,
}

impl SideHandshake<'_> {
    fn parts(&self) -> (HandshakeTerms, Settings) {
        let settings = Settings {
            handshake_timeout: self.timeout,
            cancel: self.cancel.clone(),
            ..Settings::default()
        };
        (HandshakeTerms::alone(self.own, pinned::SIDE), settings)
    }

    /// Runs the side that connects. Returns the peer's authenticated identity.
    pub(crate) fn call(
        &self,
        config: Arc<ClientConfig>,
        transport: Transport,
    ) -> Result<(TlsStream, Fingerprint), NetError> {
        let (terms, settings) = self.parts();
        let (stream, Agreed { peer, .. }) = call(config, transport, &terms, &settings)?;
        Ok((stream, peer.fingerprint))
    }

    /// Runs the side that accepts.
    pub(crate) fn serve(
        &self,
        config: Arc<ServerConfig>,
        transport: Transport,
    ) -> Result<(TlsStream, Fingerprint), NetError> {
        let (terms, settings) = self.parts();
        let (stream, Agreed { peer, .. }) = super::serve(config, transport, &terms, &settings)?;
        Ok((stream, peer.fingerprint))
    }
}
