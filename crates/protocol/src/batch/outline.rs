//! The costs of an execution of a batch, computed without making one: the messages of a run, and
//! the bytes and the work of its preparation. They follow from function, scheme and plan. Tests
//! compare them with the messages of runs.
//!
//! Work is counted in garbled circuits, in *commitments* to a label (two calls of a cipher), and in
//! *hashes*, which are compressions of SHA-256 over 64 bytes.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};

use super::consistency::RANDOM_BYTES;
use super::execution::{EvaluatorExecution, GarblerExecution};
use super::frames::FRAME_BYTES;
use super::layout::{Batch, KEY_BITS};
use super::messages;
use super::offline::{DIGESTS, SEEDS};
use super::oracle::{Domain, HASH_BYTES, Hash, Oracle};
use crate::io::Message;
use crate::malicious::commitment::Committing;
use crate::outline::message_bytes;

/// The bytes that every hash has before the data, and the smallest number after it (FIPS 180-4).
const HEAD_BYTES: usize = 25;
const PADDING_BYTES: usize = 9;

/// The bytes before a half in its last block.
const POSITION_BYTES: usize = 4;

/// The messages of a run, headers included, and the evaluator's hashes between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// From the garbler, after it has garbled the bucket again.
    pub ready_bytes: u64,
    /// From the evaluator: its masked input.
    pub masked_input_bytes: u64,
    /// From the garbler: the labels of both inputs.
    pub input_labels_bytes: u64,
    /// From the evaluator, whether or not it found D.
    pub recovery_choice_bytes: u64,
    /// From the garbler: the labels of D, and all outputs.
    pub recovery_labels_bytes: u64,
    /// From the evaluator, if the garbler gets a result.
    pub masked_result_bytes: Option<u64>,
    /// The number of circuits that the garbler garbles again, and that the evaluator evaluates.
    pub circuits: u64,
    /// The evaluator's hashing after the labels arrive, apart from the evaluation.
    pub labels: Hashing,
    /// The evaluator's hashing after the recovery labels arrive.
    pub recovery: Hashing,
    /// The cost of preparing the execution.
    pub preparation: Preparation,
}

/// The cost of preparing one execution: a batch's cost, divided by its executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preparation {
    /// The garbler makes and digests every circuit.
    pub digesting: PartyWork,
    /// The evaluator makes the checked circuits again.
    pub checking: PartyWork,
    /// The garbler makes the other circuits again, while the evaluator compares them.
    pub publishing: PartyWork,
    /// The evaluator compares the other circuits with their digests.
    pub comparing: PartyWork,
    /// The evaluator checks halves and shares.
    pub opening: PartyWork,
    /// Bytes from the garbler.
    pub garbler_bytes: u64,
    /// Bytes that the garbler keeps.
    pub garbler_kept_bytes: u64,
    /// Bytes that the evaluator keeps.
    pub evaluator_kept_bytes: u64,
}

/// The work of one party for one execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartyWork {
    /// The number of circuits garbled.
    pub circuits: f64,
    /// The hashing in addition.
    pub hashing: Hashing,
}

/// The numbers of commitments and hashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hashing {
    /// The number of commitments to a label.
    pub commitments: f64,
    /// The number of hashes.
    pub hashes: f64,
}

impl Hashing {
    fn new(commitments: usize, hashes: u64) -> Self {
        Self {
            commitments: commitments as f64,
            hashes: hashes as f64,
        }
    }

    fn times(self, count: f64) -> Self {
        Self {
            commitments: self.commitments * count,
            hashes: self.hashes * count,
        }
    }
}

/// Returns the number of hashes of a message of `bytes` bytes.
fn hashes(bytes: usize) -> u64 {
    (HEAD_BYTES + bytes + PADDING_BYTES).div_ceil(64) as u64
}

/// Returns the bytes of a message, header included.
fn framed(message: Message) -> u64 {
    message_bytes(message.max_bytes as u64)
}

