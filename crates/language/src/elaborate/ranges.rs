//! Checks of indices against lengths, and of numbers made from counters against their types, for
//! every turn of every loop. Guards are followed: only the branch that is taken is checked.
//!
//! Bounds of counters suffice for most checks. Loops for which they do not are walked turn by turn.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::program::{
    BinaryOperator as B, Body, Condition, CounterId, Expression, ExpressionKind, Function, Number,
    NumberOperator, Program, Root, Statement, StatementKind, Step, TypeId, TypeKind, ValuePath,
    Visit, in_expression, in_statement,
};
use crate::source::Span;

use num_traits::ToPrimitive;

/// The greatest number of values that are computed turn by turn.
const MAX_STEPS: u64 = 1 << 28;

/// Checks all functions of a program.
pub(super) fn check(program: &Program, errors: &mut Diagnostics) {
    let mut left = MAX_STEPS;
    for function in &program.functions {
        let Body::Block(block) = &function.body else {
            continue;
        };
        let mut walk = RangeCheck {
            program,
            function,
            bounds: vec![(0, 0); function.counters.len()],
            counters: vec![0; function.counters.len()],
            exact: false,
            unproven: false,
            left: &mut left,
            error: None,
        };
        walk.block(block);
        if walk.unproven {
            walk.exact = true;
            walk.block(block);
        }
        if let Some(error) = walk.error {
            errors.report(error);
        }
        if left == 0 {
            let error = Diagnostic::new(function.span, "these loops take too long to check");
            errors
                .report(error.help("keep indices within bounds that show from the loops' ranges"));
            return;
        }
    }
}

struct RangeCheck<'p> {
    program: &'p Program,
    function: &'p Function,
    /// The least and greatest value of the counter of each open loop.
    bounds: Vec<(i128, i128)>,
    /// The value of the counter of each open loop, while turns are walked.
    counters: Vec<i128>,
    /// Whether turns are walked one by one.
    exact: bool,
    /// Whether a check could not be decided by bounds.
    unproven: bool,
    left: &'p mut u64,
    error: Option<Diagnostic>,
}

