//! Schedules: what a function over XOR shares does in which step, as both parties compute it.
//!
//! Under protocol `gmw` all calls of one component that are ready at one step go together, bit i of
//! a row for instance i, and all that is opened in a step goes in one message each way.
//!
//! 1. A call is *ready* at the step at which its last input is there. Inputs and constants are
//!    there at step 0. The owners of a port are the union over the bits that a call reads by it.
//! 2. A call of a program without layers takes no step, and its results are there at once. Other
//!    calls of one component with one pattern of owners that are ready at one step are a *group*,
//!    instances in order of calls. A group of more than J calls is cut: [`Limits::rows`] gives J,
//!    and the group with the number j of these starts ⌊j/2⌋ times the program's layers later.
//! 3. Each group at work advances a layer a step. A step's crosses are those of its groups, in
//!    order of their first calls. Each takes the next OT numbers of its direction, one an instance.
//!
//! Calls without layers are grouped too, for the executor, by the step at which they are
//! ready and by *rank*: a call of rank n reads results of calls of rank n − 1 of this step.
//!
//! **Where values are.** The results of a group are a *block*: a row for each bit of a call's
//! results, and a column for each instance. So is an input: a row for each bit of an element, and a
//! column for each element. An [`Argument`] says where some bits of a port come from, by [`Run`]s
//! of instances at even distances. **Memory**: 32 bytes a group, 20 an argument, 28 a run; an array
//! that a loop reads element by element is one run, and a call that reads its ports at random has a
//! run for each. Making one takes 12 bytes a call or element of an input and 8 an element of any
//! array besides, and a walk over all calls.

mod argument;
mod constants;
pub(crate) mod planner;
mod steps;
mod walk;

use tacit_circuit::{Component, Owners, Role, RowProgram};

use crate::{Function, FunctionError};
pub use argument::{Argument, Run};
use argument::{Arguments, ColumnList};
pub use constants::Constants;
pub use steps::{AtWork, StepWork, Steps};

/// What both parties agree on beside the function; [`Limits::default`] is what the protocol has.
/// Tests make them smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// J is the greatest multiple of 64 that times a program's live wires is at most 64 times this,
    /// and at least 64.
    pub rows: u64,
    /// Most OTs that a direction makes at once, but where one step needs more.
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

/// What holds bits that an argument or an output reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    /// The input with this number.
    Input(u32),
    /// The results of the group with this number.
    Group(u32),
    /// Constants of one width: [`Schedule::constants`].
    Constants(u32),
}

/// An input, as calls read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputBlock {
    /// Who owns all of its bits.
    pub owners: Owners,
    /// Bits of an element: bit r of element i is bit r + i · `rows` of the port.
    pub rows: u32,
    /// Elements.
    pub instances: u32,
    /// The last reading of it.
    pub last_read: LastRead,
}

/// When a value may be let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LastRead {
    /// Nobody reads it.
    Never,
    /// After the groups that start at this step have taken their arguments.
    Step(u32),
    /// With the results.
    Outputs,
}

/// Bits of an output that stand behind each other in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputSpan {
    /// The block.
    pub block: Block,
    /// The instance.
    pub instance: u32,
    /// The first row.
    pub row: u32,
    /// Number of bits, each of the next row.
    pub bits: u32,
}

/// A program and the owners of its ports, and how many of its calls make a group.
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

/// What a function over XOR shares does in which step.
#[derive(Clone, Debug)]
pub struct Schedule {
    limits: Limits,
    components: Vec<Component>,
    inputs: Vec<InputBlock>,
    patterns: Vec<Pattern>,
    /// In order of first calls.
    groups: Vec<GroupData>,
    arguments: Arguments,
    constants: Vec<Constants>,
    /// Of all outputs, in order.
    outputs: Vec<OutputSpan>,
    /// For each output where its spans end.
    output_ends: Vec<usize>,
    /// The groups' numbers in the order in which they start.
    starts: Vec<u32>,
    steps: u32,
    total_ots: [u64; 2],
}

impl Function {
    /// The function's schedule, where each input is its owner's.
    ///
    /// # Errors
    ///
    /// As [`Schedule::new`].
    pub fn schedule(&self) -> Result<Schedule, FunctionError> {
        let inputs = self.inputs().iter();
        let owners: Vec<Owners> = inputs.map(|input| Owners::of(input.owner)).collect();
        Schedule::new(self, &owners, Limits::default())
    }
}

