//! Vectors of blocks: the operations of a kernel, on any backend.

use crate::{Block, KeyedPair, Numbered, SlotView};

/// The number of lanes of the widest vector: [`BlockVectors::LANES`] divides it. A buffer for one
/// vector has this many blocks.
pub const MAX_LANES: usize = 4;

/// Restricts [`Simd`] to this crate's backends, whose tokens prove the CPU's features.
pub trait Sealed {}

/// Moves of blocks into vectors and out of them, and operations of one or a few instructions.
pub trait BlockVectors: Sealed + Copy + Send + Sync + 'static {
    /// The number of blocks in a vector: 1, 2 or 4.
    const LANES: usize;

    /// A vector of blocks.
    type Vector: Copy;

    /// Returns a vector with `block` in each lane.
    fn splat(self, block: Block) -> Self::Vector;

    /// Loads the first [`BlockVectors::LANES`] blocks of `from`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn load(self, from: &[Block]) -> Self::Vector;

    /// Writes the lanes of `vector` to the first blocks of `into`.
    ///
    /// # Panics
    ///
    /// If there are fewer than [`BlockVectors::LANES`].
    fn store(self, vector: Self::Vector, into: &mut [Block]);

    /// Returns the vector with block `index(i)` of `from` in lane `i`. Indices are public.
    ///
    /// # Panics
    ///
    /// If `from` has no block with such a number.
    fn gather<T: Numbered + ?Sized>(self, from: &T, index: impl Fn(usize) -> usize)
    -> Self::Vector;

    /// Writes lane `i` of `vector` to block `index(i)` of `into`, in order. Indices are public.
    ///
    /// # Panics
    ///
    /// If `into` has no block with such a number.
    fn scatter<T: Numbered + ?Sized>(
        self,
        vector: Self::Vector,
        into: &mut T,
        index: impl Fn(usize) -> usize,
    );

    /// Returns in every lane the sum of two blocks. They are the first two lanes of the only
    /// vector, whose other lanes repeat the second; or two vectors, if vectors have one lane.
    ///
    /// # Panics
    ///
    /// If a vector has one lane and there are not two vectors.
    fn sum_of_pair<const N: usize>(self, pair: [Self::Vector; N]) -> Self::Vector;

    /// Writes lane 0.
    fn store_first(self, vector: Self::Vector, into: &mut Block);

    /// Reads 32 bytes per lane: lane `i` of the first vector is block 2i, of the second 2i + 1.
    ///
    /// # Panics
    ///
    /// If `from` has fewer bytes.
    fn load_pairs(self, from: &[u8]) -> (Self::Vector, Self::Vector);

    /// Writes 32 bytes per lane, in the order in which [`BlockVectors::load_pairs`] reads them.
    ///
    /// # Panics
    ///
    /// If `into` has fewer bytes.
    fn store_pairs(self, first: Self::Vector, second: Self::Vector, into: &mut [u8]);

    /// Reads 16 bytes per lane: lane `i` is those from byte `at` of row `i` on.
    ///
    /// # Panics
    ///
    /// If there are fewer than [`BlockVectors::LANES`] rows, or fewer bytes in one.
    fn load_rows<const BYTES: usize>(self, rows: &[[u8; BYTES]], at: usize) -> Self::Vector;

    /// Writes 16 bytes per lane, in the order in which [`BlockVectors::load_rows`] reads them.
    ///
    /// # Panics
    ///
    /// If there are fewer than [`BlockVectors::LANES`] rows, or fewer bytes in one.
    fn store_rows<const BYTES: usize>(
        self,
        vector: Self::Vector,
        rows: &mut [[u8; BYTES]],
        at: usize,
    );

    /// Returns the exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns the conjunction.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns all ones in each lane whose bit 0 is set, all zeros in the others.
    fn lsb_mask(self, a: Self::Vector) -> Self::Vector;

    /// Returns all ones in each 64-bit half whose bit 63 is set, all zeros in the others.
    fn msb_masks_of_halves(self, a: Self::Vector) -> Self::Vector;

    /// Returns the low 64-bit halves of each lane of `a` and of `b`, in this order.
    fn low_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns the high 64-bit halves of each lane of `a` and of `b`, in this order.
    fn high_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns the low 64-bit half of each lane of `low`, and the high one of `high`.
    fn halves(self, low: Self::Vector, high: Self::Vector) -> Self::Vector;

    /// Shifts each 64-bit half towards its bit 63 by `BITS`, 1 to 63.
    fn shift_up<const BITS: i32>(self, a: Self::Vector) -> Self::Vector;

    /// Shifts each 64-bit half towards its bit 0 by `BITS`, 1 to 63.
    fn shift_down<const BITS: i32>(self, a: Self::Vector) -> Self::Vector;

    /// Exchanges the 64-bit halves of each lane.
    fn swap_halves(self, a: Self::Vector) -> Self::Vector;

    /// Adds the 64-bit halves, each modulo 2^64.
    fn add_halves(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns two vectors as *pairs*: two vectors in which lane 2i + b, counted through both, is
    /// lane i of `vectors[b]`.
    fn zip(self, vectors: [Self::Vector; 2]) -> [Self::Vector; 2];

    /// Returns the vectors that [`BlockVectors::zip`] converts to these pairs.
    fn unzip(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2];

    /// Returns in both lanes of each pair the first one.
    fn first_of_pairs(self, pairs: [Self::Vector; 2]) -> [Self::Vector; 2];
}

