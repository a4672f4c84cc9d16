//! Labels by number in kernels: slices, and slots without bounds checks.

use core::fmt;

use zeroize::DefaultIsZeroes;

use crate::Block;

/// Blocks by number, for [`gather`](crate::BlockVectors::gather) and
/// [`scatter`](crate::BlockVectors::scatter).
pub trait Numbered {
    /// Returns block `number`.
    fn at(&self, number: usize) -> &Block;

    /// Returns block `number`, for writing.
    fn at_mut(&mut self, number: usize) -> &mut Block;
}

impl Numbered for [Block] {
    #[inline(always)]
    fn at(&self, number: usize) -> &Block {
        &self[number]
    }

    #[inline(always)]
    fn at_mut(&mut self, number: usize) -> &mut Block {
        &mut self[number]
    }
}

impl<const N: usize> Numbered for [Block; N] {
    #[inline(always)]
    fn at(&self, number: usize) -> &Block {
        &self[number]
    }

    #[inline(always)]
    fn at_mut(&mut self, number: usize) -> &mut Block {
        &mut self[number]
    }
}

/// Slots for labels, or for data that is kept with them. Their count is a power of two, and their
/// numbers count modulo the count.
///
/// So every number is a slot, an access needs neither a check nor a branch, and flags in a number's
/// high bits are masked off.
#[derive(Debug)]
pub struct SlotView<'a, T = Block> {
    slots: &'a mut [T],
    /// The count minus one.
    ///
    /// Invariant: below the length of `slots`.
    mask: usize,
}

impl<'a, T> SlotView<'a, T> {
    /// Uses these as slots.
    ///
    /// # Panics
    ///
    /// If their count is not a power of two.
    #[inline(always)]
    pub fn new(slots: &'a mut [T]) -> Self {
        let count = slots.len();
        assert!(count.is_power_of_two(), "{count} slots are no power of two");
        Self {
            slots,
            mask: count - 1,
        }
    }

    /// Returns the number of slots.
    #[inline(always)]
    pub const fn count(&self) -> usize {
        self.mask + 1
    }

    /// Returns the contents of slot `number`.
    #[inline(always)]
    pub(crate) fn slot(&self, number: usize) -> &T {
        // SAFETY: a masked number is at most `mask`, which is below the length.
        unsafe { self.slots.get_unchecked(number & self.mask) }
    }

    /// Returns the contents of slot `number`, for writing.
    #[inline(always)]
    pub(crate) fn slot_mut(&mut self, number: usize) -> &mut T {
        // SAFETY: a masked number is at most `mask`, which is below the length.
        unsafe { self.slots.get_unchecked_mut(number & self.mask) }
    }
}

impl SlotView<'_> {
    /// Writes, for each gate in order, the sum of its first two slots to its third.
    #[inline(always)]
    pub fn xor_gates<G>(&mut self, gates: &[G], slots: impl Fn(&G) -> [u32; 3]) {
        let mut xor = |gate: &G| {
            let [a, b, out] = slots(gate).map(|slot| slot as usize);
            *self.at_mut(out) = *self.at(a) ^ *self.at(b);
        };
        let (fours, rest) = gates.as_chunks::<4>();
        for four in fours {
            four.iter().for_each(&mut xor);
        }
        rest.iter().for_each(xor);
    }
}

impl Numbered for SlotView<'_> {
    #[inline(always)]
    fn at(&self, number: usize) -> &Block {
        self.slot(number)
    }

    #[inline(always)]
    fn at_mut(&mut self, number: usize) -> &mut Block {
        self.slot_mut(number)
    }
}

/// A wire's two labels with their round keys, for a wire that several gates read. Secret.
///
/// Both blocks of a row are adjacent, so that a vector can load them directly, and the whole
/// occupies cache lines of its own.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub struct KeyedPair {
    /// The labels, followed by the round keys.
    pub(crate) rows: [[Block; 2]; 1 + ROUND_KEYS],
}

/// The number of round keys of AES-128.
const ROUND_KEYS: usize = 11;

impl KeyedPair {
    /// The row with the labels.
    pub(crate) const LABELS: usize = 0;
    /// The row with the first round keys.
    pub(crate) const KEYS: usize = 1;

    /// Returns two labels, without round keys.
    pub fn new(labels: [Block; 2]) -> Self {
        let mut pair = Self::default();
        pair.rows[Self::LABELS] = labels;
        pair
    }

    /// Returns the labels.
    pub const fn labels(&self) -> [Block; 2] {
        self.rows[Self::LABELS]
    }
}

impl DefaultIsZeroes for KeyedPair {}

impl fmt::Debug for KeyedPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyedPair(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_modulo_the_slots() {
        let mut blocks: Vec<Block> = (1..=8).map(Block::from_u128).collect();
        let mut slots = SlotView::new(&mut blocks);
        assert_eq!(slots.count(), 8);
        for number in [0, 5, 7, 8, 13, 1 << 31 | 3, usize::MAX] {
            let expected = Block::from_u128((number % 8 + 1) as u128);
            assert_eq!(*slots.at(number), expected, "{number}");
        }
        *slots.at_mut(8 + 2) = Block::ONES;
        slots.xor_gates(&[[2, 1 << 31 | 2, 16]; 5], |gate| *gate);
        assert_eq!(blocks[2], Block::ONES);
        assert_eq!(blocks[0], Block::ZERO);
    }

    #[test]
    #[should_panic(expected = "3 slots are no power of two")]
    fn a_count_that_is_no_power_of_two_is_refused() {
        let _ = SlotView::new(&mut [Block::ZERO; 3]);
    }

    #[test]
    #[should_panic(expected = "0 slots")]
    fn no_slots_are_refused() {
        let _ = SlotView::<Block>::new(&mut []);
    }
}
