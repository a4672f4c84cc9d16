//! Runs work without the GIL until it ends, or until Ctrl-C, a deadline or a callback's exception
//! ends it.
//!
//! A run takes place on the thread that Python calls from. Another thread would cost two thread
//! changes per call, each of which takes milliseconds on a busy machine.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tacit::net::CancelHandle;
use tacit::{Error, Progress};
use tacit_language::lower;

use crate::error;

/// The longest time until Python handles a signal. The check takes the GIL, for which a thread that
/// computes in Python may let this one wait 5 ms.
const SIGNAL_TICK: Duration = Duration::from_millis(40);

/// The interval at which Python is told of progress.
const PROGRESS_TICK: Duration = Duration::from_millis(10);

/// The delay of an interrupt that came when the work was done: the caller has the result by then.
const INTERRUPT_DELAY: Duration = Duration::from_millis(100);

/// Does work that cannot be cancelled, without the GIL and on a thread of its own. If a signal ends
/// the wait, the thread is abandoned: it ends by itself, and drops its result.
pub(crate) fn apart<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    apart_told(py, work, || Ok(()))
}

/// Does the same, and calls `look` now and then. An exception of `look` ends the wait as a signal's
/// does.
fn apart_told<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let (report, mut done) = mpsc::sync_channel(1);
    // The receiver is gone once the wait has ended.
    let worker = thread::Builder::new().spawn(move || drop(report.send(work())))?;
    loop {
        let heard = py.detach(move || {
            let heard = done.recv_timeout(SIGNAL_TICK);
            (heard, done)
        });
        done = heard.1;
        match heard.0 {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                look()?;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match worker.join() {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => unreachable!("a thread that ends has told its result"),
    }
}

/// The time after which Python is told of a compilation.
const COMPILING_TOLD_AFTER: Duration = Duration::from_secs(1);

/// Does the same for a compilation, whose `work` gets a function for its progress. The Python
/// function gets the number of finished steps and of all steps.
pub(crate) fn compiling<T: Send + 'static>(
    py: Python<'_>,
    hear: Option<&Py<PyAny>>,
    work: impl FnOnce(lower::Watch<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, told) = mpsc::channel();
    let begun = Instant::now();
    let work = move || {
        // The receiver is gone once the wait has ended.
        work(&|at| _ = tell.send(at))
    };
    apart_told(py, work, || {
        let last: Option<lower::Progress> = told.try_iter().last();
        match (last, hear) {
            (Some(at), Some(hear)) if begun.elapsed() >= COMPILING_TOLD_AFTER => {
                hear.call1(py, (at.done, at.total)).map(drop)
            }
            _ => Ok(()),
        }
    })
}

/// Does one piece of work at a time, and watches for events that end it.
#[derive(Clone)]
pub(crate) struct Watch {
    cancel: CancelHandle,
    work: Arc<Mutex<Option<RunningWork>>>,
}

/// The events to watch for during the work.
#[derive(Default)]
pub(crate) struct Terms {
    /// The time when the work must be over, and the time limit.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// The Python function that gets the progress.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Work in progress.
struct RunningWork {
    thread: ThreadId,
    terms: Terms,
    at: Progress,
    next_look: Instant,
    ended: Option<EarlyEnd>,
}

/// The reason why work ends early.
enum EarlyEnd {
    Late(Duration),
    Raised(PyErr),
}

impl Watch {
    pub(crate) fn new() -> Self {
        let work = Arc::new(Mutex::new(None));
        let asked = Arc::clone(&work);
        Self {
            cancel: CancelHandle::asking(move || ends(&asked)),
            work,
        }
    }

    /// Returns the handle that ends the work.
    pub(crate) fn cancel_handle(&self) -> &CancelHandle {
        &self.cancel
    }

    /// Records the progress of the work.
    pub(crate) fn note(&self, now: Progress) {
        if let Some(work) = &mut *lock(&self.work) {
            work.at = now;
        }
    }

