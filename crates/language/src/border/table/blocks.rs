//! The rows of a large table on several threads: each reads a block of lines.
//!
//! A thread gives up a block that has an error, or whose end is not the end of a record, as between
//! quotation marks, or may be an empty one. From this block on, one thread reads the rest of the
//! file, so that rows and errors are those of one thread. So a quotation mark in the middle of a
//! cell without others makes the rest slow.

use std::io::Read;
use std::num::NonZeroUsize;

use tacit_kernels::{share_out, workers};

use super::{Cell, Fills, RowLines, Table};
use crate::border::csv::RecordForm;
use crate::border::read::Reader;
use crate::program::{TypeId, TypeTable};

/// The most bytes of a block.
const BLOCK_BYTES: usize = if cfg!(test) { 1 << 7 } else { 1 << 20 };
/// The number of blocks in memory at a time, for each thread, and the most for all.
const THREAD_BLOCKS: usize = 2;
const MOST_BLOCKS: usize = 64;

/// The rows of a block.
struct BlockRows<'t> {
    reader: Reader<'t>,
    /// The lines of its rows, counted from 1 in the block.
    lines: RowLines,
    /// The number of lines of the block.
    count: u64,
}

/// How a block is read.
struct BlockForm<'f, 't> {
    types: &'t TypeTable,
    row: TypeId,
    records: RecordForm,
    columns: &'f [(Cell, usize)],
}

impl<'t> BlockForm<'_, 't> {
    /// Reads the rows of a block, or nothing if one thread must read it.
    fn read(&self, mut block: &[u8]) -> Option<BlockRows<'t>> {
        let (types, row) = (self.types, self.row);
        let (mut reader, mut lines) = (Reader::of_rows(types, row, ""), RowLines::default());
        let mut table = Table {
            reader: &mut reader,
            types,
            row,
            name: "",
            records: self.records.records(&mut block as &mut dyn Read),
            columns: self.columns.to_vec(),
        };
        table.rows(u32::MAX, Fills::NoRow, &mut lines).ok()?;
        let count = table.records.line() - 1;
        Some(BlockRows {
            reader,
            lines,
            count,
        })
    }
}

impl Table<'_, '_> {
    /// Reads rows of a joined table on `threads` threads, with the others at most `most`. Leaves
    /// the rest of the file to [`rows`](Self::rows), from the first row on that has an error.
    pub(super) fn blocks(&mut self, most: u32, threads: NonZeroUsize, read: &mut RowLines) {
        let at_once = THREAD_BLOCKS.saturating_mul(threads.get()).min(MOST_BLOCKS);
        loop {
            let mut blocks = Vec::new();
            while blocks.len() < at_once {
                let lines = self.records.take_lines(BLOCK_BYTES);
                if lines.is_empty() {
                    break;
                }
                blocks.push((lines, None));
            }
            if blocks.is_empty() {
                return;
            }
            let form = BlockForm {
                types: self.types,
                row: self.row,
                records: self.records.form(),
                columns: &self.columns,
            };
            share_out(&mut workers(threads), &mut blocks, |(), (lines, rows)| {
                *rows = form.read(lines);
            });
            let mut blocks = blocks.into_iter();
            while let Some((lines, rows)) = blocks.next() {
                let count = read.rows.len();
                let fits = |rows: &BlockRows<'_>| count + rows.lines.rows.len() <= most as usize;
                let Some(rows) = rows.filter(fits) else {
                    let behind = blocks.map(|(lines, _)| lines);
                    let rest: Vec<_> = [lines].into_iter().chain(behind).collect();
                    return self.records.put_back(&rest);
                };
                // Lines of a block are counted from 1.
                let before = self.records.line() - 1;
                self.reader.append_rows(&rows.reader);
                let lines = rows.lines.rows.into_iter();
                read.rows.extend(lines.map(|line| before + line));
                let lacking = rows.lines.lacking.into_iter();
                read.lacking
                    .extend(lacking.map(|(line, column)| (before + line, column)));
                self.records.count_lines(rows.count);
            }
        }
    }
}
