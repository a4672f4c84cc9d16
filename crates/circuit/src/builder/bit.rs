//! One bit.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitXor, Not};

use super::{Builder, Bus, Handle};
use crate::Type;
use crate::netlist::Literal;

/// A wire of a circuit under construction.
///
/// `^` and `!` cost no AND gate; `&` and `|` cost one.
#[derive(Clone, Copy)]
pub struct Bit<'b> {
    builder: &'b Builder,
    literal: Literal,
}

impl<'b> Bit<'b> {
    pub(crate) fn new(builder: &'b Builder, literal: Literal) -> Self {
        Self { builder, literal }
    }

    pub(crate) fn builder(self) -> &'b Builder {
        self.builder
    }

    /// Returns the literal of this bit: one in the netlist, or a late input that no gate has read
    /// yet.
    pub fn literal(self) -> Literal {
        self.literal
    }

    /// Returns the literal of this bit in the netlist. A late input becomes an input of the netlist
    /// here.
    pub fn settled(self) -> Literal {
        self.builder.settled(self.literal)
    }

    /// Returns `if_one` if this bit is one and `if_zero` otherwise. Both may be of any one type.
    /// Costs one AND gate a bit.
    ///
    /// # Panics
    ///
    /// If the two are of different types.
    pub fn select<H: Handle<'b>>(self, if_one: &H, if_zero: &H) -> H {
        let ty = if_one.ty();
        assert_eq!(ty, if_zero.ty(), "types of the two values to select from");
        let (one, zero) = (if_one.to_bus(), if_zero.to_bus());
        let bits = one
            .bits()
            .zip(zero.bits())
            .map(|(one, zero)| zero ^ (self & (one ^ zero)));
        let selected = Bus::from_bits(self.builder, bits);
        H::from_bus(&ty, selected).expect("a bus of the type's own width")
    }

    /// Returns the value if it is known to be constant.
    pub fn as_constant(self) -> Option<bool> {
        self.literal.as_constant()
    }
}

impl<'b> Handle<'b> for Bit<'b> {
    fn ty(&self) -> Type {
        Type::BIT
    }

    fn to_bus(&self) -> Bus<'b> {
        Bus::new(self.builder, vec![self.literal])
    }

    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self> {
        (*ty == Type::BIT && bus.width() == 1).then(|| bus.bit(0))
    }
}

impl BitXor for Bit<'_> {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        self.builder.assert_owns(other.builder);
        Self::new(self.builder, self.builder.xor(self.literal, other.literal))
    }
}

impl BitAnd for Bit<'_> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.builder.assert_owns(other.builder);
        Self::new(self.builder, self.builder.and(self.literal, other.literal))
    }
}

impl BitOr for Bit<'_> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        !(!self & !other)
    }
}

impl Not for Bit<'_> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(self.builder, !self.literal)
    }
}

impl fmt::Debug for Bit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bit({:?})", self.literal)
    }
}
