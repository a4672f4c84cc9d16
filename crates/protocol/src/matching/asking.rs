//! The ask, and F: the common parts of plain intersection and joins.
//!
//! The placer sends e = u ⊕ Φ, the encoding Φ of z ↦ H(z) over its points under its VOLE. The
//! programmer has K = v ⊕ eΔ. The placer computes F(z) = pad(⟨row 1 of z, w⟩, z) for its own points
//! only. The programmer computes the same value as pad(⟨row 1 of z, K⟩ ⊕ ΔH(z), z) for any point.

use core::num::NonZeroUsize;

use tacit_kernels::{Block, Prg, WipedVec, share_out, workers};
use tacit_ot::Security;
use zeroize::Zeroizing;

use super::hashes::{AT_ONCE, MatchTag, Row, ShardHashes};
use super::keys::Keys;
use super::messages::{self, FRAME_BYTES};
use super::okvs::{
    Band, ColumnSpan, Decoder, Dependent, Encoder, OrderedRow, Value, order_vartime,
};
use super::sizes::BAND;
use super::vole::{PlacerOts, ProgrammerOts, ShardColumns, TimesDelta, VolePlan};
use crate::Error;
use crate::bits::{append_blocks, read_block};
use crate::io::Io;
use crate::session::RunTag;
use crate::setup::{EvaluatorSetup, GarblerSetup, OtSettings};

/// The number of rows that a thread takes at a time.
const SPAN_ROWS: usize = 16 * AT_ONCE;

/// The number of rows of each thread after which a party yields: some milliseconds.
const TURN_ROWS: usize = 64 * AT_ONCE;

/// The number of columns for whose rows a thread finds pivots at a time. Fewer than one row in a
/// hundred lies across the end of such a span.
const SPAN_COLUMNS: usize = if cfg!(test) { 1 << 10 } else { 1 << 15 };

/// The number of shards whose OTs come from one set of base OTs. They take 2.5 · 10^9 of the 2^32
/// OTs that SoftSpoken makes from a set.
const SHARDS_OF_SET: u32 = 16;

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
    shards: u64,
    /// The number of columns of a shard's ask.
    columns: u64,
}

impl Asking {
    /// Returns the asks for this number of shards, each with `columns` columns.
    pub(super) fn new(settings: OtSettings, tag: RunTag, shards: u64, columns: u64) -> Self {
        Self {
            settings,
            tag,
            vole: VolePlan::of(settings.extension, shards * columns),
            shards,
            columns,
        }
    }

    pub(super) fn threads(&self) -> NonZeroUsize {
        self.settings.threads
    }

    /// Returns the shards of a table, none with more than `most` keys.
    pub(super) fn shards(&self, keys: &Keys, most: u64) -> Result<Vec<Shard>, Error> {
        let tag = MatchTag::new(self.tag.as_bytes(), 0);
        Shard::all((keys, self.threads()), &tag, self.shards, most)
    }

    /// Sends the ask of a shard. Returns F of each of these points, `blocks` blocks each.
    pub(super) async fn ask(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        points: &[Block],
        blocks: usize,
        ots: &mut PlacerOts,
        prg: &mut Prg,
    ) -> Result<WipedVec<Block>, Error> {
        let points = Points::new(&shard.hashes, Row::Ask, points, self.columns);
        let w = points
            .ask(io, shard.columns(self.columns), ots, prg)
            .await?;
        points.evaluate(io, &w, None, blocks).await
    }

    /// Receives the ask of a shard. Returns F of each of these points, `blocks` blocks each.
    pub(super) async fn answer(
        &self,
        io: &mut Io<'_>,
        shard: &Shard,
        points: &[Block],
        blocks: usize,
        ots: &mut ProgrammerOts,
        prg: &mut Prg,
    ) -> Result<WipedVec<Block>, Error> {
        // What does not depend on the ask is done while the placer makes it.
        let points = Points::new(&shard.hashes, Row::Ask, points, self.columns);
        let (k, times) = take_ask(io, shard.columns(self.columns), ots, prg).await?;
        points.evaluate(io, &k, Some(&times), blocks).await
    }

    /// Returns the tag of the set of base OTs that starts with this shard, if one does. A silent
    /// VOLE takes few OTs, and goes on under its Δ.
    fn set(self, shard: u32) -> Option<RunTag> {
        let begins = match self.vole.is_silent() {
            true => shard == 0,
            false => shard.is_multiple_of(SHARDS_OF_SET),
        };
        begins.then(|| self.tag.match_setup(shard / SHARDS_OF_SET))
    }

