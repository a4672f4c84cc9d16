//! The messages of `batch`, each stated once.

use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::circuit::CircuitSeed;
use super::consistency::RANDOM_BYTES;
use super::cut::ChoiceSeed;
use super::layout::{Batch, KEY_BITS};
use super::oracle::HASH_BYTES;
use super::plan::Plan;
use super::returned;
use crate::bits::bytes_for;
use crate::io::Message;
use crate::message::Kind;

/// From the garbler, before a run uses inputs: it has garbled the bucket again.
pub const READY: Message = Message::exactly(Kind::ExecutionReady, 0);

/// From the evaluator: the plan, and commitments to the check set, the buckets and each W.
pub(super) fn plan<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Message {
    let commitments = 2 + batch.plan.executions() as usize;
    Message::exactly(Kind::BatchPlan, Plan::BYTES + commitments * HASH_BYTES)
}

/// From the garbler: the digests of its next circuits.
pub(super) const fn digests(count: usize) -> Message {
    Message::exactly(Kind::CircuitDigests, count * HASH_BYTES)
}

/// From the evaluator: the opening of the check set.
pub(super) const CHECK_SET: Message = Message::exactly(Kind::CheckSet, size_of::<ChoiceSeed>());

/// From the garbler: the seeds of the next circuits that are checked.
pub(super) const fn seeds(count: usize) -> Message {
    Message::exactly(Kind::CheckedSeeds, count * CircuitSeed::BYTES)
}

/// From the evaluator: the opening of the buckets.
pub(super) const BUCKETS: Message = Message::exactly(Kind::Buckets, size_of::<ChoiceSeed>());

/// From the garbler: the next part of the stream of a group's circuits and steps.
pub(super) const fn circuits(bytes: usize) -> Message {
    Message::exactly(Kind::BucketCircuits, bytes)
}

/// From the evaluator: the opening of W of each execution of a group.
pub(super) fn half_choices<S: Scheme<Wire = Block>>(
    batch: &Batch<'_, S>,
    executions: usize,
) -> Message {
    Message::exactly(Kind::HalfChoices, executions * half_choice_bytes(batch))
}

/// Returns the bytes that open W of one execution.
pub(super) fn half_choice_bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> usize {
    RANDOM_BYTES + batch.chaining.choice_bytes()
}

/// From the garbler: the next part of the stream that a group's W and OTs open.
pub(super) const fn openings(bytes: usize) -> Message {
    Message::exactly(Kind::BucketOpenings, bytes)
}

/// From the evaluator: all executions are checked.
pub(super) const CHECKED: Message = Message::exactly(Kind::BatchChecked, 0);

/// From the evaluator: y2.
pub(super) fn masked_input<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Message {
    Message::exactly(Kind::MaskedInput, bytes_for(batch.choice_bits))
}

/// From the garbler: positions of x, a hash of D, the labels of each circuit, and masks of outputs.
pub(super) fn input_labels<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Message {
    let labels = batch.bucket() * labels_bytes(batch);
    let bytes = batch.chaining.half_bytes() + HASH_BYTES + labels + output_pairs_bytes(batch);
    Message::exactly(Kind::InputLabels, bytes)
}

/// Returns the bytes of one circuit in [`input_labels`]: λ, and a label for each input bit.
pub(super) fn labels_bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> usize {
    (1 + batch.choice_bits + batch.input_bits) * Block::BYTES
}

/// Returns the bytes of both masks, or of both O, of all outputs of all circuits.
pub(super) fn output_pairs_bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> usize {
    2 * batch.bucket() * batch.output_bits * Block::BYTES
}

/// From the evaluator: e.
pub(super) const RECOVERY_CHOICE: Message = Message::exactly(Kind::RecoveryChoice, Block::BYTES);

/// From the garbler: D, the second shares of its wires, and both O of all outputs.
pub(super) fn recovery_labels<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Message {
    let shares = batch.bucket() * KEY_BITS * Block::BYTES;
    let bytes = Block::BYTES + shares + output_pairs_bytes(batch);
    Message::exactly(Kind::RecoveryLabels, bytes)
}

/// From the evaluator, if the garbler gets a result: that result, masked and authenticated.
pub(super) fn masked_result<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Option<Message> {
    match returned::returned_bits(batch.function.output_bits(Role::Garbler)) {
        0 => None,
        bits => Some(Message::exactly(Kind::MaskedResult, bytes_for(bits))),
    }
}
