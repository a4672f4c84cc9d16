//! The messages with which two parties keep their stocks in step.

use tacit_protocol::Error;
use tacit_protocol::io::{Io, Message};
use tacit_protocol::message::Kind;
use tacit_protocol::prepared::{Leases, LeasesAnswer};
use tacit_stock::Marks;

/// Sent by both: the sender's record of the stock, or nothing if it has none.
pub(super) const MARKS: Message = Message::up_to(Kind::StockMarks, Marks::MAX_BYTES);

/// Sent by the garbler: number, little-endian, and nonce of an epoch that begins.
pub(super) const NEW_EPOCH: Message = Message::exactly(Kind::NewEpoch, 24);

/// Sent by both: the sender has recorded the meeting.
pub(super) const MET: Message = Message::exactly(Kind::StockMet, 0);

/// The s at which the sender plans a try.
pub(super) const CHARGED_SECURITY: Message = Message::exactly(Kind::ChargedSecurity, 1);

/// Sent by both: 1 if the sender has something in stock for a run of `authenticated` or `gmw`, else
/// 0.
pub(crate) const STOCK_THERE: Message = Message::exactly(Kind::StockThere, 1);

/// Sent by both: the sender's half of the lots is on disk and, if the garbler sends it, published.
pub(super) const LOT_STORED: Message = Message::exactly(Kind::LotStored, 0);

/// Sent by the garbler: the bytes of tables that are enough for the next batch of lots,
/// little-endian.
pub(super) const BATCH_BYTES: Message = Message::exactly(Kind::BatchBytes, size_of::<u64>());

/// Returns the evaluator's message with its leases of this many kinds, or that it has too little.
pub(super) fn leases(kinds: usize) -> Message {
    Message::up_to(Kind::Leases, Leases::max_bytes(kinds))
}

/// Returns the garbler's message that says whether it has leased the same of this many kinds.
pub(super) fn leases_answer(kinds: usize) -> Message {
    Message::up_to(Kind::LeasesAnswered, LeasesAnswer::max_bytes(kinds))
}

/// Sends a message with this payload.
pub(crate) fn send(io: &mut Io<'_>, message: Message, payload: &[u8]) -> Result<(), Error> {
    io.message().clear();
    io.message().extend_from_slice(payload);
    io.send(message)
}
