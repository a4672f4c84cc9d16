//! The bytes of messages that arrived and were not read yet.

use std::collections::VecDeque;

use tungstenite::Bytes;

/// Messages of at most this many bytes are joined into buffers of at most this many bytes. The
/// WebSocket library reads this much at a time, so a longer message keeps less than twice its own
/// bytes allocated.
const JOINED_BYTES: usize = 1 << 16;

/// The bytes that arrived and were not read. Two buffers in a row have more than [`JOINED_BYTES`]
/// together, so a peer's short messages take little more memory than their bytes.
#[derive(Default)]
pub(super) struct Arrived {
    /// The oldest is first. None is empty.
    buffers: VecDeque<Bytes>,
    /// The short messages that arrived after `buffers`.
    short: Vec<u8>,
}

impl Arrived {
    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty() && self.short.is_empty()
    }

    /// Keeps the bytes of a message. A short message is copied: it may be part of a larger buffer,
    /// which would stay allocated.
    pub(super) fn keep(&mut self, message: Bytes) {
        let is_short = message.len() <= JOINED_BYTES;
        if !is_short || self.short.len() + message.len() > JOINED_BYTES {
            self.end_short();
        }
        if is_short {
            self.short.extend_from_slice(&message);
        } else {
            self.buffers.push_back(message);
        }
    }

    fn end_short(&mut self) {
        if !self.short.is_empty() {
            let joined = std::mem::take(&mut self.short);
            self.buffers.push_back(joined.into());
        }
    }

    /// Moves the oldest bytes to `into` and returns their number, which is 0 only if `into` or
    /// `self` is empty.
    pub(super) fn take(&mut self, into: &mut [u8]) -> usize {
        if self.buffers.is_empty() {
            self.end_short();
        }
        let Some(first) = self.buffers.front_mut() else {
            return 0;
        };
        let count = first.len().min(into.len());
        into[..count].copy_from_slice(&first.split_to(count));
        if first.is_empty() {
            self.buffers.pop_front();
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_byte_lie_in_few_buffers() {
        let mut arrived = Arrived::default();
        let messages = 100 * JOINED_BYTES;
        for number in 0..messages {
            arrived.keep(Bytes::copy_from_slice(&[number as u8]));
        }
        assert!(arrived.buffers.len() <= 100, "{}", arrived.buffers.len());
        assert!(arrived.buffers.iter().all(|one| one.len() <= JOINED_BYTES));
    }

    /// Lengths on both sides of the border between short and long.
    const LENGTHS: [usize; 13] = [
        1,
        JOINED_BYTES - 1,
        1,
        JOINED_BYTES,
        0,
        JOINED_BYTES + 1,
        3,
        4,
        10 * JOINED_BYTES,
        0,
        JOINED_BYTES - 7,
        7,
        1,
    ];

    #[test]
    fn bytes_are_read_in_the_order_in_which_they_came() {
        let total = LENGTHS.iter().sum::<usize>();
        let all: Vec<u8> = (0..total).map(|place| (place / 7 % 251) as u8).collect();
        for step in [1, 2, 1000, JOINED_BYTES, total] {
            for reads_meanwhile in [false, true] {
                let (mut arrived, mut read) = (Arrived::default(), Vec::new());
                let mut into = vec![0; step];
                let mut rest = &all[..];
                for length in LENGTHS {
                    let (message, after) = rest.split_at(length);
                    rest = after;
                    arrived.keep(Bytes::copy_from_slice(message));
                    if reads_meanwhile {
                        let count = arrived.take(&mut into);
                        read.extend_from_slice(&into[..count]);
                    }
                }
                while !arrived.is_empty() {
                    let count = arrived.take(&mut into);
                    assert!(count > 0);
                    read.extend_from_slice(&into[..count]);
                }
                assert_eq!(arrived.take(&mut into), 0);
                assert!(read == all, "{step}, {reads_meanwhile}");
            }
        }
    }
}
