//! Crosses that are made ahead, in blocks, for any function.
//!
//! A *narrow* cross has one gate, a *wide* one up to 128. At each party, a block of a direction
//! holds the following for each of its crosses, in the order of their OTs (bits from the lowest of
//! each byte on):
//!
//! | kind | crosses | at the OTs' sender | at their receiver |
//! |---|---|---|---|
//! | narrow | 2^16 | 8 KiB of r, 8 KiB of α | 8 KiB of b, 8 KiB of ρ |
//! | wide | 4,096 | 64 KiB of H(q), 64 KiB of H(q ⊕ Δ) | 512 bytes of b, 64 KiB of H(t) |
//!
//! A wide cross with w gates uses the first w bits of each hash. No Δ, q or t is kept. A run takes
//! either all of its crosses from blocks or none. It takes those of width 1 from narrow blocks and
//! the others from wide ones, each kind in order and from whole blocks. The rest of a block is
//! lost. A cross that is used twice reveals the XOR of two secrets. Therefore a [`CrossBlock`]
//! cannot be copied, and a run consumes it. The owner of the blocks records durably, before the
//! first step, that they are spent.

use core::fmt;
use core::ops::Range;

use tacit_circuit::Role;
use tacit_function::Schedule;
use tacit_function::schedule::StepWork;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::directions::Directions;
use super::hashed::{HashedOtSink, NextParts};
use super::packing::{OtPart, RowWriter, rows_of_cross};
use super::queue::BitQueue;
use super::rows::{CrossMasks, CrossOts};
use crate::Error;
use crate::bits::{bit, read_block};
use crate::io::{Io, boxed};

/// The kinds of crosses in stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrossKind {
    /// Crosses with one gate.
    Narrow,
    /// Crosses with up to 128 gates.
    Wide,
}

impl CrossKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Narrow, Self::Wide];

    /// Returns the number of crosses in a block.
    pub const fn crosses(self) -> usize {
        match self {
            Self::Narrow => 1 << 16,
            Self::Wide => 1 << 12,
        }
    }

    /// Returns the bytes of a block at the party that sends the OTs (`sends`), or at the other one.
    pub const fn bytes(self, sends: bool) -> usize {
        let crosses = self.crosses();
        match self {
            Self::Narrow => 2 * crosses / 8,
            Self::Wide if sends => 2 * crosses * Block::BYTES,
            Self::Wide => crosses / 8 + crosses * Block::BYTES,
        }
    }

    /// Returns this many OTs of a block at the party that sends them (`sends`), or at the other
    /// one, in the form that is nearest to the block's.
    fn part(self, ots: usize, sends: bool) -> OtPart {
        match self {
            Self::Narrow => OtPart::of_bits(ots),
            Self::Wide => OtPart {
                ots,
                rows: rows_of_cross(8 * Block::BYTES, sends),
                is_of_single: true,
            },
        }
    }
}

/// A party's half of a block of crosses. It serves one run and cannot be copied.
pub struct CrossBlock {
    kind: CrossKind,
    sends: bool,
    bytes: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for CrossBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CrossBlock({:?}, ..)", self.kind)
    }
}

impl CrossBlock {
    /// Returns the block of this kind that was stored as `bytes`. `sends` says whether this party
    /// sent its OTs.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedMaterial`] if the length is not [`CrossKind::bytes`].
    pub fn from_bytes(
        kind: CrossKind,
        sends: bool,
        bytes: Zeroizing<Vec<u8>>,
    ) -> Result<Self, Error> {
        let expected = kind.bytes(sends);
        if bytes.len() == expected {
            return Ok(Self { kind, sends, bytes });
        }
        let found = bytes.len();
        let what = format!("a block of crosses is {found} bytes long in place of {expected}");
        Err(Error::DamagedMaterial(what))
    }

    /// Returns the block's bytes, for storage.
    #[must_use]
    pub fn into_bytes(self) -> Zeroizing<Vec<u8>> {
        self.bytes
    }
}

/// The number of blocks of each kind that a run takes, or that a preparation makes, by the OTs'
/// sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrossDemand {
    /// Blocks of narrow crosses.
    pub narrow: [u64; 2],
    /// Blocks of wide crosses.
    pub wide: [u64; 2],
}

