//! The two byte buffers of a channel. Their contents may be secret (labels, results), so they are
//! wiped when they are dropped or outgrown.

use zeroize::Zeroize;

use crate::Interrupt;

use crate::channel::{FRAME_BYTES, HEADER_BYTES, READ_AHEAD_BYTES};

/// The bytes that a buffer holds before it must grow or be emptied: one frame and a part of the
/// next.
pub(crate) const BUFFER_BYTES: usize = FRAME_BYTES + 32 * 1024;

/// A queue of bytes in one piece of memory: filled at the end, taken from the front.
pub(crate) struct Buffer {
    /// The memory, all of it initialised. The queue is `start..end`.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
        }
    }

    /// Returns the queue.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns the number of bytes that fit behind the queue without moving or growing it.
    pub(crate) fn room(&self) -> usize {
        self.bytes.len() - self.end
    }

    /// Removes `count` bytes from the front.
    pub(crate) fn consume(&mut self, count: usize) {
        assert!(count <= self.len(), "a buffer gives only what it holds");
        self.start += count;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Removes `count` bytes from the front and returns them. They stay valid until the next
    /// change.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.consume(count);
        &self.bytes[start..start + count]
    }

    /// Frees the memory if the queue is empty. The next bytes allocate it again.
    pub(crate) fn release(&mut self) {
        if self.len() == 0 {
            self.bytes.zeroize();
            self.bytes = Vec::new();
        }
    }

    /// Makes room for `more` bytes behind the queue, and returns it, with old bytes in it. The
    /// bytes become part of the queue through [`Buffer::extend_by`].
    pub(crate) fn spare(&mut self, more: usize) -> &mut [u8] {
        if self.len() == 0 && self.bytes.len() != BUFFER_BYTES {
            // The memory was freed, or had grown. The old memory is wiped on drop.
            *self = Self::new();
        }
        if self.room() < more {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.room() < more {
            self.grow(self.end + more);
        }
        &mut self.bytes[self.end..]
    }

    /// Adds the first `count` bytes of the spare room to the queue.
    pub(crate) fn extend_by(&mut self, count: usize) {
        assert!(count <= self.room(), "a buffer holds only what fits");
        self.end += count;
    }

    /// Appends a copy of `data`.
    pub(crate) fn push(&mut self, data: &[u8]) {
        self.spare(data.len())[..data.len()].copy_from_slice(data);
        self.extend_by(data.len());
    }

    /// Fills the queue up to at least `need` bytes, which are part of a frame, from `read`, which
    /// returns 0 at the end of the stream. Returns whether the queue has them.
    pub(crate) fn fill(
        &mut self,
        need: usize,
        mut read: impl FnMut(&mut [u8]) -> Result<usize, Interrupt>,
    ) -> Result<bool, Interrupt> {
        assert!(need <= HEADER_BYTES + FRAME_BYTES, "a frame fits");
        while self.len() < need {
            let count = read(self.spare(need - self.len()))?;
            if count == 0 {
                return Ok(false);
            }
            self.extend_by(count);
        }
        Ok(true)
    }

    fn grow(&mut self, size: usize) {
        let doubled = (2 * self.end).min(READ_AHEAD_BYTES + BUFFER_BYTES);
        let mut larger = vec![0; size.max(doubled)];
        larger[..self.end].copy_from_slice(&self.bytes[..self.end]);
        self.bytes.zeroize();
        self.bytes = larger;
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let mut buffer = Buffer::new();
        buffer.push(&[1; BUFFER_BYTES - 1]);
        buffer.consume(BUFFER_BYTES - 2);
        buffer.push(&[2, 3]);
        assert_eq!(buffer.filled(), [1, 2, 3]);
        assert_eq!(buffer.bytes.len(), BUFFER_BYTES);
        assert_eq!(buffer.take(2), [1, 2]);
        buffer.push(&[4; BUFFER_BYTES]);
        assert_eq!(buffer.len(), BUFFER_BYTES + 1);
        assert_eq!(buffer.take(1), [3]);
        assert!(buffer.filled().iter().all(|&byte| byte == 4));
    }

    /// Otherwise the queue would grow and be copied at every read.
    #[test]
    fn a_buffer_that_is_read_into_never_grows() {
        let mut buffer = Buffer::new();
        for frame in 0..20 {
            let read = |spare: &mut [u8]| {
                let count = spare.len().min(16 * 1024);
                spare[..count].fill(frame);
                Ok(count)
            };
            let need = HEADER_BYTES + FRAME_BYTES;
            assert!(buffer.fill(need, read).unwrap());
            assert_eq!(buffer.take(need).last(), Some(&frame));
            assert_eq!(buffer.bytes.len(), BUFFER_BYTES);
        }
    }

    #[test]
    fn memory_that_was_given_back_comes_again() {
        let mut buffer = Buffer::new();
        buffer.push(&[1]);
        buffer.release();
        assert_eq!(buffer.take(1), [1]);
        buffer.release();
        assert!(buffer.bytes.is_empty());
        let is_there = buffer.fill(5, |spare| {
            assert_eq!(spare.len(), BUFFER_BYTES);
            spare[..5].fill(2);
            Ok(5)
        });
        assert!(is_there.unwrap());
        assert_eq!(buffer.take(5), [2; 5]);
        buffer.release();
        buffer.push(&[3]);
        assert_eq!(buffer.filled(), [3]);
    }

    #[test]
    fn a_buffer_that_has_grown_is_small_again_once_it_is_empty() {
        let mut buffer = Buffer::new();
        let long = vec![7; 16 * BUFFER_BYTES];
        buffer.push(&long);
        assert_eq!(buffer.take(long.len()), long);
        buffer.push(&[1]);
        assert_eq!(buffer.bytes.len(), BUFFER_BYTES);
    }
}
