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

use core::ops::Range;

use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_ot::Security;

use super::layout::Batch;
use super::oracle::{Domain, Hash};
use crate::Error;
use crate::party::Progress;

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
    /// The executions, in the groups in which they are worked on.
    pub(super) fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let bytes = self.execution_bytes() + self.transfer_bytes();
        let most = (self.group_bytes / bytes.max(1)).max(1);
        let all = self.plan.executions() as usize;
        let first = (0..all).step_by(most);
        first.map(move |first| first..all.min(first + most))
    }

    /// Circuits that are made at a time.
    fn together(&self, threads: usize) -> usize {
        threads * (THREAD_BYTES / self.layout.total).max(1)
    }

    /// The digest of what is published of circuit `number`.
    pub(super) fn digest(&self, number: u32, published: &[u8]) -> Hash {
        self.oracle.digest(Domain::Circuit, number, published)
    }

    /// Bytes of an execution's openings.
    pub(super) fn opening_bytes(&self) -> usize {
        self.bucket() * self.chaining.opening_bytes() + self.transfer_bytes()
    }

    /// How far a party is that has done its part for this many circuits.
    fn progress(&self, circuits: usize) -> Progress {
        let ands = self.function.and_gates();
        Progress {
            done_ands: ands * circuits as u64,
            total_ands: ands * u64::from(self.circuits()),
        }
    }
}

/// Checks what a preparation is to use.
fn check(security: Security, threads: usize) -> Result<(), Error> {
    match security == Security::Malicious && threads > 0 {
        true => Ok(()),
        false => Err(Error::ApiMisuse("maliciously secure OTs, and a thread")),
    }
}
