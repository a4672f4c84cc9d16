//! Triples from leaky ANDs: buckets by independent shifts, so that a cheating party that knows some
//! x knows none of the sums.
//!
//! This is section 4 of Wang, Ranellucci and Katz (CCS 2017), with the shifts of
//! [`parameters`](super::parameters). A bucket opens y ⊕ y' for each further layer. Then x ⊕ x', y
//! and z ⊕ z' ⊕ (y ⊕ y')x' form a triple again. The MACs of everything that a lot opens are
//! compared, as one fold in each direction, before any triple is available.

mod openings;

use std::ops::Range;

use tacit_kernels::{Block, Prg, Simd, share_out, workers};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::caught::Caught;
use super::columns::{AddOffset, Pass, ROWS, Sum, chunks, each_row, masks, scratch};
use super::epoch::Epoch;
use super::fold::{FOLD_BYTES, Fold};
use super::leaky::LeakyShares;
use super::oracle::{Digest, Domain, compare};
use super::parameters::LotSize;
use super::share::Shares;
use crate::Error;
use crate::bits::{bytes_for, check_bits};
use crate::malicious::shuffle::below;
use crate::message::Kind;
use openings::fold_openings;

/// The triples that a thread makes before it takes the next ones.
const SPAN_ROWS: usize = 16 * ROWS;

/// Leaky ANDs that both parties have found to be equal. Only the equality check makes one.
pub(super) struct CheckedLot {
    pub(super) number: u64,
    pub(super) size: LotSize,
    pub(super) shares: LeakyShares,
    /// Shares of random bits, one for each triple. They are part of no leaky AND.
    pub(super) masks: Shares,
    /// A bit for each leaky AND: whether z must be flipped with respect to its shares.
    pub(super) turned: Vec<u8>,
}

/// AND triples that neither party knows alone: ⟨x⟩, ⟨y⟩, ⟨z⟩ with z = xy, each with a random
/// ⟨mask⟩. Only checked buckets make them, and the stock keeps them.
#[derive(Default)]
pub(super) struct Triples {
    /// A number that is unique in the epoch: the lot's number or, for triples from a stock, that of
    /// the first block read for them.
    pub(super) number: u64,
    pub(super) x: Shares,
    pub(super) y: Shares,
    pub(super) z: Shares,
    /// One mask for each triple. The other columns may be longer and hold old data after the
    /// triples: if they were cut, they would be filled again for the next lot.
    pub(super) masks: Shares,
}

impl Triples {
    /// Returns the number of triples.
    pub(super) fn len(&self) -> usize {
        self.masks.macs.len()
    }
}

/// A lot with its shifts, and this party's openings.
pub(super) struct Bucketed {
    lot: CheckedLot,
    buckets: Buckets,
    /// This party's bits of the openings.
    own: Zeroizing<Vec<u8>>,
}

/// A lot whose buckets opened correctly. Only the check of openings makes one.
pub(crate) struct OpenBuckets {
    lot: CheckedLot,
    buckets: Buckets,
    /// The bits that both parties opened.
    opened: Vec<u8>,
}

/// The assignment of items to buckets.
struct Buckets {
    triples: usize,
    /// The shift of each layer but the first.
    shifts: Vec<usize>,
}

/// A run of openings of consecutive items.
struct Piece {
    /// Their position in the requested range.
    at: Range<usize>,
    /// Their items in the first layer.
    first: Range<usize>,
    /// Their items in the other layer.
    item: Range<usize>,
}

impl CheckedLot {
    /// Shifts the layers by a coin that both parties tossed after the check, and writes this
    /// party's openings into `message`.
    pub(super) fn open(self, epoch: &Epoch, coin: &Digest, message: &mut Vec<u8>) -> Bucketed {
        let buckets = Buckets::drawn(self.size, coin);
        let macs = epoch.oracle(Domain::BucketMacs, Some(epoch.role()), self.number);
        let (mut macs, y) = (Fold::new(macs), &self.shares.y.macs);
        let (threads, openings) = (epoch.threads(), self.size.openings());
        let own = fold_openings(&mut macs, threads, openings, |range, sums| {
            for piece in buckets.pieces(range) {
                let inputs = [&y[piece.first], &y[piece.item]];
                each_row(Sum, inputs, [&mut sums[piece.at]]);
            }
        });
        message.clear();
        message.extend_from_slice(&own);
        message.extend_from_slice(&macs.finish()[0]);
        let lot = self;
        Bucketed { lot, buckets, own }
    }
}

