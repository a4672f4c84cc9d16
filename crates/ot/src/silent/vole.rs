//! Silent VOLE over GF(2^128): w = v ⊕ uΔ with random elements u, from few bytes. Semi-honest.
//!
//! Source: Yang, Weng, Lan, Zhang, Wang, "Ferret" (CCS 2020), section 5, and Weng, Yang, Katz,
//! Wang, "Wolverine" (S&P 2021), figure 7. The rounds, the trees and the places of the code's
//! non-zeros are those of silent OT. Three things differ:
//!
//! - The secret and the noise are elements of GF(2^128). A tree takes one VOLE of the round before,
//!   γ_P = γ_Q ⊕ βΔ. The sender sends ψ = γ_Q ⊕ Σ v_x over all leaves; the receiver lacks leaf α
//!   and gets v_α ⊕ βΔ = ψ ⊕ γ_P ⊕ Σ v_x over the others.
//! - The trees are correlated, so the sum of their leaves is Δ but for bit 0, and ψ of bare leaves
//!   would give Δ away: (ψ ⊕ γ_P ⊕ 1) / (β ⊕ 1). So leaves are hashed first, under a key for each
//!   tree, H(x) = π(σ(x)) ⊕ σ(x).
//! - The ten non-zeros of a row of the code are public random elements of 64 bits. With ones, each
//!   bit of the outputs would be LPN over GF(2) with half of the noise (Liu, Wang, Yang, Yu,
//!   EUROCRYPT 2024), at 80 bits.
//!
//! Assumptions: those of silent OT, with LPN over GF(2^128) at 128 bits by the estimates of
//! `crates/ot/tests/all/lpn/elements.rs`. **Not for malicious parties**: nothing checks ψ or trees.
//!
//! | message | from | bytes |
//! |---|---|---|
//! | trees, 11 levels and ψ each | sender | 72,960 a batch of 380; once 161,280 |
//!
//! Cost: 0.8 bits per VOLE, 11 COTs per tree, and once 33,888 VOLEs from elsewhere. For each output
//! eight cipher calls, ten reads from 4 MiB at the sender and 8 MiB at the receiver, and 20 and 40
//! carry-less products.

#[cfg(test)]
mod tests;

use core::fmt;
use core::num::NonZeroUsize;
use core::ops::Range;

use rand_core::CryptoRng;
use sha2::Digest as _;
use tacit_kernels::{Block, Prg, share_out, workers};
use zeroize::Zeroizing;

use super::batch::Rounds;
use super::params::{Params, Schedule, VOLE_BOOTSTRAP, VOLE_ROUND};
use super::tree::Hashes;
use crate::{ApiMisuse, Delta, Error, Message, Outputs, Security, SessionTag};

/// Separates the rounds of a VOLE from those of silent OT.
const VOLE: &[u8; 32] = b"tacit silent VOLE v1 over GF2128";

/// The number of VOLEs from which the first round starts.
pub const VOLE_BASE_COUNT: usize = VOLE_BOOTSTRAP.inputs();

/// What VOLEs take besides their base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoleCost {
    /// COTs with random choices.
    pub cots: u64,
    /// Bytes from the sender.
    pub sender_bytes: u64,
    /// Messages from the sender.
    pub messages: u64,
}

impl VoleCost {
    /// Returns the cost of this number of VOLEs, which halves that start now make.
    #[must_use]
    pub fn of(count: u64) -> Self {
        let (mut cost, mut made, mut schedule) = (Self::default(), 0, START);
        while made < count {
            cost.cots += cot_count(schedule.params()) as u64;
            cost.sender_bytes += trees_bytes(schedule.params()) as u64;
            cost.messages += 1;
            made += schedule.next_count() as u64;
            schedule.advance();
        }
        cost
    }
}

/// The first round.
const START: Schedule = Schedule::new(VOLE_BOOTSTRAP, VOLE_ROUND);

