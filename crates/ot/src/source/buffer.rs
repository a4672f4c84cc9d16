//! OTs that are made and not handed out yet, by number.

use std::collections::VecDeque;

use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::silent::{DeviceHalf, HashedBits};
use crate::{ApiMisuse, Error, Outputs};

/// Blocks of consecutive numbers, in memory that is reused once they are gone.
pub(super) struct BlockBuffer {
    /// The number of the first remaining block.
    next: u64,
    /// In order, each with blocks that are left, but for the last.
    segments: VecDeque<Segment>,
    /// Memory of a segment that is gone.
    spare: Outputs,
    /// The number of blocks after those of the segments. A device has them.
    far: u64,
}

/// Blocks in one piece of memory.
struct Segment {
    /// Blocks that are gone, which are zero, the remaining ones, and free room.
    blocks: Outputs,
    /// The start of the remaining blocks.
    used: usize,
    /// The end of the remaining blocks.
    filled: usize,
}

impl Segment {
    fn left(&self) -> usize {
        self.filled - self.used
    }

    /// Gives `each` the next `count` blocks, which are then wiped.
    fn pass(&mut self, count: usize, each: impl FnOnce(&[Block])) {
        let passed = &mut self.blocks[self.used..self.used + count];
        each(passed);
        passed.fill(Block::ZERO);
        self.used += count;
    }
}

impl BlockBuffer {
    /// Returns an empty buffer, whose first block will have the number `next`.
    pub(super) fn new(next: u64) -> Self {
        Self {
            next,
            segments: VecDeque::new(),
            spare: Outputs::default(),
            far: 0,
        }
    }

    /// Returns the number after the last.
    pub(super) fn made(&self) -> u64 {
        self.next + self.near() + self.far
    }

    /// Returns the number of blocks that are here.
    fn near(&self) -> u64 {
        let left = self.segments.iter().map(|segment| segment.left() as u64);
        left.sum()
    }

    /// Returns the number of blocks that a device has, if it has the next one.
    pub(super) fn next_far(&self) -> u64 {
        match self.near() {
            0 => self.far,
            _ => 0,
        }
    }