impl CrossDemand {
    /// Returns the demand of a run with this schedule.
    pub fn of(schedule: &Schedule) -> Self {
        let (mut narrow, mut wide) = ([0; 2], [0; 2]);
        for step in schedule.steps() {
            for sender in Role::BOTH.map(|sender| sender as usize) {
                narrow[sender] += step.narrow_ots[sender];
                wide[sender] += step.ots[sender] - step.narrow_ots[sender];
            }
        }
        let blocks = |crosses: u64, kind: CrossKind| crosses.div_ceil(kind.crosses() as u64);
        Self {
            narrow: narrow.map(|crosses| blocks(crosses, CrossKind::Narrow)),
            wide: wide.map(|crosses| blocks(crosses, CrossKind::Wide)),
        }
    }

    /// Returns the number of blocks of one kind and direction.
    pub fn blocks(&self, kind: CrossKind, sender: Role) -> u64 {
        match kind {
            CrossKind::Narrow => self.narrow[sender as usize],
            CrossKind::Wide => self.wide[sender as usize],
        }
    }
}

/// The bytes of a kind and direction whose blocks are opened at least at a time, if as many are left.
const OPENED_BYTES: usize = 4 << 20;

/// Returns the number of blocks of a kind that are opened at least at a time.
const fn opened_at_least(kind: CrossKind) -> u64 {
    (OPENED_BYTES / kind.bytes(true)) as u64
}

/// Returns the number of crosses of a kind and direction that a step uses.
fn crosses_of(step: &StepWork, kind: CrossKind, sender: usize) -> u64 {
    match kind {
        CrossKind::Narrow => step.narrow_ots[sender],
        CrossKind::Wide => step.ots[sender] - step.narrow_ots[sender],
    }
}

/// Returns an upper bound on the crosses of a kind and direction that are open at one time.
pub(super) fn most_open(schedule: &Schedule, kind: CrossKind, sender: Role) -> u64 {
    let of_step = |step: StepWork| crosses_of(&step, kind, sender as usize);
    let most = schedule.steps().map(of_step).max().unwrap_or_default();
    let blocks = CrossDemand::of(schedule).blocks(kind, sender);
    let crosses = kind.crosses() as u64;
    // What a step leaves of its last block stays open, and narrow crosses go by the segment.
    let opened = most + (opened_at_least(kind) + 1) * crosses + BitQueue::SEGMENT_BITS;
    opened.min(blocks * crosses)
}

/// Wide crosses of a direction: two hashes of each or, at the OTs' receiver, b and one hash.
#[derive(Default)]
struct WideCrosses {
    /// The number of the first one that is here.
    start: u64,
    first: Zeroizing<Vec<Block>>,
    second: Zeroizing<Vec<Block>>,
}

impl WideCrosses {
    /// Forgets those before number `used`, and makes room for `more`.
    fn renew(&mut self, used: u64, more: usize) {
        let gone = (used - self.start) as usize;
        for blocks in [&mut self.first, &mut self.second] {
            // The old memory is wiped on drop, and nothing is moved while the new one is filled.
            let mut kept = Vec::with_capacity(blocks.len() - gone + more);
            kept.extend_from_slice(&blocks[gone..]);
            *blocks = Zeroizing::new(kept);
        }
        self.start = used;
    }
}

/// Opens the next blocks of a kind and sender, as many as the number says.
type OpenBlocks<'b> = Box<dyn FnMut(CrossKind, Role, u64) -> Result<Vec<CrossBlock>, Error> + 'b>;

/// A party's masks for a run, from blocks that are opened as steps need them.
pub struct StockedCrosses<'b> {
    open: OpenBlocks<'b>,
    /// The blocks that are still closed.
    left: CrossDemand,
    masks: OpenedCrosses,
}

/// A party's masks for the next steps.
pub(super) struct OpenedCrosses {
    role: Role,
    /// Narrow crosses by the OTs' sender: r and α, or b and ρ.
    narrow: [[BitQueue; 2]; 2],
    wide: [WideCrosses; 2],
    /// The numbers of crosses that finished steps used and that are open, by kind and by sender.
    used: [[u64; 2]; 2],
    opened: [[u64; 2]; 2],
}

impl fmt::Debug for StockedCrosses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StockedCrosses({}, ..)", self.masks.role.name())
    }
}

