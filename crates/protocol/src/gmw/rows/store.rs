//! The values of a run as blocks of rows, from their computation to their last use.

use std::collections::HashMap;

use tacit_circuit::{NO_SLOT, Role};
use tacit_function::schedule::{
    Argument, Block, Constants, Group, InputBlock, LastRead, OutputSpan, Run, Schedule,
};
use tacit_kernels::{Block as SquareRow, Cpu, transpose_128};
use zeroize::Zeroizing;

use super::bits::{self, BitWriter, words_for};
use super::group::GroupRows;
use crate::shares::InputShares;

/// The rows of a block, one after the other.
type Words = Zeroizing<Vec<u64>>;

/// A party's shares of values.
pub(super) struct Store<'s> {
    schedule: &'s Schedule,
    role: Role,
    /// The rows of each block. Inputs that only the other party owns are left out: their shares
    /// are 0.
    blocks: HashMap<Block, Words>,
    /// The blocks whose last read is at each step.
    releases: HashMap<u32, Vec<Block>>,
}

impl<'s> Store<'s> {
    /// Returns a store of the inputs.
    pub(super) fn new(schedule: &'s Schedule, role: Role, shares: InputShares<'_>) -> Self {
        let mut store = Self {
            schedule,
            role,
            blocks: HashMap::new(),
            releases: HashMap::new(),
        };
        let mut before = 0;
        for (number, bits) in held_inputs(schedule, role) {
            let input = &schedule.inputs()[number];
            let words = transposed(input, |at, count| shares.word(before + at, count));
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
        let instances = rows.instances();
        let bits = instances as u64 * program.results().len() as u64;
        let mut block = BitWriter::with_capacity(bits);
        for (result, owners) in program.results().iter().zip(program.owners_of_results()) {
            let inverts = result.negated && owners.adds_public(self.role);
            let invert = u64::from(inverts).wrapping_neg();
            let row = rows.row(result.slot as usize).iter();
            block.push(row.map(|word| word ^ invert), instances);
        }
        self.put(Block::Group(group.number()), last_read, block.into_words());
    }

    /// Fills the input rows of a group, which must be zero.
    pub(super) fn gather(&self, group: &Group<'_>, rows: &mut GroupRows) {
        let mut slots = group.program().inputs();
        for argument in group.arguments() {
            let (these, after) = slots.split_at(argument.bits as usize);
            slots = after;
            let mut runs = argument.runs().peekable();
            while let Some(run) = runs.next() {
                let end = runs
                    .peek()
                    .map_or(rows.instances(), |next| next.first as usize);
                self.gather_run(&argument, &run, end - run.first as usize, these, rows);
            }
        }
    }

    fn gather_run(
        &self,
        argument: &Argument<'_>,
        run: &Run,
        count: usize,
        slots: &[u32],
        rows: &mut GroupRows,
    ) {
        // A public bit that a port with owners reads counts for exactly one party.
        let adds = argument.owners.adds_public(rows.role());
        let Some(from) = self.source(run.block) else {
            return;
        };
        for (row, slot) in (run.row..).zip(slots) {
            let counts = adds || !self.schedule.owners(run.block, row).is_public();
            if *slot == NO_SLOT || !counts {
                continue;
            }
            if let Some(into) = rows.input(*slot) {
                from.copy(run, row, count, into);
            }
        }
    }

    /// Appends this party's shares of an output. The garbler's share of a public bit is the bit.
    pub(super) fn output(&self, number: usize, shares: &mut Zeroizing<Vec<bool>>) {
        let spans = self.schedule.output(number);
        let bits: u32 = spans.iter().map(|span| span.bits).sum();
        reserve(shares, bits as usize);
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
        words.map(|words| Source::Rows(words, instances))
    }
}

/// Makes room for `more` entries. The old content is copied and wiped.
fn reserve(shares: &mut Zeroizing<Vec<bool>>, more: usize) {
    let mut room = Zeroizing::new(Vec::with_capacity(shares.len() + more));
    room.extend_from_slice(shares);
    *shares = room;
}

/// The source of an argument.
enum Source<'s> {
    Constants(&'s Constants),
    /// Rows, and the number of instances in each.
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
            Self::Rows(words, instances) => {
                bits::word_at(words, row as usize * instances + instance as usize)
            }
        }
    }

    /// Copies a row of a run.
    fn copy(&self, run: &Run, row: u32, count: usize, into: &mut [u64]) {
        let to = run.first as usize;
        match self {
            Self::Constants(constants) => {
                let mut instance = i64::from(run.instance);
                for i in 0..count {
                    let value = constants.bit(row, instance as u32);
                    bits::fill(value, 1, into, to + i);
                    instance += i64::from(run.stride);
                }
            }
            Self::Rows(words, instances) => {
                let at = row as usize * instances + run.instance as usize;
                match run.stride {
                    1 => bits::copy(words, at, count, into, to),
                    0 => bits::fill(bits::bit(words, at), count, into, to),
                    stride => bits::copy_spread(words, (at, stride as isize), count, into, to),
                }
            }
        }
    }
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

/// The side of a square of bits that is transposed at once.
const SIDE: usize = 128;

/// Returns the rows of an input. `share` returns up to 64 of its bits from a number on. Bits are
/// numbered element by element.
fn transposed(input: &InputBlock, share: impl Fn(usize, usize) -> u64) -> Words {
    let (rows, instances) = (input.rows as usize, input.instances as usize);
    let mut words = Zeroizing::new(vec![0; words_for(instances * rows)]);
    let mut elements = Zeroizing::new([SquareRow::ZERO; SIDE]);
    let mut columns = elements.clone();
    let squares = (0..instances).step_by(SIDE).flat_map(|first| {
        let rows = (0..rows).step_by(SIDE);
        rows.map(move |row| (first, row))
    });
    for (first, row) in squares {
        let (count, width) = ((instances - first).min(SIDE), (rows - row).min(SIDE));
        for (element, instance) in elements[..count].iter_mut().zip(first..) {
            let at = instance * rows + row;
            let low = share(at, width.min(64));
            let high = if width > 64 {
                share(at + 64, width - 64)
            } else {
                0
            };
            *element = SquareRow::from_u128(u128::from(high) << 64 | u128::from(low));
        }
        transpose_128(Cpu::detect(), &*elements, &mut *columns);
        for (column, row) in columns[..width].iter().zip(row..) {
            let column = column.to_u128();
            let column = [column as u64, (column >> 64) as u64];
            bits::copy(&column, 0, count, &mut words, row * instances + first);
        }
    }
    words
}
