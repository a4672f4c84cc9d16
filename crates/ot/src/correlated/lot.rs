//! One lot of OTs as a bit matrix.

use tacit_kernels::{Block, Cpu, transpose_128};
use zeroize::{Zeroize, Zeroizing};

use super::LOT_BLOCKS;
use crate::Delta;

/// The working memory for one lot: 128 rows, and the sum of one group's streams.
pub(super) struct Lot {
    cpu: Cpu,
    pub(super) rows: Zeroizing<Vec<Block>>,
    pub(super) sum: Zeroizing<Vec<Block>>,
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
