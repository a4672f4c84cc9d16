//! The messages of `direct`, each stated once.

use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::frames::max_frame_bytes;
use crate::io::Message;
use crate::message::Kind;
use crate::result::result_bytes;

/// From the garbler: start point of the hashes and seed of the public labels.
pub(super) const GARBLING_START: Message = Message::exactly(Kind::GarblingStart, 2 * Block::BYTES);

/// From the evaluator: OTs for its next input bits.
pub(super) const fn extension(bytes: usize) -> Message {
    Message::exactly(Kind::CotExtension, bytes)
}

/// From the garbler: tables of whole segments.
pub(super) fn tables<S: Scheme>(scheme: S, function: &Function) -> Message {
    Message::up_to(Kind::Tables, max_frame_bytes(scheme, function))
}

/// From the garbler, if the evaluator gets results: what decodes them.
pub(super) fn decoding<S: Scheme>(scheme: S, function: &Function) -> Option<Message> {
    match function.output_bits(Role::Evaluator) {
        0 => None,
        outputs => Some(Message::exactly(
            Kind::Decoding,
            scheme.decoding_bytes(outputs),
        )),
    }
}

/// From the evaluator, if the garbler gets results: select bits, and a hash of their labels.
pub(super) fn result(function: &Function) -> Option<Message> {
    match function.output_bits(Role::Garbler) {
        0 => None,
        outputs => Some(Message::exactly(Kind::Result, result_bytes(outputs))),
    }
}
