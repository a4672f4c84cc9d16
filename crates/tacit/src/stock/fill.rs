//! Lots of OTs and of garbled components. Each is durable at both parties before either counts it.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Instant;

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::Component;
use tacit_function::Role;
use tacit_garble::{Scheme, SchemeVisitor, with_scheme};
use tacit_kernels::{Block, map_parts};
use tacit_ot::{Delta, Security};
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::{InstanceSeed, InstanceTables, receive_lot, send_lot};
use tacit_protocol::session::RunTag;
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup};
use tacit_stock::{InstanceSize, LotWriter, Preparation as Right, Span};
use zeroize::Zeroizing;

use super::failure::StockFailure;
use super::keeping::{Turn, keep_on_threads, turns};
use super::meeting::give_way;
use super::opened::{component_size, ot_size};
use super::pace::{LOT_BYTES, Pace};
use super::prepare::Levels;
use super::{OT_BLOCK, OpenedStock, PreparedKind};
use crate::driver::{run_script, seed};
use crate::session::OtExtension;
use crate::{Error, Session};

/// The most instances of a lot.
const LOT_INSTANCES: u64 = 1 << 14;
/// The most lots that are started together and published together. Each has an open file.
const LOTS_AT_ONCE: usize = 16;

/// The least instances of OTs that a thread seals and writes.
const LEAST_PUT: usize = 64;

/// The order that is being made.
pub(super) struct Making<'a> {
    pub(super) tag: RunTag,
    pub(super) levels: &'a Levels,
    pub(super) threads: NonZeroUsize,
    pub(super) watch: &'a mut dyn FnMut(Progress),
}

/// The result for each kind, with the right to prepare for as long as the caller needs it.
pub(super) struct Filled {
    pub(super) kinds: Vec<PreparedKind>,
    pub(super) _right: Right,
}

/// Makes what is missing of each kind, up to its level.
pub(super) fn fill<'a>(
    session: &'a mut Session,
    opened: &'a mut OpenedStock,
    making: Making<'a>,
) -> Result<Filled, Error> {
    let visitor = Fill {
        session,
        opened,
        making,
    };
    with_scheme(visitor.opened.scheme, visitor)
        .map_err(|_| Error::ApiMisuse("this scheme is not offered by any protocol"))?
}

struct Fill<'a> {
    session: &'a mut Session,
    opened: &'a mut OpenedStock,
    making: Making<'a>,
}

impl SchemeVisitor for Fill<'_> {
    type Output = Result<Filled, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let levels = self.making.levels;
        for (kind, wanted) in levels {
            self.opened.stocks.note_name(kind, &wanted.name);
        }
        let mut right = self.opened.meet_to_prepare(self.session)?;
        let mut missing = self.missing();
        let kinds = levels.values().zip(&missing);
        let ands = kinds.map(|(wanted, missing)| wanted.and_gates().saturating_mul(*missing));
        let mut makers = Makers {
            scheme,
            delta: match self.opened.role {
                Role::Garbler => Some(self.opened.delta()?),
                Role::Evaluator => None,
            },
            tag: self.making.tag,
            threads: self.making.threads,
            ots: self.opened.ots.take(),
            done_ands: 0,
            total_ands: ands.fold(0, u64::saturating_add),
            watch: self.making.watch,
        };
        let (mut made, mut pace) = (vec![0; levels.len()], Pace::new());
        // Count what others make meanwhile, but do not replace what they take. So no level is
        // exceeded, and the loop ends.
        while let Some(place) = (0..made.len()).find(|&place| made[place] < missing[place]) {
            let (before, began) = (made_bytes(scheme, levels, &made), Instant::now());
            let batch = Batch {
                bytes: pace.agree(self.session, self.opened.role)?,
                session: self.session,
                opened: self.opened,
                right: &right,
                levels,
            };
            if let Err(error) = batch.make(&mut makers, place, &missing, &mut made) {
                let caught = error
                    .failed_ot_check()
                    .filter(|_| self.opened.role == Role::Garbler);
                let Some(check) = caught else {
                    return Err(error);
                };
                let left = end(self.opened, self.session, right).err().map(Box::new);
                return Err(Error::StockDestroyed { check, left });
            }
            let bytes = made_bytes(scheme, levels, &made);
            pace.took(bytes - before, began.elapsed(), bytes);
            if made != missing {
                // A run that waits for the right can take it now.
                give_way(right)?;
                right = self.opened.meet_to_prepare(self.session)?;
                for ((kind, wanted), (missing, made)) in
                    levels.iter().zip(missing.iter_mut().zip(&made))
                {
                    let room = wanted.level.saturating_sub(self.opened.agreed(kind));
                    *missing = *made + room.min(*missing - made);
                }
            }
        }
        self.opened.ots = makers.ots;
        let kinds = self.made(&made)?;
        Ok(Filled {
            kinds,
            _right: right,
        })
    }
}

