//! Values in the clear.

use num_bigint::BigInt;

/// A value of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A value of `bool`.
    Bool(bool),
    /// An integer, a fixed-point number times 2^f, or the index of an enum's variant. It is in the
    /// range of its type.
    Integer(BigInt),
    /// The elements of an array, the bytes of `bytes` and `text`, or the fields of a struct or
    /// tuple. For a table, the length and an array of the items.
    List(Vec<Value>),
}

impl Value {
    /// The value of the empty tuple.
    pub const UNIT: Self = Self::List(Vec::new());

    /// Returns the value of a bool.
    ///
    /// # Panics
    ///
    /// If the value has another type, which a checked program excludes.
    pub fn as_bool(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            _ => panic!("a bool"),
        }
    }

    /// Returns the value of a number or enum.
    ///
    /// # Panics
    ///
    /// If the value has another type, which a checked program excludes.
    pub fn as_integer(&self) -> &BigInt {
        match self {
            Self::Integer(value) => value,
            _ => panic!("an integer"),
        }
    }

    /// Returns the parts of an array, a struct or a tuple.
    ///
    /// # Panics
    ///
    /// If the value has another type, which a checked program excludes.
    pub fn as_list(&self) -> &[Self] {
        match self {
            Self::List(parts) => parts,
            _ => panic!("a list"),
        }
    }

    /// Returns the same parts, mutably.
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
