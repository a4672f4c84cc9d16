//! Memory that lots use one after the other.
//!
//! A lot works on up to 180 MB. If each lot took new memory, the system would zero it page by page
//! and the lot would wipe it, which together takes longer than filling it. A column is wiped when
//! the run ends.

use tacit_kernels::Block;
use tacit_ot::Outputs;

use super::share::Shares;

/// Columns that are not in use.
#[derive(Default)]
pub(super) struct Buffers(Vec<Outputs>);

impl Buffers {
    /// A column of `rows` rows. It may hold old blocks, so the caller writes all of it.
    pub(super) fn take(&mut self, rows: usize) -> Outputs {
        let fits = |(_, column): &(usize, &Outputs)| column.capacity() >= rows;
        let fitting = self.0.iter().enumerate().filter(fits);
        let Some((i, _)) = fitting.min_by_key(|(_, column)| column.capacity()) else {
            return Outputs::new(vec![Block::ZERO; rows]);
        };
        let mut column = self.0.swap_remove(i);
        column.resize(rows, Block::ZERO);
        column
    }

    /// Both columns of `count` shares.
    pub(super) fn take_shares(&mut self, count: usize) -> Shares {
        Shares {
            macs: self.take(count),
            keys: self.take(count),
        }
    }

    /// Takes back what is not in use any more.
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
}
