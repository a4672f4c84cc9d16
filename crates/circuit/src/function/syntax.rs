//! Steps: what is assigned to what.
//!
//! ```text
//! step      := targets "=" (NAME "(" (value ("," value)*)? ")" | value)
//! targets   := target ("," target)*          one for each output port of the component
//! target    := "_" | NAME index*             "_" drops the output
//! value     := item ("++" item)*             bits of the first item first
//! item      := NAME index* | constant (":" type)? | "[" value ("," value)* "]"
//! index     := "[" expression (".." expression)? "]"
//! constant  := "0x" DIGITS | expression
//! type      := NAME ("(" expression ")")? ("[" expression ("," expression)* "]")*
//! ```
//!
//! Indices go from the outermost dimension inwards, as types are read from right to left:
//! with `d` of type `u8[m+1][n+1]`, `d[i]` is a `u8[m+1]` for i from 0 to n. Behind the last
//! dimension an index picks a byte of a byte string, or a bit of anything else. `a..b` picks the
//! elements from a to before b. A constant takes the type of the place where it stands, if it
//! stands there alone; any other says its type. A type's sizes are expressions: `u(w)[2*n]`.

use core::fmt;

use super::expression::{Affine, Applied, Expression, Scope};
use super::lexer::{Lexer, Token};
use super::{ErrorLocation, FunctionError};
use crate::{Kind, Type};

/// Deepest nesting of lists.
const MAX_NESTING: usize = 8;

/// A type whose sizes are expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeExpression {
    /// `u8`, `bit`, `bytes`, or `u` where `width` says the rest.
    name: String,
    width: Option<Expression>,
    sizes: Vec<Vec<Expression>>,
}

impl TypeExpression {
    /// Reads a whole text as a type.
    pub(super) fn parse(place: &ErrorLocation, text: &str) -> Result<Self, FunctionError> {
        let mut lexer = Lexer::new(place, text)?;
        let ty = Self::read(&mut lexer)?;
        lexer.expect_end()?;
        Ok(ty)
    }

    /// The expression of a type without parameters.
    pub(super) fn of(ty: &Type) -> Self {
        let number = |n: u32| Expression::Number(n.into());
        let plain = |name: &str, sizes: Vec<Expression>| Self {
            name: name.to_owned(),
            width: None,
            sizes: if sizes.is_empty() {
                vec![]
            } else {
                vec![sizes]
            },
        };
        match ty.kind() {
            Kind::Bit | Kind::Unsigned(_) | Kind::Signed(_) => plain(&ty.to_string(), vec![]),
            Kind::Bits(n) => plain("bits", vec![number(*n)]),
            Kind::Bytes(n) => plain("bytes", vec![number(*n)]),
            Kind::Fixed { integer, fraction } => {
                plain("fixed", vec![number(*integer), number(*fraction)])
            }
            Kind::Array(of, n) => {
                let mut array = Self::of(of);
                array.sizes.push(vec![number(*n)]);
                array
            }
        }
    }

    fn read(lexer: &mut Lexer<'_>) -> Result<Self, FunctionError> {
        let name = lexer.expect_name("a type")?;
        let mut width = None;
        if lexer.take_sign("(") {
            width = Some(Expression::read(lexer)?);
            lexer.expect_sign(")")?;
        }
        let mut sizes = Vec::new();
        while lexer.take_sign("[") {
            let mut of_one = vec![Expression::read(lexer)?];
            while lexer.take_sign(",") {
                of_one.push(Expression::read(lexer)?);
            }
            lexer.expect_sign("]")?;
            sizes.push(of_one);
        }
        Ok(Self { name, width, sizes })
    }

    /// The type in `scope`.
    pub(super) fn ty(&self, scope: &dyn Scope) -> Result<Type, FunctionError> {
        let mut text = self.name.clone();
        if let Some(width) = &self.width {
            text += &width.number(scope)?.to_string();
        }
        for sizes in &self.sizes {
            let mut numbers = Vec::with_capacity(sizes.len());
            for size in sizes {
                numbers.push(size.number(scope)?.to_string());
            }
            text = format!("{text}[{}]", numbers.join(","));
        }
        text.parse().map_err(|error| FunctionError::Type {
            place: scope.place(),
            error: Box::new(error),
        })
    }
}

