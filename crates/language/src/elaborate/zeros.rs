//! Finds the statements of a loop that change something although the row that they read is zero.
//! Rows are zero behind a table's length, and where a pair is not matched. `sum += row.amount`
//! changes nothing there. `n += 1` and `least = min(least, row.amount)` do.
//!
//! A value is known or not. One turn of an inner loop stands for all of its turns: a variable that
//! it changes is not known.

use std::collections::{HashMap, HashSet};

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero as _};

use crate::interpret::{intrinsic, operators};
use crate::lower::{Kind, addition};
use crate::program::{
    BinaryOperator as B, Body, Condition, Expression, ExpressionKind as K, FunctionId, Intrinsic,
    LocalId, Program, Root, Statement, StatementKind, Step, TypeId, TypeKind, UnaryOperator, Value,
    ValuePath,
};

/// The greatest number of statements and expressions that are computed.
const MAX_STEPS: u32 = 1 << 20;
/// The greatest number of bits of a zero row.
const MAX_BITS: u64 = 1 << 16;

/// Statements that change an outer variable, or show a value, where the row is zero.
#[derive(Debug, Default)]
pub(super) struct Changes {
    found: HashSet<*const Statement>,
    /// Whether there were too many steps, so that each statement counts.
    is_all: bool,
}

impl Changes {
    /// Returns the changes of a loop's turn. Places are zero if `is_zero` says so.
    pub(super) fn of(
        program: &Program,
        turn: &[Statement],
        is_zero: &dyn Fn(&ValuePath) -> bool,
    ) -> Self {
        let mut walk = Turn::new(program, is_zero);
        walk.statements(turn);
        walk.changes
    }

    pub(super) fn has(&self, statement: &Statement) -> bool {
        self.is_all || self.found.contains(&std::ptr::from_ref(statement))
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_all && self.found.is_empty()
    }
}

/// Whether a value is zero, and changes nothing, where such places are.
pub(super) fn gives_zero(
    program: &Program,
    value: &Expression,
    is_zero_place: &dyn Fn(&ValuePath) -> bool,
) -> bool {
    let mut walk = Turn::new(program, is_zero_place);
    let value = walk.value(value);
    walk.changes.is_empty() && value.as_ref().is_some_and(is_zero)
}

type Known = Option<Value>;
type Variables = HashMap<LocalId, Known>;

struct Turn<'p> {
    program: &'p Program,
    is_zero: &'p dyn Fn(&ValuePath) -> bool,
    /// The variables of the turn, or of the function that it calls. All others are outer ones.
    variables: Variables,
    is_called: bool,
    left: u32,
    changes: Changes,
}

impl<'p> Turn<'p> {
    fn new(program: &'p Program, is_zero: &'p dyn Fn(&ValuePath) -> bool) -> Self {
        Self {
            program,
            is_zero,
            variables: Variables::new(),
            is_called: false,
            left: MAX_STEPS,
            changes: Changes::default(),
        }
    }

    /// Takes a step. Returns false after the last one.
    fn step(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.changes.is_all |= self.left == 0;
        !self.changes.is_all
    }

    fn statements(&mut self, all: &[Statement]) {
        all.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, of: &Statement) {
        if !self.step() {
            return;
        }
        match &of.kind {
            StatementKind::Let(local, value) => {
                let value = self.value(value);
                self.variables.insert(*local, value);
            }
            StatementKind::Assign(place, value) => {
                if self.assign(place, value) {
                    self.changes.found.insert(std::ptr::from_ref(of));
                }
            }
            StatementKind::If(condition, then, otherwise) => {
                let run = |all| {
                    move |turn: &mut Self| {
                        turn.statements(all);
                        None
                    }
                };
                self.choose(condition, run(then), run(otherwise));
            }
            StatementKind::For(each) => {
                self.repeat(|turn| {
                    turn.statements(&each.body);
                    None
                });
            }
            StatementKind::Evaluate(value) | StatementKind::Assert(value) => {
                self.value(value);
            }
            StatementKind::Debug(_) => _ = self.changes.found.insert(std::ptr::from_ref(of)),
        }
    }

    /// Assigns a variable of the turn. Whether another variable is assigned and may change.
    fn assign(&mut self, place: &ValuePath, value: &Expression) -> bool {
        let inner = match &place.root {
            Root::Local(local) if self.variables.contains_key(local) => Some(*local),
            Root::Value(_) => return false,
            _ => None,
        };
        let Some(local) = inner else {
            self.indices(place);
            let Some(addition) = addition(place, value) else {
                self.value(value);
                return true;
            };
            let added = self.value(addition.addend);
            return !added.is_some_and(|added| self.is_neutral(addition.kind, value.ty, &added));
        };
        let value_ty = value.ty;
        let value = self.value(value);
        let is_same = !place.path.is_empty() && {
            let before = self.read(place, value_ty);
            before.is_some() && before == value
        };
        if !is_same {
            let whole = place.path.is_empty().then_some(value).flatten();
            self.variables.insert(local, whole);
        }
        false
    }

