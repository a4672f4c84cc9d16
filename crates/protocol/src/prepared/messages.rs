//! The messages of `prepared`, each stated once. A run starts and ends with those of `direct`.

use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::{FRAME_BYTES, LOT_FRAME_BYTES};
use crate::bits::bytes_for;
use crate::io::Message;
use crate::message::Kind;

/// From the garbler: the next links of saved values, masked. `left` bytes of them are still to
/// come.
pub(super) fn saved_links(left: usize) -> Message {
    Message::exactly(Kind::SavedLinks, left.min(FRAME_BYTES))
}

/// From the garbler: links of whole calls that no input of the evaluator decides, masked. `left`
/// bytes of them are still to come.
pub(super) fn early_links<S: Scheme>(scheme: S, function: &Function, left: usize) -> Message {
    let components = function.components().iter();
    let widest = components.map(|component| component.circuit().input_bits());
    let frame = FRAME_BYTES + scheme.link_bytes() * widest.max().unwrap_or(0);
    Message::up_to(Kind::Links, left.min(frame))
}

/// From the evaluator, if it has inputs: its inputs, masked by the choices of its OTs.
pub(super) fn corrections(function: &Function) -> Option<Message> {
    match function.input_bits(Role::Evaluator) {
        0 => None,
        bits => Some(Message::exactly(Kind::Corrections, bytes_for(bits))),
    }
}

/// From the garbler: the seed of the mask.
pub(super) const UNMASK: Message = Message::exactly(Kind::Unmask, Block::BYTES);

/// From the garbler: the next links from the evaluator's inputs. `left` bytes of them are still to
/// come.
pub(super) fn late_links(left: usize) -> Message {
    Message::exactly(Kind::Links, left.min(FRAME_BYTES))
}

/// From the garbler: the next bytes of a lot. `left` bytes are still to come.
pub(super) fn lot_tables(left: u64) -> Message {
    let bytes = left.min(LOT_FRAME_BYTES as u64);
    Message::exactly(Kind::LotTables, bytes as usize)
}