impl Fill<'_> {
    /// Returns the kinds of the order with what was `made` of each.
    fn made(&self, made: &[u64]) -> Result<Vec<PreparedKind>, Error> {
        let kinds = self.making.levels.iter().zip(made);
        let kinds = kinds.map(|((kind, wanted), made)| {
            let unit = wanted.unit();
            Ok(PreparedKind {
                name: wanted.name.clone(),
                made: made * unit,
                available: self.opened.stock.available(kind)? * unit,
                and_gates: wanted.and_gates(),
            })
        });
        kinds.collect()
    }

    /// Returns what is missing of each kind, according to the last meeting.
    fn missing(&self) -> Vec<u64> {
        let levels = self.making.levels.iter();
        levels
            .map(|(kind, wanted)| wanted.level.saturating_sub(self.opened.agreed(kind)))
            .collect()
    }
}

/// Ends a stock whose peer guessed at bits of Δ and guessed wrong. Under the same Δ it could guess
/// again, in another of its sessions that waits for this right. Δ is destroyed first. Nobody can
/// open the rest of the stock after that. The rest is destroyed last, since no chain may outlive
/// the stock.
fn end(opened: &OpenedStock, session: &Session, right: Right) -> Result<(), Error> {
    let gone = right.destroy_keys();
    let ended = opened.end_chains(session);
    gone?;
    ended?;
    Ok(right.destroy()?)
}

/// Lots that are made in one go, without giving up the right to prepare. They take some seconds, so
/// that a run that finds too little in stock does not wait for a whole order.
struct Batch<'a> {
    session: &'a mut Session,
    opened: &'a OpenedStock,
    right: &'a Right,
    levels: &'a Levels,
    /// The bytes of tables from which it is enough.
    bytes: u64,
}

impl Batch<'_> {
    /// Makes lots, starting with the kind at `place`, up to the size limit. Lots that are made
    /// together wait only once for the disk, and once for the peer's disk.
    fn make<S: Scheme>(
        self,
        makers: &mut Makers<'_, S>,
        mut place: usize,
        missing: &[u64],
        made: &mut [u64],
    ) -> Result<(), Error> {
        let mut bytes = 0_u64;
        let mut next: Vec<_> = self
            .levels
            .keys()
            .map(|k| self.opened.next_number(k))
            .collect();
        while place < made.len() && bytes < self.bytes {
            let (mut lots, mut parts) = (Vec::new(), Vec::new());
            for (kind, wanted) in self.levels.iter().skip(place) {
                let component = wanted.component.as_ref();
                let instance_size = match component {
                    Some(component) => component_size(makers.scheme, self.opened.role, component)?,
                    None => ot_size(self.opened.role),
                };
                let (size, most) = lot_size(makers.scheme, component);
                let is_full = |lots: &[_], bytes| lots.len() >= LOTS_AT_ONCE || bytes >= self.bytes;
                while made[place] < missing[place] && !is_full(&lots, bytes) {
                    let first = next[place];
                    let enough = (self.bytes - bytes).div_ceil(size.max(1));
                    let count = most.min(missing[place] - made[place]).min(enough);
                    lots.push((*kind, instance_size, Span { first, count }));
                    parts.push((component, instance_size));
                    next[place] += count;
                    made[place] += count;
                    bytes = bytes.saturating_add(size.saturating_mul(count));
                }
                if made[place] < missing[place] {
                    break;
                }
                place += 1;
            }
            let writers = self.right.begin_lots(&lots)?;
            let mut parts = parts.into_iter();
            for lots in writers.chunk_by(|a, b| a.kind() == b.kind()) {
                let Some((component, instance_size)) = parts.by_ref().take(lots.len()).last()
                else {
                    break;
                };
                makers.make(self.session, component, lots, instance_size)?;
            }
            self.opened.publish(self.session, writers)?;
        }
        Ok(())
    }
}

