//! Streams of pseudorandom blocks under the leaves of trees; by SHA-256 until the AES kernels are in.

use sha2::{Digest, Sha256};
use tacit_kernels::Block;

/// The stream of one leaf.
pub(super) struct Stream(Block);

impl Stream {
    pub(super) fn new(seed: Block) -> Self {
        Self(seed)
    }

    /// Writes blocks `first…` of the stream.
    pub(super) fn fill(&self, first: u64, out: &mut [Block]) {
        for (i, block) in (first..).zip(out) {
            let hash = Sha256::new().chain_update(self.0.to_bytes());
            let hash = hash.chain_update(i.to_le_bytes()).finalize();
            *block = Block::from_bytes(hash[..16].try_into().expect("sixteen bytes"));
        }
    }
}
