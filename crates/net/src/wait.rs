//! Bounds on waiting: a deadline, and a handle that ends a wait from another thread.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use web_time::Instant;

use crate::NetError;

/// The longest time that a blocked wait goes without looking at its [`CancelHandle`].
pub const SLICE: Duration = Duration::from_millis(25);

/// Bytes that have to move for a wait [for progress](Wait::for_progress) to begin anew. A peer that
/// sends or takes fewer within the time allowed ends it.
pub const PROGRESS_BYTES: usize = 16 * 1024;

/// Ends the waits of the channels that it was given to, from any thread.
///
/// Clones are one and the same handle. Once cancelled it stays so.
#[derive(Clone, Default)]
pub struct CancelHandle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_cancelled: AtomicBool,
    ask: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl CancelHandle {
    /// A handle that nobody has used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle that is also used once `ask` says so. Whoever works or waits under the handle asks
    /// at each message and once in a [`SLICE`], on its own thread: where no other thread can hear
    /// what ends the work, such as a signal of Python.
    #[must_use]
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let ask: Option<Box<dyn Fn() -> bool + Send + Sync>> = Some(Box::new(ask));
        Self(Arc::new(Shared {
            ask,
            ..Shared::default()
        }))
    }

    /// Ends every wait under this handle, now and in future, within four [`SLICE`]s; that of a
    /// channel that [rests](crate::Channel::rest) within a second.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Release);
    }

    /// Whether [`CancelHandle::cancel`] was called, or the answer was yes.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let Shared { is_cancelled, ask } = &*self.0;
        if !is_cancelled.load(Ordering::Acquire) && ask.as_ref().is_some_and(|ask| ask()) {
            self.cancel();
        }
        is_cancelled.load(Ordering::Acquire)
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelHandle({:?})", self.0.is_cancelled)
    }
}

/// Why a wait ended without what was waited for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Interrupt {
    /// The deadline passed.
    TimedOut,
    /// The cancel handle was used.
    Cancelled,
    /// The operating system or the transport failed.
    Io(io::Error),
    /// The layer in between failed and has said why.
    Failed(Box<NetError>),
    /// A write finds no room, and a read would give something: under a wait that
    /// [reads](Wait::reads) alone.
    Readable,
}

impl From<io::Error> for Interrupt {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The bounds of one wait, passed down to whatever blocks.
#[derive(Debug)]
pub struct Wait<'a> {
    deadline: Cell<Option<Instant>>,
    progress: Option<Progress>,
    cancel: &'a CancelHandle,
    reads: bool,
}

/// What a wait for progress goes by.
#[derive(Debug)]
struct Progress {
    /// The time for the next [`PROGRESS_BYTES`].
    time: Duration,
    /// The end of all, where there is one.
    end: Option<Instant>,
    /// Bytes that have moved since the deadline was set.
    moved: Cell<usize>,
}

impl Progress {
    fn deadline(&self) -> Option<Instant> {
        let next = Instant::now().checked_add(self.time);
        [next, self.end].into_iter().flatten().min()
    }
}

impl<'a> Wait<'a> {
    /// A wait that ends `time` from now at the latest. A time beyond the clock's range is no bound.
    #[must_use]
    pub fn at_most(time: Duration, cancel: &'a CancelHandle) -> Self {
        Self {
            deadline: Cell::new(Instant::now().checked_add(time)),
            progress: None,
            cancel,
            reads: false,
        }
    }

    /// A wait that ends when fewer than [`PROGRESS_BYTES`] have moved within `time`, or at `end`.
    #[must_use]
    pub fn for_progress(time: Duration, end: Option<Instant>, cancel: &'a CancelHandle) -> Self {
        let progress = Progress {
            time,
            end,
            moved: Cell::new(0),
        };
        Self {
            deadline: Cell::new(progress.deadline()),
            progress: Some(progress),
            cancel,
            reads: false,
        }
    }

    /// A wait that only `cancel` ends.
    #[must_use]
    pub fn until(cancel: &'a CancelHandle) -> Self {
        Self {
            deadline: Cell::new(None),
            progress: None,
            cancel,
            reads: false,
        }
    }

    /// The same wait, under which a write that finds no room ends with [`Interrupt::Readable`] once
    /// a read would give something, if `reads` says so.
    pub(crate) fn reading(self, reads: bool) -> Self {
        Self { reads, ..self }
    }

    /// Whether a write that finds no room is to end with [`Interrupt::Readable`] once a read would
    /// give something. A sink that cannot tell waits for room alone.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.reads
    }

    /// A wait of `time` from now on under the same handle.
    pub(crate) fn again(&self, time: Duration) -> Self {
        Self::at_most(time, self.cancel)
    }

    /// Notes that this many bytes have moved.
    pub(crate) fn moved(&self, bytes: usize) {
        let Some(progress) = &self.progress else {
            return;
        };
        let moved = progress.moved.get() + bytes;
        if moved >= PROGRESS_BYTES {
            self.deadline.set(progress.deadline());
        }
        progress.moved.set(moved % PROGRESS_BYTES);
    }

    /// How long to block before calling this again: what is left, at most a [`SLICE`].
    ///
    /// # Errors
    ///
    /// The wait is over: [`Interrupt::Cancelled`] or [`Interrupt::TimedOut`].
    pub fn slice(&self) -> Result<Duration, Interrupt> {
        if self.cancel.is_cancelled() {
            return Err(Interrupt::Cancelled);
        }
        let Some(deadline) = self.deadline.get() else {
            return Ok(SLICE);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Interrupt::TimedOut);
        }
        Ok(left.min(SLICE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_by_its_deadline_or_its_handle() {
        let cancel = CancelHandle::new();
        let over = Wait::at_most(Duration::ZERO, &cancel);
        assert!(matches!(over.slice(), Err(Interrupt::TimedOut)));
        let endless = Wait::at_most(Duration::MAX, &cancel);
        assert_eq!(endless.slice().unwrap(), SLICE);
        cancel.clone().cancel();
        assert!(matches!(endless.slice(), Err(Interrupt::Cancelled)));
        assert!(matches!(over.slice(), Err(Interrupt::Cancelled)));
    }

    #[test]
    fn a_wait_for_progress_begins_anew_when_enough_has_moved() {
        let cancel = CancelHandle::new();
        let hour = Duration::from_secs(3600);
        let wait = Wait::for_progress(hour, None, &cancel);
        let first = wait.deadline.get();
        wait.moved(PROGRESS_BYTES - 1);
        assert_eq!(wait.deadline.get(), first);
        wait.moved(1);
        assert!(wait.deadline.get() > first);
        // The end of all stays.
        let wait = Wait::for_progress(hour, first, &cancel);
        wait.moved(10 * PROGRESS_BYTES);
        assert_eq!(wait.deadline.get(), first);
        // A wait for something else ends when it ends.
        let wait = Wait::at_most(Duration::ZERO, &cancel);
        wait.moved(10 * PROGRESS_BYTES);
        assert!(matches!(wait.slice(), Err(Interrupt::TimedOut)));
    }

    #[test]
    fn a_handle_that_asks_takes_a_yes_for_good() {
        let answers = std::sync::Mutex::new(vec![true, false]);
        let cancel = CancelHandle::asking(move || answers.lock().unwrap().pop().unwrap());
        assert!(!cancel.is_cancelled());
        assert!(cancel.clone().is_cancelled());
        // Nobody is asked again: there is no third answer.
        assert!(cancel.is_cancelled());
    }
}
