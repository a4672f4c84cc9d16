//! Sockets that listen.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

use super::{LOOK_PAUSE, Reach, ended, resolve};
use crate::sides::Expected;
use crate::{Interrupt, NetError, Settings, Wait};

/// The most connections that wait for an acceptor of peers.
const MOST_PARKED: usize = 64;

/// A socket that listens.
pub(crate) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    reach: Reach,
    /// The side streams that sessions of this socket wait for.
    expected: Expected,
    is_attended: AtomicBool,
    /// Whether peers may still be accepted here, now or later.
    is_owned: AtomicBool,
    /// The connections that came for an acceptor of peers while there was none.
    parked: Mutex<VecDeque<(TcpStream, SocketAddr)>>,
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Listening {
    pub(crate) fn bind(address: &str, reach: Reach) -> Result<Self, NetError> {
        let refused = |reason| NetError::Address {
            address: address.to_owned(),
            reason,
        };
        let candidates = resolve(address, reach)?;
        let listener = TcpListener::bind(&candidates[..]).map_err(refused)?;
        // `accept` has no timeout, so it must not block, and a loop repeats it.
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        reach.check(address)?;
        Ok(Self {
            listener,
            address,
            reach,
            expected: Expected::default(),
            is_attended: AtomicBool::new(false),
            is_owned: AtomicBool::new(true),
            parked: Mutex::default(),
        })
    }

    /// Returns the side streams that sessions of this socket wait for.
    pub(crate) fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns whether the caller has to accept side streams from now on, since nobody else does.
    pub(crate) fn begin_attending(&self) -> bool {
        !self.is_attended.swap(true, Ordering::SeqCst)
    }

    /// Ends the caller's acceptance of side streams.
    pub(crate) fn end_attending(&self) {
        self.is_attended.store(false, Ordering::SeqCst);
    }

    fn parked(&self) -> MutexGuard<'_, VecDeque<(TcpStream, SocketAddr)>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection for the next acceptor of peers. If there are too many, the oldest is
    /// closed. If peers are no longer accepted here, all are closed.
    pub(crate) fn park(&self, came: (TcpStream, SocketAddr)) {
        let mut parked = self.parked();
        parked.push_back(came);
        if parked.len() > MOST_PARKED {
            parked.pop_front();
        }
        drop(parked);
        // Checked once the lock is free, so that an owner that is dropped meanwhile leaves nothing.
        if !self.is_owned.load(Ordering::SeqCst) {
            self.parked().clear();
        }
    }

    /// Returns the next connection to the socket. Waits for at most `time`; on some systems for
    /// less.
    pub(crate) fn take_next(&self, time: Duration) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        self.wait_for_more(time);
        self.accept_next()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn accept(&self, settings: &Settings) -> Result<TcpStream, NetError> {
        let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
        loop {
            match self.look() {
                Ok(Some((socket, peer))) => {
                    self.reach.check(peer)?;
                    return Ok(socket);
                }
                Ok(None) => {}
                Err(error) => return Err(ended(Interrupt::Io(error), settings)),
            }
            let slice = wait.slice().map_err(|over| ended(over, settings))?;
            self.wait(slice);
        }
    }

    /// Waits for a connection, for at most `time`; on some systems for less.
    pub(crate) fn wait(&self, time: Duration) {
        if self.parked().is_empty() {
            self.wait_for_more(time);
        }
    }

    fn wait_for_more(&self, time: Duration) {
        #[cfg(unix)]
        {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let mut ends = [PollFd::new(&self.listener, PollFlags::IN)];
            let waited = Timespec::try_from(time).map(|time| poll(&mut ends, Some(&time)));
            if let Ok(Ok(_)) = waited {
                return;
            }
        }
        thread::sleep(time.min(LOOK_PAUSE));
    }

    /// Returns a waiting connection, if there is one, with its address.
    pub(crate) fn look(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        if let Some(parked) = self.parked().pop_front() {
            return Ok(Some(parked));
        }
        self.accept_next()
    }

    fn accept_next(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        match self.listener.accept() {
            Ok(found) => Ok(Some(found)),
            Err(error) if passes(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The right to accept peers at a socket. Sessions of this socket may keep the socket open for
/// longer, and with it the port, for their side streams. Once this is dropped, peers that come or
/// wait there are closed.
#[derive(Debug)]
pub(crate) struct Owner(Arc<Listening>);

impl Owner {
    pub(crate) fn bind(address: &str, reach: Reach) -> Result<Self, NetError> {
        Ok(Self(Arc::new(Listening::bind(address, reach)?)))
    }
}

impl Deref for Owner {
    type Target = Arc<Listening>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.is_owned.store(false, Ordering::SeqCst);
        // Does not wait for the lock: in a forked process it may never become free. The thread that
        // holds it is parking a connection, and closes all of them afterwards.
        if let Ok(mut parked) = self.0.parked.try_lock() {
            parked.clear();
        }
    }
}

/// Returns whether another accept may succeed: nobody has come, or somebody came and left.
fn passes(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(
        error.kind(),
        WouldBlock | Interrupted | ConnectionAborted | ConnectionReset
    )
}
