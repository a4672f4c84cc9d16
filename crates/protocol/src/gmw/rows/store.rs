//! The values of a run as blocks of rows, from their computation to their last use.

use core::ops::Range;
use std::collections::HashMap;

use tacit_circuit::{NO_SLOT, Role, reserve_wiping};
use tacit_function::schedule::{
    Argument, Block, Constants, Group, LastRead, OutputSpan, Run, Schedule,
};
use zeroize::Zeroizing;

use super::bits::{self, BitWriter, words_for};
use super::group::{GroupRows, PartRows};
use super::inputs::transposed;
use super::sharing::Threads;
use crate::shares::InputShares;

/// The rows of a block, one after the other.
pub(super) type Words = Zeroizing<Vec<u64>>;

/// The number of instances from which each row of a block starts with a word.
pub(super) const WHOLE_ROWS: usize = 1 << 10;

/// The most runs of an argument that several threads walk over, each for its own part of the group.
const FEW_RUNS: usize = 64;

/// Returns the number of bits from one row of a block to the next. Rows of many instances start
/// with a word each.
pub(in crate::gmw) fn row_bits(instances: usize) -> usize {
    if instances < WHOLE_ROWS {
        instances
    } else {
        instances.next_multiple_of(64)
    }
}

/// A party's shares of values.
pub(super) struct Store<'s> {
    schedule: &'s Schedule,
    role: Role,
    threads: Threads,
    /// The rows of each block. Inputs that only the other party owns are left out: their shares
    /// are 0.
    blocks: HashMap<Block, Words>,
    /// The blocks whose last read is at each step.
    releases: HashMap<u32, Vec<Block>>,
}

impl<'s> Store<'s> {
    /// Returns a store of the inputs.
    pub(super) fn new(
        schedule: &'s Schedule,
        (role, threads): (Role, Threads),
        shares: InputShares<'_>,
    ) -> Self {
        let mut store = Self {
            schedule,
            role,
            threads,
            blocks: HashMap::new(),
            releases: HashMap::new(),
        };
        let mut before = 0;
        for (number, bits) in held_inputs(schedule, role) {
            let input = &schedule.inputs()[number];
            let words = transposed(input, threads, |at, count| shares.word(before + at, count));
            store.put(Block::Input(number as u32), input.last_read, words);
            before += bits as usize;
        }
        store
    }

    fn put(&mut self, block: Block, last_read: LastRead, words: Words) {
        if let LastRead::Step(step) = last_read {
            self.releases.entry(step).or_default().push(block);
        }
        if last_read != LastRead::Never {
            self.blocks.insert(block, words);
        }
    }

    /// Wipes the blocks that are not read after the groups that start at this step.
    pub(super) fn release(&mut self, step: u32) {
        for block in self.releases.remove(&step).unwrap_or_default() {
            self.blocks.remove(&block);
        }
    }

    /// Keeps the results of a group.
    pub(super) fn keep(&mut self, group: &Group<'_>, rows: &GroupRows) {
        let last_read = group.last_read();
        if last_read == LastRead::Never {
            return;
        }
        let program = group.program();
        let results = program.results().iter().zip(program.owners_of_results());
        let results = results.map(|(result, owners)| {
            let inverts = result.negated && owners.adds_public(self.role);
            (result.slot as usize, u64::from(inverts).wrapping_neg())
        });
        let (count, instances) = (results.len(), rows.instances);
        if instances < WHOLE_ROWS {
            let mut block = BitWriter::with_capacity((count * instances) as u64);
            for (slot, invert) in results {
                // A group this small is one part.
                for part in &rows.parts {
                    block.push(part.row(slot).iter().map(|word| word ^ invert), instances);
                }
            }
            return self.put(Block::Group(group.number()), last_read, block.into_words());
        }
        let words = words_for(instances);
        let mut block = Zeroizing::new(vec![0; count * words]);
        let places = results.zip(block.chunks_exact_mut(words)).collect();
        let copy = |(): &mut (), ((slot, invert), place): &mut ((usize, u64), &mut [u64])| {
            for part in &rows.parts {
                let place = &mut place[part.instances.start / 64..];
                for (place, word) in place.iter_mut().zip(part.row(*slot)) {
                    *place = word ^ *invert;
                }
            }
        };
        self.threads.share(places, |_| words as u64, copy);
        self.put(Block::Group(group.number()), last_read, block);
    }

