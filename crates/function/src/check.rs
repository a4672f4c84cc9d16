//! The check of a plan: walks over its steps without any values.
//!
//! The first walk checks every index against its dimension, and counts calls and reads. It finds
//! elements that are read before they are assigned, or assigned twice in a value that is no
//! variable. The second walk moves dummy values between the places of [`Places`], to find out how
//! many places are needed. A function over shares has no such places, and so no second walk.

use crate::expression::Affine;
use crate::plan::{
    Cursor, Kept, MAX_LIVE_BITS, MAX_RUN_GRANULES, MAX_RUN_STEPS, NEVER_DROPPED, Operation, Part,
    Piece, Places, Plan,
};
use crate::source::MAX_LOOPS;
use crate::{ErrorLocation, FunctionError};

/// The counts of the first walk.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// The number of calls.
    pub(super) calls: u32,
    /// The number of calls of each component.
    pub(super) by_component: Vec<u32>,
}

type Counters = [i64; MAX_LOOPS];

/// Checks `plan`, which calls this many components, for runs over shares.
pub(super) fn check(plan: &Plan, components: usize) -> Result<Counts, FunctionError> {
    widest(plan)?;
    let mut check = PlanCheck::new(plan, components, Vec::new());
    check.run()?;
    Ok(check.counts)
}

/// Checks `plan` as [`check`] does. Returns also what a walk that keeps values needs.
pub(super) fn check_walk(plan: &Plan, components: usize) -> Result<(Counts, Kept), FunctionError> {
    let widest = widest(plan)?;
    let mut check = PlanCheck::new(plan, components, vec![0; plan.granules]);
    check.run()?;
    let PlanCheck { uses, counts, .. } = check;
    let kept = Kept {
        places: places(plan, uses.clone())? as usize,
        uses,
        widest,
    };
    Ok((counts, kept))
}

/// Returns the most bits that an operation, or all outputs together, read.
fn widest(plan: &Plan) -> Result<usize, FunctionError> {
    let bits = |operation| read_bits(plan, operation);
    let outputs = plan.outputs.iter().map(bits).sum();
    let widest = plan.operations.iter().map(bits).fold(outputs, u64::max);
    if widest > MAX_LIVE_BITS {
        let what = "the bits that a step, or all outputs together, read";
        return Err(FunctionError::too_many("the function", what, MAX_LIVE_BITS));
    }
    Ok(widest as usize)
}

fn read_bits(plan: &Plan, operation: &Operation) -> u64 {
    let bits = |piece: &Piece| match piece {
        Piece::Part(part) => u64::from(part.granules) * u64::from(plan.array(part).granule),
        Piece::Constant(bits) => bits.len() as u64,
    };
    operation.arguments.iter().map(bits).sum()
}

/// The first walk.
struct PlanCheck<'p> {
    plan: &'p Plan,
    written: Vec<bool>,
    /// The number of reads of each granule, or nothing if they are not counted.
    uses: Vec<u32>,
    /// The number of granules read and written so far.
    touched: u64,
    counts: Counts,
}

impl<'p> PlanCheck<'p> {
    fn new(plan: &'p Plan, components: usize, uses: Vec<u32>) -> Self {
        Self {
            plan,
            written: vec![false; plan.granules],
            uses,
            touched: 0,
            counts: Counts {
                calls: 0,
                by_component: vec![0; components],
            },
        }
    }

    fn run(&mut self) -> Result<(), FunctionError> {
        let plan = self.plan;
        for array in &plan.arrays[..plan.given] {
            self.written[array.granules()].fill(true);
        }
        let mut cursor = Cursor::new();
        while let Some(operation) = cursor.advance(plan) {
            self.operation(operation, &cursor)?;
            if let Some(component) = operation.component {
                // The count cannot overflow: fewer than 2^28 steps run.
                self.counts.calls += 1;
                self.counts.by_component[component as usize] += 1;
            }
        }
        if let Some(head) = cursor.overflow(plan) {
            let place = ErrorLocation::new(format!("for {head}"));
            return Err(FunctionError::overflow(&place, "a bound of the loop"));
        }
        if cursor.is_exhausted() {
            let what = "the steps that it runs, turns of loops among them,";
            return Err(FunctionError::too_many("the function", what, MAX_RUN_STEPS));
        }
        for output in &plan.outputs {
            self.operation(output, &cursor)?;
        }
        Ok(())
    }

    fn operation(&mut self, operation: &Operation, cursor: &Cursor) -> Result<(), FunctionError> {
        let counters = cursor.counters();
        for bound in &operation.bounds {
            let at = self.value(&bound.index, &bound.what, operation, counters)?;
            if !bound.holds(at) {
                return Err(FunctionError::Index {
                    place: self.place(operation, counters),
                    reference: bound.what.clone(),
                    found: match bound.picked {
                        1 => at.to_string(),
                        picked => format!("{at}..{}", at.saturating_add(picked.into())),
                    },
                    size: bound.size as u64,
                });
            }
        }
        let touched = operation.reads().chain(operation.assigns());
        self.touched += touched.map(|part| u64::from(part.granules)).sum::<u64>();
        if self.touched > MAX_RUN_GRANULES {
            return Err(FunctionError::TooMany {
                place: self.place(operation, counters),
                what: "the elements that are read and assigned, each as often as it is,",
                limit: MAX_RUN_GRANULES,
            });
        }
        for part in operation.reads() {
            self.read(operation, part, cursor)?;
        }
        let mut assigns = operation.assigns();
        assigns.try_for_each(|part| self.write(operation, part, counters))
    }