impl Bucketed {
    /// Checks the other party's openings and returns the lot with them.
    pub(super) fn check(self, epoch: &Epoch, others: &[u8]) -> Result<OpenBuckets, Error> {
        let openings = self.lot.size.openings();
        let (others, digest) = others.split_at(bytes_for(openings));
        check_bits(Kind::TripleOpenings, others, openings)?;
        compare(&self.expected(epoch, others), digest, Caught::Buckets)?;
        let opened = self.own.iter().zip(others).map(|(a, b)| a ^ b).collect();
        let Self { lot, buckets, .. } = self;
        Ok(OpenBuckets {
            lot,
            buckets,
            opened,
        })
    }

    /// Returns the fold of the MACs that the other party must have for its bits.
    fn expected(&self, epoch: &Epoch, others: &[u8]) -> [u8; FOLD_BYTES] {
        let role = epoch.role().other();
        let mut macs = Fold::new(epoch.oracle(Domain::BucketMacs, Some(role), self.lot.number));
        let (keys, delta) = (&self.lot.shares.y.keys, epoch.delta());
        let (threads, openings) = (epoch.threads(), self.lot.size.openings());
        // Bit 0 of the MAC that the other party must have is the bit that it opened.
        fold_openings(&mut macs, threads, openings, |range, sums| {
            masks(others, range.start, sums);
            for piece in self.buckets.pieces(range) {
                let inputs = [&keys[piece.first], &keys[piece.item]];
                each_row(MaskToMac(delta), inputs, [&mut sums[piece.at]]);
            }
        });
        let [macs] = macs.finish();
        macs
    }
}

impl OpenBuckets {
    /// Returns the triples. Each item of the first layer is added to the other items of its bucket,
    /// and z is flipped for each item that is to be flipped.
    pub(super) fn triples(self, epoch: &Epoch) -> Triples {
        let Self {
            lot,
            buckets,
            opened,
        } = self;
        let (number, triples) = (lot.number, lot.size.triples);
        let LeakyShares { mut x, y, mut z } = lot.shares;
        let one = Zeroizing::new(epoch.one());
        let columns = [&mut x.macs, &mut z.macs, &mut x.keys, &mut z.keys];
        let [x_macs, z_macs, x_keys, z_keys] = columns.map(|column| column.split_at_mut(triples));
        let sums = BucketSums {
            buckets: &buckets,
            turned: &lot.turned,
            opened: &opened,
            halves: [
                (&one.mac, x_macs.1, z_macs.1),
                (&one.key, x_keys.1, z_keys.1),
            ],
        };
        let rows = |column| <[Block]>::chunks_mut(column, SPAN_ROWS);
        let macs = rows(x_macs.0).zip(rows(z_macs.0));
        let keys = rows(x_keys.0).zip(rows(z_keys.0));
        let mut scratches: Vec<_> = workers(epoch.threads())
            .iter()
            .map(|()| scratch())
            .collect();
        let spans = (0..triples).step_by(SPAN_ROWS).zip(macs.zip(keys));
        share_out(&mut scratches, spans, |scratch, (first, (macs, keys))| {
            sums.add_items(first, [macs, keys], scratch);
        });
        let masks = lot.masks;
        Triples {
            number,
            x,
            y,
            z,
            masks,
        }
    }
}

/// The items of all layers but the first, which are added to those of the first.
struct BucketSums<'a> {
    buckets: &'a Buckets,
    /// Whether z must be flipped, for the items of all layers.
    turned: &'a [u8],
    opened: &'a [u8],
    /// This party's half of a public 1, and the items' x and z: MACs, and then keys.
    halves: [(&'a Block, &'a [Block], &'a [Block]); 2],
}

impl BucketSums<'_> {
    /// Adds items to those of the first layer from `first` on, whose x and z are in `sums`: MACs,
    /// and then keys.
    fn add_items(
        &self,
        first: usize,
        mut sums: [(&mut [Block], &mut [Block]); 2],
        [bits, turned]: &mut [Outputs; 2],
    ) {
        let triples = self.buckets.triples;
        // Work through all layers of some rows before the next rows, so that sums stay in the
        // cache.
        for rows in chunks(sums[0].0.len()) {
            let range = first + rows.start..first + rows.end;
            let turns = &mut turned[..range.len()];
            masks(self.turned, range.start, turns);
            for ((_, z), (one, ..)) in sums.iter_mut().zip(self.halves) {
                each_row(AddOffset(one), [&*turns], [&mut z[rows.clone()]]);
            }
            for layer in 0..self.buckets.shifts.len() {
                let openings = layer * triples + range.start..layer * triples + range.end;
                masks(self.opened, openings.start, &mut bits[..range.len()]);
                for Piece {
                    at,
                    first: of,
                    item,
                } in self.buckets.pieces(openings)
                {
                    let (bits, turns) = (&bits[at], &mut turned[..item.len()]);
                    masks(self.turned, item.start, turns);
                    let item = item.start - triples..item.end - triples;
                    let own = of.start - first..of.end - first;
                    for ((x, z), (one, x_items, z_items)) in sums.iter_mut().zip(self.halves) {
                        let (x_item, z_item) = (&x_items[item.clone()], &z_items[item.clone()]);
                        let into = [&mut x[own.clone()], &mut z[own.clone()]];
                        each_row(AddItem(one), [bits, &*turns, x_item, z_item], into);
                    }
                }
            }
        }
    }
}

