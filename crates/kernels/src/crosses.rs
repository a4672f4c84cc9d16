//! The hash that makes masks from correlated OTs (*crosses* of protocol `gmw`).
//!
//! H(x) = AES_k(σ(x)) ⊕ σ(x), with σ(high ‖ low) = (high ⊕ low ‖ high), and a key for each
//! 2^[`EPOCH_BITS`] OTs of a direction: k = start ⊕ tweak(use `Cross`, number / 2^10). Source: Guo,
//! Katz, Wang and Yu, "Efficient and secure multiparty computation from fixed-key block ciphers"
//! (IEEE S&P 2020). Without σ, decryption would reveal Δ.
//!
//! Crosses need correlation robustness at inputs that no party chooses. A key is used with 2^11
//! inputs, 2^10 of which are hidden: an attack of 2^t cipher calls succeeds with probability at
//! most 2^(t − 115).
//!
//! Cost: one cipher call per hash, one key schedule for 2^10 numbers.

mod bits;

use zeroize::Zeroize;

use crate::hash::{EPOCH_BITS, rekeyed_expanded};
use crate::simd::{MAX_LANES, Simd};
use crate::{Block, Cpu, Kernel, Tweak, Use};

/// The hash of the OTs of one direction. It is public; the hashed values are not.
#[derive(Clone, Copy, Debug)]
pub struct CrossHash {
    start: Block,
    cpu: Cpu,
}

impl CrossHash {
    /// Returns the hash that starts at `start`, on the fastest backend.
    pub fn new(start: Block) -> Self {
        Self::on(Cpu::detect(), start)
    }

    /// Returns the hash that starts at `start`, on a chosen backend.
    pub const fn on(cpu: Cpu, start: Block) -> Self {
        Self { start, cpu }
    }

    /// Replaces t of each OT, numbered from `first` on, by H(t): the receiver's half.
    ///
    /// # Panics
    ///
    /// If the numbers exceed 64 bits.
    pub fn hash(&self, first: u64, blocks: &mut [Block]) {
        self.run::<1, 8>(first, &Block::ZERO, [blocks]);
    }

    /// Replaces q of each OT, numbered from `first` on, by H(q), and writes H(q ⊕ `delta`) to
    /// `ones`: the sender's half.
    ///
    /// # Panics
    ///
    /// If the lengths differ or the numbers exceed 64 bits.
    pub fn hash_both(&self, first: u64, delta: &Block, zeros: &mut [Block], ones: &mut [Block]) {
        assert_eq!(zeros.len(), ones.len(), "as many hashes of each kind");
        self.run::<2, 4>(first, delta, [zeros, ones]);
    }

    /// Returns the AES key for an OT of this number, which is that of 2^[`EPOCH_BITS`] OTs. Public.
    pub fn key(&self, number: u64) -> Block {
        let tweak = Tweak {
            usage: Use::Cross,
            instance: 0,
            number: number >> EPOCH_BITS,
            a: 0,
            b: 0,
        };
        self.start ^ tweak.to_block()
    }

    fn run<const M: usize, const V: usize>(
        &self,
        first: u64,
        delta: &Block,
        mut blocks: [&mut [Block]; M],
    ) {
        let (length, mut done) = (blocks[0].len(), 0);
        while done < length {
            let number = first.checked_add(done as u64);
            let number = number.expect("numbers of OTs fit in 64 bits");
            let in_epoch = (1 << EPOCH_BITS) - (number as usize & ((1 << EPOCH_BITS) - 1));
            let end = length.min(done + in_epoch);
            self.cpu.dispatch_and_wipe(Epoch::<M, V> {
                key: self.key(number),
                delta,
                blocks: blocks.each_mut().map(|blocks| &mut blocks[done..end]),
            });
            done = end;
        }
    }
}

/// Makes the hashes under one key: of blocks and, if `M` is 2, of the same blocks ⊕ Δ. A step has
/// `V` vectors of blocks.
struct Epoch<'a, const M: usize, const V: usize> {
    key: Block,
    delta: &'a Block,
    blocks: [&'a mut [Block]; M],
}

impl<const M: usize, const V: usize> Kernel for Epoch<'_, M, V> {
    type Output = ();

    /// Returns whether it fills a step.
    fn gains_by_width(&self) -> bool {
        self.blocks[0].len() >= V * MAX_LANES
    }

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let schedule = simd.expand(simd.splat(self.key));
        let delta = simd.splat(*self.delta);
        let (step, length) = (V * S::LANES, self.blocks[0].len());
        let full = length - length % step;
        for at in (0..full).step_by(step) {
            let blocks = self.blocks.each_mut();
            let blocks = blocks.map(|blocks| &mut blocks[at..at + step]);
            hash_step::<S, M, V>(simd, &schedule, delta, blocks);
        }
        if full < length {
            let mut padded = [[Block::ZERO; 8 * MAX_LANES]; M];
            padded[0][..length - full].copy_from_slice(&self.blocks[0][full..]);
            let rows = padded.each_mut().map(|blocks| &mut blocks[..]);
            hash_step::<S, M, V>(simd, &schedule, delta, rows);
            for (blocks, padded) in self.blocks.iter_mut().zip(&padded) {
                blocks[full..].copy_from_slice(&padded[..length - full]);
            }
            padded.as_flattened_mut().zeroize();
        }
    }
}

