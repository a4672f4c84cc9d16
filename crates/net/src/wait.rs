//! Bounds on waiting: a deadline, and a handle that ends a wait from another thread.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use web_time::Instant;

use crate::NetError;

/// The longest time that a blocked wait goes without looking at its [`CancelHandle`].
pub const SLICE: Duration = Duration::from_millis(25);

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
}

impl From<io::Error> for Interrupt {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The bounds of one wait, passed down to whatever blocks.
#[derive(Debug)]
pub struct Wait<'a> {
    deadline: Option<Instant>,
    cancel: &'a CancelHandle,
}

impl<'a> Wait<'a> {
    /// A wait that ends `time` from now at the latest. A time beyond the clock's range is no bound.
    #[must_use]
    pub fn at_most(time: Duration, cancel: &'a CancelHandle) -> Self {
        Self {
            deadline: Instant::now().checked_add(time),
            cancel,
        }
    }

    /// A wait that only `cancel` ends.
    #[must_use]
    pub fn until(cancel: &'a CancelHandle) -> Self {
        Self {
            deadline: None,
            cancel,
        }
    }

    /// A wait of `time` from now on under the same handle.
    pub(crate) fn again(&self, time: Duration) -> Self {
        Self::at_most(time, self.cancel)
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
        let Some(deadline) = self.deadline else {
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
    fn a_handle_that_asks_takes_a_yes_for_good() {
        let answers = std::sync::Mutex::new(vec![true, false]);
        let cancel = CancelHandle::asking(move || answers.lock().unwrap().pop().unwrap());
        assert!(!cancel.is_cancelled());
        assert!(cancel.clone().is_cancelled());
        // Nobody is asked again: there is no third answer.
        assert!(cancel.is_cancelled());
    }
}