impl<'b> StockedCrosses<'b> {
    /// Returns the masks for a run with this schedule by the party in `role`. `open` returns the
    /// next blocks of a kind and sender; all calls together ask for those of [`CrossDemand::of`].
    pub fn new(
        schedule: &Schedule,
        role: Role,
        open: impl FnMut(CrossKind, Role, u64) -> Result<Vec<CrossBlock>, Error> + 'b,
    ) -> Self {
        Self {
            open: Box::new(open),
            left: CrossDemand::of(schedule),
            masks: OpenedCrosses {
                role,
                narrow: Default::default(),
                wide: Default::default(),
                used: Default::default(),
                opened: Default::default(),
            },
        }
    }

    /// Returns the party's role.
    pub(super) fn role(&self) -> Role {
        self.masks.role
    }

    /// Returns the masks of the step that has begun.
    pub(super) fn masks(&self) -> &OpenedCrosses {
        &self.masks
    }

    /// Opens the blocks of a step.
    ///
    /// # Errors
    ///
    /// Those of `open`, or blocks that are not those that were asked for.
    pub(super) fn begin_step(&mut self, step: &StepWork) -> Result<(), Error> {
        for sender in Role::BOTH {
            for kind in CrossKind::ALL {
                let missing = self.masks.missing(step, kind, sender);
                if missing > 0 {
                    let count = missing.div_ceil(kind.crosses() as u64);
                    let left = self.left.blocks(kind, sender);
                    self.open_blocks(kind, sender, count.max(opened_at_least(kind)).min(left))?;
                }
            }
        }
        Ok(())
    }

    fn open_blocks(&mut self, kind: CrossKind, sender: Role, count: u64) -> Result<(), Error> {
        let blocks = (self.open)(kind, sender, count)?;
        let asked = (kind, sender == self.masks.role);
        let is_asked = |block: &CrossBlock| (block.kind, block.sends) == asked;
        if blocks.len() as u64 != count || !blocks.iter().all(is_asked) {
            return Err(Error::ApiMisuse("the blocks that were asked for"));
        }
        let left = match kind {
            CrossKind::Narrow => &mut self.left.narrow,
            CrossKind::Wide => &mut self.left.wide,
        };
        left[sender as usize] -= count;
        self.masks.add_all(kind, sender, &blocks);
        Ok(())
    }

    /// Forgets the crosses of the finished step.
    pub(super) fn end_step(&mut self, step: &StepWork) {
        self.masks.end_step(step);
    }
}

impl OpenedCrosses {
    /// Returns the number of crosses of a kind and sender that a step uses and that are not open.
    fn missing(&self, step: &StepWork, kind: CrossKind, sender: Role) -> u64 {
        let of = sender as usize;
        let end = self.used[kind as usize][of] + crosses_of(step, kind, of);
        end.saturating_sub(self.opened[kind as usize][of])
    }

    fn add_all(&mut self, kind: CrossKind, sender: Role, blocks: &[CrossBlock]) {
        let crosses = blocks.len() * kind.crosses();
        let of = sender as usize;
        if kind == CrossKind::Wide {
            self.wide[of].renew(self.used[kind as usize][of], crosses);
        }
        blocks.iter().for_each(|block| self.add(sender, block));
        self.opened[kind as usize][of] += crosses as u64;
    }

    fn add(&mut self, sender: Role, block: &CrossBlock) {
        let crosses = block.kind.crosses();
        if block.kind == CrossKind::Narrow {
            let halves = block.bytes.chunks_exact(crosses / 8);
            for (queue, half) in self.narrow[sender as usize].iter_mut().zip(halves) {
                let at = queue.add(crosses as u64);
                queue.put_bytes(at, half);
            }
            return;
        }
        let WideCrosses { first, second, .. } = &mut self.wide[sender as usize];
        let at = second.len();
        let blocks = |bytes: &[u8], into: &mut Vec<Block>| {
            into.extend(bytes.chunks_exact(Block::BYTES).map(read_block));
        };
        if block.sends {
            let (zeros, ones) = block.bytes.split_at(crosses * Block::BYTES);
            blocks(zeros, first);
            blocks(ones, second);
            for (alpha, zero) in second[at..].iter_mut().zip(&first[at..]) {
                *alpha ^= *zero;
            }
        } else {
            let (choices, hashes) = block.bytes.split_at(crosses / 8);
            let choice = |i| Block::from_u128(u128::from(bit(choices, i)));
            first.extend((0..crosses).map(choice));
            blocks(hashes, second);
        }
    }

