//! Timeouts while a connection is made, and after.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use crate::{CancelHandle, Channel, Link, sides};

/// The bounds of a connection, and the link that it pretends to run over.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For the other party to be there, and to have time for this one: either side may start first,
    /// and a connection that is closed before its handshake is done is tried again.
    pub connect_timeout: Duration,
    /// For the TLS handshake, once the other party is there.
    pub handshake_timeout: Duration,
    /// For each later wait ([`Channel::set_timeout`]).
    pub timeout: Duration,
    /// Ends all these waits.
    pub cancel: CancelHandle,
    /// A link to imitate, from the first byte of the TLS handshake on. TCP's own handshake is not
    /// delayed.
    pub link: Option<Link>,
    /// TLS handshakes at once with parties that connect to this one; eight times as many more
    /// connections wait for theirs.
    pub handshakes: usize,
    /// Where peers may come by WebSocket, too: the origins of the pages that may, such as
    /// `https://example.org`. Programs, which have no origin, may then as well.
    pub websocket_origins: Option<Arc<[String]>>,
    /// Further connections each way that carry long frames, at most 8, of a session over TCP; see
    /// [`Settings::with_threads`]. There are as many as both parties allow, each of which has a
    /// thread and 2 MiB of memory at either end; with a link to imitate there are none.
    pub side_streams: u8,
}

impl Settings {
    /// The same, with as many side streams as a session is worth whose party works on `threads`
    /// threads: half as many, and none for one thread.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        let half = (threads.get() / 2).min(usize::from(sides::MOST));
        Self {
            side_streams: half as u8,
            ..self
        }
    }

    /// Side streams of a connection over TCP.
    pub(crate) fn side_streams(&self) -> u8 {
        match self.link {
            Some(_) => 0,
            None => self.side_streams.min(sides::MOST),
        }
    }
}

impl Default for Settings {
    /// A minute for the other party to come, 10 seconds for the handshake, of which 32 run at once,
    /// [`Channel::DEFAULT_TIMEOUT`] after it, no link, no side streams.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(10),
            timeout: Channel::DEFAULT_TIMEOUT,
            cancel: CancelHandle::new(),
            link: None,
            handshakes: 32,
            websocket_origins: None,
            side_streams: 0,
        }
    }
}
