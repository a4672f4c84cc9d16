//! VOLE over GF(2^128): w = v ⊕ uΔ. The placer has u and w, the programmer v and Δ.
//!
//! One VOLE serves one ask: two asks under the same u would reveal the sum of both encodings, so
//! each half is consumed by its ask.
//!
//! **Packed.** A column takes 128 OTs t_i = q_i ⊕ b_i Δ with random choices: u = Σ x^i b_i, w = Σ
//! x^i t_i and v = Σ x^i q_i. This needs no assumption beyond the OTs. Cost of a column: 128 OTs,
//! and 128 products with a factor x^i.
//!
//! **Silent.** Columns are outputs of [silent VOLE](tacit_ot::silent), which rests on LPN over
//! GF(2^128). It takes 33,888 packed columns first, so it serves runs of many columns, whose
//! parties have chosen silent OT, which rests on LPN over GF(2) already. [`VolePlan`] is this rule.

mod silent;

use std::num::NonZeroUsize;
use std::ops::Range;

use tacit_kernels::{Block, Cpu, Gf128Sum, Prg, inner_products, share_out, workers};
use tacit_ot::silent::{VOLE_BASE_COUNT, VoleCost, VoleReceiver, VoleSender};
use tacit_ot::source::Extension;
use zeroize::{Zeroize, Zeroizing};

use crate::Error;
use crate::io::Io;
use crate::party::Progress;
use crate::session::RunTag;
use crate::setup::{self, EXTENSION_OTS, EvaluatorOt, GarblerOt};
use silent::Silent;

/// The number of OTs of a column.
const OTS: usize = 128;

/// The number of OTs of a part if they are made ahead: enough for several threads.
const MADE_OTS: usize = 4 * EXTENSION_OTS;

/// The number of columns that a thread makes at a time: some 10 µs of work.
const SPAN_COLUMNS: usize = 64;

/// The number of columns that a thread unmasks at a time.
const UNMASKED_COLUMNS: usize = 64 * SPAN_COLUMNS;

/// The largest number of OTs that a refill makes, so that their memory is bounded.
const REFILL_OTS: usize = 1 << 19;

/// The form of a matching's VOLE, and its cost. Both parties have the same, which follows from the
/// extension and the sizes on which they agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolePlan {
    /// The columns of all shards.
    columns: u64,
    is_silent: bool,
}

impl VolePlan {
    /// With silent OT a VOLE of more columns is silent: about as many as take as long in both
    /// forms. Parties must agree on it.
    pub const MOST_PACKED_COLUMNS: u64 = 1 << 16;

    /// The work on the columns that are packed before a silent VOLE.
    const PACKED_BASE_WORK: u64 = (OTS * VOLE_BASE_COUNT) as u64;

    /// The work on a column of a silent VOLE, compared with that on an OT.
    const SILENT_COLUMN_WORK: u64 = 2;

    /// Returns the plan for this number of columns, of all shards together.
    #[must_use]
    pub fn of(extension: Extension, columns: u64) -> Self {
        Self {
            columns,
            is_silent: extension == Extension::Silent && columns > Self::MOST_PACKED_COLUMNS,
        }
    }

    /// Returns the number of columns, of all shards together.
    #[must_use]
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// Whether the VOLE is silent, and so rests on LPN over GF(2^128).
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Returns the number of correlated OTs.
    #[must_use]
    pub fn ots(&self) -> u64 {
        match self.is_silent {
            true => Self::PACKED_BASE_WORK + VoleCost::of(self.columns).cots,
            false => (OTS as u64).saturating_mul(self.columns),
        }
    }

    /// Returns the bytes of all messages besides those of the OTs, all from the programmer.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.is_silent {
            true => VoleCost::of(self.columns).sender_bytes,
            false => 0,
        }
    }

    /// Returns the work that [`Progress`] counts: the OTs, or as much work as that many take.
    #[must_use]
    pub fn work(&self) -> u64 {
        match self.is_silent {
            true => Self::PACKED_BASE_WORK + Self::SILENT_COLUMN_WORK * self.columns,
            false => self.ots(),
        }
    }
}

/// Columns of a matching's asks that are made together.
#[derive(Clone, Copy)]
pub(crate) struct AskColumns {
    /// The number of these columns.
    pub(super) count: u64,
    /// The number of the columns before them.
    pub(super) before: u64,
    /// The number of the columns of all asks.
    pub(super) all: u64,
    /// The work after all of them.
    pub(super) work_after: u64,
}

impl AskColumns {
    /// Returns the progress of a party once it has the OTs of the first `done` of these columns.
    fn progress(&self, done: usize) -> Progress {
        Progress {
            done_ands: OTS as u64 * (self.before + done as u64),
            total_ands: OTS as u64 * self.all + self.work_after,
        }
    }
}

/// The placer's OTs, and the half that makes columns from them if the VOLE is silent.
pub(super) struct PlacerOts {
    ot: EvaluatorOt,
    silent: Option<Box<Silent<VoleReceiver>>>,
}

/// The programmer's.
pub(super) struct ProgrammerOts {
    ot: GarblerOt,
    silent: Option<Box<Silent<VoleSender>>>,
}

