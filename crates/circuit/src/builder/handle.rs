//! What all typed handles have in common, and the operators that they share.

use super::Bus;
use crate::Type;

/// A typed value of a circuit under construction: a bus that is read in one way.
pub trait Handle<'b>: Clone {
    /// The type of a port that carries it.
    fn ty(&self) -> Type;

    /// Its bits, least significant first where that means something.
    fn to_bus(&self) -> Bus<'b>;

    /// The handle of type `ty` on `bus`, or nothing where this Rust type has no value of type
    /// `ty` or the bus is not as wide as it.
    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self>;
}

/// Implements a binary operator for all four pairs of values and references, from a method.
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

/// Implements `!` for values and references, from a method.
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

/// Gives a handle that wraps a bus (its field 0) what every such handle has.
macro_rules! wraps_bus {
    ($handle:ident) => {
        impl<'b> $handle<'b> {
            /// The handle on these bits.
            #[must_use]
            pub fn new(bus: Bus<'b>) -> Self {
                Self(bus)
            }

            /// The handle on these bits, the first at index 0.
            ///
            /// # Panics
            ///
            /// If a bit is of another builder.
            #[must_use]
            pub fn from_bits(
                builder: &'b Builder,
                bits: impl IntoIterator<Item = Bit<'b>>,
            ) -> Self {
                Self(Bus::from_bits(builder, bits))
            }

            /// Its bits.
            #[must_use]
            pub fn bus(&self) -> &Bus<'b> {
                &self.0
            }

            /// Whether both are equal. Costs an AND gate less than the width.
            ///
            /// # Panics
            ///
            /// If the widths differ, or the handles are of two builders.
            #[must_use]
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
