//! Correlated OT with chosen choice bits: q for the sender, t = q ⊕ bΔ for the receiver.
//!
//! Source: Roy 2022, figures 7 to 9, as the header of [`extension`](crate::extension) says;
//! semi-honest. The garbler is the sender: (q, q ⊕ Δ) are the labels of a wire, and the evaluator
//! gets the one for its input bit.
//!
//! The labels are the rows themselves, unhashed: what a garbling scheme then does with them has to
//! stand offsets that all share Δ, which is what its hash is chosen for. Both halves number their
//! OTs by a counter that only goes up, so no OT is used for two choices.
//!
//! | part of the receiver's message | bytes |
//! |---|---|
//! | corrections of the trees, in the first message only | 32 (128 − ⌈128/k⌉) |
//! | for each lot, in order, for each group, in order: u ⊕ c | ⌈m/128⌉ · 16 |
//!
//! A lot is 4096 OTs, the last one what is left, and m the number of its OTs. OT i of a lot is in
//! bit i mod 8 of byte ⌊i/8⌋ of each row. Rows are padded to whole blocks with zero choices.

use core::fmt;

use tacit_kernels::{Block, Cpu, transpose_128};
use zeroize::{Zeroize, Zeroizing};

use crate::base::Key;
use crate::extension::{
    CORRECTION_BYTES, FieldBits, Streams, correction_bytes, grow, grow_punctured,
};
use crate::{ApiMisuse, Delta, Error, Message, PeerMisbehaved, SessionTag};

/// How many correlated OTs one call may ask for.
pub const MAX_CALL: usize = 1 << 24;

/// How many correlated OTs one set of base OTs gives: 2^25 cipher calls under each key, so that
/// AES passes for a pseudorandom function up to 2^-67 over all keys.
pub const MAX_TOTAL: u64 = 1 << 32;

/// OTs whose rows are sent and worked on together: they stay in cache.
const LOT: usize = 4096;

/// Blocks of a row of one lot.
const LOT_BLOCKS: usize = blocks(LOT);

/// How far one half has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Correlated OTs handed out.
    handed_out: u64,
    /// Blocks of every stream used.
    stream_blocks: u64,
    /// An error ended this half.
    ended: bool,
}

impl Progress {
    /// Refuses a call for `count` OTs that this half may not answer.
    fn check(&self, count: usize) -> Result<(), ApiMisuse> {
        if self.ended {
            return Err(ApiMisuse::Ended);
        }
        if count > MAX_CALL {
            let limit = MAX_CALL;
            return Err(ApiMisuse::TooMany {
                found: count,
                limit,
            });
        }
        // Streams bound the work under a key; padding makes them run ahead of the OTs.
        if (self.stream_blocks + blocks(count) as u64) * 128 > MAX_TOTAL {
            return Err(ApiMisuse::UsedUp { limit: MAX_TOTAL });
        }
        Ok(())
    }

    fn advance(&mut self, count: usize) {
        self.handed_out += count as u64;
        self.stream_blocks += blocks(count) as u64;
    }
}

/// Blocks of 128 OTs that `count` OTs fill.
const fn blocks(count: usize) -> usize {
    count.div_ceil(128)
}

/// Size of the receiver's message for `count` OTs without the trees' corrections, in bytes.
const fn row_bytes(field: FieldBits, count: usize) -> usize {
    field.groups() * blocks(count) * Block::BYTES
}

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
    /// [`ApiMisuse::WrongBaseCount`] if there are not [`Delta::BITS`] base OTs.
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
    /// [`PeerMisbehaved::WrongLength`], which ends this sender; [`ApiMisuse`] if there are too
    /// many OTs or this sender has ended.
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

/// The half of the evaluator: it has choice bits, and gets t = q ⊕ bΔ for each OT.
pub struct CotReceiver {
    field: FieldBits,
    progress: Progress,
    /// Corrections of the trees, until the first message carries them.
    corrections: Vec<u8>,
    /// Streams of each group's whole tree.
    groups: Vec<Streams>,
}

impl CotReceiver {
    /// The receiver, with both keys of each base OT. The tag and the field are the sender's.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::WrongBaseCount`] if there are not [`Delta::BITS`] base OTs.
    pub fn new(base: Vec<[Key; 2]>, tag: &SessionTag, field: FieldBits) -> Result<Self, Error> {
        check_base(base.len())?;
        let cpu = Cpu::detect();
        let mut corrections = Vec::with_capacity(correction_bytes(field));
        let groups = (0..field.groups()).map(|group| {
            let leaves = grow(tag, group, &base[field.group(group)], &mut corrections);
            Streams::of_whole(cpu, &leaves)
        });
        let groups = groups.collect();
        Ok(Self {
            field,
            progress: Progress::default(),
            corrections,
            groups,
        })
    }

    /// The number of the next correlated OT.
    #[must_use]
    pub fn next_index(&self) -> u64 {
        self.progress.handed_out
    }

