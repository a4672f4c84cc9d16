//! Whole-number expressions: sizes, parameters and indices.
//!
//! ```text
//! expression := product (("+" | "-") product)*
//! product    := factor (("*" | "/" | "%") factor)*
//! factor     := "-" factor | NUMBER | NAME | FUNCTION "(" expression, … ")" | "(" expression ")"
//! FUNCTION   := "bits" | "min" | "max"
//! ```
//!
//! `bits(x)` is the number of bits that it takes to write x, at least 1; `/` and `%` round down
//! and take no negative number. In a step's indices an expression must be affine in the loops'
//! counters: counters may be added and multiplied by what does not depend on one.

use core::cell::Cell;
use core::fmt;

use super::lexer::{Lexer, Token};
use super::{ErrorLocation, FunctionError};

/// Deepest nesting of parentheses and calls.
const MAX_NESTING: usize = 64;
/// Most operators of an expression, which is as deep as they are many: `a+b+c` is `(a+b)+c`.
const MAX_OPERATORS: usize = 256;

/// What an expression may still have.
#[derive(Clone, Copy)]
struct Left<'a> {
    nesting: usize,
    operators: &'a Cell<usize>,
}

impl Left<'_> {
    fn take_operator(self, lexer: &Lexer<'_>) -> Result<(), FunctionError> {
        match self.operators.get().checked_sub(1) {
            Some(left) => {
                self.operators.set(left);
                Ok(())
            }
            None => Err(lexer.error("at most 256 operators")),
        }
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// A number.
    Number(u64),
    /// A parameter or a loop's counter.
    Name(String),
    /// Its negation.
    Negative(Box<Self>),
    /// Two operands and what joins them.
    Binary(Box<Self>, Operator, Box<Self>),
    /// A function of one or two arguments.
    Apply(Applied, Vec<Self>),
}

/// What joins two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A function that expressions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    Bits,
    Min,
    Max,
}

impl Applied {
    /// The function of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "bits" => Some(Self::Bits),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    fn arguments(self) -> usize {
        match self {
            Self::Bits => 1,
            Self::Min | Self::Max => 2,
        }
    }
}

impl Operator {
    fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    fn is_product(self) -> bool {
        !matches!(self, Self::Add | Self::Subtract)
    }
}

impl Expression {
    /// Reads a whole text as an expression.
    pub(super) fn parse(place: &ErrorLocation, text: &str) -> Result<Self, FunctionError> {
        let mut lexer = Lexer::new(place, text)?;
        let expression = Self::read(&mut lexer)?;
        lexer.expect_end()?;
        Ok(expression)
    }

    /// Reads the expression that stands next.
    pub(super) fn read(lexer: &mut Lexer<'_>) -> Result<Self, FunctionError> {
        let operators = Cell::new(MAX_OPERATORS);
        let left = Left {
            nesting: MAX_NESTING,
            operators: &operators,
        };
        Self::sum(lexer, left)
    }

