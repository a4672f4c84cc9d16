//! The resources of a run, before anything is built: its steps, the results of its calls, and the
//! elements of its one value.
//!
//! The inputs of a run and the results of its calls are in one value of the function, which is cut
//! into elements ([`Function::MAX_ELEMENTS`]). No element is wider than the greatest common divisor
//! of the results' widths. Gates between the calls are not counted, so that a run which passes may
//! still be too large. The trace refuses it at the first call whose arguments cut the value too
//! finely ([`Cuts`]).
//!
//! Each function is counted once, without wires. Its text first becomes a [`Cost`]: a sum, and the
//! parts that depend on counters. A loop whose turns are all alike is counted once and multiplied.
//! For other loops, the parts are added up turn by turn. The number of such turns is at most the
//! number of the run's steps.

mod cuts;

use std::collections::{BTreeMap, HashMap};

pub(super) use cuts::{Cuts, check_elements};
use num_integer::Integer as _;
use tacit_function::Function;

use super::trace::MAX_STEPS;
use super::{Error, Lower};
use crate::program::{
    Body, Condition, Entry, EntryKind, Expression, ExpressionKind, FunctionId, Number, Program,
    Statement, StatementKind, Visit, in_expression, in_statement,
};
use crate::source::Span;

/// The greatest number of bits that calls of components return. Each takes about 30 bytes while a
/// run is lowered.
const MAX_CALL_BITS: u64 = 1 << 27;

/// The greatest number of bits of a run's inputs and states. Each takes about 30 bytes while the
/// run is lowered.
const MAX_GIVEN_BITS: u64 = 1 << 27;

/// Refuses a run that has more steps than allowed, or whose inputs and calls alone are more than a
/// function may have. Returns the run's steps and its cuts, or 0 steps if a number of counters has
/// no value, which the trace reports.
///
/// # Errors
///
/// The run or a component that it calls is too large.
pub(super) fn check(program: &Program, entry: &Entry) -> Lower<(u64, Cuts)> {
    let mut counting = Counting::new(program, false);
    let counts = counting.function(entry.function);
    if counts.is_err_and(|stopped| stopped == Stopped::TooLong) {
        return Err(too_long(entry.span, "this run"));
    }
    let mut inlined = Counting::new(program, true);
    for (&id, &span) in &counting.called {
        inlined.left = MAX_STEPS;
        if inlined
            .function(id)
            .is_err_and(|stopped| stopped == Stopped::TooLong)
        {
            let name = &program.functions[id.0 as usize].name;
            return Err(too_long(span, &format!("the component `{name}`")));
        }
    }
    check_bins(entry)?;
    check_given(program, entry)?;
    let Ok(counts) = counts else {
        return Ok((0, Cuts::default()));
    };
    if counts.bits > MAX_CALL_BITS {
        let message = format!(
            "the components that this run calls give {} bits together, and a run has at most 2^27 \
             such bits: give it fewer rows or narrower numbers, or compute it in several runs",
            counts.bits
        );
        return Err(Error::At(entry.span, message));
    }
    // Public inputs become constants.
    let inputs = entry.inputs.iter().enumerate();
    let inputs = inputs.filter(|(place, input)| input.owner.is_some() && !entry.is_joined(*place));
    let inputs = inputs.map(|(_, input)| program.types.width(input.ty)).sum();
    let cuts = Cuts::new(counts.bits.saturating_add(inputs), counts.divisor);
    cuts.check(entry.span)?;
    Ok((counts.steps, cuts))
}