    /// Does `work`, and returns its result. If it has to end early, it is cancelled and waited for:
    /// no part of it continues after the exception. If it is completed all the same, its result is
    /// returned, and Ctrl-C is raised a little later.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        terms: Terms,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> PyResult<Result<T, Error>> {
        *lock(&self.work) = Some(RunningWork {
            thread: thread::current().id(),
            next_look: Instant::now() + terms.tick(),
            terms,
            at: Progress::default(),
            ended: None,
        });
        let done = py.detach(work);
        let ended = lock(&self.work).take().and_then(|work| work.ended);
        match (ended, done) {
            (Some(EarlyEnd::Raised(error)), Ok(done)) => {
                raise_later(py, error);
                Ok(Ok(done))
            }
            (_, Ok(done)) => {
                hold_interrupt(py);
                Ok(Ok(done))
            }
            (None, failed) => Ok(failed),
            (Some(EarlyEnd::Raised(error)), Err(_)) => Err(error),
            (Some(EarlyEnd::Late(limit)), Err(_)) => Err(error::exception(
                py,
                "NetworkTimeout",
                &format!(
                    "not done within {} s, the timeout of this call; see whether the other party \
                     is there, or allow a longer timeout",
                    limit.as_secs_f64()
                ),
            )),
        }
    }
}

/// Postpones a pending interrupt until the caller has the result that is about to be returned.
pub(crate) fn hold_interrupt(py: Python<'_>) {
    if let Err(error) = py.check_signals() {
        raise_later(py, error);
    }
}

/// Raises Ctrl-C's exception again after [`INTERRUPT_DELAY`]. Other exceptions, such as a
/// callback's, go to `sys.unraisablehook`.
fn raise_later(py: Python<'_>, error: PyErr) {
    let is_interrupt = error.is_instance_of::<PyKeyboardInterrupt>(py);
    let interrupt = || {
        thread::sleep(INTERRUPT_DELAY);
        // If Python has ended, there is nothing to interrupt.
        let _ = Python::try_attach(interrupt_main);
    };
    if !is_interrupt || thread::Builder::new().spawn(interrupt).is_err() {
        error.write_unraisable(py, None);
    }
}

/// Interrupts the main thread as Ctrl-C does: a signal ends the system call that the thread may be
/// in.
fn interrupt_main(py: Python<'_>) -> PyResult<()> {
    let main = py.import("threading")?.call_method0("main_thread")?;
    let signal = py.import("signal")?;
    let signalled = if signal.hasattr("pthread_kill")? {
        let which = (main.getattr("ident")?, signal.getattr("SIGINT")?);
        signal.call_method1("pthread_kill", which)
    } else {
        // Windows has no such signals.
        py.import("_thread")?.call_method0("interrupt_main")
    };
    signalled.map(drop)
}

impl Terms {
    fn tick(&self) -> Duration {
        match self.progress {
            Some(_) => PROGRESS_TICK,
            None => SIGNAL_TICK,
        }
    }
}

fn lock(work: &Mutex<Option<RunningWork>>) -> MutexGuard<'_, Option<RunningWork>> {
    work.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Returns whether the work has to end. Only its own thread asks. It checks the clock, and now and
/// then Python.
fn ends(work: &Mutex<Option<RunningWork>>) -> bool {
    let (at, now) = match &mut *lock(work) {
        Some(work) if work.thread == thread::current().id() => {
            let now = Instant::now();
            if let Some((deadline, limit)) = work.terms.deadline
                && now >= deadline
            {
                work.ended = Some(EarlyEnd::Late(limit));
                return true;
            }
            if now < work.next_look {
                return false;
            }
            (work.at, now)
        }
        _ => return false,
    };
    // The lock is not held, because Python code may call this function again.
    let raised = Python::attach(|py| {
        let hear = lock(work).as_ref().and_then(|work| {
            let hear = work.terms.progress.as_ref()?;
            Some(hear.clone_ref(py))
        });
        tell(py, at, hear)
    });
    let mut work = lock(work);
    let Some(work) = &mut *work else {
        return false;
    };
    work.next_look = now + work.terms.tick();
    work.ended = raised.err().map(EarlyEnd::Raised);
    work.ended.is_some()
}

/// Lets Python handle signals, and reports progress.
fn tell(py: Python<'_>, at: Progress, hear: Option<Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(hear) = hear
        && at.total_ands > 0
    {
        hear.call1(py, (at.done_ands, at.total_ands))?;
    }
    Ok(())
}
