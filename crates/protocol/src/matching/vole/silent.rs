//! The second form: [silent VOLE](tacit_ot::silent), whose first VOLEs are packed. The programmer
//! sends a message a batch, of trees; batches serve the columns of all shards in order. Of the last
//! batch the parties make only the VOLEs that asks take.

use tacit_kernels::{Block, Prg};
use tacit_ot::silent::{VOLE_BASE_COUNT, VoleReceiver, VoleSender};
use tacit_ot::{Outputs, SessionTag};
use zeroize::Zeroizing;

use super::{AskColumns, PlacerVole, ProgrammerVole, VolePlan, seed};
use crate::Error;
use crate::io::Io;
use crate::matching::messages;
use crate::party::Progress;
use crate::session::RunTag;
use crate::setup::{EvaluatorOt, GarblerOt};

/// A half of the silent VOLE, and its VOLEs that no ask has taken yet.
pub(super) struct Silent<H> {
    plan: VolePlan,
    tag: SessionTag,
    /// None before the first ask, and once the last batch is made.
    half: Option<H>,
    has_begun: bool,
    made: Outputs,
    /// The number of blocks of `made` that asks have taken.
    taken: usize,
}

impl<H> Silent<H> {
    /// Returns a half that starts with the first ask. `tag` is that of the base OTs.
    pub(super) fn new(plan: VolePlan, tag: &RunTag) -> Self {
        Self {
            plan,
            tag: SessionTag::new(*tag.as_bytes()),
            half: None,
            has_begun: false,
            made: Outputs::default(),
            taken: 0,
        }
    }

    /// Returns the columns that are packed before the first batch.
    fn base(&self) -> AskColumns {
        AskColumns {
            count: VOLE_BASE_COUNT as u64,
            before: 0,
            all: VOLE_BASE_COUNT as u64,
            work_after: self.plan.work() - VolePlan::PACKED_BASE_WORK,
        }
    }

    /// Takes up to `most` VOLEs of `V` blocks, or none if a batch must be made.
    fn next<const V: usize>(&mut self, most: usize) -> &[[Block; V]] {
        let left = &self.made.as_chunks::<V>().0[self.taken / V..];
        let next = &left[..most.min(left.len())];
        self.taken += V * next.len();
        next
    }

    /// Returns how many VOLEs asks still take after `done` of these columns, if the next batch, of
    /// `next` VOLEs, is the last one.
    fn left_of_last(&self, columns: AskColumns, done: usize, next: usize) -> Option<usize> {
        let left = self
            .plan
            .columns
            .checked_sub(columns.before + done as u64)?;
        usize::try_from(left).ok().filter(|left| *left <= next)
    }

    /// Returns memory for the next batch.
    fn memory(&mut self) -> Outputs {
        self.taken = 0;
        core::mem::take(&mut self.made)
    }

    /// Returns the progress once the first `done` of these columns are made.
    fn progress(&self, columns: AskColumns, done: usize) -> Progress {
        let done = columns.before + done as u64;
        Progress {
            done_ands: VolePlan::PACKED_BASE_WORK + VolePlan::SILENT_COLUMN_WORK * done,
            total_ands: self.plan.work(),
        }
    }
}

const ENDED: Error = Error::ApiMisuse("no more columns than were planned");

impl Silent<VoleReceiver> {
    async fn start(
        &self,
        io: &mut Io<'_>,
        ot: &mut EvaluatorOt,
        prg: &mut Prg,
    ) -> Result<VoleReceiver, Error> {
        let base = PlacerVole::choose(io, ot, self.base(), prg).await?;
        let both = base.u.iter().zip(base.w.iter());
        let mut u_and_w = Zeroizing::new(Vec::with_capacity(2 * VOLE_BASE_COUNT));
        u_and_w.extend(both.flat_map(|(u, w)| [*u, *w]));
        let mut half = VoleReceiver::start(&self.tag, u_and_w)?;
        half.set_threads(ot.threads());
        Ok(half)
    }

