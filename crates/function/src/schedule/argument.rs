//! The sources of the arguments of groups.
//!
//! The input bits of a group's calls are cut wherever the source of any of its calls is cut. Each
//! piece is a column of a table whose lines are the calls. Each column is stored as runs.

use core::iter;

use tacit_circuit::Owners;

use super::Block;

/// The index that stands for no column or no run.
const END: u32 = u32::MAX;

/// Some bits of a port, for all calls of a group. They come from consecutive rows.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'s> {
    /// The number of bits.
    pub bits: u32,
    /// The owners of the port.
    pub owners: Owners,
    runs: &'s [LinkedRun],
    first: u32,
}

/// The source of the bits of an argument, for the calls from one on, up to the next run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first instance of the group that reads through this run.
    pub first: u32,
    /// The block that it reads.
    pub block: Block,
    /// The row of the argument's first bit in the block. The other bits follow it.
    pub row: u32,
    /// The instance in the block that the first instance reads.
    pub instance: u32,
    /// The distance in the block from one instance to the next.
    pub stride: i32,
}

impl<'s> Argument<'s> {
    /// Iterates over the runs, in the order of instances. The first run starts at instance 0.
    pub fn runs(&self) -> impl Iterator<Item = Run> + Clone + use<'s> {
        let (runs, first) = (self.runs, self.first);
        let next = |at: u32| (at != END).then_some(at);
        iter::successors(next(first), move |at| next(runs[*at as usize].next))
            .map(move |at| runs[at as usize].run)
    }
}

/// The columns of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnList {
    first: u32,
}

/// Bits that a call reads, which are consecutive in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgumentSpan {
    pub(super) bits: u32,
    pub(super) block: Block,
    pub(super) row: u32,
    pub(super) instance: u32,
    /// The port's number.
    pub(super) port: u32,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    bits: u32,
    owners: Owners,
    first_run: u32,
    last_run: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct LinkedRun {
    run: Run,
    next: u32,
}

/// The columns and runs of all groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    columns: Vec<Column>,
    runs: Vec<LinkedRun>,
}

/// The error of columns or runs that have no number left.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoNumber;

impl Arguments {
    /// Returns the numbers of columns and runs.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.columns.len(), self.runs.len()]
    }

    pub(super) fn of(&self, list: ColumnList) -> impl Iterator<Item = Argument<'_>> {
        let next = |at: u32| (at != END).then_some(at);
        let columns = iter::successors(next(list.first), move |at| {
            next(self.columns[*at as usize].next)
        });
        columns.map(|at| {
            let column = &self.columns[at as usize];
            Argument {
                bits: column.bits,
                owners: column.owners,
                runs: &self.runs,
                first: column.first_run,
            }
        })
    }

    /// Creates the columns of a group whose first call reads `spans`.
    pub(super) fn begin(
        &mut self,
        spans: &[ArgumentSpan],
        owners_of_ports: &[Owners],
    ) -> Result<ColumnList, NoNumber> {
        let first = number(self.columns.len())?;
        for (span, after) in spans.iter().zip(1..) {
            let run = self.push_run(Run {
                first: 0,
                block: span.block,
                row: span.row,
                instance: span.instance,
                stride: 0,
            })?;
            let next = number(self.columns.len() + 1)?;
            self.columns.push(Column {
                bits: span.bits,
                owners: owners_of_ports[span.port as usize],
                first_run: run,
                last_run: run,
                next: if after == spans.len() { END } else { next },
            });
        }
        Ok(ColumnList { first })
    }

    /// Appends the sources of the group's next call.
    pub(super) fn append(
        &mut self,
        list: ColumnList,
        instance: u32,
        spans: &[ArgumentSpan],
    ) -> Result<(), NoNumber> {
        let mut at = list.first;
        for span in spans {
            let mut done = 0;
            while done < span.bits {
                let left = span.bits - done;
                if self.columns[at as usize].bits > left {
                    self.split(at, left)?;
                }
                self.extend(
                    at,
                    Run {
                        first: instance,
                        block: span.block,
                        row: span.row + done,
                        instance: span.instance,
                        stride: 0,
                    },
                )?;
                let column = &self.columns[at as usize];
                done += column.bits;
                at = column.next;
            }
        }
        Ok(())
    }

    /// Splits a column after this many bits.
    fn split(&mut self, at: u32, bits: u32) -> Result<(), NoNumber> {
        let new = number(self.columns.len())?;
        let whole = self.columns[at as usize];
        let (mut from, mut first, mut last) = (whole.first_run, END, END);
        while from != END {
            let LinkedRun { mut run, next } = self.runs[from as usize];
            run.row += bits;
            let copy = self.push_run(run)?;
            if first == END {
                first = copy;
            } else {
                self.runs[last as usize].next = copy;
            }
            (last, from) = (copy, next);
        }
        self.columns.push(Column {
            bits: whole.bits - bits,
            first_run: first,
            last_run: last,
            ..whole
        });
        let column = &mut self.columns[at as usize];
        (column.bits, column.next) = (bits, new);
        Ok(())
    }

    /// Appends one instance to a column: extends its last run if the stride fits, or adds a new
    /// one.
    fn extend(&mut self, at: u32, read: Run) -> Result<(), NoNumber> {
        let last = self.columns[at as usize].last_run;
        let run = &mut self.runs[last as usize].run;
        if run.block == read.block && run.row == read.row {
            let turns = i64::from(read.first - run.first);
            let step = i64::from(read.instance) - i64::from(run.instance);
            if turns == 1
                && let Ok(stride) = i32::try_from(step)
            {
                run.stride = stride;
                return Ok(());
            }
            if turns > 1 && i64::from(run.stride) * turns == step {
                return Ok(());
            }
        }
        let new = self.push_run(read)?;
        self.runs[last as usize].next = new;
        self.columns[at as usize].last_run = new;
        Ok(())
    }

    fn push_run(&mut self, run: Run) -> Result<u32, NoNumber> {
        let at = number(self.runs.len())?;
        self.runs.push(LinkedRun { run, next: END });
        Ok(at)
    }
}

fn number(length: usize) -> Result<u32, NoNumber> {
    let number = u32::try_from(length).ok().filter(|number| *number != END);
    number.ok_or(NoNumber)
}
