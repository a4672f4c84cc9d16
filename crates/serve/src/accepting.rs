//! Sockets whose connections have a thread each, with a bound on those that have not sent a
//! request.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tacit::net::networks;

/// The pause between two checks for a connection.
const PAUSE: Duration = Duration::from_millis(10);

/// A socket that accepts connections on a thread, until this is dropped.
pub(crate) struct Accepting {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Accepting {
    /// Listens at `address` on a thread of this name. Calls `handle` on a new thread for each
    /// connection. At most `most` connections wait for their request. Calls `before_each` before it
    /// looks for a connection, and accepts none while that returns false.
    pub(crate) fn start(
        (name, address): (&str, &str),
        most: usize,
        mut before_each: impl FnMut() -> bool + Send + 'static,
        handle: impl Fn(Arc<TcpStream>, SocketAddr, Unheard) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        // `accept` has no timeout, so it must not block, and a loop repeats it.
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, handle) = (Arc::clone(&stop), Arc::new(handle));
        let silent = Arc::new(Silent::new(most));
        let accept = move || {
            while !stopped.load(Ordering::Acquire) {
                let accepted = before_each().then(|| silent.accept(&listener)).flatten();
                let Some((socket, from)) = accepted else {
                    thread::sleep(PAUSE);
                    continue;
                };
                let socket = Arc::new(socket);
                let unheard = silent.add(&socket, from.ip());
                let handle = Arc::clone(&handle);
                // If no thread can be started, the other side comes again.
                let _ = thread::Builder::new().spawn(move || handle(socket, from, unheard));
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(accept)?;
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the address with the port that was taken.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the thread that accepts.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic on that thread has been reported already.
            let _ = thread.join();
        }
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The connections, each of which has a thread that reads its request.
struct Silent {
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
    fn new(most: usize) -> Self {
        let waiting = Mutex::default();
        Self { most, waiting }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the next connection at `listener`. Returns `None` if none waits, or if more than
    /// twice `most` threads are at work: the thread of a connection that has given way takes a
    /// moment to end.
    fn accept(self: &Arc<Self>, listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
        if Arc::strong_count(self) <= 2 * self.most {
            listener.accept().ok()
        } else {
            None
        }
    }

    /// Adds a connection. If the set is full, one connection of the network with the most gives
    /// way.
    fn add(self: &Arc<Self>, socket: &Arc<TcpStream>, from: IpAddr) -> Unheard {
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
