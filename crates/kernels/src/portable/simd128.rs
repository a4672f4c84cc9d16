//! The backend of WebAssembly with 128-bit vectors: a vector of blocks consists of four of them.

use core::arch::wasm32::*;
use core::array;
use core::ptr;

use super::{carryless, wide};
use crate::cpu::Kernel;
use crate::simd::{BlockVectors, Sealed, Simd};
use crate::{Block, KeyedPair, Numbered, SlotView};

/// The token. The instructions that it needs are known at compile time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Simd128(());

impl Simd128 {
    /// Returns the token.
    pub(crate) const fn new() -> Self {
        Self(())
    }

    /// Runs `kernel` in a function of its own, as other backends do.
    #[inline(never)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

impl Sealed for Simd128 {}

/// Four blocks.
type Quad = [v128; 4];

#[inline(always)]
fn read(block: &Block) -> v128 {
    // SAFETY: a block is 16 bytes, of which any are a vector.
    unsafe { v128_load(ptr::from_ref(block).cast()) }
}

#[inline(always)]
fn write(vector: v128, block: &mut Block) {
    // SAFETY: a block is 16 bytes, of which any are a block.
    unsafe { v128_store(ptr::from_mut(block).cast(), vector) }
}

#[inline(always)]
fn read_bytes(bytes: &[u8; 16]) -> v128 {
    // SAFETY: there are 16 bytes, and a vector is read from any address.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

#[inline(always)]
fn write_bytes(vector: v128, bytes: &mut [u8; 16]) {
    // SAFETY: there are 16 bytes, and a vector is written to any address.
    unsafe { v128_store(bytes.as_mut_ptr().cast(), vector) }
}

fn block_of(vector: v128) -> Block {
    let mut block = Block::ZERO;
    write(vector, &mut block);
    block
}

#[inline(always)]
fn octet(first: Quad, second: Quad) -> wide::Octet {
    array::from_fn(|i| if i < 4 { first[i] } else { second[i - 4] })
}

#[inline(always)]
fn quads([a, b, c, d, e, f, g, h]: wide::Octet) -> [Quad; 2] {
    [[a, b, c, d], [e, f, g, h]]
}

/// Encrypts two vectors together.
#[inline(always)]
fn encrypt_two(schedule: &wide::Schedule, first: Quad, second: Quad) -> [Quad; 2] {
    let mut blocks = octet(first, second);
    wide::encrypt(schedule, &mut blocks);
    quads(blocks)
}

impl BlockVectors for Simd128 {
    const LANES: usize = 4;
    type Vector = Quad;

    #[inline(always)]
    fn splat(self, block: Block) -> Quad {
        [read(&block); 4]
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> Quad {
        let from = &from[..4];
        array::from_fn(|lane| read(&from[lane]))
    }

    #[inline(always)]
    fn store(self, vector: Quad, into: &mut [Block]) {
        for (block, lane) in into[..4].iter_mut().zip(vector) {
            write(lane, block);
        }
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize) -> Quad {
        array::from_fn(|lane| read(from.at(index(lane))))
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: Quad,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        for (lane, block) in vector.into_iter().enumerate() {
            write(block, into.at_mut(index(lane)));
        }
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [Quad; N]) -> Quad {
        [v128_xor(pair[0][0], pair[0][1]); 4]
    }

    #[inline(always)]
    fn store_first(self, vector: Quad, into: &mut Block) {
        write(vector[0], into);
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> (Quad, Quad) {
        let blocks = &from.as_chunks::<16>().0[..8];
        (
            array::from_fn(|lane| read_bytes(&blocks[2 * lane])),
            array::from_fn(|lane| read_bytes(&blocks[2 * lane + 1])),
        )
    }

    #[inline(always)]
    fn store_pairs(self, first: Quad, second: Quad, into: &mut [u8]) {
        let blocks = &mut into.as_chunks_mut::<16>().0[..8];
        for lane in 0..4 {
            write_bytes(first[lane], &mut blocks[2 * lane]);
            write_bytes(second[lane], &mut blocks[2 * lane + 1]);
        }
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> Quad {
        array::from_fn(|lane| read_bytes(&rows[lane][at..].as_chunks().0[0]))
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(self, vector: Quad, rows: &mut [[u8; BYTES]], at: usize) {
        for (row, block) in rows[..4].iter_mut().zip(vector) {
            write_bytes(block, &mut row[at..].as_chunks_mut().0[0]);
        }
    }

    #[inline(always)]
    fn xor(self, a: Quad, b: Quad) -> Quad {
        array::from_fn(|lane| v128_xor(a[lane], b[lane]))
    }

    #[inline(always)]
    fn and(self, a: Quad, b: Quad) -> Quad {
        array::from_fn(|lane| v128_and(a[lane], b[lane]))
    }

    #[inline(always)]
    fn lsb_mask(self, a: Quad) -> Quad {
        a.map(|lane| {
            let bit = v128_and(lane, u64x2_splat(1));
            i64x2_neg(i64x2_shuffle::<0, 0>(bit, bit))
        })
    }

    #[inline(always)]
    fn msb_masks_of_halves(self, a: Quad) -> Quad {
        a.map(|lane| i64x2_shr(lane, 63))
    }

    #[inline(always)]
    fn low_halves(self, a: Quad, b: Quad) -> Quad {
        array::from_fn(|lane| i64x2_shuffle::<0, 2>(a[lane], b[lane]))
    }

    #[inline(always)]
    fn high_halves(self, a: Quad, b: Quad) -> Quad {
        array::from_fn(|lane| i64x2_shuffle::<1, 3>(a[lane], b[lane]))
    }

    #[inline(always)]
    fn halves(self, low: Quad, high: Quad) -> Quad {
        array::from_fn(|lane| i64x2_shuffle::<0, 3>(low[lane], high[lane]))
    }

    #[inline(always)]
    fn shift_up<const BITS: i32>(self, a: Quad) -> Quad {
        a.map(|lane| u64x2_shl(lane, BITS as u32))
    }

    #[inline(always)]
    fn shift_down<const BITS: i32>(self, a: Quad) -> Quad {
        a.map(|lane| u64x2_shr(lane, BITS as u32))
    }

    #[inline(always)]
    fn swap_halves(self, a: Quad) -> Quad {
        a.map(|lane| i64x2_shuffle::<1, 0>(lane, lane))
    }

    #[inline(always)]
    fn add_halves(self, a: Quad, b: Quad) -> Quad {
        array::from_fn(|lane| u64x2_add(a[lane], b[lane]))
    }

    #[inline(always)]
    fn zip(self, [a, b]: [Quad; 2]) -> [Quad; 2] {
        [[a[0], b[0], a[1], b[1]], [a[2], b[2], a[3], b[3]]]
    }

    #[inline(always)]
    fn unzip(self, [low, high]: [Quad; 2]) -> [Quad; 2] {
        [
            [low[0], low[2], high[0], high[2]],
            [low[1], low[3], high[1], high[3]],
        ]
    }

    #[inline(always)]
    fn first_of_pairs(self, pairs: [Quad; 2]) -> [Quad; 2] {
        pairs.map(|half| [half[0], half[0], half[2], half[2]])
    }
}

impl Simd for Simd128 {
    /// The round keys of four lanes for the first four blocks, and the same again for the others.
    type Schedule = wide::Schedule;

    #[inline(always)]
    fn low_twice(self, a: Quad) -> Quad {
        a.map(|lane| i64x2_shuffle::<0, 0>(lane, lane))
    }

    #[inline(always)]
    fn high_twice(self, a: Quad) -> Quad {
        a.map(|lane| i64x2_shuffle::<1, 1>(lane, lane))
    }

    #[inline]
    fn multiply_low(self, a: Quad, b: Quad) -> Quad {
        array::from_fn(|lane| {
            let (a, b) = (a[lane], b[lane]);
            read(&carryless(
                u64x2_extract_lane::<0>(a),
                u64x2_extract_lane::<0>(b),
            ))
        })
    }

    #[inline]
    fn multiply_high(self, a: Quad, b: Quad) -> Quad {
        self.multiply_low(self.swap_halves(a), self.swap_halves(b))
    }

    #[inline]
    fn multiply_cross(self, a: Quad, b: Quad) -> Quad {
        let (high_of_a, high_of_b) = (self.swap_halves(a), self.swap_halves(b));
        self.xor(
            self.multiply_low(a, high_of_b),
            self.multiply_low(high_of_a, b),
        )
    }

    #[inline(always)]
    fn sigma(self, a: Quad) -> Quad {
        let high = u64x2(0, u64::MAX);
        a.map(|lane| v128_xor(i64x2_shuffle::<1, 0>(lane, lane), v128_and(lane, high)))
    }

    #[inline(always)]
    fn transpose_bytes(self, rows: &mut [Quad; 16]) {
        transpose_lane::<0>(rows);
        transpose_lane::<1>(rows);
        transpose_lane::<2>(rows);
        transpose_lane::<3>(rows);
    }

    #[inline]
    fn expand(self, keys: Quad) -> wide::Schedule {
        let mut schedules = [wide::no_schedule(); 2];
        wide::expand(&[octet(keys, keys); 2], &mut schedules);
        schedules[0]
    }

    #[inline]
    fn expand_four(self, keys: [Quad; 4], schedules: &mut [wide::Schedule; 4]) {
        for (keys, schedules) in keys.as_chunks().0.iter().zip(schedules.as_chunks_mut().0) {
            let [first, second]: [Quad; 2] = *keys;
            wide::expand(&[octet(first, first), octet(second, second)], schedules);
        }
    }

    #[inline]
    fn splat_schedule(self, round_keys: &[Block; 11]) -> wide::Schedule {
        wide::splat_schedule(&round_keys.each_ref().map(read))
    }

    #[inline]
    fn round_keys(self, schedule: &wide::Schedule) -> [Block; 11] {
        wide::round_keys(schedule).map(block_of)
    }

    /// Processes two vectors under one schedule together, and a remaining one together with that of
    /// the next schedule.
    #[inline(always)]
    fn encrypt<const N: usize, const M: usize>(
        self,
        schedules: [&wide::Schedule; N],
        mut blocks: [[Quad; M]; N],
    ) -> [[Quad; M]; N] {
        for (schedule, vectors) in schedules.into_iter().zip(&mut blocks) {
            for pair in vectors.as_chunks_mut::<2>().0 {
                *pair = encrypt_two(schedule, pair[0], pair[1]);
            }
        }
        if M % 2 == 1 {
            for first in (0..N).step_by(2) {
                let second = (first + 1).min(N - 1);
                let (x, y) = (blocks[first][M - 1], blocks[second][M - 1]);
                let encrypted = if ptr::eq(schedules[first], schedules[second]) {
                    encrypt_two(schedules[first], x, y)
                } else {
                    encrypt_two(&wide::joined(schedules[first], schedules[second]), x, y)
                };
                blocks[first][M - 1] = encrypted[0];
                blocks[second][M - 1] = encrypted[1];
            }
        }
        blocks
    }

    /// Expands sixteen keys at once.
    #[inline(always)]
    fn encrypt_rekeyed<const G: usize, const M: usize>(
        self,
        keys: [[Quad; 4]; G],
        mut blocks: [[[Quad; M]; 4]; G],
    ) -> [[[Quad; M]; 4]; G] {
        let mut schedules = [wide::no_schedule(); 2];
        for (keys, blocks) in keys.iter().zip(&mut blocks) {
            let keys = [octet(keys[0], keys[1]), octet(keys[2], keys[3])];
            wide::expand(&keys, &mut schedules);
            for (schedule, pair) in schedules.iter().zip(blocks.as_chunks_mut::<2>().0) {
                for m in 0..M {
                    [pair[0][m], pair[1][m]] = encrypt_two(schedule, pair[0][m], pair[1][m]);
                }
            }
        }
        blocks
    }

    #[inline(always)]
    fn pairs(self, kept: &SlotView<'_, KeyedPair>, slot: impl Fn(usize) -> usize) -> [Quad; 2] {
        array::from_fn(|half| {
            array::from_fn(|lane| {
                let pair = kept.slot(slot(2 * half + lane / 2));
                read(&pair.rows[KeyedPair::LABELS][lane % 2])
            })
        })
    }

    /// Keeps only the keys: planes of bits hold eight keys at once, but not the eight that are used
    /// together later.
    #[inline(always)]
    fn keep_pairs(
        self,
        labels: [[Quad; 2]; 2],
        keys: [[Quad; 2]; 2],
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
    ) {
        for (n, (labels, keys)) in labels.iter().zip(&keys).enumerate() {
            for i in 0..8 {
                let pair = kept.slot_mut(slot(n, i / 2));
                write(
                    labels[i / 4][i % 4],
                    &mut pair.rows[KeyedPair::LABELS][i % 2],
                );
                write(keys[i / 4][i % 4], &mut pair.rows[KeyedPair::KEYS][i % 2]);
            }
        }
    }

    /// Expands sixteen keys at once, if there are as many.
    #[inline(always)]
    fn encrypt_pairs<const N: usize>(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
        mut blocks: [[Quad; 2]; N],
    ) -> [[Quad; 2]; N] {
        let mut schedules = [wide::no_schedule(); 2];
        for first in (0..N).step_by(2) {
            let count = (N - first).min(2);
            let keys = array::from_fn(|n| {
                array::from_fn(|i| {
                    let pair = kept.slot(slot(first + n.min(count - 1), i / 2));
                    read(&pair.rows[KeyedPair::KEYS][i % 2])
                })
            });
            wide::expand(&keys, &mut schedules);
            for (schedule, pairs) in schedules.iter().zip(&mut blocks[first..first + count]) {
                *pairs = encrypt_two(schedule, pairs[0], pairs[1]);
            }
        }
        blocks
    }
}

/// Transposes the square in one lane: of sixteen rows, numbers i and i + 8 are interleaved, four
/// times. Rows are listed one by one, because the compiler keeps arrays that a loop indexes in
/// memory.
#[inline(always)]
fn transpose_lane<const LANE: usize>(rows: &mut [Quad; 16]) {
    let held = [
        rows[0][LANE],
        rows[1][LANE],
        rows[2][LANE],
        rows[3][LANE],
        rows[4][LANE],
        rows[5][LANE],
        rows[6][LANE],
        rows[7][LANE],
        rows[8][LANE],
        rows[9][LANE],
        rows[10][LANE],
        rows[11][LANE],
        rows[12][LANE],
        rows[13][LANE],
        rows[14][LANE],
        rows[15][LANE],
    ];
    [
        rows[0][LANE],
        rows[1][LANE],
        rows[2][LANE],
        rows[3][LANE],
        rows[4][LANE],
        rows[5][LANE],
        rows[6][LANE],
        rows[7][LANE],
        rows[8][LANE],
        rows[9][LANE],
        rows[10][LANE],
        rows[11][LANE],
        rows[12][LANE],
        rows[13][LANE],
        rows[14][LANE],
        rows[15][LANE],
    ] = interleave(interleave(interleave(interleave(held))));
}

/// Returns vectors i and i + 8 with alternating bytes, in vectors 2i and 2i + 1.
#[inline(always)]
fn interleave(v: [v128; 16]) -> [v128; 16] {
    [
        low_bytes(v[0], v[8]),
        high_bytes(v[0], v[8]),
        low_bytes(v[1], v[9]),
        high_bytes(v[1], v[9]),
        low_bytes(v[2], v[10]),
        high_bytes(v[2], v[10]),
        low_bytes(v[3], v[11]),
        high_bytes(v[3], v[11]),
        low_bytes(v[4], v[12]),
        high_bytes(v[4], v[12]),
        low_bytes(v[5], v[13]),
        high_bytes(v[5], v[13]),
        low_bytes(v[6], v[14]),
        high_bytes(v[6], v[14]),
        low_bytes(v[7], v[15]),
        high_bytes(v[7], v[15]),
    ]
}

/// Returns the first eight bytes of two vectors, alternating.
#[inline(always)]
fn low_bytes(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)
}

/// Returns the last eight bytes of two vectors, alternating.
#[inline(always)]
fn high_bytes(a: v128, b: v128) -> v128 {
    i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
}
