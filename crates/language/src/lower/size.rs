//! The resources of a run, before anything is built: its steps, the results of its calls, and the
//! elements of its one value.
//!
//! The inputs of a run and the results of its calls are in one value of the function, which is cut
//! into [elements](tacit_function::Function::MAX_ELEMENTS). No element is wider than the greatest
//! common divisor of the results' widths. Gates between the calls are not counted, so that a run
//! which passes may still be too large. The trace refuses it at the first call whose arguments cut
//! the value too finely ([`Cuts`]).
//!
//! Each function is counted once, without wires. Its text first becomes a [`Cost`]: a sum, and the
//! parts that depend on counters. A loop whose turns are all alike is counted once and multiplied.
//! For other loops, the parts are added up turn by turn. The number of such turns is at most the
//! number of the run's steps.

mod cuts;
mod limits;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use num_integer::Integer as _;
use tacit_circuit::builder::CircuitForm;

use super::Lower;
use super::network::{self, Loops};
use super::trace::MAX_STEPS;
use crate::program::{
    Body, Condition, CounterId, Entry, Expression, ExpressionKind, Function, FunctionId, Number,
    Program, Statement, StatementKind, Visit, in_expression, in_statement,
};
use crate::source::Span;
pub(super) use cuts::{Cuts, check_elements};
use limits::check_given;
pub(super) use limits::{check_bins, check_calls, check_sums, too_long};

/// Refuses a run that has more steps than allowed, or whose inputs and calls alone are more than a
/// function may have.
pub(super) fn check(program: &Program, entry: &Entry) -> Lower<Checked> {
    // The form for garbling keeps networks only if it must, since functions that have prepared
    // material keep their digests.
    let is_shallow = program.form == CircuitForm::Shallow;
    if !is_shallow && let Ok(checked) = check_kept(program, entry, false) {
        return Ok(checked);
    }
    check_kept(program, entry, true)
}

/// A run that is not too large.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// The run's steps, or 0 if a number of counters has no value, which the trace reports.
    pub(super) steps: u64,
    /// Whether networks of calls stay loops.
    pub(super) keeps_networks: bool,
    /// The elements into which the calls alone cut the run's value.
    pub(super) cuts: Cuts,
}

/// Checks a run whose networks stay loops, or are unrolled.
fn check_kept(program: &Program, entry: &Entry, keeps_networks: bool) -> Lower<Checked> {
    let mut counting = Counting::new(program, false);
    counting.keeps_networks = keeps_networks;
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
    if let Some(join) = &entry.join {
        check_bins(join, 0)?;
    }
    check_given(program, entry)?;
    let Ok(counts) = counts else {
        return Ok(Checked {
            steps: 0,
            keeps_networks,
            cuts: Cuts::default(),
        });
    };
    check_calls(entry.span, counts.bits)?;
    // Public inputs become constants.
    let inputs = entry.inputs.iter().enumerate();
    let inputs = inputs.filter(|(place, input)| input.owner.is_some() && !entry.is_joined(*place));
    let inputs = inputs.map(|(_, input)| program.types.width(input.ty)).sum();
    let cuts = Cuts::new(counts.bits.saturating_add(inputs), counts.divisor);
    cuts.check(entry.span)?;
    Ok(Checked {
        steps: counts.steps,
        keeps_networks,
        cuts,
    })
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
    /// Loops that form a network, with their cost if they are unrolled.
    Network(Rc<Loops>, Cost<'p>),
}

struct Turns<'p> {
    counter: CounterId,
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
    fn reads(&self, counter: CounterId) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Call(_) | Part::Component(..) => false,
            Part::Choice(number, costs) => {
                number.reads(counter) || costs.iter().any(|cost| cost.reads(counter))
            }
            Part::Network(_, cost) => cost.reads(counter),
            Part::Turns(turns) => {
                turns.from.reads(counter)
                    || matches!(turns.end, End::At(to) if to.reads(counter))
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
    /// Whether networks of calls stay loops.
    keeps_networks: bool,
    /// The function that is walked.
    function: Option<&'p Function>,
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
            keeps_networks: false,
            function: None,
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
                let before = self.function.replace(function);
                let cost = self.cost_of(|this| this.block(block));
                self.function = before;
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
                Part::Network(loops, cost) => {
                    let calls = loops.most_calls(counters).ok_or(Stopped::NoValue)?;
                    if calls < network::MIN_CALLS {
                        self.sum(cost, counters)?
                    } else {
                        of_network(loops, calls)
                    }
                }
            });
            if sum.steps > MAX_STEPS {
                return Err(Stopped::TooLong);
            }
        }
        if sum.steps > MAX_STEPS {
            Err(Stopped::TooLong)
        } else {
            Ok(sum)
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
        let counter = of.counter.0 as usize;
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

/// Returns the cost of a network that stays loops: the moves of its arrays, and its calls, which
/// take less time than other steps.
fn of_network(loops: &Loops, calls: u64) -> Counts {
    let (bits, divisor) = loops.size();
    Counts {
        steps: calls / network::CALLS_OF_A_STEP,
        bits: 2 * bits,
        divisor,
    }
}

impl<'p> Visit<'p> for Counting<'p> {
    fn statements(&mut self, all: &'p [Statement]) {
        let mut rest = all;
        while let Some((statement, after)) = rest.split_first() {
            rest = after;
            let is_loop = matches!(statement.kind, StatementKind::For(_));
            let function = self.function.filter(|_| is_loop && self.keeps_networks);
            let from = &all[all.len() - after.len() - 1..];
            let found = function.and_then(|of| network::network_at(self.program, of, from));
            let Some(loops) = found else {
                self.statement(statement);
                continue;
            };
            let (these, after) = from.split_at(loops.statements);
            let cost = self.cost_of(|this| these.iter().for_each(|one| this.statement(one)));
            self.add(Cost::of(Part::Network(Rc::new(loops), cost)));
            rest = after;
        }
    }

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
                self.add(repeated(each.counter, (&each.from, end), turn.step()));
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
                self.add(repeated(*counter, (from, End::After(length)), turn));
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
fn repeated<'p>(
    counter: CounterId,
    (from, end): (&'p Number, End<'p>),
    turn: Cost<'p>,
) -> Cost<'p> {
    let varies = turn.reads(counter);
    Cost::of(Part::Turns(Turns {
        counter,
        from,
        end,
        turn,
        varies,
    }))
}
