//! Calls given out before the results of earlier ones are there, for several threads.
//!
//! Steps are taken in order, and so are the places of values, so that memory and constants are
//! those of a walk one by one. A step that reads a result that is not there waits, and all after it
//! do.

use zeroize::Zeroize;

use super::{Call, Step, Values};
use crate::plan::{Operation, Piece};

/// Calls whose results are awaited.
#[derive(Default)]
pub(super) struct Ahead<'f> {
    /// The step that reads a result of one of them.
    waiting: Option<&'f Operation>,
    calls: Vec<CallAhead>,
    /// For each place whether what is to be there is a result that is awaited. Granules go by their
    /// first place.
    is_awaited: Vec<bool>,
}

/// A call, and for each run of its result bits their number and their place, if they have one.
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
    /// [`step`](Self::step) without a wait for the results of the calls before, which
    /// [`finish_ahead`](Self::finish_ahead) takes in any order. `None` where the next step reads
    /// such a result, or is the end: to be asked again once more of them are there.
    ///
    /// # Panics
    ///
    /// If a call that [`step`](Self::step) gave was not [finished](Self::finish_call).
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
        if self.reads_awaited(operation) {
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

    /// Takes the results of a call that [`step_ahead`](Self::step_ahead) gave, in the order of its
    /// component's output bits.
    ///
    /// # Panics
    ///
    /// If there is no such call, or the results are not as many.
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

    /// Whether the operation reads a result that is not there.
    fn reads_awaited(&self, operation: &Operation) -> bool {
        if self.ahead.calls.is_empty() {
            return false;
        }
        let (plan, counters) = (self.function.plan(), self.cursor.counters());
        operation.arguments.iter().any(|piece| match piece {
            Piece::Part(part) => plan
                .granules(part, counters)
                .any(|granule| self.ahead.is_awaited[self.places.look(granule)]),
            Piece::Constant(_) => false,
        })
    }

    /// Takes the places of the operation's results, in the order of the bits.
    fn await_results(&mut self, operation: &Operation) -> Vec<(usize, Option<usize>)> {
        let plan = self.function.plan();
        self.ahead.is_awaited.resize(plan.places, false);
        let mut results = Vec::new();
        for (width, part) in &operation.results {
            let Some(part) = part else {
                results.push((*width as usize, None));
                continue;
            };
            let array = &plan.arrays[part.array as usize];
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