/// A backend's operations on vectors of [`BlockVectors::LANES`] blocks.
///
/// The value is a token: its holder runs on a CPU with the backend's instructions. Operations on
/// arrays of vectors work on all of them at once, so that the CPU always has independent
/// instructions to issue: 8 vectors in flight hide the latency of an AES round.
pub trait Simd: BlockVectors {
    /// The round keys of [`BlockVectors::LANES`] AES-128 keys, one per lane.
    type Schedule: Copy;

    /// Returns the low 64-bit half of each lane, in both halves.
    fn low_twice(self, a: Self::Vector) -> Self::Vector;

    /// Returns the high 64-bit half of each lane, in both halves.
    fn high_twice(self, a: Self::Vector) -> Self::Vector;

    /// Returns the carry-less product of the low 64-bit halves of each lane, 127 bits.
    fn multiply_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns the carry-less product of the high 64-bit halves of each lane.
    fn multiply_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns the sum of the two carry-less products of a low half with the other's high half.
    fn multiply_cross(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Computes σ of each lane: (high ‖ low) becomes (high ⊕ low ‖ high), an orthomorphism.
    fn sigma(self, a: Self::Vector) -> Self::Vector;

    /// Transposes the square of 16 × 16 bytes in each lane of `rows`.
    fn transpose_bytes(self, rows: &mut [Self::Vector; 16]);

    /// Expands a vector of keys.
    fn expand(self, keys: Self::Vector) -> Self::Schedule;

    /// Expands four vectors of keys into `schedules` together, in less time than one after the
    /// other.
    fn expand_four(self, keys: [Self::Vector; 4], schedules: &mut [Self::Schedule; 4]);

    /// Returns a schedule with these round keys in every lane.
    fn splat_schedule(self, round_keys: &[Block; 11]) -> Self::Schedule;

    /// Returns the round keys of lane 0.
    fn round_keys(self, schedule: &Self::Schedule) -> [Block; 11];

    /// Computes AES-128 of all vectors, `blocks[i][..]` under `schedules[i]`.
    fn encrypt<const N: usize, const M: usize>(
        self,
        schedules: [&Self::Schedule; N],
        blocks: [[Self::Vector; M]; N],
    ) -> [[Self::Vector; M]; N];

    /// Computes AES-128 of all vectors, `blocks[i][j][..]` under `keys[i][j]`, and expands the keys
    /// in the same step. Four vectors of keys are expanded together; several fours hide each
    /// other's latency.
    fn encrypt_rekeyed<const G: usize, const M: usize>(
        self,
        keys: [[Self::Vector; 4]; G],
        blocks: [[[Self::Vector; M]; 4]; G],
    ) -> [[[Self::Vector; M]; 4]; G];

    /// Returns the labels in the slots that `slot` gives for each lane, as pairs. Slots are public.
    fn pairs(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize) -> usize,
    ) -> [Self::Vector; 2];

