//! The reference of every device: a device that works by the code for threads, on one of them.

use core::num::NonZeroUsize;

use tacit_kernels::{Block, Cpu};
use zeroize::Zeroizing;

use super::{BatchSizes, Device, DeviceBatch, DeviceHalf, HalfStart, HashedBits};
use crate::silent::lpn::add_columns;
use crate::silent::tree::Hashes;
use crate::{DeviceError, Outputs};

/// A device for tests, which has no memory or speed of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnThreads;

struct Half {
    delta: Option<Block>,
    sizes: BatchSizes,
    cots: Outputs,
    reserve: Vec<Block>,
    leaves: Vec<Block>,
    made: Vec<Block>,
}

impl Device for OnThreads {
    fn take_over(&self, half: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError> {
        Ok(Box::new(Half {
            delta: half.delta,
            sizes: half.sizes,
            cots: Zeroizing::new(half.cots.to_vec()),
            reserve: Vec::new(),
            leaves: Vec::new(),
            made: Vec::new(),
        }))
    }
}

impl Half {
    /// Calls `grow` with the hashes of the batch and, for each tree, its number, COTs and leaves.
    fn trees(
        &mut self,
        batch: &DeviceBatch,
        mut grow: impl FnMut(&mut Hashes, usize, &[Block], &mut [Block]),
    ) {
        let BatchSizes { trees, depth, .. } = self.sizes;
        let first = (1 << self.sizes.log_secret) + batch.number * self.sizes.cots;
        let cots = self.cots[first..first + trees * depth].chunks_exact(depth);
        self.leaves.resize(self.sizes.outputs(), Block::ZERO);
        let mut hashes = Hashes::new(Cpu::detect(), &batch.tree_keys);
        let leaves = self.leaves.chunks_exact_mut(1 << depth);
        for (tree, (cots, leaves)) in cots.zip(leaves).enumerate() {
            grow(&mut hashes, tree, cots, leaves);
        }
    }

    fn next(&mut self, count: usize) -> Outputs {
        Zeroizing::new(self.made.drain(..count).collect())
    }
}

impl DeviceHalf for Half {
    fn grow(
        &mut self,
        batch: &DeviceBatch,
        roots: &[Block],
        message: &mut [u8],
    ) -> Result<(), DeviceError> {
        let (delta, bytes) = (self.delta, self.sizes.depth * Block::BYTES);
        let delta = delta.ok_or(DeviceError::Failed {
            call: "grow of a receiver",
            code: 0,
        })?;
        self.trees(batch, |hashes, tree, q, leaves| {
            let sent = &mut message[tree * bytes..][..bytes];
            hashes.grow(roots[tree], delta, q, leaves, sent);
        });
        Ok(())
    }

    fn grow_punctured(&mut self, batch: &DeviceBatch, message: &[u8]) -> Result<(), DeviceError> {
        let bytes = self.sizes.depth * Block::BYTES;
        self.trees(batch, |hashes, tree, t, leaves| {
            hashes.grow_punctured(t, &message[tree * bytes..][..bytes], leaves);
        });
        Ok(())
    }

    fn finish(&mut self, batch: &DeviceBatch) -> Result<(), DeviceError> {
        let secret = &self.cots[..1 << self.sizes.log_secret];
        let one = (Cpu::detect(), NonZeroUsize::MIN);
        add_columns(one, &batch.columns, secret, [&mut self.leaves]);
        let (reserved, given) = self.leaves.split_at(batch.reserved);
        self.reserve.extend_from_slice(reserved);
        self.made.extend_from_slice(given);
        if batch.ends_round {
            self.cots = Zeroizing::new(core::mem::take(&mut self.reserve));
        }
        Ok(())
    }

    fn take(&mut self, into: &mut [Block]) -> Result<(), DeviceError> {
        into.copy_from_slice(&self.next(into.len()));
        Ok(())
    }

    fn take_bits(&mut self, ots: HashedBits<'_>) -> Result<(), DeviceError> {
        let mut first = self.next(ots.count);
        let mut second = first.clone();
        if let Some(delta) = self.delta {
            ots.hash
                .hash_both(ots.number, &delta, &mut first, &mut second);
            let pairs = second.iter_mut().zip(first.iter());
            pairs.for_each(|(second, first)| *second ^= *first);
        } else {
            ots.hash.hash(ots.number, &mut second);
        }
        for (blocks, words) in [(first, ots.first), (second, ots.second)] {
            words.fill(0);
            for (place, block) in (ots.lead..).zip(blocks.iter()) {
                words[place / 64] |= (block.to_u128() as u64 & 1) << (place % 64);
            }
        }
        Ok(())
    }

    fn skip(&mut self, count: usize) -> Result<(), DeviceError> {
        self.next(count);
        Ok(())
    }
}
