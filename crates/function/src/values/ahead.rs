//! Calls that are given out before the results of earlier ones are available, for several threads.
//!
//! Steps are taken in order, and so are the places of values. So memory and constants are the same
//! as in a walk call by call. A step that reads a missing result waits, and so do all later steps.
//! So does a step that assigns again what a missing result is for.

use zeroize::Zeroize;

use super::{Call, Step, Values};
use crate::plan::Operation;

/// Calls whose results are awaited.
#[derive(Default)]
pub(super) struct Ahead<'f> {
    /// The step that waits because it reads a result of one of them.
    waiting: Option<&'f Operation>,
    calls: Vec<CallAhead>,
    /// For each place, whether it waits for a result. A granule is represented by its first place.
    is_awaited: Vec<bool>,
}

/// A call and, for each run of its result bits, their number and their place, if they have one.
struct CallAhead {
    number: u32,
    results: Vec<(usize, Option<usize>)>,
}

impl Ahead<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.waiting.is_none()
    }
}

impl<'f, T: Copy + Default + Zeroize> Values<'f, T> {
    /// Takes a [`step`](Self::step) without waiting for the results of earlier calls, which
    /// [`finish_ahead`](Self::finish_ahead) takes in any order. Returns `None` if the next step
    /// reads a missing result, or is the end: call this again once more results are available.
    ///
    /// # Panics
    ///
    /// If a call from [`step`](Self::step) was not [finished](Self::finish_call).
    pub fn step_ahead(&mut self, mut constant: impl FnMut(bool) -> T) -> Option<Step<'f>> {
        assert!(
            self.pending.is_none(),
            "the call before has not been finished"
        );
        let next = match self.ahead.waiting.take() {
            Some(operation) => Some(operation),
            None => self.cursor.advance(self.function.plan()),
        };
        let Some(operation) = next else {
            return self.ahead.calls.is_empty().then_some(Step::End);
        };
        if self.touches_awaited(operation) {
            self.ahead.waiting = Some(operation);
            return None;
        }
        let step = self.take(operation, &mut constant);
        if let Step::Call(Call { number, .. }) = step {
            let results = self.await_results(operation);
            self.ahead.calls.push(CallAhead { number, results });
        }
        Some(step)
    }

    /// Takes the results of a call from [`step_ahead`](Self::step_ahead), in the order of its
    /// component's output bits.
    ///
    /// # Panics
    ///
    /// If there is no such call, or the number of results is wrong.
    pub fn finish_ahead(&mut self, number: u32, results: &[T]) {
        let mut calls = self.ahead.calls.iter();
        let at = calls.position(|call| call.number == number);
        let call = self
            .ahead
            .calls
            .swap_remove(at.expect("a call that awaits its results"));
        let mut rest = results;
        for (bits, place) in call.results {
            let (these, after) = rest.split_at(bits);
            rest = after;
            if let Some(place) = place {
                self.values[place..place + bits].copy_from_slice(these);
                self.ahead.is_awaited[place] = false;
            }
        }
        assert!(
            rest.is_empty(),
            "as many results as the component has output bits"
        );
    }

    /// Whether the operation reads a missing result, or assigns a variable's element for which one
    /// is awaited.
    fn touches_awaited(&self, operation: &Operation) -> bool {
        if self.ahead.calls.is_empty() {
            return false;
        }
        let (plan, counters) = (self.function.plan(), self.cursor.counters());
        let is_awaited = |granule: usize| self.ahead.is_awaited[self.places.look(granule)];
        let granules = |part| plan.granules(part, counters);
        let variables = operation
            .assigns()
            .filter(|part| plan.array(part).is_variable);
        operation.reads().flat_map(granules).any(is_awaited)
            || variables
                .flat_map(granules)
                .any(|granule| self.places.assigned(granule).is_some() && is_awaited(granule))
    }

    /// Takes the places of the operation's results, in the order of the bits.
    fn await_results(&mut self, operation: &Operation) -> Vec<(usize, Option<usize>)> {
        let plan = self.function.plan();
        self.ahead.is_awaited.resize(self.values.len(), false);
        let mut results = Vec::new();
        for (width, part) in &operation.results {
            let Some(part) = part else {
                results.push((*width as usize, None));
                continue;
            };
            let array = plan.array(part);
            for granule in plan.granules(part, self.cursor.counters()) {
                let place = self.places.write(array, granule);
                if let Some(place) = place {
                    self.ahead.is_awaited[place] = true;
                }
                results.push((array.granule as usize, place));
            }
        }
        results
    }
}
