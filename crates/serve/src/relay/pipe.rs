//! Passes bytes between two parties, within a room's limits.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tacit::net::relay::Answer;

use super::RelayLimits;

/// The longest time that a thread blocks before it checks the limits again.
pub(super) const SLICE: Duration = Duration::from_millis(100);
const BUFFER_BYTES: usize = 64 * 1024;

/// A room in use.
struct Course<'a> {
    limits: &'a RelayLimits,
    is_stopped: &'a (dyn Fn() -> bool + Sync),
    begun: Instant,
    /// The bytes that have passed, both ways.
    passed: AtomicU64,
    /// The time of the last bytes, in milliseconds since the start.
    last_ms: AtomicU64,
    over: AtomicBool,
}

/// Tells each party that the other is there, and passes on their bytes until both have ended or a
/// limit is reached. Returns the number of bytes.
pub(super) fn pass(
    a: &TcpStream,
    b: &TcpStream,
    limits: &RelayLimits,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> u64 {
    let course = Course {
        limits,
        is_stopped,
        begun: Instant::now(),
        passed: AtomicU64::new(0),
        last_ms: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    let go = |mut socket: &TcpStream| {
        socket.set_read_timeout(Some(SLICE))?;
        socket.set_write_timeout(Some(SLICE))?;
        socket.write_all(&[Answer::Go as u8])
    };
    if go(a).and_then(|()| go(b)).is_ok() {
        thread::scope(|scope| {
            // If no thread can be started, the room closes.
            let back = thread::Builder::new().spawn_scoped(scope, || course.one_way(b, a));
            match back {
                Ok(_) => course.one_way(a, b),
                Err(_) => course.end(a, b),
            }
        });
    }
    course.end(a, b);
    course.passed.into_inner()
}

impl Course<'_> {
    /// Passes on the bytes of one party, until it ends its half or the room is over.
    fn one_way(&self, from: &TcpStream, to: &TcpStream) {
        // An orderly end is passed on; the other half continues.
        match self.copy(from, to) {
            Ok(()) if to.shutdown(Shutdown::Write).is_ok() => {}
            _ => self.end(from, to),
        }
    }

    fn copy(&self, mut from: &TcpStream, to: &TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut sent = 0_u64;
        loop {
            self.check()?;
            let count = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if passes(&error) => continue,
                Err(error) => return Err(error),
            };
            let before = self.passed.fetch_add(count as u64, Ordering::Relaxed);
            if before.saturating_add(count as u64) > self.limits.room_bytes {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            self.write(to, &buffer[..count])?;
            let elapsed_ms = self.begun.elapsed().as_millis() as u64;
            self.last_ms.fetch_max(elapsed_ms, Ordering::Relaxed);
            sent = sent.saturating_add(count as u64);
            self.pace(sent)?;
        }
    }

    fn write(&self, mut to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.check()?;
            match to.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if passes(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sleeps until `sent` bytes one way are no more than the rate allows. A second's worth may be
    /// sent at once.
    fn pace(&self, sent: u64) -> io::Result<()> {
        let rate = self.limits.bytes_per_second.max(1) as f64;
        loop {
            let due = sent as f64 / rate - 1.0 - self.begun.elapsed().as_secs_f64();
            if due <= 0.0 {
                return Ok(());
            }
            self.check()?;
            thread::sleep(Duration::from_secs_f64(due).min(SLICE));
        }
    }

    /// Checks that the room may go on.
    fn check(&self) -> io::Result<()> {
        let elapsed = self.begun.elapsed();
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        let is_idle = elapsed.saturating_sub(last) > self.limits.idle;
        let is_over = self.over.load(Ordering::Relaxed) || (self.is_stopped)();
        if is_over || is_idle || elapsed > self.limits.time {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    fn end(&self, a: &TcpStream, b: &TcpStream) {
        self.over.store(true, Ordering::Relaxed);
        for socket in [a, b] {
            // A connection that is gone already needs no end.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Returns whether another try may succeed.
fn passes(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