    /// Adds blocks that a device has.
    pub(super) fn push_far(&mut self, count: u64) {
        self.far += count;
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

    /// Makes room for `count` more in one piece, so that adding them moves nothing.
    pub(super) fn reserve(&mut self, count: usize) {
        let has_room = |last: &Segment| last.blocks.capacity() - last.filled >= count;
        if self.segments.back().is_some_and(has_room) {
            return;
        }
        let mut blocks = core::mem::take(&mut self.spare);
        if blocks.capacity() < count {
            blocks = Zeroizing::new(Vec::with_capacity(count));
        }
        self.let_go();
        self.segments.push_back(Segment {
            blocks,
            used: 0,
            filled: 0,
        });
    }

    /// Returns `count` blocks at the end, to be written.
    pub(super) fn grow(&mut self, count: usize) -> &mut [Block] {
        self.reserve(count);
        let last = self.segments.len() - 1;
        let last = &mut self.segments[last];
        let old = last.filled;
        last.filled += count;
        if last.blocks.len() < last.filled {
            last.blocks.resize(last.filled, Block::ZERO);
        }
        &mut last.blocks[old..last.filled]
    }

    /// Adds blocks in memory of their own. Returns memory that serves again.
    pub(super) fn push(&mut self, blocks: Outputs) -> Outputs {
        if blocks.is_empty() {
            return blocks;
        }
        self.let_go();
        let (used, filled) = (0, blocks.len());
        self.segments.push_back(Segment {
            blocks,
            used,
            filled,
        });
        core::mem::take(&mut self.spare)
    }

    /// Takes `count` blocks from number `first` on, and wipes the skipped ones. `far` is the half
    /// on the device, if there is one.
    pub(super) fn take(
        &mut self,
        first: u64,
        count: usize,
        far: Option<&mut dyn DeviceHalf>,
    ) -> Result<Outputs, Error> {
        let (next, made) = (self.next, self.made());
        if first < next {
            return Err(ApiMisuse::AlreadyUsed { first, next }.into());
        }
        if first.checked_add(count as u64).is_none_or(|end| end > made) {
            return Err(ApiMisuse::not_made(first, count, made).into());
        }
        let (skipped, near) = (first - next, self.near());
        self.pass(skipped.min(near) as usize, |_| ());
        self.next = first + count as u64;
        if let Some(far) = far
            && self.next > next + near
        {
            let skipped = skipped.saturating_sub(near);
            far.skip(skipped as usize)?;
            let mut taken = Zeroizing::new(Vec::with_capacity(count));
            self.pass(self.near() as usize, |blocks| {
                taken.extend_from_slice(blocks)
            });
            let here = taken.len();
            taken.resize(count, Block::ZERO);
            far.take(&mut taken[here..])?;
            self.far -= skipped + (count - here) as u64;
            return Ok(taken);
        }
        let is_whole =
            |segment: &mut Segment| count > 0 && (segment.used, segment.filled) == (0, count);
        if let Some(Segment { mut blocks, .. }) = self.segments.pop_front_if(is_whole) {
            // Past what is left there are zeros.
            blocks.truncate(count);
            return Ok(blocks);
        }
        let mut taken = Zeroizing::new(Vec::with_capacity(count));
        self.pass(count, |blocks| taken.extend_from_slice(blocks));
        Ok(taken)
    }

    /// Takes the next blocks, which `far`, the half on the device, has, hashed to two bits each.
    pub(super) fn take_bits(
        &mut self,
        ots: HashedBits<'_>,
        far: Option<&mut dyn DeviceHalf>,
    ) -> Result<(), Error> {
        let (first, count, next) = (ots.number, ots.count, self.next);
        match far {
            Some(far) if first == next && count as u64 <= self.next_far() => far.take_bits(ots)?,
            _ => return Err(ApiMisuse::not_made(first, count, next).into()),
        }
        self.far -= count as u64;
        self.next += count as u64;
        Ok(())
    }

    /// Gives `each` the next `count` blocks, part by part, which are then wiped.
    fn pass(&mut self, mut count: usize, mut each: impl FnMut(&[Block])) {
        while count > 0
            && let Some(segment) = self.segments.front_mut()
        {
            let now = count.min(segment.left());
            segment.pass(now, &mut each);
            count -= now;
            self.let_go();
        }
    }

    /// Lets a segment go of which nothing is left: its memory serves again.
    fn let_go(&mut self) {
        let is_gone = |segment: &mut Segment| segment.left() == 0;
        if let Some(Segment { blocks, .. }) = self.segments.pop_front_if(is_gone)
            && blocks.capacity() > self.spare.capacity()
        {
            self.spare = blocks;
        }
    }

    /// Takes back memory of blocks that were taken. The caller has wiped it.
    pub(super) fn use_again(&mut self, memory: Outputs) {
        if memory.capacity() > self.spare.capacity() {
            self.spare = memory;
        }
    }

    /// Wipes everything.
    pub(super) fn clear(&mut self) {
        self.segments.clear();
        self.spare = Outputs::default();
        self.far = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(next: u64, count: u64) -> BlockBuffer {
        let blocks = (next..next + count).map(|i| Block::from_u128(u128::from(i)));
        let mut buffer = BlockBuffer::new(next);
        append(&mut buffer, &blocks.collect::<Vec<_>>());
        buffer
    }

    fn take(buffer: &mut BlockBuffer, first: u64, count: usize) -> Result<Outputs, Error> {
        buffer.take(first, count, None)
    }

    fn append(buffer: &mut BlockBuffer, blocks: &[Block]) {
        buffer.grow(blocks.len()).copy_from_slice(blocks);
    }

    #[test]
    fn every_number_is_handed_out_once() {
        let mut buffer = buffer(100, 50);
        let numbers =
            |blocks: Outputs| -> Vec<u128> { blocks.iter().map(|b| b.to_u128()).collect() };
        assert_eq!(numbers(take(&mut buffer, 100, 2).unwrap()), [100, 101]);
        let (first, next) = (101, 102);
        let used = ApiMisuse::AlreadyUsed { first, next };
        assert_eq!(take(&mut buffer, 101, 1).unwrap_err(), used.into());
        assert_eq!(numbers(take(&mut buffer, 110, 1).unwrap()), [110]);
        let passed = &buffer.segments[0].blocks[..11];
        assert!(passed.iter().all(|&block| block == Block::ZERO));
        assert!(take(&mut buffer, 109, 1).is_err());
        append(&mut buffer, &[Block::from_u128(150)]);
        let (first, end, made) = (149, 152, 151);
        let not_made = ApiMisuse::NotMade { first, end, made };
        assert_eq!(take(&mut buffer, 149, 3).unwrap_err(), not_made.into());
        assert_eq!(numbers(take(&mut buffer, 149, 2).unwrap()), [149, 150]);
        assert!(take(&mut buffer, u64::MAX, 2).is_err());
        assert_eq!((buffer.next(), buffer.made()), (151, 151));
        // The memory is reused.
        let room = buffer.spare.as_ptr();
        append(&mut buffer, &[Block::from_u128(151); 30]);
        let again = buffer.segments[0].blocks.as_ptr();
        assert_eq!((room, buffer.made()), (again, 181));
        assert_eq!(numbers(take(&mut buffer, 151, 30).unwrap()), [151; 30]);
        assert_eq!((buffer.next(), buffer.made()), (181, 181));
        // Blocks with memory of their own stay in it, and what spans two pieces is put together.
        let own = |number| Zeroizing::new(vec![Block::from_u128(number); 10]);
        assert!(buffer.push(own(1)).is_empty());
        assert!(buffer.push(own(2)).is_empty());
        assert_eq!(
            numbers(take(&mut buffer, 184, 8).unwrap()),
            [1, 1, 1, 1, 1, 1, 1, 2]
        );
        // Memory that comes back is used for the next blocks.
        buffer.use_again(Zeroizing::new(vec![Block::ZERO; 20]));
        buffer.use_again(own(0));
        assert_eq!(buffer.push(own(3)).capacity(), 20);
        assert_eq!((buffer.next(), buffer.made()), (192, 211));
        assert_eq!(numbers(take(&mut buffer, 192, 9).unwrap()), [2; 9]);
        assert_eq!(numbers(take(&mut buffer, 201, 10).unwrap()), [3; 10]);
    }
}
