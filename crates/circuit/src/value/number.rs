//! Natural numbers of any size up to a bound, for reading and printing decimals. Limbs have 32
//! bits, the least significant comes first, and they are wiped when dropped.

use zeroize::Zeroizing;

/// A natural number with a fixed number of limbs.
pub(super) struct Natural(Zeroizing<Vec<u32>>);

impl Natural {
    /// Creates zero, with room for at least `bits` bits.
    pub(super) fn with_bits(bits: usize) -> Self {
        Self(Zeroizing::new(vec![0; bits.div_ceil(32).max(1)]))
    }

    /// Computes `self * factor + addend`. Returns whether the limbs overflowed.
    pub(super) fn multiply_add(&mut self, factor: u32, addend: u32) -> bool {
        let mut carry = u64::from(addend);
        for limb in self.0.iter_mut() {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = carry as u32;
            carry >>= 32;
        }
        carry != 0
    }

    /// Divides by `divisor`, rounding down. Returns the remainder.
    pub(super) fn divide(&mut self, divisor: u32) -> u32 {
        let mut remainder = 0_u64;
        for limb in self.0.iter_mut().rev() {
            remainder = remainder << 32 | u64::from(*limb);
            *limb = (remainder / u64::from(divisor)) as u32;
            remainder %= u64::from(divisor);
        }
        remainder as u32
    }

    pub(super) fn bit(&self, index: usize) -> bool {
        self.0
            .get(index / 32)
            .is_some_and(|limb| limb >> (index % 32) & 1 == 1)
    }

    /// Sets a bit. The caller has made room for it.
    pub(super) fn set_bit(&mut self, index: usize, bit: bool) {
        let limb = &mut self.0[index / 32];
        *limb = *limb & !(1 << (index % 32)) | u32::from(bit) << (index % 32);
    }

    /// Whether any bit from `from` on is one.
    pub(super) fn any_bit_from(&self, from: usize) -> bool {
        (from..32 * self.0.len()).fold(false, |any, index| any | self.bit(index))
    }

    /// Whether any bit below `end` is one.
    pub(super) fn any_bit_below(&self, end: usize) -> bool {
        (0..end).fold(false, |any, index| any | self.bit(index))
    }

    /// Returns the number in decimal, without leading zeros.
    pub(super) fn into_decimal(mut self) -> String {
        let mut groups = Vec::new();
        while self.any_bit_from(0) {
            groups.push(self.divide(1_000_000_000));
        }
        let mut text = groups.pop().unwrap_or(0).to_string();
        groups
            .iter()
            .rev()
            .for_each(|group| text += &format!("{group:09}"));
        text
    }
}

/// Returns these bits, the least significant first, or their negation in two's complement.
pub(super) fn negated_if(
    negative: bool,
    bits: impl Iterator<Item = bool>,
) -> impl Iterator<Item = bool> {
    bits.scan(negative, move |carry, bit| {
        let flipped = bit ^ negative;
        let sum = flipped ^ *carry;
        *carry &= flipped;
        Some(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negation_agrees_with_the_machines() {
        for n in i8::MIN..=i8::MAX {
            let bits = |n: i8| (0..8).map(move |i| n >> i & 1 == 1);
            assert!(negated_if(true, bits(n)).eq(bits(n.wrapping_neg())), "{n}");
            assert!(negated_if(false, bits(n)).eq(bits(n)), "{n}");
        }
    }

    #[test]
    fn arithmetic_agrees_with_the_machines() {
        let value = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128;
        let mut number = Natural::with_bits(128);
        for digit in value.to_string().bytes() {
            assert!(!number.multiply_add(10, u32::from(digit - b'0')));
        }
        assert!((0..128).all(|i| number.bit(i) == (value >> i & 1 == 1)));
        assert_eq!(u128::from(number.divide(1000)), value % 1000);
        assert_eq!(number.into_decimal(), (value / 1000).to_string());
    }

    #[test]
    fn overflow_shows() {
        let mut number = Natural::with_bits(32);
        assert!(!number.multiply_add(1, u32::MAX));
        assert!(number.multiply_add(2, 0));
    }

    #[test]
    fn zero_and_round_numbers_print_all_their_digits() {
        assert_eq!(Natural::with_bits(64).into_decimal(), "0");
        let mut number = Natural::with_bits(96);
        number.multiply_add(1, 1_000_000_000);
        number.multiply_add(1_000_000_000, 7);
        assert_eq!(number.into_decimal(), "1000000000000000007");
    }
}
