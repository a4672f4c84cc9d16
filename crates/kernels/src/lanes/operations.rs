//! Implements [`Simd`] with the lane operations of any backend.

use core::array::from_fn;

use super::rounds::{
    encrypt_after, encrypt_behind, next_key, next_words, substituted, transpose_columns,
};
use super::{Lanes, Simd};
use crate::simd::MAX_LANES;
use crate::{Block, KeyedPair, SlotView};

/// The high half of a block.
const HIGH_HALF: Block = Block::from_u128((u64::MAX as u128) << 64);

impl<L: Lanes> Simd for L {
    type Schedule = [L::Vector; 11];

    #[inline(always)]
    fn low_twice(self, a: Self::Vector) -> Self::Vector {
        self.low_halves(a, a)
    }

    #[inline(always)]
    fn high_twice(self, a: Self::Vector) -> Self::Vector {
        self.high_halves(a, a)
    }

    #[inline(always)]
    fn multiply_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        self.multiply::<0x00>(a, b)
    }

    #[inline(always)]
    fn multiply_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        self.multiply::<0x11>(a, b)
    }

    #[inline(always)]
    fn multiply_cross(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        self.xor(self.multiply::<0x10>(a, b), self.multiply::<0x01>(a, b))
    }

    #[inline(always)]
    fn sigma(self, a: Self::Vector) -> Self::Vector {
        let high = self.and(a, self.splat(HIGH_HALF));
        self.xor(self.swap_halves(a), high)
    }

    #[inline(always)]
    fn transpose_bytes(self, rows: &mut [Self::Vector; 16]) {
        for _ in 0..4 {
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *rows;
            let zip = |a, b| [self.zip_low_bytes(a, b), self.zip_high_bytes(a, b)];
            let pairs = [
                zip(a, i),
                zip(b, j),
                zip(c, k),
                zip(d, l),
                zip(e, m),
                zip(f, n),
                zip(g, o),
                zip(h, p),
            ];
            rows.copy_from_slice(pairs.as_flattened());
        }
    }

    #[inline(always)]
    fn expand(self, mut keys: Self::Vector) -> Self::Schedule {
        let mut schedule = [keys; 11];
        for round in 0..10 {
            keys = next_key(self, keys, round);
            schedule[round + 1] = keys;
        }
        schedule
    }

    #[inline(always)]
    fn expand_four(self, keys: [Self::Vector; 4], schedules: &mut [Self::Schedule; 4]) {
        let mut words = transpose_columns(self, keys);
        for (schedule, key) in schedules.iter_mut().zip(keys) {
            schedule[0] = key;
        }
        for round in 0..10 {
            words = next_words(self, words, substituted(self, words, round));
            let keys = transpose_columns(self, words);
            for (schedule, key) in schedules.iter_mut().zip(keys) {
                schedule[round + 1] = key;
            }
        }
    }

    #[inline(always)]
    fn splat_schedule(self, round_keys: &[Block; 11]) -> Self::Schedule {
        let mut schedule = [self.splat(Block::ZERO); 11];
        for (key, block) in schedule.iter_mut().zip(round_keys) {
            *key = self.splat(*block);
        }
        schedule
    }

    #[inline(always)]
    fn round_keys(self, schedule: &Self::Schedule) -> [Block; 11] {
        let mut round_keys = [Block::ZERO; 11];
        for (block, key) in round_keys.iter_mut().zip(schedule) {
            let mut lanes = [Block::ZERO; MAX_LANES];
            self.store(*key, &mut lanes);
            *block = lanes[0];
        }
        round_keys
    }

    #[inline(always)]
    fn encrypt<const N: usize, const M: usize>(
        self,
        schedules: [&Self::Schedule; N],
        mut blocks: [[Self::Vector; M]; N],
    ) -> [[Self::Vector; M]; N] {
        for (states, schedule) in blocks.iter_mut().zip(&schedules) {
            for state in states {
                *state = self.begin(*state, schedule[0]);
            }
        }
        // If the compiler knew the number of rounds, it would unroll them and then encrypt one
        // vector after the other to save registers, and nothing would hide the latency. With at
        // most two vectors, the CPU can overlap both anyway, and the number may be known.
        let rounds = if N * M <= 2 {
            10
        } else {
            core::hint::black_box(10).min(10)
        };
        for round in 1..rounds {
            for (states, schedule) in blocks.iter_mut().zip(&schedules) {
                for state in states {
                    *state = self.round(*state, schedule[round - 1], schedule[round]);
                }
            }
        }
        for (states, schedule) in blocks.iter_mut().zip(&schedules) {
            for state in states {
                *state = self.last_round(*state, schedule[9], schedule[10]);
            }
        }
        blocks
    }

    #[inline(always)]
    fn encrypt_rekeyed<const G: usize, const M: usize>(
        self,
        keys: [[Self::Vector; 4]; G],
        mut blocks: [[[Self::Vector; M]; 4]; G],
    ) -> [[[Self::Vector; M]; 4]; G] {
        let (pairs, rest) = blocks.as_chunks_mut::<2>();
        let (pairs_of_keys, rest_of_keys) = keys.as_chunks::<2>();
        for (blocks, keys) in pairs.iter_mut().zip(pairs_of_keys) {
            encrypt_after(self, keys, blocks);
        }
        for (blocks, keys) in rest.iter_mut().zip(rest_of_keys) {
            encrypt_behind(self, keys, blocks);
        }
        blocks
    }

    #[inline(always)]
    fn pairs(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
    ) -> [Self::Vector; 2] {
        [
            self.load_row(kept, &slot, KeyedPair::LABELS, 0),
            self.load_row(kept, &slot, KeyedPair::LABELS, 1),
        ]
    }

    #[inline(always)]
    fn keep_pairs(
        self,
        labels: [[Self::Vector; 2]; 2],
        keys: [[Self::Vector; 2]; 2],
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
    ) {
        // The slots are computed once: for all the compiler knows, the writes below could change
        // what `slot` reads.
        let last = Self::LANES - 1;
        let slots: [[usize; MAX_LANES]; 2] = from_fn(|n| from_fn(|lane| slot(n, lane.min(last))));
        for (n, labels) in labels.as_flattened().iter().enumerate() {
            let slot = |lane: usize| slots[n / 2][lane];
            self.store_row(*labels, kept, slot, KeyedPair::LABELS, n % 2);
        }
        let [[a, b], [c, d]] = keys;
        let mut keys = [a, b, c, d];
        let mut words = transpose_columns(self, keys);
        for round in 0..core::hint::black_box(10).min(10) {
            let next = substituted(self, words, round);
            for (n, key) in keys.into_iter().enumerate() {
                let slot = |lane: usize| slots[n / 2][lane];
                self.store_row(key, kept, slot, KeyedPair::KEYS + round, n % 2);
            }
            words = next_words(self, words, next);
            keys = transpose_columns(self, words);
        }
        for (n, key) in keys.into_iter().enumerate() {
            let slot = |lane: usize| slots[n / 2][lane];
            self.store_row(key, kept, slot, KeyedPair::KEYS + 10, n % 2);
        }
    }

    #[inline(always)]
    fn encrypt_pairs<const N: usize>(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
        mut blocks: [[Self::Vector; 2]; N],
    ) -> [[Self::Vector; 2]; N] {
        let key = |n: usize, number: usize| {
            let row = KeyedPair::KEYS + number;
            self.load_row(kept, |lane| slot(n / 2, lane), row, n % 2)
        };
        for (n, state) in blocks.as_flattened_mut().iter_mut().enumerate() {
            *state = self.begin(*state, key(n, 0));
        }
        // As in `encrypt`, the compiler must not know the number of rounds.
        for round in 1..core::hint::black_box(10).min(10) {
            for (n, state) in blocks.as_flattened_mut().iter_mut().enumerate() {
                *state = self.round(*state, key(n, round - 1), key(n, round));
            }
        }
        for (n, state) in blocks.as_flattened_mut().iter_mut().enumerate() {
            *state = self.last_round(*state, key(n, 9), key(n, 10));
        }
        blocks
    }
}