/// Refuses inputs and states of more bits than a run may be given.
fn check_given(program: &Program, entry: &Entry) -> Lower<()> {
    let inputs = entry.inputs.iter().enumerate();
    let inputs = inputs.filter(|(place, input)| input.owner.is_some() && !entry.is_joined(*place));
    let inputs = inputs.map(|(_, input)| input.ty);
    let states = program.states.iter().map(|state| state.ty);
    let states = states.filter(|_| entry.kind == EntryKind::Run);
    let bits: u64 = inputs.chain(states).map(|ty| program.types.width(ty)).sum();
    if bits <= MAX_GIVEN_BITS {
        return Ok(());
    }
    let message = format!(
        "the inputs and states of this run have {bits} bits together, and a run has at most 2^27 \
         such bits (16 MiB): give it fewer rows or narrower numbers, or compute it in several runs"
    );
    Err(Error::At(entry.span, message))
}

/// Refuses a join with more bins than a function has elements, or with more bits than it can hold
/// at once.
fn check_bins(entry: &Entry) -> Lower<()> {
    let Some(join) = &entry.join else {
        return Ok(());
    };
    let (sizes, bins) = (&join.sizes, join.sizes.all_bins());
    let (tag, row, payload) = (
        u64::from(sizes.tag_bits),
        sizes.placer_bits,
        sizes.payload_bits,
    );
    // Each party's input of a bin, the pair, and as much again for the results of turns.
    let (elements, bits) = (4 * bins, bins * (2 * tag + 3 * row + 4 * payload));
    if elements <= Function::MAX_ELEMENTS && bits <= 1 << 30 {
        return Ok(());
    }
    let times =
        (elements as f64 / Function::MAX_ELEMENTS as f64).max(bits as f64 / f64::from(1 << 30));
    Err(Error::At(
        join.span,
        format!(
            "the join has {bins} bins for tables of {} and {} keys, some {times:.1} times what a \
             function may have: give smaller sizes of the tables, such as `--param N=1000000`, or \
             read fewer fields of pairs",
            join.keys[0], join.keys[1]
        ),
    ))
}

/// Returns the error of a run that takes too many steps, named as `what`.
pub(super) fn too_long(span: Span, what: &str) -> Error {
    let message = format!(
        "{what} has more than 2^26 steps when it is unrolled: give it fewer rows, or compute it in \
         several runs"
    );
    Error::At(span, message)
}

/// The reason that something cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// There are more than [`MAX_STEPS`] steps.
    TooLong,
    /// A number of counters has no value, which the trace reports.
    NoValue,
}

/// Steps, and results of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// The steps that [`super::trace`] takes.
    steps: u64,
    /// The number of bits that calls of components return.
    bits: u64,
    /// The greatest common divisor of these calls' widths, or 0 if there are none.
    divisor: u64,
}

impl Counts {
    const STEP: Self = Self {
        steps: 1,
        bits: 0,
        divisor: 0,
    };

    fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            bits: self.bits.saturating_add(other.bits),
            divisor: self.divisor.gcd(&other.divisor),
        }
    }

    fn times(self, turns: u64) -> Self {
        match turns {
            0 => Self::default(),
            _ => Self {
                steps: self.steps.saturating_mul(turns),
                bits: self.bits.saturating_mul(turns),
                divisor: self.divisor,
            },
        }
    }
}

/// The cost of a part of a function.
#[derive(Default)]
struct Cost<'p> {
    /// The cost that does not depend on counters.
    counts: Counts,
    parts: Vec<Part<'p>>,
}

/// A part whose cost depends on the counters or on another function.
enum Part<'p> {
    /// One of two costs. The second applies if the number is not 0.
    Choice(&'p Number, [Cost<'p>; 2]),
    Turns(Turns<'p>),
    /// A call that is inlined.
    Call(FunctionId),
    /// A call of a component, with its place in the source and the number of bits that it returns.
    Component(FunctionId, Span, u64),
}

struct Turns<'p> {
    counter: u32,
    from: &'p Number,
    end: End<'p>,
    turn: Cost<'p>,
    /// Whether turns differ because `turn` depends on the counter.
    varies: bool,
}

/// The end of a loop.
enum End<'p> {
    At(&'p Number),
    After(u32),
}

