//! The loops of a run that remain chains: each turn waits for the previous one.
//!
//! While a run is traced in the shallow form, a recorder notes the loops that are not order-free,
//! with the gates and calls of their turns. Such a loop is a chain if it has at least one layer of
//! AND gates for each turn. A loop whose turns do not wait has only the layers of one turn. Layers
//! are counted as if both parties owned every operand.

use std::collections::BTreeMap;
use std::ops::Range;

use super::cut::Traced;
use super::trace::{Components, Frame, Tracer};
use crate::program::{Loop, Variable};
use crate::source::{Span, Symbol};

/// A loop that remains a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainedLoop {
    /// The place of the loop in the source.
    pub span: Span,
    /// The function that contains the loop, or the run.
    pub function: Symbol,
    /// The variables that its turns change, other than by adding only.
    pub variables: Vec<Symbol>,
    /// The number of its turns, or the greatest such number if the loop is run several times.
    pub turns: u64,
    /// An upper bound on the layers of AND gates from its first to its last.
    pub layers: u32,
}

/// A loop in the trace.
#[derive(Clone, Debug)]
pub(super) struct TracedLoop {
    pub(super) span: Span,
    pub(super) function: Symbol,
    pub(super) variables: Vec<Symbol>,
    pub(super) turns: u64,
    /// The numbers of gates before and after the loop. The next field has those of the calls.
    pub(super) gates: Range<usize>,
    pub(super) calls: Range<usize>,
}

/// The greatest number of recorded loops. A loop counts as often as it is run.
pub(super) const MAX_LOOPS: usize = 1 << 10;

impl<'b, 'p> Tracer<'b, 'p> {
    /// Returns the numbers of gates and calls so far.
    pub(super) fn made(&self) -> [usize; 2] {
        let calls = match &self.components {
            Components::Inline => 0,
            Components::Call(calls) => calls.list.len(),
        };
        [self.builder.gate_count(), calls]
    }

    /// Records a loop that is not order-free. `before` holds the numbers of gates and calls before
    /// it.
    pub(super) fn note_loop(
        &mut self,
        frame: &Frame<'b, 'p>,
        each: &'p Loop,
        (span, turns): (Span, Range<i128>),
        before: [usize; 2],
    ) {
        let judged = self.judged.get(&std::ptr::from_ref(each));
        let chains = judged.map(|judged| judged.chains.iter());
        let name = |of: &Variable| self.program.variable(frame.function, *of).0.clone();
        let variables: Vec<_> = chains.into_iter().flatten().map(name).collect();
        let ([gates, calls], after) = (before, self.made());
        let is_run = self.calls_components();
        let Some(recorder) = self.recorder.as_mut().filter(|_| is_run) else {
            return;
        };
        if !variables.is_empty() && recorder.loops.len() < MAX_LOOPS {
            recorder.loops.push(TracedLoop {
                span,
                function: frame.function.name.clone(),
                variables,
                turns: u64::try_from(turns.end.saturating_sub(turns.start)).unwrap_or(0),
                gates: gates..after[0],
                calls: calls..after[1],
            });
        }
    }
}

/// Returns the chains among `loops`, those with the most layers first. `depth` gives the layers of
/// a call.
pub(super) fn chains(
    traced: &Traced<'_>,
    loops: &[TracedLoop],
    depth: impl Fn(usize) -> u32,
) -> Vec<ChainedLoop> {
    if loops.is_empty() {
        return Vec::new();
    }
    let [gates, calls] = traced.layers(&depth);
    let mut found: BTreeMap<(Span, Symbol), ChainedLoop> = BTreeMap::new();
    for each in loops {
        // The numbers are in ascending order.
        let place = |number| traced.numbers.partition_point(|of| (*of as usize) < number);
        let of_gates = place(each.gates.start)..place(each.gates.end);
        let of_gates = of_gates.map(|gate| (gates[gate] - traced.own_layers(gate), gates[gate]));
        let of_calls = each
            .calls
            .clone()
            .map(|call| (calls[call] - depth(call), calls[call]));
        let ends = of_gates.chain(of_calls).filter(|(start, end)| start < end);
        let (first, last) = ends.fold((u32::MAX, 0), |(first, last), (start, end)| {
            (first.min(start), last.max(end))
        });
        let layers = last.saturating_sub(first);
        let key = (each.span, each.function.clone());
        let known = found.entry(key).or_insert_with(|| ChainedLoop {
            span: each.span,
            function: each.function.clone(),
            variables: each.variables.clone(),
            turns: 0,
            layers: 0,
        });
        known.turns = known.turns.max(each.turns);
        known.layers = known.layers.max(layers);
    }
    let is_chain = |one: &ChainedLoop| one.turns > 1 && u64::from(one.layers) >= one.turns;
    let mut all: Vec<ChainedLoop> = found.into_values().filter(is_chain).collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.layers), one.span));
    all
}
