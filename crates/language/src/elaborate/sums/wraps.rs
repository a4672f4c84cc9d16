//! Results, dividends and compared differences that may wrap: `x + y`, `x - y` and `x * y` as a
//! result of a run, `100 * x / y`, and `x - y < z` of unsigned numbers.
//!
//! An operand counts if it is made of inputs: the type of a variable that is assigned was chosen
//! for what it adds up, and the result of a call may be small for reasons that do not show. A
//! difference counts unless a comparison of its operands stands in the function.

use super::{Range, SumCheck};
use crate::diagnostic::Diagnostic;
use crate::elaborate::narrow::ends;
use crate::lower::same_value;
use crate::program::{BinaryOperator as B, Expression, ExpressionKind as K, Intrinsic, TypeKind};

/// The use of a value that may wrap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Result,
    Dividend,
    Compared,
}

impl<'p> SumCheck<'p> {
    /// Checks the value of a run, or a part of it.
    pub(super) fn result(&mut self, of: &'p Expression) {
        match &of.kind {
            K::Aggregate(parts) => parts.iter().for_each(|part| self.result(part)),
            K::Comprehension(_, _, part) | K::ForEachPair(_, part) | K::Repeat(part) => {
                self.result(part);
            }
            K::If(_, a, b) => {
                self.result(a);
                self.result(b);
            }
            K::Intrinsic(Intrinsic::Opened, parts) => parts.iter().for_each(|of| self.result(of)),
            K::Block(block) => self.result(&block.value),
            _ => self.wraps(of, Use::Result),
        }
    }

    /// Warns about a sum, a difference or a product that may wrap where it is used.
    pub(super) fn wraps(&mut self, of: &'p Expression, used: Use) {
        let Some(of) = self.computed(of) else {
            return;
        };
        let K::Binary(operator, a, b) = &of.kind else {
            return;
        };
        let types = &self.program.types;
        let is_unsigned = matches!(types.kind(of.ty), TypeKind::Unsigned(_));
        let is_asked = match (operator, used) {
            // A sum with a constant passes the range at its very end alone.
            (B::Add, Use::Result) => types.is_integer(of.ty) && !is_constant(a) && !is_constant(b),
            (B::Subtract, Use::Result | Use::Compared) => is_unsigned && !self.is_compared(a, b),
            (B::Multiply, Use::Result | Use::Dividend) => types.is_integer(of.ty),
            _ => false,
        };
        if !is_asked || !self.is_of_inputs(a) || !self.is_of_inputs(b) {
            return;
        }
        let (Some(left), Some(right)) = (self.range(a), self.range(b)) else {
            return;
        };
        let range = match operator {
            B::Add => (left.0 + right.0, left.1 + right.1),
            B::Subtract => (left.0 - right.1, left.1 - right.0),
            _ => match self.product(a, b) {
                Some(range) => range,
                None => return,
            },
        };
        let Some((least, greatest)) = types.range(of.ty) else {
            return;
        };
        if least <= range.0 && range.1 <= greatest {
            return;
        }
        let warning = self.wrap_warning(of, *operator, &range, used);
        self.means.push(warning);
    }

    fn wrap_warning(&self, of: &Expression, operator: B, range: &Range, used: Use) -> Diagnostic {
        let what = match operator {
            B::Add => "sum",
            B::Subtract => "difference",
            _ => "product",
        };
        let when = match used {
            Use::Result => "",
            Use::Dividend => " before it is divided",
            Use::Compared => " before it is compared",
        };
        let (wide, end) = if operator == B::Subtract {
            let bits = range.0.bits().max(range.1.bits()) + 1;
            (format!("i{bits}"), range.0.clone())
        } else {
            self.wide_enough(of.ty, range)
        };
        let wrap = match operator {
            B::Add => "add_wrap",
            B::Subtract => "sub_wrap",
            _ => "mul_wrap",
        };
        let types = &self.program.types;
        let (least, greatest) = ends(types, of.ty);
        let label = format!("`{}` holds {least} to {greatest}", types.name(of.ty));
        let message = format!("this {what} may wrap{when}: it may be {end}");
        Diagnostic::warning(of.span, message)
            .label(label)
            .help(format!(
                "`{wide}` is wide enough: convert both sides first, `… as {wide}`; where it is to \
                 wrap or never gets that far, write `{wrap}(…, …)`"
            ))
    }

    /// Returns the operation that makes a value: without conversions, blocks and names.
    fn computed(&self, mut of: &'p Expression) -> Option<&'p Expression> {
        loop {
            of = match &of.kind {
                K::Cast(inner) if self.program.types.is_integer(inner.ty) => inner,
                K::Block(block) => &block.value,
                K::Read(place) => self.known.get(&place.whole_local()?)?.0,
                K::Binary(..) => return Some(of),
                _ => return None,
            };
        }
    }

    /// Whether a value is made of inputs and constants alone, as far as that shows here. The result
    /// of a call may be small for reasons that do not.
    fn is_of_inputs(&self, of: &Expression) -> bool {
        match &of.kind {
            K::Constant(_) | K::Number(_) => true,
            K::Cast(of) => self.is_of_inputs(of),
            K::Block(block) => self.is_of_inputs(&block.value),
            K::Binary(_, a, b) | K::If(_, a, b) => self.is_of_inputs(a) && self.is_of_inputs(b),
            K::Intrinsic(Intrinsic::Min | Intrinsic::Max | Intrinsic::WideMul, parts) => {
                parts.iter().all(|part| self.is_of_inputs(part))
            }
            K::Read(place) => place.local().is_some_and(|local| {
                let known = self.known.get(&local);
                !self.changed.contains(&local)
                    && known.is_none_or(|(value, _)| self.is_of_inputs(value))
            }),
            _ => false,
        }
    }

    /// Whether the function compares these operands, or the first with a constant, or takes the
    /// greater less the lesser.
    fn is_compared(&self, a: &Expression, b: &Expression) -> bool {
        let is_max = |of: &Expression| matches!(of.kind, K::Intrinsic(Intrinsic::Max, _));
        if is_max(a) {
            return true;
        }
        let mut found = false;
        self.function.expressions(&mut |expression| {
            let K::Binary(operator, left, right) = &expression.kind else {
                return;
            };
            let is_order = matches!(
                operator,
                B::Less | B::LessEqual | B::Greater | B::GreaterEqual
            );
            let mut sides = [(left, right), (right, left)].into_iter();
            found |= is_order
                && sides.any(|(one, other)| {
                    same_value(one, a) && (same_value(other, b) || is_constant(other))
                });
        });
        found
    }
}

fn is_constant(of: &Expression) -> bool {
    matches!(of.kind, K::Constant(_) | K::Number(_))
}
