//! Integers of any width: unsigned, and signed in two's complement.
//!
//! The adder spends one AND gate on each carry: c' = c ⊕ ((a ⊕ c) ∧ (b ⊕ c)), after Boyar, Damgård
//! and Peralta, "Short non-interactive cryptographic proofs", J. Cryptology 13 (2000). Kolesnikov,
//! Sadeghi and Schneider ("Improved garbled circuit building blocks", CANS 2009) brought this adder
//! to garbling. A comparison is the carry of a subtraction.

use std::collections::VecDeque;

use super::handle::{binary_operator, unary_operator, wraps_bus};
use super::{Bit, Builder, Bus, Handle, shallow};
use crate::{Kind, Type};

/// An unsigned integer.
///
/// Operators take two integers of one width, wrap around, and panic on others. Addition and
/// subtraction cost one AND gate less than the width.
#[derive(Clone, Debug)]
pub struct UInt<'b>(Bus<'b>);

/// A signed integer in two's complement.
///
/// Operators take two integers of one width, wrap around, and panic on others. Addition,
/// subtraction and negation cost one AND gate less than the width.
#[derive(Clone, Debug)]
pub struct Int<'b>(Bus<'b>);

wraps_bus!(UInt);
wraps_bus!(Int);

/// Implements the arithmetic that does not depend on the sign, for both kinds of integers.
macro_rules! arithmetic {
    ($integer:ident, $kind:ident, $constructor:ident) => {
        impl<'b> $integer<'b> {
            /// Returns the number of bits.
            pub fn width(&self) -> usize {
                self.0.width()
            }

            fn sum_of_two(&self, other: &Self) -> Self {
                let zero = self.0.builder().constant(false);
                Self(wrapping_sum(&self.0, &other.0, zero))
            }

            fn difference(&self, other: &Self) -> Self {
                let one = self.0.builder().constant(true);
                Self(wrapping_sum(&self.0, &!&other.0, one))
            }

            /// Whether this integer is at most `other`. Costs as many AND gates as the width.
            ///
            /// # Panics
            ///
            /// If the widths differ.
            pub fn at_most(&self, other: &Self) -> Bit<'b> {
                other.at_least(self)
            }

            /// Whether this integer is less than `other`. Costs as many AND gates as the width.
            ///
            /// # Panics
            ///
            /// If the widths differ.
            pub fn less_than(&self, other: &Self) -> Bit<'b> {
                !self.at_least(other)
            }

            /// Whether this integer is greater than `other`. Costs as many AND gates as the width.
            ///
            /// # Panics
            ///
            /// If the widths differ.
            pub fn greater_than(&self, other: &Self) -> Bit<'b> {
                !other.at_least(self)
            }
        }

        binary_operator!($integer, Add, add, sum_of_two);
        binary_operator!($integer, Sub, sub, difference);

        impl<'b> Handle<'b> for $integer<'b> {
            fn ty(&self) -> Type {
                Type::$constructor(self.width())
            }

            fn to_bus(&self) -> Bus<'b> {
                self.0.clone()
            }

            fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self> {
                let fits = matches!(ty.kind(), Kind::$kind(_)) && ty.width() == bus.width();
                fits.then(|| Self(bus))
            }
        }
    };
}

arithmetic!(UInt, Unsigned, unsigned);
arithmetic!(Int, Signed, signed);
unary_operator!(Int, Neg, neg, negative);

impl<'b> UInt<'b> {
    /// Creates the constant `value` modulo 2^`width`.
    pub fn constant(builder: &'b Builder, width: usize, value: u128) -> Self {
        let bits = (0..width).map(|bit| bit < 128 && value >> bit & 1 == 1);
        Self(Bus::constant(builder, bits))
    }

