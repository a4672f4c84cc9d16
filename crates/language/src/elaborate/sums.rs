//! Warnings about sums that are wider than their type. These are sums in loops, wider than the
//! variable that accumulates them, sums that are divided, since the wrapped sum of two numbers
//! does not give their mean, and [results and compared differences](wraps).
//!
//! An addend counts if it is read, converted, selected, a sum itself, or a `wide_mul`. Other
//! values, such as products and results of calls, may be small for reasons that are not visible
//! here, so there are no warnings about them: an order book pays `got * price`, and all of `got` is
//! what was ordered. There are also none about sums that a function returns, as in
//! `total = add(total, x)`: of the 2n values of a merge, only n may count. A condition counts if it
//! is about counters, or compares the sum itself with a bound.

mod facts;
mod means;
mod turns;
mod wraps;

use std::collections::{HashMap, HashSet};

use num_bigint::BigInt;
use num_traits::Zero;

use facts::Fact;
use turns::counters_of;
use wraps::Use;

use super::ranges::bounds;
use crate::diagnostic::Diagnostic;
use crate::load::Loaded;
use crate::program::{
    BinaryOperator, Body, Condition, Expression, ExpressionKind as K, Function, Intrinsic, LocalId,
    Number, Program, Root, Statement, StatementKind, Step, TypeId, TypeKind, Value, ValuePath,
    Visit, in_expression, in_statement,
};
use crate::source::Span;

/// The greatest number of turns of a program that are checked one by one.
const MAX_TURNS: u128 = 1 << 16;

/// Returns a warning for each sum that may wrap.
pub(super) fn warnings(program: &Program, loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut left = MAX_TURNS;
    for (number, function) in program.functions.iter().enumerate() {
        let Body::Block(block) = &function.body else {
            continue;
        };
        let mut walk = SumCheck {
            program,
            function,
            changed: function.values().1,
            bounds: vec![(0, 0); function.counters.len()],
            loops: Vec::new(),
            guards: Vec::new(),
            facts: Vec::new(),
            first: HashMap::new(),
            known: HashMap::new(),
            sums: HashMap::new(),
            means: Vec::new(),
            left,
            is_std: loaded.is_std(function.span.file),
        };
        walk.block(block);
        let mut entries = program.entries.iter();
        if entries.any(|entry| entry.function.0 as usize == number) {
            walk.result(&block.value);
        }
        left = walk.left;
        found.append(&mut walk.means);
        let sums = walk.sums.iter();
        found.extend(sums.filter_map(|((local, _, span), sum)| walk.warning(*local, *span, sum)));
    }
    found
}

/// A variable or a part of it. A step with a secret number is `None`.
type Part = Vec<Option<Number>>;

struct Sum {
    ty: TypeId,
    turns: u128,
    least: BigInt,
    greatest: BigInt,
}

/// The least and the greatest value.
type Range = (BigInt, BigInt);

struct SumCheck<'p> {
    program: &'p Program,
    function: &'p Function,
    /// The variables that are assigned.
    changed: HashSet<LocalId>,
    bounds: Vec<(i128, i128)>,
    /// The open loops: the number of each counter, and the number of turns.
    loops: Vec<(usize, u128)>,
    /// The open conditions of counters, and whether each holds.
    guards: Vec<(&'p Number, bool)>,
    facts: Vec<Fact>,
    /// The number of loops around the place where each variable gets a value that is not a sum.
    first: HashMap<LocalId, usize>,
    /// The values of variables that are never assigned, and the ranges of sums among them.
    known: HashMap<LocalId, (&'p Expression, Option<Range>)>,
    /// The sum that each place in the source adds to a part of a variable.
    sums: HashMap<(LocalId, Part, Span), Sum>,
    /// The warnings about sums that are divided.
    means: Vec<Diagnostic>,
    /// The remaining number of turns that may be checked one by one.
    left: u128,
    /// Whether the function is one of the standard library, whose wrapping is meant.
    is_std: bool,
}

impl<'p> Visit<'p> for SumCheck<'p> {
    fn statement(&mut self, statement: &'p Statement) {
        match &statement.kind {
            StatementKind::Let(local, value) => {
                self.expression(value);
                self.first.insert(*local, self.loops.len());
                if !self.changed.contains(local) {
                    let range = self.range(value);
                    self.known.insert(*local, (value, range));
                }
            }
            StatementKind::Assign(place, value) => {
                self.expression(value);
                self.assign(place, value, statement.span);
            }
            StatementKind::If(condition, then, otherwise) => {
                self.condition(condition);
                self.under(condition, true, |walk| walk.statements(then));
                self.under(condition, false, |walk| walk.statements(otherwise));
            }
            StatementKind::For(each) => {
                // Pairs that do not match are zero.
                let joins = self
                    .program
                    .entries
                    .iter()
                    .filter_map(|entry| entry.join.as_ref());
                let matched = joins.flat_map(|join| join.keys).min().unwrap_or(0);
                let matched = Number::Constant(matched.into());
                let to = if each.is_over_pairs {
                    &matched
                } else {
                    &each.to
                };
                let ends = (&each.from, to);
                self.turns(each.counter.0 as usize, ends, |walk| {
                    walk.statements(&each.body)
                });
            }
            _ => in_statement(self, statement),
        }
    }

    fn expression(&mut self, expression: &'p Expression) {
        match &expression.kind {
            K::Comprehension(counter, from, of) => {
                let TypeKind::Array(_, length) = *self.program.types.kind(expression.ty) else {
                    return;
                };
                let length = Number::Constant(length.into());
                let to = Number::binary(BinaryOperator::Add, from.clone(), length);
                self.turns(counter.0 as usize, (from, &to), |walk| walk.expression(of));
            }
            K::If(condition, a, b) => {
                self.condition(condition);
                self.under(condition, true, |walk| walk.expression(a));
                self.under(condition, false, |walk| walk.expression(b));
            }
            K::Binary(operator, a, b) => {
                self.expression(a);
                self.expression(b);
                self.used(*operator, a, b);
            }
            K::Shift(operator, of, amount) => {
                self.expression(of);
                if *operator == BinaryOperator::ShiftRight {
                    self.mean(of, amount.as_constant());
                }
            }
            _ => in_expression(self, expression),
        }
    }

    fn place(&mut self, place: &'p ValuePath) {
        if let Root::Value(value) = &place.root {
            self.expression(value);
        }
    }
}

