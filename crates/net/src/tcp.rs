//! TCP: sockets as transports, connections to peers that may not listen yet, and the acceptance of
//! peers.

mod listening;

use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use self::listening::{Listening, Owner};
use crate::wait::SLICE;
use crate::{Awaited, Interrupt, NetError, Settings, Sink, Source, Transport, Wait};

/// The pause between two tries to connect: the first and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause between two tries if the other party is there but has no time.
const LAST_BUSY_PAUSE: Duration = Duration::from_secs(2);

/// The pauses between tries to connect, each twice the one before.
struct BackOff {
    next: Duration,
    last: Duration,
}

impl BackOff {
    /// Returns the pauses for a party that may not be there yet.
    fn absent() -> Self {
        let (next, last) = (FIRST_PAUSE, LAST_PAUSE);
        Self { next, last }
    }

    /// Returns the pauses for a party that is there.
    fn busy() -> Self {
        let (next, last) = (LAST_PAUSE / 4, LAST_BUSY_PAUSE);
        Self { next, last }
    }

    /// Waits until a pause is over that began at `began`.
    fn pause(&mut self, began: Instant, wait: &Wait<'_>) -> Result<(), Interrupt> {
        loop {
            let slice = wait.slice()?;
            if began.elapsed() >= self.next {
                break;
            }
            thread::sleep(slice.min(self.next));
        }
        self.next = self.last.min(self.next * 2);
        Ok(())
    }
}

/// Repeats `operation` with growing pauses, while the other end `is_busy`, until `wait` is over.
pub(crate) fn while_busy<T>(
    settings: &Settings,
    wait: &Wait<'_>,
    is_busy: fn(&NetError) -> bool,
    mut attempt: impl FnMut() -> Result<T, NetError>,
) -> Result<T, NetError> {
    let mut back_off = BackOff::busy();
    loop {
        let began = Instant::now();
        let busy = match attempt() {
            Err(busy) if is_busy(&busy) => busy,
            ended => return ended,
        };
        match back_off.pause(began, wait) {
            Ok(()) => {}
            Err(Interrupt::TimedOut) => return Err(busy),
            Err(other) => return Err(ended(other, settings)),
        }
    }
}

/// Returns whether the other end has closed the connection. Before the handshake is done, that
/// means that it had no time.
pub(crate) fn is_closed(error: &NetError) -> bool {
    matches!(error, NetError::Closed { .. })
}

/// The pause between two checks for a connection to accept, on systems without a way to wait for
/// one.
pub(crate) const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// The addresses that are allowed.
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

/// Returns an IPv4 address that is mapped to IPv6 as itself.
fn canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => v6.to_canonical(),
        IpAddr::V4(_) => ip,
    }
}

/// The time that a resting source waits before it checks its handle. Each of a thousand idle
/// sessions wakes its thread this often.
const REST_SLICE: Duration = Duration::from_millis(500);

struct SocketSource(Arc<TcpStream>);
struct SocketSink(Arc<TcpStream>);

/// Sets up a connected socket so that its calls return regularly.
pub(crate) fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    // Frames are gathered before they are written, so Nagle's wait for more would only add delay.
    socket.set_nodelay(true)?;
    // The kernel returns at least this often, and the wait is checked. The kernel's buffers keep
    // their automatic size: a size set by hand would be smaller and fixed.
    socket.set_read_timeout(Some(SLICE))?;
    socket.set_write_timeout(Some(SLICE))
}

/// Makes a transport over a connected socket.
pub(crate) fn transport(socket: TcpStream) -> io::Result<Transport> {
    prepare(&socket)?;
    let socket = Arc::new(socket);
    Ok(Transport::new(
        Box::new(SocketSource(Arc::clone(&socket))),
        Box::new(SocketSink(socket)),
    ))
}

/// Repeats `operation` until it succeeds, fails for good, or the wait ends.
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

    fn is_ready(&mut self) -> bool {
        is_readable(&self.0)
    }
}

