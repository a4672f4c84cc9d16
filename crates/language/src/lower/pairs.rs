//! Loops over the pairs of a join. They are not unrolled: a turn becomes a component, which a loop
//! of the function calls for each bin. Further loops add up the results of the turns, 64 at once.
//! The remaining addends of each level are added up like those of other loops.

use tacit_circuit::Circuit;
use tacit_circuit::builder::{Builder, Bus};

use super::addends::{ManyAddends, Pending, Tree, TurnAddends, tree_of};
use super::component::finish;
use super::lines::{LineCosts, Recorder};
use super::operators::Bits;
use super::order_free::{Judged, Kind};
use super::trace::{Called, Components, Frame, MAX_GATES, Tracer};
use super::{Diagnostic, Lower};
use crate::program::{
    CounterId, Expression, Join, LocalId, Loop, Variable, VariableUse, variable_uses,
};
use crate::source::Span;

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A loop of calls over the pairs.
#[derive(Clone, Debug)]
pub(super) struct PairLoop {
    /// The circuit of a turn. It reads a pair, and other values if the turn needs any.
    pub(super) turn: Circuit,
    /// The costs of its lines, if they are recorded.
    pub(super) lines: Option<LineCosts>,
    /// The number of turns.
    pub(super) turns: u64,
    /// The results, in order. A result that is kept for each pair has no trees.
    pub(super) results: Vec<TurnResult>,
}

/// A result of each turn.
#[derive(Clone, Debug)]
pub(super) struct TurnResult {
    /// The number of bits.
    pub(super) width: usize,
    /// The levels at which the results of all turns are added up.
    pub(super) levels: Vec<TreeLevel>,
}

/// The values of a level, and the component that adds up 64 of them at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeLevel {
    /// The number of values.
    pub(super) values: u64,
    /// The number of bits of each value.
    pub(super) width: usize,
    /// The component that adds them up, or `None` if there are too few.
    pub(super) tree: Option<Tree>,
}

impl TreeLevel {
    /// Returns the number of calls of the component.
    pub(super) fn calls(&self) -> u64 {
        self.tree.map_or(0, |tree| self.values / tree.count as u64)
    }

    /// Returns the number of values that no call takes.
    pub(super) fn left(&self) -> u64 {
        match self.tree {
            Some(tree) => self.values % tree.count as u64,
            None => self.values,
        }
    }
}

/// Returns the levels at which the results of `values` turns are added up.
fn levels(
    kind: Kind,
    ty: crate::program::TypeId,
    mut width: usize,
    most: usize,
    mut values: u64,
) -> Vec<TreeLevel> {
    let mut levels = Vec::new();
    loop {
        let tree = tree_of(kind, ty, width, most);
        let is_last = values < tree.count as u64;
        levels.push(TreeLevel {
            values,
            width,
            tree: (!is_last).then_some(tree),
        });
        if is_last {
            return levels;
        }
        values = values / tree.count as u64 * tree.results() as u64;
        width = tree.result;
    }
}