/// Makes one step of [`Epoch`].
#[inline(always)]
fn hash_step<S: Simd, const M: usize, const V: usize>(
    simd: S,
    schedule: &S::Schedule,
    delta: S::Vector,
    mut blocks: [&mut [Block]; M],
) {
    let mut x = [[delta; M]; V];
    for (i, x) in x.iter_mut().enumerate() {
        x[0] = simd.load(&blocks[0][i * S::LANES..]);
        for j in 1..M {
            x[j] = simd.xor(x[0], delta);
        }
    }
    let hashes = rekeyed_expanded(simd, [schedule; V], x);
    for (i, hashes) in hashes.into_iter().enumerate() {
        for (blocks, hash) in blocks.iter_mut().zip(hashes) {
            simd.store(hash, &mut blocks[i * S::LANES..]);
        }
    }
}

/// Writes bit 0 of each block, 64 per word, from the lowest on. Unused bits are zero.
///
/// # Panics
///
/// If there are too few words.
pub fn low_bits(blocks: &[Block], words: &mut [u64]) {
    let words = &mut words[..blocks.len().div_ceil(64)];
    for (word, blocks) in words.iter_mut().zip(blocks.chunks(64)) {
        let bits = (0..).zip(blocks);
        *word = bits.fold(0, |word, (i, block)| {
            word | (block.to_u128() as u64 & 1) << i
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aes128, Prg};

    const START: Block = Block::from_u128(0x0123_4567_89ab_cdef_1122_3344_5566_7788);

    /// Computes the formula, one block at a time.
    fn by_definition(number: u64, x: Block) -> Block {
        let tweak = Block::from_u128(10 | u128::from(number / 1024) << 64);
        let (high, low) = (x.to_u128() >> 64, x.to_u128() as u64 as u128);
        let sigma = Block::from_u128((high ^ low) << 64 | high);
        Aes128::new(Cpu::portable(), START ^ tweak).encrypt(sigma) ^ sigma
    }

    fn blocks(count: usize) -> Vec<Block> {
        let mut blocks = vec![Block::ZERO; count];
        Prg::new(Block::from_u128(5)).fill_blocks(&mut blocks);
        blocks
    }

    #[test]
    fn hashes_are_those_of_the_formula_across_vectors_and_keys() {
        let delta = Block::from_u128(0xfeed_0000_1234_5678_9abc_def0_1357_9bdf);
        for (first, count) in [(0, 1), (1, 3), (1021, 2), (1020, 70), (3 << 40, 33), (7, 0)] {
            let x = blocks(count);
            let each = |offset: Block| -> Vec<Block> {
                let numbers = (first..).zip(&x);
                let hash = |(number, x): (u64, &Block)| by_definition(number, *x ^ offset);
                numbers.map(hash).collect()
            };
            let expected = [each(Block::ZERO), each(delta)];
            for cpu in Cpu::available() {
                let hash = CrossHash::on(cpu, START);
                let (mut receivers, mut zeros) = (x.clone(), x.clone());
                let mut ones = vec![Block::ONES; count];
                hash.hash(first, &mut receivers);
                hash.hash_both(first, &delta, &mut zeros, &mut ones);
                assert!(receivers == expected[0], "{count} from {first} on {cpu:?}");
                assert!([zeros, ones] == expected, "{count} from {first} on {cpu:?}");
            }
        }
    }

    #[test]
    fn low_bits_are_packed_from_the_lowest_on() {
        for count in [0, 1, 63, 64, 65, 200] {
            let blocks = blocks(count);
            let mut words = [u64::MAX; 5];
            low_bits(&blocks, &mut words);
            for (i, block) in blocks.iter().enumerate() {
                let bit = words[i / 64] >> (i % 64) & 1;
                assert_eq!(
                    bit,
                    u64::from(block.lsb().unwrap_u8()),
                    "bit {i} of {count}"
                );
            }
            let used = count.div_ceil(64);
            assert!(words[used..].iter().all(|word| *word == u64::MAX));
            if count % 64 > 0 {
                assert_eq!(words[used - 1] >> (count % 64), 0, "{count}");
            }
        }
    }
}
