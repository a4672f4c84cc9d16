//! Division with remainder.
//!
//! Non-restoring division keeps the trial difference T = P − D of a partial remainder P and the
//! divisor D, negative or not; the next one is 2T + a − D or 2T + a + D, by T's sign. Adding or
//! subtracting by a secret bit costs no more than adding, since the choice is a XOR.
//!
//! Two things make it half as large. After i steps P has i bits at most, so that D ≥ 2^i alone
//! says that T is negative, and one chain of ORs says it for all steps. Otherwise T fits into
//! i + 1 bits. T is therefore kept modulo 2^(i + 1) only: the next T needs no more of it, and where
//! its top bit is not its sign, D ≥ 2^i is.
//!
//! Cost for n bits: n(n + 1)/2 for the differences and 2(n − 1) for the quotient's bits; 2n − 1
//! more for the remainder. With signs, n − 1 for each magnitude and each result besides.
//!
//! # Division by zero
//!
//! It is no error, since an error would have to be visible. The quotient is all ones, which is
//! the greatest unsigned integer and −1, and the remainder is the dividend. The one signed
//! quotient that does not fit, of the least integer by −1, wraps around to the least integer with
//! remainder 0. (RISC-V's integer division means the same.)

use super::handle::binary_operator;
use super::integer::wrapping_sum;
use super::{Bit, Bus, Int, UInt};

impl<'b> UInt<'b> {
    /// The quotient, rounded down, and the remainder. By zero: all ones, and the dividend.
    ///
    /// For n bits the quotient costs n(n + 1)/2 + 2(n − 1) AND gates, the remainder 2n − 1 more.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    #[must_use]
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
    /// The quotient, rounded towards zero, and the remainder, which has the dividend's sign. By
    /// zero: −1, and the dividend. The least integer by −1: itself, and 0.
    ///
    /// For n bits the quotient costs n(n + 1)/2 + 5n − 3 AND gates.
    ///
    /// # Panics
    ///
    /// If the widths differ, or are zero.
    #[must_use]
    pub fn div_rem(&self, divisor: &Self) -> (Self, Self) {
        let magnitude = divisor.magnitude();
        let at_least = powers_reached(magnitude.bus());
        let (quotient, remainder) = divide(self.magnitude().bus(), magnitude.bus(), &at_least);
        // By zero the quotient stays all ones, whatever the dividend's sign.
        let negative = (self.sign() & at_least[0]) ^ divisor.sign();
        (
            Self::new(quotient).negated_if(negative),
            Self::new(remainder).negated_if(self.sign()),
        )
    }

    /// The absolute value; of the least integer, 2^(n−1), which fits since it has no sign. Costs
    /// an AND gate less than the width.
    ///
    /// # Panics
    ///
    /// If the integer has no bit.
    #[must_use]
    pub fn magnitude(&self) -> UInt<'b> {
        self.negated_if(self.sign()).as_unsigned()
    }

    /// The negation where `condition` is one, otherwise the integer itself. Costs an AND gate
    /// less than the width.
    #[must_use]
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

/// For each i up to the width, whether the number is at least 2^i.
fn powers_reached<'b>(number: &Bus<'b>) -> Vec<Bit<'b>> {
    let none = (!number).reversed().prefix_ands();
    let zero = number.builder().constant(false);
    let reached = none.bits().rev().map(|bit| !bit);
    reached.chain([zero]).collect()
}

/// Quotient and remainder; `at_least` are the divisor's [`powers_reached`].
fn divide<'b>(dividend: &Bus<'b>, divisor: &Bus<'b>, at_least: &[Bit<'b>]) -> (Bus<'b>, Bus<'b>) {
    let builder = dividend.builder();
    let width = dividend.width();
    assert_eq!(
        width,
        divisor.width(),
        "widths of two integers in one division"
    );
    let zero = builder.constant(false);
    // T, and whether it is not negative: then the divisor is subtracted next.
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
