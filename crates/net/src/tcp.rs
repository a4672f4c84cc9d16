//! TCP: sockets as transports, connecting to peers that may not listen yet, and accepting peers.

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::wait::SLICE;
use crate::{Awaited, Interrupt, NetError, Settings, Sink, Source, Transport, Wait};

/// The pause between two tries to connect, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause between two tries where the other party is there and has no time.
const LAST_BUSY_PAUSE: Duration = Duration::from_secs(2);

/// The pauses between tries to connect, each twice the one before.
pub(crate) struct BackOff {
    next: Duration,
    last: Duration,
}

impl BackOff {
    /// For a party that may not be there yet.
    fn absent() -> Self {
        let (next, last) = (FIRST_PAUSE, LAST_PAUSE);
        Self { next, last }
    }

    /// For one that is there.
    pub(crate) fn busy() -> Self {
        let (next, last) = (LAST_PAUSE / 4, LAST_BUSY_PAUSE);
        Self { next, last }
    }

    /// Waits until a pause is over that began at `began`.
    pub(crate) fn pause(&mut self, began: Instant, wait: &Wait<'_>) -> Result<(), Interrupt> {
        while began.elapsed() < self.next {
            thread::sleep(wait.slice()?.min(self.next));
        }
        self.next = self.last.min(self.next * 2);
        Ok(())
    }
}

/// The pause between two looks for a connection to accept, where the system cannot be waited for.
pub(crate) const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// Which addresses are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Anywhere,
    Loopback,
}

impl Reach {
    pub(crate) fn check(self, address: SocketAddr) -> Result<(), NetError> {
        match self {
            Self::Loopback if !canonical(address.ip()).is_loopback() => {
                Err(NetError::NotLoopback { address })
            }
            _ => Ok(()),
        }
    }
}

/// An IPv4 address that came in IPv6 clothes as itself.
fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => v6.to_canonical(),
        IpAddr::V4(_) => ip,
    }
}

/// How long a source that rests waits before it looks at its handle. Each of a thousand idle
/// sessions wakes its thread this often.
const REST_SLICE: Duration = Duration::from_millis(500);

struct SocketSource(Arc<TcpStream>);
struct SocketSink(Arc<TcpStream>);

/// Makes a connected socket one that hands control back every now and then.
pub(crate) fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    // Frames are gathered before they are written, so that waiting for more only adds delay.
    socket.set_nodelay(true)?;
    // The kernel hands control back at least so often, and the wait is looked at. Its buffers are
    // left to grow by themselves: a size set by hand would stop that and be smaller.
    socket.set_read_timeout(Some(SLICE))?;
    socket.set_write_timeout(Some(SLICE))
}

/// A transport over a connected socket.
pub(crate) fn transport(socket: TcpStream) -> io::Result<Transport> {
    prepare(&socket)?;
    let socket = Arc::new(socket);
    Ok(Transport::new(
        Box::new(SocketSource(Arc::clone(&socket))),
        Box::new(SocketSink(socket)),
    ))
}

/// Repeats `operation` until it does something, fails for good, or the wait ends.
pub(crate) fn repeat(
    wait: &Wait<'_>,
    mut operation: impl FnMut() -> io::Result<usize>,
) -> Result<usize, Interrupt> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    loop {
        match operation() {
            Ok(count) => return Ok(count),
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {
                wait.slice()?;
            }
            Err(error) => return Err(Interrupt::Io(error)),
        }
    }
}

impl Source for SocketSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        repeat(wait, || (&*self.0).read(into))
    }

    fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.0.set_read_timeout(Some(REST_SLICE))?;
        let ready = repeat(wait, || self.0.peek(&mut [0]));
        self.0.set_read_timeout(Some(SLICE))?;
        ready.map(drop)
    }
}

impl Sink for SocketSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let count = repeat(wait, || (&*self.0).write_vectored(parts))?;
        if count == 0 {
            return Err(Interrupt::Io(io::ErrorKind::BrokenPipe.into()));
        }
        Ok(count)
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self.0.shutdown(Shutdown::Write) {
            // The peer has closed already, which is as good.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            other => Ok(other?),
        }
    }
}