    /// Fills the input rows of a group, which must be zero, and performs the operations of its
    /// layer 0.
    pub(super) fn gather(&self, group: &Group<'_>, rows: &mut GroupRows) {
        let program = group.program();
        if let [part] = &mut rows.parts[..] {
            self.gather_parts(group, std::slice::from_mut(part));
            return part.operate(program, 0);
        }
        let operations = program.operations(0).len();
        // Threads that walk over many runs, each for few instances, would take longer than one.
        let has_few = |argument: Argument<'_>| argument.runs().nth(FEW_RUNS).is_none();
        if group.arguments().all(has_few) {
            let all = program.inputs().len() + operations;
            let parts = rows.parts.iter_mut().collect();
            let cost = |part: &&mut PartRows| part.cost_of(all);
            self.threads.share(parts, cost, |(): &mut (), part| {
                self.gather_parts(group, std::slice::from_mut(*part));
                part.operate(program, 0);
            });
            return;
        }
        self.gather_parts(group, &mut rows.parts);
        let parts = rows.parts.iter_mut().collect();
        let cost = |part: &&mut PartRows| part.cost_of(operations);
        let operate = |(): &mut (), part: &mut &mut PartRows| part.operate(program, 0);
        self.threads.share(parts, cost, operate);
    }

    /// Fills the input rows of consecutive parts of a group.
    fn gather_parts(&self, group: &Group<'_>, parts: &mut [PartRows]) {
        let mut slots = group.program().inputs();
        for argument in group.arguments() {
            let (these, after) = slots.split_at(argument.bits as usize);
            slots = after;
            let mut runs = argument.runs().peekable();
            // The first part that the next run may reach.
            let mut at = 0;
            while let Some(run) = runs.next() {
                let begin = run.first as usize;
                let end = runs
                    .peek()
                    .map_or(group.instances(), |next| next.first as usize);
                while let Some(part) = parts.get_mut(at) {
                    let of = begin.max(part.instances.start)..end.min(part.instances.end);
                    if !of.is_empty() {
                        self.gather_run(&argument, &run, of, these, part);
                    }
                    if end < part.instances.end {
                        break;
                    }
                    at += 1;
                }
            }
        }
    }

    /// Fills the instances `of` of a part through a run.
    fn gather_run(
        &self,
        argument: &Argument<'_>,
        run: &Run,
        of: Range<usize>,
        slots: &[u32],
        part: &mut PartRows,
    ) {
        // A public bit that a port with owners reads counts for exactly one party.
        let adds = argument.owners.adds_public(part.role());
        let Some(from) = self.source(run.block) else {
            return;
        };
        let skipped = (of.start - run.first as usize) as i64;
        let copied = Copied {
            instance: i64::from(run.instance) + i64::from(run.stride) * skipped,
            stride: run.stride,
            count: of.len(),
            to: of.start - part.instances.start,
        };
        for (row, slot) in (run.row..).zip(slots) {
            let counts = adds || !self.schedule.owners(run.block, row).is_public();
            if *slot == NO_SLOT || !counts {
                continue;
            }
            if let Some(into) = part.input(*slot) {
                from.copy(row, &copied, into);
            }
        }
    }

    /// Appends this party's shares of an output. The garbler's share of a public bit is the bit.
    pub(super) fn output(&self, number: usize, shares: &mut Zeroizing<Vec<bool>>) {
        let spans = self.schedule.output(number);
        let bits: u32 = spans.iter().map(|span| span.bits).sum();
        reserve_wiping(shares, bits as usize);
        let follows = |a: &OutputSpan, b: &OutputSpan| {
            let rows = (a.block, a.row, a.bits) == (b.block, b.row, b.bits);
            rows && a.instance + 1 == b.instance
        };
        for run in spans.chunk_by(follows) {
            self.output_run(&run[0], run.len(), shares);
        }
    }

