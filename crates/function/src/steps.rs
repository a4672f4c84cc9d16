//! Steps: what is assigned to what, and their canonical text.
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

/// What stands between brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// One element.
    At(Expression),
    /// The elements from the first to before the second.
    Range(Expression, Expression),
}

/// A value or a part of it.
///
/// Indices go from the outermost dimension inwards, as types are read from right to left: with `d`
/// of type `u8[5][9]`, `d[i]` is a `u8[5]` for i from 0 to 8. Behind the last dimension an index
/// picks a byte of a byte string, or a bit of anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The value's name.
    pub(super) name: String,
    /// From the outermost dimension inwards.
    pub(super) indices: Vec<Index>,
}

impl Part {
    /// All of the value of this name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            indices: Vec::new(),
        }
    }

    /// One element of it.
    #[must_use]
    pub fn at(mut self, index: impl Into<Expression>) -> Self {
        self.indices.push(Index::At(index.into()));
        self
    }

    /// Its elements from the first to before the second.
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
    /// A number, and its type if it says so.
    Constant(i128, Option<Type>),
}

/// What a step or an output reads: parts of values and constants, the bits of the first one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand(pub(super) Vec<Item>);

impl Operand {
    /// A number. Alone it takes the type of the place where it stands.
    #[must_use]
    pub fn number(number: i128) -> Self {
        Self(vec![Item::Constant(number, None)])
    }

    /// A number of this type: a bit or an integer.
    #[must_use]
    pub fn typed(number: i128, ty: Type) -> Self {
        Self(vec![Item::Constant(number, Some(ty))])
    }

    /// This and then another.
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

/// A step that is no loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Assignment {
    /// Moves bits.
    Move(Part, Operand),
    /// Calls a component: where its outputs go, nothing where one is dropped, and what it reads.
    Call(Vec<Option<Part>>, String, Vec<Operand>),
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
    /// The canonical text, with what `component` makes of a component's name.
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
