//! Expressions, statements and patterns.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::{GenericArgument, Ident, Path, TypeExpression};
use crate::lexer::TokenKind as T;
use crate::source::{Span, Symbol};

#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) kind: ExpressionKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExpressionKind {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(BigInt),
    /// A number with a point.
    Fraction(Box<BigRational>),
    Text(Symbol),
    Path(Path),
    /// `-x`, `!x`
    Unary(UnaryOperator, Box<Expression>),
    /// `a + b`, with the span of the operator
    Binary(BinaryOperator, Span, Box<Expression>, Box<Expression>),
    /// `x as T`
    Cast(Box<Expression>, TypeExpression),
    /// `if c { a } else { b }`
    If(Box<Expression>, Block, Option<Box<Expression>>),
    /// `match x { A => a, _ => b }`
    Match(Box<Expression>, Vec<Arm>),
    /// `{ … }`
    Block(Block),
    /// `(a, b)`
    Tuple(Vec<Expression>),
    /// `[a, b]`
    Array(Vec<Expression>),
    /// `[x; n]`
    Repeat(Box<Expression>, Box<Expression>),
    /// `[for i in 0..n { … }]`
    Comprehension(Box<ForLoop>),
    /// `Row { id: 1, amount }`
    Struct(Path, Vec<FieldValue>),
    /// `a[i]`
    Index(Box<Expression>, Box<Expression>),
    /// `a[i..j]`
    Slice(
        Box<Expression>,
        Option<Box<Expression>>,
        Option<Box<Expression>>,
    ),
    /// `0..n` or `0..=n`: the range of a loop or a pattern.
    Range(Box<Expression>, Box<Expression>, bool),
    /// `a.id` or `a.0`
    Field(Box<Expression>, Ident),
    /// `f(a, name: b)`
    Call(Box<Expression>, Vec<Argument>),
    /// `a.f(b)`
    Method(Box<Expression>, Ident, Vec<GenericArgument>, Vec<Argument>),
    /// `|a, b| e`
    Lambda(Vec<Pattern>, Box<Expression>),
}

#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// The parameter's name, if it is given.
    pub(crate) name: Option<Ident>,
    pub(crate) value: Expression,
}

/// A field of a struct's value.
#[derive(Clone, Debug)]
pub(crate) struct FieldValue {
    pub(crate) name: Ident,
    /// The value. Without it, the variable of the field's name is used.
    pub(crate) value: Option<Expression>,
}

impl FieldValue {
    /// Returns the place of the value.
    pub(crate) fn span(&self) -> Span {
        let value = self.value.as_ref();
        value.map_or(self.name.span, |value| value.span)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// The patterns, which the source joins by `|`.
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) value: Expression,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `-`
    Negate,
    /// `!`
    Not,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl BinaryOperator {
    /// Each operator with its token and its precedence. A greater one binds tighter, and `as` and
    /// prefix operators bind tighter than all.
    const TABLE: [(Self, T, u8); 18] = [
        (Self::LogicalOr, T::OrOr, 1),
        (Self::LogicalAnd, T::AndAnd, 2),
        (Self::Equal, T::EqualEqual, 3),
        (Self::NotEqual, T::NotEqual, 3),
        (Self::Less, T::Less, 3),
        (Self::LessEqual, T::LessEqual, 3),
        (Self::Greater, T::Greater, 3),
        (Self::GreaterEqual, T::GreaterEqual, 3),
        (Self::Or, T::Or, 4),
        (Self::Xor, T::Caret, 5),
        (Self::And, T::And, 6),
        (Self::ShiftLeft, T::ShiftLeft, 7),
        (Self::ShiftRight, T::ShiftRight, 7),
        (Self::Add, T::Plus, 8),
        (Self::Subtract, T::Minus, 8),
        (Self::Multiply, T::Star, 9),
        (Self::Divide, T::Slash, 9),
        (Self::Remainder, T::Percent, 9),
    ];

    fn find(is_it: impl Fn(&(Self, T, u8)) -> bool) -> Option<(Self, T, u8)> {
        Self::TABLE.into_iter().find(is_it)
    }

    fn row(self) -> (Self, T, u8) {
        Self::find(|row| row.0 == self).expect("a row for each operator")
    }

    /// Returns the operator that a token is between two operands.
    pub(crate) fn of_token(kind: T) -> Option<Self> {
        Self::find(|row| row.1 == kind).map(|row| row.0)
    }

    /// Returns the operator of `+=` and similar tokens.
    pub(crate) fn of_assignment(kind: T) -> Option<Self> {
        let sign = kind.text().strip_suffix('=')?;
        Self::find(|row| !row.0.is_comparison() && row.1.text() == sign).map(|row| row.0)
    }

    /// Returns the operator as a program writes it.
    pub fn sign(self) -> &'static str {
        self.row().1.text()
    }

    pub(crate) fn precedence(self) -> u8 {
        self.row().2
    }

    /// Whether the operator compares two values.
    pub fn is_comparison(self) -> bool {
        self.precedence() == 3
    }

    /// Whether a comparison holds for operands in this order.
    pub(crate) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            _ => order.is_ge(),
        }
    }
}

/// `for i in 0..n { … }`
#[derive(Clone, Debug)]
pub(crate) struct ForLoop {
    /// `for const`: unrolled, with a const counter.
    pub(crate) is_const: bool,
    /// The pattern that each turn binds.
    pub(crate) pattern: Pattern,
    /// The range, array or enum that the loop runs over.
    pub(crate) over: Expression,
    pub(crate) body: Block,
}

/// Statements between braces, followed by an optional value.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Statement>,
    /// The value at the end, if there is one.
    pub(crate) value: Option<Box<Expression>>,
    /// Whether a part of the block could not be parsed.
    pub(crate) is_broken: bool,
    /// The span from brace to brace.
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StatementKind {
    /// `let x: T = e;`
    Let(Pattern, Option<TypeExpression>, Expression),
    /// `const k = e;`
    Const(Ident, Option<TypeExpression>, Expression),
    /// `x = e;`, `x += e;`
    Assign(Expression, Option<(BinaryOperator, Span)>, Expression),
    /// `for …`
    For(Box<ForLoop>),
    /// `assert e;`
    Assert(Expression),
    /// An expression that is evaluated for its effects.
    Expression(Expression),
}

/// A pattern that takes a value apart.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) kind: PatternKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum PatternKind {
    /// `x` or `mut x`
    Name(bool, Ident),
    /// `_`
    Any,
    /// `(a, b)`
    Tuple(Vec<Pattern>),
    /// A value or range of values, in a `match`.
    Value(Box<Expression>),
}
