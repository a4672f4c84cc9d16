//! Channels within one process: two bounded pipes, for tests and for a demo of both parties.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{CancelHandle, Channel, Interrupt, Sink, Source, Transport, Wait};

/// Bytes that a pipe of [`pair`] holds before its writer has to wait.
pub const PIPE_BYTES: usize = 1 << 20;

/// Two channels that lead to each other.
#[must_use]
pub fn pair() -> (Channel, Channel) {
    pair_with_capacity(PIPE_BYTES)
}

/// Two channels that lead to each other, each way through a pipe of `capacity` bytes, which is not
/// zero.
#[must_use]
pub fn pair_with_capacity(capacity: usize) -> (Channel, Channel) {
    let (here, there) = raw_pair(capacity);
    (
        Channel::over(here.into_transport()),
        Channel::over(there.into_transport()),
    )
}

/// A channel, and the bare bytes of its other end: for peers that misbehave.
#[must_use]
pub fn pair_with_raw() -> (Channel, RawEnd) {
    pair_with_capacity_and_raw(PIPE_BYTES)
}

/// The same, with pipes of `capacity` bytes, which is not zero.
#[must_use]
pub fn pair_with_capacity_and_raw(capacity: usize) -> (Channel, RawEnd) {
    let (here, there) = raw_pair(capacity);
    (Channel::over(here.into_transport()), there)
}

/// Two bare ends that lead to each other.
pub fn raw_pair(capacity: usize) -> (RawEnd, RawEnd) {
    let (there_sink, here_source) = pipe(capacity);
    let (here_sink, there_source) = pipe(capacity);
    (
        RawEnd {
            source: here_source,
            sink: here_sink,
        },
        RawEnd {
            source: there_source,
            sink: there_sink,
        },
    )
}

/// One end of a pair of pipes, as bytes. Reads and writes block without bound; dropping it closes.
pub struct RawEnd {
    source: PipeSource,
    sink: PipeSink,
}

impl RawEnd {
    /// A transport made of this end.
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

/// The error of a wait that nothing but a failure ends.
fn without_bound(interrupt: Interrupt) -> io::Error {
    match interrupt {
        Interrupt::Io(error) => error,
        _ => io::ErrorKind::Interrupted.into(),
    }
}

struct Pipe {
    state: Mutex<PipeState>,
    changed: Condvar,
    capacity: usize,
}

struct PipeState {
    bytes: VecDeque<u8>,
    /// The sink is gone, or has said that no more follows.
    finished: bool,
    /// The source is gone.
    abandoned: bool,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, at most as long as `wait` allows before it wants to be asked again.
    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, PipeState>,
        wait: &Wait<'_>,
    ) -> Result<MutexGuard<'a, PipeState>, Interrupt> {
        let slice = wait.slice()?;
        let woken = self.changed.wait_timeout(state, slice);
        Ok(woken.unwrap_or_else(PoisonError::into_inner).0)
    }
}

struct PipeSource(Arc<Pipe>);
struct PipeSink(Arc<Pipe>);

fn pipe(capacity: usize) -> (PipeSink, PipeSource) {
    assert!(capacity > 0, "a pipe holds at least one byte");
    let pipe = Arc::new(Pipe {
        state: Mutex::new(PipeState {
            bytes: VecDeque::new(),
            finished: false,
            abandoned: false,
        }),
        changed: Condvar::new(),
        capacity,
    });
    (PipeSink(Arc::clone(&pipe)), PipeSource(pipe))
}

impl Source for PipeSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut state = self.0.lock();
        loop {
            if !state.bytes.is_empty() {
                let count = state.bytes.read(into)?;
                self.0.changed.notify_all();
                return Ok(count);
            }
            if state.finished {
                return Ok(0);
            }
            state = self.0.sleep(state, wait)?;
        }
    }
}

impl Drop for PipeSource {
    fn drop(&mut self) {
        self.0.lock().abandoned = true;
        self.0.changed.notify_all();
    }
}

impl Sink for PipeSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut state = self.0.lock();
        loop {
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
            state = self.0.sleep(state, wait)?;
        }
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.0.lock().finished = true;
        self.0.changed.notify_all();
        Ok(())
    }
}

impl Drop for PipeSink {
    fn drop(&mut self) {
        self.0.lock().finished = true;
        self.0.changed.notify_all();
    }
}
