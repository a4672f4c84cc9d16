//! The x86-64 backends: AES-NI, VAES with 256 bits, VAES with 512 bits.
//!
//! Each is a thin layer of lane operations ([`Lanes`], one instruction each or a few), over which
//! the AES rounds, the key schedule and everything above are written once, below.
//!
//! The key schedule takes SubWord from AESENCLAST, whose ShiftRows a byte shuffle undoes
//! beforehand. Four vectors of keys are expanded as four vectors of their words: column i of four
//! keys stands in one vector, so that one AESENCLAST serves four keys and the columns' sums need
//! no shifts. Each round key is transposed back to be used. That is 17 instructions a round for
//! four vectors of keys, where one key at a time takes 28. The next AESENCLAST always comes before
//! the transposition, whose shuffles would otherwise take the ports that the only long chain of
//! dependent instructions waits for: a round of four vectors on Zen 3 is 8 cycles and not 11.

use core::array::from_fn;
use core::mem::MaybeUninit;

use crate::simd::{Sealed, Simd};
use crate::{Block, KeyedPair, Numbered, SlotView};

mod aes_ni;
mod vaes256;
mod vaes512;

pub(crate) use aes_ni::AesNi;
pub(crate) use vaes256::Vaes256;
pub(crate) use vaes512::Vaes512;

/// Lanes of the widest vector.
const MAX_LANES: usize = 4;