    /// Whether a variable stays the same where this is added to it.
    fn is_neutral(&self, kind: Kind, ty: TypeId, added: &Value) -> bool {
        let types = &self.program.types;
        let end = |end: fn((BigInt, BigInt)) -> BigInt| types.range(ty).map(end);
        let is_number = |number: Option<BigInt>| number.map(Value::Integer).as_ref() == Some(added);
        match kind {
            Kind::Sum | Kind::Parity | Kind::Any => is_zero(added),
            Kind::All => is_zero(&operators::unary(types, UnaryOperator::Not, ty, added)),
            Kind::Least => is_number(end(|range| range.1)),
            Kind::Greatest => is_number(end(|range| range.0)),
        }
    }

    fn choose(
        &mut self,
        condition: &Condition,
        then: impl FnOnce(&mut Self) -> Known,
        otherwise: impl FnOnce(&mut Self) -> Known,
    ) -> Known {
        let holds = match condition {
            Condition::Guard(number) => number.as_constant().map(|number| number != 0),
            Condition::Secret(value) => self.value(value).map(|value| value.as_bool()),
        };
        match holds {
            Some(true) => then(self),
            Some(false) => otherwise(self),
            None => {
                let before = self.variables.clone();
                let first = then(self);
                let after = std::mem::replace(&mut self.variables, before);
                let second = otherwise(self);
                self.keep_same(&after);
                first.filter(|first| Some(first) == second.as_ref())
            }
        }
    }

    /// Computes a turn of an inner loop until it changes no variable that is known.
    fn repeat(&mut self, turn: impl Fn(&mut Self) -> Known) -> Known {
        loop {
            let before = self.variables.clone();
            let value = turn(self);
            self.keep_same(&before);
            let mut all = before.iter();
            if all.all(|(local, value)| self.variables.get(local) == Some(value)) {
                return value;
            }
        }
    }

    /// Forgets each value that a variable does not hold in `other` as well.
    fn keep_same(&mut self, other: &Variables) {
        for (local, value) in &mut self.variables {
            if other.get(local) != Some(value) {
                *value = None;
            }
        }
    }

    fn value(&mut self, of: &Expression) -> Known {
        if !self.step() {
            return None;
        }
        let types = &self.program.types;
        match &of.kind {
            K::Constant(value) => Some(value.clone()),
            K::Number(number) => {
                let number = number.as_constant()?;
                Some(types.value_of_number(of.ty, number))
            }
            K::Read(place) => self.read(place, of.ty),
            K::Unary(operator, a) => {
                let value = self.value(a)?;
                Some(operators::unary(types, *operator, a.ty, &value))
            }
            K::Binary(operator, a, b) => {
                let (left, right) = (self.value(a), self.value(b));
                self.binary(*operator, a.ty, left, right)
            }
            K::Shift(operator, a, amount) => {
                let value = self.value(a)?;
                if is_zero(&value) {
                    return Some(value);
                }
                let amount = amount.as_constant()?.unsigned_abs();
                Some(operators::shift(types, *operator, a.ty, &value, amount))
            }
            K::Cast(a) => {
                let value = self.value(a)?;
                Some(operators::cast(types, a.ty, of.ty, &value))
            }
            K::If(condition, a, b) => {
                self.choose(condition, |turn| turn.value(a), |turn| turn.value(b))
            }
            K::Block(block) => {
                self.statements(&block.statements);
                self.value(&block.value)
            }
            K::Aggregate(parts) => self.all(parts).map(Value::List),
            K::Repeat(a) => {
                let value = self.value(a)?;
                Some(Value::List(vec![value; types.length(of.ty)]))
            }
            K::Comprehension(_, _, a) => {
                let value = self.repeat(|turn| turn.value(a))?;
                Some(Value::List(vec![value; types.length(of.ty)]))
            }
            K::Call(function, parts) => self.call(*function, parts),
            K::Intrinsic(which, parts) => self.intrinsic(*which, of.ty, parts),
            K::Run(..) | K::ForEachPair(..) => None,
        }
    }

    /// Computes all of these. Returns their values if all are known.
    fn all(&mut self, of: &[Expression]) -> Option<Vec<Value>> {
        let values: Vec<Known> = of.iter().map(|part| self.value(part)).collect();
        values.into_iter().collect()
    }

