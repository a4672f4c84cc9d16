//! The OTs of a direction, hashed, on their way to those who take them.
//!
//! H is [`CrossHash`], whose start point is the first 16 bytes of SHA-256("tacit gmw hash 1\0" ‖
//! tag of the direction). The threads that hash OTs also turn them into rows of bits: in most cases
//! one bit of a hash is used. OTs come as blocks where all bits are used, and as two bits each from
//! a device that hashes them.

use core::mem;
use core::num::NonZeroUsize;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Role;
use tacit_kernels::{Block, CrossHash, share_out, wiping_stack, workers};
use tacit_ot::{Delta, Outputs};
use zeroize::Zeroizing;

use super::packing::{OtPart, RowWriter, make_room};
use crate::Error;
use crate::bits::read_block;
use crate::session::RunTag;

pub(super) const ROLES: [Role; 2] = Role::BOTH;

/// The number of OTs that are hashed at a time: their blocks stay in a cache.
pub(super) const HASHED_OTS: usize = 1 << 12;

/// Returns the hash of the direction with this tag.
pub(super) fn hash_of(direction: &RunTag) -> CrossHash {
    let hash = Sha256::new_with_prefix(b"tacit gmw hash 1\0").chain_update(direction.as_bytes());
    CrossHash::new(read_block(&hash.finalize()))
}

/// Hashed OTs of a direction, in order: one block for each, of which the lowest bits are used.
#[derive(Clone, Copy)]
pub(super) struct HashedOts<'b> {
    /// At the OTs' sender, r. At the receiver, t, of which only bit 0, the choice b, is used.
    pub(super) first: &'b [Block],
    /// At the sender, α. At the receiver, ρ.
    pub(super) second: &'b [Block],
}

/// A consumer of hashed OTs.
pub(super) trait HashedOtSink {
    /// Returns the number of OTs of `sender`'s direction that it still takes.
    fn wants(&self, sender: Role) -> u64;

    /// Returns the form in which it best takes the next OTs of `sender`'s direction. `most` is the
    /// largest number of OTs that are useful in parts.
    fn next(&mut self, sender: Role, most: usize) -> NextOts;

    /// Takes the next OTs of `sender`'s direction, no more than it wants.
    ///
    /// # Errors
    ///
    /// It can take no more OTs. No further OTs are made for it.
    fn take(&mut self, sender: Role, ots: HashedOts<'_>) -> Result<(), Error>;

    /// Takes the next OTs of `sender`'s direction as bits, no more than [`next`](Self::next) said.
    fn take_bits(&mut self, sender: Role, bits: OtBits<'_>) -> Result<(), Error>;

    /// Takes the next OTs of `sender`'s direction as the next part that [`next`](Self::next) named:
    /// its first rows, and its second ones.
    fn take_part(&mut self, sender: Role, part: &OtPart, rows: [&[u64]; 2]) -> Result<(), Error>;
}

/// The form in which the next OTs are taken.
pub(super) enum NextOts {
    /// As blocks.
    Blocks,
    /// Two bits of each, for this many OTs.
    Bits {
        count: u64,
        /// The place in a word where the first OT's bit suits best.
        lead: usize,
    },
    /// As rows, in these parts.
    Parts(Vec<OtPart>),
}

/// Hashed OTs of a direction, of which bit 0 is used: as [`HashedOts`], in order.
#[derive(Clone, Copy)]
pub(super) struct OtBits<'b> {
    pub(super) first: &'b [u64],
    pub(super) second: &'b [u64],
    /// The place of the first OT's bit in the first word. The bits before it, and those after the
    /// last, are zero.
    pub(super) lead: usize,
    pub(super) count: usize,
}

/// The number of parts of OTs that each thread hashes before all are passed on.
const PARTS_OF_TURN: usize = 16;

/// The most words of rows that wait to be passed on, unless one thread makes more at once.
pub(super) const MOST_WORDS: usize = 1 << 18;

/// Memory for hashes of a run, reused because its pages would cost as much as the hashing.
#[derive(Default)]
pub(super) struct HashRoom {
    /// Second hashes that are passed on as blocks.
    blocks: Outputs,
    /// First and second rows.
    rows: [Zeroizing<Vec<u64>>; 2],
    threads: Vec<ThreadRoom>,
}

/// What a thread works in.
struct ThreadRoom {
    second: Outputs,
    writer: RowWriter,
}

impl HashRoom {
    /// Makes room for this many threads and words of rows. Wiped memory serves again.
    fn grow(&mut self, threads: usize, words: [usize; 2]) {
        let new = || ThreadRoom {
            second: Zeroizing::new(vec![Block::ZERO; HASHED_OTS]),
            writer: RowWriter::default(),
        };
        while self.threads.len() < threads {
            self.threads.push(new());
        }
        for (rows, words) in self.rows.iter_mut().zip(words) {
            make_room(rows, words);
        }
    }
}

/// A party's half of a direction.
#[derive(Clone, Copy)]
pub(super) enum OtHalf<'d> {
    Sender(&'d Delta),
    Receiver,
}

/// The hash of a direction's OTs, and the threads that compute it.
pub(super) struct OtHash<'h> {
    pub(super) hash: &'h CrossHash,
    pub(super) half: OtHalf<'h>,
    pub(super) threads: NonZeroUsize,
    pub(super) room: &'h mut HashRoom,
}

