//! Small-field VOLE: the streams of a tree's leaves, folded into rows as they are generated.
//!
//! Source: Roy 2022, figure 7 and section 3.1. A leaf's stream is AES-128 under the leaf in counter
//! mode. The sums ⊕_x x·G_x, bit by bit, and ⊕_x G_x take two additions per leaf, in the manner of
//! a binary counter: stream x is the odd one of a pair on as many levels as x ends in ones. On each
//! it is added to that level's row and to its even partner, which was kept.
//!
//! Cost: 2^k cipher calls and 2^(k+1) additions for each 128 OTs and group. No stream is ever
//! written to memory.

use tacit_kernels::{Block, Cpu, Kernel, MAX_LANES, Simd};
use zeroize::Zeroizing;

use super::FieldBits;
use super::tree::Leaves;

/// The number of vectors that are encrypted at once: enough to hide the latency of an AES round.
const IN_FLIGHT: usize = 8;

/// The most blocks in a tile of [`IN_FLIGHT`] vectors.
const MAX_TILE_BLOCKS: usize = IN_FLIGHT * 4;

/// The block of a key's stream that becomes the next key, beyond all blocks that rows use.
pub(crate) const STEP: Block = Block::ONES;

/// An expanded key.
type RoundKeys = [Block; 11];

/// The streams of one tree's leaves.
pub(crate) struct Streams {
    cpu: Cpu,
    /// The base-2 logarithm of the number of leaves.
    width: usize,
    /// Whether leaf 0 is missing and counts as zero.
    punctured: bool,
    keys: Zeroizing<Vec<RoundKeys>>,
}

impl Streams {
    /// Returns all streams of a whole tree.
    pub(crate) fn of_whole(cpu: Cpu, leaves: &Leaves) -> Self {
        Self::of(cpu, leaves, false)
    }

    /// Returns the streams of a punctured tree, in which the unknown one counts as zero.
    pub(crate) fn of_punctured(cpu: Cpu, leaves: &Leaves) -> Self {
        Self::of(cpu, leaves, true)
    }

    fn of(cpu: Cpu, leaves: &Leaves, punctured: bool) -> Self {
        let mut keys = Zeroizing::new(Vec::with_capacity(leaves.len()));
        keys.extend(leaves.iter().map(|&leaf| cpu.dispatch(Expand { leaf })));
        let width = leaves.len().trailing_zeros() as usize;
        debug_assert!(leaves.len() == 1 << width && (1..=FieldBits::MAX).contains(&width));
        Self {
            cpu,
            width,
            punctured,
            keys,
        }
    }

    /// Replaces each key by block [`STEP`] of its stream, which no row uses.
    pub(crate) fn step(&mut self) {
        for keys in self.keys.iter_mut().skip(usize::from(self.punctured)) {
            *keys = self.cpu.dispatch(Step { keys });
        }
    }

    /// Writes the blocks from `first` on of ⊕_x x_b·G_x into row b of `rows`, and those of ⊕_x G_x
    /// into `sum`. Each row is as long as `sum`.
    pub(crate) fn fold(&self, first: u64, rows: &mut [Block], sum: &mut [Block]) {
        debug_assert_eq!(rows.len(), self.width * sum.len());
        self.cpu.dispatch(Fold {
            streams: self,
            first,
            rows,
            sum,
        });
    }
}

/// Expands a key.
struct Expand {
    leaf: Block,
}

impl Kernel for Expand {
    type Output = RoundKeys;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> RoundKeys {
        simd.round_keys(&simd.expand(simd.splat(self.leaf)))
    }
}

/// Computes a key's successor, expanded.
struct Step<'a> {
    keys: &'a RoundKeys,
}

impl Kernel for Step<'_> {
    type Output = RoundKeys;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> RoundKeys {
        let schedule = simd.splat_schedule(self.keys);
        let [[next]] = simd.encrypt([&schedule], [[simd.splat(STEP)]]);
        simd.round_keys(&simd.expand(next))
    }
}

/// Implements [`Streams::fold`].
struct Fold<'a> {
    streams: &'a Streams,
    first: u64,
    rows: &'a mut [Block],
    sum: &'a mut [Block],
}

impl Kernel for Fold<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.streams.width {
            1 => self.run_width::<S, 1>(simd),
            2 => self.run_width::<S, 2>(simd),
            3 => self.run_width::<S, 3>(simd),
            4 => self.run_width::<S, 4>(simd),
            5 => self.run_width::<S, 5>(simd),
            6 => self.run_width::<S, 6>(simd),
            7 => self.run_width::<S, 7>(simd),
            _ => self.run_width::<S, 8>(simd),
        }
    }
}

