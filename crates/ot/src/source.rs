//! A source of correlated OTs: makes them in advance and hands each out once, by number.
//!
//! It has two halves, [`SourceSender`] and [`SourceReceiver`], over any [`Extension`]. A driver
//! requests a number of OTs ([`refill`](SourceSender::refill), the same on both sides) and then
//! moves messages, in the foreground or in the background, until both halves are idle:
//!
//! ```
//! # use rand_core::CryptoRng;
//! # use tacit_ot::{Error, source::{SourceReceiver, SourceSender, Turn}};
//! fn refill<R: CryptoRng>(
//!     sender: &mut SourceSender,
//!     receiver: &mut SourceReceiver,
//!     rng: &mut R,
//! ) -> Result<(), Error> {
//!     sender.refill(100_000)?;
//!     receiver.refill(100_000)?;
//!     let mut message = Vec::new();
//!     loop {
//!         // Over a network each half runs this loop alone: it sends, receives, or stops.
//!         if receiver.next(rng, &mut message)? == Turn::Send {
//!             sender.receive(&message)?;
//!         } else if sender.next(rng, &mut message)? == Turn::Send {
//!             receiver.receive(&message)?;
//!         } else {
//!             return Ok(());
//!         }
//!     }
//! }
//! ```
//!
//! [`take`](SourceSender::take) hands out OTs by number: a half refuses every number below its
//! mark, and skipped OTs are wiped. So parties whose marks differ continue from the larger one. The
//! OTs come as [`SenderOts`](crate::precomputed::SenderOts) and
//! [`ReceiverOts`](crate::precomputed::ReceiverOts).
//!
//! **Failure.** An error that the peer caused ends a half: its keys and all OTs that it has not
//! handed out are wiped.

mod buffer;
mod cost;
mod receiver;
mod sender;

use core::fmt;
use core::num::NonZeroUsize;
use core::ops::Range;
use std::sync::Arc;

pub use cost::{Choice, Cost, Extension, Link};
pub use receiver::SourceReceiver;
pub use sender::SourceSender;

use self::buffer::BlockBuffer;
use crate::silent::{Device, DeviceHalf, HashedBits, JointSums, Rounds, Schedule};
use crate::{ApiMisuse, Error, Outputs, Security, SessionTag};

/// The most OTs of one refill.
pub const MAX_REFILL: usize = 1 << 24;

/// The number of OTs in one message of SoftSpoken: few enough that both parties work at the same
/// time.
pub(crate) const CHUNK: usize = 1 << 16;

/// The number of messages of SoftSpoken whose OTs several threads make or take together. With one
/// message at a time, waking the threads would take longer than their work.
const CHUNKS_AT_ONCE: usize = 4;

/// Returns the number of OTs that a half of SoftSpoken makes or takes at once.
fn ots_at_once(threads: NonZeroUsize, security: Security) -> usize {
    match (threads.get(), security) {
        (2.., Security::SemiHonest) => CHUNKS_AT_ONCE * CHUNK,
        _ => CHUNK,
    }
}

/// The next action of a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Send the message that was written.
    Send,
    /// Wait for a message of exactly this many bytes.
    Receive {
        /// Its length in bytes.
        bytes: usize,
    },
    /// Do nothing: the requested OTs are made.
    Idle,
}

/// The rest of a refill.
#[derive(Clone, Copy, Debug, Default)]
struct RefillTarget {
    /// The number of OTs still to be made.
    count: usize,
    ended: bool,
}

impl RefillTarget {
    fn check(self) -> Result<(), ApiMisuse> {
        if self.ended {
            return Err(ApiMisuse::Ended);
        }
        Ok(())
    }

    /// Starts a refill.
    fn ask(&mut self, count: usize, busy: bool) -> Result<(), ApiMisuse> {
        self.check()?;
        if busy || self.count > 0 {
            return Err(ApiMisuse::Refilling);
        }
        if count > MAX_REFILL {
            return Err(ApiMisuse::TooMany {
                found: count,
                limit: MAX_REFILL,
            });
        }
        self.count = count;
        Ok(())
    }

    /// Counts OTs that were made. Returns whether the refill is complete.
    fn made(&mut self, count: usize) -> bool {
        self.count = self.count.saturating_sub(count);
        self.count == 0
    }
}

/// Makes the sums of a batch that a party sends, and of one that it receives, at once: if it has
/// both, and both halves [share their columns](Source::share_columns). Otherwise each half makes
/// its own later. OTs and messages do not depend on it.
pub fn sum_both(sender: &mut SourceSender, receiver: &mut SourceReceiver, sums: &mut JointSums) {
    if let (Some(sender), Some(receiver)) = (sender.batch(), receiver.batch()) {
        sums.make(sender, receiver);
    }
}

/// A half of a source: a [`SourceSender`] or a [`SourceReceiver`].
pub struct Source<E> {
    tag: SessionTag,
    extension: Extension,
    security: Security,
    /// The extension that makes the OTs.
    engine: E,
    buffer: BlockBuffer,
    wanted: RefillTarget,
    device: Option<Arc<dyn Device>>,
    shared_columns: Option<SessionTag>,
}

/// The progress of an extension, on which the cost of a refill depends.
enum Progress {
    /// Nothing is made yet.
    First,
    /// The next message of SoftSpoken starts with a head of this many bytes.
    SoftSpoken {
        head_bytes: usize,
    },
    Silent(Schedule),
}

/// An extension at one half.
trait Engine {
    /// The name of the half.
    const NAME: &str;

    fn progress(&self) -> Progress;

    /// As [`Source::padding`].
    fn padding(&self) -> u64;

    /// Whether a message of a complete refill is still to be sent or received.
    fn is_busy(&self) -> bool;