/// Returns whether a read returns something at once. If the system cannot be asked, returns no.
pub(crate) fn is_readable(socket: &TcpStream) -> bool {
    await_room(socket, false, Duration::ZERO)
}

/// Waits until `socket` is readable or, if room was asked for, writable, for at most `time`.
/// Returns whether it is readable and, if room was asked for, not writable. The end of the peer's
/// bytes counts as readable.
#[cfg(unix)]
pub(crate) fn await_room(socket: &TcpStream, for_room: bool, time: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let (room, bytes) = (PollFlags::OUT, PollFlags::IN);
    let mut ends = [PollFd::new(
        socket,
        if for_room { room | bytes } else { bytes },
    )];
    let Ok(time) = Timespec::try_from(time) else {
        return false;
    };
    // A signal ends the wait early, and the caller repeats it.
    let is_ready = poll(&mut ends, Some(&time)).is_ok_and(|count| count > 0);
    is_ready && ends[0].revents() == bytes
}

#[cfg(not(unix))]
pub(crate) fn await_room(_: &TcpStream, _: bool, _: Duration) -> bool {
    false
}

impl SocketSink {
    /// Writes as much as there is room for at once.
    #[cfg(unix)]
    fn write_at_once(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
        // On systems without this flag, the standard library has set a socket option.
        #[cfg(not(target_vendor = "apple"))]
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        #[cfg(target_vendor = "apple")]
        let flags = SendFlags::DONTWAIT;
        let mut nothing = SendAncillaryBuffer::default();
        Ok(sendmsg(&*self.0, parts, &mut nothing, flags)?)
    }

    /// Waits for room within the write, and does not notice bytes that arrive meanwhile.
    #[cfg(not(unix))]
    fn write_at_once(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.0).write_vectored(parts)
    }

    /// Writes as much as there is room for, after a wait for room that ends if bytes arrive.
    fn write_or_read(&self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        loop {
            match self.write_at_once(parts) {
                Ok(count) => return Ok(count),
                Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
                Err(error) => return Err(Interrupt::Io(error)),
            }
            if await_room(&self.0, true, wait.slice()?) {
                return Err(Interrupt::Readable);
            }
        }
    }
}

impl Sink for SocketSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let count = if wait.reads() {
            self.write_or_read(parts, wait)?
        } else {
            repeat(wait, || (&*self.0).write_vectored(parts))?
        };
        if count == 0 {
            return Err(Interrupt::Io(io::ErrorKind::BrokenPipe.into()));
        }
        Ok(count)
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        match self.0.shutdown(Shutdown::Write) {
            // The peer has closed already, which is equivalent.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            other => Ok(other?),
        }
    }
}

/// Connects to `address`, and repeats the try until the other party listens.
pub(crate) fn connect(
    address: &str,
    reach: Reach,
    settings: &Settings,
) -> Result<TcpStream, NetError> {
    let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
    connect_within(address, reach, settings, &wait)
}

/// Does the same within `wait`, which is part of the time to connect.
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
        let paused = if settings.waits_for_peer {
            back_off.pause(began, wait)
        } else {
            Err(Interrupt::TimedOut)
        };
        match paused {
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

/// Tries each address of the name once. The outer error is final; the inner one may pass.
///
/// A thread makes the tries. It is abandoned when the wait ends, because neither the resolver nor
/// connecting can be interrupted. It ends by itself, and drops its socket.
fn try_connect(
    address: &str,
    reach: Reach,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<io::Result<TcpStream>, NetError> {
    let (report, reported) = mpsc::sync_channel(1);
    let (name, time) = (address.to_owned(), settings.connect_timeout);
    thread::spawn(move || {
        // If the wait has ended, the receiver is gone, and there is nothing to do.
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
        // The standard library refuses a timeout of zero.
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

/// Returns the error of a wait for a connection that ended early.
pub(crate) fn ended(interrupt: Interrupt, settings: &Settings) -> NetError {
    NetError::interrupted(interrupt, Awaited::Connection, settings.connect_timeout)
}