impl Fold<'_> {
    #[inline(always)]
    fn run_width<S: Simd, const WIDTH: usize>(mut self, simd: S) {
        let length = self.sum.len();
        let mut start = 0;
        while start < length {
            // A tile takes the same time even if little of it is used, as for the block of a call's
            // mask.
            start += if length - start > 2 * S::LANES {
                self.run_tile::<S, WIDTH, IN_FLIGHT>(simd, start)
            } else {
                self.run_tile::<S, WIDTH, 1>(simd, start)
            };
        }
    }

    /// Writes the tile of `VECTORS` vectors that starts with block `start`, and returns its length.
    #[inline(always)]
    fn run_tile<S: Simd, const WIDTH: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        start: usize,
    ) -> usize {
        let length = self.sum.len();
        let used = start..length.min(start + VECTORS * S::LANES);
        let counters = counters::<S, VECTORS>(simd, self.first + start as u64);
        let (rows, sum) = fold_tile::<S, WIDTH, VECTORS>(simd, self.streams, counters);
        for (row, tile) in self.rows.chunks_exact_mut(length).zip(rows) {
            store(simd, tile, &mut row[used.clone()]);
        }
        store(simd, sum, &mut self.sum[used]);
        VECTORS * S::LANES
    }
}

/// Returns a tile of the numbers from `first` on.
#[inline(always)]
fn counters<S: Simd, const VECTORS: usize>(simd: S, first: u64) -> [S::Vector; VECTORS] {
    let mut numbers = [Block::ZERO; MAX_TILE_BLOCKS];
    for (i, number) in (first..).zip(&mut numbers) {
        *number = Block::from_u128(u128::from(i));
    }
    core::array::from_fn(|i| simd.load(&numbers[i * S::LANES..]))
}

/// Computes one tile of all rows and of the sum.
#[inline(always)]
fn fold_tile<S: Simd, const WIDTH: usize, const VECTORS: usize>(
    simd: S,
    streams: &Streams,
    counters: [S::Vector; VECTORS],
) -> ([[S::Vector; VECTORS]; WIDTH], [S::Vector; VECTORS]) {
    let zero = [simd.splat(Block::ZERO); VECTORS];
    let mut rows = [zero; WIDTH];
    let mut waiting = [zero; WIDTH];
    let mut carried = zero;
    for (x, keys) in streams.keys.iter().enumerate() {
        carried = if streams.punctured && x == 0 {
            zero
        } else {
            let [made] = simd.encrypt([&simd.splat_schedule(keys)], [counters]);
            made
        };
        let ones = x.trailing_ones() as usize;
        for (row, even) in rows.iter_mut().zip(&waiting).take(ones) {
            add(simd, row, &carried);
            add(simd, &mut carried, even);
        }
        if let Some(place) = waiting.get_mut(ones) {
            *place = carried;
        }
    }
    (rows, carried)
}

#[inline(always)]
fn add<S: Simd, const VECTORS: usize>(
    simd: S,
    to: &mut [S::Vector; VECTORS],
    what: &[S::Vector; VECTORS],
) {
    for (to, &what) in to.iter_mut().zip(what) {
        *to = simd.xor(*to, what);
    }
}

/// Writes the part of a tile for which `into` has room.
#[inline(always)]
fn store<S: Simd, const VECTORS: usize>(simd: S, tile: [S::Vector; VECTORS], into: &mut [Block]) {
    let mut last = [Block::ZERO; MAX_LANES];
    for (vector, into) in tile.into_iter().zip(into.chunks_mut(S::LANES)) {
        if into.len() == S::LANES {
            simd.store(vector, into);
        } else {
            simd.store(vector, &mut last);
            into.copy_from_slice(&last[..into.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Aes128;

    use super::*;

    /// Computes ⊕_x x_b·G_x for each b, then ⊕_x G_x, by their definitions.
    fn defined(leaves: &Leaves, skipped: usize, first: u64, length: usize) -> Vec<Block> {
        let width = leaves.len().trailing_zeros() as usize;
        let mut expected = vec![Block::ZERO; (width + 1) * length];
        for (x, &leaf) in leaves.iter().enumerate().skip(skipped) {
            let cipher = Aes128::new(Cpu::portable(), leaf);
            for i in 0..length {
                let block = cipher.encrypt(Block::from_u128(u128::from(first) + i as u128));
                for bit in (0..width).filter(|bit| x >> bit & 1 == 1) {
                    expected[bit * length + i] ^= block;
                }
                expected[width * length + i] ^= block;
            }
        }
        expected
    }

    #[test]
    fn every_backend_folds_to_the_sums_over_leaves() {
        for (width, punctured) in (1..=8).flat_map(|w| [(w, false), (w, true)]) {
            let leaves = (0..1u128 << width).map(|x| Block::from_u128(x + 7));
            let leaves = Zeroizing::new(leaves.collect::<Vec<_>>());
            let lengths: &[usize] = if width < 4 {
                &[0, 1, 3, 8, 31, 32, 33, 65]
            } else {
                &[5]
            };
            for &length in lengths {
                let first = u64::from(u32::MAX) - 3;
                let expected = defined(&leaves, usize::from(punctured), first, length);
                for cpu in Cpu::available() {
                    let mut rows = vec![Block::ONES; width * length];
                    let mut sum = vec![Block::ONES; length];
                    Streams::of(cpu, &leaves, punctured).fold(first, &mut rows, &mut sum);
                    assert_eq!([rows, sum].concat(), expected, "{cpu:?}, {width}, {length}");
                }
            }
        }
    }
}
