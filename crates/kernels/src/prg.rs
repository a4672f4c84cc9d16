//! A pseudorandom generator: AES-128 in counter mode, from a 16- or 32-byte seed.
//!
//! Output block i is `AES_key(start + i)`, with blocks and counter as 128-bit little-endian
//! numbers. A 16-byte seed is the key with start 0, a 32-byte seed is key ‖ start. The stream is
//! the same on every backend. As a pseudorandom permutation in counter mode it can be distinguished
//! from random after q blocks with advantage at most q²/2^129, which is 2^−49 for 2^40 blocks.

use core::convert::Infallible;
use core::fmt;

use rand_core::{TryCryptoRng, TryRng};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{Aes128, Block, Cpu};

/// The number of blocks that are made ahead for small requests.
const BUFFER_BLOCKS: usize = 16;

/// AES-128 in counter mode. Wiped on drop; not `Clone`, since a copy would repeat the stream.
#[derive(ZeroizeOnDrop)]
pub struct Prg {
    aes: Aes128,
    counter: u128,
    buffer: [Block; BUFFER_BLOCKS],
    /// The number of bytes of `buffer` already handed out.
    used_bytes: usize,
}

impl Prg {
    /// Returns a generator keyed by `seed`, which is secret unless the stream may be known.
    pub fn new(seed: Block) -> Self {
        Self::on(Cpu::detect(), seed, 0)
    }

    /// Returns a generator with `seed[..16]` as its key and `seed[16..]` as its first counter.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self::from_seed_on(Cpu::detect(), seed)
    }

    /// Does the same as [`Prg::from_seed`] on a chosen backend.
    pub fn from_seed_on(cpu: Cpu, seed: &[u8; 32]) -> Self {
        let (mut key, mut start) = ([0; 16], [0; 16]);
        key.copy_from_slice(&seed[..16]);
        start.copy_from_slice(&seed[16..]);
        let prg = Self::on(cpu, Block::from_bytes(key), u128::from_le_bytes(start));
        key.zeroize();
        start.zeroize();
        prg
    }

    fn on(cpu: Cpu, key: Block, counter: u128) -> Self {
        Self {
            aes: Aes128::new(cpu, key),
            counter,
            buffer: [Block::ZERO; BUFFER_BLOCKS],
            used_bytes: BUFFER_BLOCKS * Block::BYTES,
        }
    }

    /// Returns the next block. Bytes left over from an unaligned [`Prg::fill_bytes`] are skipped.
    pub fn next_block(&mut self) -> Block {
        let mut block = [Block::ZERO];
        self.fill_blocks(&mut block);
        block[0]
    }

    /// Fills `blocks` with the next blocks.
    pub fn fill_blocks(&mut self, mut blocks: &mut [Block]) {
        self.used_bytes = self.used_bytes.next_multiple_of(Block::BYTES);
        let left = &self.buffer[self.used_bytes / Block::BYTES..];
        let taken = left.len().min(blocks.len());
        blocks[..taken].copy_from_slice(&left[..taken]);
        self.used_bytes += taken * Block::BYTES;
        blocks = &mut blocks[taken..];
        let whole = blocks.len() - blocks.len() % BUFFER_BLOCKS;
        let (direct, rest) = blocks.split_at_mut(whole);
        self.produce(direct);
        if !rest.is_empty() {
            self.refill();
            rest.copy_from_slice(&self.buffer[..rest.len()]);
            self.used_bytes = rest.len() * Block::BYTES;
        }
    }

    /// Skips `count` blocks without making them.
    pub fn skip_blocks(&mut self, count: usize) {
        self.used_bytes = self.used_bytes.next_multiple_of(Block::BYTES);
        let left = BUFFER_BLOCKS - self.used_bytes / Block::BYTES;
        let taken = left.min(count);
        self.used_bytes += taken * Block::BYTES;
        let rest = (count - taken) % BUFFER_BLOCKS;
        let whole = count - taken - rest;
        self.counter = self.counter.wrapping_add(whole as u128);
        if rest > 0 {
            self.refill();
            self.used_bytes = rest * Block::BYTES;
        }
    }

    /// Fills `bytes` with the next bytes.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        let mut filled = 0;
        while filled < bytes.len() {
            if self.used_bytes == BUFFER_BLOCKS * Block::BYTES {
                self.refill();
            }
            let block = self.buffer[self.used_bytes / Block::BYTES].to_bytes();
            let from = &block[self.used_bytes % Block::BYTES..];
            let taken = from.len().min(bytes.len() - filled);
            bytes[filled..filled + taken].copy_from_slice(&from[..taken]);
            filled += taken;
            self.used_bytes += taken;
        }
    }

    /// Makes the next blocks of the stream, past the buffer.
    fn produce(&mut self, blocks: &mut [Block]) {
        self.aes.key_stream(self.counter, blocks);
        self.counter = self.counter.wrapping_add(blocks.len() as u128);
    }

    fn refill(&mut self) {
        self.aes.key_stream(self.counter, &mut self.buffer);
        self.counter = self.counter.wrapping_add(BUFFER_BLOCKS as u128);
        self.used_bytes = 0;
    }
}

