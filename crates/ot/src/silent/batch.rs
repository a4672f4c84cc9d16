//! The common part of both halves of silent OT: rounds, batches, and the sums of the check.

use core::num::NonZeroUsize;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tacit_kernels::{
    Block, Cpu, Gf128Sum, Kernel, MAX_LANES, Prg, Simd, hint_large_pages, inner_products,
    zero_blocks,
};
use zeroize::Zeroizing;

use super::device::{BatchSizes, Device, DeviceBatch, DeviceHalf, HalfStart};
use super::lpn::{CHUNK as CHUNK_OUTPUTS, add_columns, add_columns_from, add_scaled_columns};
use super::params::{Params, Schedule};
use super::tree::Hashes;
use crate::{Delta, DeviceError, Outputs, Security, SessionTag};

const COLUMNS: &[u8; 32] = b"tacit silent OT v1 LPN columns  ";
const TREE_KEYS: &[u8; 32] = b"tacit silent OT v1 tree keys    ";
const TRANSCRIPT: &[u8; 32] = b"tacit silent OT v1 transcript   ";
const ANSWER: &[u8; 32] = b"tacit silent OT v1 check answer ";

/// The size of the receiver's reply to a batch, in bytes.
pub(crate) const REPLY_BYTES: usize = Block::BYTES;

/// The size of the sender's answer to the reply, in bytes.
pub(crate) const ANSWER_BYTES: usize = 32;

/// The number of the check's coefficients that are made at once.
const CHUNK: usize = 512;

/// The progress of one half, and its inputs, COTs or VOLEs: its secret, and those that each batch
/// takes.
pub(crate) struct Rounds {
    tag: SessionTag,
    /// The tag of the columns, if another half shares them.
    shared_columns: Option<SessionTag>,
    pub(super) security: Security,
    pub(crate) schedule: Schedule,
    /// The number of blocks of an input and of an output: 2 at the receiver of a VOLE.
    width: usize,
    pub(super) inputs: Zeroizing<Vec<Block>>,
    /// The inputs of the next round, as far as they exist.
    pub(super) reserve: Zeroizing<Vec<Block>>,
    /// The memory for the next batch's outputs.
    pub(crate) spare: Outputs,
    /// Threads to work on.
    pub(crate) threads: NonZeroUsize,
    /// The device that takes this half over at the start of the next round.
    pub(crate) device: Option<Arc<dyn Device>>,
    /// This half on the device, which then has all of its COTs.
    pub(super) far: Option<Box<dyn DeviceHalf>>,
}

impl Rounds {
    /// Returns the round of `schedule` over its COTs, whose bit 0 is the receiver's choice.
    pub(super) fn new(
        tag: SessionTag,
        security: Security,
        schedule: Schedule,
        inputs: Zeroizing<Vec<Block>>,
    ) -> Self {
        Self::of_width(1, tag, (security, schedule), inputs)
    }

    /// Returns the round of `schedule` over inputs of `width` blocks each.
    pub(super) fn of_width(
        width: usize,
        tag: SessionTag,
        (security, schedule): (Security, Schedule),
        inputs: Zeroizing<Vec<Block>>,
    ) -> Self {
        debug_assert_eq!(inputs.len(), width * schedule.params().inputs());
        Self {
            tag,
            shared_columns: None,
            security,
            schedule,
            width,
            inputs,
            reserve: room_for(width * schedule.later().inputs()),
            spare: Outputs::default(),
            threads: NonZeroUsize::MIN,
            device: None,
            far: None,
        }
    }

