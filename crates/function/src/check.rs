//! The check of a plan: walks over its steps without any values.
//!
//! The first walk checks every index against its dimension, and counts calls and reads. It finds
//! elements that are read before they are assigned, or assigned twice in a value that is no
//! variable. In a function over shares, all turns of a stream are checked at once, as intervals.
//! The second walk moves dummy values between the places of [`Places`], to find out how many places
//! are needed. A function over shares has no such places, and so no second walk.

mod written;

use crate::expression::Affine;
use crate::plan::{
    Cursor, MAX_CALLS, MAX_GRANULES, MAX_LIVE_BITS, MAX_RUN_GRANULES, MAX_RUN_STEPS, NEVER_DROPPED,
    Operation, Part, Piece, Places, Plan, WalkPlan,
};
use crate::source::MAX_LOOPS;
use crate::{ErrorLocation, FunctionError};
use written::Written;

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
    let mut check = PlanCheck::new(plan, components, None);
    check.run()?;
    Ok(check.counts)
}

/// Checks `plan` as [`check`] does. Returns also what a walk that keeps values needs.
pub(super) fn check_walk(
    plan: &Plan,
    components: usize,
) -> Result<(Counts, WalkPlan), FunctionError> {
    let widest = widest(plan)?;
    if plan.granules as u64 > MAX_GRANULES {
        let what = "the elements of all inputs and values together";
        return Err(FunctionError::too_many("the function", what, MAX_GRANULES));
    }
    let mut check = PlanCheck::new(plan, components, Some(vec![0; plan.granules]));
    check.run()?;
    let PlanCheck { uses, counts, .. } = check;
    let uses = uses.unwrap_or_default();
    let walk_plan = WalkPlan {
        places: places(plan, uses.clone())? as usize,
        uses,
        widest,
    };
    Ok((counts, walk_plan))
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
    written: Written,
    /// The number of reads of each granule, if a walk that keeps values is checked. Then streams
    /// are walked as all other loops.
    uses: Option<Vec<u32>>,
    /// The number of granules read and written so far.
    touched: u64,
    counts: Counts,
}

impl<'p> PlanCheck<'p> {
    fn new(plan: &'p Plan, components: usize, uses: Option<Vec<u32>>) -> Self {
        let each = uses.as_ref().map_or(plan.granules_apart, Vec::len);
        Self {
            plan,
            written: Written::new(each),
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
            self.written.add(array.granules());
        }
        let mut cursor = Cursor::new();
        while let Some(operation) = cursor.advance(plan) {
            let mut turns = self.turns_of_stream(operation, &cursor);
            if turns == 0 {
                self.operation(operation, &cursor)?;
                turns = 1;
            }
            if let Some(component) = operation.component {
                self.count(component, turns)?;
            }
            cursor.skip(turns - 1);
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

    fn count(&mut self, component: u32, calls: u64) -> Result<(), FunctionError> {
        let all = u64::from(self.counts.calls).saturating_add(calls);
        if all > MAX_CALLS {
            let what = "the calls that it makes";
            return Err(FunctionError::too_many("the function", what, MAX_CALLS));
        }
        self.counts.calls = all as u32;
        self.counts.by_component[component as usize] += calls as u32;
        Ok(())
    }

    /// Checks turns of a stream at once, from the present one on, and marks what they assign.
    /// Returns their number. It is 0 if the operation is to be checked on its own, as one with an
    /// error is.
    fn turns_of_stream(&mut self, operation: &Operation, cursor: &Cursor) -> u64 {
        if self.uses.is_some() || !operation.is_stream {
            return 0;
        }
        let mut turns = cursor.turns_left().saturating_add(1);
        while turns > 0 && !self.take(operation, cursor, turns) {
            turns /= 2;
        }
        turns
    }

    /// Marks what these turns of a stream assign. If there is an error in one, returns false and
    /// marks nothing.
    fn take(&mut self, operation: &Operation, cursor: &Cursor, turns: u64) -> bool {
        let mut last = cursor.clone();
        last.skip(turns - 1);
        let ends = [cursor.counters(), last.counters()];
        // An index changes by the same number in each turn, so it is in its dimension in between.
        let mut bounds = operation.bounds.iter();
        let is_in_range = bounds.all(|bound| {
            let at = ends.map(|counters| bound.index.at(counters));
            at.iter().all(|at| at.is_some_and(|at| bound.holds(at)))
        });
        let all = |part: &Part| {
            let [first, last] = ends.map(|counters| self.plan.granules(part, counters));
            first.start..last.end
        };
        let is_free = |part: &Part| self.written.first_with(&all(part)).is_none();
        let is_there = |part: &Part| self.written.first_without(&all(part)).is_none();
        if !(is_in_range && operation.reads().all(is_there) && operation.assigns().all(is_free)) {
            return false;
        }
        // No two of them are of one array.
        let assigned: Vec<_> = operation.assigns().map(all).collect();
        for granules in assigned {
            self.written.add(granules);
        }
        true
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
        let granules = self.plan.granules(part, cursor.counters());
        if let Some(granule) = self.written.first_without(&granules) {
            return Err(self.unassigned(operation, part, granule, cursor));
        }
        let is_variable = self.plan.array(part).is_variable;
        let uses = self.uses.iter_mut();
        for reads in uses.flat_map(|uses| &mut uses[granules.clone()]) {
            *reads = if is_variable {
                NEVER_DROPPED
            } else {
                reads.saturating_add(1)
            };
        }
        Ok(())
    }

    fn write(
        &mut self,
        operation: &Operation,
        part: &Part,
        counters: &Counters,
    ) -> Result<(), FunctionError> {
        let granules = self.plan.granules(part, counters);
        let driven = self.written.first_with(&granules);
        if let Some(granule) = driven.filter(|_| !self.plan.array(part).is_variable) {
            return Err(FunctionError::TwoDrivers {
                place: self.place(operation, counters),
                reference: self.element(part, granule),
            });
        }
        self.written.add(granules);
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