impl<'p> SumCheck<'p> {
    /// Checks the operands of an operator that needs their whole values.
    fn used(&mut self, operator: BinaryOperator, a: &'p Expression, b: &'p Expression) {
        use BinaryOperator as B;
        match operator {
            B::Divide => {
                self.mean(a, None);
                if !self.is_std {
                    self.wraps(a, Use::Dividend);
                }
            }
            B::Less | B::LessEqual | B::Greater | B::GreaterEqual if !self.is_std => {
                self.wraps(a, Use::Compared);
                self.wraps(b, Use::Compared);
            }
            _ => {}
        }
    }

    fn turns(
        &mut self,
        counter: usize,
        (from, to): (&Number, &Number),
        turn: impl FnOnce(&mut Self),
    ) {
        let ends = (bounds(from, &self.bounds), bounds(to, &self.bounds));
        let (Some(from), Some(to)) = ends else {
            return;
        };
        let Ok(turns @ 1..) = u128::try_from(to.1 - from.0) else {
            return;
        };
        self.bounds[counter] = (from.0, to.1 - 1);
        self.loops.push((counter, turns));
        turn(self);
        self.loops.pop();
    }

    fn assign(&mut self, place: &'p ValuePath, value: &'p Expression, span: Span) {
        let Some(local) = place.local() else {
            return;
        };
        let Some(part) = part_of(&place.path) else {
            return self.forget(local);
        };
        let is_read = |side: &Expression| {
            place_of(side).is_some_and(|(from, of)| from == local && of == part)
        };
        let added = match &value.kind {
            K::Binary(BinaryOperator::Add, a, b) if is_read(a) => b,
            K::Binary(BinaryOperator::Add, a, b) if is_read(b) => a,
            _ => {
                self.forget(local);
                self.first.insert(local, self.loops.len());
                return;
            }
        };
        let is_number = matches!(
            self.program.types.kind(value.ty),
            TypeKind::Unsigned(_) | TypeKind::Signed(_) | TypeKind::Fixed(..)
        );
        if is_number {
            self.add((local, &part), added, (value.ty, span));
        }
        self.forget(local);
    }

    /// Records what a statement adds to a variable, over all turns of the loops that add to it.
    fn add(
        &mut self,
        (local, part): (LocalId, &Part),
        added: &'p Expression,
        (ty, span): (TypeId, Span),
    ) {
        if let K::If(condition, a, b) = &added.kind {
            let is_guard = matches!(**condition, Condition::Guard(_));
            // A selection that adds in only one case is an addition under a condition.
            if is_guard || is_zero(a) || is_zero(b) {
                self.under(condition, true, |walk| {
                    walk.add((local, part), a, (ty, span))
                });
                self.under(condition, false, |walk| {
                    walk.add((local, part), b, (ty, span))
                });
                return;
            }
        }
        if let K::Cast(of) = &added.kind
            && *self.program.types.kind(of.ty) == TypeKind::Bool
        {
            let facts = self.facts.len();
            self.learn(of, true);
            self.add_range((local, part), added, (ty, span));
            self.facts.truncate(facts);
            return;
        }
        self.add_range((local, part), added, (ty, span));
    }