/// The party that has Δ, between two batches. It gets v of each VOLE.
pub struct VoleSender {
    delta: Delta,
    pub(super) rounds: Rounds,
}

/// A sender whose message is made.
pub struct VoleSenderBatch {
    sender: VoleSender,
    /// The hashed leaves of all trees.
    outputs: Outputs,
}

/// The party that gets u and w of each VOLE, between two batches.
pub struct VoleReceiver {
    pub(super) rounds: Rounds,
}

/// What a thread has that grows trees.
struct Grower {
    hashes: Hashes,
    /// The leaves of a tree, and their hashes.
    leaves: Zeroizing<Vec<Block>>,
    hashed: Zeroizing<Vec<Block>>,
}

impl Grower {
    fn all(rounds: &Rounds) -> Vec<Self> {
        let room = || Zeroizing::new(vec![Block::ZERO; rounds.params().leaves()]);
        let grower = |()| Self {
            hashes: rounds.hashes(),
            leaves: room(),
            hashed: room(),
        };
        workers(rounds.threads).into_iter().map(grower).collect()
    }

    /// Moves on to tree `number`, which has a key for each level after its first, and one for its
    /// leaves.
    fn pass_to(&mut self, number: usize, depth: usize) {
        self.hashes.pass_to(number, depth + 1);
    }
}

/// Returns the number of COTs that the trees of a batch take.
const fn cot_count(params: Params) -> usize {
    params.batch_trees * params.depth
}

/// Returns the size of what is sent of a tree, in bytes.
const fn tree_bytes(params: Params) -> usize {
    (params.depth + 1) * Block::BYTES
}

const fn trees_bytes(params: Params) -> usize {
    params.batch_trees * tree_bytes(params)
}

fn check_count(what: &'static str, expected: usize, found: usize) -> Result<(), ApiMisuse> {
    if found == expected {
        return Ok(());
    }
    Err(ApiMisuse::WrongCount {
        what,
        expected,
        found,
    })
}

/// Returns a half that starts from base VOLEs of `width` blocks each.
fn start(width: usize, tag: &SessionTag, base: Outputs) -> Result<Rounds, Error> {
    check_count("blocks", width * VOLE_BASE_COUNT, base.len())?;
    let tag = SessionTag::new(tag.hash(VOLE).finalize().into());
    let rounds = (Security::SemiHonest, START);
    Ok(Rounds::of_width(width, tag, rounds, base))
}

impl VoleSender {
    /// Starts a sender from v of each of [`VOLE_BASE_COUNT`] VOLEs under Δ. The tag must be the
    /// receiver's and no other VOLE's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongCount`].
    pub fn start(delta: Delta, tag: &SessionTag, v: Outputs) -> Result<Self, Error> {
        let rounds = start(1, tag, v)?;
        Ok(Self { delta, rounds })
    }

