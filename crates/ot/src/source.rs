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
//! [`ReceiverOts`](crate::precomputed::ReceiverOts), in all forms that those have.
//!
//! **Failure.** An error that the peer caused ends a half: its keys and all OTs that it has not
//! handed out are wiped.

mod buffer;
mod cost;
mod receiver;
mod sender;

pub use cost::{Choice, Cost, Extension, Link};
pub use receiver::SourceReceiver;
pub use sender::SourceSender;

use crate::ApiMisuse;

/// The most OTs of one refill.
pub const MAX_REFILL: usize = 1 << 24;

/// The number of OTs in one message of SoftSpoken: few enough that both parties work at the same
/// time.
pub(crate) const CHUNK: usize = 1 << 16;

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
