//! What `-v` tells: steps, times and public values. No secret ever reaches it.

use core::fmt;
use std::time::Instant;

/// Where the steps of a command are told, if anywhere: standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    level: u8,
    begun: Instant,
}

impl Log {
    /// A log as talkative as `-v` was given often.
    pub(crate) fn new(level: u8) -> Self {
        Self {
            level,
            begun: Instant::now(),
        }
    }

    /// A step, told from `-v` on.
    pub(crate) fn step(&self, what: fmt::Arguments<'_>) {
        self.tell(1, what);
    }

    /// A detail, told from `-vv` on.
    pub(crate) fn detail(&self, what: fmt::Arguments<'_>) {
        self.tell(2, what);
    }

    fn tell(&self, level: u8, what: fmt::Arguments<'_>) {
        if self.level >= level {
            eprintln!("[{:>9.3} s] {what}", self.begun.elapsed().as_secs_f64());
        }
    }
}
