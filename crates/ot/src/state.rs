//! Bytes of kept state, little-endian: a writer that wipes and a reader that is bounded.

use tacit_kernels::Block;
use zeroize::{Zeroize, Zeroizing};

use crate::base::Key;
use crate::{Corrupted, Outputs, Stored};

/// State as it is written. Grows by copying, so that what it leaves behind is wiped.
pub(crate) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// A writer with room for `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(bytes)))
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * needed));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn blocks(&mut self, blocks: impl IntoIterator<Item = Block>) {
        for block in blocks {
            let mut bytes = block.to_bytes();
            self.bytes(&bytes);
            bytes.zeroize();
        }
    }

    pub(crate) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.0
    }
}

/// State as it is read.
pub(crate) struct Reader<'a> {
    what: Stored,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(what: Stored, bytes: &'a [u8]) -> Self {
        Self { what, rest: bytes }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Corrupted> {
        let split = self.rest.split_at_checked(count);
        let (bytes, rest) = split.ok_or(Corrupted::Length { what: self.what })?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupted> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Corrupted> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Corrupted> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of things that follow and of which each has at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize, Corrupted> {
        let count = usize::try_from(self.number()?).ok();
        count
            .filter(|&count| count <= self.rest.len())
            .ok_or(Corrupted::Length { what: self.what })
    }

    pub(crate) fn block(&mut self) -> Result<Block, Corrupted> {
        self.array().map(Block::from_bytes)
    }

    /// `count` blocks, none of which is allocated before their bytes are there.
    pub(crate) fn blocks(&mut self, count: usize) -> Result<Outputs, Corrupted> {
        let bytes = self.bytes(count.saturating_mul(Block::BYTES))?;
        let (blocks, _) = bytes.as_chunks();
        let blocks = blocks.iter().map(|bytes| Block::from_bytes(*bytes));
        Ok(Zeroizing::new(blocks.collect()))
    }

    pub(crate) fn keys(&mut self, count: usize) -> Result<Vec<Key>, Corrupted> {
        let (keys, _) = self.bytes(count.saturating_mul(32))?.as_chunks();
        Ok(keys.iter().map(|bytes| Key::from_bytes(*bytes)).collect())
    }

    /// The error of a field that is out of its bounds.
    pub(crate) const fn bad_value(&self) -> Corrupted {
        Corrupted::Value { what: self.what }
    }

    /// Refuses what is left over.
    pub(crate) fn finish(self) -> Result<(), Corrupted> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Corrupted::Length { what: self.what })
        }
    }
}
