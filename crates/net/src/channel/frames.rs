//! Messages and the frames that carry them.
//!
//! A message of up to [`FRAME_BYTES`] is one frame. A longer one consists of several, each but the
//! last with [`FRAME_BYTES`] of it, so that frames are short even if the message is long.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | kind: in the first frame the message's kind, which the protocol defines and which is not 0; in each other frame [`CONTINUED`] |
//! | 1..5 | the number of bytes of the message from this frame on, little-endian |
//! | 5.. | the first [`FRAME_BYTES`] of these, or all |
//!
//! A frame of another kind in place of a continuation is the next message: the sender gave up the
//! unfinished one.

use zeroize::Zeroize;

use crate::NetError;

/// Length of a frame's header in bytes.
pub const HEADER_BYTES: usize = 5;

/// The most bytes of a message that one frame carries.
pub const FRAME_BYTES: usize = 256 * 1024;

/// The kind of a frame that continues the message of the frame before.
pub const CONTINUED: u8 = 0;

/// The memory of a long message is freed after this many messages of one frame. An occasional long
/// message is not worth keeping it, but a series of long messages is.
const SHORT_MESSAGES: u32 = 64;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The message's kind, or [`CONTINUED`].
    pub kind: u8,
    /// The bytes of the message from this frame on.
    pub left: u32,
}

impl FrameHeader {
    /// Reads a header from these bytes.
    pub fn parse([kind, l0, l1, l2, l3]: [u8; HEADER_BYTES]) -> Self {
        let left = u32::from_le_bytes([l0, l1, l2, l3]);
        Self { kind, left }
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [l0, l1, l2, l3] = self.left.to_le_bytes();
        [self.kind, l0, l1, l2, l3]
    }

    /// Returns the bytes of the message from this frame on.
    pub fn left(self) -> usize {
        self.left as usize
    }

    /// Returns the bytes of the message in this frame.
    pub fn carried(self) -> usize {
        self.left().min(FRAME_BYTES)
    }

    /// Returns whether the message ends with this frame.
    pub fn is_last(self) -> bool {
        self.left() <= FRAME_BYTES
    }
}

/// Splits a message into frames: the header of each, and the bytes that it carries.
///
/// # Errors
///
/// [`NetError::TooLongToSend`] if no header can announce its length.
pub fn frames(
    kind: u8,
    payload: &[u8],
) -> Result<impl Iterator<Item = ([u8; HEADER_BYTES], &[u8])>, NetError> {
    let length = payload.len();
    let Ok(mut left) = u32::try_from(length) else {
        return Err(NetError::TooLongToSend { kind, length });
    };
    let mut kind = kind;
    let mut rest = Some(payload);
    Ok(std::iter::from_fn(move || {
        let header = FrameHeader { kind, left };
        let (carried, others) = rest?.split_at(header.carried());
        rest = (!others.is_empty()).then_some(others);
        left -= carried.len() as u32;
        kind = CONTINUED;
        Some((header.to_bytes(), carried))
    }))
}

/// A message of several frames, while they arrive and until the next message.
#[derive(Default)]
pub(super) struct Assembly {
    /// The kind and length of the unfinished message.
    open: Option<(u8, usize)>,
    /// The part of it that has arrived. It may be secret, so it is wiped when it is dropped or
    /// outgrown.
    bytes: Vec<u8>,
    /// The number of messages of one frame since.
    short_messages: u32,
}

impl Assembly {
    /// Returns the kind and length of the unfinished message.
    pub(super) fn open(&self) -> Option<(u8, usize)> {
        self.open
    }

    /// Returns the number of bytes of that message that have arrived.
    pub(super) fn received(&self) -> usize {
        self.open.map_or(0, |_| self.bytes.len())
    }

    /// Adds the bytes of a frame: the first of a message of several frames, or the next of the
    /// unfinished one. Returns the kind of the message if that completes it.
    pub(super) fn add(&mut self, header: FrameHeader, carried: &[u8]) -> Option<u8> {
        let (kind, length) = match self.open {
            Some(open) if header.kind == CONTINUED => open,
            _ => {
                self.bytes.clear();
                (header.kind, header.left())
            }
        };
        let end = self.bytes.len() + carried.len();
        if end > self.bytes.capacity() {
            // The memory follows the bytes that have arrived, not the announced length.
            let capacity = length.min(end.max(2 * self.bytes.capacity()));
            let mut larger = Vec::with_capacity(capacity);
            larger.extend_from_slice(&self.bytes);
            self.bytes.zeroize();
            self.bytes = larger;
        }
        self.bytes.extend_from_slice(carried);
        self.open = (!header.is_last()).then_some((kind, length));
        self.short_messages = 0;
        header.is_last().then_some(kind)
    }

