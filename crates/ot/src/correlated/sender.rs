//! The sender of correlated OTs.

use core::fmt;

use tacit_kernels::{Block, Cpu};

use super::lot::Lot;
use super::{LOT, LOT_BLOCKS, Progress, check_base, row_bytes, truncate};
use crate::base::Key;
use crate::extension::{CORRECTION_BYTES, FieldBits, Streams, correction_bytes, grow_punctured};
use crate::{Delta, Error, Message, PeerMisbehaved, SessionTag};

/// The half of the garbler: it chose Δ, and gets q for each OT.
pub struct CotSender {
    delta: Delta,
    tag: SessionTag,
    field: FieldBits,
    progress: Progress,
    /// Chosen keys of the base OTs, until the first message brings the corrections.
    base: Vec<Key>,
    /// Streams of each group's punctured tree, from the first message on.
    groups: Vec<Streams>,
}

impl CotSender {
    /// The sender under `delta`, with the chosen keys of the base OTs whose choices were
    /// [`Delta::choices`]. The tag and the field are the receiver's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`](crate::ApiMisuse::WrongBaseCount) if there are not
    /// [`Delta::BITS`] base OTs.
    pub fn new(
        delta: Delta,
        base: Vec<Key>,
        tag: &SessionTag,
        field: FieldBits,
    ) -> Result<Self, Error> {
        check_base(base.len())?;
        Ok(Self {
            delta,
            tag: *tag,
            field,
            progress: Progress::default(),
            base,
            groups: Vec::new(),
        })
    }

    /// The number of the next correlated OT.
    #[must_use]
    pub fn next_index(&self) -> u64 {
        self.progress.handed_out
    }

    /// Exact size in bytes of the receiver's next message, if it is for `count` OTs.
    #[must_use]
    pub fn message_len(&self, count: usize) -> usize {
        let first = self.groups.is_empty();
        let corrections = if first {
            correction_bytes(self.field)
        } else {
            0
        };
        corrections + row_bytes(self.field, count)
    }

    /// Takes the receiver's message for `count` OTs and returns their q, secret, which are numbered
    /// from [`next_index`](Self::next_index) on.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::WrongLength`], which ends this sender; [`ApiMisuse`](crate::ApiMisuse) if
    /// there are too many OTs or this sender has ended.
    pub fn extend(&mut self, count: usize, message: &[u8]) -> Result<Vec<Block>, Error> {
        self.progress.check(count)?;
        let expected = self.message_len(count);
        if message.len() != expected {
            self.progress.ended = true;
            return Err(Error::PeerMisbehaved(PeerMisbehaved::WrongLength {
                message: Message::Extension,
                expected,
                found: message.len(),
            }));
        }
        let (corrections, rows) = message.split_at(expected - row_bytes(self.field, count));
        if self.groups.is_empty() {
            self.open_trees(corrections);
        }
        let first = self.progress.stream_blocks;
        let delta = self.delta.choices();
        let mut q = Vec::with_capacity(count.next_multiple_of(128));
        let mut lot = Lot::new();
        let lots = rows.chunks(row_bytes(self.field, LOT));
        for (sent, start) in lots.zip((first..).step_by(LOT_BLOCKS)) {
            let length = sent.len() / (self.field.groups() * Block::BYTES);
            for (group, sent) in sent.chunks_exact(length * Block::BYTES).enumerate() {
                self.fold_group(group, start, sent, &delta, &mut lot);
            }
            lot.transpose(length, &mut q);
        }
        truncate(&mut q, count);
        self.progress.advance(count);
        Ok(q)
    }

    /// Rows of one group: w ⊕ Δ · (u ⊕ c), with `delta` all of Δ's bits.
    fn fold_group(&self, group: usize, first: u64, sent: &[u8], delta: &[bool], lot: &mut Lot) {
        let length = sent.len() / Block::BYTES;
        let bits = self.field.group(group);
        let rows = &mut lot.rows[bits.start * length..bits.end * length];
        self.groups[group].fold(first, rows, &mut lot.sum[..length]);
        for (row, &bit) in rows.chunks_exact_mut(length).zip(&delta[bits]) {
            let mask = Block::ONES.and_bit(u8::from(bit).into());
            for (block, sent) in row.iter_mut().zip(sent.chunks_exact(Block::BYTES)) {
                *block ^= read_block(sent) & mask;
            }
        }
    }

    /// Grows the punctured trees from the base OTs and the first message's corrections.
    fn open_trees(&mut self, mut corrections: &[u8]) {
        let (cpu, choices) = (Cpu::detect(), self.delta.choices());
        for group in 0..self.field.groups() {
            let bits = self.field.group(group);
            let (own, rest) = corrections.split_at((bits.len() - 1) * CORRECTION_BYTES);
            corrections = rest;
            let (keys, choices) = (&self.base[bits.clone()], &choices[bits]);
            let leaves = grow_punctured(&self.tag, group, keys, choices, own);
            self.groups.push(Streams::of_punctured(cpu, &leaves));
        }
        self.base = Vec::new();
    }
}

fn read_block(bytes: &[u8]) -> Block {
    let mut array = [0; Block::BYTES];
    array.copy_from_slice(bytes);
    Block::from_bytes(array)
}

impl fmt::Debug for CotSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CotSender {{ next: {}, .. }}", self.progress.handed_out)
    }
}
