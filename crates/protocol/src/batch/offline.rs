//! Preparation: N executions that are made and checked together.
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
//! A digest covers tables and commitments, so that everything is fixed before the check set is
//! known. The garbler keeps only seeds: it garbles a circuit to digest it, and again to send it.
//! The evaluator keeps digests, 32 bytes for each circuit, and one group of executions: as many as
//! fit in [`GROUP_BYTES`], and at least one. Apart from the digests, memory does not grow with N.

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

/// The number of bytes of circuits that are processed together. Both parties hold a few times this
/// amount at once.
pub const GROUP_BYTES: usize = 16 << 20;

/// The number of digests in a message. The last message may have fewer.
pub(super) const DIGESTS: usize = 256;

/// The number of seeds in a message. The last message may have fewer. The number is small because
/// each seed takes some hundred microseconds of work.
pub(super) const SEEDS: usize = 64;

/// The number of bytes of circuits for which starting a thread pays off.
const THREAD_BYTES: usize = 1 << 20;

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Returns the executions in the groups in which they are processed.
    pub(super) fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let bytes = self.execution_bytes() + self.transfer_bytes();
        let most = (self.group_bytes / bytes.max(1)).max(1);
        let all = self.plan.executions() as usize;
        let first = (0..all).step_by(most);
        first.map(move |first| first..all.min(first + most))
    }

    /// Returns the number of circuits that are made at a time.
    fn together(&self, threads: usize) -> usize {
        threads * (THREAD_BYTES / self.layout.total).max(1)
    }

    /// Returns the digest of the published bytes of circuit `number`.
    pub(super) fn digest(&self, number: u32, published: &[u8]) -> Hash {
        self.oracle.digest(Domain::Circuit, number, published)
    }

    /// Returns the bytes of an execution's openings.
    pub(super) fn opening_bytes(&self) -> usize {
        self.bucket() * self.chaining.opening_bytes() + self.transfer_bytes()
    }

    /// Returns the progress of a party that has done its part for this number of circuits.
    fn progress(&self, circuits: usize) -> Progress {
        let ands = self.function.and_gates();
        Progress {
            done_ands: ands * circuits as u64,
            total_ands: ands * u64::from(self.circuits()),
        }
    }
}

/// Checks the OTs and the threads of a preparation.
fn check(security: Security, threads: usize) -> Result<(), Error> {
    if security == Security::Malicious && threads > 0 {
        return Ok(());
    }
    Err(Error::ApiMisuse("maliciously secure OTs, and a thread"))
}
