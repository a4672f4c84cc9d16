//! Backends without AES instructions: constant-time bitsliced AES.
//!
//! No table is indexed by data, and no branch depends on data. [`sbox`] is the S-box as a Boolean
//! circuit. Two ciphers each have a layout of the state and the linear layers that fit it:
//! [`bitslice`] has four blocks in 64-bit words, on every CPU, and `wide` eight in the 128-bit
//! vectors of WebAssembly, whose backend is in `simd128`.

use core::array;

use crate::cpu::Kernel;
use crate::simd::{BlockVectors, Sealed, Simd};
use crate::transpose::exchange;
use crate::{Block, KeyedPair, Numbered, SlotView};

mod bitslice;
mod sbox;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wide;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) use simd128::Simd128;

/// The token of this backend, which needs no instruction of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Portable(());

impl Portable {
    /// Returns the token.
    pub(crate) const fn new() -> Self {
        Self(())
    }

    /// Runs `kernel` in a function of its own, as other backends do. If it were inlined, its large
    /// frame would be part of the dispatch to every backend.
    #[inline(never)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

impl Sealed for Portable {}

/// Returns the block in the 16 bytes of `bytes` at 16 times `index`.
#[inline(always)]
fn read_block(bytes: &[u8], index: usize) -> Block {
    let mut block = [0; 16];
    block.copy_from_slice(&bytes[16 * index..16 * index + 16]);
    Block::from_bytes(block)
}

fn low(block: Block) -> u64 {
    block.to_u128() as u64
}

fn high(block: Block) -> u64 {
    (block.to_u128() >> 64) as u64
}

fn of_halves(low: u64, high: u64) -> Block {
    Block::from_u128(u128::from(low) | u128::from(high) << 64)
}

/// Returns the carry-less product, one bit of `b` at a time, by masks.
fn carryless(a: u64, b: u64) -> Block {
    let product = (0..64).fold(0, |sum, i| {
        let mask = u128::from(b >> i & 1).wrapping_neg();
        sum ^ (u128::from(a) << i & mask)
    });
    Block::from_u128(product)
}

impl BlockVectors for Portable {
    const LANES: usize = 4;
    type Vector = [Block; 4];

    #[inline(always)]
    fn splat(self, block: Block) -> [Block; 4] {
        [block; 4]
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> [Block; 4] {
        [from[0], from[1], from[2], from[3]]
    }

    #[inline(always)]
    fn store(self, vector: [Block; 4], into: &mut [Block]) {
        into[..4].copy_from_slice(&vector);
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize) -> [Block; 4] {
        array::from_fn(|lane| *from.at(index(lane)))
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: [Block; 4],
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        for (lane, block) in vector.into_iter().enumerate() {
            *into.at_mut(index(lane)) = block;
        }
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [[Block; 4]; N]) -> [Block; 4] {
        [pair[0][0] ^ pair[0][1]; 4]
    }

    #[inline(always)]
    fn store_first(self, vector: [Block; 4], into: &mut Block) {
        *into = vector[0];
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> ([Block; 4], [Block; 4]) {
        (
            array::from_fn(|lane| read_block(from, 2 * lane)),
            array::from_fn(|lane| read_block(from, 2 * lane + 1)),
        )
    }

    #[inline(always)]
    fn store_pairs(self, first: [Block; 4], second: [Block; 4], into: &mut [u8]) {
        let pairs = first.into_iter().zip(second);
        for (bytes, (first, second)) in into[..128].chunks_exact_mut(32).zip(pairs) {
            bytes[..16].copy_from_slice(&first.to_bytes());
            bytes[16..].copy_from_slice(&second.to_bytes());
        }
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> [Block; 4] {
        array::from_fn(|lane| read_block(&rows[lane][at..], 0))
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(
        self,
        vector: [Block; 4],
        rows: &mut [[u8; BYTES]],
        at: usize,
    ) {
        for (row, block) in rows[..4].iter_mut().zip(vector) {
            row[at..at + Block::BYTES].copy_from_slice(&block.to_bytes());
        }
    }

    #[inline(always)]
    fn xor(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| a[lane] ^ b[lane])
    }

    #[inline(always)]
    fn and(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| a[lane] & b[lane])
    }

    #[inline(always)]
    fn lsb_mask(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| Block::ONES.and_bit(block.lsb()))
    }

    #[inline(always)]
    fn msb_masks_of_halves(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| {
            let [low, high] = [low(block), high(block)].map(|half| (half >> 63).wrapping_neg());
            of_halves(low, high)
        })
    }

