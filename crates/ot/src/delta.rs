//! Δ, the global offset that all correlated OTs of one sender share.

use core::fmt;

use rand_core::CryptoRng;
use tacit_kernels::Block;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::ApiMisuse;

/// The correlation Δ of a sender: 128 secret bits. Bit 0 is set.
///
/// Bit 0 offsets the select bit of a wire label, so 127 bits are unknown to the receiver. The type
/// is not `Copy`, is wiped on drop, and prints nothing under `Debug`.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Delta(Block);

impl Delta {
    /// The number of bits of Δ, and so of the base OTs under it.
    pub const BITS: usize = 128;

    /// Draws a random Δ.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = Zeroizing::new([0; 16]);
        rng.fill_bytes(&mut *bytes);
        bytes[0] |= 1;
        Self(Block::from_bytes(*bytes))
    }

    /// Returns the Δ with this value.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::SelectBitClear`] if bit 0 is not set.
    pub fn from_block(block: Block) -> Result<Self, ApiMisuse> {
        if bool::from(block.lsb()) {
            Ok(Self(block))
        } else {
            Err(ApiMisuse::SelectBitClear)
        }
    }

    /// Returns Δ as a block. Secret.
    pub fn to_block(&self) -> Block {
        self.0
    }

    /// Returns Δ as a block, without a copy that nobody wipes. Secret.
    pub fn as_block(&self) -> &Block {
        &self.0
    }

    /// Returns the bits of Δ from bit 0 on: the garbler's choices in the base OTs. Secret.
    pub fn choices(&self) -> Zeroizing<Vec<bool>> {
        let value = Zeroizing::new(self.0.to_u128());
        Zeroizing::new((0..Self::BITS).map(|i| *value >> i & 1 == 1).collect())
    }
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delta(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_the_bits_from_the_lowest_on() {
        let delta = Delta::from_block(Block::from_u128(0b1101 | 1 << 127)).unwrap();
        let choices = delta.choices();
        assert_eq!(choices[..5], [true, false, true, true, false]);
        assert!(choices[127] && !choices[126]);
    }

    #[test]
    fn a_clear_select_bit_is_refused() {
        let refused = Delta::from_block(Block::from_u128(2)).unwrap_err();
        assert_eq!(refused, ApiMisuse::SelectBitClear);
    }

    #[test]
    fn debug_prints_nothing_secret() {
        let delta = Delta::from_block(Block::ONES).unwrap();
        assert_eq!(format!("{delta:?}"), "Delta(..)");
    }
}
