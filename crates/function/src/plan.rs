//! The plan of a function: its arrays, its operations, and the loops around them as a small
//! program. A [`Cursor`] walks the program with the loops' counters as its only state.
//!
//! An array is cut into *granules*, whose size is the greatest common divisor of all offsets and
//! widths at which steps read and write it. So every access covers whole granules. The only memory
//! that grows with a function's arrays is 8 bytes for each granule. Values take space only from
//! their assignment to their last use ([`Places`]).

pub(super) mod streams;

use core::ops::Range;

use crate::expression::Affine;
use crate::source::MAX_LOOPS;

/// The most granules of all arrays together, except for those in runs (see [`streams`]).
pub(super) const MAX_GRANULES: u64 = 1 << 25;
/// The most granules of all arrays together. An array has at most 2^30, so that no number of a
/// granule exceeds 32 bits.
pub(super) const MAX_GRANULES_IN_RUNS: u64 = 1 << 31;
/// The most bits that are live at once.
pub(super) const MAX_LIVE_BITS: u64 = 1 << 30;
/// The most steps that run, including the turns of loops.
pub(super) const MAX_RUN_STEPS: u64 = 1 << 28;
/// The most granules that are read or written, over all steps that run.
pub(super) const MAX_RUN_GRANULES: u64 = 1 << 30;
/// The most calls of a function. As streams are checked at once, their turns count as one step.
pub(super) const MAX_CALLS: u64 = 1 << 30;
/// The most bits of all constants as written.
pub(super) const MAX_CONSTANT_BITS: u64 = 1 << 24;

/// An input or a value.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) name: String,
    /// Width in bits.
    pub(super) width: u64,
    /// The bits of a granule.
    pub(super) granule: u32,
    /// The number of its first granule, counted over all arrays.
    pub(super) first: usize,
    /// The index of the free list for its granules. There is one list for each width.
    pub(super) class: u32,
    /// Whether an element may be assigned again. Each granule then keeps its place.
    pub(super) is_variable: bool,
}

impl Array {
    /// Returns the numbers of its granules.
    pub(super) fn granules(&self) -> Range<usize> {
        let first = self.first;
        first..first + (self.width / u64::from(self.granule)) as usize
    }
}

/// Granules of an array that are read or written together.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) array: u32,
    /// The first granule within the array.
    pub(super) start: Affine,
    pub(super) granules: u32,
}

/// A piece of an argument.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Granules of an array.
    Part(Part),
    /// Fixed bits.
    Constant(Vec<bool>),
}

/// An index that must stay in its dimension.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// The first element selected.
    pub(super) index: Affine,
    /// The number of elements selected.
    pub(super) picked: i64,
    /// The number of elements of the dimension.
    pub(super) size: i64,
    /// The index, for messages: `port a, d[i+1]`.
    pub(super) what: String,
}

impl Bound {
    /// Whether a selection that starts at element `at` stays in the dimension.
    pub(super) fn holds(&self, at: i128) -> bool {
        at >= 0 && at <= i128::from(self.size) - i128::from(self.picked)
    }
}

/// A call, or an assignment without one.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// The component, or `None` if the arguments are themselves the result.
    pub(super) component: Option<u32>,
    /// Whether it is the call of a stream, see [`streams`].
    pub(super) is_stream: bool,
    pub(super) arguments: Vec<Piece>,
    /// For each run of result bits, their number and their destination.
    pub(super) results: Vec<(u64, Option<Part>)>,
    /// The bounds against which the check tests the indices.
    pub(super) bounds: Vec<Bound>,
    /// The step's canonical text, for messages.
    pub(super) text: String,
    /// The counters' names, outermost first.
    pub(super) counters: Vec<String>,
}

impl Operation {
    /// Iterates over the parts of arrays that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Part> {
        let arguments = self.arguments.iter();
        arguments.filter_map(|piece| match piece {
            Piece::Part(part) => Some(part),
            Piece::Constant(_) => None,
        })
    }

    /// Iterates over the parts of arrays that it assigns.
    pub(super) fn assigns(&self) -> impl Iterator<Item = &Part> {
        self.results.iter().filter_map(|(_, part)| part.as_ref())
    }
}

/// An instruction of the plan's program.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Starts the loop at this depth, or continues at `exit` if the loop has no turns.
    Enter {
        depth: usize,
        from: Affine,
        to: Affine,
        exit: usize,
        /// The loop's head, for messages.
        head: String,
    },
    /// Starts the next turn of the loop at `body`, or ends the loop.
    Repeat { depth: usize, body: usize },
    /// Runs an operation.
    Run(usize),
}

/// The program that a function runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The inputs, then loaded values, then values that steps assign.
    pub(super) arrays: Vec<Array>,
    pub(super) operations: Vec<Operation>,
    pub(super) instructions: Vec<Instruction>,
    /// The number of arrays that hold a value before the first step.
    pub(super) given: usize,
    /// The sources of each output, then of each saved value.
    pub(super) outputs: Vec<Operation>,
    /// The number of granules of all arrays.
    pub(super) granules: usize,
    /// The number of granules of arrays that are not in runs, see [`streams`]. They come first.
    pub(super) granules_apart: usize,
    /// The number of free lists.
    pub(super) classes: usize,
}

impl Plan {
    /// Returns the array of `part`.
    pub(super) fn array(&self, part: &Part) -> &Array {
        &self.arrays[part.array as usize]
    }

    /// Returns the granules of `part` at these counters. They are in range once the plan is
    /// checked.
    pub(super) fn granules(&self, part: &Part, counters: &[i64]) -> Range<usize> {
        let array = self.array(part);
        let start = array.first + part.start.checked_before(counters) as usize;
        start..start + part.granules as usize
    }
}

