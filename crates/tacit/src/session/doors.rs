//! Addresses at which peers connect: for one expected peer, or for several. Relays, too.

use std::net::SocketAddr;
use std::time::Duration;

use tacit_net::relay::{self, Hello};
use tacit_net::tls::{Admitted, Arrived, Door};
use tacit_net::{Fingerprint, Identity, NetError, Settings, plain, tls};
use tacit_protocol::message::{AbortReason, Kind};

use super::{Session, Side};
use crate::Error;

/// An address at which a peer connects.
///
/// After this is dropped, the port stays held while a session is open that was accepted here and
/// may still open side streams ([`Settings::side_streams`](tacit_net::Settings)). Any other
/// connection there is closed.
pub struct Listener(tls::Listener);

impl Listener {
    /// Listens at `address`, such as `0.0.0.0:7000`. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// The address does not belong to this machine, or is in use.
    pub fn bind(address: &str) -> Result<Self, Error> {
        Ok(Self(tls::Listener::bind(address)?))
    }

    /// Returns the address with the actual port.
    pub fn local_address(&self) -> SocketAddr {
        self.0.local_address()
    }

    /// Waits for `peer` to connect. Any other peer is refused, and the wait goes on.
    ///
    /// # Errors
    ///
    /// The peer does not connect in time, or it speaks another version.
    pub fn accept(
        &self,
        identity: &Identity,
        peer: &Fingerprint,
        settings: &Settings,
    ) -> Result<Session, Error> {
        self.accept_watched(identity, peer, settings, &mut |_, _| ())
    }

    /// Waits for the first of `peers` to connect, as [`Listener::accept_watched`] does for one
    /// peer.
    ///
    /// # Errors
    ///
    /// The same as for [`Listener::accept`].
    pub fn accept_any(
        &self,
        identity: &Identity,
        peers: &[Fingerprint],
        settings: &Settings,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<Session, Error> {
        let channel = self.0.accept_peer(identity, peers, settings, refused)?;
        let own = identity.fingerprint();
        let session = Session::in_lane(channel, Side::Listening, Some(&own), settings.lane)?;
        Ok(session.held_by(identity))
    }

    /// Waits as [`Listener::accept`] does, and calls `refused` with the address and the reason of
    /// every connection that it refuses.
    ///
    /// # Errors
    ///
    /// The same as for [`Listener::accept`].
    pub fn accept_watched(
        &self,
        identity: &Identity,
        peer: &Fingerprint,
        settings: &Settings,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<Session, Error> {
        self.accept_any(identity, &[*peer], settings, refused)
    }
}

impl Listener {
    /// Opens the address to all that are admitted.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn open(
        self,
        identity: &Identity,
        admitted: &Admitted,
        settings: &Settings,
    ) -> Result<Door, Error> {
        Ok(self.0.open(identity, admitted, settings)?)
    }
}

impl Session {
    /// Meets `peer` at the relay at `address`, to which both connect, within the time limit for
    /// connecting.
    ///
    /// # Errors
    ///
    /// The relay refuses, or `peer` does not come in time; or those of
    /// [`over_transport`](Self::over_transport).
    pub fn at_relay(
        address: &str,
        hello: Hello,
        identity: &Identity,
        peer: &Fingerprint,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let transport = relay::join(address, hello, settings, settings.connect_timeout)?;
        let side = if hello.listens {
            Side::Listening
        } else {
            Side::Connecting
        };
        Self::over_transport(transport, side, identity, peer, settings)
    }

    /// Starts the session with a peer that has arrived at a door of `own`. The peer must send its
    /// greeting within the time limit of the handshake. After that, the other limits and the cancel
    /// handle of `settings` apply.
    ///
    /// # Errors
    ///
    /// The peer does not send its greeting in time, or speaks another version.
    pub fn greet(arrived: Arrived, own: &Fingerprint, settings: &Settings) -> Result<Self, Error> {
        let mut channel = arrived.channel;
        channel.set_cancel_handle(settings.cancel.clone());
        channel.set_timeout(settings.handshake_timeout);
        let mut session = Self::in_lane(channel, Side::Listening, Some(own), settings.lane)?;
        session.channel.set_timeout(settings.timeout);
        Ok(session)
    }

    /// Tells a peer that has arrived, within `time`, why there will be no session.
    pub fn turn_away(arrived: Arrived, reason: AbortReason, time: Duration) {
        let channel = arrived.channel;
        // If the peer has left, there is nobody to tell.
        let _ = channel.abort(Kind::Abort.byte(), &[reason.byte()], time);
    }
}

/// A loopback address at which another process of this machine connects in the clear. This is for
/// measurements: nothing is encrypted and nobody is authenticated.
pub struct PlainListener(plain::Listener);

impl PlainListener {
    /// Listens at `address`, which must be a loopback address. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// The address is not a loopback address, or is in use.
    pub fn bind(address: &str) -> Result<Self, Error> {
        Ok(Self(plain::Listener::bind(address)?))
    }

    /// Returns the address with the actual port.
    pub fn local_address(&self) -> SocketAddr {
        self.0.local_address()
    }

    /// Waits for the peer to connect.
    ///
    /// # Errors
    ///
    /// Nobody connects in time, or it speaks another version.
    pub fn accept(&self, settings: &Settings) -> Result<Session, Error> {
        Session::over(self.0.accept(settings)?, Side::Listening, None)
    }
}