    fn add_range(
        &mut self,
        (local, part): (LocalId, &Part),
        added: &'p Expression,
        (ty, span): (TypeId, Span),
    ) {
        let Some(once) = self.range(added) else {
            return;
        };
        let is_nothing = once.0.is_zero() && once.1.is_zero();
        if is_nothing || self.is_kept_within((local, part), &once, ty) {
            return;
        }
        let outer = self.first.get(&local).copied().unwrap_or(0);
        let is_in_part = |counter: usize| {
            let mut numbers = part.iter().flatten();
            numbers.any(|number| counters_of(number).contains(&counter))
        };
        let inner = self.loops.get(outer..).unwrap_or_default().iter();
        let inner: Vec<(usize, u128)> = inner.filter(|(c, _)| !is_in_part(*c)).copied().collect();
        let Some((turns, least, greatest)) = self.over_turns(&inner, added, once) else {
            return;
        };
        let sum = self.sums.entry((local, part.clone(), span)).or_insert(Sum {
            ty,
            turns: 0,
            least: BigInt::zero(),
            greatest: BigInt::zero(),
        });
        // An unrolled loop comes here once for each of its turns.
        sum.turns = sum.turns.saturating_add(turns);
        sum.least += least;
        sum.greatest += greatest;
    }

    /// Returns the least and greatest value, if they are known.
    fn range(&self, value: &Expression) -> Option<Range> {
        let types = &self.program.types;
        let of_type = || types.range(value.ty);
        let within = |range: Range| {
            let (least, greatest) = of_type()?;
            (least <= range.0 && range.1 <= greatest).then_some(range)
        };
        match &value.kind {
            K::Constant(Value::Integer(number)) => Some((number.clone(), number.clone())),
            K::Number(number) => {
                let (least, greatest) = bounds(number, &self.bounds)?;
                Some((least.into(), greatest.into()))
            }
            K::Read(place) => {
                let known = place.whole_local().and_then(|of| self.known.get(&of));
                known.and_then(|(_, range)| range.clone()).or_else(of_type)
            }
            K::Cast(of) => match types.kind(of.ty) {
                TypeKind::Bool => Some((0.into(), 1.into())),
                TypeKind::Unsigned(_) | TypeKind::Signed(_) => within(self.range(of)?),
                _ => None,
            },
            K::If(_, a, b) => {
                let (a, b) = (self.range(a)?, self.range(b)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            K::Block(block) => self.range(&block.value),
            K::Binary(BinaryOperator::Add, a, b) => {
                let (a, b) = (self.range(a)?, self.range(b)?);
                within((a.0 + b.0, a.1 + b.1))
            }
            K::Intrinsic(Intrinsic::WideMul, parts) => match &parts[..] {
                [a, b] => within(self.product(a, b)?),
                _ => None,
            },
            K::Intrinsic(which @ (Intrinsic::Min | Intrinsic::Max), parts) => {
                let [a, b] = &parts[..] else {
                    return None;
                };
                let (Some(a), Some(b)) = (self.range(a), self.range(b)) else {
                    return of_type();
                };
                Some(match which {
                    Intrinsic::Min => (a.0.min(b.0), a.1.min(b.1)),
                    _ => (a.0.max(b.0), a.1.max(b.1)),
                })
            }
            _ => None,
        }
    }

    fn product(&self, a: &Expression, b: &Expression) -> Option<Range> {
        let is_square = place_of(a).is_some_and(|of| place_of(b) == Some(of));
        let (a, b) = (self.range(a)?, self.range(b)?);
        let corners = [&a.0 * &b.0, &a.0 * &b.1, &a.1 * &b.0, &a.1 * &b.1];
        let least = if is_square {
            BigInt::zero()
        } else {
            corners.iter().min()?.clone()
        };
        Some((least, corners.iter().max()?.clone()))
    }

    fn warning(&self, local: LocalId, span: Span, sum: &Sum) -> Option<Diagnostic> {
        let types = &self.program.types;
        let (least, greatest) = types.range(sum.ty)?;
        if sum.turns < 2 || (least <= sum.least && sum.greatest <= greatest) {
            return None;
        }
        let (wide, end) = self.wide_enough(sum.ty, &(sum.least.clone(), sum.greatest.clone()));
        let local = &self.function.locals[local.0 as usize].name;
        let message = format!("this sum may wrap: {} turns may add up to {end}", sum.turns);
        let warning = self.too_wide(sum.ty, span, message);
        Some(warning.help(format!(
            "`{wide}` is wide enough: declare `{local}` with it and convert what is added, `… as \
             {wide}`; where it is to wrap or never gets that far, write `add_wrap({local}, …)`"
        )))
    }
}

/// Returns the variable, or the part of one, from which a value is read.
fn place_of(value: &Expression) -> Option<(LocalId, Part)> {
    match &value.kind {
        K::Read(place) => Some((place.local()?, part_of(&place.path)?)),
        _ => None,
    }
}

fn is_zero(value: &Expression) -> bool {
    match &value.kind {
        K::Constant(Value::Integer(number)) => number.is_zero(),
        K::Number(number) => number.as_constant() == Some(0),
        K::Block(block) => block.statements.is_empty() && is_zero(&block.value),
        _ => false,
    }
}

fn part_of(path: &[Step]) -> Option<Part> {
    let steps = path.iter().map(|step| match step {
        Step::Field(field) => Some(Some(Number::Constant((*field).into()))),
        Step::At(number, _) => Some(Some(number.clone())),
        Step::AtSecret(_) => Some(None),
        Step::Slice(..) => None,
    });
    steps.collect()
}
