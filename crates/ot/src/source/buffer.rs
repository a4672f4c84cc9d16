//! OTs that are made and not handed out yet, by number.

use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::{ApiMisuse, Outputs};

/// Blocks of consecutive numbers, in memory that is reused once they are gone.
pub(super) struct BlockBuffer {
    /// The number of the first remaining block.
    next: u64,
    /// Blocks that are gone, which are zero, the remaining ones, and free room.
    blocks: Outputs,
    /// The start of the remaining blocks.
    used: usize,
    /// The end of the remaining blocks.
    filled: usize,
}

impl BlockBuffer {
    /// Returns an empty buffer, whose first block will have the number `next`.
    pub(super) fn new(next: u64) -> Self {
        Self {
            next,
            blocks: Outputs::default(),
            used: 0,
            filled: 0,
        }
    }

    /// Returns the number after the last.
    pub(super) fn made(&self) -> u64 {
        self.next + self.left().len() as u64
    }

    /// Refuses `count` more if numbers would overflow.
    pub(super) fn check_room(&self, count: u64) -> Result<(), ApiMisuse> {
        match self.made().checked_add(count) {
            Some(_) => Ok(()),
            None => Err(ApiMisuse::UsedUp { limit: u64::MAX }),
        }
    }

    /// Returns the number of the first.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    fn left(&self) -> &[Block] {
        &self.blocks[self.used..self.filled]
    }

    /// Makes room for `count` more, so that adding them moves no block.
    pub(super) fn reserve(&mut self, count: usize) {
        if self.used == self.filled {
            (self.used, self.filled) = (0, 0);
        }
        if self.blocks.capacity() - self.filled < count {
            let mut larger = Vec::with_capacity(self.left().len() + count);
            larger.extend_from_slice(self.left());
            let filled = larger.len();
            (self.blocks, self.used, self.filled) = (Zeroizing::new(larger), 0, filled);
        }
    }

    /// Returns `count` blocks at the end, to be written.
    pub(super) fn grow(&mut self, count: usize) -> &mut [Block] {
        self.reserve(count);
        let old = self.filled;
        self.filled += count;
        if self.blocks.len() < self.filled {
            self.blocks.resize(self.filled, Block::ZERO);
        }
        &mut self.blocks[old..self.filled]
    }

    pub(super) fn append(&mut self, blocks: &[Block]) {
        self.grow(blocks.len()).copy_from_slice(blocks);
    }

    /// Takes `count` blocks from number `first` on, and wipes the skipped ones.
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
        if skipped == 0 && self.used == 0 && count == self.filled && count > 0 {
            self.filled = 0;
            let mut all = core::mem::take(&mut self.blocks);
            // The memory past the remaining blocks is zero.
            all.truncate(count);
            return Ok(all);
        }
        let start = self.used + skipped;
        let taken = Zeroizing::new(self.blocks[start..start + count].to_vec());
        self.blocks[self.used..start + count].fill(Block::ZERO);
        self.used = start + count;
        Ok(taken)
    }

    /// Wipes everything.
    pub(super) fn clear(&mut self) {
        (self.blocks, self.used, self.filled) = (Outputs::default(), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(next: u64, count: u64) -> BlockBuffer {
        let blocks = (next..next + count).map(|i| Block::from_u128(u128::from(i)));
        let mut buffer = BlockBuffer::new(next);
        buffer.append(&blocks.collect::<Vec<_>>());
        buffer
    }

    #[test]
    fn every_number_is_handed_out_once() {
        let mut buffer = buffer(100, 50);
        let numbers =
            |blocks: Outputs| -> Vec<u128> { blocks.iter().map(|b| b.to_u128()).collect() };
        assert_eq!(numbers(buffer.take(100, 2).unwrap()), [100, 101]);
        let (first, next) = (101, 102);
        let used = ApiMisuse::AlreadyUsed { first, next };
        assert_eq!(buffer.take(101, 1).unwrap_err(), used);
        assert_eq!(numbers(buffer.take(110, 1).unwrap()), [110]);
        assert!(
            buffer.blocks[..11]
                .iter()
                .all(|&block| block == Block::ZERO)
        );
        assert!(buffer.take(109, 1).is_err());
        buffer.append(&[Block::from_u128(150)]);
        let (first, end, made) = (149, 152, 151);
        let not_made = ApiMisuse::NotMade { first, end, made };
        assert_eq!(buffer.take(149, 3).unwrap_err(), not_made);
        assert_eq!(numbers(buffer.take(149, 2).unwrap()), [149, 150]);
        assert!(buffer.take(u64::MAX, 2).is_err());
        assert_eq!((buffer.next(), buffer.made()), (151, 151));
        // The memory is reused.
        let room = buffer.blocks.as_ptr();
        buffer.append(&[Block::from_u128(151); 30]);
        assert_eq!((room, buffer.made()), (buffer.blocks.as_ptr(), 181));
        assert_eq!(numbers(buffer.take(151, 30).unwrap()), [151; 30]);
        assert_eq!((buffer.next(), buffer.made()), (181, 181));
    }
}