    /// Returns the bytes that are held.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> u64 {
        let narrow = self.narrow.as_flattened().iter();
        let wide = self.wide.iter();
        let wide = wide.map(|wide| wide.first.capacity() + wide.second.capacity());
        let wide = wide.sum::<usize>() * Block::BYTES;
        narrow.map(BitQueue::held_bytes).sum::<u64>() + wide as u64
    }

    /// Counts the crosses of the finished step, and wipes the narrow ones.
    fn end_step(&mut self, step: &StepWork) {
        for sender in Role::BOTH {
            for kind in CrossKind::ALL {
                let of = sender as usize;
                self.used[kind as usize][of] += crosses_of(step, kind, of);
            }
            let used = self.used[CrossKind::Narrow as usize][sender as usize];
            let queues = &mut self.narrow[sender as usize];
            queues.iter_mut().for_each(|queue| queue.release(used));
        }
    }
}

impl CrossMasks for OpenedCrosses {
    type Room = RowWriter;

    fn rows(
        &self,
        cross: &CrossOts,
        of: Range<usize>,
        writer: &mut RowWriter,
        into: [&mut [u64]; 2],
    ) {
        let sender = cross.sender as usize;
        let begin = cross.number_of_kind + of.start as u64;
        if cross.width == 1 {
            let queues = &self.narrow[sender];
            for (queue, into) in queues.iter().zip(into) {
                queue.read(begin, of.len(), into);
            }
            return;
        }
        let sends = cross.sender == self.role;
        let part = OtPart {
            ots: of.len(),
            rows: cross.rows(sends),
            is_of_single: false,
        };
        let WideCrosses {
            start,
            first,
            second,
        } = &self.wide[sender];
        for (of, (into, blocks)) in into.into_iter().zip([first, second]).enumerate() {
            let blocks = &blocks[(begin - start) as usize..][..part.ots];
            writer.write_part(&part, of, blocks, into);
        }
    }
}

/// Makes this party's half of blocks of crosses for the stock. `directions` are fresh, serve
/// nothing else and are dropped afterwards with their Δs: each lot has its own. `keep` gets each
/// block with its kind and the sender of its OTs. `seed` is random, secret and used only here.
///
/// # Errors
///
/// `keep` returns an error, the peer misbehaves, the base OTs are used up, or the wire fails.
pub async fn prepare(
    io: &mut Io<'_>,
    mut directions: Directions,
    demand: &CrossDemand,
    seed: &Zeroizing<[u8; 32]>,
    keep: impl FnMut(CrossKind, Role, CrossBlock) -> Result<(), Error>,
) -> Result<(), Error> {
    if directions.made() != [0, 0] {
        return Err(Error::ApiMisuse("directions that have made nothing yet"));
    }
    let mut rng = Box::new(Prg::from_seed(seed));
    let mut maker = BlockMaker::new(directions.role(), demand, keep);
    let totals = Role::BOTH.map(|sender| maker.wants(sender));
    boxed(|| directions.refill(io, totals, &mut rng, &mut maker)).await
}

/// A block that is being filled. What is not filled is zero.
#[derive(Default)]
struct OpenBlock {
    /// The number of its crosses that are there.
    filled: usize,
    bytes: Zeroizing<Vec<u8>>,
}

impl OpenBlock {
    /// Returns the two rows of a block of this kind at the party that sends the OTs (`sends`), or
    /// at the other one.
    fn rows(&mut self, kind: CrossKind, sends: bool) -> [&mut [u8]; 2] {
        let bytes = kind.bytes(sends);
        if self.bytes.len() != bytes {
            self.bytes = Zeroizing::new(vec![0; bytes]);
        }
        let first = match kind {
            CrossKind::Wide if sends => bytes / 2,
            _ => kind.crosses() / 8,
        };
        self.bytes.split_at_mut(first).into()
    }
}

/// Adds bits to those of a row, from bit `at` on. The bits of the last word that do not count are
/// zero.
fn add_bits(row: &mut [u8], at: usize, words: &[u64]) {
    let (places, shift) = (&mut row.as_chunks_mut().0[at / 64..], at % 64);
    let add = |place: &mut [u8; 8], bits: u64| {
        *place = (u64::from_le_bytes(*place) ^ bits).to_le_bytes();
    };
    for (place, word) in places.iter_mut().zip(words) {
        add(place, word << shift);
    }
    if shift > 0 {
        for (place, word) in places.iter_mut().skip(1).zip(words) {
            add(place, word >> (64 - shift));
        }
    }
}

