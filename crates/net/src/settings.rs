//! Timeouts while a connection is made, and after.

use std::sync::Arc;
use std::time::Duration;

use crate::{CancelHandle, Channel, Link};

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
}

impl Default for Settings {
    /// A minute for the other party to come, 10 seconds for the handshake, of which 32 run at once,
    /// [`Channel::DEFAULT_TIMEOUT`] after it, no link.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(10),
            timeout: Channel::DEFAULT_TIMEOUT,
            cancel: CancelHandle::new(),
            link: None,
            handshakes: 32,
            websocket_origins: None,
        }
    }
}
