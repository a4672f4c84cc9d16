//! The messages that make OTs, each stated once.

use crate::io::Message;
use crate::message::Kind;

/// The largest number of OTs in one extension message, so that no message exceeds about 512 KiB.
pub(crate) const EXTENSION_OTS: usize = 1 << 16;

/// From the garbler: a part of its choices in the base OTs. `left` bytes of them are still to come.
pub(super) const fn choice(left: usize) -> Message {
    Message::up_to(Kind::BaseOtChoice, left)
}

/// From the evaluator: its offer in the base OTs.
pub(super) const fn offer(bytes: usize) -> Message {
    Message::exactly(Kind::BaseOtOffer, bytes)
}

/// From either party: a message of its half of the source.
pub(super) const fn refill(bytes: usize) -> Message {
    Message::exactly(Kind::OtRefill, bytes)
}

/// From the party that chooses: its next OTs.
pub(crate) const fn extension(bytes: usize) -> Message {
    Message::exactly(Kind::CotExtension, bytes)
}
