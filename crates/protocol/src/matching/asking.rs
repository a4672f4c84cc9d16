//! The ask, and F: the common parts of plain intersection and joins.
//!
//! The placer sends e = u ⊕ Φ, the encoding Φ of z ↦ H(z) over its points under its VOLE. The
//! programmer has K = v ⊕ eΔ. The placer computes F(z) = pad(⟨row 1 of z, w⟩, z) for its own points
//! only. The programmer computes the same value as pad(⟨row 1 of z, K⟩ ⊕ ΔH(z), z) for any point.
//!
//! A shard is the work of one thread, since most steps of its encodings wait for the step before.
//! The parties work on several shards in a *turn*: the placer sends the asks of all shards of a
//! turn before the programmer answers them.

use core::num::NonZeroUsize;
use core::ops::Range;
use core::slice::Chunks;

use tacit_kernels::{Block, Prg, WipedVec, map_each};
use tacit_ot::Security;
use zeroize::Zeroizing;

use super::hashes::{AT_ONCE, MatchTag, Row, ShardHashes};
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::okvs::{Band, Decoder, Dependent, Encoder, OrderedRow, Value, order_vartime};
use super::sizes::BAND;
use super::vole::{AskColumns, PlacerOts, ProgrammerOts, TimesDelta, VolePlan};
use crate::Error;
use crate::bits::{append_blocks, read_block};
use crate::io::Io;
use crate::session::RunTag;
use crate::setup::{EvaluatorSetup, GarblerSetup, OtSettings};

/// The most columns whose OTs come from one set of base OTs, unless a single turn has more: they
/// take half of the 2^32 OTs that SoftSpoken makes from a set.
const COLUMNS_OF_SET: u64 = if cfg!(test) { 5_000 } else { 1 << 24 };

/// The adversary that the OTs of an ask withstand. A placer that learned Δ from a lie in them could
/// compute F at every point, and so try any number of keys against the tags or the hint. The
/// programmer checks all OTs of an ask before it answers.
pub const ASK_SECURITY: Security = Security::Malicious;

/// The asks of a matching, one for each shard, and the base OTs under them.
#[derive(Clone, Copy)]
pub(super) struct Asking {
    settings: OtSettings,
    /// The tag of the run.
    tag: RunTag,
    vole: VolePlan,
    shards: AskShards,
}

/// The shards of a matching.
#[derive(Clone, Copy)]
pub(super) struct AskShards {
    /// The number of all shards.
    pub(super) all: u64,
    /// The number of shards of a turn. The last turn may have fewer.
    pub(super) of_turn: u64,
    /// The number of columns of a shard's ask.
    pub(super) columns: u64,
}

impl Asking {
    /// Returns the asks for these shards.
    pub(super) fn new(settings: OtSettings, tag: RunTag, mut shards: AskShards) -> Self {
        // Tests have turns of three shards, so that the last one has fewer.
        if cfg!(test) {
            shards.of_turn = shards.of_turn.min(3);
        }
        Self {
            settings,
            tag,
            vole: VolePlan::of(settings.extension, shards.all * shards.columns),
            shards,
        }
    }

    pub(super) fn threads(&self) -> NonZeroUsize {
        self.settings.threads
    }

    /// Returns the shards of a table, none with more than `most` keys.
    pub(super) fn shards(&self, keys: &Keys, most: u64) -> Result<Vec<Shard>, Error> {
        let tag = MatchTag::new(self.tag.as_bytes(), 0);
        Shard::all((keys, self.threads()), &tag, self.shards.all as u32, most)
    }

