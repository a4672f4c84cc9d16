//! The trait of all typed handles, and the operators that they share.

use super::Bus;
use crate::Type;

/// A typed value of a circuit under construction: a bus with one interpretation.
pub trait Handle<'b>: Clone {
    /// Returns the type of a port that carries this value.
    fn ty(&self) -> Type;

    /// Returns the bits of this value, the least significant first if it is a number.
    fn to_bus(&self) -> Bus<'b>;

    /// Creates the handle of type `ty` on `bus`. Returns `None` if this Rust type has no value of
    /// type `ty` or `bus` has another width than `ty`.
    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self>;
}

/// Implements a binary operator, from a method, for all four pairs of values and references.
macro_rules! binary_operator {
    ($handle:ident, $operator:ident, $function:ident, $method:ident) => {
        impl<'b> core::ops::$operator<&$handle<'b>> for &$handle<'b> {
            type Output = $handle<'b>;

            fn $function(self, other: &$handle<'b>) -> $handle<'b> {
                self.$method(other)
            }
        }

        impl<'b> core::ops::$operator<$handle<'b>> for &$handle<'b> {
            type Output = $handle<'b>;

            fn $function(self, other: $handle<'b>) -> $handle<'b> {
                self.$method(&other)
            }
        }

        impl<'b> core::ops::$operator<&$handle<'b>> for $handle<'b> {
            type Output = $handle<'b>;

            fn $function(self, other: &$handle<'b>) -> $handle<'b> {
                self.$method(other)
            }
        }

        impl<'b> core::ops::$operator for $handle<'b> {
            type Output = $handle<'b>;

            fn $function(self, other: $handle<'b>) -> $handle<'b> {
                self.$method(&other)
            }
        }
    };
}

/// Implements `!`, from a method, for values and references.
macro_rules! unary_operator {
    ($handle:ident, $operator:ident, $function:ident, $method:ident) => {
        impl<'b> core::ops::$operator for &$handle<'b> {
            type Output = $handle<'b>;

            fn $function(self) -> $handle<'b> {
                self.$method()
            }
        }

        impl<'b> core::ops::$operator for $handle<'b> {
            type Output = $handle<'b>;

            fn $function(self) -> $handle<'b> {
                self.$method()
            }
        }
    };
}

/// Implements the common methods of a handle that wraps a bus in its field 0.
macro_rules! wraps_bus {
    ($handle:ident) => {
        impl<'b> $handle<'b> {
            /// Creates a handle on `bus`.
            pub fn new(bus: Bus<'b>) -> Self {
                Self(bus)
            }

            /// Creates a handle on `bits`, the first at index 0.
            ///
            /// # Panics
            ///
            /// If a bit belongs to another builder.
            pub fn from_bits(
                builder: &'b Builder,
                bits: impl IntoIterator<Item = Bit<'b>>,
            ) -> Self {
                Self(Bus::from_bits(builder, bits))
            }

            /// Returns the bits of this handle.
            pub fn bus(&self) -> &Bus<'b> {
                &self.0
            }

            /// Whether both values are equal. Costs one AND gate less than the width.
            ///
            /// # Panics
            ///
            /// If the widths differ, or the handles are of two builders.
            pub fn equals(&self, other: &Self) -> Bit<'b> {
                self.0.equals(&other.0)
            }

            fn exclusive_or(&self, other: &Self) -> Self {
                Self(&self.0 ^ &other.0)
            }

            fn conjunction(&self, other: &Self) -> Self {
                Self(&self.0 & &other.0)
            }

            fn disjunction(&self, other: &Self) -> Self {
                Self(&self.0 | &other.0)
            }

            fn complement(&self) -> Self {
                Self(!&self.0)
            }
        }

        binary_operator!($handle, BitXor, bitxor, exclusive_or);
        binary_operator!($handle, BitAnd, bitand, conjunction);
        binary_operator!($handle, BitOr, bitor, disjunction);
        unary_operator!($handle, Not, not, complement);
    };
}

pub(super) use {binary_operator, unary_operator, wraps_bus};
