//! Fixed-point numbers.

use super::handle::{binary_operator, unary_operator};
use super::{Bit, Builder, Bus, Handle, Int, Ordered};
use crate::{Kind, Type};

/// A signed fixed-point number of type `fixed[i,f]`: an integer of i + f bits in two's complement,
/// divided by 2^f.
///
/// Operators take two numbers of one type and panic on others. Everything wraps around modulo
/// 2^i: a sum, difference or product that does not fit loses its upper bits. A product is rounded
/// down, a quotient towards zero, both to a multiple of 2^−f. Division by zero gives −2^−f, the
/// number whose bits are all one.
#[derive(Clone, Debug)]
pub struct Fixed<'b> {
    scaled: Int<'b>,
    fraction: usize,
}

impl<'b> Fixed<'b> {
    /// Creates the number `scaled`/2^`fraction`.
    ///
    /// # Panics
    ///
    /// If no bit is left before the binary point.
    pub fn new(scaled: Int<'b>, fraction: usize) -> Self {
        assert!(fraction < scaled.width(), "bits before the binary point");
        Self { scaled, fraction }
    }

    /// Creates the constant `scaled`/2^`fraction`, with `integer` bits before the point and
    /// `fraction` bits after it.
    ///
    /// # Panics
    ///
    /// If `integer` is zero.
    pub fn constant(builder: &'b Builder, integer: usize, fraction: usize, scaled: i128) -> Self {
        Self::new(Int::constant(builder, integer + fraction, scaled), fraction)
    }

    /// Returns the integer that is divided by 2^f.
    pub fn scaled(&self) -> &Int<'b> {
        &self.scaled
    }

    /// Returns the number of bits before the binary point, including the sign.
    pub fn integer_bits(&self) -> usize {
        self.scaled.width() - self.fraction
    }

    /// Returns the number of bits after the binary point.
    pub fn fraction_bits(&self) -> usize {
        self.fraction
    }

    /// Rounds the number down to an integer. Costs nothing.
    pub fn floor(&self) -> Int<'b> {
        Int::new(self.scaled.bus().slice(self.fraction..self.scaled.width()))
    }

    /// Changes the numbers of bits before and after the point. The value is rounded down, and wraps
    /// around if it does not fit. Costs nothing.
    ///
    /// # Panics
    ///
    /// If `integer` is zero.
    pub fn resize(&self, integer: usize, fraction: usize) -> Self {
        let scaled = if fraction >= self.fraction {
            let by = fraction - self.fraction;
            self.scaled.resize(self.scaled.width() + by).shift_left(by)
        } else {
            self.scaled.shift_right(self.fraction - fraction)
        };
        Self::new(scaled.resize(integer + fraction), fraction)
    }

    /// Whether both numbers are equal. Costs one AND gate less than the width.
    ///
    /// # Panics
    ///
    /// If the types differ.
    pub fn equals(&self, other: &Self) -> Bit<'b> {
        self.check(other);
        self.scaled.equals(&other.scaled)
    }

    fn sum(&self, other: &Self) -> Self {
        self.check(other);
        Self::new(&self.scaled + &other.scaled, self.fraction)
    }

    fn difference(&self, other: &Self) -> Self {
        self.check(other);
        Self::new(&self.scaled - &other.scaled, self.fraction)
    }

    fn product(&self, other: &Self) -> Self {
        self.check(other);
        let width = self.scaled.width();
        let product = self.scaled.mul_widening(&other.scaled);
        Self::new(
            Int::new(product.bus().slice(self.fraction..self.fraction + width)),
            self.fraction,
        )
    }

    fn quotient(&self, other: &Self) -> Self {
        self.check(other);
        let width = self.scaled.width();
        let wide = width + self.fraction;
        let dividend = self.scaled.resize(wide).shift_left(self.fraction);
        let quotient = dividend / other.scaled.resize(wide);
        Self::new(quotient.resize(width), self.fraction)
    }

    fn negative(&self) -> Self {
        Self::new(-&self.scaled, self.fraction)
    }

    fn check(&self, other: &Self) {
        assert_eq!(
            self.ty(),
            other.ty(),
            "types of two fixed-point numbers in one operation"
        );
    }
}

binary_operator!(Fixed, Add, add, sum);
binary_operator!(Fixed, Sub, sub, difference);
binary_operator!(Fixed, Mul, mul, product);
binary_operator!(Fixed, Div, div, quotient);
unary_operator!(Fixed, Neg, neg, negative);

impl<'b> Ordered<'b> for Fixed<'b> {
    fn at_most(&self, other: &Self) -> Bit<'b> {
        self.check(other);
        self.scaled.at_most(&other.scaled)
    }
}

impl<'b> Handle<'b> for Fixed<'b> {
    fn ty(&self) -> Type {
        Type::fixed(self.integer_bits(), self.fraction)
    }

    fn to_bus(&self) -> Bus<'b> {
        self.scaled.to_bus()
    }

    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self> {
        let &Kind::Fixed { fraction, .. } = ty.kind() else {
            return None;
        };
        (ty.width() == bus.width()).then(|| Self::new(Int::new(bus), fraction as usize))
    }
}
