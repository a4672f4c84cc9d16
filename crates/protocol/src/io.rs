//! The interface of a protocol script to the outside: messages to its peers and from them.
//!
//! A party's side of a protocol is a script: an `async` function over an [`Io`], whose control
//! flow is the protocol. The script does no I/O. The caller owns the [`Io`], and the [`Wire`]
//! below it moves the messages:
//!
//! - over a blocking channel (crate `tacit`), every wait ends inside the poll, and [`complete`]
//!   runs a script to its end in one poll, on any thread;
//! - in [memory], scripts are polled in turn without a waker, and a test may read and
//!   change each message on its way.
//!
//! A [`Message`] states once the kind of a message and its length. The sender, the receiver and the
//! outline of a run all use that statement.

pub mod memory;

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::Error;
use crate::message::{Kind, exactly};
use crate::party::{OnlyPeer, PeerName, Progress};

/// A message of a run: its kind and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The kind of the message.
    pub kind: Kind,
    /// The largest number of bytes of its payload.
    pub max_bytes: usize,
    /// Whether the payload always has exactly `max_bytes`.
    pub is_exact: bool,
}

impl Message {
    /// Returns a message whose payload has exactly `bytes` bytes.
    pub const fn exactly(kind: Kind, bytes: usize) -> Self {
        Self {
            kind,
            max_bytes: bytes,
            is_exact: true,
        }
    }

    /// Returns a message whose payload has at most `max_bytes` bytes.
    pub const fn up_to(kind: Kind, max_bytes: usize) -> Self {
        Self {
            kind,
            max_bytes,
            is_exact: false,
        }
    }

    /// Whether the message may have a payload of `bytes` bytes.
    fn allows(&self, bytes: usize) -> bool {
        bytes == self.max_bytes || (!self.is_exact && bytes < self.max_bytes)
    }
}

/// A range of bytes in memory that several threads may hold.
pub type SharedBytes = (Arc<Vec<u8>>, Range<usize>);

/// The transport of one party's messages. `P` names its peers.
pub trait Wire<P = OnlyPeer> {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// [`Error::Wire`], or the peer's abort.
    fn send(&mut self, to: P, kind: Kind, payload: &[u8]) -> Result<(), Error>;

    /// Sends a message whose payload consists of `parts`. The wire may read them where they are,
    /// later and on other threads.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send).
    fn send_shared(&mut self, to: P, kind: Kind, parts: Vec<SharedBytes>) -> Result<(), Error> {
        let parts = parts.iter().map(|(bytes, range)| &bytes[range.clone()]);
        self.send(to, kind, &parts.collect::<Vec<_>>().concat())
    }

    /// Returns ready when [`receive`](Self::receive) has something to return. It may block until
    /// then.
    fn poll_message(&mut self, from: P) -> Poll<()>;

    /// Returns the payload of the next message, which is of this kind and at most `max_bytes` long.
    /// Allocates nothing for a longer one.
    ///
    /// # Errors
    ///
    /// [`Error::Wire`], the peer's abort, or a message of another kind or a longer one.
    fn receive(&mut self, from: P, kind: Kind, max_bytes: usize) -> Result<&[u8], Error>;

    /// Receives as [`receive`](Self::receive) does. The wire may give the payload away for the
    /// memory `spare`.
    ///
    /// # Errors
    ///
    /// Those of [`receive`](Self::receive).
    fn receive_given(
        &mut self,
        from: P,
        (kind, max_bytes): (Kind, usize),
        _spare: &mut Vec<u8>,
    ) -> Result<Cow<'_, [u8]>, Error> {
        self.receive(from, kind, max_bytes).map(Cow::Borrowed)
    }

    /// Called after each bounded amount of work, to cancel the run or to let other scripts run.
    ///
    /// # Errors
    ///
    /// [`Error::Wire`].
    fn poll_breathe(&mut self) -> Poll<Result<(), Error>>;

    /// Called when the party has made progress.
    fn progressed(&mut self, _progress: Progress) {}
}

/// The end of a script's connection, by which it sends and receives.
pub struct Io<'w, P = OnlyPeer> {
    wire: &'w mut dyn Wire<P>,
    message: Vec<u8>,
    from: Option<P>,
}

impl<'w, P: PeerName> Io<'w, P> {
    /// Returns the [`Io`] of a party whose messages go over `wire`.
    pub fn new(wire: &'w mut dyn Wire<P>) -> Self {
        Self {
            wire,
            message: Vec::new(),
            from: None,
        }
    }

