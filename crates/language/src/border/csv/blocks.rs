//! The records of a large file on several threads: each reads a block of whole lines.
//!
//! A thread gives up a block that has an error, or whose end may not be the end of a record. From
//! this block on, one thread reads the rest of the file, so that records and errors are those of
//! one thread.

use std::io::Read;
use std::num::NonZeroUsize;

use tacit_kernels::{share_out, workers};

use super::records::CsvRecords;

/// The most bytes of a block.
const BLOCK_BYTES: usize = if cfg!(test) { 1 << 7 } else { 1 << 20 };
/// The number of blocks in memory at a time, for each thread, and the most for all.
const THREAD_BLOCKS: usize = 2;
const MOST_BLOCKS: usize = 64;

/// The records of a block. Their first line is line 1.
pub(in crate::border) type BlockRecords<'b> = CsvRecords<&'b mut dyn Read>;

impl<R: Read> CsvRecords<R> {
    /// Reads records by blocks on `threads` threads, and leaves the rest of the file to one thread.
    ///
    /// `read` reads the records of a block and returns what it read, with the number of the block's
    /// lines, or nothing if one thread must read it. `take` gets what was read, in order, with the
    /// number of lines before it. If it returns `false`, one thread reads from this block on.
    pub(in crate::border) fn blocks<T: Send>(
        &mut self,
        threads: NonZeroUsize,
        read: impl Fn(BlockRecords<'_>) -> Option<(T, u64)> + Sync,
        mut take: impl FnMut(T, u64) -> bool,
    ) {
        if threads.get() == 1 {
            return;
        }
        let at_once = THREAD_BLOCKS.saturating_mul(threads.get()).min(MOST_BLOCKS);
        loop {
            let mut blocks = Vec::new();
            while blocks.len() < at_once {
                let lines = self.take_lines(BLOCK_BYTES);
                if lines.is_empty() {
                    break;
                }
                blocks.push((lines, None));
            }
            if blocks.is_empty() {
                return;
            }
            let form = self.form();
            share_out(&mut workers(threads), &mut blocks, |(), (lines, found)| {
                let mut lines: &[u8] = lines;
                *found = read(form.records(&mut lines));
            });
            let mut blocks = blocks.into_iter();
            while let Some((lines, found)) = blocks.next() {
                let before = self.line() - 1;
                let is_taken = found.is_some_and(|(found, count)| {
                    let fits = take(found, before);
                    if fits {
                        self.count_lines(count);
                    }
                    fits
                });
                if !is_taken {
                    let behind = blocks.map(|(lines, _)| lines);
                    let rest: Vec<_> = [lines].into_iter().chain(behind).collect();
                    return self.put_back(&rest);
                }
            }
        }
    }
}