impl fmt::Display for TypeExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(width) = &self.width {
            write!(f, "({width})")?;
        }
        for sizes in &self.sizes {
            write!(f, "[{}]", joined(sizes))?;
        }
        Ok(())
    }
}

/// What stands between brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// One element.
    At(Expression),
    /// The elements from the first to before the second.
    Range(Expression, Expression),
}

/// A value or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The value's name.
    pub(super) name: String,
    /// From the outermost dimension inwards.
    pub(super) indices: Vec<Index>,
}

impl Reference {
    /// All of a value.
    pub(super) fn whole(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            indices: Vec::new(),
        }
    }
}

/// A constant as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Constant {
    /// `0x…`.
    Hex(String),
    /// A number, which may depend on counters.
    Number(Expression),
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A value, a part of it, or, where there are no indices, a number.
    Reference(Reference),
    /// A constant, and its type if it says so.
    Constant(Constant, Option<TypeExpression>),
    /// Values in a row, each of the element type where the place has one.
    List(Vec<Value>),
}

/// Items in a row.
pub(super) type Value = Vec<Item>;

/// What a step assigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Assigned {
    /// The outputs of a component.
    Call(String, Vec<Value>),
    /// A value.
    Value(Value),
}

/// A step that is no loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    /// What is assigned to; nothing where an output is dropped.
    pub(super) targets: Vec<Option<Reference>>,
    /// What is assigned.
    pub(super) assigned: Assigned,
}

/// A loop's head: `i in 0..n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The counter's name.
    pub(super) counter: String,
    /// Its first value.
    pub(super) from: Expression,
    /// One past its last.
    pub(super) to: Expression,
}

impl Head {
    /// Reads a loop's head.
    pub(super) fn parse(place: &ErrorLocation, text: &str) -> Result<Self, FunctionError> {
        let mut lexer = Lexer::new(place, text)?;
        let counter = lexer.expect_name("a counter's name")?;
        match lexer.peek() {
            Some(Token::Name(word)) if word == "in" => lexer.skip(),
            _ => return Err(lexer.error("in")),
        }
        let from = Expression::read(&mut lexer)?;
        lexer.expect_sign("..")?;
        let to = Expression::read(&mut lexer)?;
        lexer.expect_end()?;
        Ok(Self { counter, from, to })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}..{}", self.counter, self.from, self.to)
    }
}

/// Reads a whole text as a value.
pub(super) fn parse_value(place: &ErrorLocation, text: &str) -> Result<Value, FunctionError> {
    let mut lexer = Lexer::new(place, text)?;
    let value = read_value(&mut lexer, MAX_NESTING)?;
    lexer.expect_end()?;
    Ok(value)
}

impl Assignment {
    /// Reads a step.
    pub(super) fn parse(place: &ErrorLocation, text: &str) -> Result<Self, FunctionError> {
        let mut lexer = Lexer::new(place, text)?;
        let mut targets = Vec::new();
        loop {
            targets.push(if lexer.take_sign("_") {
                None
            } else {
                let name = lexer.expect_name("a value's name")?;
                Some(read_indices(&mut lexer, name)?)
            });
            if !lexer.take_sign(",") {
                break;
            }
        }
        lexer.expect_sign("=")?;
        let called = match lexer.peek() {
            Some(Token::Name(name)) if Applied::named(name).is_none() => {
                lexer.sign_after(1, "(").then(|| name.clone())
            }
            _ => None,
        };
        let assigned = match called {
            None => Assigned::Value(read_value(&mut lexer, MAX_NESTING)?),
            Some(component) => {
                lexer.skip();
                lexer.skip();
                let mut arguments = Vec::new();
                while !lexer.take_sign(")") {
                    if !arguments.is_empty() {
                        lexer.expect_sign(",")?;
                    }
                    arguments.push(read_value(&mut lexer, MAX_NESTING)?);
                }
                Assigned::Call(component, arguments)
            }
        };
        lexer.expect_end()?;
        Ok(Self { targets, assigned })
    }
}

fn read_value(lexer: &mut Lexer<'_>, nesting: usize) -> Result<Value, FunctionError> {
    let mut items = vec![read_item(lexer, nesting)?];
    while lexer.take_sign("++") {
        items.push(read_item(lexer, nesting)?);
    }
    Ok(items)
}

