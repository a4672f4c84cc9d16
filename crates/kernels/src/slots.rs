//! Where kernels find labels by number: slices, and slots without bounds checks.

use crate::Block;

/// Blocks by number, for [`Simd::gather`](crate::Simd::gather) and
/// [`Simd::scatter`](crate::Simd::scatter).
pub trait Numbered {
    /// Block `number`.
    fn at(&self, number: usize) -> &Block;

    /// Block `number`, to write.
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

/// Slots of labels, a power of two of them, whose numbers count modulo their count.
///
/// So every number is a slot, an access needs neither a check nor a branch, and flags in a number's
/// high bits fall away by themselves.
#[derive(Debug)]
pub struct SlotView<'a> {
    blocks: &'a mut [Block],
    /// Their count less one.
    ///
    /// Invariant: below the length of `blocks`.
    mask: usize,
}

impl<'a> SlotView<'a> {
    /// These blocks as slots.
    ///
    /// # Panics
    ///
    /// If their count is no power of two.
    #[inline(always)]
    #[must_use]
    pub fn new(blocks: &'a mut [Block]) -> Self {
        let count = blocks.len();
        assert!(count.is_power_of_two(), "{count} slots are no power of two");
        Self {
            blocks,
            mask: count - 1,
        }
    }

    /// How many slots there are.
    #[inline(always)]
    #[must_use]
    pub const fn count(&self) -> usize {
        self.mask + 1
    }

    /// For each gate in order, writes the sum of its first two slots to its third.
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
        // SAFETY: a masked number is at most `mask`, which is below the length.
        unsafe { self.blocks.get_unchecked(number & self.mask) }
    }

    #[inline(always)]
    fn at_mut(&mut self, number: usize) -> &mut Block {
        // SAFETY: a masked number is at most `mask`, which is below the length.
        unsafe { self.blocks.get_unchecked_mut(number & self.mask) }
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
        let _ = SlotView::new(&mut []);
    }
}