    #[inline(always)]
    fn low_halves(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| of_halves(low(a[lane]), low(b[lane])))
    }

    #[inline(always)]
    fn high_halves(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| of_halves(high(a[lane]), high(b[lane])))
    }

    #[inline(always)]
    fn halves(self, low: [Block; 4], high: [Block; 4]) -> [Block; 4] {
        let low_half = u128::from(u64::MAX);
        array::from_fn(|lane| {
            let (low, high) = (low[lane].to_u128(), high[lane].to_u128());
            Block::from_u128(low & low_half | high & !low_half)
        })
    }

    #[inline(always)]
    fn shift_up<const BITS: i32>(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| of_halves(low(block) << BITS, high(block) << BITS))
    }

    #[inline(always)]
    fn shift_down<const BITS: i32>(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| of_halves(low(block) >> BITS, high(block) >> BITS))
    }

    #[inline(always)]
    fn swap_halves(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| Block::from_u128(block.to_u128().rotate_left(64)))
    }

    #[inline(always)]
    fn add_halves(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| {
            let (a, b) = (a[lane], b[lane]);
            of_halves(low(a).wrapping_add(low(b)), high(a).wrapping_add(high(b)))
        })
    }

    #[inline(always)]
    fn zip(self, [a, b]: [[Block; 4]; 2]) -> [[Block; 4]; 2] {
        [[a[0], b[0], a[1], b[1]], [a[2], b[2], a[3], b[3]]]
    }

    #[inline(always)]
    fn unzip(self, [low, high]: [[Block; 4]; 2]) -> [[Block; 4]; 2] {
        [
            [low[0], low[2], high[0], high[2]],
            [low[1], low[3], high[1], high[3]],
        ]
    }

    #[inline(always)]
    fn first_of_pairs(self, pairs: [[Block; 4]; 2]) -> [[Block; 4]; 2] {
        pairs.map(|half| [half[0], half[0], half[2], half[2]])
    }
}

impl Simd for Portable {
    type Schedule = bitslice::Schedule;