    /// Ensures that the placer has OTs for this shard. Makes new base OTs where a set starts.
    pub(super) async fn place<'o>(
        self,
        io: &mut Io<'_>,
        shard: u32,
        ots: &'o mut Option<PlacerOts>,
        prg: &mut Prg,
    ) -> Result<&'o mut PlacerOts, Error> {
        if let Some(tag) = self.set(shard) {
            let setup = EvaluatorSetup::with(self.settings, &tag, prg)?.secured(ASK_SECURITY);
            let ot = setup.run(io).await?.ots()?;
            *ots = Some(PlacerOts::new(ot, self.vole, &tag));
        }
        ots.as_mut().ok_or(NO_SET)
    }

    /// Ensures the same for the programmer.
    pub(super) async fn program<'o>(
        self,
        io: &mut Io<'_>,
        shard: u32,
        ots: &'o mut Option<ProgrammerOts>,
        prg: &mut Prg,
    ) -> Result<&'o mut ProgrammerOts, Error> {
        if let Some(tag) = self.set(shard) {
            let setup = GarblerSetup::with(self.settings, &tag, prg)?.secured(ASK_SECURITY);
            let ot = setup.run(io).await?.ots()?;
            *ots = Some(ProgrammerOts::new(ot, self.vole, &tag));
        }
        ots.as_mut().ok_or(NO_SET)
    }
}

const NO_SET: Error = Error::ApiMisuse("shards in order");

/// The keys of a shard.
pub(super) struct Shard {
    pub(super) hashes: ShardHashes,
    /// The shard's number, and that of all shards.
    place: (u64, u64),
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
        count: u64,
        most: u64,
    ) -> Result<Vec<Self>, Error> {
        let (digests, count) = (keys.digests(tag, threads), count as u32);
        let of = tag.shards_of(&digests, count);
        let mut sizes = vec![0; count as usize];
        of.iter().for_each(|shard| sizes[*shard as usize] += 1);
        let shard = |(number, size): (u32, &usize)| Self {
            hashes: ShardHashes::new(tag, number).on_threads(threads),
            place: (number.into(), count.into()),
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

    /// Returns the points of the keys where there are no bins.
    pub(super) fn points(&self) -> WipedVec<Block> {
        self.hashes
            .points(self.digests.len(), |key| self.digests[key])
    }

    /// Returns the columns of the shard's ask, of which each has `count`.
    fn columns(&self, count: u64) -> ShardColumns {
        let (shard, shards) = self.place;
        ShardColumns {
            count,
            shard,
            shards,
            work_after: 0,
        }
    }
}

/// Points, with their rows in one of the two OKVSs.
pub(super) struct Points<'s> {
    hashes: &'s ShardHashes,
    row: Row,
    points: &'s [Block],
    /// The rows of the points, in the order of their starts.
    order: WipedVec<OrderedRow>,
}

/// The hashes of some points.
struct Hashed {
    points: WipedVec<Block>,
    bands: WipedVec<Band>,
}

impl<'s> Points<'s> {
    /// Returns the rows of these points in an OKVS with `columns` columns.
    pub(super) fn new(
        hashes: &'s ShardHashes,
        row: Row,
        points: &'s [Block],
        columns: u64,
    ) -> Self {
        let starts = hashes.starts(row, points, columns - (BAND - 1));
        Self {
            hashes,
            row,
            points,
            order: order_vartime(&starts),
        }
    }

    fn threads(&self) -> NonZeroUsize {
        self.hashes.threads()
    }

    fn hashed(&self, rows: &[OrderedRow]) -> Hashed {
        let points = rows.iter().map(|[_, row]| self.points[*row as usize]);
        let mut hashed = Hashed {
            points: WipedVec::of(points),
            bands: WipedVec::zeros(rows.len()),
        };
        self.hashes
            .bands(self.row, &hashed.points, &mut hashed.bands);
        hashed
    }

    fn elements(&self, hashed: &Hashed) -> WipedVec<Block> {
        let mut elements = WipedVec::zeros(hashed.points.len());
        self.hashes.elements(&hashed.points, &mut elements);
        elements
    }

    /// Returns columns whose sum for each point is its value. `value` returns the value of a point
    /// by its number.
    pub(super) async fn encode<const N: usize>(
        &self,
        io: &mut Io<'_>,
        columns: u64,
        value: impl Fn(usize) -> Value<N> + Sync,
        prg: &mut Prg,
    ) -> Result<WipedVec<Value<N>>, Error> {
        let values = |rows: &[OrderedRow], _: &Hashed| {
            WipedVec::of(rows.iter().map(|[_, row]| value(*row as usize)))
        };
        self.encode_by(io, columns, values, prg).await
    }