    /// Hands this half over to the device, if there is one with enough memory and a round after the
    /// first starts. The first one is small. Returns the half on the device.
    pub(super) fn hand_over(
        &mut self,
        delta: Option<&Delta>,
    ) -> Result<Option<&mut dyn DeviceHalf>, DeviceError> {
        let starts = matches!(self.schedule.place(), (1.., 0));
        let semi_honest = self.security == Security::SemiHonest;
        if self.far.is_none()
            && let Some(device) = self.device.take_if(|_| starts && semi_honest)
        {
            let half = HalfStart {
                delta: delta.map(Delta::to_block),
                cots: &self.inputs,
                sizes: BatchSizes::of(self.params()),
            };
            match device.take_over(half) {
                Ok(far) => self.far = Some(far),
                // The COTs are still here, and threads go on with them.
                Err(DeviceError::OutOfMemory { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
            // What is here is wiped on drop.
            (self.inputs, self.reserve) = Default::default();
            self.spare = Outputs::default();
        }
        Ok(self.far())
    }

    /// Returns this half on the device.
    pub(crate) fn far(&mut self) -> Option<&mut dyn DeviceHalf> {
        match &mut self.far {
            Some(far) => Some(&mut **far),
            None => None,
        }
    }

    /// Returns this batch, for the device.
    pub(super) fn device_batch(&self) -> DeviceBatch {
        let number = self.schedule.place().1;
        DeviceBatch {
            number,
            tree_keys: self.hash_of_batch(TREE_KEYS).finalize().into(),
            columns: self.columns(),
            reserved: self.schedule.next_reserved(),
            ends_round: number + 1 == self.params().batches(),
        }
    }

    /// Ends a batch of the device.
    pub(super) fn finish_far(&mut self) -> Result<(), DeviceError> {
        let batch = self.device_batch();
        if let Some(far) = &mut self.far {
            far.finish(&batch)?;
        }
        self.schedule.advance();
        Ok(())
    }

    /// Returns memory for this batch's outputs, with arbitrary contents.
    pub(super) fn outputs(&mut self) -> Outputs {
        let count = self.width * self.params().batch_outputs();
        let mut outputs = core::mem::take(&mut self.spare);
        if outputs.capacity() < count {
            outputs = Zeroizing::new(zero_blocks(count));
            hint_large_pages(&outputs);
        }
        outputs.resize(count, Block::ZERO);
        outputs
    }

    pub(super) fn params(&self) -> Params {
        self.schedule.params()
    }

    /// Returns the inputs that the trees of this batch take, and those that its check takes.
    pub(super) fn batch_inputs(&self) -> (&[Block], &[Block]) {
        let params = self.params();
        let inputs = &self.inputs[self.batch_range()];
        inputs.split_at(inputs.len() - self.width * params.check_inputs)
    }

    /// Returns the place of this batch's inputs among the round's.
    fn batch_range(&self) -> core::ops::Range<usize> {
        let params = self.params();
        let start = params.secret() + self.schedule.place().1 * params.batch_inputs();
        self.width * start..self.width * (start + params.batch_inputs())
    }

    /// Takes its columns from another tag: that of the half that shares them. Call it before the
    /// first batch, and at both parties alike.
    pub(crate) fn share_columns(&mut self, tag: Option<SessionTag>) {
        self.shared_columns = tag;
    }

    /// Whether `other` shares the columns of this batch.
    pub(super) fn has_columns_of(&self, other: &Self) -> bool {
        let of = |rounds: &Self| {
            (
                rounds.shared_columns,
                rounds.schedule.place(),
                rounds.params(),
            )
        };
        self.shared_columns.is_some() && of(self) == of(other)
    }

    /// Returns the seed of this batch's columns.
    pub(super) fn columns(&self) -> [u8; 32] {
        let tag = self.shared_columns.unwrap_or(self.tag);
        self.hash_of_place(&tag, COLUMNS).finalize().into()
    }

    /// Returns the secret.
    pub(super) fn secret(&self) -> &[Block] {
        &self.inputs[..self.width * self.params().secret()]
    }

    /// Returns this batch's hash, which starts with its place.
    fn hash_of_batch(&self, domain: &[u8; 32]) -> Sha256 {
        self.hash_of_place(&self.tag, domain)
    }

    fn hash_of_place(&self, tag: &SessionTag, domain: &[u8; 32]) -> Sha256 {
        let (round, batch) = self.schedule.place();
        let hash = tag.hash(domain);
        hash.chain_update(round.to_le_bytes())
            .chain_update((batch as u64).to_le_bytes())
    }

    /// Returns the hashes of this batch's trees.
    pub(super) fn hashes(&self) -> Hashes {
        let seed = self.hash_of_batch(TREE_KEYS).finalize().into();
        Hashes::new(Cpu::detect(), &seed)
    }

    /// Adds this batch's sums of the secret to the leaves of all its trees.
    pub(super) fn expand(&self, leaves: &mut [Block]) {
        let on = (Cpu::detect(), self.threads);
        add_columns(on, &self.columns(), self.secret(), [leaves]);
    }

    /// Returns a function that adds this batch's sums to the leaves of one tree, by its number: for
    /// trees that are still in a cache. `None` if trees are too small for it, or if another half
    /// shares the columns, so that the sums of both are made at once.
    pub(super) fn expand_tree(&self) -> Option<impl Fn(usize, &mut [Block]) + Sync + '_> {
        let (seed, secret) = (self.columns(), self.secret());
        let (cpu, leaves) = (Cpu::detect(), self.params().leaves());
        let alone = self.shared_columns.is_none();
        (alone && leaves.is_multiple_of(CHUNK_OUTPUTS)).then_some(
            move |tree: usize, outputs: &mut [Block]| {
                add_columns_from(cpu, &seed, tree * leaves, secret, [outputs]);
            },
        )
    }

    /// Adds this batch's sums of products with the secret to these leaves of its trees, from number
    /// `first` on. An input and an output have `V` blocks.
    pub(super) fn expand_scaled<const V: usize>(&self, first: usize, leaves: &mut [Block]) {
        debug_assert_eq!(self.width, V);
        let on = (Cpu::detect(), self.threads);
        add_scaled_columns::<V>(on, (&self.columns(), first), self.secret(), leaves);
    }

    /// A worker for each thread.
    pub(super) fn growers(&self) -> Vec<Grower> {
        let grower = || Grower {
            hashes: self.hashes(),
            sums: TreeSums::default(),
        };
        (0..self.threads.get()).map(|_| grower()).collect()
    }

    /// Returns the sums of this batch's check, if it has one.
    pub(super) fn check(&self) -> Option<Sums> {
        let transcript = self.hash_of_batch(TRANSCRIPT);
        (self.security == Security::Malicious).then(|| Sums {
            transcript,
            total: TreeSums::default(),
        })
    }

    /// Returns the numbers of the first `count` outputs of this batch that are handed out, or of
    /// all of them.
    pub(super) fn last_outputs(&self, count: usize) -> core::ops::Range<usize> {
        let reserved = self.schedule.next_reserved();
        reserved..reserved + count.min(self.schedule.next_count())
    }

    /// Ends a batch: moves the inputs of the next round from the front of `outputs` to the reserve,
    /// and leaves the rest, which is handed out.
    pub(super) fn finish(&mut self, outputs: &mut Zeroizing<Vec<Block>>) {
        let reserved = self.width * self.schedule.next_reserved();
        let (given, kept) = (self.width * self.schedule.next_count(), outputs.len());
        self.reserve.extend_from_slice(&outputs[..reserved]);
        if reserved > 0 {
            outputs.copy_within(reserved.., 0);
        }
        // The memory past the end is wiped before it is released, as are the inputs that the batch
        // took.
        outputs[given..kept].fill(Block::ZERO);
        outputs.truncate(given);
        let taken = self.batch_range();
        self.inputs[taken].fill(Block::ZERO);
        if self.schedule.advance() {
            core::mem::swap(&mut self.inputs, &mut self.reserve);
            // The memory of the old secret holds the next one.
            self.reserve.fill(Block::ZERO);
            self.reserve.clear();
            let count = self.width * self.schedule.later().inputs();
            if self.reserve.capacity() < count {
                self.reserve = room_for(count);
            }
        }
    }
}

/// Allocates memory for blocks that are read in no order, or written as a whole.
fn room_for(count: usize) -> Outputs {
    let mut blocks = Vec::with_capacity(count);
    hint_large_pages(blocks.spare_capacity_mut());
    Zeroizing::new(blocks)
}

/// The sum of the coefficients of the leaves whose bit 0 is set.
struct Marked<'a> {
    coefficients: &'a [Block],
    leaves: &'a [Block],
}

impl Kernel for Marked<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Block {
        let mut sum = simd.splat(Block::ZERO);
        let mut coefficients = self.coefficients.chunks_exact(S::LANES);
        let mut leaves = self.leaves.chunks_exact(S::LANES);
        for (coefficient, leaf) in (&mut coefficients).zip(&mut leaves) {
            let marked = simd.lsb_mask(simd.load(leaf));
            sum = simd.xor(sum, simd.and(simd.load(coefficient), marked));
        }
        let mut lanes = [Block::ZERO; MAX_LANES];
        simd.store(sum, &mut lanes);
        let rest = coefficients.remainder().iter().zip(leaves.remainder());
        let rest = rest.map(|(coefficient, leaf)| coefficient.and_bit(leaf.lsb()));
        lanes
            .into_iter()
            .chain(rest)
            .fold(Block::ZERO, |sum, block| sum ^ block)
    }
}

