//! A log whose reader may be slow or absent: events become lines that wait for a thread of their
//! own, which writes them. If that thread falls behind, lines are dropped and counted, and no
//! session waits.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::event::{Event, Observer, Severity};

/// The largest number of lines that wait.
const MAX_LINES: usize = 1024;

/// The form of an event as a line.
type Form = dyn Fn(&Event) -> String + Send + Sync;

/// Writes events as lines.
pub struct Log(Arc<Shared>);

struct Shared {
    least: Severity,
    form: Box<Form>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    /// Whether a line is being written.
    is_writing: bool,
    dropped: u64,
    /// The dropped lines that no line has reported yet.
    untold: u64,
}

impl Log {
    /// Starts writing events to `out` in this form: those of severity `least` and worse.
    ///
    /// # Errors
    ///
    /// The system cannot start a thread.
    pub fn start(
        out: impl Write + Send + 'static,
        least: Severity,
        form: impl Fn(&Event) -> String + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            least,
            form: Box::new(form),
            waiting: Mutex::default(),
            changed: Condvar::new(),
        });
        let writing = Arc::clone(&shared);
        let thread = thread::Builder::new().name("log".to_owned());
        // The thread ends with the process.
        thread.spawn(move || writing.write(out))?;
        Ok(Self(shared))
    }

    /// Waits until all lines are written, for at most `within`.
    pub fn flush(&self, within: Duration) {
        let is_busy = |waiting: &mut Waiting| {
            waiting.is_writing || waiting.untold > 0 || !waiting.lines.is_empty()
        };
        let waiting = self.0.waiting();
        // Lines that are not written by then are lost.
        let _ = self.0.changed.wait_timeout_while(waiting, within, is_busy);
    }
}

impl Observer for Log {
    fn tell(&self, event: &Event) {
        if event.severity() > self.0.least {
            return;
        }
        let line = (self.0.form)(event);
        let mut waiting = self.0.waiting();
        if waiting.lines.len() < MAX_LINES {
            waiting.lines.push_back(line);
        } else {
            waiting.dropped += 1;
            waiting.untold += 1;
        }
        self.0.changed.notify_all();
    }

    fn dropped(&self) -> u64 {
        self.0.waiting().dropped
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines as they come, and the number of dropped ones once it has caught up.
    fn write(&self, mut out: impl Write) {
        let mut waiting = self.waiting();
        loop {
            let line = match waiting.lines.pop_front() {
                Some(line) => line,
                None if waiting.untold > 0 => {
                    let count = std::mem::take(&mut waiting.untold);
                    (self.form)(&Event::LogDropped { count })
                }
                None => {
                    let woken = self.changed.wait(waiting);
                    waiting = woken.unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            waiting.is_writing = true;
            drop(waiting);
            // If the reader is gone, nobody can be told.
            let _ = out.write_all((line + "\n").as_bytes());
            waiting = self.waiting();
            waiting.is_writing = false;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A writer that takes a line when it is told to.
    struct Slow {
        go_on: mpsc::Receiver<()>,
        read: mpsc::Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go_on.recv().map_err(io::Error::other)?;
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.read.send(text).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_log_that_nobody_reads_holds_up_nobody_and_counts_what_it_drops() {
        let (goes_on, go_on) = mpsc::channel();
        let (read, lines) = mpsc::channel();
        let log = Log::start(Slow { go_on, read }, Severity::Info, Event::text).expect("a thread");
        let most = MAX_LINES + 1;
        let (told, mut dropped) = (most + 10, 0);
        for cut in 0..told {
            log.tell(&Event::Stopped { cut });
            // The thread may or may not have taken the first line yet.
            dropped = log.dropped();
        }
        assert!((10..=11).contains(&dropped), "{dropped}");
        log.flush(Duration::from_millis(1));
        goes_on.send(()).expect("it waits");
        assert!(lines.recv().expect("a line").starts_with("stopped cut=0"));
        (0..2 * told).for_each(|_| goes_on.send(()).expect("it reads"));
        log.flush(Duration::from_secs(60));
        let rest: String = lines.try_iter().collect();
        let last = rest.lines().last().expect("a line");
        assert_eq!(last, format!("log-dropped count={dropped}"));
        assert_eq!(log.dropped(), dropped);
        let kept = rest.lines().filter(|line| line.starts_with("stopped"));
        assert_eq!(kept.count() as u64, told as u64 - dropped - 1);
    }
}