/// OTs that one thread hashes and turns into rows.
struct HashedPart<'b> {
    number: u64,
    ots: &'b mut [Block],
    parts: &'b [OtPart],
    rows: [&'b mut [u64]; 2],
}

impl OtHash<'_> {
    /// Hashes OTs numbered from `number` on, passes them to `sink`, which wants them all, and wipes
    /// them. Their memory serves again.
    pub(super) fn pass_on(
        mut self,
        mut number: u64,
        mut ots: &mut [Block],
        (sender, sink): (Role, &mut impl HashedOtSink),
    ) -> Result<(), Error> {
        let most = HASHED_OTS
            * match self.threads.get() {
                1 => 1,
                threads => PARTS_OF_TURN * threads,
            };
        while !ots.is_empty() {
            let next = sink.next(sender, most.min(ots.len()));
            let count = match &next {
                NextOts::Blocks => most.min(ots.len()),
                NextOts::Bits { count, .. } => most.min(ots.len()).min(*count as usize),
                NextOts::Parts(parts) => counted(parts, ots.len()).1,
            };
            let (now, later) = mem::take(&mut ots).split_at_mut(count);
            match next {
                NextOts::Blocks => self.blocks(number, now, |ots| sink.take(sender, ots))?,
                NextOts::Bits { lead, .. } => {
                    let [first, second] = self.bits(number, now, lead);
                    let bits = OtBits {
                        first,
                        second,
                        lead,
                        count,
                    };
                    sink.take_bits(sender, bits)?;
                }
                NextOts::Parts(parts) => {
                    let parts = &parts[..counted(&parts, count).0];
                    let mut rows = self.parts(number, now, parts);
                    for part in parts {
                        let of_part = [0, 1].map(|of| {
                            let (now, later) = rows[of].split_at(part.words(of));
                            rows[of] = later;
                            now
                        });
                        sink.take_part(sender, part, of_part)?;
                    }
                }
            }
            (number, ots) = (number + count as u64, later);
        }
        Ok(())
    }

    /// Hashes OTs and passes them to `take` as blocks.
    fn blocks(
        &mut self,
        number: u64,
        ots: &mut [Block],
        mut take: impl FnMut(HashedOts<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (hash, half) = (self.hash, self.half);
        let room = &mut self.room.blocks;
        make_room(room, ots.len());
        let second = &mut room[..ots.len()];
        let parts = ots.chunks_mut(HASHED_OTS);
        let parts = parts.zip(second.chunks_mut(HASHED_OTS)).enumerate();
        share_out(&mut workers(self.threads), parts, |(), (part, both)| {
            let number = number + (part * HASHED_OTS) as u64;
            let (first, second) = both;
            match half {
                OtHalf::Sender(delta) => {
                    wiping_stack(|| hash.hash_both(number, delta.as_block(), first, second));
                    for (one, zero) in second.iter_mut().zip(&*first) {
                        *one ^= *zero;
                    }
                }
                OtHalf::Receiver => {
                    second.copy_from_slice(first);
                    wiping_stack(|| hash.hash(number, second));
                }
            }
        });
        let parts = ots.chunks(HASHED_OTS).zip(second.chunks(HASHED_OTS));
        for (first, second) in parts {
            take(HashedOts { first, second })?;
        }
        let parts = ots.chunks_mut(HASHED_OTS * PARTS_OF_TURN);
        share_out(&mut workers(self.threads), parts, |(), part| {
            part.fill(Block::ZERO)
        });
        Ok(())
    }

    /// Returns one bit of each hash of these OTs, from bit `lead` on. The OTs are then wiped.
    fn bits(&mut self, number: u64, ots: &mut [Block], lead: usize) -> [&[u64]; 2] {
        let words = (lead + ots.len()).div_ceil(64);
        self.room.grow(self.threads.get(), [words; 2]);
        let HashRoom { rows, threads, .. } = &mut *self.room;
        let [first, second] = rows.each_mut().map(|rows| &mut rows[..words]);
        let (head, rest) = ots.split_at_mut(ots.len().min(HASHED_OTS - lead));
        let lead_of_rest = head.len() as u64;
        let parts = core::iter::once(head).chain(rest.chunks_mut(HASHED_OTS));
        let rows = first.chunks_mut(HASHED_OTS / 64);
        let rows = rows.zip(second.chunks_mut(HASHED_OTS / 64));
        let parts: Vec<_> = parts.zip(rows).enumerate().collect();
        let (hash, half) = (self.hash, self.half);
        share_out(threads, parts, |room, (part, (ots, rows))| {
            let (number, lead) = match part.checked_sub(1) {
                None => (number, lead),
                Some(before) => (number + lead_of_rest + (before * HASHED_OTS) as u64, 0),
            };
            let one = OtPart {
                ots: ots.len(),
                rows: [1; 2],
                is_of_single: false,
            };
            let words = ots.len().div_ceil(64);
            let [first, second] = [rows.0, rows.1];
            let mut of_part = HashedPart {
                number,
                ots,
                parts: &[one],
                rows: [&mut first[..words], &mut second[..words]],
            };
            of_part.make(hash, half, room);
            shift_up(first, words, lead);
            shift_up(second, words, lead);
        });
        self.room.rows.each_ref().map(|rows| &rows[..words])
    }

    /// Returns the rows of these parts, which are all OTs. The OTs are then wiped.
    fn parts(&mut self, number: u64, ots: &mut [Block], parts: &[OtPart]) -> [&[u64]; 2] {
        let words = [0, 1].map(|of| parts.iter().map(|part| part.words(of)).sum());
        self.room.grow(self.threads.get(), words);
        let HashRoom { rows, threads, .. } = &mut *self.room;
        let [first, second] = rows;
        let (mut rows, mut ots) = ([&mut first[..words[0]], &mut second[..words[1]]], ots);
        let (mut number, mut parts) = (number, parts);
        let mut all = Vec::new();
        while !parts.is_empty() {
            let (count, of_thread) = counted(parts, HASHED_OTS);
            let (now, later) = parts.split_at(count);
            let (here, after) = mem::take(&mut ots).split_at_mut(of_thread);
            let rows_here = [0, 1].map(|of| {
                let words = now.iter().map(|part| part.words(of)).sum();
                let (here, after) = mem::take(&mut rows[of]).split_at_mut(words);
                rows[of] = after;
                here
            });
            all.push(HashedPart {
                number,
                ots: here,
                parts: now,
                rows: rows_here,
            });
            (number, parts, ots) = (number + of_thread as u64, later, after);
        }
        let (hash, half) = (self.hash, self.half);
        share_out(threads, all, |room, mut part| part.make(hash, half, room));
        let [first, second] = &self.room.rows;
        [&first[..words[0]], &second[..words[1]]]
    }
}