impl Schedule {
    /// The schedule of a function whose inputs have these owners. An input is public or shared
    /// where the caller gives values or shares of it.
    ///
    /// # Errors
    ///
    /// [`FunctionError::SavedValues`] if the function takes or leaves saved values, and
    /// [`FunctionError::TooMany`] for 2^31 steps or 2^32 runs, arguments or bits of constants.
    ///
    /// # Panics
    ///
    /// If there are not as many owners as inputs.
    pub fn new(
        function: &Function,
        owners_of_inputs: &[Owners],
        limits: Limits,
    ) -> Result<Self, FunctionError> {
        planner::plan(function, owners_of_inputs, limits, |_, _| {})
    }

    /// Number of steps.
    #[must_use]
    pub fn step_count(&self) -> u32 {
        self.steps
    }

    /// OTs of the whole run, by their sender.
    #[must_use]
    pub fn total_ots(&self) -> [u64; 2] {
        self.total_ots
    }

    /// The steps, one by one.
    #[must_use]
    pub fn steps(&self) -> Steps<'_> {
        Steps::new(self)
    }

    /// The OTs that each direction makes before a step, by their sender, where `made` were made
    /// before: if the step lacks OTs of either, each makes what it lacks for the run, at most
    /// [`Limits::refill_ots`], or what it lacks for the step if that is more.
    #[must_use]
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

    /// Number of groups, those without layers too.
    #[must_use]
    pub fn group_count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The group with this number, from 0, in order of first calls.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn group(&self, number: u32) -> Group<'_> {
        assert!(number < self.group_count(), "a group of the schedule");
        Group {
            schedule: self,
            number,
        }
    }

    /// The groups in the order in which they take their arguments: by steps; of a step first those
    /// without layers, by ranks; then in order of first calls.
    pub fn starts(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        self.starts.iter().map(|number| self.group(*number))
    }

    /// The inputs, in order.
    #[must_use]
    pub fn inputs(&self) -> &[InputBlock] {
        &self.inputs
    }

    /// The constants with this number.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn constants(&self, number: u32) -> &Constants {
        &self.constants[number as usize]
    }

    /// Where the bits of an output are, in order.
    ///
    /// # Panics
    ///
    /// If there is no such output.
    #[must_use]
    pub fn output(&self, number: usize) -> &[OutputSpan] {
        let before = number.checked_sub(1).map(|before| self.output_ends[before]);
        &self.outputs[before.unwrap_or_default()..self.output_ends[number]]
    }

    /// Who owns a row of a block.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
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

impl<'s> Group<'s> {
    fn data(&self) -> &'s GroupData {
        &self.schedule.groups[self.number as usize]
    }

    fn pattern(&self) -> &'s Pattern {
        &self.schedule.patterns[self.data().pattern as usize]
    }

    /// Its number, from 0, in order of first calls.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What is called.
    #[must_use]
    pub fn component(&self) -> &'s Component {
        &self.schedule.components[self.pattern().component as usize]
    }

    /// The owners of the component's input ports.
    #[must_use]
    pub fn owners_of_ports(&self) -> &'s [Owners] {
        &self.pattern().owners
    }

    /// The component's program for these owners.
    #[must_use]
    pub fn program(&self) -> &'s RowProgram {
        &self.pattern().program
    }

    /// Number of calls, which are its instances in their order.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.data().calls as usize
    }

    /// The step at which it takes its arguments; its layer l is in step start + l − 1.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.data().start
    }

    /// The step at which its results are there.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.data().start + self.program().depth()
    }

    /// The last reading of its results.
    #[must_use]
    pub fn last_read(&self) -> LastRead {
        self.data().last_read
    }

    /// Where its arguments come from, in the order of the component's input bits.
    pub fn arguments(&self) -> impl Iterator<Item = Argument<'s>> {
        self.schedule.arguments.of(self.data().arguments)
    }
}

/// J: [`Limits::rows`].
fn most_calls(program: &RowProgram, limits: Limits) -> u32 {
    let live = program.live().max(1) as u64;
    let most = (limits.rows / live).saturating_mul(64).max(64);
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// What is counted by both senders or both parties, `instances` times.
fn add_times(total: &mut [u64; 2], instances: usize, each: [u64; 2]) {
    for role in [Role::Garbler, Role::Evaluator] {
        total[role as usize] += instances as u64 * each[role as usize];
    }
}