    /// Returns the message that [`Assembly::add`] completed.
    pub(super) fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// Counts a message of one frame, which takes the place of an unfinished one.
    pub(super) fn pass_short(&mut self) {
        self.open = None;
        self.short_messages += 1;
        if self.short_messages >= SHORT_MESSAGES {
            self.release();
        }
    }

    /// Frees the memory, unless a part of a message is in it.
    pub(super) fn release(&mut self) {
        if self.open.is_none() {
            *self = Self::default();
        }
    }
}

impl Drop for Assembly {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(length: usize) -> Vec<(FrameHeader, usize)> {
        let payload = vec![7; length];
        let all = frames(9, &payload).expect("short enough");
        let all = all.map(|(header, carried)| (FrameHeader::parse(header), carried.len()));
        all.collect()
    }

    #[test]
    fn a_message_is_cut_into_frames_of_one_length() {
        let header = |kind, left: usize| FrameHeader {
            kind,
            left: left as u32,
        };
        assert_eq!(headers(0), [(header(9, 0), 0)]);
        assert_eq!(
            headers(FRAME_BYTES),
            [(header(9, FRAME_BYTES), FRAME_BYTES)]
        );
        assert_eq!(
            headers(2 * FRAME_BYTES + 1),
            [
                (header(9, 2 * FRAME_BYTES + 1), FRAME_BYTES),
                (header(CONTINUED, FRAME_BYTES + 1), FRAME_BYTES),
                (header(CONTINUED, 1), 1),
            ]
        );
    }

    #[test]
    fn a_header_announces_at_most_four_gigabytes() {
        let bytes = [1, 1, 2, 3, 4];
        let header = FrameHeader::parse(bytes);
        assert_eq!((header.left, header.to_bytes()), (0x0403_0201, bytes));
        assert_eq!(header.carried(), FRAME_BYTES);
    }

    fn add(assembly: &mut Assembly, length: usize) -> Vec<usize> {
        let payload: Vec<u8> = (0..length).map(|i| (i / 1000) as u8).collect();
        let mut memory = Vec::new();
        let mut found = None;
        for (header, carried) in frames(3, &payload).expect("short enough") {
            found = assembly.add(FrameHeader::parse(header), carried);
            memory.push(assembly.bytes.capacity());
        }
        assert_eq!(found, Some(3));
        assert_eq!((assembly.open(), assembly.whole()), (None, &payload[..]));
        memory
    }

    /// Otherwise the cost of a long message would grow with the square of its length.
    #[test]
    fn the_memory_of_a_long_message_doubles_and_follows_what_came() {
        let length = 100 * FRAME_BYTES + 1;
        let memory = add(&mut Assembly::default(), length);
        for (count, capacity) in (1..).zip(&memory) {
            assert!(
                *capacity <= 2 * count * FRAME_BYTES,
                "{capacity} of {count}"
            );
        }
        assert_eq!(memory.last(), Some(&length));
        let grown = memory.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(grown <= 7, "{grown} times");
    }

    /// Otherwise a peer with many sessions could make each keep the memory of one long message.
    #[test]
    fn memory_of_one_long_message_is_given_back() {
        let mut assembly = Assembly::default();
        for _ in 0..3 {
            add(&mut assembly, 3 * FRAME_BYTES);
            // If long messages keep coming, the memory does not shrink and grow again.
            (1..SHORT_MESSAGES).for_each(|_| assembly.pass_short());
            assert!(assembly.bytes.capacity() >= 3 * FRAME_BYTES);
        }
        assembly.pass_short();
        assert_eq!(assembly.bytes.capacity(), 0);
    }

    #[test]
    fn another_message_takes_the_place_of_one_that_was_given_up() {
        let mut assembly = Assembly::default();
        let part = vec![1; FRAME_BYTES];
        let left = 2 * FRAME_BYTES as u32;
        assert_eq!(assembly.add(FrameHeader { kind: 5, left }, &part), None);
        assert_eq!(assembly.open(), Some((5, 2 * FRAME_BYTES)));
        assembly.release();
        assert_eq!(assembly.received(), FRAME_BYTES);
        assembly.pass_short();
        assert_eq!((assembly.open(), assembly.received()), (None, 0));
        add(&mut assembly, 2 * FRAME_BYTES);
    }
}
