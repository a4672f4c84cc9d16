//! One lot of OTs as a bit matrix.

use tacit_kernels::{Block, Cpu, transpose_128};
use zeroize::Zeroizing;

use super::LOT_BLOCKS;
use crate::Delta;

/// Working memory for one lot: 128 rows, and the sum of one group's streams.
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

    /// Appends the columns of 128 rows of `length` blocks: bit j of column i is bit i of row j.
    pub(super) fn transpose(&self, length: usize, out: &mut Vec<Block>) {
        let rows = &self.rows[..Delta::BITS * length];
        let filled = out.len();
        out.resize(filled + rows.len(), Block::ZERO);
        transpose_128(self.cpu, rows, &mut out[filled..]);
    }
}
