//! Schedules: the work of a function over XOR shares in each step, as both parties compute it.
//!
//! Under the protocol `gmw`, all calls of one component that are ready at one step run together,
//! with bit i of a row for instance i. Everything that is opened in a step goes in one message each
//! way.
//!
//! 1. A call is *ready* at the step at which its last input is available. Inputs and constants are
//!    available at step 0. The owners of a port are the union over the bits that a call reads
//!    through it.
//! 2. A call of a program without layers takes no step, and its results are available at once.
//!    Other calls that are ready at one step, of one component and with one pattern of owners, form
//!    a *group*, with instances in the order of calls. A group of more than J calls is cut.
//!    [`Limits::rows`] determines J, and part number j starts ⌊j/2⌋ times the program's layers
//!    later.
//! 3. Each group at work advances one layer per step. The crosses of a step are those of its
//!    groups, in the order of their first calls. Each cross takes the next OT numbers of its
//!    direction, one per instance.
//!
//! Calls without layers are grouped, too, for the executor: by the step at which they are ready and
//! by *rank*. A call of rank n reads results of calls of rank n − 1 of this step.
//!
//! **Locations of values.** The results of a group are a *block*, with a row for each bit of a
//! call's results, and a column for each instance. An input is also a block, with a row for each
//! bit of an element, and a column for each element. An [`Argument`] describes the source of some
//! bits of a port, by [`Run`]s of instances with a constant stride. **Memory**: 32 bytes per group,
//! 20 per argument, and 28 per run. An array that a loop reads element by element is one run. A
//! call that reads its ports at random has a run for each port. Building a schedule takes 16 bytes
//! for each element of any array, and a walk over all calls. The calls of a stream (see
//! `plan::streams`) that continue all runs are taken together, and its elements take no memory.

mod argument;
mod constants;
pub(crate) mod planner;
mod runs;
mod steps;
mod walk;

use tacit_circuit::{Component, Owners, Role, RowProgram};

use crate::{Function, FunctionError};
pub use argument::{Argument, Run};
use argument::{Arguments, ColumnList};
pub use constants::Constants;
pub use steps::{AtWork, StepWork, Steps};

/// The limits on which both parties agree in addition to the function. The protocol uses
/// [`Limits::default`], and tests use smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limit that determines J. J is the greatest multiple of 64 such that J times the
    /// program's live wires is at most 64 times this number, but at least 64.
    pub rows: u64,
    /// The most OTs that a direction makes at once, unless one step needs more.
    pub refill_ots: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows: 1 << 23,
            refill_ots: 1 << 28,
        }
    }
}

/// A block of bits that an argument or an output reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    /// The input with this number.
    Input(u32),
    /// The results of the group with this number.
    Group(u32),
    /// Constants of one width. See [`Schedule::constants`].
    Constants(u32),
}

/// An input, in the form in which calls read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputBlock {
    /// The owners of all of its bits.
    pub owners: Owners,
    /// The bits of an element. Bit r of element i is bit r + i · `rows` of the port.
    pub rows: u32,
    /// The number of elements.
    pub instances: u32,
    /// The last read of the input.
    pub last_read: LastRead,
}

/// The time at which a value may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LastRead {
    /// The value is never read.
    Never,
    /// After the groups that start at this step have taken their arguments.
    Step(u32),
    /// When the results are read.
    Outputs,
}

/// Consecutive bits of an output that are consecutive in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputSpan {
    /// The block.
    pub block: Block,
    /// The instance.
    pub instance: u32,
    /// The first row.
    pub row: u32,
    /// The number of bits, one in each row from the first on.
    pub bits: u32,
}

/// A program and the owners of its ports, and the most calls in a group.
#[derive(Clone, Debug)]
struct Pattern {
    component: u32,
    owners: Box<[Owners]>,
    program: RowProgram,
    most_calls: u32,
}

#[derive(Clone, Copy, Debug)]
struct GroupData {
    pattern: u32,
    calls: u32,
    start: u32,
    rank: u32,
    last_read: LastRead,
    arguments: ColumnList,
}

/// Calls of one component that run together.
#[derive(Clone, Copy, Debug)]
pub struct Group<'s> {
    schedule: &'s Schedule,
    number: u32,
}

/// The work of a function over XOR shares in each step.
#[derive(Clone, Debug)]
pub struct Schedule {
    limits: Limits,
    components: Vec<Component>,
    inputs: Vec<InputBlock>,
    patterns: Vec<Pattern>,
    /// The groups, in the order of their first calls.
    groups: Vec<GroupData>,
    arguments: Arguments,
    constants: Vec<Constants>,
    /// The spans of all outputs, in order.
    outputs: Vec<OutputSpan>,
    /// The end of each output's spans.
    output_ends: Vec<usize>,
    /// The groups' numbers in the order in which they start.
    starts: Vec<u32>,
    steps: u32,
    total_ots: [u64; 2],
    /// The number of elements that the planner held one by one.
    elements: u64,
}

impl Function {
    /// Returns the function's schedule, with each input owned by the party that the function names.
    ///
    /// # Errors
    ///
    /// The same as for [`Schedule::new`].
    pub fn schedule(&self) -> Result<Schedule, FunctionError> {
        let inputs = self.inputs().iter();
        let owners: Vec<Owners> = inputs.map(|input| Owners::of(input.owner)).collect();
        Schedule::new(self, &owners, Limits::default())
    }
}