    /// Takes these columns, and makes batches as they are needed.
    pub(super) async fn choose(
        &mut self,
        io: &mut Io<'_>,
        ot: &mut EvaluatorOt,
        columns: AskColumns,
        prg: &mut Prg,
    ) -> Result<PlacerVole, Error> {
        let count = columns.count as usize;
        let mut u = Zeroizing::new(Vec::with_capacity(count));
        let mut w = Zeroizing::new(Vec::with_capacity(count));
        while u.len() < count {
            let next = self.next::<2>(count - u.len());
            if next.is_empty() {
                let mut half = match (self.half.take(), self.has_begun) {
                    (Some(half), _) => half,
                    (None, false) => self.start(io, ot, prg).await?,
                    (None, true) => return Err(ENDED),
                };
                self.has_begun = true;
                half.use_again(self.memory());
                let mut t = Zeroizing::new(vec![Block::ZERO; half.cot_count()]);
                ot.refill(io, t.len() as u64, &seed(prg)).await?;
                ot.extend_random(prg, &mut t, io.message())?;
                let trees = io.receive(messages::trees(half.trees_bytes())).await?;
                if let Some(left) = self.left_of_last(columns, u.len(), half.next_count()) {
                    self.made = half.take_last(&t, trees, left)?;
                } else {
                    let (next, made) = half.take(&t, trees)?;
                    (self.half, self.made) = (Some(next), made);
                }
                continue;
            }
            u.extend(next.iter().map(|[u, _]| *u));
            w.extend(next.iter().map(|[_, w]| *w));
            io.progressed(self.progress(columns, u.len()));
        }
        Ok(PlacerVole { u, w })
    }
}

impl Silent<VoleSender> {
    async fn start(
        &self,
        io: &mut Io<'_>,
        ot: &mut GarblerOt,
        prg: &mut Prg,
    ) -> Result<VoleSender, Error> {
        let base = ProgrammerVole::offer(io, ot, self.base(), prg).await?;
        let mut half = VoleSender::start(ot.offset().clone(), &self.tag, base.v)?;
        half.set_threads(ot.threads());
        Ok(half)
    }

    /// As [`Silent::choose`] at the placer.
    pub(super) async fn offer(
        &mut self,
        io: &mut Io<'_>,
        ot: &mut GarblerOt,
        columns: AskColumns,
        prg: &mut Prg,
    ) -> Result<ProgrammerVole, Error> {
        let count = columns.count as usize;
        let mut v = Zeroizing::new(Vec::with_capacity(count));
        while v.len() < count {
            let next = self.next::<1>(count - v.len());
            if next.is_empty() {
                let mut half = match (self.half.take(), self.has_begun) {
                    (Some(half), _) => half,
                    (None, false) => self.start(io, ot, prg).await?,
                    (None, true) => return Err(ENDED),
                };
                self.has_begun = true;
                half.use_again(self.memory());
                let mut q = Zeroizing::new(vec![Block::ZERO; half.cot_count()]);
                ot.refill(io, q.len() as u64, &seed(prg)).await?;
                ot.extend_random(&mut q, &[])?;
                let next_count = half.next_count();
                let (batch, trees) = half.begin(&q, prg)?;
                io.message().clear();
                io.message().extend(&trees);
                io.send(messages::trees(trees.len()))?;
                // The placer works on the trees while this party works on its sums.
                io.breathe().await?;
                if let Some(left) = self.left_of_last(columns, v.len(), next_count) {
                    self.made = batch.finish_last(left);
                } else {
                    let (next, made) = batch.finish();
                    (self.half, self.made) = (Some(next), made);
                }
                continue;
            }
            v.extend_from_slice(next.as_flattened());
            io.progressed(self.progress(columns, v.len()));
        }
        let delta = Zeroizing::new(ot.delta());
        Ok(ProgrammerVole { v, delta })
    }
}

#[cfg(test)]
mod tests {
    use tacit_ot::source::Extension;

    use super::*;

    /// Two shards that are asked for under one u show the sum of their encodings.
    #[test]
    fn no_column_serves_two_shards() {
        let numbered = |range: std::ops::Range<u128>| range.map(Block::from_u128);
        let mut silent = Silent::<()> {
            plan: VolePlan::of(Extension::Silent, 1 << 20),
            tag: SessionTag::new([0; 32]),
            half: None,
            has_begun: false,
            made: Zeroizing::new(numbered(0..20).collect()),
            taken: 0,
        };
        let taken = [3, 4, 9, 1].map(|most| silent.next::<2>(most).to_vec());
        assert_eq!(taken.each_ref().map(Vec::len), [3, 4, 3, 0]);
        assert!(taken.concat().into_iter().flatten().eq(numbered(0..20)));
        // The next batch is taken from its start, whatever was left.
        assert_eq!(silent.memory().len(), 20);
        silent.made = Zeroizing::new(numbered(20..22).collect());
        assert_eq!(silent.next::<2>(5).len(), 1);
    }
}
