//! Whole numbers made from constants and counters.

use crate::diagnostic::Diagnostic;
use crate::source::{Span, Symbol};
use crate::syntax::BinaryOperator;
use crate::syntax::BinaryOperator as B;

/// A loop's counter, by its number in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterId(pub u32);

/// A whole number, or a truth value as 0 or 1, that depends on no secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// A constant.
    Constant(i128),
    /// A counter.
    Counter(CounterId),
    /// An operator and its operands.
    Apply(NumberOperator, Vec<Number>),
}

/// An operator on numbers. Comparisons and logic give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NumberOperator {
    /// An operator between its operands. A division rounds towards zero.
    Binary(BinaryOperator),
    Not,
    Minimum,
    Maximum,
    Absolute,
    /// The number of bits that it takes to write a number, at least 1.
    Bits,
    /// The second operand if the first is 1, otherwise the third.
    If,
}

impl Number {
    /// Returns the constant, if the number is one.
    pub fn as_constant(&self) -> Option<i128> {
        match self {
            Self::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Applies the operator. The result is a constant if all operands are.
    pub fn apply(operator: NumberOperator, operands: Vec<Self>) -> Self {
        let constants: Option<Vec<i128>> = operands.iter().map(Self::as_constant).collect();
        match constants.and_then(|constants| operator.compute(&constants)) {
            Some(value) => Self::Constant(value),
            None => Self::Apply(operator, operands),
        }
    }

    /// Applies an operator between its operands.
    pub(crate) fn binary(operator: BinaryOperator, left: Self, right: Self) -> Self {
        Self::apply(NumberOperator::Binary(operator), vec![left, right])
    }

    /// Returns the value for these counters, or `None` if it overflows or divides by zero.
    pub fn evaluate(&self, counters: &[i128]) -> Option<i128> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Counter(counter) => counters.get(counter.0 as usize).copied(),
            Self::Apply(NumberOperator::If, operands) => {
                let [condition, then, otherwise] = &operands[..] else {
                    return None;
                };
                match condition.evaluate(counters)? {
                    0 => otherwise.evaluate(counters),
                    _ => then.evaluate(counters),
                }
            }
            Self::Apply(operator, operands) => match &operands[..] {
                [one] => operator.compute(&[one.evaluate(counters)?]),
                [one, two] => operator.compute(&[one.evaluate(counters)?, two.evaluate(counters)?]),
                _ => None,
            },
        }
    }

    /// Returns the value for these counters, or an error at `span` if there is none.
    pub(crate) fn at(&self, counters: &[i128], span: Span) -> Result<i128, Diagnostic> {
        let value = self.evaluate(counters);
        value.ok_or_else(|| Diagnostic::new(span, "this number overflows or divides by zero"))
    }

    /// Whether the number contains a counter.
    pub(crate) fn reads(&self, counter: CounterId) -> bool {
        let mut found = false;
        self.counters(&mut |other| found |= other == counter);
        found
    }

    /// Passes the counters in the number to `see`.
    pub fn counters(&self, see: &mut impl FnMut(CounterId)) {
        match self {
            Self::Constant(_) => {}
            Self::Counter(counter) => see(*counter),
            Self::Apply(_, operands) => operands.iter().for_each(|o| o.counters(see)),
        }
    }

    /// Returns the number as a program would write it, for messages.
    pub fn display(&self, names: &[Symbol]) -> String {
        match self {
            Self::Constant(value) => value.to_string(),
            Self::Counter(counter) => match names.get(counter.0 as usize) {
                Some(name) => name.to_string(),
                None => "a counter".to_owned(),
            },
            Self::Apply(operator, operands) => {
                let texts: Vec<String> = operands.iter().map(|o| o.display(names)).collect();
                match (operator.sign(), &texts[..]) {
                    (Some(sign), [one]) => format!("{sign}({one})"),
                    (Some(sign), [one, two]) => {
                        let bracketed = |number: &Self, text: &String| match number {
                            Self::Apply(..) => format!("({text})"),
                            _ => text.clone(),
                        };
                        let (one, two) =
                            (bracketed(&operands[0], one), bracketed(&operands[1], two));
                        format!("{one} {sign} {two}")
                    }
                    _ => {
                        let operator = format!("{operator:?}").to_ascii_lowercase();
                        format!("{operator}({})", texts.join(", "))
                    }
                }
            }
        }
    }
}

impl NumberOperator {
    fn sign(self) -> Option<&'static str> {
        match self {
            Self::Binary(operator) => Some(operator.sign()),
            Self::Not => Some("!"),
            _ => None,
        }
    }

    /// Returns the value for these operands, or `None` if it overflows or divides by zero.
    pub fn compute(self, operands: &[i128]) -> Option<i128> {
        match (self, operands) {
            (Self::Binary(operator), &[a, b]) => binary(operator, a, b),
            (Self::Not, &[a]) => Some(i128::from(a == 0)),
            (Self::Minimum, &[a, b]) => Some(a.min(b)),
            (Self::Maximum, &[a, b]) => Some(a.max(b)),
            (Self::Absolute, &[a]) => a.checked_abs(),
            (Self::Bits, &[a]) if a >= 0 => Some(i128::from((128 - a.leading_zeros()).max(1))),
            (Self::If, &[condition, a, b]) => Some(if condition == 0 { b } else { a }),
            _ => None,
        }
    }
}

fn binary(operator: BinaryOperator, a: i128, b: i128) -> Option<i128> {
    match operator {
        B::Add => a.checked_add(b),
        B::Subtract => a.checked_sub(b),
        B::Multiply => a.checked_mul(b),
        B::Divide => a.checked_div(b),
        B::Remainder => a.checked_rem(b),
        B::ShiftLeft => {
            let by = u32::try_from(b).ok()?;
            1_i128.checked_shl(by).filter(|p| *p > 0)?.checked_mul(a)
        }
        B::ShiftRight => Some(a >> u32::try_from(b).ok()?.min(127)),
        B::And | B::LogicalAnd => Some(a & b),
        B::Or | B::LogicalOr => Some(a | b),
        B::Xor => Some(a ^ b),
        comparison => Some(i128::from(comparison.holds(a.cmp(&b)))),
    }
}
