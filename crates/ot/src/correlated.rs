//! Correlated OT with chosen choice bits: q for the sender, t = q ⊕ bΔ for the receiver.
//!
//! Source: Roy 2022, figures 7 to 9, as described in the header of [`extension`](crate::extension);
//! semi-honest. The garbler is the sender: (q, q ⊕ Δ) are the labels of a wire, and the evaluator
//! gets the one for its input bit.
//!
//! The labels are the rows themselves, unhashed, and all their offsets share Δ. The hash of a
//! garbling scheme is chosen to be secure for such labels. Both halves number their OTs by a
//! counter that only goes up, so no OT is used for two choices.
//!
//! | part of the receiver's message | bytes |
//! |---|---|
//! | corrections of the trees, in the first message only | 32 (128 − ⌈128/k⌉) |
//! | for each lot, in order, for each group, in order: u ⊕ c | ⌈m/128⌉ · 16 |
//!
//! A lot is 4096 OTs, except the last one, which has the rest; m is the number of its OTs. OT i of
//! a lot is in bit i mod 8 of byte ⌊i/8⌋ of each row. Rows are padded to whole blocks with zero
//! choices.

mod check;
mod lot;
mod receiver;
mod sender;

use core::num::NonZeroUsize;

pub use receiver::CotReceiver;
pub use sender::CotSender;
use tacit_kernels::Block;

use crate::extension::FieldBits;
use crate::{ApiMisuse, Delta, Security};

/// The most correlated OTs of one call.
pub const MAX_CALL: usize = 1 << 24;

/// The number of correlated OTs that one set of base OTs gives: 2^25 cipher calls under each key,
/// so that AES is indistinguishable from a pseudorandom function up to 2^-67 over all keys.
pub const MAX_TOTAL: u64 = 1 << 32;

/// The number of OTs whose rows are sent and processed together, so that they stay in cache.
const LOT: usize = 4096;

/// The work that is worth a thread, in lots with one cipher call for each OT: about an eighth of a
/// millisecond.
const LEAST_WORK: usize = 8;

/// Lots of a thread in a turn of all threads, whose rows are in memory together.
const LOTS_OF_TURN: usize = 8;

/// The blocks of each stream that mask the check of a malicious call.
const MASK_BLOCKS: u64 = 1;

/// The blocks of a row of one lot.
const LOT_BLOCKS: usize = blocks(LOT);

/// The progress of one half.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The number of correlated OTs handed out.
    handed_out: u64,
    /// The number of blocks of every stream that were used.
    stream_blocks: u64,
    /// Whether an error ended this half.
    ended: bool,
}

impl Progress {
    /// Refuses a call for `count` OTs if this half may not answer it.
    fn check(&self, count: usize) -> Result<(), ApiMisuse> {
        if self.ended {
            return Err(ApiMisuse::Ended);
        }
        if count > MAX_CALL {
            let limit = MAX_CALL;
            return Err(ApiMisuse::TooMany {
                found: count,
                limit,
            });
        }
        // Streams limit the work under a key; because of padding they run ahead of the OTs.
        if (self.stream_blocks + MASK_BLOCKS + blocks(count) as u64) * 128 > MAX_TOTAL {
            return Err(ApiMisuse::UsedUp { limit: MAX_TOTAL });
        }
        Ok(())
    }

    /// Returns the number of OTs that the streams gave and that were not handed out.
    fn padding(&self) -> u64 {
        128 * self.stream_blocks - self.handed_out
    }

    fn advance(&mut self, count: usize, security: Security) {
        self.handed_out += count as u64;
        self.stream_blocks += blocks(count) as u64;
        if security == Security::Malicious {
            self.stream_blocks += MASK_BLOCKS;
        }
    }
}

/// Returns how many of `threads` share a call for `count` OTs, and the lots of a turn of theirs.
fn shared_by(threads: NonZeroUsize, field: FieldBits, count: usize) -> (usize, usize) {
    let lots = count.div_ceil(LOT);
    // An OT takes 2^k / k cipher calls.
    let least_lots = ((LEAST_WORK * field.get()) >> field.get()).max(1);
    match threads.get().min(lots / least_lots) {
        0 | 1 => (1, 1),
        threads => (threads, lots.min(threads * LOTS_OF_TURN)),
    }
}

/// Returns the number of blocks of 128 OTs that `count` OTs fill.
const fn blocks(count: usize) -> usize {
    count.div_ceil(128)
}

/// Returns the size of the receiver's message for `count` OTs, without the part that only the first
/// message carries, in bytes.
pub(crate) const fn message_bytes(field: FieldBits, security: Security, count: usize) -> usize {
    let block = field.groups() * Block::BYTES;
    match security {
        Security::SemiHonest => blocks(count) * block,
        Security::Malicious => (blocks(count) + MASK_BLOCKS as usize) * block + check::CHECK_BYTES,
    }
}

fn check_base(found: usize) -> Result<(), ApiMisuse> {
    let expected = Delta::BITS;
    if found == expected {
        Ok(())
    } else {
        Err(ApiMisuse::WrongBaseCount { expected, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_ots_are_used_up_after_their_last_ot() {
        let mut progress = Progress {
            stream_blocks: MAX_TOTAL / 128 - 2,
            ..Progress::default()
        };
        assert_eq!(progress.check(128), Ok(()));
        let limit = MAX_TOTAL;
        assert_eq!(progress.check(129), Err(ApiMisuse::UsedUp { limit }));
        progress.advance(1, Security::SemiHonest);
        assert_eq!(progress.handed_out + progress.padding(), MAX_TOTAL - 128);
        assert_eq!(progress.check(1), Err(ApiMisuse::UsedUp { limit }));
        assert_eq!(progress.check(0), Ok(()));
    }
}
