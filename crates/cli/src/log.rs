//! The output of `-v`: steps, times and public values. No secret ever reaches it.

use core::fmt;
use std::time::Instant;

/// The log of a command's steps on standard error, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    level: u8,
    begun: Instant,
}

impl Log {
    /// Makes a log whose level is the number of times that `-v` was given.
    pub(crate) fn new(level: u8) -> Self {
        Self {
            level,
            begun: Instant::now(),
        }
    }

    /// Writes a step, from `-v` on.
    pub(crate) fn step(&self, what: fmt::Arguments<'_>) {
        self.tell(1, what);
    }

    /// Writes a detail, from `-vv` on.
    pub(crate) fn detail(&self, what: fmt::Arguments<'_>) {
        self.tell(2, what);
    }

    fn tell(&self, level: u8, what: fmt::Arguments<'_>) {
        if self.level >= level {
            eprintln!("[{:>9.3} s] {what}", self.begun.elapsed().as_secs_f64());
        }
    }
}
