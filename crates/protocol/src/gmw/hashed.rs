//! The OTs of a direction, hashed, on their way to those who take them.
//!
//! H is [`CrossHash`], whose start point is the first 16 bytes of SHA-256("tacit gmw hash 1\0" ‖
//! tag of the direction). The threads that hash OTs also turn them into rows of bits: in most cases
//! one bit of a hash is used.

use core::mem;
use core::num::NonZeroUsize;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Role;
use tacit_kernels::{Block, CrossHash, share_out, wiping_stack};
use tacit_ot::{Delta, Outputs};
use zeroize::Zeroizing;

use super::packing::{OtPart, RowWriter, make_room};
use crate::Error;
use crate::bits::read_block;
use crate::session::RunTag;

/// The number of OTs that are hashed at a time: their blocks stay in a cache.
pub(super) const HASHED_OTS: usize = 1 << 12;

/// Returns the hash of the direction with this tag.
pub(super) fn hash_of(direction: &RunTag) -> CrossHash {
    let hash = Sha256::new_with_prefix(b"tacit gmw hash 1\0").chain_update(direction.as_bytes());
    CrossHash::new(read_block(&hash.finalize()))
}

/// A consumer of hashed OTs: their [`OtPart`]s, in order.
pub(super) trait HashedOtSink {
    /// Returns the number of OTs of `sender`'s direction that it still takes.
    fn wants(&self, sender: Role) -> u64;

    /// Names the parts in which it takes the next OTs of `sender`'s direction, until `next` is full
    /// or it wants no more.
    fn next_parts(&mut self, sender: Role, next: &mut NextParts);

    /// Returns the number of the next OTs of `sender`'s direction that it takes as
    /// [bits](OtPart::of_bits), in one part of any length up to this one. A device hashes them.
    fn next_bits(&mut self, sender: Role) -> u64;

    /// Takes the next OTs of `sender`'s direction as this part: its first rows, and its second
    /// ones.
    ///
    /// # Errors
    ///
    /// It can take no more OTs. No further OTs are made for it.
    fn take_part(&mut self, sender: Role, part: &OtPart, rows: [&[u64]; 2]) -> Result<(), Error>;
}

/// The parts of OTs that are hashed next, and then passed on together.
pub(super) struct NextParts {
    parts: Vec<OtPart>,
    ots: usize,
    words: usize,
    most_ots: usize,
}

impl NextParts {
    /// Returns no parts yet, and room for those of this many OTs.
    pub(super) fn new(most_ots: usize) -> Self {
        Self {
            parts: Vec::new(),
            ots: 0,
            words: 0,
            most_ots,
        }
    }

    /// Whether there is no room for a further part.
    pub(super) fn is_full(&self) -> bool {
        self.ots >= self.most_ots || self.words >= MOST_WORDS
    }

    /// Adds a part, or as much of it as there is room for and as is hashed at a time. Returns the
    /// number of its OTs that were added.
    pub(super) fn add(&mut self, part: OtPart) -> usize {
        let left = self.most_ots - self.ots;
        let part = OtPart {
            ots: part.ots.min(HASHED_OTS).min(left),
            ..part
        };
        self.ots += part.ots;
        self.words += part.words(0) + part.words(1);
        self.parts.push(part);
        part.ots
    }

    /// Returns the parts.
    pub(super) fn parts(&self) -> &[OtPart] {
        &self.parts
    }
}

/// The number of parts of OTs that each thread hashes before all are passed on.
const PARTS_OF_TURN: usize = 16;

/// No further parts are hashed once their rows have this many words: more would leave the cache
/// before they are passed on.
const MOST_WORDS: usize = 1 << 18;

/// Memory for hashes of a run, reused because its pages would cost as much as the hashing.
#[derive(Default)]
pub(super) struct HashRoom {
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
            let mut next = NextParts::new(most.min(ots.len()));
            sink.next_parts(sender, &mut next);
            assert!(next.ots > 0, "a part of the OTs that are wanted");
            let (now, later) = mem::take(&mut ots).split_at_mut(next.ots);
            let mut rows = self.rows(number, now, next.parts());
            for part in next.parts() {
                let of_part = [0, 1].map(|of| {
                    let (now, later) = rows[of].split_at(part.words(of));
                    rows[of] = later;
                    now
                });
                sink.take_part(sender, part, of_part)?;
            }
            (number, ots) = (number + next.ots as u64, later);
        }
        Ok(())
    }

    /// Returns the rows of these parts, which are all OTs. The OTs are then wiped.
    fn rows(&mut self, number: u64, ots: &mut [Block], parts: &[OtPart]) -> [&[u64]; 2] {
        let words = [0, 1].map(|of| parts.iter().map(|part| part.words(of)).sum());
        self.room.grow(self.threads.get(), words);
        let HashRoom { rows, threads, .. } = &mut *self.room;
        let [first, second] = rows;
        let (mut rows, mut ots) = ([&mut first[..words[0]], &mut second[..words[1]]], ots);
        let (mut number, mut parts) = (number, parts);
        let mut all = Vec::new();
        while !parts.is_empty() {
            let (count, of_thread) = hashed_together(parts);
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

/// Returns how many of the first parts a thread hashes together, and the number of their OTs.
fn hashed_together(parts: &[OtPart]) -> (usize, usize) {
    let (mut count, mut ots) = (0, 0);
    while let Some(part) = parts.get(count)
        && ots + part.ots <= HASHED_OTS
    {
        (count, ots) = (count + 1, ots + part.ots);
    }
    (count, ots)
}
