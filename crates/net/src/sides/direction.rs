//! The frames between a channel and the threads of its side streams, in one direction.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zeroize::Zeroizing;

use super::QUEUED_FRAMES;
use crate::channel::{FRAME_BYTES, READ_AHEAD_BYTES, SharedBytes};
use crate::meter::WireCounter;
use crate::{CancelHandle, Interrupt};

/// The time that a thread without work sleeps before it checks whether its channel is gone.
const NAP: Duration = Duration::from_millis(500);

/// The payload of a frame. It may be secret, so it is wiped.
#[derive(Default)]
pub(crate) struct FrameBuffer {
    /// The memory, all of it initialised. The payload is the first `length` bytes.
    bytes: Zeroizing<Vec<u8>>,
    length: usize,
    /// The payload in the memory of its sender, which wipes it, if `length` is 0.
    shared: Vec<SharedBytes>,
}

impl FrameBuffer {
    /// Returns room for a payload of this length, with old bytes in it.
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.capacity() < length {
            // The old memory is wiped on drop.
            self.bytes = Zeroizing::new(vec![0; length]);
        } else if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
        self.length = length;
        &mut self.bytes[..length]
    }

    /// Returns the payload of a frame that has arrived.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns the parts of the payload of a frame that leaves.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let shared = self.shared.iter();
        let shared = shared.map(|(bytes, range)| &bytes[range.clone()]);
        std::iter::once(self.payload()).chain(shared)
    }

    /// Gives the payload away for other memory.
    pub(crate) fn exchange(&mut self, memory: Vec<u8>) -> Vec<u8> {
        let mut payload = std::mem::replace(&mut *self.bytes, memory);
        let length = std::mem::take(&mut self.length);
        // Older payloads may be secret. The compiler must take these zeros for read.
        payload[length..].fill(0);
        std::hint::black_box(&mut payload[length..]);
        payload.truncate(length);
        payload
    }
}

/// The frames of one stream.
#[derive(Default)]
struct Queue {
    frames: VecDeque<FrameBuffer>,
    /// Whether the thread is sending a frame.
    is_busy: bool,
    /// Whether no more frames arrive.
    has_ended: bool,
    is_open: bool,
    /// Whether its thread waits.
    sleeps: bool,
}

struct DirectionState {
    queues: Vec<Queue>,
    /// The stream of the next frame.
    next: usize,
    /// The bytes in all queues.
    held: usize,
    /// The bytes in all queues at which threads stop reading frames.
    limit: usize,
    spare: Vec<FrameBuffer>,
    failure: Option<Interrupt>,
    has_failed: bool,
    /// Whether the channel waits.
    channel_sleeps: bool,
    /// Whether arriving frames are discarded.
    is_discarded: bool,
}

impl DirectionState {
    /// Returns the failure of a stream. Once that was returned, returns that the connection has
    /// ended.
    fn failed(&mut self) -> Option<Interrupt> {
        let ended = || Interrupt::Io(std::io::ErrorKind::ConnectionReset.into());
        self.has_failed
            .then(|| self.failure.take().unwrap_or_else(ended))
    }
}

pub(crate) struct Direction {
    state: Mutex<DirectionState>,
    /// Signals the channel.
    changed: Condvar,
    /// Signals the thread of each stream.
    work: Vec<Condvar>,
    /// Whether all streams are open.
    is_ready: AtomicBool,
    /// The bytes of payloads that went into streams, or came from them.
    moved: AtomicU64,
    sent_wire_bytes: AtomicU64,
    received_wire_bytes: AtomicU64,
}