fn read_item(lexer: &mut Lexer<'_>, nesting: usize) -> Result<Item, FunctionError> {
    if lexer.take_sign("[") {
        let Some(nesting) = nesting.checked_sub(1) else {
            return Err(lexer.error("at most 8 lists in each other"));
        };
        let mut values = vec![read_value(lexer, nesting)?];
        while lexer.take_sign(",") {
            values.push(read_value(lexer, nesting)?);
        }
        lexer.expect_sign("]")?;
        return Ok(Item::List(values));
    }
    let ends = ["++", ",", ")", "]"];
    let alone = lexer.peek_after(1).is_none() || ends.iter().any(|end| lexer.sign_after(1, end));
    match lexer.peek().cloned() {
        Some(Token::Name(name)) if alone || lexer.sign_after(1, "[") => {
            lexer.skip();
            Ok(Item::Reference(read_indices(lexer, name)?))
        }
        Some(Token::Hex(digits)) if alone || lexer.sign_after(1, ":") => {
            lexer.skip();
            typed(lexer, Constant::Hex(digits))
        }
        _ => {
            let number = Expression::read(lexer)?;
            typed(lexer, Constant::Number(number))
        }
    }
}

fn typed(lexer: &mut Lexer<'_>, constant: Constant) -> Result<Item, FunctionError> {
    let ty = if lexer.take_sign(":") {
        Some(TypeExpression::read(lexer)?)
    } else {
        None
    };
    Ok(Item::Constant(constant, ty))
}

fn read_indices(lexer: &mut Lexer<'_>, name: String) -> Result<Reference, FunctionError> {
    let mut indices = Vec::new();
    while lexer.take_sign("[") {
        let first = Expression::read(lexer)?;
        indices.push(if lexer.take_sign("..") {
            Index::Range(first, Expression::read(lexer)?)
        } else {
            Index::At(first)
        });
        lexer.expect_sign("]")?;
    }
    Ok(Reference { name, indices })
}

fn joined<T: fmt::Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(T::to_string).collect();
    texts.join(",")
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.indices.iter().try_for_each(|index| match index {
            Index::At(at) => write!(f, "[{at}]"),
            Index::Range(from, to) => write!(f, "[{from}..{to}]"),
        })
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference(reference) => reference.fmt(f),
            Self::Constant(constant, ty) => {
                match constant {
                    Constant::Hex(digits) => f.write_str(digits)?,
                    Constant::Number(number) => number.fmt(f)?,
                }
                ty.iter().try_for_each(|ty| write!(f, ":{ty}"))
            }
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(|value| value_text(value)).collect();
                write!(f, "[{}]", values.join(","))
            }
        }
    }
}

/// A value's canonical text.
pub(super) fn value_text(value: &[Item]) -> String {
    let items: Vec<String> = value.iter().map(Item::to_string).collect();
    items.join("++")
}

impl Assignment {
    /// The canonical text, with what `component` makes of a component's name.
    pub(super) fn text(&self, component: impl Fn(&str) -> String) -> String {
        let target = |target: &Option<Reference>| match target {
            None => "_".to_owned(),
            Some(reference) => reference.to_string(),
        };
        let targets: Vec<String> = self.targets.iter().map(target).collect();
        let assigned = match &self.assigned {
            Assigned::Value(value) => value_text(value),
            Assigned::Call(name, arguments) => {
                let arguments: Vec<String> =
                    arguments.iter().map(|value| value_text(value)).collect();
                format!("{}({})", component(name), arguments.join(","))
            }
        };
        format!("{}={assigned}", targets.join(","))
    }
}

/// Where an array is indexed by counters, the affine start of what is picked, in elements, and
/// how many.
pub(super) fn extent(index: &Index, scope: &dyn Scope) -> Result<(Affine, i64), FunctionError> {
    match index {
        Index::At(at) => Ok((at.affine(scope)?, 1)),
        Index::Range(from, to) => {
            let (from_at, to_at) = (from.affine(scope)?, to.affine(scope)?);
            let width = to_at
                .plus(-1, &from_at)
                .and_then(|width| width.as_constant());
            match width {
                Some(width) => Ok((from_at, width)),
                None => Err(FunctionError::NotAffine {
                    place: scope.place(),
                    expression: format!("{from}..{to}"),
                }),
            }
        }
    }
}