    /// Whether this integer is at least `other`. Costs as many AND gates as the width.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    pub fn at_least(&self, other: &Self) -> Bit<'b> {
        difference_carry(&self.0, &other.0)
    }

    /// Returns the sum with its carry, one bit wider. Costs as many AND gates as the width.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    pub fn add_widening(&self, other: &Self) -> Self {
        self.resize(self.width() + 1) + other.resize(self.width() + 1)
    }

    /// Changes the width: adds zeros above, or keeps the lower bits only.
    pub fn resize(&self, width: usize) -> Self {
        let builder = self.0.builder();
        let fill = core::iter::repeat(builder.constant(false));
        Self(Bus::from_bits(
            builder,
            self.0.bits().chain(fill).take(width),
        ))
    }

    /// Returns the wrapping sum of at least one number, all of one width.
    ///
    /// Full adders add the columns from the least significant one on. Three bits of weight 2^i give
    /// one bit of that weight and a carry of the next, so that no intermediate sum is ever
    /// resolved. Compared with a chain of adders, this saves one AND gate for each column in which
    /// a carry is saved: m numbers of n bits take about (m − 1)(n − 1) less m − 2 AND gates.
    ///
    /// # Panics
    ///
    /// If `numbers` is empty or the widths differ.
    pub fn sum(numbers: &[&Self]) -> Self {
        let width = numbers
            .first()
            .expect("a sum of at least one number")
            .width();
        assert!(
            numbers.iter().all(|number| number.width() == width),
            "widths of a sum's numbers"
        );
        let builder = numbers[0].0.builder();
        if builder.is_shallow() {
            return Self(shallow::sum_of_columns(builder, columns_of(numbers, width)));
        }
        let mut carries = VecDeque::new();
        let bits = (0..width).map(|index| {
            let mut column: VecDeque<_> =
                numbers.iter().map(|number| number.0.bit(index)).collect();
            column.append(&mut carries);
            add_column(&mut column, &mut carries, index + 1 == width)
        });
        Self(Bus::from_bits(builder, bits))
    }

    /// Returns two numbers of `width` bits whose sum equals the sum of `numbers` modulo 2^`width`.
    /// This does not depend on the builder's form: each layer of AND gates halves the number of
    /// summands. If the sum of `numbers` is below 2^`width`, the sum of the two does not wrap
    /// around either.
    ///
    /// # Panics
    ///
    /// If `numbers` is empty.
    pub fn two_of_sum(numbers: &[&Self], width: usize) -> [Self; 2] {
        let first = numbers.first().expect("a sum of at least one number");
        let rows = shallow::compress(first.0.builder(), columns_of(numbers, width));
        rows.map(Self)
    }

    /// Moves the bits `by` places up and fills with zeros below.
    pub fn shift_left(&self, by: usize) -> Self {
        Self(self.0.shift_up(by))
    }

    /// Moves the bits `by` places down and fills with zeros above.
    pub fn shift_right(&self, by: usize) -> Self {
        Self(self.0.shift_down(by, self.0.builder().constant(false)))
    }

    /// Rotates the bits `by` places up.
    pub fn rotate_left(&self, by: usize) -> Self {
        Self(self.0.rotate_up(by))
    }

    /// Rotates the bits `by` places down.
    pub fn rotate_right(&self, by: usize) -> Self {
        let width = self.width().max(1);
        Self(self.0.rotate_up(width - by % width))
    }

    /// Reads the same bits in two's complement.
    pub fn as_signed(&self) -> Int<'b> {
        Int(self.0.clone())
    }
}

impl<'b> Int<'b> {
    /// Creates the constant `value` modulo 2^`width`.
    pub fn constant(builder: &'b Builder, width: usize, value: i128) -> Self {
        let bits = (0..width).map(|bit| value >> bit.min(127) & 1 == 1);
        Self(Bus::constant(builder, bits))
    }

    /// Returns the sign: one for a negative number.
    ///
    /// # Panics
    ///
    /// If the integer has no bit.
    pub fn sign(&self) -> Bit<'b> {
        self.0.bit(self.width() - 1)
    }

    /// Whether this integer is at least `other`. Costs as many AND gates as the width.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    pub fn at_least(&self, other: &Self) -> Bit<'b> {
        // Adding 2^(n-1) modulo 2^n maps the signed order to the unsigned one.
        difference_carry(&self.flip_sign(), &other.flip_sign())
    }

    /// Changes the width: repeats the sign above, or keeps the lower bits only.
    pub fn resize(&self, width: usize) -> Self {
        let fill = core::iter::repeat(self.sign());
        Self(Bus::from_bits(
            self.0.builder(),
            self.0.bits().chain(fill).take(width),
        ))
    }

    /// Moves the bits `by` places up and fills with zeros below.
    pub fn shift_left(&self, by: usize) -> Self {
        Self(self.0.shift_up(by))
    }

    /// Moves the bits `by` places down and repeats the sign above. This divides by 2^`by` and
    /// rounds down.
    pub fn shift_right(&self, by: usize) -> Self {
        Self(self.0.shift_down(by, self.sign()))
    }

    /// Reads the same bits as an unsigned integer.
    pub fn as_unsigned(&self) -> UInt<'b> {
        UInt(self.0.clone())
    }

    fn negative(&self) -> Self {
        Self::constant(self.0.builder(), self.width(), 0) - self
    }

    fn flip_sign(&self) -> Bus<'b> {
        let last = self.width() - 1;
        let bits = self.0.bits().enumerate();
        let flipped = bits.map(|(index, bit)| if index == last { !bit } else { bit });
        Bus::from_bits(self.0.builder(), flipped)
    }
}

