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

use tacit_circuit::Role;
use tacit_function::Schedule;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::directions::Directions;
use super::hashed::{HashedOtSink, NextParts};
use super::packing::{OtPart, rows_of_cross};
use crate::Error;
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
    pub(super) kind: CrossKind,
    pub(super) sends: bool,
    pub(super) bytes: Zeroizing<Vec<u8>>,
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
