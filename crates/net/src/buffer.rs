//! The two byte buffers of a channel. What passes through them may be secret (labels, results), so
//! that they are wiped when they are dropped or outgrown.

use zeroize::Zeroize;

use crate::Interrupt;

/// Bytes that a buffer holds before it has to grow or be emptied.
pub(crate) const BUFFER_BYTES: usize = 256 * 1024;

/// A buffer that has grown goes back to [`BUFFER_BYTES`] when it was filled this many times and no
/// more was in it: a long message now and then is not worth its memory, and where they come one
/// after the other it stays.
const SMALL_FILLS: u32 = 64;

/// A queue of bytes in one piece of memory: filled at the end, taken from the front.
pub(crate) struct Buffer {
    /// Initialised throughout; the queue is `start..end` of it.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The largest `end` since the queue was empty.
    peak: usize,
    /// How many peaks were small one after the other.
    small_fills: u32,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            peak: 0,
            small_fills: 0,
        }
    }

    /// The queue.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// How many bytes fit behind the queue without moving or growing it.
    pub(crate) fn room(&self) -> usize {
        self.bytes.len() - self.end
    }

    /// Takes `count` bytes off the front.
    pub(crate) fn consume(&mut self, count: usize) {
        assert!(count <= self.len(), "a buffer gives only what it holds");
        self.start += count;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Takes `count` bytes off the front and returns them; they stand until the next change.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.consume(count);
        &self.bytes[start..start + count]
    }

    /// Gives back the memory, if the queue is empty, until something comes.
    pub(crate) fn release(&mut self) {
        if self.len() == 0 {
            self.bytes.zeroize();
            self.bytes = Vec::new();
        }
    }

    /// Makes room for `more` bytes behind the queue, and returns it, with old bytes in it.
    /// The bytes belong to the queue once [`Buffer::extend_by`] says so.
    pub(crate) fn spare(&mut self, more: usize) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = vec![0; BUFFER_BYTES];
        }
        if self.len() == 0 && self.bytes.len() > BUFFER_BYTES {
            self.note_fill();
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
        self.peak = self.peak.max(self.end);
    }

    /// Copies `data` to the end.
    pub(crate) fn push(&mut self, data: &[u8]) {
        self.spare(data.len())[..data.len()].copy_from_slice(data);
        self.extend_by(data.len());
    }

    /// Fills the queue to `need` bytes at least, from `read`, which gives 0 at the end of all.
    /// Returns whether it came so far. The memory follows what has come, not what is needed.
    pub(crate) fn fill(
        &mut self,
        need: usize,
        mut read: impl FnMut(&mut [u8]) -> Result<usize, Interrupt>,
    ) -> Result<bool, Interrupt> {
        while self.len() < need {
            let missing = need - self.len();
            let affordable = self.bytes.len().max(2 * self.len()) - self.len();
            let spare = self.spare(missing.min(affordable));
            let count = read(spare)?;
            if count == 0 {
                return Ok(false);
            }
            self.extend_by(count);
        }
        Ok(true)
    }

    fn grow(&mut self, size: usize) {
        let mut larger = vec![0; size.max(2 * self.end)];
        larger[..self.end].copy_from_slice(&self.bytes[..self.end]);
        self.bytes.zeroize();
        self.bytes = larger;
    }

    /// Counts how an empty queue was filled last, and gives back memory that is of no more use.
    fn note_fill(&mut self) {
        match std::mem::take(&mut self.peak) {
            // Nothing has come since this was looked at.
            0 => {}
            1..=BUFFER_BYTES => self.small_fills += 1,
            _ => self.small_fills = 0,
        }
        if self.small_fills >= SMALL_FILLS {
            // What is dropped is wiped.
            *self = Self::new();
        }
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

    #[test]
    fn memory_follows_what_came() {
        let mut buffer = Buffer::new();
        let mut left = 3 * BUFFER_BYTES;
        let ended = buffer
            .fill(1 << 30, |spare| {
                let count = left.min(spare.len()).min(1000);
                left -= count;
                Ok(count)
            })
            .unwrap();
        assert!(!ended);
        assert_eq!(buffer.len(), 3 * BUFFER_BYTES);
        assert!(buffer.bytes.len() <= 8 * BUFFER_BYTES);
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

    /// A peer with many sessions would otherwise make each keep what one long message took.
    #[test]
    fn memory_of_one_long_message_is_given_back() {
        let mut buffer = Buffer::new();
        let long = vec![7; 16 * BUFFER_BYTES];
        let mut send = |message: &[u8], times: u32| {
            for _ in 0..times {
                buffer.push(message);
                assert_eq!(buffer.take(message.len()), message);
            }
            buffer.bytes.len()
        };
        assert!(send(&long, 2) >= long.len());
        // Where long ones go on coming there is no growing again and again.
        for _ in 0..3 {
            assert!(send(&[1; 100], SMALL_FILLS / 2) >= long.len());
            assert!(send(&long, 1) >= long.len());
        }
        assert_eq!(send(&[1; 100], SMALL_FILLS + 1), BUFFER_BYTES);
    }
}