/// A position in the run of a plan.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    next: usize,
    counters: [i64; MAX_LOOPS],
    ends: [i64; MAX_LOOPS],
    /// The number of instructions that may still run.
    left: u64,
    /// The loop at which the cursor stopped because a counter would exceed 2^63 − 1.
    overflow: Option<usize>,
}

impl Cursor {
    /// Returns a cursor before the first step.
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            counters: [0; MAX_LOOPS],
            ends: [0; MAX_LOOPS],
            left: MAX_RUN_STEPS,
            overflow: None,
        }
    }

    /// Advances to the next operation.
    pub(super) fn advance<'p>(&mut self, plan: &'p Plan) -> Option<&'p Operation> {
        loop {
            let (at, instruction) = (self.next, plan.instructions.get(self.next)?);
            self.left = self.left.checked_sub(1)?;
            self.next += 1;
            match instruction {
                Instruction::Run(operation) => return plan.operations.get(*operation),
                Instruction::Enter {
                    depth,
                    from,
                    to,
                    exit,
                    ..
                } => {
                    let value = |bound: &Affine| i64::try_from(bound.at(&self.counters)?).ok();
                    let (Some(from), Some(to)) = (value(from), value(to)) else {
                        self.overflow = Some(at);
                        self.next = plan.instructions.len();
                        return None;
                    };
                    if from < to {
                        self.counters[*depth] = from;
                        self.ends[*depth] = to;
                    } else {
                        self.next = *exit;
                    }
                }
                Instruction::Repeat { depth, body } => {
                    self.counters[*depth] += 1;
                    if self.counters[*depth] < self.ends[*depth] {
                        self.next = *body;
                    }
                }
            }
        }
    }

    /// Returns the number of turns of the outermost loop that follow the present one.
    pub(super) fn turns_left(&self) -> u64 {
        self.ends[0].abs_diff(self.counters[0]).saturating_sub(1)
    }

    /// Skips turns of a stream, of which no more may be skipped than are left.
    pub(super) fn skip(&mut self, turns: u64) {
        self.counters[0] = self.counters[0].saturating_add_unsigned(turns);
    }

    /// Returns the loops' counters.
    pub(super) fn counters(&self) -> &[i64; MAX_LOOPS] {
        &self.counters
    }

    /// Returns the head of the loop at which the cursor stopped because a counter would exceed 2^63
    /// − 1.
    pub(super) fn overflow<'p>(&self, plan: &'p Plan) -> Option<&'p str> {
        match plan.instructions.get(self.overflow?)? {
            Instruction::Enter { head, .. } => Some(head),
            Instruction::Repeat { .. } | Instruction::Run(_) => None,
        }
    }

    /// Whether the cursor stopped because it ran too many steps.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }
}

/// The first place of a granule that was never assigned.
const NOT_ASSIGNED: u32 = u32::MAX;

/// The number of reads of a granule that is never dropped.
pub(super) const NEVER_DROPPED: u32 = u32::MAX;

/// The plan of a walk that keeps values: the numbers that [`Plan`] lacks.
#[derive(Clone, Debug)]
pub(super) struct WalkPlan {
    /// The number of reads of each granule.
    pub(super) uses: Vec<u32>,
    /// The number of places needed to hold all bits that are live at once.
    pub(super) places: usize,
    /// The most bits that an operation, or all outputs together, read.
    pub(super) widest: usize,
}

/// The places in which values are kept while they are needed.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The first place of each granule that is held, or [`NOT_ASSIGNED`].
    at: Vec<u32>,
    /// The number of remaining reads of each granule.
    uses: Vec<u32>,
    /// The places of granules that are no longer needed, by width.
    free: Vec<Vec<u32>>,
    /// The number of places ever used.
    taken: u64,
}

impl Places {
    /// Creates the places with no value held, for granules that are read as often as `uses` says.
    pub(super) fn new(plan: &Plan, uses: Vec<u32>) -> Self {
        Self {
            at: vec![NOT_ASSIGNED; uses.len()],
            uses,
            free: vec![Vec::new(); plan.classes],
            taken: 0,
        }
    }

    /// Returns the number of places ever used.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the place of a granule for one read of it. After the last read, the place is free.
    pub(super) fn read(&mut self, array: &Array, granule: usize) -> usize {
        let place = self.at[granule];
        let uses = &mut self.uses[granule];
        // A saturated count never ends.
        if *uses != NEVER_DROPPED {
            *uses = uses.saturating_sub(1);
            if *uses == 0 {
                self.free[array.class as usize].push(place);
            }
        }
        place as usize
    }

    /// Returns the place of a granule, without counting a read.
    pub(super) fn look(&self, granule: usize) -> usize {
        self.at[granule] as usize
    }

    /// Returns the place of a granule that was assigned before, without counting a read.
    pub(super) fn assigned(&self, granule: usize) -> Option<usize> {
        let place = self.at[granule];
        (place != NOT_ASSIGNED).then_some(place as usize)
    }

    /// Takes a place for a granule, or returns `None` if the granule is never read. A variable's
    /// granule keeps its first place.
    pub(super) fn write(&mut self, array: &Array, granule: usize) -> Option<usize> {
        if self.uses[granule] == 0 {
            return None;
        }
        if let Some(place) = self.assigned(granule).filter(|_| array.is_variable) {
            return Some(place);
        }
        let place = self.free[array.class as usize].pop().unwrap_or_else(|| {
            let place = self.taken;
            self.taken += u64::from(array.granule);
            // The check refuses plans with so many places that this would truncate.
            place as u32
        });
        self.at[granule] = place;
        Some(place as usize)
    }
}