    fn read(
        &mut self,
        operation: &Operation,
        part: &Part,
        cursor: &Cursor,
    ) -> Result<(), FunctionError> {
        let is_variable = self.plan.array(part).is_variable;
        for granule in self.plan.granules(part, cursor.counters()) {
            if !self.written[granule] {
                return Err(self.unassigned(operation, part, granule, cursor));
            }
            if let Some(uses) = self.uses.get_mut(granule) {
                *uses = if is_variable {
                    NEVER_DROPPED
                } else {
                    uses.saturating_add(1)
                };
            }
        }
        Ok(())
    }

    fn write(
        &mut self,
        operation: &Operation,
        part: &Part,
        counters: &Counters,
    ) -> Result<(), FunctionError> {
        let is_variable = self.plan.array(part).is_variable;
        for granule in self.plan.granules(part, counters) {
            if std::mem::replace(&mut self.written[granule], true) && !is_variable {
                return Err(FunctionError::TwoDrivers {
                    place: self.place(operation, counters),
                    reference: self.element(part, granule),
                });
            }
        }
        Ok(())
    }

    /// Returns the value of an expression of `operation` at these counters.
    fn value(
        &self,
        value: &Affine,
        what: &str,
        operation: &Operation,
        counters: &Counters,
    ) -> Result<i128, FunctionError> {
        let overflow = || FunctionError::overflow(&self.place(operation, counters), what);
        value.at(counters).ok_or_else(overflow)
    }

    /// Returns the right one of two errors: walks on to see whether the element is assigned later.
    fn unassigned(
        &self,
        operation: &Operation,
        part: &Part,
        granule: usize,
        cursor: &Cursor,
    ) -> FunctionError {
        let (plan, place) = (self.plan, self.place(operation, cursor.counters()));
        let reference = self.element(part, granule);
        let mut ahead = cursor.clone();
        let mut now = Some(operation);
        while let Some(later) = now {
            let of_array = |assigned: &&Part| assigned.array == part.array;
            for assigned in later.assigns().filter(of_array) {
                let counters = ahead.counters();
                let is_in_range = later.bounds.iter().all(|bound| {
                    let at = bound.index.at(counters);
                    at.is_some_and(|at| bound.holds(at))
                });
                if is_in_range && plan.granules(assigned, counters).contains(&granule) {
                    let later = self.place(later, counters);
                    return FunctionError::ReadAhead {
                        place,
                        reference,
                        later,
                    };
                }
            }
            now = ahead.advance(plan);
        }
        FunctionError::NeverAssigned { place, reference }
    }

    /// Describes an element for a message: its array, and its bits there.
    fn element(&self, part: &Part, granule: usize) -> String {
        let array = self.plan.array(part);
        if array.width == u64::from(array.granule) {
            return array.name.clone();
        }
        let number = granule - array.first;
        let first = number as u64 * u64::from(array.granule);
        let last = first + u64::from(array.granule) - 1;
        format!("{} (its bits {first} to {last})", array.name)
    }

    /// Returns the location of the step, with the number of the call and the counters.
    fn place(&self, operation: &Operation, counters: &Counters) -> ErrorLocation {
        let mut text = match operation.component {
            Some(_) => format!("call {}, {}", self.counts.calls, operation.text),
            None => operation.text.clone(),
        };
        for (i, (name, value)) in operation.counters.iter().zip(counters).enumerate() {
            text += if i == 0 { " with " } else { ", " };
            text += &format!("{name} = {value}");
        }
        ErrorLocation::new(text)
    }
}

/// Runs the second walk. Returns the number of places needed.
fn places(plan: &Plan, uses: Vec<u32>) -> Result<u64, FunctionError> {
    let mut places = Places::new(plan, uses);
    let check = |places: &Places| {
        if places.taken() <= MAX_LIVE_BITS {
            return Ok(());
        }
        let what = "the bits that it needs at once";
        Err(FunctionError::too_many("the function", what, MAX_LIVE_BITS))
    };
    for array in &plan.arrays[..plan.given] {
        for granule in array.granules() {
            places.write(array, granule);
        }
        check(&places)?;
    }
    let mut cursor = Cursor::new();
    while let Some(operation) = cursor.advance(plan) {
        for part in operation.reads() {
            for granule in plan.granules(part, cursor.counters()) {
                places.read(plan.array(part), granule);
            }
        }
        for part in operation.assigns() {
            for granule in plan.granules(part, cursor.counters()) {
                places.write(plan.array(part), granule);
            }
        }
        check(&places)?;
    }
    Ok(places.taken())
}
