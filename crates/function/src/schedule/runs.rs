//! The locations of elements in runs (see `plan::streams`).

use core::ops::Range;
use std::collections::BTreeMap;

use super::walk::{Source, Span};
use crate::plan::Array;

/// Consecutive granules of an array that are in consecutive instances of a block, from the source's
/// on: the first `width` bits in the first instance, and so on.
#[derive(Clone, Copy, Debug)]
struct HeldRun {
    /// The granule after the last one.
    end: usize,
    source: Source,
    /// The row of the first bit in each instance.
    row: u32,
    /// The bits in each instance.
    width: u32,
}

/// All runs, by their first granule.
#[derive(Debug, Default)]
pub(super) struct HeldRuns(BTreeMap<usize, HeldRun>);

impl HeldRuns {
    /// Returns the number of runs.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the first granule of a granule's run, and the run. The check has found each granule
    /// to be assigned before it is read.
    fn of(&self, granule: usize) -> (usize, &HeldRun) {
        let run = self.0.range(..=granule).next_back();
        let (first, run) = run.expect("an element that was assigned");
        (*first, run)
    }

    /// Iterates over the locations of an array's granule.
    pub(super) fn spans(&self, array: &Array, granule: usize) -> impl Iterator<Item = Span> {
        let (first, run) = self.of(granule);
        let width = u64::from(run.width);
        let mut at = (granule - first) as u64 * u64::from(array.granule);
        let end = at + u64::from(array.granule);
        std::iter::from_fn(move || {
            let (instance, skipped) = (at / width, at % width);
            let bits = (width - skipped).min(end - at);
            let mut source = run.source;
            // The block has no more than 2^32 instances, and a row has a number of 32 bits.
            source.instance += instance as u32;
            at += bits;
            (bits > 0).then_some(Span {
                bits: bits as u32,
                source,
                row: run.row + skipped as u32,
            })
        })
    }

    /// Adds an array's granules, of which the first `width` bits are at `first`, and the next ones
    /// at the same rows of the next instance. They lengthen the run before them if they continue
    /// it.
    pub(super) fn add(&mut self, array: &Array, granules: Range<usize>, first: Span) {
        let Range { start, end } = granules;
        let (source, row, width) = (first.source, first.row, first.bits);
        if start > array.first
            && let Some((from, run)) = self.0.range_mut(..start).next_back()
            && run.end == start
            && (run.source.block, run.row, run.width) == (source.block, row, width)
        {
            let instances = (start - from) as u64 * u64::from(array.granule) / u64::from(width);
            if u64::from(run.source.instance) + instances == u64::from(source.instance) {
                run.end = end;
                return;
            }
        }
        let run = HeldRun {
            end,
            source,
            row,
            width,
        };
        self.0.insert(start, run);
    }

    /// Lengthens the run that ends at a granule.
    pub(super) fn lengthen(&mut self, end: usize, granules: usize) {
        if let Some((_, run)) = self.0.range_mut(..end).next_back() {
            run.end += granules;
        }
    }

    /// Returns for how many more reads, each of the granules behind those of the read before, the
    /// locations are those of this read, moved by as many instances each time.
    pub(super) fn ahead(&self, array: &Array, granules: &Range<usize>) -> u64 {
        let (_, run) = self.of(granules.start);
        let moved = granules.len() as u64 * u64::from(array.granule);
        if !moved.is_multiple_of(run.width.into()) {
            return 0;
        }
        (run.end.saturating_sub(granules.end) / granules.len()) as u64
    }
}
