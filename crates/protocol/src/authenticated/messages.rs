//! The messages of making lots and of runs, each stated once.

use tacit_function::{Function, Role};
use tacit_kernels::Block;

use super::fold::FOLD_BYTES;
use super::oracle::DIGEST_BYTES;
use super::parameters::{LotSize, SecurityBits};
use super::rows::{GATE_ROWS, row_bytes};
use crate::bits::bytes_for;
use crate::io::Message;
use crate::message::Kind;

/// From the evaluator: its blocks of `count` leaky ANDs.
pub(super) const fn evaluators_blocks(count: usize) -> Message {
    Message::exactly(Kind::LeakyAnds, count * Block::BYTES)
}

/// From the garbler: its blocks of `count` leaky ANDs, and the bits that correct their outputs.
pub(super) const fn garblers_blocks(count: usize) -> Message {
    Message::exactly(Kind::LeakyAnds, count * Block::BYTES + bytes_for(count))
}

/// From the evaluator: its bits that correct the outputs of a lot's leaky ANDs.
pub(super) const fn leaky_bits(size: LotSize) -> Message {
    Message::exactly(Kind::LeakyBits, bytes_for(size.leaky_ands()))
}

/// From the evaluator: its commitment to the values that must be equal.
pub(super) const EQUALITY_COMMITMENT: Message =
    Message::exactly(Kind::EqualityCommitment, DIGEST_BYTES);

/// From the garbler: a digest of the values that must be equal, and its commitment to its share of
/// the coin.
pub(super) const EQUALITY_DIGEST: Message =
    Message::exactly(Kind::EqualityDigest, 2 * DIGEST_BYTES);

/// From the evaluator: the opening of its commitment, and its share of the coin.
pub(super) const EQUALITY_OPENING: Message =
    Message::exactly(Kind::EqualityOpening, 2 * DIGEST_BYTES);

/// From the garbler: its share of the coin.
pub(super) const COIN_OPENING: Message = Message::exactly(Kind::CoinOpening, DIGEST_BYTES);

/// From either party: the bits that a lot's buckets open, and a fold of their MACs.
pub(super) const fn triple_openings(size: LotSize) -> Message {
    Message::exactly(
        Kind::TripleOpenings,
        bytes_for(size.openings()) + FOLD_BYTES,
    )
}

/// From `role`: its inputs under their masks. The garbler's follow the seed of the input labels.
pub(super) fn masked_inputs(function: &Function, role: Role) -> Message {
    let seed = match role {
        Role::Garbler => Block::BYTES,
        Role::Evaluator => 0,
    };
    Message::exactly(
        Kind::MaskedInputs,
        seed + bytes_for(function.input_bits(role)),
    )
}

/// From either party, if there are gates: the bits that `gates` gates open, and a fold of their
/// MACs.
pub(super) const fn gate_openings(gates: usize) -> Option<Message> {
    match gates {
        0 => None,
        gates => Some(Message::exactly(
            Kind::GateOpenings,
            2 * bytes_for(gates) + FOLD_BYTES,
        )),
    }
}

/// From the garbler: the tables of `gates` gates, and their select bits.
pub(super) const fn tables(gates: usize) -> Message {
    let bytes = gates * 2 * Block::BYTES + bytes_for(gates);
    Message::exactly(Kind::AuthenticatedTables, bytes)
}

/// From the garbler, when instances are made: the tables, the select bits, and the rows that prove
/// the gates.
pub(super) const fn tables_with_rows(gates: usize, ordered_at: SecurityBits) -> Message {
    let rows = GATE_ROWS * row_bytes(ordered_at) * gates;
    Message::exactly(Kind::AuthenticatedTables, tables(gates).max_bytes + rows)
}

/// From the evaluator, if there are gates: the masked values of a lot's gates.
pub(super) const fn masked_values(gates: usize) -> Option<Message> {
    match gates {
        0 => None,
        gates => Some(Message::exactly(Kind::MaskedValues, bytes_for(gates))),
    }
}

/// From the evaluator: a fold of the labels of all gates.
pub(super) const LABEL_DIGEST: Message = Message::exactly(Kind::LabelDigest, FOLD_BYTES);

/// From the garbler: the proof of all gates. If the run saves nothing, the opening of the
/// evaluator's results is included.
pub(super) fn gate_proof(function: &Function) -> Message {
    let opening = match function.saves() {
        [] => result_bytes(function.output_bits(Role::Evaluator)),
        _ => 0,
    };
    Message::exactly(Kind::GateProof, FOLD_BYTES + opening)
}

/// From the other party, if `role` gets results: their opening. The opening of the evaluator's
/// results is part of the proof if the run saves nothing.
pub(super) fn result_opening(function: &Function, role: Role) -> Option<Message> {
    match function.output_bits(role) {
        0 => None,
        results => Some(Message::exactly(Kind::ResultOpening, result_bytes(results))),
    }
}

/// Returns the size of the masks' bits of `count` results, and a digest of their MACs, in bytes.
const fn result_bytes(count: usize) -> usize {
    bytes_for(count) + DIGEST_BYTES
}
