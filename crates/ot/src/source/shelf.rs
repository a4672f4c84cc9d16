//! OTs that are made and not handed out yet, by number.

use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::{ApiMisuse, Outputs};

/// Blocks of consecutive numbers, the first of which are gone.
pub(super) struct Shelf {
    /// Number of the first block that is left.
    next: u64,
    blocks: Outputs,
    /// Blocks that are gone, and zero.
    used: usize,
}

impl Shelf {
    pub(super) fn new(next: u64, blocks: Outputs) -> Self {
        let used = 0;
        Self { next, blocks, used }
    }

    /// The number after the last.
    pub(super) fn made(&self) -> u64 {
        self.next + self.left().len() as u64
    }

    /// The number of the first.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn left(&self) -> &[Block] {
        &self.blocks[self.used..]
    }

    /// Makes room for `count` more, so that adding them moves nothing.
    pub(super) fn reserve(&mut self, count: usize) {
        if self.blocks.capacity() - self.blocks.len() < count {
            let mut larger = Vec::with_capacity(self.left().len() + count);
            larger.extend_from_slice(self.left());
            (self.blocks, self.used) = (Zeroizing::new(larger), 0);
        }
    }

    /// `count` blocks at the end, to be written.
    pub(super) fn grow(&mut self, count: usize) -> &mut [Block] {
        self.reserve(count);
        let old = self.blocks.len();
        self.blocks.resize(old + count, Block::ZERO);
        &mut self.blocks[old..]
    }

    pub(super) fn append(&mut self, mut blocks: Outputs) {
        if self.left().is_empty() && blocks.len() > self.blocks.capacity() {
            core::mem::swap(&mut self.blocks, &mut blocks);
            self.used = 0;
        } else {
            self.reserve(blocks.len());
            self.blocks.extend_from_slice(&blocks);
        }
    }

    /// Takes `count` from number `first` on, and wipes what is passed over.
    pub(super) fn take(&mut self, first: u64, count: usize) -> Result<Outputs, ApiMisuse> {
        let (next, made) = (self.next, self.made());
        if first < next {
            return Err(ApiMisuse::AlreadyUsed { first, next });
        }
        if first.checked_add(count as u64).is_none_or(|end| end > made) {
            return Err(ApiMisuse::not_made(first, count, made));
        }
        let skipped = (first - next) as usize;
        self.next = first + count as u64;
        if skipped == 0 && self.used == 0 && count == self.blocks.len() {
            return Ok(core::mem::take(&mut self.blocks));
        }
        let start = self.used + skipped;
        let taken = Zeroizing::new(self.blocks[start..start + count].to_vec());
        self.blocks[self.used..start + count].fill(Block::ZERO);
        self.used = start + count;
        Ok(taken)
    }

    /// Wipes everything.
    pub(super) fn clear(&mut self) {
        (self.blocks, self.used) = (Outputs::default(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf(next: u64, count: u64) -> Shelf {
        let blocks = (next..next + count).map(|i| Block::from_u128(u128::from(i)));
        Shelf::new(next, Zeroizing::new(blocks.collect()))
    }

    #[test]
    fn every_number_is_handed_out_once() {
        let mut shelf = shelf(100, 50);
        let numbers =
            |blocks: Outputs| -> Vec<u128> { blocks.iter().map(|b| b.to_u128()).collect() };
        assert_eq!(numbers(shelf.take(100, 2).unwrap()), [100, 101]);
        let (first, next) = (101, 102);
        let used = ApiMisuse::AlreadyUsed { first, next };
        assert_eq!(shelf.take(101, 1).unwrap_err(), used);
        assert_eq!(numbers(shelf.take(110, 1).unwrap()), [110]);
        assert!(shelf.blocks[..11].iter().all(|&block| block == Block::ZERO));
        assert!(shelf.take(109, 1).is_err());
        shelf.append(Zeroizing::new(vec![Block::from_u128(150)]));
        let (first, end, made) = (149, 152, 151);
        let not_made = ApiMisuse::NotMade { first, end, made };
        assert_eq!(shelf.take(149, 3).unwrap_err(), not_made);
        assert_eq!(numbers(shelf.take(149, 2).unwrap()), [149, 150]);
        assert!(shelf.take(u64::MAX, 2).is_err());
        assert_eq!((shelf.next(), shelf.made()), (151, 151));
    }
}
