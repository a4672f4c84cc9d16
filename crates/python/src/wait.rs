//! Work without the GIL, which Ctrl-C, a deadline or a callback's exception ends.

use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tacit::Error;
use tacit::net::CancelHandle;

use crate::error;

/// How long a signal or progress waits until Python hears of it.
const TICK: Duration = Duration::from_millis(10);

/// What may happen while work goes on.
pub(crate) struct Waiting<'a> {
    /// Ends the work.
    pub(crate) cancel: &'a CancelHandle,
    /// When the work must be over, and the seconds that were given for it.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// What is told of progress, and the Python function that hears it.
    pub(crate) progress: Option<(&'a Mutex<tacit::Progress>, Py<PyAny>)>,
}

impl<'a> Waiting<'a> {
    /// Waiting that `cancel` and Ctrl-C alone end.
    pub(crate) fn new(cancel: &'a CancelHandle) -> Self {
        Self {
            cancel,
            deadline: None,
            progress: None,
        }
    }

    /// Does `work` on a thread of its own, so that this one hears signals. When it is to end early
    /// it is cancelled and waited for: nothing of it goes on after the exception.
    ///
    /// # Errors
    ///
    /// What the work ends with, a signal's exception, or that of the callback.
    pub(crate) fn run<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut late = None;
        let mut interrupted = None;
        let done = py.detach(|| {
            let (sender, receiver) = mpsc::channel();
            thread::scope(|scope| {
                let worker = scope.spawn(move || {
                    let done = work();
                    // The receiver outlives the thread.
                    let _ = sender.send(());
                    done
                });
                while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(TICK) {
                    if interrupted.is_some() || late.is_some() {
                        continue;
                    }
                    if let Some((deadline, limit)) = self.deadline
                        && Instant::now() >= deadline
                    {
                        late = Some(limit);
                        self.cancel.cancel();
                    }
                    if let Err(error) = Python::attach(|py| self.tell(py)) {
                        interrupted = Some(error);
                        self.cancel.cancel();
                    }
                }
                worker.join()
            })
        });
        let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (interrupted, late, done) {
            (Some(error), _, _) => Err(error),
            (None, _, Ok(value)) => Ok(value),
            (None, Some(limit), Err(_)) => Err(error::exception(
                py,
                "NetworkTimeout",
                &format!(
                    "not done within {} s, the timeout of this call; see whether the other party \
                     is there, or allow a longer timeout",
                    limit.as_secs_f64()
                ),
            )),
            (None, None, Err(failed)) => Err(error::raise(py, failed)),
        }
    }

    /// Lets Python handle signals, and tells of progress.
    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        if let Some((progress, hear)) = &self.progress {
            let at = *progress.lock().unwrap_or_else(|poison| poison.into_inner());
            if at.total_ands > 0 {
                hear.call1(py, (at.done_ands, at.total_ands))?;
            }
        }
        Ok(())
    }
}
