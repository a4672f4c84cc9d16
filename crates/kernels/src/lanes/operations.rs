//! [`Simd`] over the lane operations of any backend.

use core::array::from_fn;

use super::rounds::{
    encrypt_after, encrypt_behind, next_key, next_words, substituted, transpose_columns,
};
use super::{Lanes, Simd};
use crate::simd::MAX_LANES;
use crate::{Block, KeyedPair, Numbered, SlotView};

/// The high half of a block.
const HIGH_HALF: Block = Block::from_u128((u64::MAX as u128) << 64);

impl<L: Lanes> Simd for L {
    const LANES: usize = <L as Lanes>::LANES;
    type Vector = <L as Lanes>::Vector;
    type Schedule = [<L as Lanes>::Vector; 11];

    #[inline(always)]
    fn splat(self, block: Block) -> Self::Vector {
        Lanes::splat(self, block)
    }

    #[inline(always)]
    fn load(self, from: &[Block]) -> Self::Vector {
        Lanes::load(self, from)
    }

    #[inline(always)]
    fn store(self, vector: Self::Vector, into: &mut [Block]) {
        Lanes::store(self, vector, into);
    }

    #[inline(always)]
    fn gather<T: Numbered + ?Sized>(
        self,
        from: &T,
        index: impl Fn(usize) -> usize,
    ) -> Self::Vector {
        Lanes::gather(self, from, index)
    }

    #[inline(always)]
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: Self::Vector,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    ) {
        Lanes::scatter(self, vector, into, index);
    }

    #[inline(always)]
    fn sum_of_pair<const N: usize>(self, pair: [Self::Vector; N]) -> Self::Vector {
        Lanes::sum_of_pair(self, pair)
    }

    #[inline(always)]
    fn store_first(self, vector: Self::Vector, into: &mut Block) {
        Lanes::store_first(self, vector, into);
    }

    #[inline(always)]
    fn load_pairs(self, from: &[u8]) -> (Self::Vector, Self::Vector) {
        Lanes::load_pairs(self, from)
    }

    #[inline(always)]
    fn store_pairs(self, first: Self::Vector, second: Self::Vector, into: &mut [u8]) {
        Lanes::store_pairs(self, first, second, into);
    }

    #[inline(always)]
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> Self::Vector {
        Lanes::load_rows(self, rows, at)
    }

    #[inline(always)]
    fn store_rows<const BYTES: usize>(
        self,
        vector: Self::Vector,
        rows: &mut [[u8; BYTES]],
        at: usize,
    ) {
        Lanes::store_rows(self, vector, rows, at);
    }

    #[inline(always)]
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        Lanes::xor(self, a, b)
    }

    #[inline(always)]
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        Lanes::and(self, a, b)
    }

    #[inline(always)]
    fn lsb_mask(self, a: Self::Vector) -> Self::Vector {
        Lanes::lsb_mask(self, a)
    }

    #[inline(always)]
    fn msb_masks_of_halves(self, a: Self::Vector) -> Self::Vector {
        Lanes::msb_masks_of_halves(self, a)
    }

    #[inline(always)]
    fn low_twice(self, a: Self::Vector) -> Self::Vector {
        Lanes::low_halves(self, a, a)
    }

    #[inline(always)]
    fn high_twice(self, a: Self::Vector) -> Self::Vector {
        Lanes::high_halves(self, a, a)
    }

    #[inline(always)]
    fn low_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        Lanes::low_halves(self, a, b)
    }

    #[inline(always)]
    fn high_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        Lanes::high_halves(self, a, b)
    }

    #[inline(always)]
    fn halves(self, low: Self::Vector, high: Self::Vector) -> Self::Vector {
        Lanes::halves(self, low, high)
    }

    #[inline(always)]
    fn shift_up<const BITS: i32>(self, a: Self::Vector) -> Self::Vector {
        Lanes::shift_up::<BITS>(self, a)
    }

    #[inline(always)]
    fn shift_down<const BITS: i32>(self, a: Self::Vector) -> Self::Vector {
        Lanes::shift_down::<BITS>(self, a)
    }

    #[inline(always)]
    fn swap_halves(self, a: Self::Vector) -> Self::Vector {
        Lanes::swap_halves(self, a)
    }

    #[inline(always)]
    fn add_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        Lanes::add_halves(self, a, b)
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
        Lanes::xor(
            self,
            self.multiply::<0x10>(a, b),
            self.multiply::<0x01>(a, b),
        )
    }

    #[inline(always)]
    fn sigma(self, a: Self::Vector) -> Self::Vector {
        let high = Lanes::and(self, a, Lanes::splat(self, HIGH_HALF));
        Lanes::xor(self, Lanes::swap_halves(self, a), high)
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
        let mut schedule = [Lanes::splat(self, Block::ZERO); 11];
        for (key, block) in schedule.iter_mut().zip(round_keys) {
            *key = Lanes::splat(self, *block);
        }
        schedule
    }

    #[inline(always)]
    fn round_keys(self, schedule: &Self::Schedule) -> [Block; 11] {
        let mut round_keys = [Block::ZERO; 11];
        for (block, key) in round_keys.iter_mut().zip(schedule) {
            let mut lanes = [Block::ZERO; MAX_LANES];
            Lanes::store(self, *key, &mut lanes);
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
        // If the compiler knew how many rounds there are, it would unroll them and then encrypt
        // one vector after the other to spare registers, with nothing to hide the latency. Of two,
        // the CPU sees both at once, and there is nothing to count.
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
    fn zip(self, vectors: [Self::Vector; 2]) -> [Self::Vector; 2] {
        Lanes::zip(self, vectors)
    }

    #[inline(always)]
    fn unzip(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2] {
        Lanes::unzip(self, pairs)
    }

    #[inline(always)]
    fn first_of_pairs(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2] {
        Lanes::first_of_pairs(self, pairs)
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
        // Asked for once: what is written below could be where `slot` looks, to the compiler.
        let last = <Self as Lanes>::LANES - 1;
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
        // As in `encrypt`, the compiler must not know how many rounds there are.
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
