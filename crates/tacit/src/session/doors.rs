//! Where peers connect: one address and the peer that is waited for, or all who may come.

use std::net::SocketAddr;
use std::time::Duration;

use tacit_net::{Channel, Fingerprint, Identity, NetError, Settings, plain, tls};
use tacit_protocol::message::{AbortReason, Kind};

use super::{Session, Side};
use crate::Error;

/// An address at which a peer connects.
pub struct Listener(tls::Listener);

impl Listener {
    /// Listens at `address`, such as `0.0.0.0:7000`; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address is not this machine's, or is taken.
    pub fn bind(address: &str) -> Result<Self, Error> {
        Ok(Self(tls::Listener::bind(address)?))
    }

    /// The address with the port that was taken.
    #[must_use]
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

    /// Waits for whichever of `peers` connects first, as [`Listener::accept_watched`] does for one.
    ///
    /// # Errors
    ///
    /// As [`Listener::accept`].
    pub fn accept_any(
        &self,
        identity: &Identity,
        peers: &[Fingerprint],
        settings: &Settings,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<Session, Error> {
        let channel = self.0.accept_peer(identity, peers, settings, refused)?;
        Session::over(channel, Side::Listening, Some(&identity.fingerprint()))
    }

    /// As [`Listener::accept`], and tells `refused` of every connection that it refuses: where it
    /// is from and why.
    ///
    /// # Errors
    ///
    /// As [`Listener::accept`].
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

/// A peer that has connected and proved who it is, and with whom there is no session yet.
pub struct Arrival {
    channel: Channel,
    own: Fingerprint,
    from: SocketAddr,
}

impl Listener {
    /// Opens the address to all of `allowed`.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn open(
        self,
        identity: &Identity,
        allowed: &[Fingerprint],
        settings: &Settings,
    ) -> Result<Door, Error> {
        Ok(Door(self.0.open(identity, allowed, settings)?))
    }
}

impl Door {
    /// The address with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.0.local_address()
    }

    /// The next peer, as `own`; waits for `pause` at most. Calls `refused` for each peer that does
    /// not prove an allowed identity in time. Other peers are not delayed.
    pub fn next(
        &mut self,
        own: &Fingerprint,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<Arrival> {
        let (channel, from) = self.0.next(pause, refused)?;
        let own = *own;
        Some(Arrival { channel, own, from })
    }

    /// Lets these peers in from now on. Sessions that are open stay open.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn allow(&mut self, identity: &Identity, allowed: &[Fingerprint]) -> Result<(), Error> {
        Ok(self.0.allow(identity, allowed)?)
    }
}

impl Arrival {
    /// The peer's fingerprint, if the channel is authenticated.
    #[must_use]
    pub fn peer(&self) -> Option<Fingerprint> {
        self.channel.peer()
    }

    /// Where it connected from.
    #[must_use]
    pub fn from(&self) -> SocketAddr {
        self.from
    }

    /// Begins the session: the peer greets within the handshake's time. The other bounds and the
    /// cancel handle of `settings` hold from then on.
    ///
    /// # Errors
    ///
    /// It does not greet in time, or speaks another version.
    pub fn greet(mut self, settings: &Settings) -> Result<Session, Error> {
        self.channel.set_cancel_handle(settings.cancel.clone());
        self.channel.set_timeout(settings.handshake_timeout);
        let mut session = Session::over(self.channel, Side::Listening, Some(&self.own))?;
        session.channel.set_timeout(settings.timeout);
        Ok(session)
    }

    /// Tells the peer, within `time`, why there will be no session.
    pub fn refuse(self, reason: AbortReason, time: Duration) {
        // The peer may have left; then there is nobody to tell.
        let _ = self
            .channel
            .abort(Kind::Abort.byte(), &[reason.byte()], time);
    }
}

/// An address of this machine at which another process of this machine connects in the clear. For
/// measurements: nothing is encrypted and nobody is authenticated.
pub struct PlainListener(plain::Listener);

impl PlainListener {
    /// Listens at `address`, which must be a loopback address; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address is not a loopback address, or is taken.
    pub fn bind(address: &str) -> Result<Self, Error> {
        Ok(Self(plain::Listener::bind(address)?))
    }

    /// The address with the port that was taken.
    #[must_use]
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