impl Schedule {
    /// Creates the schedule of a function whose inputs have these owners. An input is public if the
    /// caller gives its value, and shared if the caller gives shares of it.
    ///
    /// # Errors
    ///
    /// [`FunctionError::SavedValues`] if the function loads or saves values, and
    /// [`FunctionError::TooMany`] for 2^31 steps, 2^32 runs, arguments or bits of constants, or
    /// more than 2^30 elements in turns of [streams](crate) that are scheduled one by one.
    ///
    /// # Panics
    ///
    /// If the number of owners is not that of inputs.
    pub fn new(
        function: &Function,
        owners_of_inputs: &[Owners],
        limits: Limits,
    ) -> Result<Self, FunctionError> {
        planner::plan(function, owners_of_inputs, limits, |_, _| {})
    }

    /// Returns the number of steps.
    pub fn step_count(&self) -> u32 {
        self.steps
    }

    /// Returns the number of elements of the function's inputs and values that are held one by one,
    /// which determines the memory that building the schedule takes.
    pub fn element_count(&self) -> u64 {
        self.elements
    }

    /// Returns the OTs of the whole run, by their sender.
    pub fn total_ots(&self) -> [u64; 2] {
        self.total_ots
    }

    /// Returns the steps, one by one.
    pub fn steps(&self) -> Steps<'_> {
        Steps::new(self)
    }

    /// Returns the OTs that each direction makes before a step, by their sender. `made` OTs were
    /// made earlier. If the step lacks OTs of either direction, each direction makes what it lacks
    /// for the rest of the run, but at most [`Limits::refill_ots`], or what it lacks for the step
    /// if that is more.
    pub fn refill(&self, step: &StepWork, made: [u64; 2]) -> [u64; 2] {
        let needed = |sender: usize| step.ots_before[sender] + step.ots[sender];
        let lacks: [u64; 2] =
            core::array::from_fn(|sender| needed(sender).saturating_sub(made[sender]));
        if lacks == [0, 0] {
            return [0, 0];
        }
        core::array::from_fn(|sender| {
            let most = self.limits.refill_ots.max(lacks[sender]);
            self.total_ots[sender]
                .saturating_sub(made[sender])
                .min(most)
        })
    }

    /// Returns the number of groups, including those without layers.
    pub fn group_count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Returns the group with this number, from 0, in the order of first calls.
    ///
    /// # Panics
    ///
    /// If there is no such group.
    pub fn group(&self, number: u32) -> Group<'_> {
        assert!(number < self.group_count(), "a group of the schedule");
        Group {
            schedule: self,
            number,
        }
    }

    /// Iterates over the groups in the order in which they take their arguments: by step, within a
    /// step first those without layers by rank, and otherwise in the order of first calls.
    pub fn starts(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        self.starts.iter().map(|number| self.group(*number))
    }

    /// Returns the inputs, in order.
    pub fn inputs(&self) -> &[InputBlock] {
        &self.inputs
    }

    /// Returns the constants with this number.
    ///
    /// # Panics
    ///
    /// If there are no such constants.
    pub fn constants(&self, number: u32) -> &Constants {
        &self.constants[number as usize]
    }

    /// Returns the spans of an output's bits, in order.
    ///
    /// # Panics
    ///
    /// If there is no such output.
    pub fn output(&self, number: usize) -> &[OutputSpan] {
        let before = number.checked_sub(1).map(|before| self.output_ends[before]);
        &self.outputs[before.unwrap_or_default()..self.output_ends[number]]
    }

    /// Returns the owners of a row of a block.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn owners(&self, block: Block, row: u32) -> Owners {
        match block {
            Block::Input(number) => self.inputs[number as usize].owners,
            Block::Group(number) => {
                let results = self.group(number).program().owners_of_results();
                results[row as usize]
            }
            Block::Constants(_) => Owners::PUBLIC,
        }
    }
}

#[cfg(test)]
impl Schedule {
    /// Returns all fields as text, except for the number of elements held, which streams reduce.
    pub(crate) fn text_without_elements(&self) -> String {
        let schedule = Self {
            elements: 0,
            ..self.clone()
        };
        format!("{schedule:?}")
    }
}

impl<'s> Group<'s> {
    fn data(&self) -> &'s GroupData {
        &self.schedule.groups[self.number as usize]
    }

    fn pattern(&self) -> &'s Pattern {
        &self.schedule.patterns[self.data().pattern as usize]
    }

    /// Returns the group's number, from 0, in the order of first calls.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the component that is called.
    pub fn component(&self) -> &'s Component {
        &self.schedule.components[self.pattern().component as usize]
    }

    /// Returns the owners of the component's input ports.
    pub fn owners_of_ports(&self) -> &'s [Owners] {
        &self.pattern().owners
    }

    /// Returns the component's program for these owners.
    pub fn program(&self) -> &'s RowProgram {
        &self.pattern().program
    }

    /// Returns the number of calls. They are its instances, in order.
    pub fn instances(&self) -> usize {
        self.data().calls as usize
    }

    /// Returns the step at which the group takes its arguments. Its layer l is in step start + l −
    /// 1.
    pub fn start(&self) -> u32 {
        self.data().start
    }

    /// Returns the step at which its results are available.
    pub fn end(&self) -> u32 {
        self.data().start + self.program().depth()
    }

    /// Returns the last read of its results.
    pub fn last_read(&self) -> LastRead {
        self.data().last_read
    }

    /// Iterates over the sources of its arguments, in the order of the component's input bits.
    pub fn arguments(&self) -> impl Iterator<Item = Argument<'s>> {
        self.schedule.arguments.of(self.data().arguments)
    }
}

/// Returns J (see [`Limits::rows`]).
fn most_calls(program: &RowProgram, limits: Limits) -> u32 {
    let live = program.live().max(1) as u64;
    let most = (limits.rows / live).saturating_mul(64).max(64);
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// Adds `instances` times `each` to `total`, for both senders or both parties.
fn add_times(total: &mut [u64; 2], instances: usize, each: [u64; 2]) {
    for role in Role::BOTH {
        total[role as usize] += instances as u64 * each[role as usize];
    }
}
