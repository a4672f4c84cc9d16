//! Transports: what carries a channel's bytes, one half each way.
//!
//! A transport knows neither frames nor encryption. It blocks, within the bounds of a [`Wait`].

use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use web_time::Instant;

use crate::meter::WireCounter;
use crate::{Interrupt, Link, Wait, shaped};

/// The half of a transport that bytes come from.
pub trait Source: Send {
    /// Reads at least one byte into `into`, which is not empty; 0 means that the peer has closed.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed. Nothing was read then.
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt>;

    /// Waits until a read gives something, at little cost however long it takes. A source that
    /// cannot returns at once.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed.
    fn rest(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        Ok(())
    }
}

/// The half of a transport that bytes go to.
pub trait Sink: Send {
    /// Takes at least one of the bytes of `parts`, which are not all empty, in order, and says how
    /// many it took.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed. Nothing was taken then.
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt>;

    /// Delivers all that was taken, then tells the peer that no more follows.
    ///
    /// # Errors
    ///
    /// The wait ended, or the transport failed.
    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt>;
}

/// A source and a sink that lead to the same peer, and what they have carried.
pub struct Transport {
    source: Box<dyn Source>,
    sink: Box<dyn Sink>,
    counter: WireCounter,
    heard: Option<Heard>,
}

/// When something came last.
pub(crate) type Heard = Arc<Mutex<Instant>>;

impl Transport {
    /// Joins two halves.
    #[must_use]
    pub fn new(source: Box<dyn Source>, sink: Box<dyn Sink>) -> Self {
        Self {
            source,
            sink,
            counter: WireCounter::default(),
            heard: None,
        }
    }

    /// The same transport, with all that it sends from now on delayed and paced by `link`.
    #[must_use]
    pub fn shaped(self, link: Link) -> Self {
        self.map_sink(|sink| Box::new(shaped::ShapedSink::new(sink, link)))
    }

    /// The same transport, with another sink made of its own: one that delays, or one that lies.
    #[must_use]
    pub fn map_sink(self, wrap: impl FnOnce(Box<dyn Sink>) -> Box<dyn Sink>) -> Self {
        Self {
            sink: wrap(self.sink),
            ..self
        }
    }

    /// The same transport, which notes in `heard` when something comes.
    pub(crate) fn noting(self, heard: Heard) -> Self {
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

    /// Waits until a read gives something, where the source can.
    pub(crate) fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        wait.slice()?;
        self.source.rest(wait)
    }

    /// Writes to the sink, if the wait is not over.
    pub(crate) fn write(
        &mut self,
        parts: &[IoSlice<'_>],
        wait: &Wait<'_>,
    ) -> Result<usize, Interrupt> {
        wait.slice()?;
        let start = Instant::now();
        let result = self.sink.write(parts, wait);
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