impl HashedPart<'_> {
    /// Hashes the OTs, writes their rows and wipes them.
    fn make(&mut self, hash: &CrossHash, half: OtHalf<'_>, room: &mut ThreadRoom) {
        if let [part] = self.parts
            && part.rows == [1; 2]
        {
            // No hash is written to memory.
            let rows = self.rows.each_mut().map(|rows| &mut **rows);
            return match half {
                OtHalf::Sender(delta) => {
                    hash.hash_both_to_bits(self.number, delta.as_block(), self.ots, rows);
                }
                OtHalf::Receiver => hash.hash_to_bits(self.number, self.ots, rows),
            };
        }
        let second = &mut room.second[..self.ots.len()];
        match half {
            OtHalf::Sender(delta) => wiping_stack(|| {
                hash.hash_both(self.number, delta.as_block(), self.ots, second);
            }),
            OtHalf::Receiver => {
                second.copy_from_slice(self.ots);
                wiping_stack(|| hash.hash(self.number, second));
            }
        }
        let [mut firsts, mut seconds] = self.rows.each_mut().map(|rows| &mut **rows);
        let (mut at, writer) = (0, &mut room.writer);
        for part in self.parts {
            let (first, later) = mem::take(&mut firsts).split_at_mut(part.words(0));
            firsts = later;
            let (second_rows, later) = mem::take(&mut seconds).split_at_mut(part.words(1));
            seconds = later;
            let blocks = at..at + part.ots;
            writer.write_part(part, 0, &self.ots[blocks.clone()], first);
            writer.write_part(part, 1, &second[blocks], second_rows);
            if let OtHalf::Sender(_) = half {
                // α = H(q) ⊕ H(q ⊕ Δ), and the first rows are those of H(q).
                for (alpha, r) in second_rows.iter_mut().zip(&*first) {
                    *alpha ^= r;
                }
            }
            at += part.ots;
        }
        // Their memory is in a cache now. What a thread holds is overwritten by its next part.
        self.ots.fill(Block::ZERO);
    }
}

/// Returns the number of the first parts that have at most `most` OTs together, and of their OTs;
/// but at least one part. More words than are good for a cache do not wait together.
fn counted(parts: &[OtPart], most: usize) -> (usize, usize) {
    let (mut ots, mut words) = (0, 0);
    let fits = |part: &&OtPart| {
        ots += part.ots;
        words += part.words(0) + part.words(1);
        ots <= most && words <= MOST_WORDS
    };
    let count = parts.iter().take_while(fits).count().max(1);
    (count, parts[..count].iter().map(|part| part.ots).sum())
}

/// Shifts the first `words` words of a row up by fewer than 64 bits. There is a further word if the
/// bits need one.
fn shift_up(row: &mut [u64], words: usize, bits: usize) {
    if bits == 0 {
        return;
    }
    let mut carry = 0;
    for word in &mut row[..words] {
        let shifted = *word << bits | carry;
        carry = *word >> (64 - bits);
        *word = shifted;
    }
    if let Some(next) = row.get_mut(words) {
        *next = carry;
    }
}