    #[inline(always)]
    fn low_twice(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| Block::from_u128(u128::from(low(block)) * (1 | 1 << 64)))
    }

    #[inline(always)]
    fn high_twice(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| Block::from_u128(u128::from(high(block)) * (1 | 1 << 64)))
    }

    #[inline]
    fn multiply_low(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| carryless(low(a[lane]), low(b[lane])))
    }

    #[inline]
    fn multiply_high(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| carryless(high(a[lane]), high(b[lane])))
    }

    #[inline]
    fn multiply_cross(self, a: [Block; 4], b: [Block; 4]) -> [Block; 4] {
        array::from_fn(|lane| {
            let (a, b) = (a[lane], b[lane]);
            carryless(low(a), high(b)) ^ carryless(high(a), low(b))
        })
    }

    #[inline(always)]
    fn sigma(self, a: [Block; 4]) -> [Block; 4] {
        a.map(|block| {
            let value = block.to_u128();
            Block::from_u128(value.rotate_left(64) ^ (value >> 64 << 64))
        })
    }

    /// This uses exchanges, since no instruction here interleaves bytes fast.
    #[inline(always)]
    fn transpose_bytes(self, rows: &mut [[Block; 4]; 16]) {
        for i in 0..8 {
            let (a, b) = (rows[i], rows[i + 8]);
            (rows[i], rows[i + 8]) = (self.low_halves(a, b), self.high_halves(a, b));
        }
        exchange::<Self, 16, 4, 32>(self, rows);
        exchange::<Self, 16, 2, 16>(self, rows);
        exchange::<Self, 16, 1, 8>(self, rows);
    }

    #[inline]
    fn expand(self, keys: [Block; 4]) -> bitslice::Schedule {
        bitslice::expand(keys)
    }

    #[inline]
    fn expand_four(self, keys: [[Block; 4]; 4], schedules: &mut [bitslice::Schedule; 4]) {
        *schedules = keys.map(bitslice::expand);
    }

    #[inline]
    fn splat_schedule(self, round_keys: &[Block; 11]) -> bitslice::Schedule {
        bitslice::splat_schedule(round_keys)
    }

    #[inline]
    fn round_keys(self, schedule: &bitslice::Schedule) -> [Block; 11] {
        bitslice::round_keys(schedule)
    }

    #[inline]
    fn encrypt<const N: usize, const M: usize>(
        self,
        schedules: [&bitslice::Schedule; N],
        mut blocks: [[[Block; 4]; M]; N],
    ) -> [[[Block; 4]; M]; N] {
        for (schedule, vectors) in schedules.into_iter().zip(&mut blocks) {
            for vector in vectors {
                *vector = bitslice::encrypt(schedule, *vector);
            }
        }
        blocks
    }

    #[inline]
    fn encrypt_rekeyed<const G: usize, const M: usize>(
        self,
        keys: [[[Block; 4]; 4]; G],
        mut blocks: [[[[Block; 4]; M]; 4]; G],
    ) -> [[[[Block; 4]; M]; 4]; G] {
        let keys = keys.as_flattened();
        for (vectors, keys) in blocks.as_flattened_mut().iter_mut().zip(keys) {
            let schedule = bitslice::expand(*keys);
            for vector in vectors {
                *vector = bitslice::encrypt(&schedule, *vector);
            }
        }
        blocks
    }

    #[inline(always)]
    fn pairs(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
    ) -> [[Block; 4]; 2] {
        let [a, b, c, d] = array::from_fn(|lane| kept.slot(slot(lane)).labels());
        [[a[0], a[1], b[0], b[1]], [c[0], c[1], d[0], d[1]]]
    }

    /// Keeps only the keys: planes of bits hold four keys at once, but not the four that are used
    /// together later.
    #[inline]
    fn keep_pairs(
        self,
        labels: [[[Block; 4]; 2]; 2],
        keys: [[[Block; 4]; 2]; 2],
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
    ) {
        for (n, (labels, keys)) in labels.iter().zip(&keys).enumerate() {
            let labels = labels.as_flattened().as_chunks::<2>().0;
            let keys = keys.as_flattened().as_chunks::<2>().0;
            for (lane, (labels, keys)) in labels.iter().zip(keys).enumerate() {
                let pair = kept.slot_mut(slot(n, lane));
                pair.rows[KeyedPair::LABELS] = *labels;
                pair.rows[KeyedPair::KEYS] = *keys;
            }
        }
    }

    #[inline]
    fn encrypt_pairs<const N: usize>(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
        mut blocks: [[[Block; 4]; 2]; N],
    ) -> [[[Block; 4]; 2]; N] {
        for (n, pairs) in blocks.iter_mut().enumerate() {
            for (half, vector) in pairs.iter_mut().enumerate() {
                let keys = array::from_fn(|lane| {
                    let pair = kept.slot(slot(n, 2 * half + lane / 2));
                    pair.rows[KeyedPair::KEYS][lane % 2]
                });
                *vector = bitslice::encrypt(&bitslice::expand(keys), *vector);
            }
        }
        blocks
    }
}
