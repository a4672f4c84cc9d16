//! Crosses: correlated OTs hashed to masks, without a message.
//!
//! The OTs of a direction have a sender S, with q and Δ, and a receiver R, with a random choice b
//! and t = q ⊕ bΔ. A cross of width w takes one OT for each instance, and the lowest w bits of the
//! OT's hashes:
//!
//! ```text
//! S: r = H(q), α = H(q) ⊕ H(q ⊕ Δ)          R: b, ρ = H(t) = r ⊕ bα
//! ```
//!
//! With d = s ⊕ b from R and e = v ⊕ α from S, s·e ⊕ ρ and r ⊕ d·α are shares of s·v. Each mask is
//! used once: a mask that is used twice reveals the XOR of two secrets.
//!
//! H is that of [`hashed`](super::hashed).
//!
//! **Cost**: two hashes an OT at S, one at R. **Memory**: 2w bits for each cross and instance at S,
//! w + 1 at R, from the making of the OTs to the step that takes them.

use core::iter;

use tacit_circuit::Role;
use tacit_function::Schedule;
use tacit_kernels::{Block, Cpu, low_bits, transpose_128};
use zeroize::{Zeroize, Zeroizing};

use super::hashed::{HASHED_OTS, HashedOtSink, HashedOts, NextOts, OtBits, ROLES};
use super::queue::BitQueue;
use super::rows::{BitWriter, CrossMasks, CrossOts, LayerCrosses};
use crate::Error;

/// The side of a square of bits that is transposed at once.
const SIDE: usize = 128;

/// The number of OTs from which they are hashed to bits apart from others.
const BITS_OTS: usize = 256;

/// The number of OTs of narrow crosses that are stored as one.
const NARROW_OTS: usize = 1 << 18;

/// The number of bits below which placing them one by one is faster than transposing a square.
const FEW_BITS: usize = 128;

/// A converter of the lowest bits of blocks into rows.
pub(super) struct RowWriter {
    square: Zeroizing<Vec<Block>>,
    columns: Zeroizing<Vec<Block>>,
    words: Zeroizing<Vec<u64>>,
    bits: BitWriter,
}

impl RowWriter {
    pub(super) fn new() -> Self {
        let square = || Zeroizing::new(vec![Block::ZERO; SIDE]);
        Self {
            square: square(),
            columns: square(),
            words: Zeroizing::new(vec![0; HASHED_OTS / 64]),
            bits: BitWriter::default(),
        }
    }

    /// Writes the lowest `rows` bits of each block one after the other: the rows of crosses of one
    /// instance. Returns the words and the number of bits.
    fn columns(&mut self, blocks: &[Block], rows: usize) -> (&[u64], usize) {
        let bits = blocks.len() * rows;
        self.bits.restart(bits as u64);
        for block in blocks {
            let words = block.to_u128();
            let words = [words as u64, (words >> 64) as u64];
            self.bits.push(words.into_iter(), rows);
        }
        self.bits.fill_up();
        (self.bits.words(), bits)
    }

    /// Calls `put` with parts of `rows` rows, in which bit i of row k is bit k of block i. Its
    /// arguments are the row, the position of the part's first bit in the row, the part's words,
    /// and the number of bits that count. The other bits are zero.
    ///
    /// # Panics
    ///
    /// Panics if there are more than [`HASHED_OTS`] blocks.
    pub(super) fn write(
        &mut self,
        blocks: &[Block],
        rows: usize,
        mut put: impl FnMut(usize, usize, &[u64], usize),
    ) {
        if rows == 1 {
            low_bits(blocks, &mut self.words);
            put(0, 0, &self.words, blocks.len());
            return;
        }
        if blocks.len() * rows <= FEW_BITS && blocks.len() <= 64 {
            for row in 0..rows {
                let bit = |block: &Block| (block.to_u128() >> row) as u64 & 1;
                let word = (0..).zip(blocks);
                let word = word.fold(0, |word, (i, block)| word | bit(block) << i);
                put(row, 0, &[word], blocks.len());
            }
            return;
        }
        for (at, part) in (0..).step_by(SIDE).zip(blocks.chunks(SIDE)) {
            self.square[..part.len()].copy_from_slice(part);
            self.square[part.len()..].zeroize();
            transpose_128(Cpu::detect(), &self.square, &mut self.columns);
            for (row, column) in self.columns[..rows].iter().enumerate() {
                let bits = column.to_u128();
                put(row, at, &[bits as u64, (bits >> 64) as u64], part.len());
            }
        }
    }
}

/// Consecutive crosses that are stored in the queues as one.
#[derive(Clone, Copy)]
struct StoredCrosses {
    width: usize,
    /// The OTs of each cross or, if the width is 1, of all crosses together.
    instances: usize,
    /// The number of crosses. It exceeds 1 only if each has one instance.
    crosses: usize,
}