impl Buckets {
    /// Draws a shift for each layer but the first.
    fn drawn(LotSize { triples, layers }: LotSize, coin: &Digest) -> Self {
        let mut prg = Prg::from_seed(coin);
        let shift = |_| below(&mut prg, triples as u64) as usize;
        Self {
            triples,
            shifts: (1..layers).map(shift).collect(),
        }
    }

    /// Returns the openings of `range`, cut where one of their two items is not followed by the
    /// next item. Opening `layer · n + i` belongs to item i of the first layer and to the item of
    /// its bucket in the other layer.
    fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = Piece> {
        let Self { triples, shifts } = self;
        let mut opening = range.start;
        std::iter::from_fn(move || {
            let (layer, first) = (opening / triples, opening % triples);
            let shift = shifts.get(layer).filter(|_| opening < range.end)?;
            let turned = (first + shift) % triples;
            let left = range.end - opening;
            let count = left.min(triples - first.max(turned));
            let (at, item) = (opening - range.start, (layer + 1) * triples + turned);
            opening += count;
            Some(Piece {
                at: at..at + count,
                first: first..first + count,
                item: item..item + count,
            })
        })
    }
}

/// A pass that replaces the mask of an opened bit by the MAC that the other party must have for the
/// sum of two shares, from this party's keys: K ⊕ K' ⊕ bit·Δ.
struct MaskToMac<'a>(&'a Block);

impl Pass<2, 1> for MaskToMac<'_> {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, [a, b]: [S::Vector; 2], [mac]: &mut [S::Vector; 1]) {
        let delta = simd.and(*mac, simd.splat(*self.0));
        *mac = simd.xor(simd.xor(a, b), delta);
    }
}

/// A pass that takes the opened bit, an item of the bucket (x' and z'), and whether that item is
/// flipped, and computes x ⊕ x' and z ⊕ z' ⊕ bit·x'. It holds this half of a public 1.
struct AddItem<'a>(&'a Block);

impl Pass<4, 2> for AddItem<'_> {
    #[inline(always)]
    fn row<S: Simd>(
        &self,
        simd: S,
        [bit, turn, x_item, z_item]: [S::Vector; 4],
        [x, z]: &mut [S::Vector; 2],
    ) {
        let turned = simd.xor(z_item, simd.and(turn, simd.splat(*self.0)));
        *x = simd.xor(*x, x_item);
        *z = simd.xor(simd.xor(*z, turned), simd.and(x_item, bit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound on cheats counts every pair of shifts equally often (`parameters.rs`). Here it is
    /// counted from the shifts that are drawn: with one shift for all layers, or with shifts that
    /// depend on each other, a pair would be rare.
    #[test]
    fn each_layer_is_shifted_independently_of_the_others() {
        const COINS: u32 = 5_000;
        let size = LotSize {
            triples: 5,
            layers: 4,
        };
        let mut counts = [[0_u32; 25]; 3];
        for number in 0..COINS {
            let mut coin = [0; 32];
            coin[..4].copy_from_slice(&number.to_le_bytes());
            let Buckets { shifts, .. } = Buckets::drawn(size, &coin);
            let [a, b, c] = shifts[..] else {
                panic!("a shift for each layer but the first: {shifts:?}");
            };
            for (counts, [a, b]) in counts.iter_mut().zip([[a, b], [a, c], [b, c]]) {
                counts[5 * a + b] += 1;
            }
        }
        // 200 times each, with a deviation of 14.
        let all = counts.as_flattened();
        assert!(all.iter().all(|n| (110..290).contains(n)), "{counts:?}");
    }
}
