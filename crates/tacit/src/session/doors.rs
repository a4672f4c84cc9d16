//! Addresses at which peers connect: for one expected peer, or for several.

use std::net::SocketAddr;
use std::time::Duration;

use tacit_net::tls::{Admitted, Arrived, Introduction};
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
        Session::in_lane(channel, Side::Listening, Some(&own), settings.lane)
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

/// An address at which several peers connect, one after another or at the same time.
pub struct Door(tls::Door);

/// A peer that has connected and proved its identity, but has no session yet.
pub struct Arrival {
    arrived: Arrived,
    own: Fingerprint,
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
        Ok(Door(self.0.open(identity, admitted, settings)?))
    }
}

impl Door {
    /// Returns the address with the actual port.
    pub fn local_address(&self) -> SocketAddr {
        self.0.local_address()
    }

    /// Returns the next peer that connects to `own`, or `None` after `pause`. Calls `refused` for
    /// each peer that does not prove an allowed identity in time. Other peers are not delayed.
    pub fn next(
        &mut self,
        own: &Fingerprint,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<Arrival> {
        let arrived = self.0.next(pause, refused)?;
        let own = *own;
        Some(Arrival { arrived, own })
    }

    /// Admits these peers from now on. Open sessions stay open.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn admit(&mut self, identity: &Identity, admitted: &Admitted) -> Result<(), Error> {
        Ok(self.0.admit(identity, admitted)?)
    }
}

impl Arrival {
    /// Returns the peer's fingerprint, if the channel is authenticated.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.arrived.channel.peer()
    }

    /// Returns how the peer introduced itself, if it is not among the known ones and did so.
    #[must_use]
    pub fn introduction(&self) -> Option<&Introduction> {
        self.arrived.introduction.as_ref()
    }

    /// Returns the address that the peer connected from.
    pub fn from(&self) -> SocketAddr {
        self.arrived.from
    }

    /// Starts the session. The peer must send its greeting within the time limit of the handshake.
    /// After that, the other limits and the cancel handle of `settings` apply.
    ///
    /// # Errors
    ///
    /// The peer does not send its greeting in time, or speaks another version.
    pub fn greet(self, settings: &Settings) -> Result<Session, Error> {
        let mut channel = self.arrived.channel;
        channel.set_cancel_handle(settings.cancel.clone());
        channel.set_timeout(settings.handshake_timeout);
        let (own, lane) = (Some(&self.own), settings.lane);
        let mut session = Session::in_lane(channel, Side::Listening, own, lane)?;
        session.channel.set_timeout(settings.timeout);
        Ok(session)
    }

    /// Tells the peer, within `time`, why there will be no session.
    pub fn refuse(self, reason: AbortReason, time: Duration) {
        // If the peer has left, there is nobody to tell.
        let _ = self
            .arrived
            .channel
            .abort(Kind::Abort.byte(), &[reason.byte()], time);
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
