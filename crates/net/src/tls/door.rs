//! Doors: addresses to which several parties connect, and strangers if they introduce themselves.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::reception::{Complete, Reception};
use super::{HandshakeTerms, Listener, pinned, session_config};
use crate::tcp::Owner;
use crate::{Channel, Fingerprint, Identity, NetError, Settings};

/// The kind of the frame with an [`Introduction`].
pub const INTRODUCTION: u8 = 5;

/// A text by which a party that is not known introduces itself, such as a token that somebody
/// signed for it. It is secret to others, and its `Debug` does not show it.
#[derive(Clone)]
pub struct Introduction(Arc<Zeroizing<String>>);

impl Introduction {
    /// The largest number of bytes.
    pub const MAX_BYTES: usize = 4096;

    /// Returns the introduction with this text, or `None` if that is empty or too long.
    #[must_use]
    pub fn new(text: String) -> Option<Self> {
        let text = Zeroizing::new(text);
        (1..=Self::MAX_BYTES)
            .contains(&text.len())
            .then(|| Self(Arc::new(text)))
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Introduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Introduction(..)")
    }
}

/// The parties that a door lets in.
#[derive(Clone, Debug, Default)]
pub struct Admitted {
    /// The parties that are known.
    pub known: Vec<Fingerprint>,
    /// Whether others are let in, too, once they have sent a first message, which should be an
    /// [`Introduction`]. It is for the caller to check.
    pub strangers: bool,
}

impl From<&[Fingerprint]> for Admitted {
    fn from(known: &[Fingerprint]) -> Self {
        Self {
            known: known.to_vec(),
            strangers: false,
        }
    }
}

impl Admitted {
    fn admission(&self) -> pinned::Admission {
        pinned::Admission {
            strangers: self.strangers,
            ..pinned::Admission::pinned(&self.known)
        }
    }

    /// Returns what the thread of a handshake does after it.
    fn complete(&self, settings: &Settings) -> Arc<Complete<Completed>> {
        let (known, patience) = (self.known.clone(), settings.handshake_timeout);
        Arc::new(move |mut channel| {
            let is_known = channel.peer().is_some_and(|peer| known.contains(&peer));
            let introduction = if is_known {
                None
            } else {
                introduced(&mut channel, patience)?
            };
            Ok((channel, introduction))
        })
    }
}

/// Receives the first message of a stranger. Returns its introduction, if it is one.
fn introduced(channel: &mut Channel, patience: Duration) -> Result<Option<Introduction>, NetError> {
    let timeout = channel.timeout();
    channel.set_timeout(patience);
    let frame = channel.receive(Introduction::MAX_BYTES)?;
    let text = String::from_utf8(frame.payload.to_vec()).ok();
    let text = text.filter(|_| frame.kind == INTRODUCTION);
    channel.set_timeout(timeout);
    Ok(text.and_then(Introduction::new))
}

type Completed = (Channel, Option<Introduction>);

/// A party that has connected to a door and proved its identity.
#[derive(Debug)]
pub struct Arrived {
    /// The channel to it.
    pub channel: Channel,
    /// The address that it connected from.
    pub from: SocketAddr,
    /// How it introduced itself, if it is not known and did so.
    pub introduction: Option<Introduction>,
}

/// A socket to which several parties connect, one after another or at the same time.
pub struct Door {
    listening: Owner,
    reception: Reception<Completed>,
    settings: Settings,
}

impl Listener {
    /// Opens the socket to all parties that are admitted, as `identity`.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn open(
        self,
        identity: &Identity,
        admitted: &Admitted,
        settings: &Settings,
    ) -> Result<Door, NetError> {
        let config = session_config(identity, admitted.admission(), settings)?;
        let terms = HandshakeTerms::session(identity.fingerprint(), settings);
        let (complete, listening) = (admitted.complete(settings), Arc::clone(&self.0));
        Ok(Door {
            reception: Reception::completing(config, terms, settings, listening, complete),
            listening: self.0,
            settings: settings.clone(),
        })
    }
}

impl Door {
    /// Returns the address, with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Returns the next party that has connected and proved its identity; waits for at most
    /// `pause`. Handshakes run at the same time, also between calls, each within
    /// [`Settings::handshake_timeout`], and so do introductions. Calls `refused` for each that
    /// fails.
    pub fn next(
        &mut self,
        pause: Duration,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Option<Arrived> {
        let ((channel, introduction), from) = self.reception.step(true, pause, refused)?;
        Some(Arrived {
            channel,
            from,
            introduction,
        })
    }

    /// Admits these parties from now on, as `identity`. Open channels stay open.
    ///
    /// # Errors
    ///
    /// The identity cannot be used.
    pub fn admit(&mut self, identity: &Identity, admitted: &Admitted) -> Result<(), NetError> {
        let config = session_config(identity, admitted.admission(), &self.settings)?;
        let terms = HandshakeTerms::session(identity.fingerprint(), &self.settings);
        let complete = admitted.complete(&self.settings);
        self.reception.configure(config, terms, complete);
        Ok(())
    }
}
