//! A deterministic source of randomness, for known answers only.

use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use sha2::{Digest, Sha256};

/// SHA-256 of a seed and a counter, eight bytes at a time.
pub(crate) struct Seeded {
    seed: [u8; 32],
    counter: u64,
}

impl Seeded {
    pub(crate) fn new(label: &str) -> Self {
        let seed = Sha256::digest(label).into();
        Self { seed, counter: 0 }
    }
}

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let hash = Sha256::new().chain_update(self.seed);
        let hash = hash.chain_update(self.counter.to_le_bytes()).finalize();
        self.counter += 1;
        Ok(u64::from_le_bytes(hash[..8].try_into().unwrap()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Seeded {}
