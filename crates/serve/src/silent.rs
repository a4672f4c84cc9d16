//! Connections that have not sent a request yet; their number is bounded.

use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tacit::net::networks;

/// The connections, each of which has a thread that reads its request.
pub(crate) struct Silent {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// The connections, the oldest first.
    connections: VecDeque<Connection>,
}

struct Connection {
    number: u64,
    from: IpAddr,
    socket: Arc<TcpStream>,
}

/// One of the connections. Dropping it removes it from them.
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
    /// Makes an empty set of at most this many connections.
    pub(crate) fn new(most: usize) -> Self {
        let waiting = Mutex::default();
        Self { most, waiting }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the next connection at `listener`. Returns `None` if none waits, or if more than
    /// twice `most` threads are at work: the thread of a connection that has given way takes a
    /// moment to end.
    pub(crate) fn accept(
        self: &Arc<Self>,
        listener: &TcpListener,
    ) -> Option<(TcpStream, SocketAddr)> {
        if Arc::strong_count(self) <= 2 * self.most {
            listener.accept().ok()
        } else {
            None
        }
    }

    /// Adds a connection. If the set is full, one connection of the network with the most gives
    /// way.
    pub(crate) fn add(self: &Arc<Self>, socket: &Arc<TcpStream>, from: IpAddr) -> Unheard {
        let mut waiting = self.lock();
        let connections = &mut waiting.connections;
        if connections.len() >= self.most
            && let Some(place) = networks::gives_way(connections.iter().map(|one| one.from))
            && let Some(one) = connections.remove(place)
        {
            // A connection that is gone already needs no end.
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