    /// Returns the shards of each turn, with their numbers.
    pub(super) fn turns<'s>(
        &self,
        shards: &'s [Shard],
    ) -> impl Iterator<Item = (Range<u64>, &'s [Shard])> + use<'s> {
        let of_turn = self.shards.of_turn as usize;
        let (turns, first) = (shards.chunks(of_turn), (0..).step_by(of_turn));
        first
            .zip(turns)
            .map(|(first, shards)| (first..first + shards.len() as u64, shards))
    }

    /// Returns the columns of the asks of these shards.
    fn columns_of(&self, shards: &Range<u64>) -> AskColumns {
        let AskShards { all, columns, .. } = self.shards;
        AskColumns {
            count: columns * (shards.end - shards.start),
            before: columns * shards.start,
            all: columns * all,
            work_after: 0,
        }
    }

    /// Returns the tag of the set of base OTs that starts with this shard, the first of a turn, if
    /// one does. A silent VOLE takes few OTs, and goes on under its Δ.
    fn set(&self, shard: u64) -> Option<RunTag> {
        let AskShards {
            of_turn, columns, ..
        } = self.shards;
        let of_set = of_turn * (COLUMNS_OF_SET / (columns * of_turn).max(1)).max(1);
        let begins = if self.vole.is_silent() {
            shard == 0
        } else {
            shard.is_multiple_of(of_set)
        };
        begins.then(|| self.tag.match_setup((shard / of_set) as u32))
    }

    /// Sends the asks of the shards of a turn, an encoding for each. Returns w of each shard, one
    /// after the other. The OTs are those of the turn before, or new ones where a set starts.
    pub(super) async fn ask(
        &self,
        io: &mut Io<'_>,
        (shards, encodings): (Range<u64>, &[&[Value<1>]]),
        ots: &mut Option<PlacerOts>,
        prg: &mut Prg,
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        if let Some(tag) = self.set(shards.start) {
            let setup = EvaluatorSetup::with(self.settings, &tag, prg)?.secured(ASK_SECURITY);
            let ot = setup.run(io).await?.ots()?;
            *ots = Some(PlacerOts::new(ot, self.vole, &tag));
        }
        let ots = ots.as_mut().ok_or(NO_SET)?;
        let vole = ots.choose(io, self.columns_of(&shards), prg).await?;
        let (masked, w) = vole.mask(encodings.iter().copied());
        for shard in self.by_shard(&masked) {
            for frame in shard.chunks(FRAME_BYTES / Block::BYTES) {
                io.message().clear();
                append_blocks(io.message(), frame);
                io.send(messages::ask(Block::BYTES * frame.len()))?;
                io.breathe().await?;
            }
        }
        Ok(w)
    }

    /// Receives the asks of the shards of a turn. Returns K of each shard, one after the other, and
    /// the multiplier by Δ. The OTs are as at [`ask`](Self::ask).
    pub(super) async fn answer(
        &self,
        io: &mut Io<'_>,
        shards: Range<u64>,
        ots: &mut Option<ProgrammerOts>,
        prg: &mut Prg,
    ) -> Result<(Zeroizing<Vec<Block>>, TimesDelta), Error> {
        if let Some(tag) = self.set(shards.start) {
            let setup = GarblerSetup::with(self.settings, &tag, prg)?.secured(ASK_SECURITY);
            let ot = setup.run(io).await?.ots()?;
            *ots = Some(ProgrammerOts::new(ot, self.vole, &tag));
        }
        let ots = ots.as_mut().ok_or(NO_SET)?;
        let columns = self.columns_of(&shards);
        let vole = ots.offer(io, columns, prg).await?;
        let mut masked = vec![Block::ZERO; columns.count as usize];
        for shard in masked.chunks_mut(self.shards.columns as usize) {
            for frame in shard.chunks_mut(FRAME_BYTES / Block::BYTES) {
                let expected = messages::ask(Block::BYTES * frame.len());
                let bytes = io.receive(expected).await?.chunks_exact(Block::BYTES);
                for (column, bytes) in frame.iter_mut().zip(bytes) {
                    *column = read_block(bytes);
                }
            }
        }
        Ok(vole.unmask(&masked, self.threads()))
    }

    /// Splits the columns of the asks of some shards into those of each.
    pub(super) fn by_shard<'c>(&self, columns: &'c [Block]) -> Chunks<'c, Block> {
        columns.chunks(self.shards.columns as usize)
    }
}

const NO_SET: Error = Error::ApiMisuse("shards in order");

/// Draws a seed for each of `count` shards, so that none waits for another's random values.
pub(super) fn seeds(prg: &mut Prg, count: usize) -> Zeroizing<Vec<[u8; 32]>> {
    let mut seeds = Zeroizing::new(vec![[0; 32]; count]);
    prg.fill_bytes(seeds.as_flattened_mut());
    seeds
}

