//! Division with remainder.
//!
//! Non-restoring division keeps the trial difference T = P − D of a partial remainder P and the
//! divisor D, which may be negative. The next difference is 2T + a − D or 2T + a + D, depending on
//! T's sign. Adding or subtracting by a secret bit costs no more than adding, since the choice is a
//! XOR.
//!
//! Two ideas halve the circuit. First, P has at most i bits after i steps. If D ≥ 2^i, T is
//! therefore negative, and one chain of ORs computes this for all steps. Otherwise T fits into i +
//! 1 bits. Second, T is therefore kept modulo 2^(i + 1) only. The next T needs no more, and T's top
//! bit can differ from its sign only if D ≥ 2^i.
//!
//! For n bits the differences cost n(n + 1)/2 AND gates and the bits of the quotient 2(n − 1). The
//! remainder costs 2n − 1 more. With signs, each magnitude and each result costs n − 1 more.
//!
//! # Division by zero
//!
//! Division by zero is not an error, since an error would be visible. The quotient is all ones,
//! which is the greatest unsigned integer and −1, and the remainder is the dividend. Only one
//! signed quotient does not fit: the least integer divided by −1. It wraps around to the least
//! integer with remainder 0. (RISC-V's integer division gives the same results.)

use super::handle::binary_operator;
use super::integer::wrapping_sum;
use super::{Bit, Bus, Int, UInt};

impl<'b> UInt<'b> {
    /// Returns the quotient, rounded down, and the remainder. Division by zero gives all ones and
    /// the dividend.
    ///
    /// For n bits the quotient costs n(n + 1)/2 + 2(n − 1) AND gates, the remainder 2n − 1 more.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    pub fn div_rem(&self, divisor: &Self) -> (Self, Self) {
        let at_least = powers_reached(divisor.bus());
        let (quotient, remainder) = divide(self.bus(), divisor.bus(), &at_least);
        (Self::new(quotient), Self::new(remainder))
    }

    fn quotient(&self, divisor: &Self) -> Self {
        self.div_rem(divisor).0
    }

    fn remainder(&self, divisor: &Self) -> Self {
        self.div_rem(divisor).1
    }
}

impl<'b> Int<'b> {
    /// Returns the quotient, rounded towards zero, and the remainder, which has the dividend's
    /// sign. Division by zero gives −1 and the dividend. The least integer divided by −1 gives
    /// itself and 0.
    ///
    /// For n bits the quotient costs n(n + 1)/2 + 5n − 3 AND gates.
    ///
    /// # Panics
    ///
    /// If the widths differ, or are zero.
    pub fn div_rem(&self, divisor: &Self) -> (Self, Self) {
        let magnitude = divisor.magnitude();
        let at_least = powers_reached(magnitude.bus());
        let (quotient, remainder) = divide(self.magnitude().bus(), magnitude.bus(), &at_least);
        // For a zero divisor the quotient stays all ones, independent of the dividend's sign.
        let negative = (self.sign() & at_least[0]) ^ divisor.sign();
        (
            Self::new(quotient).negated_if(negative),
            Self::new(remainder).negated_if(self.sign()),
        )
    }

    /// Returns the absolute value. That of the least integer is 2^(n−1), which fits since the
    /// result has no sign. Costs one AND gate less than the width.
    ///
    /// # Panics
    ///
    /// If the integer has no bit.
    pub fn magnitude(&self) -> UInt<'b> {
        self.negated_if(self.sign()).as_unsigned()
    }

    /// Returns the negation if `condition` is one, and the integer itself otherwise. Costs one AND
    /// gate less than the width.
    pub fn negated_if(&self, condition: Bit<'b>) -> Self {
        let builder = self.bus().builder();
        let flipped = Bus::from_bits(builder, self.bus().bits().map(|bit| bit ^ condition));
        let zero = Bus::constant(builder, vec![false; self.width()]);
        Self::new(wrapping_sum(&flipped, &zero, condition))
    }

    fn quotient(&self, divisor: &Self) -> Self {
        self.div_rem(divisor).0
    }

    fn remainder(&self, divisor: &Self) -> Self {
        self.div_rem(divisor).1
    }
}

binary_operator!(UInt, Div, div, quotient);
binary_operator!(UInt, Rem, rem, remainder);
binary_operator!(Int, Div, div, quotient);
binary_operator!(Int, Rem, rem, remainder);

/// Returns for each i up to the width whether the number is at least 2^i.
fn powers_reached<'b>(number: &Bus<'b>) -> Vec<Bit<'b>> {
    let none = (!number).reversed().prefix_ands();
    let zero = number.builder().constant(false);
    let reached = none.bits().rev().map(|bit| !bit);
    reached.chain([zero]).collect()
}

/// Returns the quotient and the remainder. `at_least` holds the divisor's [`powers_reached`].
fn divide<'b>(dividend: &Bus<'b>, divisor: &Bus<'b>, at_least: &[Bit<'b>]) -> (Bus<'b>, Bus<'b>) {
    let builder = dividend.builder();
    let width = dividend.width();
    assert_eq!(
        width,
        divisor.width(),
        "widths of two integers in one division"
    );
    let zero = builder.constant(false);
    // T, and whether T is not negative. If so, the next step subtracts the divisor.
    let mut difference = Bus::from_bits(builder, [zero]);
    let mut fits = builder.constant(true);
    let mut quotient = Vec::with_capacity(width);
    for (step, next) in dividend.bits().rev().enumerate() {
        let doubled = Bus::from_bits(builder, [next]).concat(&difference);
        let padded = divisor.bits().chain([zero]).take(doubled.width());
        let term = Bus::from_bits(builder, padded.map(|bit| bit ^ fits));
        difference = wrapping_sum(&doubled, &term, fits);
        fits = !at_least[step + 1] & !difference.bit(step + 1);
        quotient.push(fits);
    }
    quotient.reverse();
    let restored = Bus::from_bits(builder, divisor.bits().map(|bit| bit & !fits));
    let remainder = wrapping_sum(&difference.slice(0..width), &restored, zero);
    (Bus::from_bits(builder, quotient), remainder)
}