/// Draws the seeds of lots' instances, keeps them, and returns them in the order of `turns`.
fn seeds_in_turn(
    lots: &[LotWriter],
    turns: impl Iterator<Item = Turn>,
) -> Result<Vec<InstanceSeed>, Error> {
    let mut rng = UnwrapErr(getrandom::SysRng);
    let mut secrets = Vec::with_capacity(lots.len());
    for lot in lots {
        let span = lot.span();
        let mut drawn = Zeroizing::new(vec![0; span.count as usize * InstanceSeed::BYTES]);
        rng.fill_bytes(&mut drawn);
        lot.put(span.first, &drawn, &[])?;
        secrets.push((span.first, drawn));
    }
    let count: u64 = lots.iter().map(|lot| lot.span().count).sum();
    // A vector that grows leaves secrets behind.
    let mut seeds = Vec::with_capacity(count as usize);
    for Turn { lot, span } in turns {
        let (first, drawn) = &secrets[lot];
        let begin = (span.first - first) as usize;
        let drawn = &drawn.as_chunks().0[begin..begin + span.count as usize];
        seeds.extend(drawn.iter().map(InstanceSeed::from_bytes));
    }
    Ok(seeds)
}

/// Returns the bytes of the tables that were made of each kind. Both parties compute the same.
fn made_bytes<S: Scheme>(scheme: S, levels: &Levels, made: &[u64]) -> u64 {
    let bytes = levels.values().zip(made).map(|(wanted, made)| {
        let (size, _) = lot_size(scheme, wanted.component.as_ref());
        size.saturating_mul(*made)
    });
    bytes.fold(0, u64::saturating_add)
}

/// Returns the bytes of an instance's tables and the most instances of one lot. Both parties
/// compute the same.
fn lot_size<S: Scheme>(scheme: S, component: Option<&Component>) -> (u64, u64) {
    let size = component.map_or(OT_BLOCK * Block::BYTES as u64, |component| {
        InstanceTables::size(scheme, component.program())
    });
    (size, (LOT_BYTES / size.max(1)).clamp(1, LOT_INSTANCES))
}

/// The OTs of a setup, under the tag of the session's first run or order that needed them.
pub(super) enum Ots {
    Garbler(GarblerOt),
    Evaluator(EvaluatorOt),
}

impl OpenedStock {
    /// Frees what takes much memory between runs: the state of silent OTs.
    pub(crate) fn end_run(&mut self, extension: OtExtension) {
        if extension == OtExtension::Silent {
            self.ots = None;
        }
    }
}

/// The state with which lots are made.
struct Makers<'a, S> {
    scheme: S,
    /// The garbler's Δ.
    delta: Option<Delta>,
    tag: RunTag,
    threads: NonZeroUsize,
    /// The OTs, whose base OTs are made once per session.
    ots: Option<Ots>,
    done_ands: u64,
    total_ands: u64,
    watch: &'a mut dyn FnMut(Progress),
}

