//! What a script has of the world: messages to its peers and from them.
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
//! A [`Message`] says once what a message is and how long it is. The sender, the receiver and the
//! outline of a run take it from there.

pub mod memory;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::Error;
use crate::message::{Kind, exactly};
use crate::party::{OnlyPeer, PeerName, Progress};

/// A message in this run: its kind and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// Bytes of its payload, at most.
    pub max_bytes: usize,
    /// Whether it always has that many.
    pub is_exact: bool,
}

impl Message {
    /// A message whose payload has this many bytes.
    #[must_use]
    pub const fn exactly(kind: Kind, bytes: usize) -> Self {
        Self {
            kind,
            max_bytes: bytes,
            is_exact: true,
        }
    }

    /// A message whose payload has at most this many bytes.
    #[must_use]
    pub const fn up_to(kind: Kind, max_bytes: usize) -> Self {
        Self {
            kind,
            max_bytes,
            is_exact: false,
        }
    }

    /// Whether it may have a payload of this many bytes.
    fn allows(&self, bytes: usize) -> bool {
        bytes == self.max_bytes || (!self.is_exact && bytes < self.max_bytes)
    }
}

/// Moves the messages of one party, whose peers `P` names.
pub trait Wire<P = OnlyPeer> {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// [`Error::Wire`], or the peer's abort.
    fn send(&mut self, to: P, kind: Kind, payload: &[u8]) -> Result<(), Error>;

    /// Ready when [`receive`](Self::receive) has something to give, perhaps after it waits itself.
    fn poll_message(&mut self, from: P) -> Poll<()>;

    /// Lends the payload of the next message, which is of this kind and no longer than
    /// `max_bytes`; nothing is allocated for a longer one.
    ///
    /// # Errors
    ///
    /// [`Error::Wire`], the peer's abort, or a message of another kind or a longer one.
    fn receive(&mut self, from: P, kind: Kind, max_bytes: usize) -> Result<&[u8], Error>;

    /// Called after each bounded amount of work: a place to cancel, and to let other scripts run.
    ///
    /// # Errors
    ///
    /// [`Error::Wire`].
    fn poll_breathe(&mut self) -> Poll<Result<(), Error>>;

    /// Called when the party has come further.
    fn progressed(&mut self, _progress: Progress) {}
}

/// What a script sends by and receives from.
pub struct Io<'w, P = OnlyPeer> {
    wire: &'w mut dyn Wire<P>,
    message: Vec<u8>,
    from: Option<P>,
}

impl<'w, P: PeerName> Io<'w, P> {
    /// The [`Io`] of a party whose messages go over `wire`.
    #[must_use]
    pub fn new(wire: &'w mut dyn Wire<P>) -> Self {
        Self {
            wire,
            message: Vec::new(),
            from: None,
        }
    }

    /// The payload of the next message that is sent. It holds what was written last, which the
    /// script overwrites, so that a long payload is not cleared before it is written.
    pub fn message(&mut self) -> &mut Vec<u8> {
        &mut self.message
    }

    /// Sends the payload that was written.
    ///
    /// # Errors
    ///
    /// Those of [`Wire::send`].
    pub fn send_to(&mut self, to: P, message: Message) -> Result<(), Error> {
        debug_assert!(message.allows(self.message.len()), "{message:?}");
        self.wire.send(to, message.kind, &self.message)
    }

    /// Waits for a message and lends its payload, whose length is what the message may have.
    ///
    /// # Errors
    ///
    /// Those of [`Wire::receive`], or the message is shorter than it always is.
    pub async fn receive_from(&mut self, from: P, expected: Message) -> Result<&[u8], Error> {
        self.from = Some(from);
        poll_fn(|_| self.wire.poll_message(from)).await;
        let payload = self.wire.receive(from, expected.kind, expected.max_bytes)?;
        if expected.is_exact {
            exactly(expected.kind, payload, expected.max_bytes)?;
        }
        Ok(payload)
    }

    /// To be called after each bounded amount of work that neither sends nor receives.
    ///
    /// # Errors
    ///
    /// The run is cancelled, or over time.
    pub async fn breathe(&mut self) -> Result<(), Error> {
        poll_fn(|_| self.wire.poll_breathe()).await
    }

    /// The peer that sent the message received last, which is the one that an error is about.
    #[must_use]
    pub fn from(&self) -> Option<P> {
        self.from
    }

    /// Tells how far the party has come.
    pub fn progressed(&mut self, progress: Progress) {
        self.wire.progressed(progress);
    }
}

impl Io<'_> {
    /// [`send_to`](Self::send_to) the only peer.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn send(&mut self, message: Message) -> Result<(), Error> {
        self.send_to(OnlyPeer, message)
    }

    /// [`receive_from`](Self::receive_from) the only peer.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn receive(&mut self, expected: Message) -> Result<&[u8], Error> {
        self.receive_from(OnlyPeer, expected).await
    }
}

/// A phase of a script in a box of its own. A future that is not begun is moved with what the
/// stack held where it is made. That is cleared first: it may be a secret of an earlier phase, and
/// the box is freed unwiped.
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

/// Runs a script to its end in one poll, over a wire on which no wait is pending.
///
/// # Errors
///
/// Those of the script, or [`Error::ApiMisuse`] where it waits for anything else.
pub fn complete<T>(script: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match pin!(script).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::ApiMisuse(
            "a wire that blocks leaves nothing pending",
        )),
    }
}
