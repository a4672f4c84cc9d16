//! Sums in loops that are wider than the variable that they are added up in.
//!
//! What is added up counts where it is read, converted, selected or itself a sum, and a
//! `wide_mul`. Other values, such as products and results of calls, may be small for reasons that
//! do not show here, and so nothing is said of them: what an order book pays is `got * price`, and
//! all of `got` is what was ordered. Nor of sums that a function gives back, as in
//! `total = add(total, x)`: of 2n values of a merge, n may count.

use std::collections::HashMap;

use num_bigint::BigInt;
use num_traits::Zero;

use super::narrow::ends;
use super::ranges::bounds;
use crate::diagnostic::Diagnostic;
use crate::program::{
    BinaryOperator, Block, Body, Expression, ExpressionKind as K, Function, Intrinsic, LocalId,
    Number, NumberOperator, Program, Root, Statement, StatementKind, Step, TypeId, TypeKind, Value,
    ValuePath,
};
use crate::source::Span;

/// A warning for each sum of a loop that may wrap.
pub(super) fn warnings(program: &Program) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for function in &program.functions {
        let Body::Block(block) = &function.body else {
            continue;
        };
        let mut walk = Walk {
            program,
            function,
            bounds: vec![(0, 0); function.counters.len()],
            loops: Vec::new(),
            first: HashMap::new(),
            sums: HashMap::new(),
        };
        walk.block(block);
        let sums = walk.sums.iter();
        found.extend(sums.filter_map(|((local, _, span), sum)| walk.warning(*local, *span, sum)));
    }
    found
}

/// A variable or a part of it; a part whose number is a secret is nothing.
type Part = Vec<Option<Number>>;

struct Sum {
    ty: TypeId,
    turns: u128,
    least: BigInt,
    greatest: BigInt,
}