impl StoredCrosses {
    fn ots(self) -> usize {
        self.instances * self.crosses
    }

    /// Merges `next` into these crosses, if the rows of both can be stored as those of one. Returns
    /// whether it did.
    fn join(&mut self, next: Self) -> bool {
        let most = match self.width {
            1 => NARROW_OTS,
            _ => HASHED_OTS,
        };
        let fit = self.ots() + next.ots() <= most && self.width == next.width;
        if fit && self.width == 1 {
            self.instances += next.instances;
        } else if fit && self.instances == 1 && next.instances == 1 {
            self.crosses += next.crosses;
        } else {
            return false;
        }
        true
    }
}

/// Returns the crosses of a run whose OTs `sender` sends, in the order of their OTs.
fn merged_crosses(
    schedule: &Schedule,
    sender: Role,
) -> impl Iterator<Item = StoredCrosses> + Send + '_ {
    let crosses = schedule.steps().flat_map(move |step| {
        step.at_work.into_iter().flat_map(move |at_work| {
            let group = schedule.group(at_work.group);
            let instances = group.instances();
            let widths = group.program().pieces(at_work.layer);
            let widths = widths.map(move |piece| piece.widths[sender.other() as usize]);
            widths
                .filter(|width| *width > 0)
                .map(move |width| StoredCrosses {
                    width,
                    instances,
                    crosses: 1,
                })
        })
    });
    let mut crosses = crosses.peekable();
    iter::from_fn(move || {
        let mut merged = crosses.next()?;
        while crosses.next_if(|next| merged.join(*next)).is_some() {}
        Some(merged)
    })
}

/// The start of a cross: the number of its first OT, and of its first bit in both queues.
#[derive(Clone, Copy, Default)]
struct CrossStart {
    number: u64,
    bits: [u64; 2],
}

/// A cross that has received some of its OTs.
struct Unfinished {
    stored: StoredCrosses,
    bits: [u64; 2],
    filled: usize,
}

/// A party's masks of one direction.
struct DirectionMasks<'s> {
    /// Whether the party sends the OTs. The sender has a first row for each gate, the receiver one
    /// in all.
    sends: bool,
    ahead: Box<dyn Iterator<Item = StoredCrosses> + Send + 's>,
    unfinished: Option<Unfinished>,
    writer: RowWriter,
    queues: [BitQueue; 2],
    /// The number of OTs that are still to come (`wanted`), and of those that have come (`taken`).
    wanted: u64,
    taken: u64,
    /// The start of the step's crosses, and of the cross that is read next.
    step: CrossStart,
    next: CrossStart,
}

