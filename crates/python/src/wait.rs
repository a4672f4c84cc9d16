//! Runs work without the GIL until it ends, or Ctrl-C, a deadline or a callback's exception ends
//! it.
//!
//! A run is done on the thread that Python calls from. Another one would cost two changes of
//! threads a call, each of which takes milliseconds on a busy machine.

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

/// How long a signal waits until Python handles it. It takes the GIL, for which a thread that
/// computes in Python may let one wait 5 ms.
const SIGNAL_TICK: Duration = Duration::from_millis(40);

/// How often Python is told of progress.
const PROGRESS_TICK: Duration = Duration::from_millis(10);

/// How much later an interrupt is raised that came when the work was done: whoever called has the
/// result by then.
const INTERRUPT_DELAY: Duration = Duration::from_millis(100);

/// Does work that cannot be told to end, without the GIL and on a thread of its own, which is left
/// alone where a signal ends the wait: it ends by itself, and drops what it has.
///
/// # Errors
///
/// A signal's exception.
pub(crate) fn apart<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    apart_told(py, work, || Ok(()))
}

/// The same, and calls `look` now and then, whose exception ends the wait as a signal's does.
fn apart_told<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let (report, mut done) = mpsc::sync_channel(1);
    // Nobody listens any more once the wait has ended.
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

/// How long a compilation takes until Python hears of it.
const COMPILING_TOLD_AFTER: Duration = Duration::from_secs(1);

/// The same for a compilation, which gives `work` what it tells its progress. Python's function
/// hears the steps that are done and all of them.
///
/// # Errors
///
/// A signal's exception, or that of `hear`.
pub(crate) fn compiling<T: Send + 'static>(
    py: Python<'_>,
    hear: Option<&Py<PyAny>>,
    work: impl FnOnce(lower::Watch<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, told) = mpsc::channel();
    let begun = Instant::now();
    let work = move || {
        // Nobody listens any more once the wait has ended.
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

/// Does work one after the other, and hears meanwhile what ends it.
#[derive(Clone)]
pub(crate) struct Watch {
    cancel: CancelHandle,
    work: Arc<Mutex<Option<Work>>>,
}

/// What may happen while work goes on.
#[derive(Default)]
pub(crate) struct Terms {
    /// When the work must be over, and the time that was given for it.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// The Python function that hears of progress.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Work that goes on.
struct Work {
    thread: ThreadId,
    terms: Terms,
    at: Progress,
    next_look: Instant,
    ended: Option<Ended>,
}

/// Why work ends before it is done.
enum Ended {
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

    /// Ends the work.
    pub(crate) fn cancel_handle(&self) -> &CancelHandle {
        &self.cancel
    }

    /// Takes note of how far the work is.
    pub(crate) fn note(&self, now: Progress) {
        if let Some(work) = &mut *lock(&self.work) {
            work.at = now;
        }
    }

    /// Does `work`, and returns what it ends with. When it is to end early it is cancelled and
    /// waited for: nothing of it goes on after the exception. Where it is done all the same, its
    /// result is returned, and Ctrl-C is raised a little later.
    ///
    /// # Errors
    ///
    /// A signal's exception or that of the callback, or the deadline.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        terms: Terms,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> PyResult<Result<T, Error>> {
        *lock(&self.work) = Some(Work {
            thread: thread::current().id(),
            next_look: Instant::now() + terms.tick(),
            terms,
            at: Progress::default(),
            ended: None,
        });
        let done = py.detach(work);
        let ended = lock(&self.work).take().and_then(|work| work.ended);
        match (ended, done) {
            (Some(Ended::Raised(error)), Ok(done)) => {
                raise_later(py, error);
                Ok(Ok(done))
            }
            (_, Ok(done)) => {
                hold_interrupt(py);
                Ok(Ok(done))
            }
            (None, failed) => Ok(failed),
            (Some(Ended::Raised(error)), Err(_)) => Err(error),
            (Some(Ended::Late(limit)), Err(_)) => Err(error::exception(
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

/// Lets an interrupt that is there be raised a little later, when the caller has the result that
/// is about to be returned.
pub(crate) fn hold_interrupt(py: Python<'_>) {
    if let Err(error) = py.check_signals() {
        raise_later(py, error);
    }
}

/// Raises Ctrl-C's exception again after [`INTERRUPT_DELAY`]. Others, such as a callback's, are
/// told to `sys.unraisablehook`.
fn raise_later(py: Python<'_>, error: PyErr) {
    let is_interrupt = error.is_instance_of::<PyKeyboardInterrupt>(py);
    let interrupt = || {
        thread::sleep(INTERRUPT_DELAY);
        // There is nobody to interrupt where Python has ended.
        let _ = Python::try_attach(interrupt_main);
    };
    if !is_interrupt || thread::Builder::new().spawn(interrupt).is_err() {
        error.write_unraisable(py, None);
    }
}

/// Interrupts the main thread as Ctrl-C does: a signal ends the system call that it may be in.
fn interrupt_main(py: Python<'_>) -> PyResult<()> {
    let main = py.import("threading")?.call_method0("main_thread")?;
    let signal = py.import("signal")?;
    let signalled = match signal.hasattr("pthread_kill")? {
        true => {
            let which = (main.getattr("ident")?, signal.getattr("SIGINT")?);
            signal.call_method1("pthread_kill", which)
        }
        // Windows has no such signals.
        false => py.import("_thread")?.call_method0("interrupt_main"),
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

fn lock(work: &Mutex<Option<Work>>) -> MutexGuard<'_, Option<Work>> {
    work.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Whether the work is to end, of which its own thread alone is asked: a look at the clock, and now
/// and then one at what Python has to say.
fn ends(work: &Mutex<Option<Work>>) -> bool {
    let (at, now) = match &mut *lock(work) {
        Some(work) if work.thread == thread::current().id() => {
            let now = Instant::now();
            if let Some((deadline, limit)) = work.terms.deadline
                && now >= deadline
            {
                work.ended = Some(Ended::Late(limit));
                return true;
            }
            if now < work.next_look {
                return false;
            }
            (work.at, now)
        }
        _ => return false,
    };
    // Without the lock: what Python does may come here again.
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
    work.ended = raised.err().map(Ended::Raised);
    work.ended.is_some()
}

/// Lets Python handle signals, and tells of progress.
fn tell(py: Python<'_>, at: Progress, hear: Option<Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(hear) = hear
        && at.total_ands > 0
    {
        hear.call1(py, (at.done_ands, at.total_ands))?;
    }
    Ok(())
}
