//! AES-128 (FIPS 197): many blocks under one key, and many blocks under many keys.
//!
//! Encryption only, in bulk: eight vectors are always in flight, to hide the latency of a round.
//! Under many keys the schedules themselves are computed in parallel, interleaved with the rounds,
//! as in Gueron, Lindell, Nof and Pinkas ("Fast garbling of circuits under standard assumptions",
//! 2015), section 2.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::simd::{MAX_LANES, Simd};
use crate::{Block, Cpu, Kernel};

/// The vectors that are encrypted at once under one key.
const IN_FLIGHT: usize = 8;
/// The most vectors of keys that are expanded at once.
const MAX_KEYS_IN_FLIGHT: usize = 8;

/// An AES-128 key, expanded. Wiped on drop.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Aes128 {
    round_keys: [Block; 11],
    #[zeroize(skip)]
    cpu: Cpu,
}

impl Aes128 {
    /// Expands `key`.
    pub fn new(cpu: Cpu, key: Block) -> Self {
        let round_keys = cpu.dispatch(Expand { key });
        Self { round_keys, cpu }
    }

    /// Encrypts each block in place.
    pub fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.cpu.dispatch(Encrypt {
            round_keys: &self.round_keys,
            blocks,
        });
    }

    /// Encrypts one block.
    pub fn encrypt(&self, block: Block) -> Block {
        let mut blocks = [block];
        self.encrypt_blocks(&mut blocks);
        blocks[0]
    }

    /// Writes the encryption of `counter`, `counter + 1`, … (each 128-bit number as a
    /// little-endian block) over `blocks`.
    pub(crate) fn key_stream(&self, counter: u128, blocks: &mut [Block]) {
        for (i, block) in blocks.iter_mut().enumerate() {
            *block = Block::from_u128(counter.wrapping_add(i as u128));
        }
        self.encrypt_blocks(blocks);
    }
}

impl fmt::Debug for Aes128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aes128({:?})", self.cpu)
    }
}

/// Encrypts under many keys, in place: key `i` encrypts `blocks[i]`. If each block holds a tweak,
/// this is F(k, tweak) of the schemes that rest on a pseudorandom function.
///
/// Leaves keys and results on the stack, so call it in [`wiping_stack`](crate::wiping_stack).
///
/// # Panics
///
/// If the numbers of blocks and keys differ.
pub fn encrypt_each(cpu: Cpu, keys: &[Block], blocks: &mut [Block]) {
    assert_eq!(keys.len(), blocks.len(), "one block a key");
    cpu.dispatch(EncryptEach::<2, 1> { keys, blocks });
}

/// Encrypts two blocks under each of many keys, in place: key `i` encrypts `blocks[2i]` and
/// `blocks[2i + 1]`, at the cost of one key schedule. Leaves the same on the stack as
/// [`encrypt_each`].
///
/// # Panics
///
/// If there are not twice as many blocks as keys.
pub fn encrypt_each_twice(cpu: Cpu, keys: &[Block], blocks: &mut [Block]) {
    assert_eq!(2 * keys.len(), blocks.len(), "two blocks a key");
    cpu.dispatch(EncryptEach::<1, 2> { keys, blocks });
}

/// Expands a key.
struct Expand {
    key: Block,
}

impl Kernel for Expand {
    type Output = [Block; 11];

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [Block; 11] {
        let schedule = simd.expand(simd.splat(self.key));
        simd.round_keys(&schedule)
    }
}

/// Encrypts many blocks under one key.
struct Encrypt<'a> {
    round_keys: &'a [Block; 11],
    blocks: &'a mut [Block],
}

impl Kernel for Encrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let schedule = simd.splat_schedule(self.round_keys);
        let mut chunks = self.blocks.chunks_exact_mut(IN_FLIGHT * S::LANES);
        for chunk in &mut chunks {
            let mut vectors = [simd.splat(Block::ZERO); IN_FLIGHT];
            for (vector, from) in vectors.iter_mut().zip(chunk.chunks_exact(S::LANES)) {
                *vector = simd.load(from);
            }
            let [vectors] = simd.encrypt([&schedule], [vectors]);
            for (vector, into) in vectors.into_iter().zip(chunk.chunks_exact_mut(S::LANES)) {
                simd.store(vector, into);
            }
        }
        let rest = chunks.into_remainder();
        let mut padded = [Block::ZERO; IN_FLIGHT * MAX_LANES];
        padded[..rest.len()].copy_from_slice(rest);
        for chunk in padded[..rest.len().next_multiple_of(S::LANES)].chunks_exact_mut(S::LANES) {
            let [[vector]] = simd.encrypt([&schedule], [[simd.load(chunk)]]);
            simd.store(vector, chunk);
        }
        rest.copy_from_slice(&padded[..rest.len()]);
        padded[..rest.len()].zeroize();
    }
}

/// Encrypts `M` blocks under each of many keys, with 4 `G` vectors of keys in a step. That makes
/// eight vectors of blocks, which is what the registers can hold.
struct EncryptEach<'a, const G: usize, const M: usize> {
    keys: &'a [Block],
    blocks: &'a mut [Block],
}

impl<const G: usize, const M: usize> Kernel for EncryptEach<'_, G, M> {
    type Output = ();

    /// Returns whether it takes more than one step of half the width.
    fn gains_by_width(&self) -> bool {
        self.keys.len() > 4 * G * MAX_LANES / 2
    }

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let step = 4 * G * S::LANES;
        let mut keys = self.keys.chunks_exact(step);
        let mut blocks = self.blocks.chunks_exact_mut(M * step);
        for (keys, blocks) in (&mut keys).zip(&mut blocks) {
            encrypt_step::<S, G, M>(simd, keys, blocks);
        }
        let (keys, blocks) = (keys.remainder(), blocks.into_remainder());
        if !keys.is_empty() {
            let mut padded_keys = [Block::ZERO; MAX_KEYS_IN_FLIGHT * MAX_LANES];
            let mut padded_blocks = [Block::ZERO; MAX_KEYS_IN_FLIGHT * MAX_LANES];
            padded_keys[..keys.len()].copy_from_slice(keys);
            padded_blocks[..blocks.len()].copy_from_slice(blocks);
            encrypt_step::<S, G, M>(simd, &padded_keys, &mut padded_blocks);
            blocks.copy_from_slice(&padded_blocks[..blocks.len()]);
        }
    }
}

/// Makes one step of [`EncryptEach`].
#[inline(always)]
fn encrypt_step<S: Simd, const G: usize, const M: usize>(
    simd: S,
    keys: &[Block],
    blocks: &mut [Block],
) {
    let mut key_vectors = [[simd.splat(Block::ZERO); 4]; G];
    let mut vectors = [[[simd.splat(Block::ZERO); M]; 4]; G];
    for (i, key) in key_vectors.as_flattened_mut().iter_mut().enumerate() {
        *key = simd.load(&keys[i * S::LANES..]);
    }
    for (i, vectors) in vectors.as_flattened_mut().iter_mut().enumerate() {
        for (j, vector) in vectors.iter_mut().enumerate() {
            *vector = simd.gather(blocks, |lane| M * (i * S::LANES + lane) + j);
        }
    }
    let vectors = simd.encrypt_rekeyed(key_vectors, vectors);
    for (i, vectors) in vectors.as_flattened().iter().enumerate() {
        for (j, vector) in vectors.iter().enumerate() {
            simd.scatter(*vector, blocks, |lane| M * (i * S::LANES + lane) + j);
        }
    }
}

#[cfg(test)]
mod tests;