/// Returns the results of `work` on each item, a shard's, in order. Yields when each thread has
/// done one.
pub(super) async fn on_threads<I, R>(
    io: &mut Io<'_>,
    threads: NonZeroUsize,
    items: I,
    work: impl Fn(I::Item) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error>
where
    I: IntoIterator<IntoIter: ExactSizeIterator + Send, Item: Send>,
    R: Send,
{
    let mut items = items.into_iter();
    let mut results = Vec::with_capacity(items.len());
    while items.len() > 0 {
        for result in map_each(items.by_ref().take(threads.get()), threads, &work) {
            results.push(result?);
        }
        io.breathe().await?;
    }
    Ok(results)
}

/// The keys of a shard.
pub(super) struct Shard {
    pub(super) hashes: ShardHashes,
    /// The rows of the keys in the table.
    pub(super) rows: Vec<u32>,
    pub(super) digests: WipedVec<Block>,
}

impl Shard {
    /// Returns the shards of a table, none with more than `most` keys. Keys are hashed on `threads`
    /// threads.
    fn all(
        (keys, threads): (&Keys, NonZeroUsize),
        tag: &MatchTag,
        count: u32,
        most: u64,
    ) -> Result<Vec<Self>, Error> {
        let digests = keys.digests(tag, threads);
        let of = tag.shards_of(&digests, count);
        let mut sizes = vec![0; count as usize];
        of.iter().for_each(|shard| sizes[*shard as usize] += 1);
        let shard = |(number, size): (u32, &usize)| Self {
            hashes: ShardHashes::new(tag, number),
            rows: vec![0; *size],
            digests: WipedVec::zeros(*size),
        };
        let mut shards: Vec<Self> = (0..).zip(&sizes).map(shard).collect();
        let mut filled = vec![0; shards.len()];
        for ((row, digest), shard) in (0..).zip(digests.iter()).zip(of.iter()) {
            let (at, shard) = (&mut filled[*shard as usize], &mut shards[*shard as usize]);
            (shard.rows[*at], shard.digests[*at]) = (row, *digest);
            *at += 1;
        }
        if shards.iter().all(|shard| shard.rows.len() as u64 <= most) {
            return Ok(shards);
        }
        match count {
            1 => Err(Error::ApiMisuse("no more keys than were agreed on")),
            _ => Err(Error::MatchingFailed),
        }
    }
}

/// Points of a shard.
pub(super) struct Points<'s> {
    hashes: &'s ShardHashes,
    points: WipedVec<Block>,
}

/// The rows of a shard's points in one of the two OKVSs, in the order of their starts.
pub(super) struct OkvsRows {
    okvs: Row,
    columns: usize,
    order: WipedVec<OrderedRow>,
}

/// The hashes of some points.
struct Hashed {
    points: WipedVec<Block>,
    bands: WipedVec<Band>,
}

impl<'s> Points<'s> {
    /// Returns the points of `count` digests. Where there are bins, each digest already includes
    /// its bin.
    pub(super) fn new(
        hashes: &'s ShardHashes,
        count: usize,
        digest: impl Fn(usize) -> Block,
    ) -> Self {
        let points = hashes.points(count, digest);
        Self { hashes, points }
    }

    /// Returns the points of a shard's keys where there are no bins.
    pub(super) fn of_keys(shard: &'s Shard) -> Self {
        let digests = &shard.digests;
        Self::new(&shard.hashes, digests.len(), |key| digests[key])
    }

    /// Returns the rows of these points in an OKVS with `columns` columns.
    pub(super) fn rows(&self, okvs: Row, columns: u64) -> OkvsRows {
        let starts = self.hashes.starts(okvs, &self.points, columns - (BAND - 1));
        OkvsRows {
            okvs,
            columns: columns as usize,
            order: order_vartime(&starts),
        }
    }

    fn hashed(&self, okvs: Row, rows: &[OrderedRow]) -> Hashed {
        let points = rows.iter().map(|[_, row]| self.points[*row as usize]);
        let mut hashed = Hashed {
            points: WipedVec::of(points),
            bands: WipedVec::zeros(rows.len()),
        };
        self.hashes.bands(okvs, &hashed.points, &mut hashed.bands);
        hashed
    }

    fn elements(&self, hashed: &Hashed) -> WipedVec<Block> {
        let mut elements = WipedVec::zeros(hashed.points.len());
        self.hashes.elements(&hashed.points, &mut elements);
        elements
    }

