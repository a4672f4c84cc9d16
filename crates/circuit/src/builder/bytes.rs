//! Byte strings.

use super::handle::{binary_operator, unary_operator, wraps_bus};
use super::{Bit, Builder, Bus, Handle, UInt};
use crate::{Kind, Type};

/// A byte string: bytes in order, each with its least significant bit first.
///
/// The bitwise operators take two strings of one length and panic on others.
#[derive(Clone, Debug)]
pub struct Bytes<'b>(Bus<'b>);

wraps_bus!(Bytes);

impl<'b> Bytes<'b> {
    /// Creates a constant string.
    pub fn constant(builder: &'b Builder, bytes: &[u8]) -> Self {
        let bits = bytes
            .iter()
            .flat_map(|&byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        Self(Bus::constant(builder, bits))
    }

    /// Creates a string of `bytes`, each of 8 bits.
    ///
    /// # Panics
    ///
    /// If a byte has another width.
    pub fn from_bytes<'a>(
        builder: &'b Builder,
        bytes: impl IntoIterator<Item = &'a UInt<'b>>,
    ) -> Self
    where
        'b: 'a,
    {
        let bits = bytes.into_iter().flat_map(|byte| {
            assert_eq!(byte.width(), 8, "width of a byte");
            byte.bus().bits()
        });
        Self(Bus::from_bits(builder, bits))
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.0.width() / 8
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns byte `index`, an integer of 8 bits.
    ///
    /// # Panics
    ///
    /// If `index` is not below the length.
    pub fn byte(&self, index: usize) -> UInt<'b> {
        UInt::new(self.0.slice(8 * index..8 * index + 8))
    }

    /// Iterates over the bytes, in order.
    pub fn bytes(&self) -> impl DoubleEndedIterator<Item = UInt<'b>> + ExactSizeIterator + '_ {
        (0..self.len()).map(|index| self.byte(index))
    }

    /// Returns the bytes of `range`.
    ///
    /// # Panics
    ///
    /// If the range ends past the string.
    pub fn slice(&self, range: core::ops::Range<usize>) -> Self {
        Self(self.0.slice(8 * range.start..8 * range.end))
    }

    /// Returns this string followed by `tail`.
    pub fn concat(&self, tail: &Self) -> Self {
        Self(self.0.concat(&tail.0))
    }

    /// Reads the string as a number whose first byte is the most significant.
    pub fn to_uint_be(&self) -> UInt<'b> {
        UInt::new(swap_bytes(&self.0))
    }

    /// Returns the bytes of a number, the most significant first.
    ///
    /// # Panics
    ///
    /// If the number's width is not a multiple of 8.
    pub fn from_uint_be(number: &UInt<'b>) -> Self {
        assert_eq!(number.width() % 8, 0, "bits past the last whole byte");
        Self(swap_bytes(number.bus()))
    }
}

fn swap_bytes<'b>(bus: &Bus<'b>) -> Bus<'b> {
    let bytes = bus.literals().rchunks(8);
    Bus::new(bus.builder(), bytes.flatten().copied().collect())
}

impl<'b> Handle<'b> for Bytes<'b> {
    fn ty(&self) -> Type {
        Type::bytes(self.len())
    }

    fn to_bus(&self) -> Bus<'b> {
        self.0.clone()
    }

    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self> {
        (matches!(ty.kind(), Kind::Bytes(_)) && ty.width() == bus.width()).then_some(Self(bus))
    }
}