impl<'p> Cost<'p> {
    fn of(part: Part<'p>) -> Self {
        Self {
            counts: Counts::default(),
            parts: vec![part],
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.counts = self.counts.and(other.counts);
        self.parts.extend(other.parts);
        self
    }

    fn step(mut self) -> Self {
        self.counts = self.counts.and(Counts::STEP);
        self
    }

    /// Whether the cost depends on a counter.
    fn reads(&self, counter: u32) -> bool {
        let is_in = |number: &Number| {
            let mut found = false;
            number.counters(&mut |other| found |= other.0 == counter);
            found
        };
        self.parts.iter().any(|part| match part {
            Part::Call(_) | Part::Component(..) => false,
            Part::Choice(number, costs) => {
                is_in(number) || costs.iter().any(|cost| cost.reads(counter))
            }
            Part::Turns(turns) => {
                is_in(turns.from)
                    || matches!(turns.end, End::At(to) if is_in(to))
                    || turns.turn.reads(counter)
            }
        })
    }
}

/// Counts the costs of functions.
struct Counting<'p> {
    program: &'p Program,
    /// Whether components are inlined, as they are within components.
    inlines: bool,
    known: HashMap<FunctionId, Result<Counts, Stopped>>,
    /// The components that are called, with the first call of each.
    called: BTreeMap<FunctionId, Span>,
    /// The remaining number of turns that may be walked. Each has at least one step.
    left: u64,
    /// The cost of the walk so far.
    cost: Cost<'p>,
}

impl<'p> Counting<'p> {
    fn new(program: &'p Program, inlines: bool) -> Self {
        Self {
            program,
            inlines,
            known: HashMap::new(),
            called: BTreeMap::new(),
            left: MAX_STEPS,
            cost: Cost::default(),
        }
    }

    fn function(&mut self, id: FunctionId) -> Result<Counts, Stopped> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let function = &self.program.functions[id.0 as usize];
        let counted = match &function.body {
            Body::Block(block) => {
                let cost = self.cost_of(|this| this.block(block));
                self.sum(&cost, &mut vec![0; function.counters.len()])
            }
            Body::Library(..) | Body::File(..) => Ok(Counts::default()),
        };
        self.known.insert(id, counted);
        counted
    }

    /// Returns the sum of a cost at these counters.
    fn sum(&mut self, cost: &Cost<'p>, counters: &mut [i128]) -> Result<Counts, Stopped> {
        let mut sum = cost.counts;
        for part in &cost.parts {
            sum = sum.and(match part {
                Part::Call(id) => self.function(*id)?,
                Part::Component(id, span, bits) => {
                    self.called.entry(*id).or_insert(*span);
                    Counts {
                        steps: 0,
                        bits: *bits,
                        divisor: *bits,
                    }
                }
                Part::Choice(number, costs) => {
                    let is_first = number.evaluate(counters).ok_or(Stopped::NoValue)? == 0;
                    self.sum(&costs[usize::from(!is_first)], counters)?
                }
                Part::Turns(turns) => self.turns(turns, counters)?,
            });
            if sum.steps > MAX_STEPS {
                return Err(Stopped::TooLong);
            }
        }
        match sum.steps > MAX_STEPS {
            true => Err(Stopped::TooLong),
            false => Ok(sum),
        }
    }

    fn turns(&mut self, of: &Turns<'p>, counters: &mut [i128]) -> Result<Counts, Stopped> {
        let from = of.from.evaluate(counters).ok_or(Stopped::NoValue)?;
        let to = match of.end {
            End::At(to) => to.evaluate(counters),
            End::After(length) => from.checked_add(length.into()),
        };
        let to = to.ok_or(Stopped::NoValue)?;
        let turns = to.saturating_sub(from).max(0);
        let turns = u64::try_from(turns).unwrap_or(u64::MAX);
        let counter = of.counter as usize;
        if !of.varies {
            if turns == 0 {
                return Ok(Counts::default());
            }
            counters[counter] = from;
            return Ok(self.sum(&of.turn, counters)?.times(turns));
        }
        let mut sum = Counts::default();
        for value in from..to {
            self.left = self.left.checked_sub(1).ok_or(Stopped::TooLong)?;
            counters[counter] = value;
            sum = sum.and(self.sum(&of.turn, counters)?);
            if sum.steps > MAX_STEPS {
                return Err(Stopped::TooLong);
            }
        }
        Ok(sum)
    }

    fn add(&mut self, cost: Cost<'p>) {
        self.cost = std::mem::take(&mut self.cost).and(cost);
    }

    /// Returns the cost of a walk, without that of earlier walks.
    fn cost_of(&mut self, walk: impl FnOnce(&mut Self)) -> Cost<'p> {
        let before = std::mem::take(&mut self.cost);
        walk(self);
        std::mem::replace(&mut self.cost, before)
    }

    /// Returns both costs if a condition is secret. Otherwise it returns one of them, the second if
    /// the condition holds.
    fn choice(&mut self, of: &'p Condition, [otherwise, then]: [Cost<'p>; 2]) {
        let cost = match of {
            Condition::Guard(number) => match number.as_constant() {
                Some(0) => otherwise,
                Some(_) => then,
                None => Cost::of(Part::Choice(number, [otherwise, then])),
            },
            Condition::Secret(_) => otherwise.and(then),
        };
        self.condition(of);
        self.add(cost);
    }

    fn call(&mut self, id: FunctionId, span: Span) -> Cost<'p> {
        let function = &self.program.functions[id.0 as usize];
        let types = &self.program.types;
        let mut parameters = function.parameters.iter();
        let has_bits =
            parameters.any(|local| types.width(function.locals[local.0 as usize].ty) > 0);
        let bits = types.width(function.result);
        if function.is_component && has_bits && bits > 0 && !self.inlines {
            return Cost::of(Part::Component(id, span, bits));
        }
        Cost::of(Part::Call(id))
    }
}

