//! Packed bits, eight to a byte, least significant first, and the bytes of blocks.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use crate::Misbehaviour;
use crate::message::{Kind, exactly};

/// Returns the number of bytes that hold `bits` bits.
pub(crate) const fn bytes_for(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Returns bit `i`.
pub(crate) fn bit(bytes: &[u8], i: usize) -> bool {
    bytes[i / 8] >> (i % 8) & 1 == 1
}

/// Packs `bits` into bytes; unused bits are zero.
pub(crate) fn pack(bits: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| {
        (0..)
            .zip(bits)
            .fold(0, |byte, (i, bit)| byte | u8::from(*bit) << i)
    };
    bits.chunks(8).map(byte).collect()
}

/// Packs bit 0 of each label.
pub(crate) fn select_bits(labels: &[Block]) -> Vec<u8> {
    let byte = |labels: &[Block]| {
        (0..).zip(labels).fold(0, |byte, (i, label)| {
            byte | (label.to_u128() as u8 & 1) << i
        })
    };
    labels.chunks(8).map(byte).collect()
}

/// Returns a mask: a block with bit `i` of `bytes` in every position.
pub(crate) fn bit_mask(bytes: &[u8], i: usize) -> Block {
    Block::from_u128((bytes[i / 8] >> (i % 8)).into()).lsb_mask()
}

/// Returns the first `count` bits.
pub(crate) fn unpack(bytes: &[u8], count: usize) -> Zeroizing<Vec<bool>> {
    Zeroizing::new((0..count).map(|i| bit(bytes, i)).collect())
}

/// Draws `count` bits from `prg`.
pub(crate) fn random_bits(prg: &mut Prg, count: usize) -> Zeroizing<Vec<bool>> {
    let mut drawn = Zeroizing::new(vec![0; bytes_for(count)]);
    prg.fill_bytes(&mut drawn);
    unpack(&drawn, count)
}

/// Appends the bytes of `blocks`.
pub(crate) fn append_blocks(out: &mut Vec<u8>, blocks: &[Block]) {
    let begin = out.len();
    out.resize(begin + Block::BYTES * blocks.len(), 0);
    let (places, _) = out[begin..].as_chunks_mut();
    for (place, block) in places.iter_mut().zip(blocks) {
        *place = block.to_bytes();
    }
}

/// Returns the block at the start of `bytes` and leaves no other copy of it.
pub(crate) fn read_block(bytes: &[u8]) -> Block {
    let mut block = Zeroizing::new([0; Block::BYTES]);
    block.copy_from_slice(&bytes[..Block::BYTES]);
    Block::from_bytes(*block)
}

/// Returns the blocks of a message of this kind, or an error if its length is not that of `N`
/// blocks.
pub(crate) fn read_blocks<const N: usize>(
    kind: Kind,
    bytes: &[u8],
) -> Result<[Block; N], Misbehaviour> {
    exactly(kind, bytes, N * Block::BYTES)?;
    Ok(std::array::from_fn(|i| {
        read_block(&bytes[i * Block::BYTES..])
    }))
}

/// Clears the bits from number `count` on.
pub(crate) fn clear_unused(bytes: &mut [u8], count: usize) {
    if let (Some(last), used @ 1..) = (bytes.last_mut(), count % 8) {
        *last &= (1 << used) - 1;
    }
}

/// Whether the bits from number `count` on are clear, where `bytes` is as long as `count` bits
/// need.
pub(crate) fn unused_are_clear(bytes: &[u8], count: usize) -> bool {
    match (bytes.last(), count % 8) {
        (Some(last), used @ 1..) => last >> used == 0,
        _ => true,
    }
}

/// Checks that a message of this kind has the length of `count` bits and that its unused bits are
/// clear.
pub(crate) fn check_bits(kind: Kind, bytes: &[u8], count: usize) -> Result<(), Misbehaviour> {
    exactly(kind, bytes, bytes_for(count))?;
    let field = "padding";
    if unused_are_clear(bytes, count) {
        return Ok(());
    }
    Err(Misbehaviour::invalid(kind, field))
}

/// XORs `b` into `a`.
pub(crate) fn xor_into(a: &mut [u8], b: &[u8]) {
    debug_assert_eq!(a.len(), b.len());
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
}

/// Whether `a` and `b`, which have the same length, differ. The time does not depend on where they
/// differ.
pub(crate) fn differ(a: &[u8], b: &[u8]) -> bool {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) != 0
}

/// A writer of bits, one at a time or up to 64 at once.
#[derive(Default)]
pub(crate) struct BitWriter {
    bytes: Zeroizing<Vec<u8>>,
    /// The next bytes to append, of which `filled` bits are written.
    word: u64,
    filled: u32,
}

impl BitWriter {
    /// Returns an empty writer with room for `bits` bits.
    pub(crate) fn with_capacity(bits: usize) -> Self {
        Self {
            bytes: Zeroizing::new(Vec::with_capacity(bits.div_ceil(64) * 8)),
            ..Self::default()
        }
    }

    /// Adds bit 0 of `bit`, whose other bits must be zero.
    #[inline(always)]
    pub(crate) fn push(&mut self, bit: u64) {
        self.push_word(bit, 1);
    }

    /// Adds the first `count` bits of `word`, up to 64. The other bits must be zero.
    #[inline(always)]
    pub(crate) fn push_word(&mut self, word: u64, count: u32) {
        self.word |= word << self.filled;
        self.filled += count;
        if self.filled >= 64 {
            self.bytes.extend_from_slice(&self.word.to_le_bytes());
            self.filled -= 64;
            self.word = word.checked_shr(count - self.filled).unwrap_or(0);
        }
    }

    /// Returns the bytes of all bits, unused bits zero, and leaves the writer empty.
    pub(crate) fn take(&mut self) -> Zeroizing<Vec<u8>> {
        let last = self.word.to_le_bytes();
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.extend_from_slice(&last[..bytes_for(self.filled as usize)]);
        (self.word, self.filled) = (0, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_written_by_the_word() {
        let words = [u64::MAX, 0x0123_4567_89ab_cdef, 1, 0];
        let (mut writer, mut expected) = (BitWriter::with_capacity(100), Vec::new());
        for count in (1..=64).chain([64, 64, 3, 61, 64]) {
            let word = words[count as usize % 4] & u64::MAX >> (64 - count);
            writer.push_word(word, count);
            expected.extend((0..count).map(|i| word >> i & 1 == 1));
        }
        assert_eq!(*writer.take(), pack(&expected));
        writer.push(1);
        assert_eq!(*writer.take(), [1]);
        assert!(writer.take().is_empty());
    }

    #[test]
    fn bits_are_packed_and_unpacked() {
        let bits: Vec<bool> = (0..19).map(|i| i % 3 == 1).collect();
        let mut bytes = pack(&bits);
        assert_eq!(bytes, [0b1001_0010, 0b0010_0100, 0b001]);
        assert_eq!(*unpack(&bytes, 19), bits);
        assert!(unused_are_clear(&bytes, 19) && bit(&bytes, 16) && !bit(&bytes, 17));
        bytes[2] |= 8;
        assert!(!unused_are_clear(&bytes, 19));
        clear_unused(&mut bytes, 19);
        assert_eq!(bytes, pack(&bits));
        let same = bytes.clone();
        xor_into(&mut bytes, &same);
        assert_eq!(bytes, [0; 3]);
        assert!(unused_are_clear(&[], 0) && unused_are_clear(&[0xff], 8));
    }
}
