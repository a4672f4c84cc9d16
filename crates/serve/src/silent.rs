//! Connections that have not sent a request yet; their number is bounded.

use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tacit::net::networks;

/// The connections, each of which a thread hears out.
pub(crate) struct Silent {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// The oldest first.
    connections: VecDeque<Connection>,
}

struct Connection {
    number: u64,
    from: IpAddr,
    socket: Arc<TcpStream>,
}

/// One of the connections, until this is dropped: then it is not among them any more.
pub(crate) struct Unheard {
    number: u64,
    silent: Arc<Silent>,
}

impl Drop for Unheard {
    fn drop(&mut self) {
        let mut waiting = self.silent.lock();
        waiting.connections.retain(|one| one.number != self.number);
    }
}

impl Silent {
    /// At most this many at once.
    pub(crate) fn new(most: usize) -> Self {
        let waiting = Mutex::default();
        Self { most, waiting }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next connection at `listener`. `None` if none waits, or if twice `most` threads are at
    /// work: the thread of a connection that has given way takes a moment to end.
    pub(crate) fn accept(
        self: &Arc<Self>,
        listener: &TcpListener,
    ) -> Option<(TcpStream, SocketAddr)> {
        match Arc::strong_count(self) <= 2 * self.most {
            true => listener.accept().ok(),
            false => None,
        }
    }

    /// One more. Where they are as many as may be, one of the network with most gives way.
    pub(crate) fn add(self: &Arc<Self>, socket: &Arc<TcpStream>, from: IpAddr) -> Unheard {
        let mut waiting = self.lock();
        let connections = &mut waiting.connections;
        if connections.len() >= self.most
            && let Some(place) = networks::gives_way(connections.iter().map(|one| one.from))
            && let Some(one) = connections.remove(place)
        {
            // One that is gone already needs no end.
            let _ = one.socket.shutdown(Shutdown::Both);
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.connections.push_back(Connection {
            number,
            from,
            socket: Arc::clone(socket),
        });
        let silent = Arc::clone(self);
        Unheard { number, silent }
    }
}
