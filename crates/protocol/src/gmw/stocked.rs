//! The masks of a run from the stock: its blocks are opened as its steps need them, so that memory
//! does not grow with the run.

use core::fmt;
use core::ops::Range;

use tacit_circuit::Role;
use tacit_function::Schedule;
use tacit_function::schedule::StepWork;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::packing::{OtPart, RowWriter};
use super::queue::BitQueue;
use super::rows::{CrossMasks, CrossOts};
use super::stock::{CrossBlock, CrossDemand, CrossKind};
use crate::Error;
use crate::bits::{bit, read_block};

/// The least bytes of a kind and direction that are opened at a time, if as many are left.
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

    /// Checks that the crosses from number `first` on are those of this step or later ones, and are
    /// open: the queues read zeros where they have nothing.
    fn check_open(&self, (kind, sender): (CrossKind, Role), first: u64, count: usize) {
        let of = |numbers: &[[u64; 2]; 2]| numbers[kind as usize][sender as usize];
        assert!(first >= of(&self.used), "crosses of this step");
        // Without its blocks a cross would have masks of zeros, and would open shares in the clear.
        let end = first + count as u64;
        assert!(end <= of(&self.opened), "the blocks of a cross are open");
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
        let kind = match cross.width {
            1 => CrossKind::Narrow,
            _ => CrossKind::Wide,
        };
        self.check_open((kind, cross.sender), begin, of.len());
        if kind == CrossKind::Narrow {
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