impl DirectionMasks<'_> {
    /// Returns the number of rows of a cross in both queues.
    fn rows(&self, width: usize) -> [usize; 2] {
        [if self.sends { width } else { 1 }, width]
    }

    fn take(&mut self, ots: HashedOts<'_>) {
        let (mut done, length) = (0, ots.first.len());
        self.wanted -= length as u64;
        self.taken += length as u64;
        while done < length {
            let Some(mut cross) = self.unfinished.take().or_else(|| self.begin_cross()) else {
                break;
            };
            let StoredCrosses { instances, .. } = cross.stored;
            let end = length.min(done + cross.stored.ots() - cross.filled);
            let rows = self.rows(cross.stored.width);
            for (of, blocks) in [ots.first, ots.second].into_iter().enumerate() {
                let (queue, blocks) = (&mut self.queues[of], &blocks[done..end]);
                if instances == 1 && rows[of] > 1 {
                    let first = cross.bits[of] + (cross.filled * rows[of]) as u64;
                    let (words, bits) = self.writer.columns(blocks, rows[of]);
                    queue.put(first, words, bits);
                    continue;
                }
                let first = cross.bits[of] + cross.filled as u64;
                self.writer.write(blocks, rows[of], |row, at, words, bits| {
                    queue.put(first + (row * instances + at) as u64, words, bits);
                });
            }
            cross.filled += end - done;
            done = end;
            self.unfinished = (cross.filled < cross.stored.ots()).then_some(cross);
        }
    }

    /// Returns the form in which it best takes the next OTs.
    fn next_ots(&mut self) -> NextOts {
        self.unfinished = self.unfinished.take().or_else(|| self.begin_cross());
        match &self.unfinished {
            Some(cross) if cross.stored.width == 1 => match cross.stored.ots() - cross.filled {
                count @ BITS_OTS.. => NextOts::Bits {
                    count: count as u64,
                    lead: 0,
                },
                _ => NextOts::Blocks,
            },
            _ => NextOts::Blocks,
        }
    }

    /// Takes the next OTs, of narrow crosses that are stored as one.
    fn take_bits(&mut self, bits: OtBits<'_>) {
        let OtBits { count, lead, .. } = bits;
        assert_eq!(lead, 0, "bits where the queue said");
        self.wanted -= count as u64;
        self.taken += count as u64;
        if let Some(mut cross) = self.unfinished.take() {
            for (of, words) in [bits.first, bits.second].into_iter().enumerate() {
                self.queues[of].put(cross.bits[of] + cross.filled as u64, words, count);
            }
            cross.filled += count;
            self.unfinished = (cross.filled < cross.stored.ots()).then_some(cross);
        }
    }

    fn begin_cross(&mut self) -> Option<Unfinished> {
        let stored = self.ahead.next()?;
        let rows = self.rows(stored.width);
        let [first, second] = rows.map(|rows| (rows * stored.ots()) as u64);
        Some(Unfinished {
            stored,
            bits: [self.queues[0].add(first), self.queues[1].add(second)],
            filled: 0,
        })
    }

    /// Moves to the crosses whose OTs start at this number.
    fn go_to(&mut self, number: u64, ots: u64) {
        if number == self.step.number {
            self.next = self.step;
        }
        assert_eq!(number, self.next.number, "crosses in order");
        // Without its OTs a cross would have masks of zeros, and would open shares in the clear.
        assert!(number + ots <= self.taken, "the OTs of a cross are there");
    }

    fn read_packed(&mut self, crosses: &LayerCrosses<'_>, into: [&mut BitWriter; 2]) {
        let instances = crosses.instances as u64;
        let ots = crosses.crosses * instances;
        self.go_to(crosses.number, ots);
        for (of, (into, rows)) in into.into_iter().zip(crosses.rows()).enumerate() {
            let mut left = rows * instances;
            while left > 0 {
                let bits = left.min(64);
                let mut word = [0];
                self.queues[of].read(self.next.bits[of], bits as usize, &mut word);
                into.push(word.into_iter(), bits as usize);
                self.next.bits[of] += bits;
                left -= bits;
            }
        }
        self.next.number += ots;
    }

    fn read(&mut self, cross: &CrossOts, into: [&mut [u64]; 2]) {
        self.go_to(cross.number, cross.instances as u64);
        let words = cross.instances.div_ceil(64);
        let rows = self.rows(cross.width);
        for (of, into) in into.into_iter().enumerate() {
            for row in into[..rows[of] * words].chunks_exact_mut(words) {
                self.queues[of].read(self.next.bits[of], cross.instances, row);
                self.next.bits[of] += cross.instances as u64;
            }
        }
        self.next.number += cross.instances as u64;
    }

    /// Wipes the crosses of the finished step.
    fn end_step(&mut self) {
        self.step = self.next;
        for (queue, bits) in self.queues.iter_mut().zip(self.step.bits) {
            queue.release(bits);
        }
    }
}

/// A party's masks for both directions of a run, from OTs that are made during the run.
pub(super) struct MadeMasks<'s>([DirectionMasks<'s>; 2]);

impl<'s> MadeMasks<'s> {
    /// Returns empty masks for a run of `schedule` by the party in `role`.
    pub(super) fn new(schedule: &'s Schedule, role: Role) -> Self {
        let wanted = schedule.total_ots();
        Self(ROLES.map(|sender| DirectionMasks {
            sends: sender == role,
            ahead: Box::new(merged_crosses(schedule, sender)),
            unfinished: None,
            writer: RowWriter::new(),
            queues: Default::default(),
            wanted: wanted[sender as usize],
            taken: 0,
            step: CrossStart::default(),
            next: CrossStart::default(),
        }))
    }

    /// Wipes the masks of the finished step.
    pub(super) fn end_step(&mut self) {
        self.0.iter_mut().for_each(DirectionMasks::end_step);
    }
}

impl HashedOtSink for MadeMasks<'_> {
    fn wants(&self, sender: Role) -> u64 {
        self.0[sender as usize].wanted
    }

    fn take(&mut self, sender: Role, ots: HashedOts<'_>) -> Result<(), Error> {
        self.0[sender as usize].take(ots);
        Ok(())
    }

    fn next(&mut self, sender: Role) -> NextOts {
        self.0[sender as usize].next_ots()
    }

    fn take_bits(&mut self, sender: Role, bits: OtBits<'_>) -> Result<(), Error> {
        self.0[sender as usize].take_bits(bits);
        Ok(())
    }
}

impl CrossMasks for MadeMasks<'_> {
    fn rows(&mut self, cross: &CrossOts, first: &mut [u64], second: &mut [u64]) {
        self.0[cross.sender as usize].read(cross, [first, second]);
    }

    fn packed_rows(
        &mut self,
        crosses: &LayerCrosses<'_>,
        first: &mut BitWriter,
        second: &mut BitWriter,
    ) {
        self.0[crosses.sender as usize].read_packed(crosses, [first, second]);
    }
}
