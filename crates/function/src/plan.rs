//! What a function runs: its arrays, its operations, and the loops around them
//! as a small program, which a [`Cursor`] walks with the loops' counters as its only state.
//!
//! An array is cut into *granules*: the greatest common divisor of all offsets and widths at
//! which steps read and write it, so that every access is a whole number of granules. What is
//! kept for each granule, 8 bytes, is all the memory that grows with a function's arrays; values
//! take room only from their assignment to their last use ([`Places`]).

use crate::expression::Affine;
use crate::source::MAX_LOOPS;

/// Most granules of all arrays together.
pub(super) const MAX_GRANULES: u64 = 1 << 25;
/// Most bits that are live at once.
pub(super) const MAX_LIVE_BITS: u64 = 1 << 30;
/// Most steps that are run, turns of loops among them.
pub(super) const MAX_RUN_STEPS: u64 = 1 << 28;
/// Most granules that are read or written over all steps that are run.
pub(super) const MAX_RUN_GRANULES: u64 = 1 << 30;
/// Most bits of all constants as they are written.
pub(super) const MAX_CONSTANT_BITS: u64 = 1 << 24;

/// An input or a value.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) name: String,
    /// Width in bits.
    pub(super) width: u64,
    /// Bits of a granule.
    pub(super) granule: u32,
    /// The number of its first granule among all arrays'.
    pub(super) first: u32,
    /// Which free list its granules come from: one for each width.
    pub(super) class: u32,
}

/// Granules of an array that are read or written together.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) array: u32,
    /// The first granule within the array.
    pub(super) start: Affine,
    pub(super) granules: u32,
}

/// What an argument is made of.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Granules of an array.
    Part(Part),
    /// Bits that are always the same.
    Constant(Vec<bool>),
}

/// An index that must stay in its dimension.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// The first element picked.
    pub(super) index: Affine,
    /// Elements picked.
    pub(super) picked: i64,
    /// Elements of the dimension.
    pub(super) size: i64,
    /// Whose index it is: `port a, d[i+1]`.
    pub(super) what: String,
}

impl Bound {
    /// Whether what begins at element `at` stays in the dimension.
    pub(super) fn holds(&self, at: i128) -> bool {
        at >= 0 && at <= i128::from(self.size) - i128::from(self.picked)
    }
}

/// A call, or an assignment without one.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// The component, or nothing where the arguments themselves are the result.
    pub(super) component: Option<u32>,
    pub(super) arguments: Vec<Piece>,
    /// For each run of result bits how many they are, and where they go.
    pub(super) results: Vec<(u64, Option<Part>)>,
    /// What the check holds the indices to.
    pub(super) bounds: Vec<Bound>,
    /// The step's canonical text, for messages.
    pub(super) text: String,
    /// The counters' names, outermost first.
    pub(super) counters: Vec<String>,
}

/// What a cursor does.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Begins the loop at this depth, or goes on at `exit` where it has no turn.
    Enter {
        depth: usize,
        from: Affine,
        to: Affine,
        exit: usize,
        /// The loop's head, for messages.
        head: String,
    },
    /// The next turn of the loop, from `body` on, or the end of it.
    Repeat { depth: usize, body: usize },
    /// An operation.
    Run(usize),
}

/// What a function runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Inputs first, then loaded values, then those that steps assign.
    pub(super) arrays: Vec<Array>,
    pub(super) operations: Vec<Operation>,
    pub(super) instructions: Vec<Instruction>,
    /// How many of the arrays hold a value before the first step.
    pub(super) given: usize,
    /// What each output is made of, then each saved value.
    pub(super) outputs: Vec<Operation>,
    /// How often each granule is read.
    pub(super) uses: Vec<u32>,
    /// Free lists that there are.
    pub(super) classes: usize,
    /// Places that it takes to hold all bits that are live at once.
    pub(super) places: usize,
    /// Most bits that an operation reads.
    pub(super) widest: usize,
}

impl Plan {
    /// The granules of `part` at these counters. They are in range once the plan is checked.
    pub(super) fn granules(&self, part: &Part, counters: &[i64]) -> core::ops::Range<usize> {
        let array = &self.arrays[part.array as usize];
        let start = array.first as usize + part.start.checked_before(counters) as usize;
        start..start + part.granules as usize
    }
}

/// A place in the run of a plan.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    next: usize,
    counters: [i64; MAX_LOOPS],
    ends: [i64; MAX_LOOPS],
    /// Instructions that may still be run.
    left: u64,
    /// The loop at which it stopped because a counter would have no value below 2^63.
    overflow: Option<usize>,
}

impl Cursor {
    /// Before the first step.
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            counters: [0; MAX_LOOPS],
            ends: [0; MAX_LOOPS],
            left: MAX_RUN_STEPS,
            overflow: None,
        }
    }

    /// Moves on to the next operation.
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

    /// The loops' counters.
    pub(super) fn counters(&self) -> &[i64; MAX_LOOPS] {
        &self.counters
    }

    /// The head of the loop at which it stopped because a counter has no value below 2^63.
    pub(super) fn overflow<'p>(&self, plan: &'p Plan) -> Option<&'p str> {
        match plan.instructions.get(self.overflow?)? {
            Instruction::Enter { head, .. } => Some(head),
            Instruction::Repeat { .. } | Instruction::Run(_) => None,
        }
    }

    /// Whether it stopped because it had run too many steps.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }
}

/// Where values are kept while they are needed.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The first place of each granule that is held.
    at: Vec<u32>,
    /// How often each granule is still to be read.
    uses: Vec<u32>,
    /// Places of granules that are no longer needed, by their width.
    free: Vec<Vec<u32>>,
    /// Places that were ever used.
    taken: u64,
}

impl Places {
    /// No value is held.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            at: vec![0; plan.uses.len()],
            uses: plan.uses.clone(),
            free: vec![Vec::new(); plan.classes],
            taken: 0,
        }
    }

    /// Places that were ever used.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// The place of a granule for one use of it; after the last its place is free.
    pub(super) fn read(&mut self, array: &Array, granule: usize) -> usize {
        let place = self.at[granule];
        let uses = &mut self.uses[granule];
        // A count that was cut off at its greatest value never ends.
        if *uses != u32::MAX {
            *uses = uses.saturating_sub(1);
            if *uses == 0 {
                self.free[array.class as usize].push(place);
            }
        }
        place as usize
    }

    /// The place of a granule, which stays as it is.
    pub(super) fn look(&self, granule: usize) -> usize {
        self.at[granule] as usize
    }

    /// A place for a granule, or nothing where it is never read.
    pub(super) fn write(&mut self, array: &Array, granule: usize) -> Option<usize> {
        if self.uses[granule] == 0 {
            return None;
        }
        let place = self.free[array.class as usize].pop().unwrap_or_else(|| {
            let place = self.taken;
            self.taken += u64::from(array.granule);
            // The check refuses plans that take as much as would be cut off here.
            place as u32
        });
        self.at[granule] = place;
        Some(place as usize)
    }
}