    fn sum(lexer: &mut Lexer<'_>, limits: Left<'_>) -> Result<Self, FunctionError> {
        let mut left = Self::product(lexer, limits)?;
        loop {
            let operator = if lexer.take_sign("+") {
                Operator::Add
            } else if lexer.take_sign("-") {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            limits.take_operator(lexer)?;
            let right = Self::product(lexer, limits)?;
            left = Self::Binary(Box::new(left), operator, Box::new(right));
        }
    }

    fn product(lexer: &mut Lexer<'_>, limits: Left<'_>) -> Result<Self, FunctionError> {
        let mut left = Self::factor(lexer, limits)?;
        loop {
            let operator = if lexer.take_sign("*") {
                Operator::Multiply
            } else if lexer.take_sign("/") {
                Operator::Divide
            } else if lexer.take_sign("%") {
                Operator::Remainder
            } else {
                return Ok(left);
            };
            limits.take_operator(lexer)?;
            let right = Self::factor(lexer, limits)?;
            left = Self::Binary(Box::new(left), operator, Box::new(right));
        }
    }

    fn factor(lexer: &mut Lexer<'_>, limits: Left<'_>) -> Result<Self, FunctionError> {
        let Some(nesting) = limits.nesting.checked_sub(1) else {
            return Err(lexer.error("at most 64 parentheses in each other"));
        };
        let limits = Left { nesting, ..limits };
        if lexer.take_sign("-") {
            return Ok(Self::Negative(Box::new(Self::factor(lexer, limits)?)));
        }
        if lexer.take_sign("(") {
            let inner = Self::sum(lexer, limits)?;
            lexer.expect_sign(")")?;
            return Ok(inner);
        }
        match lexer.peek().cloned() {
            Some(Token::Number(number)) => {
                lexer.skip();
                Ok(Self::Number(number))
            }
            Some(Token::Hex(digits)) => {
                let number = u64::from_str_radix(&digits[2..], 16)
                    .map_err(|_| lexer.error("a number below 2^64"))?;
                lexer.skip();
                Ok(Self::Number(number))
            }
            Some(Token::Name(name)) => match Applied::named(&name) {
                Some(function) if lexer.sign_after(1, "(") => {
                    Self::application(lexer, function, limits)
                }
                _ => {
                    lexer.skip();
                    Ok(Self::Name(name))
                }
            },
            _ => Err(lexer.error("a number or a name")),
        }
    }

    fn application(
        lexer: &mut Lexer<'_>,
        function: Applied,
        limits: Left<'_>,
    ) -> Result<Self, FunctionError> {
        lexer.skip();
        lexer.expect_sign("(")?;
        let mut arguments = vec![Self::sum(lexer, limits)?];
        while arguments.len() < function.arguments() {
            lexer.expect_sign(",")?;
            arguments.push(Self::sum(lexer, limits)?);
        }
        lexer.expect_sign(")")?;
        Ok(Self::Apply(function, arguments))
    }
}

/// The canonical text: no spaces, and only the parentheses that it takes to be read back the
/// same.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parenthesised = |f: &mut fmt::Formatter<'_>, inner: &Self, needed: bool| {
            if needed {
                write!(f, "({inner})")
            } else {
                inner.fmt(f)
            }
        };
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Negative(inner) => {
                f.write_str("-")?;
                parenthesised(f, inner, matches!(**inner, Self::Binary(..)))
            }
            Self::Binary(left, operator, right) => {
                let is_sum = |side: &Self| match side {
                    Self::Binary(_, operator, _) => !operator.is_product(),
                    _ => false,
                };
                parenthesised(f, left, operator.is_product() && is_sum(left))?;
                f.write_str(operator.sign())?;
                let compound = match &**right {
                    Self::Binary(_, inner, _) => operator.is_product() || !inner.is_product(),
                    _ => false,
                };
                parenthesised(f, right, compound)
            }
            Self::Apply(function, arguments) => {
                write!(f, "{}(", function.name())?;
                for (i, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if i == 0 { "" } else { "," })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// An expression once its parameters have values: a constant and a multiple of each counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Affine {
    /// What is left where all counters are zero.
    pub(super) constant: i64,
    /// For each loop from the outermost on, by how much one more of its counter adds; no zeros
    /// at the end.
    pub(super) factors: Vec<i64>,
}

impl Affine {
    /// The constant.
    pub(super) fn constant(constant: i64) -> Self {
        Self {
            constant,
            factors: Vec::new(),
        }
    }

    /// The counter of the loop at this depth.
    pub(super) fn counter(depth: usize) -> Self {
        let mut factors = vec![0; depth];
        factors.push(1);
        Self {
            constant: 0,
            factors,
        }
    }

    /// The value, if no counter is in it.
    pub(super) fn as_constant(&self) -> Option<i64> {
        self.factors.is_empty().then_some(self.constant)
    }

    /// `self + by · other`, or nothing where it overflows.
    pub(super) fn plus(&self, by: i64, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(by.checked_mul(other.constant)?)?;
        if sum.factors.len() < other.factors.len() {
            sum.factors.resize(other.factors.len(), 0);
        }
        for (factor, other) in sum.factors.iter_mut().zip(&other.factors) {
            *factor = factor.checked_add(by.checked_mul(*other)?)?;
        }
        while sum.factors.last() == Some(&0) {
            sum.factors.pop();
        }
        Some(sum)
    }