/// The operations that differ between the backends; the same names as in [`Simd`] mean the same.
pub trait Lanes: Sealed + Copy + Send + Sync + 'static {
    /// Blocks in a vector.
    const LANES: usize;
    /// A vector of blocks.
    type Vector: Copy;

    /// See [`Simd::splat`].
    fn splat(self, block: Block) -> Self::Vector;
    /// See [`Simd::load`].
    fn load(self, from: &[Block]) -> Self::Vector;
    /// See [`Simd::store`].
    fn store(self, vector: Self::Vector, into: &mut [Block]);
    /// See [`Simd::gather`].
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize)
    -> Self::Vector;
    /// See [`Simd::scatter`].
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: Self::Vector,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    );
    /// See [`Simd::sum_of_pair`].
    fn sum_of_pair<const N: usize>(self, pair: [Self::Vector; N]) -> Self::Vector;
    /// See [`Simd::store_first`].
    fn store_first(self, vector: Self::Vector, into: &mut Block);
    /// See [`Simd::load_pairs`].
    fn load_pairs(self, from: &[u8]) -> (Self::Vector, Self::Vector);
    /// See [`Simd::store_pairs`].
    fn store_pairs(self, first: Self::Vector, second: Self::Vector, into: &mut [u8]);
    /// See [`Simd::load_rows`].
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> Self::Vector;
    /// See [`Simd::store_rows`].
    fn store_rows<const BYTES: usize>(
        self,
        vector: Self::Vector,
        rows: &mut [[u8; BYTES]],
        at: usize,
    );
    /// Exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Conjunction.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::lsb_mask`].
    fn lsb_mask(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::msb_masks_of_halves`].
    fn msb_masks_of_halves(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::add_halves`].
    fn add_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Carry-less product of a 64-bit half of `a`, by bit 0 of `HALVES`, and one of `b`, by bit 4.
    fn multiply<const HALVES: i32>(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::swap_halves`].
    fn swap_halves(self, a: Self::Vector) -> Self::Vector;
    /// A round of AES: AESENC.
    fn round(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// The last round of AES: AESENCLAST.
    fn last_round(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// RotWord of the last column of each lane, in all four columns.
    fn rotated_last_word(self, key: Self::Vector) -> Self::Vector;
    /// RotWord of every column, moved to where ShiftRows takes it from.
    fn rotated_words(self, words: Self::Vector) -> Self::Vector;
    /// Columns (a₀, b₀, a₁, b₁) of each lane.
    fn interleave_low_columns(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Columns (a₂, b₂, a₃, b₃) of each lane.
    fn interleave_high_columns(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::low_halves`].
    fn low_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::high_halves`].
    fn high_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Simd::halves`].
    fn halves(self, low: Self::Vector, high: Self::Vector) -> Self::Vector;
    /// See [`Simd::shift_up`].
    fn shift_up<const BITS: i32>(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::shift_down`].
    fn shift_down<const BITS: i32>(self, a: Self::Vector) -> Self::Vector;
    /// Each column moved up one place, zero moved in.
    fn up_one_column(self, a: Self::Vector) -> Self::Vector;
    /// Each column moved up two places, zeros moved in.
    fn up_two_columns(self, a: Self::Vector) -> Self::Vector;
    /// See [`Simd::zip`].
    fn zip(self, vectors: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// See [`Simd::unzip`].
    fn unzip(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// See [`Simd::first_of_pairs`].
    fn first_of_pairs(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2];
    /// A row of what is in the slots that `slot` says for each lane, as pairs: of both vectors the
    /// one that `half` says.
    fn load_row(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    ) -> Self::Vector;
    /// Writes what [`Lanes::load_row`] reads.
    fn store_row(
        self,
        blocks: Self::Vector,
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
        row: usize,
        half: usize,
    );
}

/// The 16 bytes of a row from byte `at` on.
#[inline(always)]
fn in_row<const BYTES: usize>(row: &[u8; BYTES], at: usize) -> &[u8; 16] {
    row[at..].first_chunk().expect("16 bytes of a row")
}

/// [`in_row`], to write.
#[inline(always)]
fn in_row_mut<const BYTES: usize>(row: &mut [u8; BYTES], at: usize) -> &mut [u8; 16] {
    row[at..].first_chunk_mut().expect("16 bytes of a row")
}

/// Round constants of the key schedule (FIPS 197, section 5.2), in all four columns.
const ROUND_CONSTANTS: [Block; 10] = {
    let bytes = [
        0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36_u128,
    ];
    let mut blocks = [Block::ZERO; 10];
    let mut i = 0;
    while i < 10 {
        blocks[i] = Block::from_u128(bytes[i] * (1 | 1 << 32 | 1 << 64 | 1 << 96));
        i += 1;
    }
    blocks
};

/// Where each byte comes from in [`Lanes::rotated_words`]: AESENCLAST's ShiftRows takes the byte of
/// column c and row r to column c − r, where byte r + 1 of that column's word belongs.
const ROTATED_WORDS: Block = {
    let mut bytes = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (column, row) = (i / 4, i % 4);
        bytes[i] = (4 * ((column + 4 - row) % 4) + (row + 1) % 4) as u8;
        i += 1;
    }
    Block::from_bytes(bytes)
};

/// The high half of a block.
const HIGH_HALF: Block = Block::from_u128((u64::MAX as u128) << 64);

/// The round key after `key`.
#[inline(always)]
fn next_key<L: Lanes>(lanes: L, key: L::Vector, round: usize) -> L::Vector {
    let rotated = lanes.rotated_last_word(key);
    let sums = lanes.xor(key, lanes.up_one_column(key));
    let sums = lanes.xor(sums, lanes.up_two_columns(sums));
    let sums = lanes.xor(sums, lanes.splat(ROUND_CONSTANTS[round]));
    lanes.last_round(rotated, sums)
}

/// Transposes the columns of four vectors, lane by lane: keys to words and back.
#[inline(always)]
fn transpose_columns<L: Lanes>(lanes: L, x: [L::Vector; 4]) -> [L::Vector; 4] {
    let [a, b, c, d] = x;
    let ab_low = lanes.interleave_low_columns(a, b);
    let ab_high = lanes.interleave_high_columns(a, b);
    let cd_low = lanes.interleave_low_columns(c, d);
    let cd_high = lanes.interleave_high_columns(c, d);
    [
        Lanes::low_halves(lanes, ab_low, cd_low),
        Lanes::high_halves(lanes, ab_low, cd_low),
        Lanes::low_halves(lanes, ab_high, cd_high),
        Lanes::high_halves(lanes, ab_high, cd_high),
    ]
}

/// SubWord of the last words' rotation, and the round constant: what the next round key waits for.
#[inline(always)]
fn substituted<L: Lanes>(lanes: L, words: [L::Vector; 4], round: usize) -> L::Vector {
    let constant = lanes.splat(ROUND_CONSTANTS[round]);
    lanes.last_round(lanes.rotated_words(words[3]), constant)
}

/// The words of the round keys after those whose words these are. The sums do not wait for
/// SubWord, so that a round's latency is a shuffle, an AESENCLAST and a XOR.
#[inline(always)]
fn next_words<L: Lanes>(lanes: L, words: [L::Vector; 4], substituted: L::Vector) -> [L::Vector; 4] {
    let [w0, w1, w2, w3] = words;
    let w01 = lanes.xor(w0, w1);
    let w012 = lanes.xor(w01, w2);
    let w0123 = lanes.xor(w012, w3);
    [
        lanes.xor(w0, substituted),
        lanes.xor(w01, substituted),
        lanes.xor(w012, substituted),
        lanes.xor(w0123, substituted),
    ]
}

/// AES under four vectors of keys, each round behind the one of the key schedule, so that no
/// instruction waits for one just before it.
#[inline(always)]
fn encrypt_behind<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    add_keys(lanes, keys, blocks);
    let words = transpose_columns(lanes, *keys);
    let mut words = next_words(lanes, words, substituted(lanes, words, 0));
    let next = substituted(lanes, words, 1);
    let mut keys = transpose_columns(lanes, words);
    words = next_words(lanes, words, next);
    for number in 2..core::hint::black_box(10).min(10) {
        let next = substituted(lanes, words, number);
        round(lanes, &keys, blocks);
        keys = transpose_columns(lanes, words);
        words = next_words(lanes, words, next);
    }
    round(lanes, &keys, blocks);
    last_round(lanes, &transpose_columns(lanes, words), blocks);
}

/// AES under two fours of vectors of keys, after all are expanded: the words of the keys or the
/// states fit into sixteen registers, but not both.
#[inline(always)]
fn encrypt_after<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[[L::Vector; 4]; 2],
    blocks: &mut [[[L::Vector; M]; 4]; 2],
) {
    let mut words = *keys;
    for words in &mut words {
        *words = transpose_columns(lanes, *words);
        *words = next_words(lanes, *words, substituted(lanes, *words, 0));
    }
    let mut round_keys = [const { MaybeUninit::<[[L::Vector; 4]; 2]>::uninit() }; 9];
    // As in `encrypt`, the compiler must not know how many rounds there are.
    let rounds = core::hint::black_box(9).min(9);
    for (number, round_keys) in round_keys[..rounds].iter_mut().enumerate() {
        // SubWord first: all else of the round fills the time that it takes.
        let mut next = [words[0][0]; 2];
        for (next, words) in next.iter_mut().zip(&words) {
            *next = substituted(lanes, *words, number + 1);
        }
        let mut keys = words;
        for ((keys, words), next) in keys.iter_mut().zip(&mut words).zip(next) {
            *keys = transpose_columns(lanes, *words);
            *words = next_words(lanes, *words, next);
        }
        round_keys.write(keys);
    }
    for (keys, blocks) in keys.iter().zip(&mut *blocks) {
        add_keys(lanes, keys, blocks);
    }
    for round_keys in &round_keys[..rounds] {
        // SAFETY: the loop above wrote the first `rounds` of them.
        let round_keys = unsafe { round_keys.assume_init_ref() };
        for (keys, blocks) in round_keys.iter().zip(&mut *blocks) {
            round(lanes, keys, blocks);
        }
    }
    for (words, blocks) in words.into_iter().zip(blocks) {
        last_round(lanes, &transpose_columns(lanes, words), blocks);
    }
}

/// AddRoundKey.
#[inline(always)]
fn add_keys<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    for (states, key) in blocks.iter_mut().zip(keys) {
        for state in states {
            *state = Lanes::xor(lanes, *state, *key);
        }
    }
}

/// A round of AES.
#[inline(always)]
fn round<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    for (states, key) in blocks.iter_mut().zip(keys) {
        for state in states {
            *state = lanes.round(*state, *key);
        }
    }
}

/// The last round of AES.
#[inline(always)]
fn last_round<L: Lanes, const M: usize>(
    lanes: L,
    keys: &[L::Vector; 4],
    blocks: &mut [[L::Vector; M]; 4],
) {
    for (states, key) in blocks.iter_mut().zip(keys) {
        for state in states {
            *state = lanes.last_round(*state, *key);
        }
    }
}

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
            let mut lanes = [Block::ZERO; 4];
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
                *state = Lanes::xor(self, *state, schedule[0]);
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
                    *state = self.round(*state, schedule[round]);
                }
            }
        }
        for (states, schedule) in blocks.iter_mut().zip(&schedules) {
            for state in states {
                *state = self.last_round(*state, schedule[10]);
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
        for (n, state) in blocks.as_flattened_mut().iter_mut().enumerate() {
            let key = self.load_row(kept, |lane| slot(n / 2, lane), KeyedPair::KEYS, n % 2);
            *state = Lanes::xor(self, *state, key);
        }
        // As in `encrypt`, the compiler must not know how many rounds there are.
        for round in 1..core::hint::black_box(10).min(10) {
            for (n, state) in blocks.as_flattened_mut().iter_mut().enumerate() {
                let row = KeyedPair::KEYS + round;
                let key = self.load_row(kept, |lane| slot(n / 2, lane), row, n % 2);
                *state = self.round(*state, key);
            }
        }
        for (n, state) in blocks.as_flattened_mut().iter_mut().enumerate() {
            let row = KeyedPair::KEYS + 10;
            let key = self.load_row(kept, |lane| slot(n / 2, lane), row, n % 2);
            *state = self.last_round(*state, key);
        }
        blocks
    }
}