/// Connects to `address`, trying until the other party listens.
pub(crate) fn connect(
    address: &str,
    reach: Reach,
    settings: &Settings,
) -> Result<TcpStream, NetError> {
    let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
    connect_within(address, reach, settings, &wait)
}

/// The same within `wait`, which is part of the time to connect.
pub(crate) fn connect_within(
    address: &str,
    reach: Reach,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<TcpStream, NetError> {
    let mut back_off = BackOff::absent();
    loop {
        let began = Instant::now();
        let reason = match try_connect(address, reach, settings, wait)? {
            Ok(socket) => return Ok(socket),
            Err(reason) => reason,
        };
        match back_off.pause(began, wait) {
            Ok(()) => {}
            Err(Interrupt::TimedOut) => {
                return Err(NetError::Unreachable {
                    address: address.to_owned(),
                    after: settings.connect_timeout,
                    reason,
                });
            }
            Err(other) => return Err(ended(other, settings)),
        }
    }
}

/// Tries each address behind the name once. The outer error is final; the inner one may pass.
///
/// The tries are made by a thread that is left alone when the wait ends, because neither the
/// resolver nor connecting can be interrupted. It ends by itself, and drops what it has.
fn try_connect(
    address: &str,
    reach: Reach,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<io::Result<TcpStream>, NetError> {
    let (report, reported) = mpsc::sync_channel(1);
    let (name, time) = (address.to_owned(), settings.connect_timeout);
    thread::spawn(move || {
        // Nobody listens any more if the wait has ended, and then there is nothing to do.
        let _ = report.send(try_each(&name, reach, time));
    });
    loop {
        let slice = wait.slice().map_err(|over| match over {
            Interrupt::TimedOut => NetError::Unreachable {
                address: address.to_owned(),
                after: settings.connect_timeout,
                reason: io::ErrorKind::TimedOut.into(),
            },
            other => ended(other, settings),
        })?;
        match reported.recv_timeout(slice) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(io::Error::other("the connecting thread ended early")));
            }
        }
    }
}

fn try_each(
    address: &str,
    reach: Reach,
    time: Duration,
) -> Result<io::Result<TcpStream>, NetError> {
    let mut last = io::Error::other("the name stands for no address");
    for candidate in resolve(address, reach)? {
        // A zero timeout is refused by the standard library.
        match TcpStream::connect_timeout(&candidate, time.max(SLICE)) {
            Ok(socket) => match socket.local_addr() {
                Ok(local) => return reach.check(local).map(|()| Ok(socket)),
                Err(error) => last = error,
            },
            Err(error) => last = error,
        }
    }
    Ok(Err(last))
}

fn resolve(address: &str, reach: Reach) -> Result<Vec<SocketAddr>, NetError> {
    let addresses: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|reason| NetError::Address {
            address: address.to_owned(),
            reason,
        })?
        .collect();
    addresses.iter().try_for_each(|&one| reach.check(one))?;
    Ok(addresses)
}

/// The error of a wait for a connection that ended early.
pub(crate) fn ended(interrupt: Interrupt, settings: &Settings) -> NetError {
    NetError::interrupted(interrupt, Awaited::Connection, settings.connect_timeout)
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    reach: Reach,
}

impl Listening {
    pub(crate) fn bind(address: &str, reach: Reach) -> Result<Self, NetError> {
        let refused = |reason| NetError::Address {
            address: address.to_owned(),
            reason,
        };
        let candidates = resolve(address, reach)?;
        let listener = TcpListener::bind(&candidates[..]).map_err(refused)?;
        // Accepting cannot be given a timeout, so it never blocks and is repeated.
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        reach.check(address)?;
        Ok(Self {
            listener,
            address,
            reach,
        })
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

    /// Waits for a connection, for `time` at most; on some systems for less.
    pub(crate) fn wait(&self, time: Duration) {
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

    /// The connection that waits, if there is one, and where it is from.
    pub(crate) fn look(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        match self.listener.accept() {
            Ok(found) => Ok(Some(found)),
            Err(error) if passes(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether accepting again may succeed: nobody has come, or somebody came and has gone.
fn passes(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(
        error.kind(),
        WouldBlock | Interrupted | ConnectionAborted | ConnectionReset
    )
}