impl<'b, 'p> Tracer<'b, 'p> {
    fn join(&self) -> Option<&'p Join> {
        let entries = self.program.entries.iter();
        entries.filter_map(|entry| entry.join.as_ref()).next()
    }

    /// Traces a loop over pairs.
    pub(super) fn pair_loop(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        each: &'p Loop,
        span: Span,
    ) -> Lower<()> {
        let turns = self.number(frame, &each.to, span)? as u64;
        if turns == 0 {
            return Ok(());
        }
        let judged = Judged::of(each);
        let sums: Vec<(Variable, Kind)> = judged.sums.iter().map(|(v, kind)| (*v, *kind)).collect();
        let given = outer_reads(each, &sums, self.join().map(|join| join.pairs));
        let builder = Builder::bounded(MAX_GATES + 1).in_form(self.program.form);
        let mut turn = self.turn(&builder, frame, each.counter, &given, span)?;
        for (variable, kind) in &sums {
            turn.frame.pending.insert(*variable, Pending::new(*kind, 0));
        }
        turn.tracer.statements(&mut turn.frame, &each.body)?;
        let mut added: Vec<(Variable, Kind, Vec<TurnAddends<'_>>)> = Vec::new();
        for (variable, kind) in sums {
            if let Some(pending) = turn.frame.pending.remove(&variable) {
                added.push((variable, kind, pending.into_addends().collect()));
            }
        }
        let outputs = added.iter().flat_map(|(_, _, parts)| parts);
        let outputs: Vec<&Bits<'_>> = outputs.flat_map(|part| &part.addends).collect();
        let (given, recorder) = (turn.given, turn.tracer.recorder.take());
        let reads_any = !given.is_empty();
        for (number, bits) in outputs.iter().enumerate() {
            builder.output(
                &format!("r{number}"),
                &Bus::from_bits(&builder, bits.iter().copied()),
            );
        }
        let mut plan: Vec<(Variable, Kind, Vec<PartPlan>)> = Vec::new();
        for (variable, kind, parts) in added {
            let parts = parts
                .into_iter()
                .map(|part| PartPlan::new(kind, part, turns));
            plan.push((variable, kind, parts.collect()));
        }
        let results = plan.iter().flat_map(|(_, _, parts)| parts);
        let results: Vec<TurnResult> = results.flat_map(|part| part.results.clone()).collect();
        let has_results = !results.is_empty();
        let mut width = 0;
        for level in results.iter().flat_map(|result| &result.levels) {
            width += level.left() as usize * level.width;
        }
        let mut bits = Vec::new();
        if has_results {
            let (turn, lines) = finish(builder, recorder, span)?;
            let number = self.pair_loops.len() as u32;
            self.pair_loops.push(PairLoop {
                turn,
                lines,
                turns,
                results,
            });
            let arguments = if reads_any { vec![given] } else { Vec::new() };
            bits = self.called(Called::PairLoop(number), arguments, width, span);
        }
        let mut rest = bits.into_iter();
        for (variable, kind, parts) in plan {
            let parts = parts.into_iter().map(|part| part.with(&mut rest)).collect();
            self.give_many(frame, (variable, kind), turns, parts, span)?;
        }
        self.check_gates(0, span)
    }

    /// Traces a value for each pair. It is a result of the run, but none of the run's wires holds
    /// it.
    pub(super) fn for_each_pair(
        &mut self,
        frame: &mut Frame<'b, 'p>,
        counter: CounterId,
        value: &'p Expression,
        span: Span,
    ) -> Lower<()> {
        let turns = self.join().map_or(0, |join| join.sizes.all_bins());
        if turns == 0 {
            let message = "a table of no keys leaves no pairs, and no value for each of them";
            return Err(Diagnostic::new(span, message));
        }
        let builder = Builder::bounded(MAX_GATES + 1).in_form(self.program.form);
        let mut turn = self.turn(&builder, frame, counter, &[], span)?;
        let bits = turn.tracer.expression(&mut turn.frame, value)?;
        let recorder = turn.tracer.recorder.take();
        let width = bits.len();
        builder.output("r0", &Bus::from_bits(&builder, bits));
        let (turn, lines) = finish(builder, recorder, span)?;
        self.by_pair = Some(self.pair_loops.len() as u32);
        self.pair_loops.push(PairLoop {
            turn,
            lines,
            turns,
            results: vec![TurnResult {
                width,
                levels: Vec::new(),
            }],
        });
        Ok(())
    }

    /// Traces a turn as a component. It reads these variables in addition to its pair.
    fn turn<'t>(
        &self,
        builder: &'t Builder,
        frame: &Frame<'b, 'p>,
        counter: CounterId,
        read: &[LocalId],
        span: Span,
    ) -> Lower<Turn<'t, 'b, 'p>> {
        let missing = || Diagnostic::new(span, "there are no pairs");
        let join = self.join().ok_or_else(missing)?;
        let mut tracer = Tracer::new(builder, self.program, self.files, Components::Inline);
        tracer.left = self.left;
        tracer.recorder = self.recorder.as_ref().map(|_| {
            let entry = self
                .program
                .entries
                .iter()
                .find(|entry| entry.join.is_some());
            Recorder::new(entry.expect("a run that joins").function, span)
        });
        let mut locals = vec![Vec::new(); frame.function.locals.len()];
        locals[join.pairs.0 as usize] = pair_of_port(self.program, join, builder);
        // Each turn gets the values that are not constant.
        let mut given: Bits<'b> = Vec::new();
        for local in read {
            let bits = &frame.locals[local.0 as usize];
            given.extend(bits.iter().filter(|bit| bit.as_constant().is_none()));
        }
        let port: Bits<'t> = if given.is_empty() {
            Vec::new()
        } else {
            builder.bus("given", given.len()).bits().collect()
        };
        let mut port = port.into_iter();
        for local in read {
            let bits = frame.locals[local.0 as usize].iter();
            let bits = bits.map(|bit| match bit.as_constant() {
                Some(bit) => builder.constant(bit),
                None => port
                    .next()
                    .expect("a bit of the port for each that is given"),
            });
            locals[local.0 as usize] = bits.collect();
        }
        let mut counters = frame.counters.clone();
        counters[counter.0 as usize] = 0;
        let frame = Frame {
            function: frame.function,
            locals,
            counters,
            log: None,
            conditions: Vec::new(),
            pending: BTreeMap::new(),
        };
        Ok(Turn {
            tracer,
            frame,
            given,
        })
    }
}