struct Walk<'p> {
    program: &'p Program,
    function: &'p Function,
    bounds: Vec<(i128, i128)>,
    /// The loops that are open: the number of each counter, and how often it turns.
    loops: Vec<(usize, u128)>,
    /// In how many loops each variable is given a value that is no sum.
    first: HashMap<LocalId, usize>,
    /// What is added to a part of a variable at a place of the text.
    sums: HashMap<(LocalId, Part, Span), Sum>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        self.statements(&block.statements);
        self.expression(&block.value);
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Let(local, value) => {
                    self.expression(value);
                    self.first.insert(*local, self.loops.len());
                }
                StatementKind::Assign(place, value) => {
                    self.expression(value);
                    self.assign(place, value, statement.span);
                }
                StatementKind::If(_, then, otherwise) => {
                    self.statements(then);
                    self.statements(otherwise);
                }
                StatementKind::For(each) => {
                    let ends = (&each.from, &each.to);
                    self.turns(each.counter.0 as usize, ends, |walk| {
                        walk.statements(&each.body);
                    });
                }
                StatementKind::Evaluate(value) | StatementKind::Assert(value) => {
                    self.expression(value);
                }
            }
        }
    }

    fn turns(&mut self, counter: usize, (from, to): (&Number, &Number), turn: impl Fn(&mut Self)) {
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

    /// Blocks and arrays inside expressions have statements of their own.
    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            K::Block(block) => self.block(block),
            K::Comprehension(counter, from, of) => {
                let TypeKind::Array(_, length) = *self.program.types.kind(expression.ty) else {
                    return;
                };
                let parts = vec![from.clone(), Number::Constant(length.into())];
                let to = Number::apply(NumberOperator::Add, parts);
                self.turns(counter.0 as usize, (from, &to), |walk| walk.expression(of));
            }
            K::If(_, a, b) | K::Binary(_, a, b) => {
                self.expression(a);
                self.expression(b);
            }
            K::Cast(of) | K::Unary(_, of) => self.expression(of),
            K::Aggregate(parts) | K::Call(_, parts) | K::Intrinsic(_, parts) => {
                parts.iter().for_each(|part| self.expression(part));
            }
            _ => {}
        }
    }

    fn assign(&mut self, place: &ValuePath, value: &Expression, span: Span) {
        let (Root::Local(local), Some(part)) = (&place.root, part(place)) else {
            return;
        };
        let is_read = |side: &Expression| match &side.kind {
            K::Read(ValuePath {
                root: Root::Local(from),
                path,
            }) => from == local && part_of(path).as_ref() == Some(&part),
            _ => false,
        };
        let added = match &value.kind {
            K::Binary(BinaryOperator::Add, a, b) if is_read(a) => b,
            K::Binary(BinaryOperator::Add, a, b) if is_read(b) => a,
            _ => {
                self.first.insert(*local, self.loops.len());
                return;
            }
        };
        let is_number = matches!(
            self.program.types.kind(value.ty),
            TypeKind::Unsigned(_) | TypeKind::Signed(_) | TypeKind::Fixed(..)
        );
        let Some((least, greatest)) = self.range(added).filter(|_| is_number) else {
            return;
        };
        let outer = self.first.get(local).copied().unwrap_or(0);
        let is_in_part = |counter: usize| {
            let mut found = false;
            part.iter().flatten().for_each(|number| {
                number.counters(&mut |other| found |= other.0 as usize == counter);
            });
            found
        };
        let inner = self.loops.get(outer..).unwrap_or_default().iter();
        let turns = inner
            .filter(|(counter, _)| !is_in_part(*counter))
            .fold(1_u128, |all, (_, turns)| all.saturating_mul(*turns));
        let sum = self.sums.entry((*local, part, span)).or_insert(Sum {
            ty: value.ty,
            turns: 0,
            least: BigInt::zero(),
            greatest: BigInt::zero(),
        });
        // A loop that is written out comes here once for each of its turns.
        sum.turns = sum.turns.saturating_add(turns);
        sum.least += least * turns;
        sum.greatest += greatest * turns;
    }

    /// The least and greatest value, where these show.
    fn range(&self, value: &Expression) -> Option<(BigInt, BigInt)> {
        let types = &self.program.types;
        let of_type = || types.range(value.ty);
        let within = |range: (BigInt, BigInt)| {
            let (least, greatest) = of_type()?;
            (least <= range.0 && range.1 <= greatest).then_some(range)
        };
        match &value.kind {
            K::Constant(Value::Integer(number)) => Some((number.clone(), number.clone())),
            K::Number(number) => {
                let (least, greatest) = bounds(number, &self.bounds)?;
                Some((least.into(), greatest.into()))
            }
            K::Read(_) => of_type(),
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
            K::Intrinsic(Intrinsic::Min | Intrinsic::Max, _) => of_type(),
            _ => None,
        }
    }

    fn product(&self, a: &Expression, b: &Expression) -> Option<(BigInt, BigInt)> {
        let (a, b) = (self.range(a)?, self.range(b)?);
        let corners = [&a.0 * &b.0, &a.0 * &b.1, &a.1 * &b.0, &a.1 * &b.1];
        Some((corners.iter().min()?.clone(), corners.iter().max()?.clone()))
    }

    fn warning(&self, local: LocalId, span: Span, sum: &Sum) -> Option<Diagnostic> {
        let types = &self.program.types;
        let (least, greatest) = types.range(sum.ty)?;
        if sum.turns < 2 || (least <= sum.least && sum.greatest <= greatest) {
            return None;
        }
        let is_above = sum.greatest > greatest;
        let end = if is_above { &sum.greatest } else { &sum.least };
        let bits = sum.greatest.bits().max(sum.least.bits()) + 1;
        let (wide, end) = match types.kind(sum.ty) {
            TypeKind::Unsigned(_) => (format!("u{}", sum.greatest.bits()), end.clone()),
            TypeKind::Fixed(_, fraction) => {
                let wide = format!("fixed<{}, {fraction}>", bits - u64::from(*fraction));
                (wide, end >> *fraction)
            }
            _ => (format!("i{bits}"), end.clone()),
        };
        let (least, greatest) = ends(types, sum.ty);
        let name = types.name(sum.ty);
        let local = &self.function.locals[local.0 as usize].name;
        let message = format!("this sum may wrap: {} turns may add up to {end}", sum.turns);
        let warning = Diagnostic::warning(span, message);
        let warning = warning.label(format!("`{name}` holds {least} to {greatest}"));
        Some(warning.help(format!(
            "`{wide}` is wide enough: declare `{local}` with it and convert what is added, `… as \
             {wide}`; where it is to wrap or never gets that far, write `add_wrap({local}, …)`"
        )))
    }
}

fn part(place: &ValuePath) -> Option<Part> {
    part_of(&place.path)
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