/// A thread's hashes and sums while it grows a batch's trees.
pub(super) struct Grower {
    pub(super) hashes: Hashes,
    /// The sums of the trees that it added.
    pub(super) sums: TreeSums,
}

/// The sums of some trees' leaves.
#[derive(Default)]
pub(super) struct TreeSums {
    coefficients: Vec<Block>,
    values: Zeroizing<[Gf128Sum; 1]>,
    /// The sum of the coefficients where bit 0 of a leaf is set.
    choices: Zeroizing<Block>,
}

impl TreeSums {
    /// Adds a tree's leaves, with coefficients drawn from its [seed](Sums::seed_after).
    pub(super) fn add(&mut self, seed: &[u8; 32], leaves: &[Block]) {
        let cpu = Cpu::detect();
        let mut prg = Prg::from_seed(seed);
        self.coefficients.resize(CHUNK, Block::ZERO);
        for leaves in leaves.chunks(CHUNK) {
            let coefficients = &mut self.coefficients[..leaves.len()];
            prg.fill_blocks(coefficients);
            inner_products(cpu, coefficients, leaves, &mut *self.values);
            *self.choices ^= cpu.dispatch(Marked {
                coefficients,
                leaves,
            });
        }
    }
}

/// The sums that a batch's check compares.
pub(super) struct Sums {
    transcript: Sha256,
    total: TreeSums,
}

