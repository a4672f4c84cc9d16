//! The fold of the MACs of a lot's openings, on several threads.
//!
//! The coefficients of a chunk depend on all bits up to its end, so one thread computes the seeds.
//! The others compute MACs before it, and their sums after it. The fold does not depend on the
//! number of threads.

use std::num::NonZeroUsize;
use std::ops::Range;

use tacit_kernels::{Block, share_out, workers};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::columns::{ROWS, bit_bytes};
use super::super::fold::{Fold, FoldPart};
use super::super::leaky::{push_lsbs, zero_blocks};
use super::super::lot::pieces;
use super::super::oracle::Digest;
use crate::bits::{BitWriter, bytes_for};

/// The rows of a thread in a turn of all threads. One thread works on [`ROWS`], which stay in the
/// first-level cache.
const ROWS_OF_THREAD: usize = 16 * ROWS;

/// The openings of a thread in a turn.
struct Span {
    range: Range<usize>,
    macs: Outputs,
    bits: Zeroizing<Vec<u8>>,
    seeds: Vec<Digest>,
}

impl Span {
    /// Returns the chunks of rows, counted from the span's first.
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        pieces(0..self.range.len(), ROWS)
    }

    /// Writes the MACs and their bits.
    fn write(&mut self, macs_of: &impl Fn(Range<usize>, &mut [Block])) {
        let mut bits = BitWriter::with_capacity(self.range.len());
        for chunk in self.chunks() {
            let first = self.range.start;
            let macs = &mut self.macs[chunk.clone()];
            macs_of(first + chunk.start..first + chunk.end, macs);
            push_lsbs(&mut bits, macs);
        }
        self.bits = bits.take();
    }

    /// Adds the MACs to `part`.
    fn add_to(&self, part: &mut FoldPart<1>) {
        for (chunk, seed) in self.chunks().zip(&self.seeds) {
            part.add(seed, [&self.macs[chunk]]);
        }
    }
}

/// Adds `count` openings to `fold`, and returns the bit 0 of their MACs, which are the opened bits.
/// `macs_of` writes the MACs of a range of openings, at most [`ROWS`].
pub(super) fn fold_openings(
    fold: &mut Fold<1>,
    threads: NonZeroUsize,
    count: usize,
    macs_of: impl Fn(Range<usize>, &mut [Block]) + Sync,
) -> Zeroizing<Vec<u8>> {
    let rows = match threads.get() {
        1 => ROWS,
        _ => ROWS_OF_THREAD,
    };
    let span = |()| Span {
        range: 0..0,
        macs: zero_blocks(rows),
        bits: Zeroizing::default(),
        seeds: Vec::new(),
    };
    let mut spans: Vec<_> = workers(threads).into_iter().map(span).collect();
    let parts = workers(threads).into_iter().map(|()| FoldPart::new());
    let mut parts: Vec<_> = parts.collect();
    let mut opened = Zeroizing::new(Vec::with_capacity(bytes_for(count)));
    for turn in pieces(0..count, rows * threads.get()) {
        let mut filled = 0;
        for (span, range) in spans.iter_mut().zip(pieces(turn, rows)) {
            span.range = range;
            filled += 1;
        }
        let spans = &mut spans[..filled];
        share_out(&mut workers(threads), spans.iter_mut(), |(), span| {
            span.write(&macs_of);
        });
        for span in &mut *spans {
            let bits = span.chunks().map(|chunk| &span.bits[bit_bytes(&chunk)]);
            span.seeds = bits.map(|bits| fold.seed_after(&[bits])).collect();
            opened.extend_from_slice(&span.bits);
        }
        share_out(&mut parts, spans.iter(), |part, span| span.add_to(part));
    }
    fold.collect(&parts);
    opened
}
