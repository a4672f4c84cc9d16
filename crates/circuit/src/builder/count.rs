//! Counting bits, and running sums.

use core::ops::Add;

use super::columns::{Columns, bits_for};
use super::{Array, Bus, Handle, UInt};

impl<'b> Bus<'b> {
    /// Returns the number of ones, in as many bits as the greatest count needs.
    ///
    /// A full adder turns three bits of one weight into one bit of that weight and one bit of the
    /// next (Boyar and Peralta, "The exact multiplicative complexity of the Hamming weight
    /// function", ECCC 2005). For n bits the cost is n less the number of ones in the binary form
    /// of n, which is the least possible.
    pub fn count_ones(&self) -> UInt<'b> {
        let mut sum = Columns::new(self.builder(), bits_for(self.width()));
        for bit in self.bits() {
            sum.add_bit(0, bit);
        }
        UInt::new(sum.sum())
    }
}

impl<H> Array<H> {
    /// Returns the wrapping sums of the first value, of the first two values, and so on up to all.
    /// Costs one addition for each value but one.
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
