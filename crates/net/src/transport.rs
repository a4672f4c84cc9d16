//! Transports: they carry a channel's bytes, with one half for each direction.
//!
//! A transport knows neither frames nor encryption. It blocks, within the bounds of a [`Wait`].

use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use web_time::Instant;

use crate::meter::WireCounter;
use crate::{Interrupt, Link, SLICE, Wait, shaped};

/// The half of a transport that bytes come from.
pub trait Source: Send {
    /// Reads at least one byte into `into`, which is not empty; 0 means that the peer has closed.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed. In both cases nothing was read.
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt>;

    /// Waits until a read returns something. The wait is cheap, however long it takes. A source
    /// that cannot wait returns at once.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed.
    fn rest(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        Ok(())
    }

    /// Returns whether a read returns something at once. A source that cannot tell returns `false`:
    /// then nothing is read from it while a write waits.
    fn is_ready(&mut self) -> bool {
        false
    }
}

/// The half of a transport that bytes go to.
pub trait Sink: Send {
    /// Takes at least one of the bytes of `parts`, which are not all empty, in order. Returns the
    /// number of bytes taken.
    ///
    /// # Errors
    ///
    /// The wait ended, the transport failed, or a wait that [reads](Wait::reads) has to read first.
    /// In all cases nothing was taken.
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt>;

    /// Delivers all taken bytes, then tells the peer that no more follows.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed.
    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt>;
}

/// A source and a sink that lead to the same peer, and their byte counts.
pub struct Transport {
    source: Box<dyn Source>,
    sink: Box<dyn Sink>,
    counter: WireCounter,
    heard: Option<LastHeard>,
    /// Whether its sink respects [`Wait::reads`].
    reads_ahead: bool,
}

/// The time when bytes last arrived.
pub(crate) type LastHeard = Arc<Mutex<Instant>>;

impl Transport {
    /// Joins two halves.
    pub fn new(source: Box<dyn Source>, sink: Box<dyn Sink>) -> Self {
        Self {
            source,
            sink,
            counter: WireCounter::default(),
            heard: None,
            reads_ahead: true,
        }
    }

    /// Returns the same transport. `link` delays and paces all bytes that it sends from now on.
    #[must_use]
    pub fn shaped(self, link: Link) -> Self {
        Self {
            sink: Box::new(shaped::ShapedSink::new(self.sink, link)),
            ..self
        }
    }

    /// Returns the same transport with another sink made from its own: one that delays, or one that
    /// lies. While that sink waits for room nothing is read, since it may have taken bytes before.
    #[must_use]
    pub fn map_sink(self, wrap: impl FnOnce(Box<dyn Sink>) -> Box<dyn Sink>) -> Self {
        Self {
            sink: wrap(self.sink),
            reads_ahead: false,
            ..self
        }
    }

    /// Returns whether a write under a wait that [reads](Wait::reads) says when to read.
    pub(crate) fn reads_ahead(&self) -> bool {
        self.reads_ahead
    }

    /// Returns the same transport. It records in `heard` when bytes arrive.
    pub(crate) fn noting(self, heard: LastHeard) -> Self {
        let heard = Some(heard);
        Self { heard, ..self }
    }

    pub(crate) fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        wait.slice()?;
        let start = Instant::now();
        let result = self.source.read(into, wait);
        self.counter.waiting += start.elapsed();
        if let Ok(count) = result {
            self.counter.received_bytes += count as u64;
            if let Some(heard) = &self.heard {
                *heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
        }
        result
    }

    /// Waits until a read returns something, if the source can.
    pub(crate) fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        wait.slice()?;
        self.source.rest(wait)
    }

    /// Reads bytes that are there already; returns `None` if there are none.
    pub(crate) fn read_at_once(
        &mut self,
        into: &mut [u8],
        wait: &Wait<'_>,
    ) -> Result<Option<usize>, Interrupt> {
        if !self.source.is_ready() {
            return Ok(None);
        }
        match self.read(into, &wait.again(SLICE)) {
            // The bytes were not for a reader, such as a ping.
            Err(Interrupt::TimedOut) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Writes to the sink, if the wait is not over.
    pub(crate) fn write(
        &mut self,
        parts: &[IoSlice<'_>],
        wait: &Wait<'_>,
    ) -> Result<usize, Interrupt> {
        wait.slice()?;
        let start = Instant::now();
        let result = loop {
            match self.sink.write(parts, wait) {
                // A sink that cannot see its source only guesses, after a pause.
                Err(Interrupt::Readable) if !self.source.is_ready() => {}
                result => break result,
            }
        };
        self.counter.waiting += start.elapsed();
        if let Ok(count) = result {
            self.counter.sent_bytes += count as u64;
            wait.moved(count);
        }
        result
    }

    pub(crate) fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.sink.finish(wait)
    }

    pub(crate) fn counter(&self) -> &WireCounter {
        &self.counter
    }
}
