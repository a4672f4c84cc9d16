//! Steps: assignments, and their canonical text.
//!
//! ```text
//! step      := targets "=" (NAME "(" (value ("," value)*)? ")" | value)
//! targets   := target ("," target)*          one for each output port of the component
//! target    := "_" | NAME index*             "_" drops the output
//! value     := item ("++" item)*             bits of the first item first
//! item      := NAME index* | "-"? NUMBER (":" TYPE)?
//! index     := "[" expression (".." expression)? "]"
//! expression := "-"? term (("+" | "-") term)*
//! term      := NUMBER ("*" COUNTER)? | COUNTER
//! ```

use core::fmt;

use tacit_circuit::Type;

use crate::expression::{Affine, Expression};
use crate::{ErrorLocation, FunctionError};

/// The text between brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// One element.
    At(Expression),
    /// The elements from the first up to, but not including, the second.
    Range(Expression, Expression),
}

/// A value or a part of it.
///
/// Indices go from the outermost dimension inwards, as types are read from right to left: with `d`
/// of type `u8[5][9]`, `d[i]` is a `u8[5]` for i from 0 to 8. After the last dimension, an index
/// selects a byte of a byte string, or a bit of anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The value's name.
    pub(super) name: String,
    /// The indices, from the outermost dimension inwards.
    pub(super) indices: Vec<Index>,
}

impl Part {
    /// Returns the whole value of this name.
    pub fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            indices: Vec::new(),
        }
    }

    /// Selects one element of it.
    #[must_use]
    pub fn at(mut self, index: impl Into<Expression>) -> Self {
        self.indices.push(Index::At(index.into()));
        self
    }

    /// Selects its elements from the first up to, but not including, the second.
    #[must_use]
    pub fn range(mut self, from: impl Into<Expression>, to: impl Into<Expression>) -> Self {
        self.indices.push(Index::Range(from.into(), to.into()));
        self
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for Part {
    fn from(name: &T) -> Self {
        Self::of(name.as_ref())
    }
}

/// A part of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A value or a part of it.
    Part(Part),
    /// A number, and its type if it is given.
    Constant(i128, Option<Type>),
}

/// The source of a step or an output: parts of values and constants. The bits of the first one come
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand(pub(super) Vec<Item>);

impl Operand {
    /// Creates a number. On its own, it takes the type of its destination.
    pub fn number(number: i128) -> Self {
        Self(vec![Item::Constant(number, None)])
    }

    /// Creates a number of this type: a bit or an integer.
    pub fn typed(number: i128, ty: Type) -> Self {
        Self(vec![Item::Constant(number, Some(ty))])
    }

    /// Appends another operand.
    #[must_use]
    pub fn then(mut self, other: impl Into<Self>) -> Self {
        self.0.extend(other.into().0);
        self
    }
}

impl<T: Into<Part>> From<T> for Operand {
    fn from(part: T) -> Self {
        Self(vec![Item::Part(part.into())])
    }
}

/// A step that is not a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Assignment {
    /// Moves bits.
    Move(Part, Operand),
    /// Calls a component: the destinations of its outputs, `None` for a dropped one, the
    /// component's name, and the arguments.
    Call(Vec<Option<Part>>, String, Vec<Operand>),
}

/// A loop's head: `i in 0..n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The counter's name.
    pub(super) counter: String,
    /// The counter's first value.
    pub(super) from: Expression,
    /// One more than the counter's last value.
    pub(super) to: Expression,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}..{}", self.counter, self.from, self.to)
    }
}

impl fmt::Display for Part {
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
            Self::Part(part) => part.fmt(f),
            Self::Constant(number, ty) => {
                number.fmt(f)?;
                ty.iter().try_for_each(|ty| write!(f, ":{ty}"))
            }
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(&self.0, "++").fmt(f)
    }
}

fn joined<T: ToString>(all: &[T], sign: &str) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(sign)
}

impl Assignment {
    /// Returns the canonical text. `component` translates a component's name.
    pub(super) fn text(&self, component: impl Fn(&str) -> String) -> String {
        let target = |target: &Option<Part>| match target {
            None => "_".to_owned(),
            Some(part) => part.to_string(),
        };
        match self {
            Self::Move(part, operand) => format!("{part}={operand}"),
            Self::Call(targets, name, arguments) => {
                let targets: Vec<String> = targets.iter().map(target).collect();
                let arguments = joined(arguments, ",");
                format!("{}={}({arguments})", targets.join(","), component(name))
            }
        }
    }
}

impl Index {
    /// Returns the first element selected and their number, in terms of the enclosing loops'
    /// counters.
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