    /// Returns the payload of the next message to send. It still holds the previous payload, which
    /// the script overwrites: so a long payload is not cleared before it is written.
    pub fn message(&mut self) -> &mut Vec<u8> {
        &mut self.message
    }

    /// Sends the payload that was written to [`message`](Self::message).
    ///
    /// # Errors
    ///
    /// Those of [`Wire::send`].
    pub fn send_to(&mut self, to: P, message: Message) -> Result<(), Error> {
        debug_assert!(message.allows(self.message.len()), "{message:?}");
        self.wire.send(to, message.kind, &self.message)
    }

    /// Waits for a message and returns its payload, whose length is one that `expected` allows.
    ///
    /// # Errors
    ///
    /// Those of [`Wire::receive`], and an error if the message is shorter than its exact length.
    pub async fn receive_from(&mut self, from: P, expected: Message) -> Result<&[u8], Error> {
        self.from = Some(from);
        poll_fn(|_| self.wire.poll_message(from)).await;
        let payload = self.wire.receive(from, expected.kind, expected.max_bytes)?;
        if expected.is_exact {
            exactly(expected.kind, payload, expected.max_bytes)?;
        }
        Ok(payload)
    }

    /// Yields to the wire. Scripts call it after each bounded amount of work that neither sends nor
    /// receives.
    ///
    /// # Errors
    ///
    /// The run is cancelled or took too long.
    pub async fn breathe(&mut self) -> Result<(), Error> {
        poll_fn(|_| self.wire.poll_breathe()).await
    }

    /// Returns the sender of the last message received, which is the peer that an error is about.
    pub fn from(&self) -> Option<P> {
        self.from
    }

    /// Reports the party's progress.
    pub fn progressed(&mut self, progress: Progress) {
        self.wire.progressed(progress);
    }
}

impl Io<'_> {
    /// Sends to the only peer a payload that consists of `parts`, which other threads may read
    /// where they are. Leaves [`message`](Self::message) as it is.
    pub(crate) fn send_shared(
        &mut self,
        message: Message,
        parts: Vec<SharedBytes>,
    ) -> Result<(), Error> {
        let length = parts.iter().map(|(_, range)| range.len()).sum();
        debug_assert!(message.allows(length), "{message:?}");
        self.wire.send_shared(OnlyPeer, message.kind, parts)
    }

    /// Receives from the only peer a payload that the wire may give away for the memory `spare`.
    pub(crate) async fn receive_given(
        &mut self,
        expected: Message,
        spare: &mut Vec<u8>,
    ) -> Result<Cow<'_, [u8]>, Error> {
        self.from = Some(OnlyPeer);
        poll_fn(|_| self.wire.poll_message(OnlyPeer)).await;
        let what = (expected.kind, expected.max_bytes);
        let payload = self.wire.receive_given(OnlyPeer, what, spare)?;
        if expected.is_exact {
            exactly(expected.kind, &payload, expected.max_bytes)?;
        }
        Ok(payload)
    }

    /// Sends to the only peer, as [`send_to`](Self::send_to) does.
    ///
    /// # Errors
    ///
    /// Those of [`send_to`](Self::send_to).
    pub fn send(&mut self, message: Message) -> Result<(), Error> {
        self.send_to(OnlyPeer, message)
    }

    /// Receives from the only peer, as [`receive_from`](Self::receive_from) does.
    ///
    /// # Errors
    ///
    /// Those of [`receive_from`](Self::receive_from).
    pub async fn receive(&mut self, expected: Message) -> Result<&[u8], Error> {
        self.receive_from(OnlyPeer, expected).await
    }
}

/// Puts a phase of a script into a box of its own. A future that has not been started is moved
/// together with the stack contents at the place where it was created. This function clears that
/// part of the stack first, because it may hold a secret of an earlier phase and the box is freed
/// unwiped.
pub(crate) fn boxed<F: Future>(phase: impl FnOnce() -> F) -> Pin<Box<F>> {
    #[inline(never)]
    fn clear_stack() {
        std::hint::black_box(&mut [0_u8; 1 << 14]);
    }
    #[inline(never)]
    fn make<F: Future>(phase: impl FnOnce() -> F) -> Pin<Box<F>> {
        Box::pin(phase())
    }
    clear_stack();
    make(phase)
}

/// Runs a script to its end in one poll, over a wire whose waits never return pending.
///
/// # Errors
///
/// Those of the script, or [`Error::ApiMisuse`] if a wait returns pending.
pub fn complete<T>(script: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match pin!(script).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::ApiMisuse(
            "a wire that blocks leaves nothing pending",
        )),
    }
}
