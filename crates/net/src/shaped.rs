//! A sink that delays and paces bytes as a [`Link`] says, on a thread of its own.
//!
//! Bytes enter the link at its rate, one chunk after the other (a token bucket with the capacity of
//! one chunk), and come out one delay later. The writer has to wait while more than
//! [`BACKLOG_BYTES`] wait to enter, as with a socket's send buffer.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::tcp::LOOK_PAUSE;
use crate::{CancelHandle, Interrupt, Link, Sink, Wait};

/// The bytes that may wait to enter the link.
const BACKLOG_BYTES: usize = 256 * 1024;

/// A chunk holds what the link carries in this time, within the two bounds below.
const CHUNK_TIME: Duration = Duration::from_micros(500);
const MIN_CHUNK_BYTES: usize = 1448;
const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// The time beyond the link's own for which a dropped sink still tries to deliver.
const LINGER: Duration = Duration::from_secs(2);

pub(crate) struct ShapedSink {
    link: Link,
    shared: Arc<Shared>,
    /// Ends the thread's writes below when nobody waits for them any more.
    give_up: CancelHandle,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<LinkQueue>,
    changed: Condvar,
}

struct LinkQueue {
    /// The chunks in the link, each with the time when it comes out.
    chunks: VecDeque<(Instant, Zeroizing<Vec<u8>>)>,
    chunk_bytes: usize,
    /// The time when the last chunk will have entered.
    free_at: Instant,
    /// Whether no more follows.
    finishing: bool,
    /// The result of the thread, once it has ended: an error if something was not delivered.
    ended: Option<Result<(), io::ErrorKind>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, LinkQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, LinkQueue>,
        at_most: Duration,
    ) -> MutexGuard<'a, LinkQueue> {
        let woken = self.changed.wait_timeout(state, at_most);
        woken.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl ShapedSink {
    pub(crate) fn new(below: Box<dyn Sink>, link: Link) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(LinkQueue {
                chunks: VecDeque::new(),
                chunk_bytes: 0,
                free_at: Instant::now(),
                finishing: false,
                ended: None,
            }),
            changed: Condvar::new(),
        });
        let give_up = CancelHandle::new();
        let (ours, handle) = (Arc::clone(&shared), give_up.clone());
        let thread = std::thread::spawn(move || {
            let outcome = deliver(&ours, below, &handle);
            ours.lock().ended = Some(outcome);
            ours.changed.notify_all();
        });
        Self {
            link,
            shared,
            give_up,
            thread: Some(thread),
        }
    }

    /// Returns the bytes that the link and its backlog hold when both are full.
    fn capacity(&self) -> usize {
        let in_flight = self.link.bytes_in(self.link.one_way_delay());
        in_flight.saturating_add(BACKLOG_BYTES + MAX_CHUNK_BYTES)
    }

    fn chunk_bytes(&self) -> usize {
        let bytes = self.link.bytes_in(CHUNK_TIME);
        bytes.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES)
    }
}

impl Sink for ShapedSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let backlog_time = self.link.time_for(BACKLOG_BYTES);
        let capacity = self.capacity();
        let mut state = self.shared.lock();
        let mut has_paused = false;
        loop {
            if let Some(outcome) = state.ended {
                let kind = outcome.err().unwrap_or(io::ErrorKind::BrokenPipe);
                return Err(Interrupt::Io(kind.into()));
            }
            let now = Instant::now();
            let early = state
                .free_at
                .checked_duration_since(now + backlog_time)
                .unwrap_or_default();
            if early.is_zero() && state.chunk_bytes < capacity {
                break;
            }
            let mut pause = wait.slice()?;
            if wait.reads() {
                if has_paused {
                    // This sink does not see whether bytes have arrived: its transport checks.
                    return Err(Interrupt::Readable);
                }
                pause = pause.min(LOOK_PAUSE);
            }
            if !early.is_zero() {
                pause = pause.min(early);
            }
            state = self.shared.sleep(state, pause);
            has_paused = true;
        }
        let mut chunk = Zeroizing::new(Vec::with_capacity(self.chunk_bytes()));
        for part in parts {
            let room = self.chunk_bytes() - chunk.len();
            chunk.extend_from_slice(&part[..part.len().min(room)]);
        }
        let count = chunk.len();
        state.free_at = state.free_at.max(Instant::now()) + self.link.time_for(count);
        let due = state.free_at + self.link.one_way_delay();
        state.chunks.push_back((due, chunk));
        state.chunk_bytes += count;
        self.shared.changed.notify_all();
        Ok(count)
    }

    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        let mut state = self.shared.lock();
        state.finishing = true;
        self.shared.changed.notify_all();
        loop {
            match state.ended {
                Some(Ok(())) => return Ok(()),
                Some(Err(kind)) => return Err(Interrupt::Io(kind.into())),
                None => {
                    let slice = wait.slice()?;
                    state = self.shared.sleep(state, slice);
                }
            }
        }
    }
}

impl Drop for ShapedSink {
    /// Delivers the bytes that were taken, as the kernel does for a closed socket.
    fn drop(&mut self) {
        let free_at = self.shared.lock().free_at;
        let going_in = free_at.saturating_duration_since(Instant::now());
        let endless = CancelHandle::new();
        let time = going_in + self.link.one_way_delay() + LINGER;
        let _ = self.finish(&Wait::at_most(time, &endless));
        self.give_up.cancel();
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes each chunk to the sink below when it is due, until the last, or until `give_up`.
fn deliver(
    shared: &Shared,
    mut below: Box<dyn Sink>,
    give_up: &CancelHandle,
) -> Result<(), io::ErrorKind> {
    let wait = Wait::until(give_up);
    let mut due_now = Zeroizing::new(Vec::with_capacity(MAX_CHUNK_BYTES));
    while collect_due(shared, &wait, &mut due_now)? {
        let mut left = &due_now[..];
        while !left.is_empty() {
            let written = below.write(&[IoSlice::new(left)], &wait).map_err(kind_of)?;
            left = &left[written..];
        }
    }
    below.finish(&wait).map_err(kind_of)
}

/// Waits until a chunk is due and moves all due chunks into `due_now`. Returns `false` after the
/// last.
fn collect_due(
    shared: &Shared,
    wait: &Wait<'_>,
    due_now: &mut Vec<u8>,
) -> Result<bool, io::ErrorKind> {
    due_now.clear();
    let mut state = shared.lock();
    loop {
        let now = Instant::now();
        while due_now.len() < MAX_CHUNK_BYTES
            && let Some((due, _)) = state.chunks.front()
            && *due <= now
            && let Some((_, chunk)) = state.chunks.pop_front()
        {
            state.chunk_bytes -= chunk.len();
            due_now.extend_from_slice(&chunk);
        }
        if !due_now.is_empty() {
            shared.changed.notify_all();
            return Ok(true);
        }
        if state.chunks.is_empty() && state.finishing {
            return Ok(false);
        }
        let slice = wait.slice().map_err(kind_of)?;
        let until_due = state.chunks.front().map(|(due, _)| *due - now);
        state = shared.sleep(state, until_due.unwrap_or(slice).min(slice));
    }
}

fn kind_of(interrupt: Interrupt) -> io::ErrorKind {
    match interrupt {
        Interrupt::Io(error) => error.kind(),
        _ => io::ErrorKind::BrokenPipe,
    }
}