/// A converter of hashed OTs into blocks, in each direction first the narrow ones.
struct BlockMaker<K> {
    role: Role,
    /// The number of blocks of each kind that are still to be made, by the OTs' sender.
    left: [[u64; 2]; 2],
    open: [OpenBlock; 2],
    keep: K,
}

impl<K: FnMut(CrossKind, Role, CrossBlock) -> Result<(), Error>> BlockMaker<K> {
    fn new(role: Role, demand: &CrossDemand, keep: K) -> Self {
        let left = |sender| CrossKind::ALL.map(|kind| demand.blocks(kind, sender));
        Self {
            role,
            left: Role::BOTH.map(left),
            open: Default::default(),
            keep,
        }
    }

    /// Passes the full block of this kind to `keep`.
    fn finish(&mut self, sender: Role, kind: CrossKind) -> Result<(), Error> {
        let open = std::mem::take(&mut self.open[sender as usize]);
        self.left[sender as usize][kind as usize] -= 1;
        let block = CrossBlock::from_bytes(kind, sender == self.role, open.bytes)?;
        (self.keep)(kind, sender, block)
    }
}

impl<K: FnMut(CrossKind, Role, CrossBlock) -> Result<(), Error>> HashedOtSink for BlockMaker<K> {
    fn wants(&self, sender: Role) -> u64 {
        let left = self.left[sender as usize];
        let crosses = CrossKind::ALL.map(|kind| left[kind as usize] * kind.crosses() as u64);
        crosses[0] + crosses[1] - self.open[sender as usize].filled as u64
    }

    fn next_parts(&mut self, sender: Role, next: &mut NextParts) {
        let sends = sender == self.role;
        let (mut left, mut filled) = (self.left, self.open[sender as usize].filled);
        while !next.is_full()
            && let Some(kind) = next_kind(&left[sender as usize])
        {
            filled += next.add(kind.part(kind.crosses() - filled, sends));
            if filled == kind.crosses() {
                left[sender as usize][kind as usize] -= 1;
                filled = 0;
            }
        }
    }

    fn next_bits(&mut self, sender: Role) -> u64 {
        let filled = self.open[sender as usize].filled as u64;
        let crosses = CrossKind::Narrow.crosses() as u64;
        match self.left[sender as usize][CrossKind::Narrow as usize] {
            0 => 0,
            // The next block then starts a word of the part.
            blocks if filled.is_multiple_of(64) => blocks * crosses - filled,
            _ => crosses - filled,
        }
    }

    fn take_part(&mut self, sender: Role, part: &OtPart, rows: [&[u64]; 2]) -> Result<(), Error> {
        let sends = sender == self.role;
        let mut done = 0;
        while done < part.ots {
            let kind = next_kind(&self.left[sender as usize]);
            let kind = kind.ok_or(Error::ApiMisuse("a block takes no OTs that nobody wants"))?;
            let open = &mut self.open[sender as usize];
            let (filled, now) = (
                open.filled,
                (kind.crosses() - open.filled).min(part.ots - done),
            );
            let here = kind.part(now, sends);
            let [r, alpha] = [0, 1].map(|of| {
                let first = done * here.rows[of] / 64;
                &rows[of][first..first + here.words(of)]
            });
            let [first, second] = open.rows(kind, sends);
            add_bits(first, filled * here.rows[0], r);
            add_bits(second, filled * here.rows[1], alpha);
            if kind == CrossKind::Wide && sends {
                // The block keeps the second hash itself, not its XOR with the first one.
                add_bits(second, filled * here.rows[1], r);
            }
            (open.filled, done) = (filled + now, done + now);
            if open.filled == kind.crosses() {
                self.finish(sender, kind)?;
            }
        }
        Ok(())
    }
}

/// Returns the kind of the next block, if this many are left of each kind: first the narrow ones.
fn next_kind(left: &[u64; 2]) -> Option<CrossKind> {
    let mut kinds = CrossKind::ALL.into_iter();
    kinds.find(|kind| left[*kind as usize] > 0)
}
