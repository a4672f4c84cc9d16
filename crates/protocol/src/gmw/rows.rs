//! The computation of a party of `gmw` between messages, on its shares as rows for many calls at
//! once.
//!
//! [`Rows`] walks through a [`Schedule`]: it takes the arguments of the groups that start, performs
//! their local operations, returns the bits that a step opens, takes the bits that the peer opens,
//! and keeps results as long as they are read. It does not know OTs: masks come from
//! [`CrossMasks`], and the peer's bits as bytes.
//!
//! A *row* holds the shares of a wire in a group, bit i for instance i, in 64-bit words. Results
//! are kept as *blocks*: their rows one after the other, those of few instances bit by bit without
//! gaps, so that memory is proportional to the live values. Both parties perform the same
//! operations apart from their shares: no branch and no index depends on a share.
//!
//! **Threads.** The groups of a step do not depend on each other, nor do the instances of a group.
//! A group's rows are in *parts* of up to 4,096 instances, and threads take parts. Each writes its
//! bits where the message has them. Steps with little work take one thread.
//!
//! **Cost** of an AND of shared bits: seven rows are read and one is written, in word operations.
//! **Memory**: a bit for each value, from its computation to the last step that reads any value of
//! its group, and a row for each live wire of the active groups.

mod bits;
mod group;
mod inputs;
mod one_word;
mod opened;
mod sharing;
mod store;

#[cfg(test)]
mod tests;

use core::fmt;
use core::iter::Peekable;
use core::num::NonZeroUsize;
use core::ops::Range;

use tacit_circuit::{CROSS_GATES, Role, RowProgram};
use tacit_function::schedule::{AtWork, Schedule, StepWork, Steps};
use zeroize::Zeroizing;

pub use bits::BitWriter;
use group::{GroupRows, LayerOf, LayerPass, LayerStart, PartRows};
pub use opened::OpenedBits;
use sharing::Threads;
use store::Store;
pub(super) use store::row_bits;

use crate::shares::InputShares;

/// The OTs of a cross of a group, one OT for each instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossOts {
    /// The OTs' sender, whose direction numbers the OTs.
    pub sender: Role,
    /// The number of the first OT in its direction.
    pub number: u64,
    /// The number of the first OT among those OTs of its direction that crosses of the same kind
    /// take. The kinds are crosses with one gate and crosses with more.
    pub number_of_kind: u64,
    /// The number of gates of the earlier OTs of its direction: the sum of the widths of their
    /// crosses.
    pub gates_before: u64,
    /// The number of OTs.
    pub instances: usize,
    /// The number of gates of the cross.
    pub width: usize,
}

impl CrossOts {
    /// Returns the number of its first rows and of its second ones, at the OTs' sender (`sends`) or
    /// at the receiver.
    #[must_use]
    pub fn rows(&self, sends: bool) -> [usize; 2] {
        [if sends { self.width } else { 1 }, self.width]
    }
}

/// The place of the next cross in a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gmw) struct CrossCursor {
    /// The number of earlier OTs of the direction, and of the narrow ones among them.
    pub(in crate::gmw) ots: u64,
    pub(in crate::gmw) narrow_ots: u64,
    /// The number of the gates of all earlier OTs. A gate counts once for each instance.
    pub(in crate::gmw) gates: u64,
}

impl CrossCursor {
    /// Returns the OTs of the next cross in `sender`'s direction, and moves on to the one after it.
    pub(in crate::gmw) fn take(
        &mut self,
        sender: Role,
        instances: usize,
        width: usize,
    ) -> CrossOts {
        let is_narrow = width == 1;
        let cross = CrossOts {
            sender,
            number: self.ots,
            number_of_kind: if is_narrow {
                self.narrow_ots
            } else {
                self.ots - self.narrow_ots
            },
            gates_before: self.gates,
            instances,
            width,
        };
        self.ots += instances as u64;
        self.narrow_ots += u64::from(is_narrow) * instances as u64;
        self.gates += (width * instances) as u64;
        cross
    }
}