    /// Calls `each` with the number of each point and the sum of its row.
    pub(super) async fn decode<const N: usize>(
        &self,
        io: &mut Io<'_>,
        columns: &[Value<N>],
        mut each: impl FnMut(usize, Value<N>),
    ) -> Result<(), Error> {
        let mut decoders = self.decoders(columns);
        let mut sums = WipedVec::<Value<N>>::zeros(self.turn_rows());
        for rows in self.order.chunks(self.turn_rows()) {
            let spans = rows.chunks(SPAN_ROWS).zip(sums.chunks_mut(SPAN_ROWS));
            share_out(&mut decoders, spans, |decoder, (rows, sums)| {
                let lots = rows.chunks(AT_ONCE).zip(sums.chunks_mut(AT_ONCE));
                for (rows, sums) in lots {
                    let hashed = self.hashed(rows);
                    let rows = rows.iter().zip(hashed.bands.iter());
                    for (([start, _], band), sum) in rows.zip(sums) {
                        *sum = decoder.sum_vartime(*start, *band);
                    }
                }
            });
            for ([_, row], sum) in rows.iter().zip(sums.iter()) {
                each(*row as usize, *sum);
            }
            io.breathe().await?;
        }
        Ok(())
    }

    /// Returns a decoder for each thread.
    fn decoders<'c, const N: usize>(&self, columns: &'c [Value<N>]) -> Vec<Decoder<'c, N>> {
        let decoders = (0..self.threads().get()).map(|_| Decoder::new(columns));
        decoders.collect()
    }

    /// Returns the number of rows after which a party yields.
    fn turn_rows(&self) -> usize {
        (TURN_ROWS * self.threads().get())
            .min(self.order.len())
            .max(1)
    }

    /// Returns Φ, which encodes H(z) for each point z.
    async fn encode_elements(
        &self,
        io: &mut Io<'_>,
        columns: u64,
        prg: &mut Prg,
    ) -> Result<WipedVec<Value<1>>, Error> {
        let values = |_: &[OrderedRow], hashed: &Hashed| {
            let elements = self.elements(hashed);
            WipedVec::of(elements.iter().map(|element| [*element]))
        };
        self.encode_by(io, columns, values, prg).await
    }

    /// Returns columns for the rows of all points. `values` returns the values of up to [`AT_ONCE`]
    /// of them. It is called for many, since each lies somewhere else in memory.
    async fn encode_by<const N: usize>(
        &self,
        io: &mut Io<'_>,
        columns: u64,
        values: impl Fn(&[OrderedRow], &Hashed) -> WipedVec<Value<N>> + Sync,
        prg: &mut Prg,
    ) -> Result<WipedVec<Value<N>>, Error> {
        let push_all = |span: &mut ColumnSpan<'_, N>, rows: &[OrderedRow]| -> Result<(), Error> {
            for rows in rows.chunks(AT_ONCE) {
                let hashed = self.hashed(rows);
                let values = values(rows, &hashed);
                let bands = hashed.bands.iter().zip(values.iter());
                for ([start, _], (band, value)) in rows.iter().zip(bands) {
                    let pushed = span.push_vartime(*start, *band, *value);
                    pushed.map_err(|Dependent| Error::MatchingFailed)?;
                }
            }
            Ok(())
        };
        let mut encoder = Encoder::new(columns as usize, prg);
        let mut last = &self.order[..];
        let mut across = Zeroizing::new(Vec::new());
        if self.threads().get() > 1 {
            // Reserve room for all, so that growing leaves no copy behind.
            across.reserve_exact(columns as usize / SPAN_COLUMNS * 2 * BAND as usize);
            let mut spans = encoder.spans(SPAN_COLUMNS).peekable();
            while spans.peek().is_some() {
                let mut turn = Vec::new();
                for span in spans.by_ref().take(self.threads().get()) {
                    let (own, rest) = within(last, &span);
                    let ends = rest.partition_point(|[start, _]| (*start as usize) < span.end());
                    across.extend_from_slice(&rest[..ends]);
                    last = &rest[ends..];
                    turn.push((span, own, Ok(())));
                }
                share_out(
                    &mut workers(self.threads()),
                    &mut turn,
                    |(), (span, own, pushed)| {
                        *pushed = push_all(span, own);
                    },
                );
                turn.into_iter().try_for_each(|(.., pushed)| pushed)?;
                io.breathe().await?;
            }
            last = &across;
        }
        for rows in last.chunks(TURN_ROWS) {
            push_all(&mut encoder.whole(), rows)?;
            io.breathe().await?;
        }
        Ok(encoder.finish_vartime())
    }

    /// Sends the ask of these points. Returns w.
    async fn ask(
        &self,
        io: &mut Io<'_>,
        columns: ShardColumns,
        ots: &mut PlacerOts,
        prg: &mut Prg,
    ) -> Result<Zeroizing<Vec<Block>>, Error> {
        let encoding = self.encode_elements(io, columns.count, prg).await?;
        let vole = ots.choose(io, columns, prg).await?;
        let (masked, w) = vole.mask(&encoding);
        for columns in masked.chunks(FRAME_BYTES / Block::BYTES) {
            io.message().clear();
            append_blocks(io.message(), columns);
            io.send(messages::ask(Block::BYTES * columns.len()))?;
            io.breathe().await?;
        }
        Ok(w)
    }

    /// Returns `blocks` blocks of F of each point, one point after the other. The placer passes w.
    /// The programmer passes K and the multiplier that adds ΔH(z).
    async fn evaluate(
        &self,
        io: &mut Io<'_>,
        columns: &[Block],
        times: Option<&TimesDelta>,
        blocks: usize,
    ) -> Result<WipedVec<Block>, Error> {
        let mut all = WipedVec::zeros(blocks * self.points.len());
        let mut decoders = self.decoders(columns.as_chunks().0);
        let mut pads = WipedVec::zeros(blocks * self.turn_rows());
        for rows in self.order.chunks(self.turn_rows()) {
            let spans = rows.chunks(SPAN_ROWS);
            let spans = spans.zip(pads.chunks_mut(blocks * SPAN_ROWS));
            share_out(&mut decoders, spans, |decoder, (rows, pads)| {
                let lots = rows.chunks(AT_ONCE).zip(pads.chunks_mut(blocks * AT_ONCE));
                for (rows, pads) in lots {
                    self.evaluate_lot(decoder, rows, times, &mut pads[..blocks * rows.len()]);
                }
            });
            for ([_, row], pad) in rows.iter().zip(pads.chunks_exact(blocks)) {
                all[blocks * *row as usize..][..blocks].copy_from_slice(pad);
            }
            io.breathe().await?;
        }
        Ok(all)
    }

    /// Writes F of up to [`AT_ONCE`] points, in the order of their rows.
    fn evaluate_lot(
        &self,
        decoder: &mut Decoder<'_, 1>,
        rows: &[OrderedRow],
        times: Option<&TimesDelta>,
        pads: &mut [Block],
    ) {
        let hashed = self.hashed(rows);
        let sum = |([start, _], band): (&OrderedRow, &Band)| {
            let [sum] = decoder.sum_vartime(*start, *band);
            sum
        };
        let sums = rows.iter().zip(hashed.bands.iter()).map(sum);
        let mut sums = WipedVec::of(sums);
        if let Some(times) = times {
            times.add_to(&mut sums, &self.elements(&hashed));
        }
        self.hashes.pads(&sums, &hashed.points, pads);
    }
}

