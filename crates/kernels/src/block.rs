//! The 128-bit block: a wire label, a ciphertext, a row of an OT matrix.

use core::fmt;
use core::ops::{BitAnd, BitXor, BitXorAssign};

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::DefaultIsZeroes;

/// 128 bits, in memory and on the wire as 16 little-endian bytes.
///
/// Bit 0 is the least significant bit of byte 0; it is the select bit of a wire label.
/// A block may be secret: `==` is constant time, and `Debug` prints none of it.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
pub struct Block([u64; 2]);

impl Block {
    /// The size on the wire and in memory, in bytes.
    pub const BYTES: usize = 16;
    /// All bits zero.
    pub const ZERO: Self = Self([0, 0]);
    /// All bits one.
    pub const ONES: Self = Self([u64::MAX, u64::MAX]);

    /// Returns the block with this numeric value.
    #[inline(always)]
    pub const fn from_u128(value: u128) -> Self {
        Self([value as u64, (value >> 64) as u64])
    }

    /// Returns the block's numeric value.
    #[inline(always)]
    pub const fn to_u128(self) -> u128 {
        self.0[0] as u128 | (self.0[1] as u128) << 64
    }

    /// Returns the block with these bytes.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self::from_u128(u128::from_le_bytes(bytes))
    }

    /// Returns the block's bytes.
    #[inline(always)]
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.to_u128().to_le_bytes()
    }

    /// Returns bit 0, the select bit of a wire label.
    #[inline(always)]
    #[must_use]
    pub fn lsb(self) -> Choice {
        Choice::from((self.0[0] & 1) as u8)
    }

    /// Returns a mask with bit 0 in all bits. [`Block::lsb`] costs a call for its [`Choice`]; with
    /// this function, a loop over many labels can process several at once.
    #[inline(always)]
    #[must_use]
    pub const fn lsb_mask(self) -> Self {
        let mask = (self.0[0] & 1).wrapping_neg();
        Self([mask, mask])
    }

    /// Returns this block with bit 0 replaced.
    #[inline(always)]
    #[must_use]
    pub fn with_lsb(self, bit: Choice) -> Self {
        Self([self.0[0] & !1 | u64::from(bit.unwrap_u8()), self.0[1]])
    }

    /// Returns this block if `bit` is one, else zero, without a branch.
    #[inline(always)]
    #[must_use]
    pub fn and_bit(self, bit: Choice) -> Self {
        let mask = u64::from(bit.unwrap_u8()).wrapping_neg();
        Self([self.0[0] & mask, self.0[1] & mask])
    }
}

impl BitXor for Block {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
    }
}

impl BitXorAssign for Block {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Self) {
        *self = *self ^ other;
    }
}

impl BitAnd for Block {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self([self.0[0] & other.0[0], self.0[1] & other.0[1]])
    }
}

impl ConstantTimeEq for Block {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0[0].ct_eq(&other.0[0]) & self.0[1].ct_eq(&other.0[1])
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for Block {}

impl ConditionallySelectable for Block {
    #[inline(always)]
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        *a ^ (*a ^ *b).and_bit(choice)
    }
}

impl DefaultIsZeroes for Block {}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Block(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_bit_0_everywhere() {
        for bits in [0, 1, 2, 3, u128::MAX - 1, u128::MAX] {
            let expected = [Block::ZERO, Block::ONES][(bits & 1) as usize];
            assert_eq!(Block::from_u128(bits).lsb_mask(), expected, "{bits}");
        }
    }

    #[test]
    fn bytes_and_numbers_agree() {
        let bytes: [u8; 16] = core::array::from_fn(|i| i as u8 + 1);
        let block = Block::from_bytes(bytes);
        assert_eq!(block.to_bytes(), bytes);
        assert_eq!(block.to_u128(), u128::from_le_bytes(bytes));
        assert_eq!(block.lsb().unwrap_u8(), 1);
        assert_eq!(block.with_lsb(Choice::from(0)).to_bytes()[0], 0);
    }

    #[test]
    fn debug_prints_nothing_secret() {
        assert_eq!(format!("{:?}", Block::ONES), "Block(..)");
    }

    #[test]
    fn selection_is_by_the_bit() {
        let (a, b) = (Block::from_u128(7), Block::from_u128(9));
        assert_eq!(Block::conditional_select(&a, &b, Choice::from(0)), a);
        assert_eq!(Block::conditional_select(&a, &b, Choice::from(1)), b);
        assert_eq!(a.and_bit(Choice::from(0)), Block::ZERO);
    }
}