    /// Makes the message for one OT for each of `choices`, which stay secret. Returns it with the
    /// t of each OT, secret, numbered from [`next_index`](Self::next_index) on. Messages must reach
    /// the sender in the order in which they were made, each once.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse`] if there are too many choices.
    pub fn extend(&mut self, choices: &[bool]) -> Result<(Vec<u8>, Vec<Block>), Error> {
        let count = choices.len();
        self.progress.check(count)?;
        let packed = pack(choices);
        let mut message = core::mem::take(&mut self.corrections);
        message.reserve_exact(row_bytes(self.field, count));
        let first = self.progress.stream_blocks;
        let mut t = Vec::with_capacity(count.next_multiple_of(128));
        let mut lot = Lot::new();
        let lots = packed.chunks(LOT_BLOCKS);
        for (choices, start) in lots.zip((first..).step_by(LOT_BLOCKS)) {
            let row_bytes = choices.len() * Block::BYTES;
            let sent = message.len();
            message.resize(sent + self.field.groups() * row_bytes, 0);
            for (group, out) in message[sent..].chunks_exact_mut(row_bytes).enumerate() {
                self.fold_group(group, start, choices, &mut lot, out);
            }
            lot.transpose(choices.len(), &mut t);
        }
        truncate(&mut t, count);
        self.progress.advance(count);
        Ok((message, t))
    }

    /// Rows of one group, v, and what is sent for it, u ⊕ c.
    fn fold_group(
        &self,
        group: usize,
        first: u64,
        choices: &[Block],
        lot: &mut Lot,
        out: &mut [u8],
    ) {
        let length = choices.len();
        let bits = self.field.group(group);
        let rows = &mut lot.rows[bits.start * length..bits.end * length];
        self.groups[group].fold(first, rows, &mut lot.sum[..length]);
        let sums = lot.sum[..length].iter().zip(choices);
        for ((&u, &c), out) in sums.zip(out.chunks_exact_mut(Block::BYTES)) {
            out.copy_from_slice(&(u ^ c).to_bytes());
        }
    }
}

/// Working memory for one lot: 128 rows, and the sum of one group's streams.
struct Lot {
    cpu: Cpu,
    rows: Zeroizing<Vec<Block>>,
    sum: Zeroizing<Vec<Block>>,
}

impl Lot {
    fn new() -> Self {
        Self {
            cpu: Cpu::detect(),
            rows: Zeroizing::new(vec![Block::ZERO; Delta::BITS * LOT_BLOCKS]),
            sum: Zeroizing::new(vec![Block::ZERO; LOT_BLOCKS]),
        }
    }

    /// Appends the columns of 128 rows of `length` blocks: bit j of column i is bit i of row j.
    fn transpose(&self, length: usize, out: &mut Vec<Block>) {
        let rows = &self.rows[..Delta::BITS * length];
        let filled = out.len();
        out.resize(filled + rows.len(), Block::ZERO);
        transpose_128(self.cpu, rows, &mut out[filled..]);
    }
}

fn check_base(found: usize) -> Result<(), ApiMisuse> {
    let expected = Delta::BITS;
    if found == expected {
        Ok(())
    } else {
        Err(ApiMisuse::WrongBaseCount { expected, found })
    }
}

fn read_block(bytes: &[u8]) -> Block {
    let mut array = [0; Block::BYTES];
    array.copy_from_slice(bytes);
    Block::from_bytes(array)
}

/// Choice bits as blocks, bit i in bit i mod 128, the last block filled up with zeros.
fn pack(choices: &[bool]) -> Zeroizing<Vec<Block>> {
    let word = |bits: &[bool]| {
        (0..)
            .zip(bits)
            .fold(0, |w, (i, &bit)| w | u64::from(bit) << i)
    };
    let packed = choices.chunks(128).map(|chunk| {
        let (low, high) = chunk.split_at(chunk.len().min(64));
        Block::from_u128(u128::from(word(low)) | u128::from(word(high)) << 64)
    });
    Zeroizing::new(packed.collect())
}

/// Wipes and removes what padding added.
fn truncate(blocks: &mut Vec<Block>, count: usize) {
    blocks[count..].iter_mut().for_each(Zeroize::zeroize);
    blocks.truncate(count);
}

impl fmt::Debug for CotSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CotSender {{ next: {}, .. }}", self.progress.handed_out)
    }
}

impl fmt::Debug for CotReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CotReceiver {{ next: {}, .. }}",
            self.progress.handed_out
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_ots_are_used_up_after_their_last_ot() {
        let mut progress = Progress {
            stream_blocks: MAX_TOTAL / 128 - 1,
            ..Progress::default()
        };
        assert_eq!(progress.check(128), Ok(()));
        let limit = MAX_TOTAL;
        assert_eq!(progress.check(129), Err(ApiMisuse::UsedUp { limit }));
        progress.advance(1);
        assert_eq!(progress.check(1), Err(ApiMisuse::UsedUp { limit }));
        assert_eq!(progress.check(0), Ok(()));
    }

    #[test]
    fn packed_bits_keep_their_order() {
        for count in [0, 1, 63, 64, 65, 127, 128, 129, 300] {
            let choices: Vec<bool> = (0..count).map(|i| i * i % 7 == 2 || i % 5 == 1).collect();
            let packed = pack(&choices);
            assert_eq!(packed.len(), blocks(count));
            for i in 0..packed.len() * 128 {
                let bit = packed[i / 128].to_u128() >> (i % 128) & 1 == 1;
                assert_eq!(bit, choices.get(i).copied().unwrap_or(false));
            }
        }
    }
}
