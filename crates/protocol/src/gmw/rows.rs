//! What a party of `gmw` computes between messages: its shares, as rows for many calls at once.
//!
//! [`Rows`] walks a [`Schedule`]: it takes the arguments of the groups that start, does their local
//! operations, says what a step opens, takes what the peer opens, and keeps results as long as they
//! are read. It knows no OT: masks come by [`CrossMasks`], and the peer's bits as bytes.
//!
//! A *row* is a wire's shares in a group, bit i for instance i, in 64-bit words. Results are kept
//! as *blocks*: their rows behind each other without gaps, bit by bit, so that memory is what is
//! live. What both parties do is the same but for shares: no branch and no index depends on one.
//!
//! **Cost** of an AND of shared bits: seven rows are read and one is written, in word operations.
//! **Memory**: a bit for each value from when it is there to the last step that reads any of its
//! group, and a row for each live wire of the groups at work.

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

/// The OTs of a cross of a group, one for each instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossOts {
    /// The OTs' sender, whose direction numbers them.
    pub sender: Role,
    /// The first one's number in its direction.
    pub number: u64,
    /// The first one's number among those of its direction that crosses of its kind take: with one
    /// gate, or with more.
    pub number_of_kind: u64,
    /// Number of OTs.
    pub instances: usize,
    /// Gates of the cross.
    pub width: usize,
}

/// Hashed correlated OTs, as rows: ⌈instances / 64⌉ words each, bit i of a row for the OT
/// `number` + i. Bits behind the last instance may be anything.
pub trait CrossMasks {
    /// Writes the rows of a cross. At the OTs' sender `first` has a row r for each gate and
    /// `second` a row α for each. At the receiver `first` is the row of choices b, and `second` has
    /// a row ρ for each gate.
    ///
    /// It is asked for each cross of a step in order, by [`Rows::open`], and again by
    /// [`Rows::absorb`], and answers the same. For groups of at most 64 calls
    /// [`packed_rows`](Self::packed_rows) is asked.
    fn rows(&mut self, cross: &CrossOts, first: &mut [u64], second: &mut [u64]);

    /// Appends the rows of all crosses of a layer that have one sender, `instances` bits each and
    /// without gaps, for a group of at most 64 calls; as [`rows`](Self::rows) gives them one by
    /// one, and asked for in its place.
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

/// The crosses of a layer of a group whose OTs have one sender.
#[derive(Clone, Copy, Debug)]
pub struct LayerCrosses<'p> {
    /// The OTs' sender, whose direction numbers them.
    pub sender: Role,
    /// Whether this party is the sender.
    pub sends: bool,
    /// The first OT's number in its direction.
    pub number: u64,
    /// The number of narrow OTs of the direction before it.
    pub narrow_before: u64,
    /// Instances of the group, at most 64.
    pub instances: usize,
    /// Number of crosses.
    pub crosses: u64,
    /// Gates of all crosses together.
    pub gates: u64,
    program: &'p RowProgram,
    layer: u32,
}

impl<'p> LayerCrosses<'p> {
    /// Those of a layer of a program, whose OTs are sent by this party or the other. `before` are
    /// the direction's OTs before them, and of these the narrow ones.
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
            // It opens a bit for each gate, and one for each cross that it chooses.
            gates: outline.opened_bits[sender as usize] - outline.ots[sender.other() as usize],
            program,
            layer,
        }
    }

    /// Rows that are written first and second.
    #[must_use]
    pub fn rows(&self) -> [u64; 2] {
        let first = if self.sends { self.gates } else { self.crosses };
        [first, self.gates]
    }

    /// The crosses, in order.
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
    /// Narrow OTs that the steps before use, by their sender.
    narrow_ots: [u64; 2],
    /// Groups that have not started, in the order in which they do.
    starts: Peekable<Box<dyn Iterator<Item = u32> + Send + 's>>,
    /// Groups at work, in the order of the step's.
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
    /// Before the first step. `share` is asked for this party's share of each bit of each input, in
    /// port order, with the input's number, but for inputs that only the other party owns: of a
    /// public input it is the value.
    #[must_use]
    pub fn new(schedule: &'s Schedule, role: Role, share: impl FnMut(usize) -> bool) -> Self {
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
            store: Store::new(schedule, role, share),
        };
        rows.begin(0);
        rows
    }

    /// The step that comes, or nothing after the last one.
    #[must_use]
    pub fn step(&self) -> Option<&StepWork> {
        self.step.as_ref()
    }

    /// This party's bits of the step, eight a byte, least significant first.
    ///
    /// # Panics
    ///
    /// After the last step.
    #[must_use]
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

    /// Takes the peer's bits of the step and moves on to the next one.
    ///
    /// # Panics
    ///
    /// After the last step, and if there are not ⌈bits / 8⌉ bytes of the step's bits from the peer.
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

    /// This party's shares of the results of `to`, in port order; a public bit is the garbler's.
    ///
    /// # Panics
    ///
    /// Before the last step is done.
    #[must_use]
    pub fn results(&self, outputs: impl IntoIterator<Item = usize>) -> Zeroizing<Vec<bool>> {
        assert!(self.step.is_none(), "all steps are done");
        let mut shares = Zeroizing::new(Vec::new());
        for output in outputs {
            self.store.output(output, &mut shares);
        }
        shares
    }
}