/// Splits rows, in the order of their starts, into those that lie within a span and those after
/// them.
fn within<'r, const N: usize>(
    rows: &'r [OrderedRow],
    span: &ColumnSpan<'_, N>,
) -> (&'r [OrderedRow], &'r [OrderedRow]) {
    let lies_within = |[start, _]: &OrderedRow| *start as usize + BAND as usize <= span.end();
    rows.split_at(rows.partition_point(lies_within))
}

/// Receives the ask of a shard. Returns K and the multiplier by Δ.
async fn take_ask(
    io: &mut Io<'_>,
    columns: ShardColumns,
    ots: &mut ProgrammerOts,
    prg: &mut Prg,
) -> Result<(Zeroizing<Vec<Block>>, TimesDelta), Error> {
    let vole = ots.offer(io, columns, prg).await?;
    let mut masked = vec![Block::ZERO; columns.count as usize];
    for columns in masked.chunks_mut(FRAME_BYTES / Block::BYTES) {
        let expected = messages::ask(Block::BYTES * columns.len());
        let frame = io.receive(expected).await?.chunks_exact(Block::BYTES);
        for (column, bytes) in columns.iter_mut().zip(frame) {
            *column = read_block(bytes);
        }
    }
    Ok(vole.unmask(&masked))
}