impl Sums {
    /// The seed of a tree's coefficients, drawn from what the sender sent up to this tree: `sent`
    /// is what it sent of this one.
    pub(super) fn seed_after(&mut self, sent: &[u8]) -> [u8; 32] {
        self.transcript.update(sent);
        let mut seed = self.transcript.clone();
        seed.update([0]);
        seed.finalize().into()
    }

    /// Adds the sums of all trees.
    pub(super) fn add(&mut self, growers: &[Grower]) {
        for Grower { sums, .. } in growers {
            self.total.values[0].add(sums.values[0].reduce());
            *self.total.choices ^= *sums.choices;
        }
    }

    /// Adds a tree's leaves.
    #[cfg(test)]
    pub(super) fn add_tree(&mut self, sent: &[u8], leaves: &[Block]) {
        let seed = self.seed_after(sent);
        self.total.add(&seed, leaves);
    }

    /// Returns the receiver's x', with the check's COTs.
    pub(super) fn reply(&self, cots: &[Block]) -> Block {
        let bits = (0..).zip(cots);
        let bits = bits.fold(0, |sum, (i, cot)| sum | (cot.to_u128() & 1) << i);
        *self.total.choices ^ Block::from_u128(bits)
    }

    /// Returns the answer, with the check's COTs and, for the sender, Δ and the receiver's x'.
    pub(super) fn answer(mut self, cots: &[Block], shift: Option<(Block, Block)>) -> [u8; 32] {
        let (cpu, values) = (Cpu::detect(), &mut *self.total.values);
        let powers: Vec<Block> = (0..cots.len()).map(|i| Block::from_u128(1 << i)).collect();
        inner_products(cpu, &powers, cots, values);
        if let Some((delta, reply)) = shift {
            inner_products(cpu, &[reply], &[delta], values);
        }
        self.transcript.update([1]);
        let value = Zeroizing::new(values[0].reduce().to_bytes());
        let hash = Sha256::new().chain_update(ANSWER);
        let hash = hash.chain_update(self.transcript.finalize());
        hash.chain_update(*value).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer about one tree of these leaves, which were sent as `sent`, and its
    /// coefficients.
    fn answer(sent: &[u8], leaves: &[Block]) -> ([u8; ANSWER_BYTES], Vec<Block>) {
        let mut sums = Sums {
            transcript: Sha256::new(),
            total: TreeSums::default(),
        };
        sums.add_tree(sent, leaves);
        let coefficients = sums.total.coefficients[..leaves.len()].to_vec();
        (sums.answer(&[], None), coefficients)
    }

    /// A sender that knew the coefficients before its tree was fixed could find leaves other than
    /// the receiver's with the same sum: wrong trees would pass for any choice of the receiver.
    /// The coefficients are drawn from the tree, so such leaves are useless.
    #[test]
    fn leaves_of_one_sum_are_not_found_before_the_tree_is_fixed() {
        let leaves = [5, 6, 7, 8].map(Block::from_u128);
        let (honest, coefficients) = answer(b"a tree", &leaves);
        let mut other = leaves;
        other[1] ^= coefficients[2];
        other[2] ^= coefficients[1];
        assert!(
            answer(b"a tree", &other).0 == honest,
            "x · y + y · x is zero"
        );
        let sent = b"what gives the receiver other leaves";
        assert!(answer(sent, &other).0 != answer(sent, &leaves).0);
    }
}