/// Returns the bytes of a stream of `total` parts in messages of at most `most` parts, headers
/// included.
fn in_messages(total: u64, most: usize, message: impl Fn(usize) -> Message) -> u64 {
    let (whole, rest) = (total / most as u64, (total % most as u64) as usize);
    let last = if rest > 0 { framed(message(rest)) } else { 0 };
    whole * framed(message(most)) + last
}

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Returns the costs of an execution.
    pub fn outline(&self) -> Outline {
        let bucket = self.bucket() as u64;
        let outputs = self.output_bits;
        // For each circuit: the labels; a commitment and a mask of each O; λ and the O. In addition
        // the hash of each D that is found.
        let labels = Hashing::new(
            self.choice_bits + self.input_bits + 2 * outputs,
            1 + outputs as u64,
        );
        let mut labels = labels.times(bucket as f64);
        labels.hashes += outputs as f64;
        // For each circuit: second shares, both O and their masks; the lock, the halves again and
        // their hash. In addition the hash of D.
        let recovery = Hashing::new(
            KEY_BITS + 4 * outputs,
            hashes(KEY_BITS * Block::BYTES)
                + self.half_hashes(2 * self.chaining.pairs)
                + hashes(self.chaining.commitment_bytes()),
        );
        let mut recovery = recovery.times(bucket as f64);
        recovery.hashes += 1.0;
        Outline {
            ready_bytes: framed(messages::READY),
            masked_input_bytes: framed(messages::masked_input(self)),
            input_labels_bytes: framed(messages::input_labels(self)),
            recovery_choice_bytes: framed(messages::RECOVERY_CHOICE),
            recovery_labels_bytes: framed(messages::recovery_labels(self)),
            masked_result_bytes: messages::masked_result(self).map(framed),
            circuits: bucket,
            labels,
            recovery,
            preparation: self.preparation(),
        }
    }

    /// Returns the number of hashes for `halves` halves of a circuit.
    fn half_hashes(&self, halves: usize) -> u64 {
        let half = POSITION_BYTES + RANDOM_BYTES + self.chaining.half_bytes() + PADDING_BYTES;
        u64::from(halves > 0) + (halves * half.div_ceil(64)) as u64
    }

    fn preparation(&self) -> Preparation {
        let (bucket, cut) = (self.bucket() as f64, self.plan.cut());
        let of_each = |circuits: u64| circuits as f64 / cut.executions as f64;
        // The published data of a circuit: inputs, outputs, second and first shares; the halves; λ,
        // the lock and the seed.
        let encoded = self.encoding.encoded_bits();
        let labels = self.input_bits + self.output_bits + self.encoding.bits() + encoded;
        let publish = 2 * self.output_bits as u64
            + self.half_hashes(2 * self.chaining.pairs)
            + hashes(KEY_BITS * Block::BYTES)
            + 2;
        let digest = hashes(self.layout.total);
        let work = |circuits: f64, of_each: Hashing, count: f64| PartyWork {
            circuits,
            hashing: of_each.times(count),
        };
        let publishing = Hashing::new(2 * labels, publish);
        let digesting = Hashing::new(2 * labels, publish + digest);
        let made = |circuits: f64| work(circuits, digesting, circuits);
        let opened = Hashing::new(encoded, self.half_hashes(self.chaining.pairs));
        let evaluators = EvaluatorExecution::bytes(self);
        Preparation {
            digesting: made(of_each(cut.circuits)),
            checking: made(of_each(cut.checked())),
            publishing: work(bucket, publishing, bucket),
            comparing: work(0.0, Hashing::new(0, digest), bucket),
            opening: work(0.0, opened, bucket),
            garbler_bytes: self.preparing_bytes() / cut.executions,
            garbler_kept_bytes: GarblerExecution::bytes(self) as u64,
            evaluator_kept_bytes: (evaluators.secret + evaluators.published) as u64,
        }
    }

    /// Returns the bytes from the garbler for the whole batch.
    pub(super) fn preparing_bytes(&self) -> u64 {
        let cut = self.plan.cut();
        let mut bytes = in_messages(cut.circuits, DIGESTS, messages::digests)
            + in_messages(cut.checked(), SEEDS, messages::seeds);
        for group in self.groups() {
            let executions = group.len() as u64;
            let circuits = executions * (self.execution_bytes() + self.steps_bytes()) as u64;
            let openings = executions * self.opening_bytes() as u64;
            bytes += in_messages(circuits, FRAME_BYTES, messages::circuits)
                + in_messages(openings, FRAME_BYTES, messages::openings);
        }
        bytes
    }
}

/// Commits to both labels of `count` wires that belong to no circuit, for measurements of a
/// commitment's cost.
pub fn commit_to_wires(count: usize) -> Vec<u8> {
    let mut prg = Prg::new(Block::ONES);
    let delta = prg.next_block();
    let mut labels = vec![Block::ZERO; count];
    prg.fill_blocks(&mut labels);
    let mut commitments = Vec::new();
    let committing = Committing::new(&Oracle::named([0; 16]), Domain::SecondShare, 0);
    committing.commit(&labels, delta, &mut commitments);
    commitments
}

/// Hashes `count` labels that belong to no circuit, for measurements of a hash's cost.
pub fn hash_labels(count: u32) -> Hash {
    let oracle = Oracle::named([0; 16]);
    let mut prg = Prg::new(Block::ONES);
    let mut all = [0; HASH_BYTES];
    for number in 0..count {
        let hash = oracle.block(Domain::Output, 0, number, prg.next_block());
        all.iter_mut()
            .zip(hash)
            .for_each(|(all, byte)| *all ^= byte);
    }
    all
}