    /// Works on this many threads from now on; at first on one.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.rounds.threads = threads;
    }

    /// Returns the number of COTs that the next batch takes.
    #[must_use]
    pub fn cot_count(&self) -> usize {
        cot_count(self.rounds.params())
    }

    /// Returns the number of VOLEs in the next batch: zero for the first one.
    #[must_use]
    pub fn next_count(&self) -> usize {
        self.rounds.schedule.next_count()
    }

    /// Takes back the memory of an earlier batch, for the VOLEs of the next one.
    pub fn use_again(&mut self, outputs: Outputs) {
        self.rounds.spare = outputs;
    }

    /// Makes the message for the next batch from q of each of its COTs under Δ, bit 0 of which is
    /// clear. Most of the work is left for [`VoleSenderBatch::finish`], which is best done while
    /// the message is on its way.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongCount`].
    pub fn begin<R: CryptoRng + ?Sized>(
        mut self,
        q: &[Block],
        rng: &mut R,
    ) -> Result<(VoleSenderBatch, Vec<u8>), Error> {
        check_count("COTs", self.cot_count(), q.len())?;
        let params = self.rounds.params();
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut roots = Zeroizing::new(vec![Block::ZERO; params.batch_trees]);
        Prg::from_seed(&seed).fill_blocks(&mut roots);
        let mut message = vec![0; trees_bytes(params)];
        let mut outputs = self.rounds.outputs();
        let (base, _) = self.rounds.batch_inputs();
        let given = roots.iter().zip(q.chunks_exact(params.depth)).zip(base);
        let made = outputs.chunks_exact_mut(params.leaves());
        let made = made.zip(message.chunks_exact_mut(tree_bytes(params)));
        let trees = given.zip(made).enumerate();
        let delta = self.delta.to_block();
        share_out(&mut Grower::all(&self.rounds), trees, |grower, tree| {
            let (number, (((root, q), gamma), (v, sent))) = tree;
            grower.pass_to(number, params.depth);
            let (levels, psi) = sent.split_at_mut(params.depth * Block::BYTES);
            grower
                .hashes
                .grow(*root, delta, q, &mut grower.leaves, levels);
            grower.hashes.hash_leaves(&grower.leaves, v);
            let sum = v.iter().fold(*gamma, |sum, leaf| sum ^ *leaf);
            psi.copy_from_slice(&sum.to_bytes());
        });
        let sender = self;
        Ok((VoleSenderBatch { sender, outputs }, message))
    }
}

impl VoleSenderBatch {
    /// Returns the sender, and v of each VOLE. Secret.
    #[must_use]
    pub fn finish(self) -> (VoleSender, Outputs) {
        let Self {
            mut sender,
            mut outputs,
        } = self;
        sender.rounds.expand_scaled::<1>(0, &mut outputs);
        sender.rounds.finish(&mut outputs);
        (sender, outputs)
    }

    /// Returns v of the first `count` VOLEs, or of all, and ends this party's half: as
    /// [`finish`](Self::finish), but without the work on the others. Secret.
    #[must_use]
    pub fn finish_last(self, count: usize) -> Outputs {
        let Self {
            sender,
            mut outputs,
        } = self;
        let last = sender.rounds.last_outputs(count);
        sender
            .rounds
            .expand_scaled::<1>(last.start, &mut outputs[last.clone()]);
        keep(&mut outputs, last);
        outputs
    }
}

impl VoleReceiver {
    /// Starts a receiver from u and w of each of [`VOLE_BASE_COUNT`] VOLEs, two blocks after each
    /// other. The tag must be the sender's and no other VOLE's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongCount`].
    pub fn start(tag: &SessionTag, u_and_w: Outputs) -> Result<Self, Error> {
        let rounds = start(2, tag, u_and_w)?;
        Ok(Self { rounds })
    }

