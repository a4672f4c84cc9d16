//! The computation of a party of `gmw` between messages, on its shares as rows for many calls at
//! once.
//!
//! [`Rows`] walks through a [`Schedule`]: it takes the arguments of the groups that start, performs
//! their local operations, returns the bits that a step opens, takes the bits that the peer opens,
//! and keeps results as long as they are read. It does not know OTs: masks come from
//! [`CrossMasks`], and the peer's bits as bytes.
//!
//! A *row* holds the shares of a wire in a group, bit i for instance i, in 64-bit words. Results
//! are kept as *blocks*: their rows one after the other, bit by bit without gaps, so that memory is
//! proportional to the live values. Both parties perform the same operations apart from their
//! shares: no branch and no index depends on a share.
//!
//! **Cost** of an AND of shared bits: seven rows are read and one is written, in word operations.
//! **Memory**: a bit for each value, from its computation to the last step that reads any value of
//! its group, and a row for each live wire of the active groups.

mod bits;
mod group;
mod one_word;
mod store;

#[cfg(test)]
mod tests;

use core::fmt;
use core::iter::Peekable;

use tacit_circuit::{CROSS_GATES, Role, RowProgram};
use tacit_function::schedule::{AtWork, Schedule, StepWork, Steps};
use zeroize::Zeroizing;

pub use bits::BitWriter;
use bits::words_of_bytes;
use group::{GroupRows, OpenedStep};
use store::Store;

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
    /// The number of OTs.
    pub instances: usize,
    /// The number of gates of the cross.
    pub width: usize,
}

/// Hashed correlated OTs as rows of ⌈instances / 64⌉ words. Bit i of a row belongs to OT `number` +
/// i. Bits after the last instance may have any value.
pub trait CrossMasks {
    /// Writes the rows of a cross. At the OTs' sender, `first` gets a row r and `second` a row α
    /// for each gate. At the receiver, `first` gets the row of choices b, and `second` a row ρ for
    /// each gate.
    ///
    /// [`Rows::open`] calls it for each cross of a step, in order. [`Rows::absorb`] calls it again
    /// for the same crosses and must get the same rows. For groups of at most 64 calls,
    /// [`packed_rows`](Self::packed_rows) is called instead.
    fn rows(&mut self, cross: &CrossOts, first: &mut [u64], second: &mut [u64]);