/// Returns the bits of all numbers by place, for `width` places. Leaves out constant zeros.
fn columns_of<'b>(numbers: &[&UInt<'b>], width: usize) -> Vec<Vec<Bit<'b>>> {
    let is_there = |bit: &Bit<'b>| bit.as_constant() != Some(false);
    let column = |place: usize| {
        let numbers = numbers.iter().filter(|number| place < number.width());
        numbers
            .map(|number| number.0.bit(place))
            .filter(is_there)
            .collect()
    };
    (0..width).map(column).collect()
}

/// Returns the sum bit of weight 2^i and the carry of three bits.
pub(super) fn full_adder<'b>(a: Bit<'b>, b: Bit<'b>, carry: Bit<'b>) -> (Bit<'b>, Bit<'b>) {
    let (x, y) = (a ^ carry, b ^ carry);
    (x ^ b, carry ^ (x & y))
}

/// Returns `a + b + carry` modulo 2^width. The carry out of the last place is never computed.
pub(super) fn wrapping_sum<'b>(a: &Bus<'b>, b: &Bus<'b>, mut carry: Bit<'b>) -> Bus<'b> {
    assert_eq!(
        a.width(),
        b.width(),
        "widths of two integers in one operation"
    );
    if a.builder().is_shallow() {
        return shallow::sum(a, b, carry);
    }
    let last = a.width().saturating_sub(1);
    let bits = a.bits().zip(b.bits()).enumerate().map(|(index, (a, b))| {
        if index == last {
            return a ^ b ^ carry;
        }
        let (sum, next) = full_adder(a, b, carry);
        carry = next;
        sum
    });
    Bus::from_bits(a.builder(), bits)
}

/// Whether `a ≥ b` as unsigned integers: the carry of `a + ¬b + 1`.
fn difference_carry<'b>(a: &Bus<'b>, b: &Bus<'b>) -> Bit<'b> {
    assert_eq!(
        a.width(),
        b.width(),
        "widths of two integers in one comparison"
    );
    if a.builder().is_shallow() {
        return !shallow::less(a, b);
    }
    let one = a.builder().constant(true);
    let pairs = a.bits().zip(b.bits());
    pairs.fold(one, |carry, (a, b)| carry ^ ((a ^ carry) & (!b ^ carry)))
}

/// Adds up one column and appends its carries to `carries`. It takes the oldest bits first, which
/// keeps the depth low.
pub(super) fn add_column<'b>(
    column: &mut VecDeque<Bit<'b>>,
    carries: &mut VecDeque<Bit<'b>>,
    last: bool,
) -> Bit<'b> {
    if last {
        return column
            .drain(..)
            .reduce(|a, b| a ^ b)
            .expect("a column has a bit");
    }
    let zero = column[0].builder().constant(false);
    let one = split_constants(column);
    loop {
        let Some(first) = column.pop_front() else {
            return one.unwrap_or(zero);
        };
        // Add a constant one where it costs nothing: in the last adder of two bits, or to the last
        // bit alone, whose sum is its negation and whose carry is the bit itself.
        let (sum, carry) = match (column.pop_front(), column.pop_front(), one) {
            (None, _, None) => return first,
            (None, _, Some(_)) => {
                carries.push_back(first);
                return !first;
            }
            (Some(second), None, None) => (first ^ second, first & second),
            (Some(second), None, Some(one)) => {
                let (sum, carry) = full_adder(first, second, one);
                carries.push_back(carry);
                return sum;
            }
            (Some(second), Some(third), _) => full_adder(first, second, third),
        };
        column.push_back(sum);
        carries.push_back(carry);
    }
}

/// Takes the constants out of a column and returns a constant one, if there is any. Each further
/// one stays in the column.
fn split_constants<'b>(column: &mut VecDeque<Bit<'b>>) -> Option<Bit<'b>> {
    let mut one = None;
    column.retain(|bit| match bit.as_constant() {
        Some(false) => false,
        Some(true) if one.is_none() => {
            one = Some(*bit);
            false
        }
        _ => true,
    });
    one
}