impl<S: Scheme> Makers<'_, S> {
    /// Makes lots of one kind.
    fn make(
        &mut self,
        session: &mut Session,
        component: Option<&Component>,
        lots: &[LotWriter],
        instance_size: InstanceSize,
    ) -> Result<(), Error> {
        match component {
            Some(component) => self.make_instances(session, component, lots),
            None => lots
                .iter()
                .try_for_each(|lot| self.make_ots(session, lot, instance_size)),
        }
    }

    fn make_instances(
        &mut self,
        session: &mut Session,
        component: &Component,
        lots: &[LotWriter],
    ) -> Result<(), Error> {
        let program = component.program();
        let what = (self.scheme, program);
        let spans: Vec<_> = lots.iter().map(LotWriter::span).collect();
        let count = spans.iter().map(|span| span.count).sum();
        let size = InstanceTables::size(self.scheme, program) as usize;
        let turns = turns(&spans, size);
        let (done, total_ands) = (self.done_ands, self.total_ands);
        let watch = &mut *self.watch;
        let mut watch = |lot: Progress| {
            watch(Progress {
                done_ands: done + lot.done_ands,
                total_ands,
            });
        };
        let threads = self.threads.get();
        match &self.delta {
            Some(delta) => {
                let seeds = seeds_in_turn(lots, turns)?;
                let delta = Zeroizing::new(delta.to_block());
                run_script(session.channel(), &mut watch, async |io| {
                    send_lot(io, what, &delta, &seeds, threads)
                })?;
            }
            None => {
                let failure = StockFailure::default();
                let put =
                    |turn: Turn, tables: &[u8]| lots[turn.lot].put(turn.span.first, &[], tables);
                let how = (threads, &failure);
                let received = keep_on_threads(turns, size, &put, how, |keep| {
                    run_script(session.channel(), &mut watch, async |io| {
                        receive_lot(io, what, count, keep).await
                    })
                });
                failure.or(received)?;
            }
        }
        self.done_ands += program.ands().len() as u64 * count;
        Ok(())
    }

    fn make_ots(
        &mut self,
        session: &mut Session,
        lot: &LotWriter,
        instance_size: InstanceSize,
    ) -> Result<(), Error> {
        let span = lot.span();
        let count = (span.count * OT_BLOCK) as usize;
        let mut secrets = Zeroizing::new(Vec::with_capacity(
            span.count as usize * instance_size.secret_bytes as usize,
        ));
        match self.ots(session)? {
            Ots::Garbler(ot) => {
                let q = session.script(async |io| {
                    ot.refill(io, count as u64, &seed()).await?;
                    ot.offer(io, count).await
                })?;
                q.iter().for_each(|q| secrets.extend(q.to_bytes()));
            }
            Ots::Evaluator(ot) => {
                let mut random = Zeroizing::new(vec![0; count / 8]);
                UnwrapErr(getrandom::SysRng).fill_bytes(&mut random);
                let choices = (0..count).map(|i| random[i / 8] >> (i % 8) & 1 == 1);
                let choices = Zeroizing::new(choices.collect::<Vec<_>>());
                let labels = session.script(async |io| {
                    ot.refill(io, count as u64, &seed()).await?;
                    ot.choose(io, &choices)
                })?;
                let blocks = labels.chunks(OT_BLOCK as usize);
                for (labels, choices) in blocks.zip(random.chunks(OT_BLOCK as usize / 8)) {
                    labels
                        .iter()
                        .for_each(|label| secrets.extend(label.to_bytes()));
                    secrets.extend_from_slice(choices);
                }
            }
        }
        let bytes = instance_size.secret_bytes as usize;
        let put = |part: Range<usize>| {
            let first = span.first + part.start as u64;
            lot.put(first, &secrets[part.start * bytes..part.end * bytes], &[])
        };
        let parts = map_parts(span.count as usize, self.threads, LEAST_PUT, put);
        Ok(parts.into_iter().collect::<Result<(), _>>()?)
    }

    /// Returns the OTs of this session's preparations. The first call makes them from base OTs.
    fn ots(&mut self, session: &mut Session) -> Result<&mut Ots, Error> {
        if self.ots.is_none() {
            let mut rng = UnwrapErr(getrandom::SysRng);
            let (settings, malicious) = (session.ot_settings(), Security::Malicious);
            self.ots = Some(match &self.delta {
                Some(delta) => {
                    let delta = delta.clone();
                    let setup = GarblerSetup::with_delta(settings, &self.tag, delta, &mut rng)?;
                    let setup = setup.secured(malicious);
                    Ots::Garbler(session.script(async |io| setup.run(io).await?.ots())?)
                }
                None => {
                    let setup = EvaluatorSetup::with(settings, &self.tag, &mut rng)?;
                    let setup = setup.secured(malicious);
                    Ots::Evaluator(session.script(async |io| setup.run(io).await?.ots())?)
                }
            });
        }
        self.ots
            .as_mut()
            .ok_or(Error::ApiMisuse("the OTs were just made"))
    }
}