/// Hashed correlated OTs as rows. Bit i of a row belongs to OT `number` + i.
pub trait CrossMasks: Sync {
    /// What a thread needs to read rows.
    type Room: Default + Send;

    /// Writes the part `of` of the rows of a cross, ⌈length / 64⌉ words each. It starts at a
    /// multiple of 128 and has at most 4,096 instances. At the OTs' sender, the first slice of
    /// `into` gets a row r and the second a row α for each gate. At the receiver, the first gets
    /// the row of choices b, and the second a row ρ for each gate. Bits after the last instance
    /// may have any value.
    ///
    /// [`Rows::open`] calls it for each cross of a step. [`Rows::absorb`] calls it again for the
    /// same crosses and must get the same rows. For groups of at most 64 calls,
    /// [`packed_rows`](Self::packed_rows) is called instead.
    fn rows(
        &self,
        cross: &CrossOts,
        of: Range<usize>,
        room: &mut Self::Room,
        into: [&mut [u64]; 2],
    );

    /// Appends the rows of all crosses of a layer that have the same sender, `instances` bits each
    /// and without gaps, for a group of at most 64 calls: the first rows to one writer, the second
    /// ones to the other. The rows are those that [`rows`](Self::rows) writes one by one.
    fn packed_rows(
        &self,
        crosses: &LayerCrosses<'_>,
        room: &mut Self::Room,
        into: [&mut BitWriter; 2],
    ) {
        let instances = crosses.instances;
        let [first, second] = into;
        let mut rows = [(); 2].map(|()| Zeroizing::new([0; CROSS_GATES]));
        for cross in crosses.each() {
            let [firsts, seconds] = cross.rows(crosses.sends);
            let [one, two] = rows.each_mut();
            let (one, two) = (&mut one[..firsts], &mut two[..seconds]);
            self.rows(&cross, 0..instances, room, [one, two]);
            for (writer, rows) in [(&mut *first, one), (&mut *second, two)] {
                for row in rows {
                    writer.push([*row].into_iter(), instances);
                }
            }
        }
    }
}

/// Returns the number of gates of the OTs of a step that `sender` sends.
pub(super) fn gates_of(step: &StepWork, sender: Role) -> u64 {
    // The sender opens a bit for each gate, and one for each OT that it chooses.
    step.bits[sender as usize] - step.ots[sender.other() as usize]
}

/// The crosses of a layer of a group whose OTs have the same sender.
#[derive(Clone, Copy, Debug)]
pub struct LayerCrosses<'p> {
    /// The OTs' sender, whose direction numbers the OTs.
    pub sender: Role,
    /// Whether this party is the sender.
    pub sends: bool,
    /// The place of the first cross in its direction.
    pub(in crate::gmw) start: CrossCursor,
    /// The number of instances of the group, at most 64.
    pub instances: usize,
    /// The number of crosses.
    pub crosses: u64,
    /// The number of gates of all crosses together.
    pub gates: u64,
    program: &'p RowProgram,
    layer: u32,
}

impl<'p> LayerCrosses<'p> {
    /// Returns the crosses of a layer of a program. `sends` says whether this party sends their
    /// OTs, and `start` is the place of the first one.
    pub(in crate::gmw) fn of(
        program: &'p RowProgram,
        layer: u32,
        sender: Role,
        sends: bool,
        instances: usize,
        start: CrossCursor,
    ) -> Self {
        let outline = program.outline(layer);
        Self {
            sender,
            sends,
            start,
            instances,
            crosses: outline.ots[sender as usize],
            // The sender opens a bit for each gate, and one for each cross that it chooses.
            gates: outline.opened_bits[sender as usize] - outline.ots[sender.other() as usize],
            program,
            layer,
        }
    }

    /// Returns the number of first rows and the number of second rows.
    pub fn rows(&self) -> [u64; 2] {
        let first = if self.sends { self.gates } else { self.crosses };
        [first, self.gates]
    }

