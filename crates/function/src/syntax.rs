//! Steps: what is assigned to what.
//!
//! ```text
//! step      := targets "=" (NAME "(" (value ("," value)*)? ")" | value)
//! targets   := target ("," target)*          one for each output port of the component
//! target    := "_" | NAME index*             "_" drops the output
//! value     := item ("++" item)*             bits of the first item first
//! item      := NAME index* | "-"? NUMBER (":" TYPE)?
//! index     := "[" expression (".." expression)? "]"
//! ```
//!
//! Indices go from the outermost dimension inwards, as types are read from right to left:
//! with `d` of type `u8[5][9]`, `d[i]` is a `u8[5]` for i from 0 to 8. Behind the last
//! dimension an index picks a byte of a byte string, or a bit of anything else. `a..b` picks the
//! elements from a to before b. A number takes the type of the place where it stands, if it
//! stands there alone; any other says its type: `bit`, `u8` or `i8`.

use core::fmt;

use tacit_circuit::Type;

use crate::expression::{Affine, Expression};
use crate::lexer::{Lexer, Token};
use crate::{ErrorLocation, FunctionError};

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

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A value or a part of it.
    Reference(Reference),
    /// A number, and its type if it says so.
    Constant(i128, Option<Type>),
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
    let value = read_value(&mut lexer)?;
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
            Some(Token::Name(name)) => lexer.sign_after(1, "(").then(|| name.clone()),
            _ => None,
        };
        let assigned = match called {
            None => Assigned::Value(read_value(&mut lexer)?),
            Some(component) => {
                lexer.skip();
                lexer.skip();
                let mut arguments = Vec::new();
                while !lexer.take_sign(")") {
                    if !arguments.is_empty() {
                        lexer.expect_sign(",")?;
                    }
                    arguments.push(read_value(&mut lexer)?);
                }
                Assigned::Call(component, arguments)
            }
        };
        lexer.expect_end()?;
        Ok(Self { targets, assigned })
    }
}

fn read_value(lexer: &mut Lexer<'_>) -> Result<Value, FunctionError> {
    let mut items = vec![read_item(lexer)?];
    while lexer.take_sign("++") {
        items.push(read_item(lexer)?);
    }
    Ok(items)
}

fn read_item(lexer: &mut Lexer<'_>) -> Result<Item, FunctionError> {
    let is_negative = lexer.take_sign("-");
    let number = match lexer.peek().cloned() {
        Some(Token::Number(number)) => i128::from(number),
        Some(Token::Name(name)) if !is_negative => {
            lexer.skip();
            return Ok(Item::Reference(read_indices(lexer, name)?));
        }
        _ => return Err(lexer.error("a value's name or a number")),
    };
    lexer.skip();
    let number = if is_negative { -number } else { number };
    let ty = match lexer.take_sign(":") {
        false => None,
        true => Some(lexer.expect_type()?),
    };
    Ok(Item::Constant(number, ty))
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
            Self::Constant(number, ty) => {
                number.fmt(f)?;
                ty.iter().try_for_each(|ty| write!(f, ":{ty}"))
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

impl Index {
    /// The first element picked, and how many, where the loops around have these counters.
    pub(super) fn extent(
        &self,
        counters: &[&str],
        place: &ErrorLocation,
    ) -> Result<(Affine, i64), FunctionError> {
        let (from, to) = match self {
            Self::At(at) => return Ok((at.affine(counters, place)?, 1)),
            Self::Range(from, to) => (from, to),
        };
        let at = from.affine(counters, place)?;
        let width = to.affine(counters, place)?.plus(-1, &at);
        match width.and_then(|width| width.as_constant()) {
            Some(width) => Ok((at, width)),
            None => Err(FunctionError::RangeWidth {
                place: place.clone(),
                range: format!("{from}..{to}"),
            }),
        }
    }
}