    /// Writes two times pairs of labels to the slots that `slot` gives for each number and lane,
    /// and expands `keys`, which belong to them. Slots are public.
    fn keep_pairs(
        self,
        labels: [[Self::Vector; 2]; 2],
        keys: [[Self::Vector; 2]; 2],
        kept: &mut SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
    );

    /// Computes AES-128 of `N` times pairs of blocks, under the keys that [`Simd::keep_pairs`]
    /// expanded into the slots that `slot` gives for each number and lane. Slots are public.
    fn encrypt_pairs<const N: usize>(
        self,
        kept: &SlotView<'_, KeyedPair>,
        slot: impl Fn(usize, usize) -> usize,
        blocks: [[Self::Vector; 2]; N],
    ) -> [[Self::Vector; 2]; N];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aes128, Cpu, Kernel};

    /// Four lanes without a pattern.
    const LANES: [u128; 4] = [
        0x8f3a_0000_1111_2222_7333_4444_5555_6661,
        0x0123_4567_89ab_cdef_8edc_ba98_7654_3210,
        0xffff_0000_ffff_0000_f000_0000_0000_000f,
        0x7000_0000_0000_0000_0000_0000_0000_0000,
    ];

    /// Applies the operations on halves to the first lanes, and moves lanes through rows.
    struct Halves;

    impl Kernel for Halves {
        type Output = Vec<[u128; 11]>;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Vec<[u128; 11]> {
            let a = simd.load(&LANES.map(Block::from_u128));
            let mut rows = [[0; 21]; 4];
            simd.store_rows(a, &mut rows, 5);
            let found = [
                simd.halves(a, simd.swap_halves(a)),
                simd.msb_masks_of_halves(a),
                simd.low_twice(a),
                simd.high_twice(a),
                simd.swap_halves(a),
                simd.sigma(a),
                simd.load_rows(&rows, 5),
                simd.low_halves(a, simd.swap_halves(a)),
                simd.high_halves(a, simd.swap_halves(a)),
                simd.shift_up::<5>(a),
                simd.shift_down::<16>(a),
            ];
            let lanes = found.map(|vector| {
                let mut lanes = [Block::ZERO; 4];
                simd.store(vector, &mut lanes);
                lanes
            });
            for (row, lane) in rows.iter().zip(LANES).take(S::LANES) {
                assert_eq!(row[..5], [0; 5]);
                assert_eq!(row[5..], lane.to_le_bytes());
            }
            (0..S::LANES)
                .map(|lane| lanes.map(|lanes| lanes[lane].to_u128()))
                .collect()
        }
    }

    #[test]
    fn halves_and_rows_are_the_same_on_every_backend() {
        for cpu in Cpu::available() {
            for (found, lane) in cpu.dispatch(Halves).into_iter().zip(LANES) {
                let (low, high) = (lane & u128::from(u64::MAX), lane >> 64);
                let mask = |half: u128| (half >> 63) * u128::from(u64::MAX);
                let expected = [
                    low | low << 64,
                    mask(low) | mask(high) << 64,
                    low | low << 64,
                    high | high << 64,
                    high | low << 64,
                    high | (low ^ high) << 64,
                    lane,
                    low | high << 64,
                    high | low << 64,
                    u128::from((low as u64) << 5) | u128::from((high as u64) << 5) << 64,
                    low >> 16 | (high >> 16) << 64,
                ];
                assert_eq!(found, expected, "{cpu:?}");
            }
        }
    }

    /// Gathers lanes backwards, and converts them to pairs and back.
    struct Moves;

    impl Kernel for Moves {
        type Output = (Vec<u128>, Vec<u8>, [Vec<u128>; 2]);

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let from = LANES.map(Block::from_u128);
            let backwards = simd.gather(&from, |lane| S::LANES - 1 - lane);
            let forwards = simd.load(&from);
            let mut pairs = vec![0; 32 * S::LANES + 1];
            simd.store_pairs(backwards, forwards, &mut pairs);
            let (first, second) = simd.load_pairs(&pairs);
            let lanes = |vector| {
                let mut lanes = [Block::ZERO; 4];
                simd.store(vector, &mut lanes);
                let lanes = lanes.iter().take(S::LANES);
                lanes.map(|lane| lane.to_u128()).collect()
            };
            (lanes(backwards), pairs, [lanes(first), lanes(second)])
        }
    }

    #[test]
    fn lanes_are_gathered_and_paired_the_same_on_every_backend() {
        for cpu in Cpu::available() {
            let (gathered, pairs, halves) = cpu.dispatch(Moves);
            let forwards = &LANES[..gathered.len()];
            let backwards: Vec<u128> = forwards.iter().rev().copied().collect();
            assert_eq!(gathered, backwards, "{cpu:?}");
            let rows = backwards.iter().zip(forwards).flat_map(|(a, b)| [a, b]);
            let expected = rows.flat_map(|block| block.to_le_bytes()).chain([0]);
            assert!(pairs.into_iter().eq(expected), "{cpu:?}");
            assert_eq!(halves, [backwards, forwards.to_vec()], "{cpu:?}");
        }
    }

    /// Keeps pairs of labels in slots, reads them back and converts them from pairs, and encrypts
    /// blocks under their keys: for two gates, from lane 0 on.
    struct Kept;

    impl Kernel for Kept {
        type Output = Vec<[[Block; 2]; 4]>;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let blocks = LANES.map(Block::from_u128);
            let first = simd.load(&blocks);
            let second = simd.xor(first, simd.splat(Block::ONES));
            let labels = simd.zip([first, second]);
            // The keys differ from the labels, as labels without their select bits do.
            let mask = simd.splat(KEPT_BITS);
            let keys = [simd.and(labels[0], mask), simd.and(labels[1], mask)];
            let mut kept = [KeyedPair::default(); 16];
            let kept = &mut SlotView::new(&mut kept);
            // There is one slot between any two, and flags above.
            let slot = |n: usize, lane: usize| (1 << 31) | (2 * (n * S::LANES + lane));
            simd.keep_pairs([labels, labels], [keys, keys], kept, slot);
            let read = simd.pairs(kept, |lane| slot(1, lane));
            let hashes = simd.encrypt_pairs(kept, slot, [simd.first_of_pairs(labels), labels]);
            let rows = [read, hashes[0], hashes[1], simd.first_of_pairs(read)];
            let mut found = vec![[[Block::ZERO; 2]; 4]; S::LANES];
            for (row, pairs) in rows.into_iter().enumerate() {
                for (side, vector) in simd.unzip(pairs).into_iter().enumerate() {
                    let mut lanes = [Block::ZERO; 4];
                    simd.store(vector, &mut lanes);
                    for (found, lane) in found.iter_mut().zip(lanes) {
                        found[row][side] = lane;
                    }
                }
            }
            found
        }
    }

    /// The bits of a label that make its key in the test below.
    const KEPT_BITS: Block = Block::from_u128(!1);

    #[test]
    fn kept_keys_encrypt_as_their_labels_do_on_every_backend() {
        for cpu in Cpu::available() {
            let found = cpu.dispatch(Kept);
            for (found, lane) in found.into_iter().zip(LANES.map(Block::from_u128)) {
                let labels = [lane, lane ^ Block::ONES];
                let call = |side: usize, block: Block| {
                    Aes128::new(cpu, labels[side] & KEPT_BITS).encrypt(block)
                };
                let expected = [
                    labels,
                    [call(0, lane), call(1, lane)],
                    [call(0, labels[0]), call(1, labels[1])],
                    [lane, lane],
                ];
                assert_eq!(found, expected, "{cpu:?}");
            }
        }
    }
}
