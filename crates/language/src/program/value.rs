//! Values in the clear.

use num_bigint::BigInt;

/// A value of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of `bool`.
    Bool(bool),
    /// Of an integer; of a fixed-point number, the number times 2^f; of an enum, the variant's
    /// place. It is in its type's range.
    Integer(BigInt),
    /// The elements of an array, the bytes of `bytes` and `text`, the fields of a struct or tuple;
    /// of a table, its length and an array of its items.
    List(Vec<Value>),
}

impl Value {
    /// The value of the empty tuple.
    pub const UNIT: Self = Self::List(Vec::new());

    /// The value of a bool.
    ///
    /// # Panics
    ///
    /// If it is of another type, which a checked program excludes.
    #[must_use]
    pub fn as_bool(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            _ => panic!("a bool"),
        }
    }

    /// The value of a number or enum.
    ///
    /// # Panics
    ///
    /// If it is of another type, which a checked program excludes.
    #[must_use]
    pub fn as_integer(&self) -> &BigInt {
        match self {
            Self::Integer(value) => value,
            _ => panic!("an integer"),
        }
    }

    /// The parts of an array, a struct or a tuple.
    ///
    /// # Panics
    ///
    /// If it is of another type, which a checked program excludes.
    #[must_use]
    pub fn as_list(&self) -> &[Self] {
        match self {
            Self::List(parts) => parts,
            _ => panic!("a list"),
        }
    }

    /// The same, to be changed.
    pub(crate) fn as_list_mut(&mut self) -> &mut Vec<Self> {
        match self {
            Self::List(parts) => parts,
            _ => panic!("a list"),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}
