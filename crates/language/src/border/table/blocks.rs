//! The rows of a large table on several threads, [by blocks](CsvRecords::blocks).

use std::num::NonZeroUsize;

use super::{Cell, Fills, RowLines, Table};
use crate::border::csv::BlockRecords;
#[cfg(doc)]
use crate::border::csv::CsvRecords;
use crate::border::part::RowsForm;
use crate::border::read::Reader;
use crate::program::{TypeId, TypeTable};

/// The rows of a block.
struct BlockRows<'t> {
    reader: Reader<'t>,
    /// The lines of its rows, counted from 1 in the block.
    lines: RowLines,
}

/// The form of a block's rows.
#[derive(Clone, Copy)]
struct BlockForm<'f, 't> {
    types: &'t TypeTable,
    row: TypeId,
    rows: &'f RowsForm,
    columns: &'f [(Cell, usize)],
}

impl<'t> BlockForm<'_, 't> {
    /// Reads the rows of a block, or nothing if one thread must read it.
    fn read(self, records: BlockRecords<'_>) -> Option<(BlockRows<'t>, u64)> {
        let (types, row) = (self.types, self.row);
        let mut reader = Reader::of_rows(types, row, self.rows.clone(), "");
        let mut lines = RowLines::default();
        let mut table = Table {
            reader: &mut reader,
            types,
            row,
            name: "",
            records,
            columns: self.columns.to_vec(),
        };
        table.rows(u32::MAX, Fills::NoRow, &mut lines).ok()?;
        let count = table.records.line() - 1;
        Some((BlockRows { reader, lines }, count))
    }
}

impl<'t> Table<'_, '_, 't> {
    /// Reads rows of a joined table on `threads` threads, with the others at most `most`. Leaves
    /// the rest of the file to [`rows`](Self::rows), from the first block on that has an error.
    pub(super) fn blocks(&mut self, most: u32, threads: NonZeroUsize, read: &mut RowLines) {
        let Some(rows) = self.reader.rows_form().cloned() else {
            return;
        };
        let form = BlockForm {
            types: self.types,
            row: self.row,
            rows: &rows,
            columns: &self.columns,
        };
        let reader = &mut *self.reader;
        let take = |rows: BlockRows<'t>, before: u64| {
            if read.rows.len() + rows.lines.rows.len() > most as usize {
                return false;
            }
            reader.append_rows(&rows.reader);
            let lines = rows.lines.rows.into_iter();
            read.rows.extend(lines.map(|line| before + line));
            let lacking = rows.lines.lacking.into_iter();
            let lacking = lacking.map(|(line, column)| (before + line, column));
            read.lacking.extend(lacking);
            true
        };
        self.records
            .blocks(threads, |records| form.read(records), take);
    }
}