    /// Returns the crosses, in order.
    pub fn each(&self) -> impl Iterator<Item = CrossOts> + '_ {
        let chooser = self.sender.other() as usize;
        let widths = self.program.pieces(self.layer);
        let widths = widths.map(move |piece| piece.widths[chooser]);
        let mut next = self.start;
        let widths = widths.filter(|width| *width > 0);
        widths.map(move |width| next.take(self.sender, self.instances, width))
    }
}

/// A party's shares in a run.
pub struct Rows<'s> {
    schedule: &'s Schedule,
    role: Role,
    threads: Threads,
    steps: Steps<'s>,
    step: Option<StepWork>,
    /// The place of the step's first cross, by the OTs' sender.
    crosses: [CrossCursor; 2],
    /// The groups that have not started, in the order of their starts.
    starts: Peekable<Box<dyn Iterator<Item = u32> + Send + 's>>,
    /// The active groups, in the same order as the step's.
    at_work: Vec<(u32, GroupRows)>,
    store: Store<'s>,
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("role", &self.role)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl<'s> Rows<'s> {
    /// Returns the rows before the first step, on `threads` threads, on which nothing else depends.
    /// `share` is called with an input's number for this party's share of each bit of that input,
    /// in port order. It is not called for inputs that only the other party owns. The share of a
    /// public input is its value.
    #[must_use]
    pub fn new(
        schedule: &'s Schedule,
        role: Role,
        threads: NonZeroUsize,
        mut share: impl FnMut(usize) -> bool,
    ) -> Self {
        let count = Self::share_count(schedule, role) as usize;
        let mut shares = Zeroizing::new(Vec::with_capacity(count));
        for (number, bits) in store::held_inputs(schedule, role) {
            shares.extend((0..bits).map(|_| share(number)));
        }
        Self::of_shares(schedule, (role, threads), InputShares::from(&shares))
    }

    /// Returns the rows of [`new`](Self::new) where all shares are zero. They take no memory.
    #[must_use]
    pub fn of_zeros(schedule: &'s Schedule, role: Role, threads: NonZeroUsize) -> Self {
        let zeros = InputShares::of_zeros(Self::share_count(schedule, role) as usize);
        Self::of_shares(schedule, (role, threads), zeros)
    }

    /// Returns the number of shares of input bits that a party holds.
    pub(super) fn share_count(schedule: &Schedule, role: Role) -> u64 {
        store::held_inputs(schedule, role)
            .map(|(_, bits)| bits)
            .sum()
    }

    /// Returns the rows before the first step, with these shares, one of each bit that the party
    /// holds.
    pub(super) fn of_shares(
        schedule: &'s Schedule,
        (role, threads): (Role, NonZeroUsize),
        shares: InputShares<'_>,
    ) -> Self {
        let starts: Box<dyn Iterator<Item = u32> + Send + 's> =
            Box::new(schedule.starts().map(|group| group.number()));
        let mut steps = schedule.steps();
        let threads = Threads::new(threads);
        let mut rows = Self {
            schedule,
            role,
            threads,
            step: steps.next(),
            steps,
            crosses: Default::default(),
            starts: starts.peekable(),
            at_work: Vec::new(),
            store: Store::new(schedule, (role, threads), shares),
        };
        rows.begin(0);
        rows
    }

    /// Returns the next step, or `None` after the last one.
    pub fn step(&self) -> Option<&StepWork> {
        self.step.as_ref()
    }

    /// Writes this party's bits of the step over `out`.
    ///
    /// # Panics
    ///
    /// Panics after the last step.
    pub fn open<M: CrossMasks>(&self, masks: &M, out: &mut OpenedBits) {
        let step = self.step.as_ref().expect("a step that comes");
        out.restart(step.bits[self.role as usize]);
        let out = &*out;
        let layers = self.layers(step).into_iter().zip(&self.at_work);
        let tasks =
            layers.flat_map(|(layer, (_, rows))| rows.parts.iter().map(move |part| (layer, part)));
        let cost = |(layer, part): &(LayerOf<'_>, &PartRows)| layer.cost(part);
        self.threads
            .share(tasks.collect(), cost, |room, (layer, part)| {
                let layer = *layer;
                part.open(LayerPass { layer, masks, room }, &mut out.writer_at(0));
            });
    }

    /// Returns the layers of the step's groups, in order.
    fn layers(&self, step: &StepWork) -> Vec<LayerOf<'s>> {
        let mut next = LayerStart {
            crosses: self.crosses,
            bits: [0; 2],
        };
        let schedule = self.schedule;
        let at_work = step.at_work.iter().zip(&self.at_work);
        let layers = at_work.map(|(AtWork { layer, .. }, (number, rows))| {
            let program = schedule.group(*number).program();
            LayerOf {
                program,
                number: *layer,
                at: next.pass(program, *layer, rows.instances),
            }
        });
        layers.collect()
    }

    /// Takes the peer's bits of the step and moves on to the next step. Bit 0 is the lowest one of
    /// the first word.
    ///
    /// # Panics
    ///
    /// Panics after the last step, or if `peer` does not have the ⌈bits / 64⌉ words of the step's
    /// bits.
    pub fn absorb<M: CrossMasks>(&mut self, masks: &M, peer: &[u64]) {
        let step = self.step.take().expect("a step that comes");
        let bits = step.bits[self.role.other() as usize];
        assert_eq!(peer.len() as u64, bits.div_ceil(64), "the step's words");
        let schedule = self.schedule;
        let layers = self.layers(&step).into_iter().zip(&mut self.at_work);
        let tasks = layers
            .flat_map(|(layer, (_, rows))| rows.parts.iter_mut().map(move |part| (layer, part)));
        let cost = |(layer, part): &(LayerOf<'_>, &mut PartRows)| layer.cost(part);
        self.threads
            .share(tasks.collect(), cost, |room, (layer, part)| {
                let layer = *layer;
                part.absorb(LayerPass { layer, masks, room }, peer);
            });
        let layers = step.at_work.iter().map(|at_work| at_work.layer);
        for (layer, (number, rows)) in layers.zip(std::mem::take(&mut self.at_work)) {
            let group = schedule.group(number);
            if layer < group.program().depth() {
                self.at_work.push((number, rows));
            } else {
                self.store.keep(&group, &rows);
            }
        }
        for sender in Role::BOTH {
            let next = &mut self.crosses[sender as usize];
            next.ots += step.ots[sender as usize];
            next.narrow_ots += step.narrow_ots[sender as usize];
            next.gates += gates_of(&step, sender);
        }
        self.step = self.steps.next();
        self.begin(step.number + 1);
    }

    /// Starts the groups that start at this step.
    fn begin(&mut self, step: u32) {
        let schedule = self.schedule;
        let before = self.at_work.len();
        let starts = |number: &u32| schedule.group(*number).start() == step;
        while let Some(number) = self.starts.next_if(starts) {
            let group = schedule.group(number);
            let mut rows = GroupRows::new(self.role, &group, self.threads.count());
            self.store.gather(&group, &mut rows);
            if group.program().depth() == 0 {
                self.store.keep(&group, &rows);
            } else {
                self.at_work.push((number, rows));
            }
        }
        if self.at_work.len() > before {
            self.at_work.sort_unstable_by_key(|(number, _)| *number);
        }
        self.store.release(step);
    }

    /// Returns this party's shares of the results `outputs`, in port order. The garbler's share of
    /// a public bit is the bit.
    ///
    /// # Panics
    ///
    /// Panics before the last step is done.
    pub fn results(&self, outputs: impl IntoIterator<Item = usize>) -> Zeroizing<Vec<bool>> {
        assert!(self.step.is_none(), "all steps are done");
        let mut shares = Zeroizing::new(Vec::new());
        for output in outputs {
            self.store.output(output, &mut shares);
        }
        shares
    }
}
