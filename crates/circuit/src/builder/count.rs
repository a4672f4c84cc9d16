//! Counting bits.

use super::columns::{Columns, bits_for};
use super::{Bus, UInt};

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
