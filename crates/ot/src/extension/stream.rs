//! Streams of pseudorandom blocks under the leaves of trees: AES-128 in counter mode.

use tacit_kernels::{Aes128, Block, Cpu};

/// The stream of one leaf, wiped when dropped. Block i is the encryption of i.
pub(super) struct Stream(Aes128);

impl Stream {
    pub(super) fn new(cpu: Cpu, leaf: Block) -> Self {
        Self(Aes128::new(cpu, leaf))
    }

    /// Writes blocks `first…` of the stream.
    pub(super) fn fill(&self, first: u64, out: &mut [Block]) {
        for (i, block) in (first..).zip(&mut *out) {
            *block = Block::from_u128(u128::from(i));
        }
        self.0.encrypt_blocks(out);
    }
}
