//! Counting bits, and running sums.

use core::ops::Add;

use super::columns::{Columns, bits_for};
use super::{Array, Bus, Handle, UInt};

impl<'b> Bus<'b> {
    /// How many bits are one, in as few bits as the width can need.
    ///
    /// Full adders take three bits of one weight to one of it and one of the next (Boyar and
    /// Peralta, "The exact multiplicative complexity of the Hamming weight function", ECCC 2005):
    /// n bits cost n less the number of ones in n as a binary number, which is the least possible.
    #[must_use]
    pub fn count_ones(&self) -> UInt<'b> {
        let mut sum = Columns::new(self.builder(), bits_for(self.width()));
        for bit in self.bits() {
            sum.add_bit(0, bit);
        }
        UInt::new(sum.sum())
    }
}

impl<H> Array<H> {
    /// The sums of the first value, of the first two, and so on to all, each wrapping. Costs an
    /// addition for each value but one.
    #[must_use]
    pub fn prefix_sums<'b>(&self) -> Self
    where
        H: Handle<'b>,
        for<'a> &'a H: Add<&'a H, Output = H>,
    {
        let mut sums = vec![self[0].clone()];
        for value in self.iter().skip(1) {
            sums.push(&sums[sums.len() - 1] + value);
        }
        Self::new(sums)
    }
}
