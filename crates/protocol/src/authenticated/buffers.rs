//! Buffers that successive lots reuse.
//!
//! A lot uses up to 180 MB. If each lot took new memory, the system would zero it page by page and
//! the lot would wipe it, which together takes longer than filling it. New columns have large
//! pages, which the system provides faster, and which the threads that write to them touch first.
//! Columns are wiped when the run ends. The epoch keeps
//! [`KEPT_BYTES`] of them for its next run.

use tacit_kernels::{Block, hint_large_pages, zero_blocks};
use tacit_ot::Outputs;
use zeroize::Zeroize;

use super::share::Shares;

/// The largest memory that an epoch keeps between runs, wiped, in bytes.
const KEPT_BYTES: usize = 32 << 20;

/// Columns that are not in use.
#[derive(Default)]
pub(super) struct Buffers(Vec<Outputs>);

impl Buffers {
    /// Returns a column of `rows` rows. It may hold old blocks, so the caller must write all of it.
    pub(super) fn take(&mut self, rows: usize) -> Outputs {
        let mut column = self.take_longer(rows);
        column.truncate(rows);
        column
    }

    /// Returns a column of at least `rows` rows. A column that were cut would have to be filled
    /// with zeros again before its next use at the old length.
    fn take_longer(&mut self, rows: usize) -> Outputs {
        let fits = |(_, column): &(usize, &Outputs)| column.capacity() >= rows;
        let fitting = self.0.iter().enumerate().filter(fits);
        let Some((i, _)) = fitting.min_by_key(|(_, column)| column.capacity()) else {
            // Rounded up, so that pieces of a run that differ by a block or two use the same
            // columns.
            let step = (rows.next_power_of_two() / 64).max(1);
            let column = zero_blocks(rows.next_multiple_of(step));
            hint_large_pages(&column);
            return Outputs::new(column);
        };
        let mut column = self.0.swap_remove(i);
        if column.len() < rows {
            column.resize(rows, Block::ZERO);
        }
        column
    }

    /// Returns both columns of `count` shares.
    pub(super) fn take_shares(&mut self, count: usize) -> Shares {
        Shares {
            macs: self.take(count),
            keys: self.take(count),
        }
    }

    /// Returns both columns of at least `count` shares.
    pub(super) fn take_longer_shares(&mut self, count: usize) -> Shares {
        Shares {
            macs: self.take_longer(count),
            keys: self.take_longer(count),
        }
    }

    /// Wipes every column, and keeps the smallest of them up to [`KEPT_BYTES`].
    pub(super) fn end_run(&mut self) {
        self.0.sort_by_key(|column| column.capacity());
        let mut kept = 0;
        self.0.retain_mut(|column| {
            kept += column.capacity() * Block::BYTES;
            if kept > KEPT_BYTES {
                return false;
            }
            // A shorter column may hold old data after its end, too.
            let rows = column.capacity();
            column.resize(rows, Block::ZERO);
            column.as_mut_slice().zeroize();
            true
        });
    }

    /// Takes back columns that are no longer in use.
    pub(super) fn give(&mut self, columns: impl IntoIterator<Item = Outputs>) {
        let columns = columns.into_iter().filter(|column| column.capacity() > 0);
        self.0.extend(columns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_at_any_length() {
        let mut buffers = Buffers::default();
        let [long, short] = [9, 3].map(|rows| buffers.take(rows));
        let first = short.as_ptr();
        buffers.give([long, short, Outputs::default()]);
        assert_eq!(buffers.0.len(), 2);
        let taken = buffers.take(2);
        assert_eq!((taken.len(), taken.as_ptr()), (2, first));
        assert_eq!([buffers.take(4).len(), buffers.take(4).len()], [4, 4]);
        assert!(buffers.0.is_empty());
    }

    #[test]
    fn a_column_that_is_a_little_longer_is_the_same_one() {
        let mut buffers = Buffers::default();
        let column = buffers.take(400_000);
        let first = column.as_ptr();
        buffers.give([column]);
        let column = buffers.take(400_064);
        assert_eq!((column.len(), column.as_ptr()), (400_064, first));
    }

    #[test]
    fn what_is_kept_between_runs_is_bounded_and_wiped() {
        const LARGE: usize = KEPT_BYTES / Block::BYTES - 6;
        let mut buffers = Buffers::default();
        let mut columns = [LARGE, 9, 7].map(|rows| buffers.take(rows));
        for column in &mut columns {
            column.fill(Block::ONES);
            column.truncate(3);
        }
        buffers.give(columns);
        buffers.end_run();
        let kept: Vec<_> = buffers.0.iter().map(|column| column.capacity()).collect();
        assert_eq!(kept, [7, 9]);
        for column in &buffers.0 {
            assert_eq!(column.len(), column.capacity());
            assert!(column.iter().all(|block| *block == Block::ZERO));
        }
    }
}
