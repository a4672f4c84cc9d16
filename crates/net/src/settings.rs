//! The limits of a connection, while it is made and after.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use crate::tls::Introduction;
use crate::{CancelHandle, Channel, Lane, Link, sides};

/// The limits of a connection, and the link that it imitates.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The longest wait for the other party to be there and to have time for this one. Either side
    /// may start first, and a connection that is closed before its handshake is done is tried
    /// again.
    pub connect_timeout: Duration,
    /// Whether to wait for a party that is not there yet. Otherwise a connection that is refused is
    /// not tried again.
    pub waits_for_peer: bool,
    /// The longest time for the TLS handshake, once the other party is there.
    pub handshake_timeout: Duration,
    /// The longest time of each later wait ([`Channel::set_timeout`]).
    pub timeout: Duration,
    /// The handle that ends all these waits.
    pub cancel: CancelHandle,
    /// A link to imitate, from the first byte of the TLS handshake on. TCP's own handshake is not
    /// delayed.
    pub link: Option<Link>,
    /// The number of TLS handshakes at once with parties that connect to this one; eight times as
    /// many further connections wait for theirs.
    pub handshakes: usize,
    /// The origins of the pages that may connect by WebSocket, such as `https://example.org`, if
    /// any may. Programs, which have no origin, may then do so as well.
    pub websocket_origins: Option<Arc<[String]>>,
    /// The number of further connections in each direction that carry long frames of a session over
    /// TCP, at most 8; see [`Settings::with_threads`]. The smaller of the two parties' numbers
    /// applies. Each connection has a thread and 2 MiB of memory at either end. With a link to
    /// imitate there are none.
    pub side_streams: u8,
    /// The networks of the load balancers through which parties connect to this one. A connection
    /// from there begins with a PROXY header, which names the party's address; one from elsewhere
    /// with a header is refused. This is for parties that accept several peers.
    pub proxies: Arc<[IpNet]>,
    /// The name of this process among several of one party, which a session tells the peer.
    pub lane: Lane,
    /// How this party introduces itself when it connects to one that does not know it.
    pub introduction: Option<Introduction>,
}

impl Settings {
    /// Returns the same settings with the side streams that suit a party working on `threads`
    /// threads: half as many, and none for one thread.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        let half = (threads.get() / 2).min(usize::from(sides::MOST));
        Self {
            side_streams: half as u8,
            ..self
        }
    }

    /// Returns the side streams of a connection over TCP.
    pub(crate) fn side_streams(&self) -> u8 {
        match self.link {
            Some(_) => 0,
            None => self.side_streams.min(sides::MOST),
        }
    }
}

impl Default for Settings {
    /// A minute for the other party to come, 10 seconds for the handshake, 32 handshakes at once,
    /// [`Channel::DEFAULT_TIMEOUT`] after that, no link, no side streams,
    /// no load balancer.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(60),
            waits_for_peer: true,
            handshake_timeout: Duration::from_secs(10),
            timeout: Channel::DEFAULT_TIMEOUT,
            cancel: CancelHandle::new(),
            link: None,
            handshakes: 32,
            websocket_origins: None,
            side_streams: 0,
            proxies: Arc::default(),
            lane: Lane::NONE,
            introduction: None,
        }
    }
}