impl PlacerOts {
    /// Returns the OTs of the base OTs with this tag.
    pub(super) fn new(ot: EvaluatorOt, plan: VolePlan, tag: &RunTag) -> Self {
        let silent = plan.is_silent.then(|| Box::new(Silent::new(plan, tag)));
        Self { ot, silent }
    }

    /// Makes these columns, in the form of the plan.
    pub(super) async fn choose(
        &mut self,
        io: &mut Io<'_>,
        columns: AskColumns,
        prg: &mut Prg,
    ) -> Result<PlacerVole, Error> {
        match &mut self.silent {
            Some(silent) => silent.choose(io, &mut self.ot, columns, prg).await,
            None => PlacerVole::choose(io, &mut self.ot, columns, prg).await,
        }
    }
}

impl ProgrammerOts {
    /// As [`PlacerOts::new`].
    pub(super) fn new(ot: GarblerOt, plan: VolePlan, tag: &RunTag) -> Self {
        let silent = plan.is_silent.then(|| Box::new(Silent::new(plan, tag)));
        Self { ot, silent }
    }

    /// As [`PlacerOts::choose`].
    pub(super) async fn offer(
        &mut self,
        io: &mut Io<'_>,
        columns: AskColumns,
        prg: &mut Prg,
    ) -> Result<ProgrammerVole, Error> {
        match &mut self.silent {
            Some(silent) => silent.offer(io, &mut self.ot, columns, prg).await,
            None => ProgrammerVole::offer(io, &mut self.ot, columns, prg).await,
        }
    }
}

/// The placer's half.
pub(crate) struct PlacerVole {
    u: Zeroizing<Vec<Block>>,
    w: Zeroizing<Vec<Block>>,
}

/// The programmer's half.
pub(crate) struct ProgrammerVole {
    v: Zeroizing<Vec<Block>>,
    delta: Zeroizing<Block>,
}

/// The multiplier a ↦ aΔ.
pub(crate) struct TimesDelta {
    cpu: Cpu,
    delta: Zeroizing<Block>,
}

impl TimesDelta {
    /// Adds Δ times each of `factors` to the block at the same position.
    pub(crate) fn add_to(&self, blocks: &mut [Block], factors: &[Block]) {
        let mut sums = Zeroizing::new([Gf128Sum::default(); SPAN_COLUMNS]);
        let parts = blocks.chunks_mut(SPAN_COLUMNS);
        for (blocks, factors) in parts.zip(factors.chunks(SPAN_COLUMNS)) {
            let sums = &mut sums[..blocks.len()];
            for (sum, block) in sums.iter_mut().zip(&*blocks) {
                *sum = Gf128Sum::default();
                sum.add(*block);
            }
            inner_products(self.cpu, &[*self.delta], factors, sums);
            for (block, sum) in blocks.iter_mut().zip(&*sums) {
                *block = sum.reduce();
            }
        }
    }
}

impl PlacerVole {
    /// Packs these columns, and sends and receives the messages for them.
    pub(crate) async fn choose(
        io: &mut Io<'_>,
        ot: &mut EvaluatorOt,
        columns: AskColumns,
        prg: &mut Prg,
    ) -> Result<Self, Error> {
        let count = columns.count as usize;
        let mut u = Zeroizing::new(vec![Block::ZERO; count]);
        let mut w = u.clone();
        let mut parts = Parts::new(count, ot.is_made_ahead(), ot.threads());
        while let Some((range, refill)) = parts.next() {
            if ot.needs_refill((range.len() * OTS) as u64) {
                ot.refill(io, refill, &seed(prg)).await?;
            }
            let done = range.end;
            for range in parts.at_once(range) {
                let t = &mut parts.ots[..range.len() * OTS];
                ot.extend_random(prg, t, io.message())?;
                match io.message().len() {
                    0 => io.breathe().await?,
                    bytes => io.send(setup::extension(bytes))?,
                }
                let spans = u[range.clone()].chunks_mut(SPAN_COLUMNS);
                let spans = spans.zip(w[range].chunks_mut(SPAN_COLUMNS));
                let spans = spans.zip(t.chunks(SPAN_COLUMNS * OTS));
                share_out(&mut parts.workers, spans, |(), ((u, w), t)| {
                    choices(t, u);
                    pack(&parts.powers, t, w);
                });
            }
            io.progressed(columns.progress(done));
        }
        Ok(Self { u, w })
    }

    /// Returns the encodings of all shards under u, which may be sent, and w.
    pub(crate) fn mask<'e>(
        self,
        encodings: impl IntoIterator<Item = &'e [[Block; 1]]>,
    ) -> (Vec<Block>, Zeroizing<Vec<Block>>) {
        let encoded = encodings.into_iter().flatten();
        let masked = self.u.iter().zip(encoded);
        let masked: Vec<_> = masked.map(|(u, [block])| *u ^ *block).collect();
        assert_eq!(masked.len(), self.u.len(), "an encoding of each column");
        (masked, self.w)
    }
}

