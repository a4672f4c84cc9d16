//! The messages of a run from instances, each stated once.

use tacit_function::Role;
use tacit_kernels::Block;

pub(super) use super::super::messages::result_opening;
use super::wiring::Wiring;
use crate::bits::bytes_for;
use crate::io::Message;
use crate::message::Kind;

/// From either party, before any input: bits of masks, and a fold of their MACs.
pub(super) const fn link_masks(bytes: usize) -> Message {
    Message::exactly(Kind::LinkMasks, bytes)
}

/// From `role`: those of its inputs that calls read, under their masks.
pub(super) fn masked_inputs(wiring: &Wiring, role: Role) -> Message {
    let bytes = bytes_for(wiring.wires_of(role).count());
    Message::exactly(Kind::MaskedInputs, bytes)
}

/// From the garbler: `count` links.
pub(super) const fn links(count: usize) -> Message {
    Message::exactly(Kind::AuthenticatedLinks, count * Block::BYTES)
}