    /// Appends the shares of a span, and of the spans that continue it in the next instances,
    /// `count` in all.
    fn output_run(&self, span: &OutputSpan, count: usize, shares: &mut Zeroizing<Vec<bool>>) {
        let source = self.source(span.block);
        let mut columns = Zeroizing::new(vec![0; span.bits as usize]);
        for first in (0..count).step_by(64) {
            let instances = (count - first).min(64);
            for (row, column) in (span.row..).zip(&mut *columns) {
                let is_public = self.schedule.owners(span.block, row).is_public();
                let counts = !is_public || self.role == Role::Garbler;
                *column = match &source {
                    Some(source) if counts => source.word(row, span.instance + first as u32),
                    _ => 0,
                };
            }
            for i in 0..instances {
                shares.extend(columns.iter().map(|column| column >> i & 1 == 1));
            }
        }
    }

    /// Returns the source of a block's bits, or `None` if all of them are 0.
    fn source(&self, block: Block) -> Option<Source<'_>> {
        let instances = match block {
            Block::Constants(number) => {
                return Some(Source::Constants(self.schedule.constants(number)));
            }
            Block::Input(number) => self.schedule.inputs()[number as usize].instances as usize,
            Block::Group(number) => self.schedule.group(number).instances(),
        };
        let words = self.blocks.get(&block);
        let is_group = matches!(block, Block::Group(_));
        assert!(
            !is_group || words.is_some(),
            "results are kept up to their last reading"
        );
        words.map(|words| Source::Rows(words, row_bits(instances)))
    }
}

/// The source of an argument.
enum Source<'s> {
    Constants(&'s Constants),
    /// Rows, and the number of bits from one to the next.
    Rows(&'s [u64], usize),
}

impl Source<'_> {
    /// Returns the bits of up to 64 instances from `instance` on. Bits after the last instance may
    /// have any value.
    fn word(&self, row: u32, instance: u32) -> u64 {
        match self {
            Self::Constants(constants) => {
                let end = constants.count().min(instance.saturating_add(64));
                let bits = (instance..end).map(|i| u64::from(constants.bit(row, i)));
                (0..).zip(bits).fold(0, |word, (i, bit)| word | bit << i)
            }
            Self::Rows(words, row_bits) => {
                bits::word_at(words, row as usize * row_bits + instance as usize)
            }
        }
    }

    /// Copies instances of a row.
    fn copy(&self, row: u32, copied: &Copied, into: &mut [u64]) {
        let &Copied {
            instance,
            stride,
            count,
            to,
        } = copied;
        match self {
            Self::Constants(constants) => {
                let mut instance = instance;
                for i in 0..count {
                    let value = constants.bit(row, instance as u32);
                    bits::fill(value, 1, into, to + i);
                    instance += i64::from(stride);
                }
            }
            Self::Rows(words, row_bits) => {
                let at = row as usize * row_bits + instance as usize;
                match stride {
                    1 => bits::copy(words, at, count, into, to),
                    0 => bits::fill(bits::bit(words, at), count, into, to),
                    stride => bits::copy_spread(words, (at, stride as isize), count, into, to),
                }
            }
        }
    }
}

/// Instances of a block that are copied to consecutive places.
struct Copied {
    /// The first one, and the distance from one to the next.
    instance: i64,
    stride: i32,
    count: usize,
    /// The first place.
    to: usize,
}

/// Returns the inputs of whose bits a party holds shares, each with its number of bits.
pub(super) fn held_inputs(
    schedule: &Schedule,
    role: Role,
) -> impl Iterator<Item = (usize, u64)> + '_ {
    let inputs = schedule.inputs().iter().enumerate();
    let held =
        inputs.filter(move |(_, input)| input.owners.includes(role) || input.owners.is_public());
    held.map(|(number, input)| (number, u64::from(input.rows) * u64::from(input.instances)))
}