impl TryRng for Prg {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Prg {}

impl fmt::Debug for Prg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prg(..)")
    }
}

#[cfg(test)]
mod tests {
    use rand_core::CryptoRng;

    use super::*;

    #[test]
    fn the_first_block_under_the_zero_key_is_known() {
        let key = Block::from_u128(0);
        let expected = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e_u128.to_be_bytes();
        assert_eq!(Prg::new(key).next_block().to_bytes(), expected);
    }

    #[test]
    fn a_start_moves_the_stream() {
        let mut seed = [3; 32];
        seed[16..].copy_from_slice(&5_u128.to_le_bytes());
        let mut from_zero = Prg::new(Block::from_bytes([3; 16]));
        let mut blocks = [Block::ZERO; 7];
        from_zero.fill_blocks(&mut blocks);
        let mut moved = Prg::from_seed(&seed);
        assert_eq!(moved.next_block(), blocks[5]);
        assert_eq!(moved.next_block(), blocks[6]);
    }

    #[test]
    fn the_stream_does_not_depend_on_requests_or_backend() {
        let seed = [9; 32];
        let mut expected = vec![Block::ZERO; 200];
        Prg::from_seed_on(Cpu::portable(), &seed).fill_blocks(&mut expected);
        for cpu in Cpu::available() {
            for request in [1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 200] {
                let mut blocks = vec![Block::ZERO; 200];
                let mut prg = Prg::from_seed_on(cpu, &seed);
                for chunk in blocks.chunks_mut(request) {
                    prg.fill_blocks(chunk);
                }
                assert_eq!(blocks, expected, "{cpu:?}, {request} blocks at a time");
                let mut bytes = vec![0; 3200];
                let mut prg = Prg::from_seed_on(cpu, &seed);
                for chunk in bytes.chunks_mut(request) {
                    prg.fill_bytes(chunk);
                }
                let expected: Vec<u8> = expected.iter().flat_map(|b| b.to_bytes()).collect();
                assert_eq!(bytes, expected, "{cpu:?}, {request} bytes at a time");
            }
        }
    }

    #[test]
    fn blocks_that_are_skipped_are_those_that_come_next() {
        let mut expected = [Block::ZERO; 100];
        Prg::new(Block::ONES).fill_blocks(&mut expected);
        for first in [0, 1, 15, 16, 17] {
            for skipped in [0, 1, 14, 15, 16, 17, 31, 32, 33, 64] {
                let mut prg = Prg::new(Block::ONES);
                prg.fill_blocks(&mut vec![Block::ZERO; first]);
                prg.skip_blocks(skipped);
                let next = [prg.next_block(), prg.next_block()];
                let from = first + skipped;
                assert_eq!(next, expected[from..from + 2], "{first}, {skipped}");
            }
        }
    }

    #[test]
    fn blocks_after_odd_bytes_start_at_a_block() {
        let mut prg = Prg::new(Block::ONES);
        let mut expected = [Block::ZERO; 2];
        Prg::new(Block::ONES).fill_blocks(&mut expected);
        prg.fill_bytes(&mut [0; 5]);
        assert_eq!(prg.next_block(), expected[1]);
    }

    #[test]
    fn a_mutable_reference_is_a_crypto_rng() {
        fn draw(rng: &mut impl CryptoRng) -> u64 {
            rng.next_u64()
        }
        let mut prg = Prg::new(Block::ZERO);
        assert_ne!(draw(&mut prg), draw(&mut prg));
        assert_eq!(format!("{prg:?}"), "Prg(..)");
    }
}
