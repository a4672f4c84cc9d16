//! The limits of a wait: a deadline, and a handle that ends it from another thread.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use web_time::Instant;

use crate::NetError;

/// The longest time that a blocked wait goes without checking its [`CancelHandle`].
pub const SLICE: Duration = Duration::from_millis(25);

/// The number of bytes that must move for a wait [for progress](Wait::for_progress) to start anew.
/// A peer that sends or takes fewer within the allowed time ends it.
pub const PROGRESS_BYTES: usize = 16 * 1024;

/// A handle that ends the waits of its channels, from any thread.
///
/// Clones are the same handle. Once cancelled, it stays cancelled.
#[derive(Clone, Default)]
pub struct CancelHandle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_cancelled: AtomicBool,
    ask: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl CancelHandle {
    /// Returns a new handle, which is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a handle that is also cancelled once `ask` returns true. Work and waits under the
    /// handle call `ask` at each message and once in a [`SLICE`], on their own thread. This is for
    /// events that no other thread can receive, such as a signal of Python.
    #[must_use]
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let ask: Option<Box<dyn Fn() -> bool + Send + Sync>> = Some(Box::new(ask));
        Self(Arc::new(Shared {
            ask,
            ..Shared::default()
        }))
    }

    /// Ends every wait under this handle, present and future, within four [`SLICE`]s. A channel
    /// that [rests](crate::Channel::rest) ends within a second.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Release);
    }

    /// Returns whether [`CancelHandle::cancel`] was called, or `ask` has returned true.
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

/// The reason why a wait ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum Interrupt {
    /// The deadline passed.
    TimedOut,
    /// The handle was cancelled.
    Cancelled,
    /// The operating system or the transport failed.
    Io(io::Error),
    /// The layer in between failed. Its error gives the reason.
    Failed(Box<NetError>),
    /// A write finds no room, and a read would return something. This happens only under a wait
    /// that [reads](Wait::reads).
    Readable,
}

impl From<io::Error> for Interrupt {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The limits of one wait, passed down to every blocking call.
#[derive(Debug)]
pub struct Wait<'a> {
    deadline: Cell<Option<Instant>>,
    progress: Option<Progress>,
    cancel: &'a CancelHandle,
    reads: bool,
}

/// The state of a wait for progress.
#[derive(Debug)]
struct Progress {
    /// The time for the next [`PROGRESS_BYTES`].
    time: Duration,
    /// The end of the whole wait, if there is one.
    end: Option<Instant>,
    /// The bytes that have moved since the deadline was set.
    moved: Cell<usize>,
}

impl Progress {
    fn deadline(&self) -> Option<Instant> {
        let next = Instant::now().checked_add(self.time);
        [next, self.end].into_iter().flatten().min()
    }
}

impl<'a> Wait<'a> {
    /// Returns a wait that ends at most `time` from now. A time beyond the clock's range is no
    /// limit.
    pub fn at_most(time: Duration, cancel: &'a CancelHandle) -> Self {
        Self {
            deadline: Cell::new(Instant::now().checked_add(time)),
            progress: None,
            cancel,
            reads: false,
        }
    }

    /// Returns a wait that ends when fewer than [`PROGRESS_BYTES`] have moved within `time`, or at
    /// `end`.
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

    /// Returns a wait that only `cancel` ends.
    pub fn until(cancel: &'a CancelHandle) -> Self {
        Self {
            deadline: Cell::new(None),
            progress: None,
            cancel,
            reads: false,
        }
    }

    /// Returns the same wait. If `reads` is true, a write under it that finds no room ends with
    /// [`Interrupt::Readable`] once a read would return something.
    pub(crate) fn reading(self, reads: bool) -> Self {
        Self { reads, ..self }
    }

    /// Returns whether a write that finds no room has to end with [`Interrupt::Readable`] once a
    /// read would return something. A sink that cannot tell only waits for room.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.reads
    }

    /// Returns a wait of `time` from now on under the same handle.
    pub(crate) fn again(&self, time: Duration) -> Self {
        Self::at_most(time, self.cancel)
    }

    /// Records that this many bytes have moved.
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

    /// Returns the time to block before the next call of this function: the rest, but at most a
    /// [`SLICE`].
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
        // The end of the whole wait stays.
        let wait = Wait::for_progress(hour, first, &cancel);
        wait.moved(10 * PROGRESS_BYTES);
        assert_eq!(wait.deadline.get(), first);
        // A wait for anything else has a fixed end.
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
        // `ask` is not called again: there is no third answer.
        assert!(cancel.is_cancelled());
    }
}
