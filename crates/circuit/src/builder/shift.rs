//! Shifts by secret amounts.
//!
//! A barrel shifter: bit k of the amount decides whether stage k moves the value by 2^k places.
//! Each stage costs one AND gate a bit. The number of stages is the number of bits that it takes to
//! count to the width.
//!
//! An amount of the width or more shifts everything out, so that only zeros or copies of the sign
//! are left.

use super::{Bus, Int, UInt};

impl<'b> UInt<'b> {
    /// Moves the bits `amount` places up and fills with zeros below. From the width on, all bits
    /// are zero. Costs the width times the number of relevant bits of `amount`.
    pub fn shift_left_by(&self, amount: &Self) -> Self {
        let none = Bus::constant(self.bus().builder(), vec![false; self.width()]);
        Self::new(shift(self.bus(), amount, &none, Bus::shift_up))
    }

    /// Moves the bits `amount` places down and fills with zeros above. From the width on, all bits
    /// are zero. Costs the width times the number of relevant bits of `amount`.
    pub fn shift_right_by(&self, amount: &Self) -> Self {
        let zero = self.bus().builder().constant(false);
        let none = Bus::constant(self.bus().builder(), vec![false; self.width()]);
        Self::new(shift(self.bus(), amount, &none, |bus, by| {
            bus.shift_down(by, zero)
        }))
    }
}

impl<'b> Int<'b> {
    /// Moves the bits `amount` places up and fills with zeros below. From the width on, all bits
    /// are zero. Costs the width times the number of relevant bits of `amount`.
    pub fn shift_left_by(&self, amount: &UInt<'b>) -> Self {
        self.as_unsigned().shift_left_by(amount).as_signed()
    }

    /// Moves the bits `amount` places down and repeats the sign above, which rounds down. From the
    /// width on, the result is 0 or −1. Costs the width times the number of relevant bits of
    /// `amount`.
    pub fn shift_right_by(&self, amount: &UInt<'b>) -> Self {
        let sign = self.sign();
        let signs = Bus::from_bits(self.bus().builder(), vec![sign; self.width()]);
        Self::new(shift(self.bus(), amount, &signs, |bus, by| {
            bus.shift_down(by, sign)
        }))
    }
}

/// Shifts by `amount` with `by_constant`. `none` is the result if everything is shifted out.
fn shift<'b>(
    bus: &Bus<'b>,
    amount: &UInt<'b>,
    none: &Bus<'b>,
    by_constant: impl Fn(&Bus<'b>, usize) -> Bus<'b>,
) -> Bus<'b> {
    let counts = (0..amount.width())
        .take_while(|&k| k < 63 && 1 << k < bus.width())
        .count();
    let shifted = (0..counts).fold(bus.clone(), |bus, k| {
        amount.bus().bit(k).select(&by_constant(&bus, 1 << k), &bus)
    });
    let too_far = amount.bus().slice(counts..amount.width()).any();
    too_far.select(none, &shifted)
}
