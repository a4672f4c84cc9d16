//! The messages of a run, each stated once.

use tacit_circuit::Role;

use crate::bits::bytes_for;
use crate::io::Message;
use crate::message::Kind;

/// The bytes of a step's bits that one frame holds.
pub const LAYER_FRAME_BYTES: usize = 1 << 20;

/// The bytes before a frame's bits: the step and the number of the frame.
pub(super) const LAYER_HEADER_BYTES: usize = 8;

/// From both parties at once: a frame of a step's bits. `left` bytes of them are still to come.
pub(super) fn layer(left: u64) -> Message {
    let bits = left.min(LAYER_FRAME_BYTES as u64) as usize;
    Message::exactly(Kind::Layer, LAYER_HEADER_BYTES + bits)
}

/// To a party that gets `bits` result bits, if there are any: the other party's shares.
pub(super) fn result(bits: usize) -> Option<Message> {
    (bits > 0).then(|| Message::exactly(Kind::ResultShares, bytes_for(bits)))
}

/// From either party: a message of its half of the source of the OTs that `sender` sends.
pub(super) const fn refill(sender: Role, bytes: usize) -> Message {
    let kind = match sender {
        Role::Garbler => Kind::OtRefill,
        Role::Evaluator => Kind::OtRefillBack,
    };
    Message::exactly(kind, bytes)
}
