//! Channels within one process: two bounded pipes, for tests and for a demo of both parties.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{CancelHandle, Channel, Interrupt, Sink, Source, Transport, Wait};

/// The bytes that a pipe of [`pair`] holds before its writer has to wait.
pub const PIPE_BYTES: usize = 1 << 20;

/// Returns two connected channels.
pub fn pair() -> (Channel, Channel) {
    pair_with_capacity(PIPE_BYTES)
}

/// Returns two connected channels, each direction through a pipe of `capacity` bytes, which must
/// not be zero.
pub fn pair_with_capacity(capacity: usize) -> (Channel, Channel) {
    let (here, there) = raw_pair(capacity);
    (
        Channel::over(here.into_transport()),
        Channel::over(there.into_transport()),
    )
}

/// Returns a channel, and the raw bytes of its other end: for peers that misbehave.
pub fn pair_with_raw() -> (Channel, RawEnd) {
    pair_with_capacity_and_raw(PIPE_BYTES)
}

/// Does the same with pipes of `capacity` bytes, which must not be zero.
pub fn pair_with_capacity_and_raw(capacity: usize) -> (Channel, RawEnd) {
    let (here, there) = raw_pair(capacity);
    (Channel::over(here.into_transport()), there)
}

/// Returns two connected raw ends.
pub fn raw_pair(capacity: usize) -> (RawEnd, RawEnd) {
    assert!(capacity > 0, "a pipe holds at least one byte");
    let pipes = Arc::new(Pipes {
        states: Mutex::default(),
        changed: Condvar::new(),
        capacity,
    });
    let end = |side: usize| RawEnd {
        source: PipeSource(Arc::clone(&pipes), 1 - side),
        sink: PipeSink(Arc::clone(&pipes), side),
    };
    (end(0), end(1))
}

/// One end of a pair of pipes, as bytes. Reads and writes block without a time limit; dropping it
/// closes both pipes.
pub struct RawEnd {
    source: PipeSource,
    sink: PipeSink,
}

impl RawEnd {
    /// Converts this end to a transport.
    #[must_use]
    pub fn into_transport(self) -> Transport {
        Transport::new(Box::new(self.source), Box::new(self.sink))
    }
}

impl Read for RawEnd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let endless = CancelHandle::new();
        self.source
            .read(into, &Wait::until(&endless))
            .map_err(without_bound)
    }
}

impl Write for RawEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let endless = CancelHandle::new();
        self.sink
            .write(&[IoSlice::new(bytes)], &Wait::until(&endless))
            .map_err(without_bound)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the error of a wait that only a failure ends.
fn without_bound(interrupt: Interrupt) -> io::Error {
    match interrupt {
        Interrupt::Io(error) => error,
        _ => io::ErrorKind::Interrupted.into(),
    }
}

/// A pipe in each direction. They share a lock, since a writer may wait for room in one or for
/// bytes in the other.
struct Pipes {
    states: Mutex<[PipeState; 2]>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Default)]
struct PipeState {
    bytes: VecDeque<u8>,
    /// Whether the sink is gone, or has said that no more follows.
    finished: bool,
    /// Whether the source is gone.
    abandoned: bool,
}

impl Pipes {
    fn lock(&self) -> MutexGuard<'_, [PipeState; 2]> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, for at most one slice of `wait`.
    fn sleep<'a>(
        &self,
        states: MutexGuard<'a, [PipeState; 2]>,
        wait: &Wait<'_>,
    ) -> Result<MutexGuard<'a, [PipeState; 2]>, Interrupt> {
        let slice = wait.slice()?;
        let woken = self.changed.wait_timeout(states, slice);
        Ok(woken.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Changes one pipe.
    fn change(&self, number: usize, change: impl FnOnce(&mut PipeState)) {
        change(&mut self.lock()[number]);
        self.changed.notify_all();
    }
}

/// The reading end of the pipe with this number.
struct PipeSource(Arc<Pipes>, usize);
/// The writing end of the pipe with this number.
struct PipeSink(Arc<Pipes>, usize);

impl Source for PipeSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut states = self.0.lock();
        loop {
            let state = &mut states[self.1];
            if !state.bytes.is_empty() {
                let count = state.bytes.read(into)?;
                self.0.changed.notify_all();
                return Ok(count);
            }
            if state.finished {
                return Ok(0);
            }
            states = self.0.sleep(states, wait)?;
        }
    }

    fn is_ready(&mut self) -> bool {
        !self.0.lock()[self.1].bytes.is_empty()
    }
}

impl Drop for PipeSource {
    fn drop(&mut self) {
        self.0.change(self.1, |state| state.abandoned = true);
    }
}

impl Sink for PipeSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut states = self.0.lock();
        loop {
            let state = &mut states[self.1];
            if state.abandoned || state.finished {
                return Err(Interrupt::Io(io::ErrorKind::BrokenPipe.into()));
            }
            let room = self.0.capacity - state.bytes.len();
            if room > 0 {
                let mut left = room;
                for part in parts {
                    let count = part.len().min(left);
                    state.bytes.extend(&part[..count]);
                    left -= count;
                }
                self.0.changed.notify_all();
                return Ok(room - left);
            }
            if wait.reads() && !states[1 - self.1].bytes.is_empty() {
                return Err(Interrupt::Readable);
            }
            states = self.0.sleep(states, wait)?;
        }
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.0.change(self.1, |state| state.finished = true);
        Ok(())
    }
}

impl Drop for PipeSink {
    fn drop(&mut self) {
        self.0.change(self.1, |state| state.finished = true);
    }
}