impl<'p> Visit<'p> for RangeCheck<'p> {
    fn statements(&mut self, statements: &'p [Statement]) {
        for statement in statements {
            if self.error.is_some() || *self.left == 0 {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'p Statement) {
        match &statement.kind {
            StatementKind::If(condition, then, otherwise) => {
                let taken = self.taken(condition, statement.span);
                if taken.0 {
                    self.statements(then);
                }
                if taken.1 {
                    self.statements(otherwise);
                }
            }
            // All pairs are alike, so that one is enough.
            StatementKind::For(each) if each.is_over_pairs => {
                if each.to != Number::Constant(0) {
                    self.statements(&each.body);
                }
            }
            StatementKind::For(each) => {
                let turn = |walk: &mut Self| walk.statements(&each.body);
                self.turns(each.counter, (&each.from, &each.to), statement.span, turn);
            }
            _ => in_statement(self, statement),
        }
    }

    fn expression(&mut self, expression: &'p Expression) {
        if self.error.is_some() || *self.left == 0 {
            return;
        }
        use ExpressionKind as K;
        match &expression.kind {
            K::Number(number) => self.value(number, expression.ty, expression.span),
            K::Shift(_, of, amount) => {
                self.expression(of);
                self.within(amount, (0, i128::MAX), expression.span, |walk, value| {
                    let message = format!("a shift by {value}{}", walk.turn_text(amount));
                    Diagnostic::new(expression.span, message)
                });
            }
            K::If(condition, a, b) => {
                let taken = self.taken(condition, expression.span);
                if taken.0 {
                    self.expression(a);
                }
                if taken.1 {
                    self.expression(b);
                }
            }
            K::ForEachPair(_, of) => {
                if self.program.types.length(expression.ty) > 0 {
                    self.expression(of);
                }
            }
            K::Comprehension(counter, from, of) => {
                let TypeKind::Array(_, length) = *self.program.types.kind(expression.ty) else {
                    return;
                };
                let to = Number::binary(B::Add, from.clone(), Number::Constant(length.into()));
                let turn = |walk: &mut Self| walk.expression(of);
                self.turns(*counter, (from, &to), expression.span, turn);
            }
            _ => in_expression(self, expression),
        }
    }

    fn place(&mut self, place: &'p ValuePath) {
        let mut ty = match &place.root {
            Root::Local(local) => self.function.locals[local.0 as usize].ty,
            Root::State(state) => self.program.states[state.0 as usize].ty,
            Root::Value(value) => {
                self.expression(value);
                value.ty
            }
        };
        for step in &place.path {
            ty = self.step(step, ty);
        }
    }
}

impl<'p> RangeCheck<'p> {
    /// Returns which branches are run. By bounds alone, both are if both are possible.
    fn taken(&mut self, condition: &'p Condition, span: Span) -> (bool, bool) {
        match condition {
            Condition::Secret(value) => {
                self.expression(value);
                (true, true)
            }
            Condition::Guard(guard) => match self.number(guard, span) {
                Some((0, 0)) => (false, true),
                Some((low, high)) if low == high => (true, false),
                _ => (true, true),
            },
        }
    }

    fn turns(
        &mut self,
        counter: CounterId,
        (from, to): (&Number, &Number),
        span: Span,
        turn: impl Fn(&mut Self),
    ) {
        let (Some(from), Some(to)) = (self.number(from, span), self.number(to, span)) else {
            return;
        };
        let place = counter.0 as usize;
        if !self.exact {
            if from.0 < to.1 {
                self.bounds[place] = (from.0, to.1 - 1);
                turn(self);
            }
            return;
        }
        for value in from.0..to.0 {
            if self.error.is_some() || *self.left == 0 {
                return;
            }
            *self.left -= 1;
            self.counters[place] = value;
            turn(self);
        }
    }

    /// Returns the least and greatest value. While turns are walked, both are the value itself.
    fn number(&mut self, number: &Number, span: Span) -> Option<(i128, i128)> {
        if !self.exact {
            let bounds = bounds(number, &self.bounds);
            if bounds.is_none() {
                self.unproven = true;
            }
            return bounds;
        }
        *self.left = self.left.saturating_sub(1);
        match number.evaluate(&self.counters) {
            Some(value) => Some((value, value)),
            None => {
                let text = number.display(&self.function.counters);
                let message = format!(
                    "`{text}` overflows or divides by zero{}",
                    self.turn_text(number)
                );
                self.error.get_or_insert(Diagnostic::new(span, message));
                None
            }
        }
    }

    /// Checks that a number is from `least` to `greatest`. A failure is reported, or left to the
    /// walk turn by turn.
    fn within(
        &mut self,
        number: &Number,
        (least, greatest): (i128, i128),
        span: Span,
        error: impl FnOnce(&Self, i128) -> Diagnostic,
    ) {
        match self.number(number, span) {
            Some((low, high)) if least <= low && high <= greatest => {}
            Some((value, _)) if self.exact => {
                let error = error(self, value);
                self.error.get_or_insert(error);
            }
            _ => self.unproven = true,
        }
    }

    /// Returns the counters in a number as text: ` with i = 3, k = 5`.
    fn turn_text(&self, number: &Number) -> String {
        let mut seen: Vec<CounterId> = Vec::new();
        number.counters(&mut |counter| {
            if !seen.contains(&counter) {
                seen.push(counter);
            }
        });
        let parts: Vec<String> = seen
            .iter()
            .map(|counter| {
                let place = counter.0 as usize;
                format!(
                    "{} = {}",
                    self.function.counters[place], self.counters[place]
                )
            })
            .collect();
        if parts.is_empty() {
            String::new()
        } else {
            format!(" with {}", parts.join(", "))
        }
    }

    fn step(&mut self, step: &'p Step, ty: TypeId) -> TypeId {
        let types = &self.program.types;
        let element = types.element(ty);
        let (element_type, length) = element.unwrap_or((ty, 0));
        match step {
            Step::Field(field) => types.fields(ty)[*field as usize],
            Step::AtSecret(index) => {
                self.expression(index);
                element_type
            }
            Step::At(number, span) => {
                let greatest = i128::from(length) - 1;
                self.within(number, (0, greatest), *span, |walk, value| {
                    let message = format!(
                        "the index is {value}{}, and the array has {length} elements",
                        walk.turn_text(number)
                    );
                    let error = Diagnostic::new(*span, message);
                    match number.as_constant() {
                        Some(_) => error.help(format!("indices are 0 to {greatest}")),
                        None => error.help(format!(
                            "the last index is {greatest}: end the loop earlier, or leave such \
                             turns out by an `if` on counters alone"
                        )),
                    }
                });
                element_type
            }
            Step::Slice(from, count, span) => {
                let greatest = i128::from(length) - i128::from(*count);
                self.within(from, (0, greatest), *span, |walk, value| {
                    let message = format!(
                        "the slice is {value}..{}{}, and the array has {length} elements",
                        value + i128::from(*count),
                        walk.turn_text(from)
                    );
                    Diagnostic::new(*span, message)
                });
                // The slice's type exists, since the elaborator made it.
                types.find(&types.slice(ty, *count)).unwrap_or(ty)
            }
        }
    }

    /// Checks a number of counters that becomes a value of type `ty`.
    fn value(&mut self, number: &Number, ty: TypeId, span: Span) {
        let types = &self.program.types;
        let fraction = match types.kind(ty) {
            TypeKind::Fixed(_, fraction) => *fraction,
            _ => 0,
        };
        let range = match types.range(ty) {
            Some((least, greatest)) => {
                let bound = |number: num_bigint::BigInt, other| number.to_i128().unwrap_or(other);
                (
                    bound(least >> fraction, i128::MIN),
                    bound(greatest >> fraction, i128::MAX),
                )
            }
            // A condition.
            None => (i128::MIN, i128::MAX),
        };
        self.within(number, range, span, |walk, value| {
            let name = walk.program.types.name(ty);
            let turn = walk.turn_text(number);
            let message = format!("{value} does not fit into `{name}`{turn}");
            Diagnostic::new(span, message).label(format!("`{name}` has {} to {}", range.0, range.1))
        });
    }
}

/// Returns the least and greatest value of a number, if these bounds of counters determine them.
pub(super) fn bounds(number: &Number, counters: &[(i128, i128)]) -> Option<(i128, i128)> {
    use NumberOperator::{self as N, Binary};
    let Number::Apply(operator, operands) = number else {
        return match number {
            Number::Constant(value) => Some((*value, *value)),
            Number::Counter(counter) => counters.get(counter.0 as usize).copied(),
            Number::Apply(..) => None,
        };
    };
    if let (N::If, [condition, then, otherwise]) = (operator, &operands[..]) {
        return match bounds(condition, counters)? {
            (0, 0) => bounds(otherwise, counters),
            (low, high) if low == high => bounds(then, counters),
            _ => {
                let (a, b) = (bounds(then, counters)?, bounds(otherwise, counters)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
        };
    }
    let ranges = operands.iter().map(|operand| bounds(operand, counters));
    let ranges = ranges.collect::<Option<Vec<_>>>()?;
    match (operator, &ranges[..]) {
        // Both factors of a square have the same sign.
        (Binary(B::Multiply), &[a, _]) if operands[0] == operands[1] && a.0 < 0 && a.1 > 0 => {
            Some((0, a.0.checked_mul(a.0)?.max(a.1.checked_mul(a.1)?)))
        }
        (
            Binary(B::Add | B::Subtract | B::Multiply | B::ShiftLeft | B::ShiftRight)
            | N::Minimum
            | N::Maximum,
            &[a, b],
        ) => corners(*operator, a, b),
        (Binary(B::Divide), &[a, b]) if b.0 > 0 => corners(*operator, a, b),
        (Binary(B::Remainder), &[a, b]) if a.0 >= 0 && b.0 > 0 => Some((0, a.1.min(b.1 - 1))),
        (Binary(B::And), &[a, b]) if a.0 >= 0 && b.0 >= 0 => {
            truth_or((0, a.1.min(b.1)), a, b, *operator)
        }
        (Binary(B::Or | B::Xor), &[a, b]) if a.0 >= 0 && b.0 >= 0 => {
            let widest = a.1.max(b.1);
            let mask = (1_i128 << (128 - widest.leading_zeros()).min(126)) - 1;
            truth_or((0, mask), a, b, *operator)
        }
        (Binary(B::Less), &[a, b]) => Some(decided(a.1 < b.0, a.0 >= b.1)),
        (Binary(B::LessEqual), &[a, b]) => Some(decided(a.1 <= b.0, a.0 > b.1)),
        (Binary(B::Equal), &[a, b]) => {
            let is_point = a.0 == a.1 && a == b;
            Some(decided(is_point, a.1 < b.0 || b.1 < a.0))
        }
        (Binary(B::NotEqual), &[a, b]) => {
            let is_point = a.0 == a.1 && a == b;
            Some(decided(a.1 < b.0 || b.1 < a.0, is_point))
        }
        (N::Not, &[a]) => Some(decided(a == (0, 0), a.0 > 0)),
        (N::Bits, &[a]) => Some((N::Bits.compute(&[a.0])?, N::Bits.compute(&[a.1])?)),
        _ => None,
    }
}

/// Returns the range of an operator that is monotonic in each operand. The ends are at corners.
fn corners(operator: NumberOperator, a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    let mut range: Option<(i128, i128)> = None;
    for (x, y) in [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)] {
        let value = operator.compute(&[x, y])?;
        let (low, high) = range.unwrap_or((value, value));
        range = Some((low.min(value), high.max(value)));
    }
    range
}

/// Returns the value if both operands are known, and otherwise the range.
fn truth_or(
    range: (i128, i128),
    a: (i128, i128),
    b: (i128, i128),
    operator: NumberOperator,
) -> Option<(i128, i128)> {
    if a.0 == a.1 && b.0 == b.1 {
        let value = operator.compute(&[a.0, b.0])?;
        return Some((value, value));
    }
    Some(range)
}

fn decided(always: bool, never: bool) -> (i128, i128) {
    match (always, never) {
        (true, _) => (1, 1),
        (_, true) => (0, 0),
        _ => (0, 1),
    }
}