impl ProgrammerVole {
    /// Packs these columns, from the messages for them.
    pub(crate) async fn offer(
        io: &mut Io<'_>,
        ot: &mut GarblerOt,
        columns: AskColumns,
        prg: &mut Prg,
    ) -> Result<Self, Error> {
        let mut v = Zeroizing::new(vec![Block::ZERO; columns.count as usize]);
        let mut parts = Parts::new(columns.count as usize, ot.is_made_ahead(), ot.threads());
        while let Some((range, refill)) = parts.next() {
            if ot.needs_refill((range.len() * OTS) as u64) {
                ot.refill(io, refill, &seed(prg)).await?;
            }
            let done = range.end;
            for range in parts.at_once(range) {
                let count = range.len() * OTS;
                let q = &mut parts.ots[..count];
                match ot.random_bytes(count) {
                    0 => {
                        io.breathe().await?;
                        ot.extend_random(q, &[])?;
                    }
                    bytes => ot.extend_random(q, io.receive(setup::extension(bytes)).await?)?,
                }
                let spans = v[range].chunks_mut(SPAN_COLUMNS);
                let spans = spans.zip(q.chunks(SPAN_COLUMNS * OTS));
                share_out(&mut parts.workers, spans, |(), (v, q)| {
                    pack(&parts.powers, q, v)
                });
            }
            io.progressed(columns.progress(done));
        }
        let delta = Zeroizing::new(ot.delta());
        Ok(Self { v, delta })
    }

    /// Returns K = v ⊕ eΔ for the encodings e that the placer sent under its u, and the multiplier
    /// by Δ.
    pub(crate) fn unmask(
        self,
        masked: &[Block],
        threads: NonZeroUsize,
    ) -> (Zeroizing<Vec<Block>>, TimesDelta) {
        let (mut keys, delta) = (self.v, self.delta);
        let cpu = Cpu::detect();
        let times = TimesDelta { cpu, delta };
        let spans = keys.chunks_mut(UNMASKED_COLUMNS);
        let spans = spans.zip(masked.chunks(UNMASKED_COLUMNS));
        share_out(&mut workers(threads), spans, |(), (keys, masked)| {
            times.add_to(keys, masked);
        });
        (keys, times)
    }
}

fn seed(prg: &mut Prg) -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    prg.fill_bytes(&mut *seed);
    seed
}

/// A split of columns into parts. OTs for a part must exist before it.
struct Parts {
    columns: usize,
    done: usize,
    /// The number of OTs of a part, the same at both parties.
    part: usize,
    /// The powers x^i.
    powers: Vec<Block>,
    /// Room for the OTs that are taken at once.
    ots: Zeroizing<Vec<Block>>,
    workers: Vec<()>,
}

impl Parts {
    fn new(columns: usize, made_ahead: bool, threads: NonZeroUsize) -> Self {
        let part = if made_ahead { MADE_OTS } else { EXTENSION_OTS };
        let at_once = if threads.get() > 1 {
            part
        } else {
            EXTENSION_OTS
        };
        Self {
            columns,
            done: 0,
            part,
            powers: (0..OTS).map(|i| Block::from_u128(1 << i)).collect(),
            ots: Zeroizing::new(vec![Block::ZERO; at_once.min(columns * OTS)]),
            workers: workers(threads),
        }
    }

    /// Splits the columns of a part into those whose OTs are taken at once.
    fn at_once(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let columns = (self.ots.len() / OTS).max(1);
        let begins = range.clone().step_by(columns);
        begins.map(move |begin| begin..range.end.min(begin + columns))
    }

    /// Returns the next columns, and the number of OTs to make if there are too few for them.
    fn next(&mut self) -> Option<(Range<usize>, u64)> {
        let left = self.columns - self.done;
        let begin = self.done;
        self.done += left.min(self.part / OTS);
        let refill = (left * OTS).min(REFILL_OTS) as u64;
        (left > 0).then_some((begin..self.done, refill))
    }
}

/// Writes the choices of each 128 OTs.
fn choices(t: &[Block], columns: &mut [Block]) {
    for (column, t) in columns.iter_mut().zip(t.chunks_exact(OTS)) {
        let bit = |bits, t: &Block| bits << 1 | t.to_u128() & 1;
        *column = Block::from_u128(t.iter().rev().fold(0, bit));
    }
}

/// Sets each column to Σ x^i · ots\[i\] of its 128 OTs.
fn pack(powers: &[Block], ots: &[Block], columns: &mut [Block]) {
    let mut sums = vec![Gf128Sum::default(); columns.len()];
    inner_products(Cpu::detect(), powers, ots, &mut sums);
    for (column, sum) in columns.iter_mut().zip(&sums) {
        *column = sum.reduce();
    }
    sums.zeroize();
}

#[cfg(test)]
pub(super) fn packed_for_test(t: &[Block; OTS]) -> (u128, Block) {
    let powers = Parts::new(1, false, NonZeroUsize::MIN).powers;
    let mut w = [Block::ZERO];
    pack(&powers, t, &mut w);
    let mut u = [Block::ZERO];
    choices(t, &mut u);
    (u[0].to_u128(), w[0])
}