    /// As [`VoleSender::set_threads`].
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.rounds.threads = threads;
    }

    /// As [`VoleSender::cot_count`].
    #[must_use]
    pub fn cot_count(&self) -> usize {
        cot_count(self.rounds.params())
    }

    /// As [`VoleSender::next_count`].
    #[must_use]
    pub fn next_count(&self) -> usize {
        self.rounds.schedule.next_count()
    }

    /// Returns the size of the sender's message for the next batch, in bytes.
    #[must_use]
    pub fn trees_bytes(&self) -> usize {
        trees_bytes(self.rounds.params())
    }

    /// As [`VoleSender::use_again`].
    pub fn use_again(&mut self, outputs: Outputs) {
        self.rounds.spare = outputs;
    }

    /// Takes the sender's message for the next batch, with t of each of its COTs, bit 0 of which is
    /// the choice. Returns the receiver, and u and w of each VOLE, two blocks after each other.
    /// Secret.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::WrongLength`](crate::PeerMisbehaved::WrongLength);
    /// [`ApiMisuse::WrongCount`].
    pub fn take(mut self, t: &[Block], message: &[u8]) -> Result<(Self, Outputs), Error> {
        let all = 0..self.rounds.params().batch_outputs();
        let mut outputs = self.grow(t, message, &all)?;
        self.rounds.expand_scaled::<2>(0, &mut outputs);
        self.rounds.finish(&mut outputs);
        Ok((self, outputs))
    }

    /// Returns u and w of the first `count` VOLEs, or of all, and ends this party's half: as
    /// [`take`](Self::take), but without the work on the others. Secret.
    ///
    /// # Errors
    ///
    /// Those of [`take`](Self::take).
    pub fn take_last(
        mut self,
        t: &[Block],
        message: &[u8],
        count: usize,
    ) -> Result<Outputs, Error> {
        let last = self.rounds.last_outputs(count);
        let mut outputs = self.grow(t, message, &last)?;
        let blocks = 2 * last.start..2 * last.end;
        self.rounds
            .expand_scaled::<2>(last.start, &mut outputs[blocks.clone()]);
        keep(&mut outputs, blocks);
        Ok(outputs)
    }

    /// Grows the trees that have these outputs of the batch. Others stay as they are in memory.
    fn grow(&mut self, t: &[Block], message: &[u8], of: &Range<usize>) -> Result<Outputs, Error> {
        super::check_length(Message::SilentTrees, self.trees_bytes(), message)?;
        check_count("COTs", self.cot_count(), t.len())?;
        let params = self.rounds.params();
        let mut outputs = self.rounds.outputs();
        let (base, _) = self.rounds.batch_inputs();
        let given = message.chunks_exact(tree_bytes(params));
        let given = given
            .zip(t.chunks_exact(params.depth))
            .zip(base.as_chunks::<2>().0);
        let made = outputs.chunks_exact_mut(2 * params.leaves());
        let trees = given.zip(made).enumerate();
        let trees = trees
            .take(of.end.div_ceil(params.leaves()))
            .skip(of.start / params.leaves());
        share_out(&mut Grower::all(&self.rounds), trees, |grower, tree| {
            let (number, (((sent, t), base), outputs)) = tree;
            grower.pass_to(number, params.depth);
            let (levels, psi) = sent.split_at(params.depth * Block::BYTES);
            grower.hashes.grow_punctured(t, levels, &mut grower.leaves);
            grower
                .hashes
                .hash_leaves(&grower.leaves, &mut grower.hashed);
            let mut bytes = [0; Block::BYTES];
            bytes.copy_from_slice(psi);
            grower.fill_in(Block::from_bytes(bytes), base, outputs.as_chunks_mut().0);
        });
        Ok(outputs)
    }
}

/// Keeps only this part of the outputs. The others are wiped with the rest of the memory.
fn keep(outputs: &mut Outputs, part: Range<usize>) {
    let count = part.len();
    outputs.copy_within(part, 0);
    outputs.truncate(count);
}

impl Grower {
    /// Writes u and w of each leaf: zero and the leaf's hash, but β and v_α ⊕ βΔ at α, where bit 0
    /// of the leaf is set.
    fn fill_in(&self, psi: Block, [beta, gamma]: &[Block; 2], outputs: &mut [[Block; 2]]) {
        let mut missing = psi ^ *gamma;
        for (leaf, hash) in self.leaves.iter().zip(self.hashed.iter()) {
            let known = *hash ^ hash.and_bit(leaf.lsb());
            missing ^= known;
        }
        let leaves = self.leaves.iter().zip(self.hashed.iter());
        for ([u, w], (leaf, hash)) in outputs.iter_mut().zip(leaves) {
            let is_missing = leaf.lsb();
            *u = beta.and_bit(is_missing);
            *w = *hash ^ (*hash ^ missing).and_bit(is_missing);
        }
    }
}

impl fmt::Debug for VoleSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VoleSender(..)")
    }
}

impl fmt::Debug for VoleSenderBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VoleSenderBatch(..)")
    }
}

impl fmt::Debug for VoleReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VoleReceiver(..)")
    }
}