    /// Returns columns whose sum for each point is its value. `value` returns the value of a point
    /// by its number.
    ///
    /// # Errors
    ///
    /// The points have no encoding.
    pub(super) fn encode_vartime<const N: usize>(
        &self,
        rows: &OkvsRows,
        value: impl Fn(usize) -> Value<N>,
        prg: &mut Prg,
    ) -> Result<WipedVec<Value<N>>, Error> {
        let values = |rows: &[OrderedRow], _: &Hashed| {
            WipedVec::of(rows.iter().map(|[_, row]| value(*row as usize)))
        };
        self.encode_by_vartime(rows, values, prg)
    }

    /// Returns Φ, which encodes H(z) for each point z.
    ///
    /// # Errors
    ///
    /// The points have no encoding.
    pub(super) fn encode_elements_vartime(
        &self,
        rows: &OkvsRows,
        prg: &mut Prg,
    ) -> Result<WipedVec<Value<1>>, Error> {
        let values = |_: &[OrderedRow], hashed: &Hashed| {
            let elements = self.elements(hashed);
            WipedVec::of(elements.iter().map(|element| [*element]))
        };
        self.encode_by_vartime(rows, values, prg)
    }

    /// Returns columns for the rows of all points. `values` returns the values of up to [`AT_ONCE`]
    /// of them. It is called for many, since each lies somewhere else in memory.
    fn encode_by_vartime<const N: usize>(
        &self,
        rows: &OkvsRows,
        values: impl Fn(&[OrderedRow], &Hashed) -> WipedVec<Value<N>>,
        prg: &mut Prg,
    ) -> Result<WipedVec<Value<N>>, Error> {
        let mut encoder = Encoder::new(rows.columns, prg);
        for lot in rows.order.chunks(AT_ONCE) {
            let hashed = self.hashed(rows.okvs, lot);
            let values = values(lot, &hashed);
            let bands = hashed.bands.iter().zip(values.iter());
            for ([start, _], (band, value)) in lot.iter().zip(bands) {
                let pushed = encoder.push_vartime(*start, *band, *value);
                pushed.map_err(|Dependent| Error::MatchingFailed)?;
            }
        }
        Ok(encoder.finish_vartime())
    }

    /// Calls `each` with the number of each point and the sum of its row.
    pub(super) fn decode_vartime<const N: usize>(
        &self,
        rows: &OkvsRows,
        columns: &[Value<N>],
        mut each: impl FnMut(usize, Value<N>),
    ) {
        let mut decoder = Decoder::new(columns);
        for lot in rows.order.chunks(AT_ONCE) {
            let hashed = self.hashed(rows.okvs, lot);
            for ([start, row], band) in lot.iter().zip(hashed.bands.iter()) {
                each(*row as usize, decoder.sum_vartime(*start, *band));
            }
        }
    }

    /// Returns `blocks` blocks of F of each point, one point after the other. The placer passes w.
    /// The programmer passes K and the multiplier that adds ΔH(z).
    pub(super) fn evaluate_vartime(
        &self,
        rows: &OkvsRows,
        columns: &[Block],
        times: Option<&TimesDelta>,
        blocks: usize,
    ) -> WipedVec<Block> {
        let mut all = WipedVec::zeros(blocks * self.points.len());
        let mut decoder = Decoder::new(columns.as_chunks::<1>().0);
        let mut pads = WipedVec::zeros(blocks * AT_ONCE);
        for lot in rows.order.chunks(AT_ONCE) {
            let hashed = self.hashed(rows.okvs, lot);
            let sum = |([start, _], band): (&OrderedRow, &Band)| {
                let [sum] = decoder.sum_vartime(*start, *band);
                sum
            };
            let mut sums = WipedVec::of(lot.iter().zip(hashed.bands.iter()).map(sum));
            if let Some(times) = times {
                times.add_to(&mut sums, &self.elements(&hashed));
            }
            let pads = &mut pads[..blocks * lot.len()];
            self.hashes.pads(&sums, &hashed.points, pads);
            for ([_, row], pad) in lot.iter().zip(pads.chunks_exact(blocks)) {
                all[blocks * *row as usize..][..blocks].copy_from_slice(pad);
            }
        }
        all
    }
}
