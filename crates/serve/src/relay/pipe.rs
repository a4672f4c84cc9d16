//! Passes messages between two parties, within a room's limits.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tacit::net::relay::{Answer, Guest, GuestEvent};

use super::RelayLimits;

/// The longest time that a thread sleeps before it checks the limits again.
const SLICE: Duration = Duration::from_millis(100);

/// The time by which a party may send ahead of the rate.
const AHEAD: Duration = Duration::from_secs(1);

/// Returns when the bytes of a party have taken their time at this rate, if those before had at
/// `due` and `count` more come `now`. Time in which nothing comes is not saved up.
fn due_after(due: Duration, now: Duration, count: u64, bytes_per_second: u64) -> Duration {
    let rate = bytes_per_second.max(1) as f64;
    due.max(now) + Duration::from_secs_f64(count as f64 / rate)
}

/// A room in use.
struct Course<'a> {
    limits: &'a RelayLimits,
    is_stopped: &'a (dyn Fn() -> bool + Sync),
    begun: Instant,
    /// The bytes that have come from both.
    passed: AtomicU64,
    /// The time of the last bytes, in milliseconds since the start.
    last_ms: AtomicU64,
    over: AtomicBool,
}

/// Tells each party that the other is there, and passes on their messages until both have ended or
/// a limit is reached. Returns the number of bytes that came.
pub(super) fn pass(
    a: &Guest,
    b: &Guest,
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
    let go = |guest: &Guest| guest.answer(Answer::Go);
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
    /// Passes on the messages of one party, until it ends or the room is over.
    fn one_way(&self, from: &Guest, to: &Guest) {
        // An orderly end is passed on; the other party then ends as well.
        let done = self.copy(from, to).and_then(|()| to.finish());
        if done.and_then(|()| self.flush(to)).is_err() {
            self.end(from, to);
        }
    }

    fn copy(&self, from: &Guest, to: &Guest) -> io::Result<()> {
        let mut due = Duration::ZERO;
        loop {
            self.check()?;
            let (heard, count) = from.hear()?;
            // Everything that a party sends counts, whether it is passed on or not.
            let before = self.passed.fetch_add(count, Ordering::Relaxed);
            if before.saturating_add(count) > self.limits.room_bytes {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            match heard {
                GuestEvent::Nothing => {}
                GuestEvent::Message(message) => {
                    to.send(message)?;
                    self.flush(to)?;
                    let elapsed_ms = self.begun.elapsed().as_millis() as u64;
                    self.last_ms.fetch_max(elapsed_ms, Ordering::Relaxed);
                }
                GuestEvent::End => return Ok(()),
            }
            due = due_after(
                due,
                self.begun.elapsed(),
                count,
                self.limits.bytes_per_second,
            );
            self.pace(due)?;
        }
    }

    fn flush(&self, to: &Guest) -> io::Result<()> {
        while !to.flush()? {
            self.check()?;
        }
        Ok(())
    }

    /// Sleeps until `due`, from the start of the room. A second's worth may be sent ahead of it.
    fn pace(&self, due: Duration) -> io::Result<()> {
        loop {
            let early = due.saturating_sub(self.begun.elapsed() + AHEAD);
            if early.is_zero() {
                return Ok(());
            }
            self.check()?;
            thread::sleep(early.min(SLICE));
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

    fn end(&self, a: &Guest, b: &Guest) {
        self.over.store(true, Ordering::Relaxed);
        a.end();
        b.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_room_saves_no_rate() {
        let [hour, minute] = [3600, 60].map(Duration::from_secs);
        let sent = due_after(Duration::ZERO, Duration::ZERO, 6000, 100);
        assert_eq!(sent, minute);
        // Behind the rate: the next bytes wait for those before.
        assert_eq!(due_after(sent, minute / 2, 6000, 100), 2 * minute);
        // After an hour of silence they take their time from then on.
        assert_eq!(due_after(sent, hour, 6000, 100), hour + minute);
    }
}