    /// Returns the rounds of silent OT, if it makes the OTs.
    fn rounds(&mut self) -> Option<&mut Rounds>;

    /// Sets the threads of SoftSpoken, if it makes the OTs.
    fn set_threads(&mut self, threads: NonZeroUsize);

    /// Wipes the extension's keys.
    fn end(&mut self);
}

#[expect(private_bounds, reason = "only this module has engines")]
impl<E: Engine> Source<E> {
    fn of(
        engine: E,
        tag: &SessionTag,
        (extension, security): (Extension, Security),
        first: u64,
    ) -> Self {
        Self {
            tag: *tag,
            extension,
            security,
            engine,
            buffer: BlockBuffer::new(first),
            wanted: RefillTarget::default(),
            device: None,
            shared_columns: None,
        }
    }

    /// Works on this many threads from now on; at first on one. OTs and messages stay the same.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        match self.engine.rounds() {
            Some(rounds) => rounds.threads = threads,
            None => self.engine.set_threads(threads),
        }
    }

    /// Lets `device` make OTs, if the extension is silent OT and this half is semi-honest: from
    /// its next round on, which is the second or a later one. If the device has too little memory
    /// for the half, threads go on.
    pub fn set_device(&mut self, device: Arc<dyn Device>) {
        if let Some(rounds) = self.engine.rounds() {
            rounds.device = Some(device.clone());
        }
        self.device = Some(device);
    }

    /// Takes the columns of silent OT from this tag: that of the opposite direction between the
    /// same parties, so that [`sum_both`] makes the sums of both. Call it before the first refill,
    /// at both parties. Other extensions ignore it.
    pub fn share_columns(&mut self, tag: SessionTag) {
        self.shared_columns = Some(tag);
    }

    /// Returns the numbers of the OTs that are made and not taken. In a refill these may be OTs
    /// whose messages the receiver has not sent yet: until it is idle again, its peer lacks them.
    #[must_use]
    pub fn available(&self) -> Range<u64> {
        self.buffer.next()..self.buffer.made()
    }

    /// Returns the number of OTs that padding has lost so far. With them and those made, the base
    /// OTs come to their end at [`Extension::most_ots`].
    #[must_use]
    pub fn padding(&self) -> u64 {
        self.engine.padding()
    }

    /// Returns the cost of a refill for `count` OTs.
    #[must_use]
    pub fn cost(&self, count: usize) -> Cost {
        match self.engine.progress() {
            Progress::First => Cost::first_refill(self.extension, self.security, count),
            Progress::SoftSpoken { head_bytes } => {
                let field = self.extension.field();
                Cost::soft_spoken(field, self.security, head_bytes, count)
            }
            Progress::Silent(schedule) => {
                let mut cost = Cost::default();
                cost.add_batches(schedule, self.security, count);
                cost
            }
        }
    }

    /// Requests `count` more OTs. If the extension makes many at once, this may make more. The
    /// other half must request the same number.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if a refill is under way, this half has ended, `count` is above
    /// [`MAX_REFILL`], or the last number is reached.
    pub fn refill(&mut self, count: usize) -> Result<(), Error> {
        let made = self.cost(count.min(MAX_REFILL)).made;
        self.buffer.check_room(made)?;
        self.wanted.ask(count, self.engine.is_busy())?;
        // Silent OTs come in memory of their own.
        if self.extension != Extension::Silent {
            self.buffer.reserve(made as usize);
        }
        Ok(())
    }

    /// Returns the number of OTs, from the next one on, that a device has: those that
    /// [`take_bits`](Self::take_bits) can take.
    #[must_use]
    pub fn on_device(&self) -> u64 {
        self.buffer.next_far()
    }

    /// Takes the next OTs, which a device has, hashed to two bits each.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if the first one is not the next one, or a device does not have all of them;
    /// [`Error::Device`], which ends this half.
    pub fn take_bits(&mut self, ots: HashedBits<'_>) -> Result<(), Error> {
        self.taken(|buffer, far| buffer.take_bits(ots, far))
    }

    /// Takes the blocks of the `count` OTs from number `first` on, and wipes those before.
    fn take_blocks(&mut self, first: u64, count: usize) -> Result<Outputs, Error> {
        self.taken(|buffer, far| buffer.take(first, count, far))
    }

    /// Ends this half if its device fails: the numbers of its OTs may no longer fit the peer's.
    fn taken<T>(
        &mut self,
        take: impl FnOnce(&mut BlockBuffer, Option<&mut dyn DeviceHalf>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.wanted.check()?;
        let taken = take(&mut self.buffer, self.engine.rounds().and_then(Rounds::far));
        if matches!(taken, Err(Error::Device(_))) {
            self.end();
        }
        taken
    }

    /// Takes back the memory of OTs that were taken, which the caller has wiped. It holds the next
    /// OTs: the system would clear new memory page by page.
    pub fn use_again(&mut self, memory: Outputs) {
        self.buffer.use_again(memory);
    }

    /// Adds a batch of OTs, which a device has if `is_far`. Returns memory that serves again.
    fn add_batch(&mut self, count: usize, is_far: bool, blocks: Outputs) -> Outputs {
        self.wanted.made(count);
        if is_far {
            self.buffer.push_far(count as u64);
            return blocks;
        }
        self.buffer.push(blocks)
    }

    /// Ends this half if `done` is an error.
    fn or_end<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        done.inspect_err(|_| self.end())
    }

    fn end(&mut self) {
        self.wanted.ended = true;
        self.engine.end();
        self.buffer.clear();
    }
}

impl<E: Engine> fmt::Debug for Source<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, available) = (E::NAME, self.available());
        write!(f, "{name} {{ available: {available:?}, .. }}")
    }
}