    /// Appends the rows of all crosses of a layer that have the same sender, `instances` bits each
    /// and without gaps, for a group of at most 64 calls. The rows are those that
    /// [`rows`](Self::rows) writes one by one.
    fn packed_rows(
        &mut self,
        crosses: &LayerCrosses<'_>,
        first: &mut BitWriter,
        second: &mut BitWriter,
    ) {
        let instances = crosses.instances;
        let mut rows = [(); 2].map(|()| Zeroizing::new([0; CROSS_GATES]));
        for cross in crosses.each() {
            let firsts = if crosses.sends { cross.width } else { 1 };
            let [one, two] = rows.each_mut();
            let (one, two) = (&mut one[..firsts], &mut two[..cross.width]);
            self.rows(&cross, one, two);
            for (writer, rows) in [(&mut *first, one), (&mut *second, two)] {
                for row in rows {
                    writer.push([*row].into_iter(), instances);
                }
            }
        }
    }
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
    /// OTs. `before` has the number of earlier OTs of the direction, and the number of narrow ones
    /// among these.
    pub(in crate::gmw) fn of(
        (program, layer): (&'p RowProgram, u32),
        (sender, sends): (Role, bool),
        instances: usize,
        before: [u64; 2],
    ) -> Self {
        let outline = program.outline(layer);
        Self {
            sender,
            sends,
            number: before[0],
            narrow_before: before[1],
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
        widths.filter(|width| *width > 0).map(move |width| {
            let cross = CrossOts {
                sender: self.sender,
                number,
                number_of_kind: if width == 1 { narrow } else { number - narrow },
                instances: self.instances,
                width,
            };
            number += self.instances as u64;
            narrow += if width == 1 { self.instances as u64 } else { 0 };
            cross
        })
    }
}

/// A party's shares in a run.
pub struct Rows<'s> {
    schedule: &'s Schedule,
    role: Role,
    steps: Steps<'s>,
    step: Option<StepWork>,
    /// The narrow OTs that earlier steps used, by their sender.
    narrow_ots: [u64; 2],
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
    /// Returns the rows before the first step. `share` is called with an input's number for this
    /// party's share of each bit of that input, in port order. It is not called for inputs that
    /// only the other party owns. The share of a public input is its value.
    #[must_use]
    pub fn new(schedule: &'s Schedule, role: Role, mut share: impl FnMut(usize) -> bool) -> Self {
        let count = Self::share_count(schedule, role) as usize;
        let mut shares = Zeroizing::new(Vec::with_capacity(count));
        for (number, bits) in store::held_inputs(schedule, role) {
            shares.extend((0..bits).map(|_| share(number)));
        }
        Self::of_shares(schedule, role, InputShares::from(&shares))
    }

    /// Returns the number of shares of input bits that a party holds.
    pub(super) fn share_count(schedule: &Schedule, role: Role) -> u64 {
        store::held_inputs(schedule, role)
            .map(|(_, bits)| bits)
            .sum()
    }

    /// Returns the rows before the first step, with these shares, one of each bit that the party
    /// holds.
    pub(super) fn of_shares(schedule: &'s Schedule, role: Role, shares: InputShares<'_>) -> Self {
        let starts: Box<dyn Iterator<Item = u32> + Send + 's> =
            Box::new(schedule.starts().map(|group| group.number()));
        let mut steps = schedule.steps();
        let mut rows = Self {
            schedule,
            role,
            step: steps.next(),
            steps,
            narrow_ots: [0; 2],
            starts: starts.peekable(),
            at_work: Vec::new(),
            store: Store::new(schedule, role, shares),
        };
        rows.begin(0);
        rows
    }

    /// Returns the next step, or `None` after the last one.
    pub fn step(&self) -> Option<&StepWork> {
        self.step.as_ref()
    }

    /// Returns this party's bits of the step, eight to a byte, least significant first.
    ///
    /// # Panics
    ///
    /// Panics after the last step.
    pub fn open(&self, masks: &mut impl CrossMasks) -> Vec<u8> {
        let step = self.step.as_ref().expect("a step that comes");
        let mut out = BitWriter::with_capacity(step.bits[self.role as usize]);
        let mut opened = OpenedStep::new(self.role, step, self.narrow_ots, masks);
        for (AtWork { layer, .. }, (group, rows)) in step.at_work.iter().zip(&self.at_work) {
            let program = self.schedule.group(*group).program();
            rows.open(program, *layer, &mut opened, &mut out);
        }
        out.into_bytes()
    }

    /// Takes the peer's bits of the step and moves on to the next step.
    ///
    /// # Panics
    ///
    /// Panics after the last step, or if `peer` does not have the ⌈bits / 8⌉ bytes of the step's
    /// bits.
    pub fn absorb(&mut self, masks: &mut impl CrossMasks, peer: &[u8]) {
        let step = self.step.take().expect("a step that comes");
        let bits = step.bits[self.role.other() as usize];
        assert_eq!(peer.len() as u64, bits.div_ceil(8), "the step's bytes");
        let peer = words_of_bytes(peer);
        let mut opened = OpenedStep::new(self.role, &step, self.narrow_ots, masks);
        let at_work = std::mem::take(&mut self.at_work);
        for (AtWork { layer, .. }, (number, mut rows)) in step.at_work.iter().zip(at_work) {
            let group = self.schedule.group(number);
            rows.absorb(group.program(), *layer, &mut opened, &peer);
            if *layer < group.program().depth() {
                self.at_work.push((number, rows));
            } else {
                self.store.keep(&group, &rows);
            }
        }
        for sender in [Role::Garbler, Role::Evaluator] {
            self.narrow_ots[sender as usize] += step.narrow_ots[sender as usize];
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
            let mut rows = GroupRows::new(self.role, &group);
            self.store.gather(&group, &mut rows);
            rows.operate(group.program(), 0);
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
