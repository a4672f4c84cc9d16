//! One lot of OTs as a bit matrix.

use tacit_kernels::{Block, Cpu, transpose_128};
use zeroize::{Zeroize, Zeroizing};

use super::{LOT, LOT_BLOCKS};
use crate::Delta;

/// The working memory for one lot: 128 rows, and the sum of one group's streams.
pub(super) struct Lot {
    cpu: Cpu,
    pub(super) rows: Zeroizing<Vec<Block>>,
    pub(super) sum: Zeroizing<Vec<Block>>,
}

/// The working memory of calls for more than one lot, which the next such call uses again: new
/// memory would be cleared before each call and wiped after it, by one thread.
#[derive(Default)]
pub(super) struct SpareLots(Vec<Lot>);

impl SpareLots {
    /// Returns the memory for `count` lots.
    pub(super) fn take(&mut self, count: usize) -> Vec<Lot> {
        let mut lots = self.0.split_off(self.0.len().saturating_sub(count));
        lots.resize_with(count, Lot::new);
        lots
    }

    /// Keeps the memory of a call for `ots` OTs, if these were more than one lot: a small call does
    /// not grow what an idle session takes.
    ///
    /// It holds rows of these OTs, which the keys of their streams give again. So it is dropped
    /// with these keys.
    pub(super) fn give(&mut self, mut lots: Vec<Lot>, ots: usize) {
        if ots > LOT {
            self.0.append(&mut lots);
        }
    }
}

impl Lot {
    pub(super) fn new() -> Self {
        Self {
            cpu: Cpu::detect(),
            rows: Zeroizing::new(vec![Block::ZERO; Delta::BITS * LOT_BLOCKS]),
            sum: Zeroizing::new(vec![Block::ZERO; LOT_BLOCKS]),
        }
    }

    /// Writes the columns of 128 rows of `length` blocks. Bit j of column i is bit i of row j. The
    /// columns for which `out` has no room, fewer than 128, are dropped.
    pub(super) fn transpose(&self, length: usize, out: &mut [Block]) {
        let rows = &self.rows[..Delta::BITS * length];
        if out.len() == rows.len() {
            transpose_128(self.cpu, rows, out);
        } else {
            let mut columns = Zeroizing::new(vec![Block::ZERO; rows.len()]);
            transpose_128(self.cpu, rows, &mut columns);
            out.copy_from_slice(&columns[..out.len()]);
            columns.zeroize();
        }
    }
}