    /// The value at these counters, or nothing where it overflows.
    pub(super) fn at(&self, counters: &[i64]) -> Option<i128> {
        let mut terms = self.factors.iter().zip(counters);
        terms.try_fold(i128::from(self.constant), |sum, (factor, counter)| {
            // A product is at most 2^126, and there are up to eight of them.
            sum.checked_add(i128::from(*factor) * i128::from(*counter))
        })
    }

    /// The value at these counters where it is known to fit, as an index that was checked is.
    #[inline]
    pub(super) fn checked_before(&self, counters: &[i64]) -> i64 {
        let terms = self.factors.iter().zip(counters);
        terms.fold(self.constant, |sum, (factor, counter)| {
            // Exact where the sum fits, whatever the terms do.
            sum.wrapping_add(factor.wrapping_mul(*counter))
        })
    }
}

/// What names in an expression mean.
pub(super) trait Scope {
    /// The value of the parameter or counter `name`.
    fn value(&self, name: &str) -> Option<Affine>;
    /// Where the expression stands.
    fn place(&self) -> ErrorLocation;
}

impl Expression {
    /// The value in `scope`.
    pub(super) fn affine(&self, scope: &dyn Scope) -> Result<Affine, FunctionError> {
        match self {
            Self::Number(number) => i64::try_from(*number)
                .map(Affine::constant)
                .map_err(|_| self.overflow(scope)),
            Self::Name(name) => scope.value(name).ok_or_else(|| FunctionError::UnknownName {
                place: scope.place(),
                name: name.clone(),
            }),
            Self::Negative(inner) => Affine::default()
                .plus(-1, &inner.affine(scope)?)
                .ok_or_else(|| self.overflow(scope)),
            Self::Binary(left, operator, right) => {
                let (left, right) = (left.affine(scope)?, right.affine(scope)?);
                self.join(*operator, &left, &right, scope)
            }
            Self::Apply(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(argument.number(scope)?);
                }
                Ok(Affine::constant(match (function, values[..].as_ref()) {
                    (Applied::Min, [a, b]) => *a.min(b),
                    (Applied::Max, [a, b]) => *a.max(b),
                    (_, [a, ..]) => i64::from((64 - a.max(&0).leading_zeros()).max(1)),
                    (_, []) => 1,
                }))
            }
        }
    }

    /// The value in `scope`, which must not depend on a counter.
    pub(super) fn number(&self, scope: &dyn Scope) -> Result<i64, FunctionError> {
        let value = self.affine(scope)?;
        value.as_constant().ok_or_else(|| FunctionError::NotAffine {
            place: scope.place(),
            expression: self.to_string(),
        })
    }

    fn join(
        &self,
        operator: Operator,
        left: &Affine,
        right: &Affine,
        scope: &dyn Scope,
    ) -> Result<Affine, FunctionError> {
        let numbers = (left.as_constant(), right.as_constant());
        let joined = match (operator, numbers) {
            (Operator::Add, _) => left.plus(1, right),
            (Operator::Subtract, _) => left.plus(-1, right),
            (Operator::Multiply, (Some(a), _)) => Affine::default().plus(a, right),
            (Operator::Multiply, (_, Some(b))) => Affine::default().plus(b, left),
            (Operator::Divide, (Some(a @ 0..), Some(b @ 1..))) => Some(Affine::constant(a / b)),
            (Operator::Remainder, (Some(a @ 0..), Some(b @ 1..))) => Some(Affine::constant(a % b)),
            (Operator::Divide | Operator::Remainder, (Some(_), Some(_))) => None,
            _ => {
                return Err(FunctionError::NotAffine {
                    place: scope.place(),
                    expression: self.to_string(),
                });
            }
        };
        joined.ok_or_else(|| self.overflow(scope))
    }

    fn overflow(&self, scope: &dyn Scope) -> FunctionError {
        FunctionError::Overflow {
            place: scope.place(),
            expression: self.to_string(),
        }
    }
}
