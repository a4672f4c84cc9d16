//! The receiver of correlated OTs.

use core::fmt;

use tacit_kernels::{Block, Cpu};
use zeroize::Zeroizing;

use super::lot::Lot;
use super::{LOT_BLOCKS, Progress, check_base, row_bytes, truncate};
use crate::base::Key;
use crate::extension::{FieldBits, Streams, correction_bytes, grow};
use crate::{Error, SessionTag};

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
    /// [`ApiMisuse::WrongBaseCount`](crate::ApiMisuse::WrongBaseCount) if there are not
    /// [`Delta::BITS`](crate::Delta::BITS) base OTs.
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
    /// [`ApiMisuse`](crate::ApiMisuse) if there are too many choices.
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
    use super::super::blocks;
    use super::*;

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