    fn binary(&self, operator: B, ty: TypeId, a: Known, b: Known) -> Known {
        let types = &self.program.types;
        let is_least = |value: &Known| match (value, types.range(ty)) {
            (Some(Value::Integer(number)), Some((least, _))) => *number == least,
            _ => false,
        };
        let absorbs = |value: &Value| match operator {
            B::LogicalAnd | B::And | B::Multiply => is_zero(value),
            B::LogicalOr => value.as_bool(),
            B::Or => is_zero(&operators::unary(types, UnaryOperator::Not, ty, value)),
            _ => false,
        };
        match (&a, &b, operator) {
            (Some(a), Some(b), _) => Some(operators::binary(types, operator, ty, a, b)),
            (None, _, B::Less) if is_least(&b) => Some(false.into()),
            (None, _, B::GreaterEqual) if is_least(&b) => Some(true.into()),
            (_, None, B::Greater) if is_least(&a) => Some(false.into()),
            (_, None, B::LessEqual) if is_least(&a) => Some(true.into()),
            _ => [a, b].into_iter().flatten().find(absorbs),
        }
    }

    fn call(&mut self, function: FunctionId, given: &[Expression]) -> Known {
        let given: Vec<Known> = given.iter().map(|argument| self.value(argument)).collect();
        let program = self.program;
        let function = &program.functions[function.0 as usize];
        let Body::Block(block) = &function.body else {
            return None;
        };
        let parameters = function.parameters.iter().copied().zip(given).collect();
        let outer = std::mem::replace(&mut self.variables, parameters);
        let was_called = std::mem::replace(&mut self.is_called, true);
        self.statements(&block.statements);
        let value = self.value(&block.value);
        self.variables = outer;
        self.is_called = was_called;
        value
    }

    fn intrinsic(&mut self, which: Intrinsic, ty: TypeId, given: &[Expression]) -> Known {
        let types: Vec<TypeId> = given.iter().map(|argument| argument.ty).collect();
        let values: Vec<Known> = given.iter().map(|argument| self.value(argument)).collect();
        let is_unsigned = matches!(self.program.types.kind(ty), TypeKind::Unsigned(_));
        let zero = values.iter().flatten().find(|value| is_zero(value));
        match (which, zero) {
            (Intrinsic::Random, _) => None,
            (Intrinsic::WideMul | Intrinsic::WideDot, Some(_)) => Some(self.program.types.zero(ty)),
            (Intrinsic::Min, Some(zero)) if is_unsigned => Some(zero.clone()),
            _ => {
                let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
                intrinsic(&self.program.types, which, ty, &types, &values)
            }
        }
    }

    fn read(&mut self, place: &ValuePath, ty: TypeId) -> Known {
        let types = &self.program.types;
        if !self.is_called && (self.is_zero)(place) {
            self.indices(place);
            return (types.width(ty) <= MAX_BITS).then(|| types.zero(ty));
        }
        let mut value = match &place.root {
            Root::Value(value) => self.value(value),
            Root::Local(local) => self.variables.get(local).cloned().flatten(),
            Root::State(_) => None,
        };
        for step in &place.path {
            let part = match step {
                Step::Field(field) => Some(*field as usize),
                Step::At(number, _) => number.as_constant().and_then(|at| at.to_usize()),
                Step::AtSecret(index) => {
                    let (index, length) = (self.value(index), value.as_ref().map(parts));
                    let length = length.filter(|length| *length > 0);
                    index.zip(length).map(|(at, n)| operators::clamped(&at, n))
                }
                Step::Slice(..) => {
                    value = None;
                    continue;
                }
            };
            value = value.and_then(|value| part_of(value, part));
        }
        value
    }

    fn indices(&mut self, place: &ValuePath) {
        for step in &place.path {
            if let Step::AtSecret(index) = step {
                self.value(index);
            }
        }
    }
}

fn parts(value: &Value) -> usize {
    match value {
        Value::List(parts) => parts.len(),
        _ => 0,
    }
}

/// Returns the part with this number, or without a number the part that all parts are.
fn part_of(value: Value, number: Option<usize>) -> Known {
    let Value::List(mut parts) = value else {
        return None;
    };
    match number {
        Some(number) if number < parts.len() => Some(parts.swap_remove(number)),
        Some(_) => None,
        None => {
            let first = parts.pop()?;
            parts.iter().all(|part| *part == first).then_some(first)
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(bit) => !bit,
        Value::Integer(number) => number.is_zero(),
        Value::List(parts) => parts.iter().all(is_zero),
    }
}
