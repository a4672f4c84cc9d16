//! The messages by which two parties keep their stocks alike, each stated once.

use tacit_protocol::Error;
use tacit_protocol::io::{Io, Message};
use tacit_protocol::message::Kind;
use tacit_protocol::prepared::{Leases, LeasesAnswer};
use tacit_stock::Marks;

/// From both: the sender's record of the stock, or nothing where it has none.
pub(super) const MARKS: Message = Message::up_to(Kind::StockMarks, Marks::MAX_BYTES);

/// From the garbler: number, little-endian, and nonce of an epoch that begins.
pub(super) const NEW_EPOCH: Message = Message::exactly(Kind::NewEpoch, 24);

/// From both: the sender has recorded the meeting.
pub(super) const MET: Message = Message::exactly(Kind::StockMet, 0);

/// The s that the sender plans a try at.
pub(super) const CHARGED_SECURITY: Message = Message::exactly(Kind::ChargedSecurity, 1);

/// From both: 1 where the sender has something in stock for runs of `authenticated`, else 0.
pub(crate) const STOCK_THERE: Message = Message::exactly(Kind::StockThere, 1);

/// From both: the sender has its half of the lots on disk and, from the garbler, published.
pub(super) const LOT_STORED: Message = Message::exactly(Kind::LotStored, 0);

/// From the evaluator: what it has leased of this many kinds, or that it has too little.
pub(super) fn leases(kinds: usize) -> Message {
    Message::up_to(Kind::Leases, Leases::max_bytes(kinds))
}

/// From the garbler: whether it has leased the same of this many kinds.
pub(super) fn leases_answer(kinds: usize) -> Message {
    Message::up_to(Kind::LeasesAnswered, LeasesAnswer::max_bytes(kinds))
}

/// Sends this payload.
pub(crate) fn send(io: &mut Io<'_>, message: Message, payload: &[u8]) -> Result<(), Error> {
    io.message().clear();
    io.message().extend_from_slice(payload);
    io.send(message)
}