impl Direction {
    pub(super) fn new(streams: u8) -> Self {
        let streams = usize::from(streams);
        Self {
            state: Mutex::new(DirectionState {
                queues: (0..streams).map(|_| Queue::default()).collect(),
                next: 0,
                held: 0,
                limit: streams * QUEUED_FRAMES * FRAME_BYTES,
                spare: Vec::new(),
                failure: None,
                has_failed: false,
                channel_sleeps: false,
                is_discarded: false,
            }),
            changed: Condvar::new(),
            work: (0..streams).map(|_| Condvar::new()).collect(),
            is_ready: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            sent_wire_bytes: AtomicU64::new(0),
            received_wire_bytes: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, DirectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready` returns something, for at most `time`.
    fn until<T>(
        &self,
        time: Duration,
        ready: impl Fn(&mut DirectionState) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        if let Some(found) = ready(&mut state) {
            return Some(found);
        }
        if time.is_zero() {
            return None;
        }
        state.channel_sleeps = true;
        let waited = self.changed.wait_timeout(state, time);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.channel_sleeps = false;
        ready(&mut state)
    }

    /// Wakes the channel if it waits. Waking nobody would cost a system call too.
    fn wake_channel(&self, state: MutexGuard<'_, DirectionState>) {
        let sleeps = state.channel_sleeps;
        drop(state);
        if sleeps {
            self.changed.notify_one();
        }
    }

    /// Wakes the waiting threads.
    fn wake_sleepers(&self, state: MutexGuard<'_, DirectionState>) {
        let sleeps = |place: &usize| state.queues[*place].sleeps;
        let sleepers: Vec<usize> = (0..state.queues.len()).filter(sleeps).collect();
        drop(state);
        for place in sleepers {
            self.work[place].notify_one();
        }
    }

    /// Waits on the thread of stream `place` until `ready` returns something. Returns nothing if
    /// the thread has to stop.
    fn work_until<T>(
        &self,
        place: usize,
        stop: &CancelHandle,
        ready: impl Fn(&mut DirectionState) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        loop {
            if stop.is_cancelled() {
                return None;
            }
            if let Some(found) = ready(&mut state) {
                return Some(found);
            }
            state.queues[place].sleeps = true;
            let waited = self.work[place].wait_timeout(state, NAP);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.queues[place].sleeps = false;
        }
    }

    /// Wakes all threads, without a lock.
    pub(super) fn wake_all(&self) {
        self.work.iter().for_each(Condvar::notify_all);
    }

    /// Returns whether all streams are open.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    #[cfg(test)]
    pub(super) fn streams(&self) -> usize {
        self.work.len()
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.lock().held
    }

    /// Returns the bytes of payloads that went into the streams, or came from them.
    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    pub(crate) fn wire(&self) -> WireCounter {
        WireCounter {
            sent_bytes: self.sent_wire_bytes.load(Ordering::Relaxed),
            received_bytes: self.received_wire_bytes.load(Ordering::Relaxed),
            waiting: Duration::ZERO,
        }
    }

    /// Waits for room for the next frame to send, for at most `time`.
    pub(crate) fn await_room(&self, time: Duration) -> Option<Result<(), Interrupt>> {
        self.until(time, |state| match state.failed() {
            Some(failure) => Some(Err(failure)),
            None => {
                let waiting = &state.queues[state.next].frames;
                (waiting.len() < QUEUED_FRAMES).then_some(Ok(()))
            }
        })
    }

    /// Gives a copy of a frame to the next stream, even if it has no room.
    pub(crate) fn push(&self, payload: &[u8]) {
        let mut frame = self.lock().spare.pop().unwrap_or_default();
        frame.room(payload.len()).copy_from_slice(payload);
        self.push_frame(frame);
    }

    /// Does the same with a frame that stays where it is.
    pub(crate) fn push_shared(&self, shared: Vec<SharedBytes>) {
        self.push_frame(FrameBuffer {
            shared,
            ..FrameBuffer::default()
        });
    }

    fn push_frame(&self, frame: FrameBuffer) {
        let mut state = self.lock();
        let place = state.next;
        state.next = (place + 1) % state.queues.len();
        state.queues[place].frames.push_back(frame);
        let sleeps = state.queues[place].sleeps;
        drop(state);
        if sleeps {
            self.work[place].notify_one();
        }
    }

    /// Waits until all frames are sent, for at most `time`.
    pub(crate) fn await_empty(&self, time: Duration) -> Option<Result<(), Interrupt>> {
        let is_done = |queue: &Queue| queue.frames.is_empty() && !queue.is_busy;
        self.until(time, |state| match state.failed() {
            Some(failure) => Some(Err(failure)),
            None => state.queues.iter().all(is_done).then_some(Ok(())),
        })
    }

    /// Waits for the next received frame, for at most `time`.
    pub(crate) fn await_frame(&self, time: Duration) -> Option<Result<FrameBuffer, Interrupt>> {
        let found = self.until(time, |state| {
            let place = state.next;
            if let Some(frame) = state.queues[place].frames.pop_front() {
                state.next = (place + 1) % state.queues.len();
                state.held -= frame.length;
                return Some(Ok(frame));
            }
            if state.queues[place].has_ended {
                let ended = std::io::ErrorKind::ConnectionReset.into();
                return Some(Err(Interrupt::Io(ended)));
            }
            state.failed().map(Err)
        });
        if matches!(found, Some(Ok(_))) {
            self.wake_sleepers(self.lock());
        }
        found
    }

    /// Takes back the buffer of a frame that the channel, or a thread, no longer needs.
    pub(crate) fn give_back(&self, frame: FrameBuffer) {
        if frame.bytes.is_empty() {
            return;
        }
        let mut state = self.lock();
        let most = QUEUED_FRAMES * state.queues.len() * FRAME_BYTES;
        let spare: usize = state.spare.iter().map(|spare| spare.bytes.len()).sum();
        if spare + frame.bytes.len() <= most {
            state.spare.push(frame);
        }
    }

    /// Frees the memory of unused frame buffers.
    pub(crate) fn release(&self) {
        self.lock().spare = Vec::new();
    }

    /// Reads only a few frames ahead, or as many as a channel may while a send waits.
    pub(crate) fn read_ahead(&self, is_far: bool) {
        let mut state = self.lock();
        let few = state.queues.len() * QUEUED_FRAMES * FRAME_BYTES;
        let limit = if is_far { READ_AHEAD_BYTES } else { few };
        if state.limit != limit {
            state.limit = limit;
            self.wake_sleepers(state);
        }
    }

    /// Discards all frames that arrive from now on.
    pub(crate) fn discard(&self) {
        let mut state = self.lock();
        state.is_discarded = true;
        self.wake_sleepers(state);
    }

    /// Records that the stream at `place` is open.
    pub(super) fn open(&self, place: usize) {
        let mut state = self.lock();
        state.queues[place].is_open = true;
        if state.queues.iter().all(|queue| queue.is_open) {
            self.is_ready.store(true, Ordering::Release);
        }
    }

    /// Returns the next frame to send on the stream at `place`. Returns nothing if the channel is
    /// gone.
    pub(super) fn next_to_leave(&self, place: usize, stop: &CancelHandle) -> Option<FrameBuffer> {
        self.work_until(place, stop, |state| {
            let queue = &mut state.queues[place];
            let frame = queue.frames.pop_front()?;
            queue.is_busy = true;
            Some(frame)
        })
    }

    /// Records that the frame was sent.
    pub(super) fn left(&self, place: usize, frame: FrameBuffer) {
        self.give_back(frame);
        let mut state = self.lock();
        state.queues[place].is_busy = false;
        self.wake_channel(state);
    }

    /// Waits for room for an arriving frame. Returns nothing if the channel is gone.
    pub(super) fn room_to_come(&self, place: usize, stop: &CancelHandle) -> Option<FrameBuffer> {
        self.work_until(place, stop, |state| {
            // The stream whose turn it is always has room, so no other stream can block the
            // channel.
            let is_next = state.queues[place].frames.is_empty();
            let has_room = is_next || state.held < state.limit || state.is_discarded;
            has_room.then(|| state.spare.pop().unwrap_or_default())
        })
    }

    /// Takes a frame that has arrived.
    pub(super) fn came(&self, place: usize, frame: FrameBuffer) {
        let mut state = self.lock();
        if state.is_discarded {
            state.spare.push(frame);
            return;
        }
        state.held += frame.length;
        state.queues[place].frames.push_back(frame);
        if place == state.next {
            self.wake_channel(state);
        }
    }

    /// Records that no more frames arrive on the stream at `place`.
    pub(super) fn ended(&self, place: usize) {
        let mut state = self.lock();
        state.queues[place].has_ended = true;
        self.wake_channel(state);
    }

    /// Records that a stream has failed.
    pub(super) fn fail(&self, failure: Interrupt) {
        let mut state = self.lock();
        if !state.has_failed {
            state.has_failed = true;
            state.failure = Some(failure);
        }
        self.wake_channel(state);
    }

    /// Counts bytes of payloads that have moved, and the bytes that TLS made of them.
    pub(super) fn count(&self, moved: usize, sent_wire_bytes: u64, received_wire_bytes: u64) {
        self.moved.fetch_add(moved as u64, Ordering::Relaxed);
        self.sent_wire_bytes
            .fetch_add(sent_wire_bytes, Ordering::Relaxed);
        self.received_wire_bytes
            .fetch_add(received_wire_bytes, Ordering::Relaxed);
    }
}
