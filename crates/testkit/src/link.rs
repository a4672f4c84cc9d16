//! An open channel, such as one over TLS to another process, whose outgoing messages a test
//! changes.

use std::io::IoSlice;
use std::sync::{Arc, Mutex};

use tacit_net::{Channel, Interrupt, NetError, Sink, Source, Transport, Wait};

use crate::tamper::{Play, TamperingSink, first_message, framed};

/// The longest message that passes, in bytes.
const MAX_BYTES: usize = 1 << 26;

/// Returns the same channel with the same peer. `play` replaces each outgoing message; if it ends,
/// the connection is closed.
///
/// # Panics
///
/// If the peer is not authenticated.
pub fn playing(channel: Channel, play: Play) -> Channel {
    let peer = channel.peer().expect("an authenticated channel");
    let (binding, timeout) = (channel.binding(), channel.timeout());
    let inner = Arc::new(Mutex::new(Some(channel)));
    let source = Coming {
        inner: Arc::clone(&inner),
        unread: Vec::new(),
    };
    let leaving = Leaving {
        inner,
        pending: Vec::new(),
    };
    let sink = TamperingSink::playing(Box::new(leaving), play);
    let transport = Transport::new(Box::new(source), Box::new(sink));
    let mut outer = Channel::over_proved(transport, peer, binding);
    outer.set_timeout(timeout);
    outer
}

/// The channel, until it is closed.
type Inner = Arc<Mutex<Option<Channel>>>;

fn failed(error: NetError) -> Interrupt {
    Interrupt::Failed(Box::new(error))
}

/// The bytes of incoming frames.
struct Coming {
    inner: Inner,
    unread: Vec<u8>,
}

impl Source for Coming {
    fn read(&mut self, into: &mut [u8], _wait: &Wait<'_>) -> Result<usize, Interrupt> {
        if self.unread.is_empty() {
            let mut inner = self.inner.lock().expect("no panic");
            let Some(channel) = inner.as_mut() else {
                return Ok(0);
            };
            match channel.receive(MAX_BYTES) {
                Ok(frame) => self.unread = framed(frame.kind, frame.payload),
                Err(NetError::Closed { .. }) => return Ok(0),
                Err(error) => return Err(failed(error)),
            }
        }
        let count = into.len().min(self.unread.len());
        into[..count].copy_from_slice(&self.unread[..count]);
        self.unread.drain(..count);
        Ok(count)
    }
}

/// The bytes of outgoing frames, sent as whole frames.
struct Leaving {
    inner: Inner,
    pending: Vec<u8>,
}

impl Sink for Leaving {
    fn write(&mut self, parts: &[IoSlice<'_>], _wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let before = self.pending.len();
        for part in parts {
            self.pending.extend_from_slice(part);
        }
        let taken = self.pending.len() - before;
        let mut inner = self.inner.lock().expect("no panic");
        while let Some((kind, payload, end)) = first_message(&self.pending) {
            if let Some(channel) = inner.as_mut() {
                channel.send(kind, &payload).map_err(failed)?;
                channel.flush().map_err(failed)?;
            }
            self.pending.drain(..end);
        }
        Ok(taken)
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self.inner.lock().expect("no panic").take() {
            Some(channel) => channel.close().map_err(failed),
            None => Ok(()),
        }
    }
}
