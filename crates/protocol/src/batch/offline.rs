//! Preparation: N executions, made and checked together.
//!
//! ```text
//! garbler                                                evaluator
//!   ◀── plan; commitments to check set, buckets, each W ──
//!   ── digest of every circuit ─────────────────────────▶
//!   ◀── check set ────────────────────────────────────────
//!   ── seeds of checked circuits ───────────────────────▶
//!   ◀── buckets ──────────────────────────────────────────
//!   for each group of executions:
//!   ── their circuits; δ and sums of halves of the chain ▶
//!   ◀── OT extension; W of each ──────────────────────────
//!   ── halves; first shares by oblivious transfer ──────▶
//!   ◀── all is checked ───────────────────────────────────
//! ```
//!
//! A digest covers tables and commitments, so that all is fixed before the check set is known. The
//! garbler keeps seeds alone: it garbles a circuit when it digests it, and again when it sends it.
//! The evaluator keeps digests, 32 bytes a circuit, and a group of executions, which is as many as
//! fit [`GROUP_BYTES`], at least one: memory does not grow with N but for that.

mod evaluator;
mod garbler;

pub use evaluator::PreparingEvaluator;
pub use garbler::PreparingGarbler;

use core::ops::Range;

use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::layout::Batch;
use super::oracle::{Domain, HASH_BYTES, Hash};
use super::plan::Plan;

/// Bytes of circuits that are worked on together, and of which both parties hold a few times as
/// much at once.
pub const GROUP_BYTES: usize = 16 << 20;

/// Digests of a message; the last has fewer.
pub(super) const DIGESTS: usize = 256;

/// Seeds of a message; the last has fewer. Few, since each is some hundred microseconds of work.
pub(super) const SEEDS: usize = 64;

/// Bytes of circuits for which a thread is worth its start.
const THREAD_BYTES: usize = 1 << 20;

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// The executions of the group that begins with `first`.
    pub(super) fn group(&self, first: usize) -> Range<usize> {
        let bytes = self.execution_bytes() + self.transfer_bytes();
        let count = (self.group_bytes / bytes.max(1)).max(1);
        let all = self.plan().executions() as usize;
        first..all.min(first + count)
    }

    /// Circuits that are made at a time.
    fn together(&self, threads: usize, bytes: usize) -> usize {
        threads * (THREAD_BYTES / bytes.max(1)).max(1)
    }

    /// The digest of what is published of circuit `number`.
    pub(super) fn digest(&self, number: u32, published: &[u8]) -> Hash {
        self.oracle.digest(Domain::Circuit, number, published)
    }

    /// Bytes of the message that opens an execution's W.
    fn half_choice_bytes(&self) -> usize {
        RANDOM_BYTES + self.chaining.choice_bytes()
    }

    /// Bytes of an execution's openings.
    pub(super) fn opening_bytes(&self) -> usize {
        self.bucket() * self.chaining.opening_bytes() + self.transfer_bytes()
    }

    /// Bytes of the evaluator's first message.
    fn plan_bytes(&self) -> usize {
        Plan::BYTES + (2 + self.plan().executions() as usize) * HASH_BYTES
    }
}

/// Bytes of randomness with which W is committed.
const RANDOM_BYTES: usize = 16;

/// What the peer's plan says, for people.
fn describe_plan(bytes: &[u8; Plan::BYTES]) -> String {
    let (words, _) = bytes[1..].as_chunks::<8>();
    let [n, b, m] = core::array::from_fn(|i| u64::from_le_bytes(words[i]));
    format!(
        "{n} executions at s = {}: {m} circuits in buckets of {b}",
        bytes[0]
    )
}
