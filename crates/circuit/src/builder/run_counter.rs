//! Counters by linear feedback shift registers, for numbers that only grow and are only compared
//! for equality.

use super::Bus;

/// A counter whose next state costs no AND gate. Its state is that of a linear feedback shift
/// register, XORed with the register's first state so that all zeros stand for zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCounter {
    width: usize,
}

/// The width of the widest counter, which counts to 65534.
const MAX_COUNTER_BITS: usize = 16;

/// A primitive polynomial over GF(2) for each width from 2 on, without its leading term. Bit k is
/// the coefficient of x^k (Lidl and Niederreiter, "Finite fields", table D). A register of that
/// width goes through 2^width − 1 states before the first state returns.
const POLYNOMIALS: [u32; MAX_COUNTER_BITS - 1] = [
    0x3, 0x3, 0x3, 0x5, 0x3, 0x3, 0x1d, 0x11, 0x9, 0x5, 0x53, 0x1b, 0x2b, 0x3, 0x2d,
];

impl RunCounter {
    /// Creates the narrowest counter that counts from 0 to `greatest`.
    ///
    /// # Panics
    ///
    /// If `greatest` is more than 65534.
    pub fn up_to(greatest: usize) -> Self {
        let fits = |&width: &usize| greatest < (1 << width) - 1;
        let width = (2..=MAX_COUNTER_BITS).find(fits);
        Self {
            width: width.expect("a counter of at most 16 bits"),
        }
    }

    /// Returns the number of bits of a state.
    pub fn width(self) -> usize {
        self.width
    }

    /// Returns the state after `state`. Costs no AND gate.
    ///
    /// # Panics
    ///
    /// If `state` does not have this counter's width.
    pub fn next<'b>(self, state: &Bus<'b>) -> Bus<'b> {
        assert_eq!(state.width(), self.width, "bits of a counter");
        // The register's first state is 1, and a step multiplies it by x modulo the polynomial.
        let register = |index: usize| {
            let bit = state.bit(index);
            if index == 0 { !bit } else { bit }
        };
        let top = register(self.width - 1);
        let polynomial = POLYNOMIALS[self.width - 2];
        let bits = (0..self.width).map(|index| match index {
            // The constant term of every polynomial is one, so that bit 0 is the top bit.
            0 => !top,
            _ if polynomial >> index & 1 == 1 => register(index - 1) ^ top,
            _ => register(index - 1),
        });
        Bus::from_bits(state.builder(), bits.collect::<Vec<_>>())
    }

    /// Returns the states that stand for 0 to `greatest`, in order.
    pub fn states(self, greatest: usize) -> impl Iterator<Item = u32> {
        let polynomial = POLYNOMIALS[self.width - 2];
        let next = move |register: &u32| {
            let top = register >> (self.width - 1) & 1;
            Some(((register << 1) ^ (top * polynomial)) & ((1 << self.width) - 1))
        };
        let registers = core::iter::successors(Some(1_u32), next);
        registers.map(|register| register ^ 1).take(greatest + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_take_all_their_states_before_the_first_comes_again() {
        for width in 2..=MAX_COUNTER_BITS {
            let counter = RunCounter { width };
            let states = (1 << width) - 1;
            let state_of = |count| counter.states(count).last();
            assert_eq!(state_of(0), Some(0), "{width} bits");
            assert_eq!(state_of(states), Some(0), "{width} bits");
            // A state can return earlier only after a divisor of the period.
            for prime in (2..states).filter(|d| states % d == 0) {
                assert_ne!(state_of(states / prime), Some(0), "{width} bits");
            }
        }
    }

    #[test]
    fn a_counter_is_as_narrow_as_can_be() {
        let widths = [0, 1, 2, 3, 6, 7, 128, 65534].map(|n| RunCounter::up_to(n).width());
        assert_eq!(widths, [2, 2, 2, 3, 3, 4, 8, 16]);
    }
}
