//! Buses: strings of bits, on which every wide handle is built.

use core::fmt;
use core::ops::Range;

use super::handle::{binary_operator, unary_operator};
use super::{Bit, Builder, Handle, shallow};
use crate::netlist::Literal;
use crate::{Kind, Type};

/// A string of bits. Bit 0 is the least significant if the string stands for a number.
///
/// The bitwise operators take two buses of one width and panic on others. `^` and `!` cost no AND
/// gate; `&` and `|` cost one a bit. Slices, shifts and rotations by constants cost nothing.
#[derive(Clone)]
pub struct Bus<'b> {
    builder: &'b Builder,
    literals: Vec<Literal>,
}

impl<'b> Bus<'b> {
    pub(crate) fn new(builder: &'b Builder, literals: Vec<Literal>) -> Self {
        Self { builder, literals }
    }

    pub(crate) fn literals(&self) -> &[Literal] {
        &self.literals
    }

    /// Creates a bus of `bits`, bit 0 first.
    ///
    /// # Panics
    ///
    /// If a bit belongs to another builder.
    pub fn from_bits(builder: &'b Builder, bits: impl IntoIterator<Item = Bit<'b>>) -> Self {
        let literal = |bit: Bit<'b>| {
            builder.assert_owns(bit.builder());
            bit.literal()
        };
        Self::new(builder, bits.into_iter().map(literal).collect())
    }

    /// Creates a bus of constant bits, bit 0 first.
    pub fn constant(builder: &'b Builder, bits: impl IntoIterator<Item = bool>) -> Self {
        Self::new(builder, bits.into_iter().map(Literal::constant).collect())
    }

    /// Returns the builder of the circuit.
    pub fn builder(&self) -> &'b Builder {
        self.builder
    }

    /// Returns the number of bits.
    pub fn width(&self) -> usize {
        self.literals.len()
    }

    /// Returns bit `index`.
    ///
    /// # Panics
    ///
    /// If `index` is not below the width.
    pub fn bit(&self, index: usize) -> Bit<'b> {
        Bit::new(self.builder, self.literals[index])
    }

    /// Iterates over the bits, bit 0 first.
    pub fn bits(&self) -> impl DoubleEndedIterator<Item = Bit<'b>> + ExactSizeIterator + '_ {
        self.literals
            .iter()
            .map(|&literal| Bit::new(self.builder, literal))
    }

    /// Returns the bits of `range`.
    ///
    /// # Panics
    ///
    /// If the range ends past the bus.
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self::new(self.builder, self.literals[range].to_vec())
    }

    /// Returns the bits of this bus followed by those of `upper`.
    pub fn concat(&self, upper: &Self) -> Self {
        self.builder.assert_owns(upper.builder);
        Self::new(
            self.builder,
            [&self.literals[..], &upper.literals[..]].concat(),
        )
    }

    /// Moves the bits `by` places up and fills with zeros below. The width stays.
    pub fn shift_up(&self, by: usize) -> Self {
        let by = by.min(self.width());
        let kept = &self.literals[..self.width() - by];
        Self::new(self.builder, [&vec![Literal::FALSE; by], kept].concat())
    }

    /// Moves the bits `by` places down and fills with `fill` above. The width stays.
    pub fn shift_down(&self, by: usize, fill: Bit<'b>) -> Self {
        self.builder.assert_owns(fill.builder());
        let by = by.min(self.width());
        Self::new(
            self.builder,
            [&self.literals[by..], &vec![fill.literal(); by]].concat(),
        )
    }

    /// Moves the bits `by` places up. Bits that leave at the top come in at the bottom.
    pub fn rotate_up(&self, by: usize) -> Self {
        let mut rotated = self.clone();
        if !rotated.literals.is_empty() {
            rotated.literals.rotate_right(by % self.width());
        }
        rotated
    }

    /// Whether all bits are one, by a balanced tree. Costs one AND gate less than the width.
    pub fn all(&self) -> Bit<'b> {
        let mut level: Vec<Bit<'b>> = self.bits().collect();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| {
                    pair.iter()
                        .copied()
                        .reduce(|a, b| a & b)
                        .expect("a pair or one")
                })
                .collect();
        }
        level.pop().unwrap_or_else(|| self.builder.constant(true))
    }

    /// Returns for each bit whether it and all bits before it are one. Costs one AND gate less than
    /// the width.
    pub fn prefix_ands(&self) -> Self {
        if self.builder.is_shallow() {
            return Self::from_bits(self.builder, shallow::prefix_ands(self.bits()));
        }
        let mut all = self.builder.constant(true);
        let bits = self.bits().map(|bit| {
            all = all & bit;
            all
        });
        Self::from_bits(self.builder, bits.collect::<Vec<_>>())
    }

    /// Returns the bits in reverse order.
    pub fn reversed(&self) -> Self {
        let literals = self.literals.iter().rev().copied().collect();
        Self::new(self.builder, literals)
    }

    /// Whether any bit is one. Costs one AND gate less than the width.
    pub fn any(&self) -> Bit<'b> {
        !(!self).all()
    }

    /// Whether both buses are equal. Costs one AND gate less than the width.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    pub fn equals(&self, other: &Self) -> Bit<'b> {
        (!(self ^ other)).all()
    }

    fn zip_with(&self, other: &Self, gate: impl Fn(Literal, Literal) -> Literal) -> Self {
        self.builder.assert_owns(other.builder);
        assert_eq!(
            self.width(),
            other.width(),
            "widths of two buses in one operation"
        );
        let pairs = self.literals.iter().zip(&other.literals);
        Self::new(self.builder, pairs.map(|(&a, &b)| gate(a, b)).collect())
    }

    fn exclusive_or(&self, other: &Self) -> Self {
        self.zip_with(other, |a, b| self.builder.xor(a, b))
    }

    fn conjunction(&self, other: &Self) -> Self {
        self.zip_with(other, |a, b| self.builder.and(a, b))
    }

    fn disjunction(&self, other: &Self) -> Self {
        self.zip_with(other, |a, b| !self.builder.and(!a, !b))
    }

    fn complement(&self) -> Self {
        Self::new(
            self.builder,
            self.literals.iter().map(|&literal| !literal).collect(),
        )
    }
}

binary_operator!(Bus, BitXor, bitxor, exclusive_or);
binary_operator!(Bus, BitAnd, bitand, conjunction);
binary_operator!(Bus, BitOr, bitor, disjunction);
unary_operator!(Bus, Not, not, complement);

impl<'b> Handle<'b> for Bus<'b> {
    fn ty(&self) -> Type {
        Type::bits(self.width())
    }

    fn to_bus(&self) -> Bus<'b> {
        self.clone()
    }

    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self> {
        (matches!(ty.kind(), Kind::Bits(_)) && ty.width() == bus.width()).then_some(bus)
    }
}

impl fmt::Debug for Bus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bus").field(&self.literals).finish()
    }
}
