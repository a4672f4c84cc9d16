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
use group::{GroupRows, LayerPass, LayerStart, PartRows, ROLES, RowRoom};
pub use opened::OpenedBits;
use sharing::{Threads, cost_of_layer};
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
            let firsts = if crosses.sends { cross.width } else { 1 };
            let [one, two] = rows.each_mut();
            let (one, two) = (&mut one[..firsts], &mut two[..cross.width]);
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
    /// The number of the first OT in its direction.
    pub number: u64,
    /// The number of narrow OTs of the direction before the first OT.
    pub narrow_before: u64,
    /// The number of gates of the direction's OTs before the first one.
    pub gates_before: u64,
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
    /// OTs. `before` has the number of earlier OTs of the direction, the number of narrow ones
    /// among these, and the number of their gates.
    pub(in crate::gmw) fn of(
        (program, layer): (&'p RowProgram, u32),
        (sender, sends): (Role, bool),
        instances: usize,
        before: [u64; 3],
    ) -> Self {
        let outline = program.outline(layer);
        Self {
            sender,
            sends,
            number: before[0],
            narrow_before: before[1],
            gates_before: before[2],
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
        let (mut number, mut narrow) = (self.number, self.narrow_before);
        let mut gates = self.gates_before;
        widths.filter(|width| *width > 0).map(move |width| {
            let cross = CrossOts {
                sender: self.sender,
                number,
                number_of_kind: if width == 1 { narrow } else { number - narrow },
                gates_before: gates,
                instances: self.instances,
                width,
            };
            number += self.instances as u64;
            gates += width as u64 * self.instances as u64;
            narrow += if width == 1 { self.instances as u64 } else { 0 };
            cross
        })
    }
}

/// A party's shares in a run.
pub struct Rows<'s> {
    schedule: &'s Schedule,
    role: Role,
    threads: Threads,
    steps: Steps<'s>,
    step: Option<StepWork>,
    /// The narrow OTs that earlier steps used, and the gates of all their OTs, by the OTs' sender.
    narrow_ots: [u64; 2],
    gates: [u64; 2],
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
            narrow_ots: [0; 2],
            gates: [0; 2],
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
        let (out, starts) = (&*out, self.starts_of_layers(step));
        let at_work = step.at_work.iter().zip(&self.at_work).zip(starts);
        let tasks = at_work.flat_map(|((at_work, (number, rows)), at)| {
            let layer = LayerOf::new(self.schedule, *number, at_work, at);
            rows.parts.iter().map(move |part| (layer, part))
        });
        let cost = |(layer, part): &(LayerOf<'_>, &PartRows)| layer.cost(part);
        self.threads
            .share(tasks.collect(), cost, |room, (layer, part)| {
                part.open(layer.pass(masks, room), &mut out.from(0));
            });
    }

    /// Returns where the layers of the step's groups start.
    fn starts_of_layers(&self, step: &StepWork) -> Vec<LayerStart> {
        let mut next = LayerStart::of_step(step, self.narrow_ots, self.gates);
        let at_work = step.at_work.iter().zip(&self.at_work);
        let starts = at_work.map(|(AtWork { layer, .. }, (number, rows))| {
            let program = self.schedule.group(*number).program();
            next.pass(program, *layer, rows.instances)
        });
        starts.collect()
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
        let (schedule, starts) = (self.schedule, self.starts_of_layers(&step));
        let at_work = step.at_work.iter().zip(&mut self.at_work).zip(starts);
        let tasks = at_work.flat_map(|((at_work, (number, rows)), at)| {
            let layer = LayerOf::new(schedule, *number, at_work, at);
            rows.parts.iter_mut().map(move |part| (layer, part))
        });
        let cost = |(layer, part): &(LayerOf<'_>, &mut PartRows)| layer.cost(part);
        self.threads
            .share(tasks.collect(), cost, |room, (layer, part)| {
                part.absorb(layer.pass(masks, room), peer);
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
        for sender in ROLES {
            self.narrow_ots[sender as usize] += step.narrow_ots[sender as usize];
            self.gates[sender as usize] += gates_of(&step, sender);
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

/// A layer of a group in a step.
#[derive(Clone, Copy)]
struct LayerOf<'s> {
    program: &'s RowProgram,
    layer: u32,
    at: LayerStart,
}

impl<'s> LayerOf<'s> {
    fn new(schedule: &'s Schedule, group: u32, at_work: &AtWork, at: LayerStart) -> Self {
        Self {
            program: schedule.group(group).program(),
            layer: at_work.layer,
            at,
        }
    }

    fn cost(&self, part: &PartRows) -> u64 {
        cost_of_layer(self.program, self.layer, part)
    }

    fn pass<'p, M: CrossMasks>(
        &'p self,
        masks: &'p M,
        room: &'p mut RowRoom<M::Room>,
    ) -> LayerPass<'p, M> {
        LayerPass {
            program: self.program,
            layer: self.layer,
            masks,
            room,
            at: self.at,
        }
    }
}