impl<'p> Visit<'p> for Counting<'p> {
    fn statement(&mut self, of: &'p Statement) {
        match &of.kind {
            StatementKind::If(condition, then, otherwise) => {
                let costs = [otherwise, then];
                let costs = costs.map(|all| self.cost_of(|this| this.statements(all)));
                self.choice(condition, costs);
            }
            // One turn is traced for all of them.
            StatementKind::For(each) if each.is_over_pairs => self.statements(&each.body),
            StatementKind::For(each) => {
                let turn = self.cost_of(|this| this.statements(&each.body));
                let end = End::At(&each.to);
                self.add(repeated(each.counter.0, (&each.from, end), turn.step()));
            }
            StatementKind::Assert(_) | StatementKind::Debug(_) => {}
            _ => in_statement(self, of),
        }
        self.add(Cost::default().step());
    }

    fn expression(&mut self, of: &'p Expression) {
        use ExpressionKind as K;
        match &of.kind {
            K::If(condition, then, otherwise) => {
                let costs = [otherwise, then];
                let costs = costs.map(|value| self.cost_of(|this| this.expression(value)));
                self.choice(condition, costs);
            }
            K::Comprehension(counter, from, element) => {
                let (_, length) = self.program.types.element(of.ty).unwrap_or((of.ty, 0));
                let turn = self.cost_of(|this| this.expression(element));
                self.add(repeated(counter.0, (from, End::After(length)), turn));
            }
            _ => in_expression(self, of),
        }
        if let K::Call(id, _) = &of.kind {
            let call = self.call(*id, of.span);
            self.add(call);
        }
        self.add(Cost::default().step());
    }
}

/// Returns the cost of all turns of a loop.
fn repeated<'p>(counter: u32, (from, end): (&'p Number, End<'p>), turn: Cost<'p>) -> Cost<'p> {
    let varies = turn.reads(counter);
    Cost::of(Part::Turns(Turns {
        counter,
        from,
        end,
        turn,
        varies,
    }))
}

#[cfg(test)]
mod tests;