struct Turn<'t, 'b, 'p> {
    tracer: Tracer<'t, 'p>,
    frame: Frame<'t, 'p>,
    /// The wires for the port `given`.
    given: Bits<'b>,
}

/// A part of a variable to which turns add, without the wires of a turn.
struct PartPlan {
    place: (usize, usize),
    ty: crate::program::TypeId,
    constant: Vec<bool>,
    results: Vec<TurnResult>,
}

impl PartPlan {
    fn new(kind: Kind, part: TurnAddends<'_>, turns: u64) -> Self {
        let most = match part.constant.len() {
            0 => usize::MAX - 8,
            width => width,
        };
        let results = part.addends.iter().map(|addend| TurnResult {
            width: addend.len(),
            levels: levels(kind, part.ty, addend.len(), most, turns),
        });
        Self {
            place: part.place,
            ty: part.ty,
            results: results.collect(),
            constant: part.constant,
        }
    }

    /// Returns the remaining addends of all levels. Their bits are next in `rest`.
    fn with<'b>(
        self,
        rest: &mut impl Iterator<Item = tacit_circuit::builder::Bit<'b>>,
    ) -> ManyAddends<'b> {
        let mut addends = Vec::new();
        for result in &self.results {
            for (number, level) in result.levels.iter().enumerate() {
                for _ in 0..level.left() {
                    addends.push((number, rest.by_ref().take(level.width).collect()));
                }
            }
        }
        // Lower levels come first, since their sums go to higher levels.
        addends.sort_by_key(|(level, _)| *level);
        ManyAddends {
            place: self.place,
            ty: self.ty,
            addends,
            constant: self.constant,
        }
    }
}

/// Returns the wires of a pair, from the port with the fields that are read.
fn pair_of_port<'t>(
    program: &crate::program::Program,
    join: &Join,
    builder: &'t Builder,
) -> Bits<'t> {
    let types = &program.types;
    let width = join.sizes.pair_bits() as usize;
    let port: Bits<'t> = builder.bus("pair", width).bits().collect();
    let (matched, rest) = port.split_at(1);
    let (row, payload) = rest.split_at(join.sizes.placer_bits as usize);
    let of_row =
        |side: usize, port: &mut &[tacit_circuit::builder::Bit<'t>], out: &mut Bits<'t>| {
            for (number, ty) in types.fields(join.rows[side]).into_iter().enumerate() {
                let width = types.width(ty) as usize;
                if join.read[side].contains(&(number as u32)) {
                    let (bits, after) = port.split_at(width);
                    out.extend(bits);
                    *port = after;
                } else {
                    out.extend(std::iter::repeat_n(builder.constant(false), width));
                }
            }
        };
    let (mut row, mut payload) = (row, payload);
    let mut pair: Bits<'t> = matched.to_vec();
    for side in [0, 1] {
        let port = if side == join.placers() {
            &mut row
        } else {
            &mut payload
        };
        match join.most_rows_of_key {
            most if most > 1 && side == 1 => {
                let length = most.ilog2() as usize + 1;
                let (bits, after) = port.split_at(length);
                pair.extend(bits);
                *port = after;
                (0..most).for_each(|_| of_row(side, port, &mut pair));
            }
            _ => of_row(side, port, &mut pair),
        }
    }
    pair
}

/// Returns the variables that a loop reads and does not bind, except sums and the pairs.
fn outer_reads(each: &Loop, sums: &[(Variable, Kind)], pairs: Option<LocalId>) -> Vec<LocalId> {
    let (mut inner, mut read) = (HashSet::new(), BTreeSet::new());
    variable_uses(&each.body, None, |of| match of {
        VariableUse::Bind(local, _) => _ = inner.insert(local),
        VariableUse::Read(place, _) => read.extend(place.local().map(|local| local.0)),
        _ => {}
    });
    let is_sum = |local: u32| sums.iter().any(|(sum, _)| *sum == Variable::Local(local));
    let read = read
        .into_iter()
        .filter(|local| !is_sum(*local))
        .map(LocalId);
    read.filter(|local| !inner.contains(local) && Some(*local) != pairs)
        .collect()
}
