//! The material that a run takes from the stock: leases at both parties, and what they give.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::{
    Demand, EvaluatorOts, GarblerInstance, GarblerOts, InstanceSeed, InstanceTables,
    MAX_RUNS_AHEAD, MAX_RUNS_ON_THE_SPOT, QueuedInstances,
};
use tacit_protocol::session::RunTag;
use tacit_stock::{ComponentDigest, Lease, LeasePool};
use zeroize::Zeroizing;

use super::failure::StockFailure;
use super::fill::{Making, fill};
use super::leases::{Attempt, LeaseTerms, OwnLeases, follow, is_of_one_lot, name};
use super::prepare::{kinds_of, levels_for, names_of};
use super::{OT_BLOCK, OpenedStock, TakenNumbers};
use crate::advice::advice;
use crate::{Error, Session};

/// The number of times that other sessions may take material from the stock, or material made for
/// this run, before the run gives up. Each time one of them makes progress, so no two sessions
/// block each other.
pub(super) const ATTEMPTS: usize = 64;

/// The most AND gates of later runs for which a run also prepares on the spot: some milliseconds.
const MAX_ANDS_ON_THE_SPOT: u64 = 1 << 17;

/// Returns the error after that many attempts.
pub(super) fn leases_differ() -> Error {
    Error::material(
        "the parties cannot agree on leases: other processes use the stock all the time, or one of \
         the stocks is damaged",
        advice!("withdraw what is damaged with "(CheckStock)),
    )
}

/// Returns the number of runs for which `available` of each kind are enough, if a run takes
/// `needed` of each, or `None` if a run takes nothing.
pub(super) fn runs(available: &[u64], needed: &[u64]) -> Option<u64> {
    let each = available.iter().zip(needed);
    each.filter_map(|(available, needed)| available.checked_div(*needed))
        .min()
}

/// The rank of a lot by its kinds and their available instances.
type RankOfLot = fn(&[ComponentDigest], &[u64]) -> (Option<u8>, u64);

/// The leases of a run that takes all its material from one lot.
pub(super) struct LotLease<'a> {
    /// The kinds of each lot that may serve.
    pub(super) lots: &'a [Vec<ComponentDigest>],
    /// The number of instances of each kind that a run takes.
    pub(super) needed: &'a [u64],
    /// At the evaluator, the number of later runs for which it may lease as well.
    pub(super) ahead: u64,
    /// The evaluator takes the lot of the lowest rank that has enough; of equal ones, the first.
    pub(super) rank: RankOfLot,
}

impl LotLease<'_> {
    /// Returns the index of the lot that the evaluator takes, and the number of runs to lease for.
    fn choose(&self, opened: &OpenedStock) -> Result<Option<(usize, u64)>, Error> {
        let most = self.ahead.min(MAX_RUNS_AHEAD) + 1;
        let mut enough = Vec::new();
        for (place, lot) in self.lots.iter().enumerate() {
            let available = lot.iter().map(|kind| opened.stock.available(kind));
            let available = available.collect::<Result<Vec<_>, _>>()?;
            let runs = runs(&available, self.needed).unwrap_or(0).min(most);
            if runs > 0 {
                enough.push(((self.rank)(lot, &available), place, runs));
            }
        }
        let chosen = enough.into_iter().min();
        Ok(chosen.map(|(_, place, runs)| (place, runs)))
    }
}

/// Leases the material of a run from one lot, at both parties. The evaluator may lease for later
/// runs as well. Returns `None` if no lot has enough, on which both parties come to the same
/// answer.
pub(super) fn lease_of_one_lot(
    session: &mut Session,
    opened: &mut OpenedStock,
    order: &LotLease<'_>,
) -> Result<Option<Vec<Lease>>, Error> {
    let LotLease { lots, needed, .. } = *order;
    let kinds = lots.concat();
    for _ in 0..ATTEMPTS {
        let each = |lot: &Vec<_>| lot.clone().into_iter().zip(needed.iter().copied());
        let held = &opened.held;
        let has_all = |lot| each(lot).all(|(kind, needed)| held.count(&kind) >= needed);
        if let Some(lot) = lots.iter().find(|lot| has_all(lot)) {
            let leases = each(lot).map(|(kind, needed)| {
                opened.taken.note(kind, needed);
                opened.held.take(&kind, needed)
            });
            return Ok(Some(leases.collect::<Result<_, _>>()?));
        }
        let counts = match opened.role {
            Role::Evaluator => counts_of_one_lot(lots.len(), needed, order.choose(opened)?),
            Role::Garbler => {
                let most = |needed: &u64| 0..=needed.saturating_mul(1 + MAX_RUNS_AHEAD);
                let counts = lots.iter().flat_map(|_| needed.iter().map(most));
                counts.collect()
            }
        };
        let terms = LeaseTerms {
            kinds: &kinds,
            counts,
            runs: 1,
        };
        let is_whole = |counts: &[u64]| is_of_one_lot(counts, needed);
        let attempt = attempt(session, opened, &terms, is_whole)?;
        if matches!(attempt, Attempt::Short { .. }) {
            return Ok(None);
        }
    }
    Err(leases_differ())
}

/// Returns how many instances the evaluator leases of each kind of each of `lots` lots: from the
/// lot at `place` enough for one to `runs` runs, and nothing from the others. Without such a lot
/// the numbers are more than any lot has, so the leases turn out too short.
fn counts_of_one_lot(
    lots: usize,
    needed: &[u64],
    lot_and_runs: Option<(usize, u64)>,
) -> Vec<RangeInclusive<u64>> {
    let of_lot = |lot: usize| match lot_and_runs {
        None => 1..=1,
        Some((place, runs)) if place == lot => 1..=runs,
        Some(_) => 0..=0,
    };
    let bounds = (0..lots).map(of_lot).flat_map(|runs| {
        let each = needed.iter();
        each.map(move |needed| needed * runs.start()..=needed * runs.end())
    });
    bounds.collect()
}

/// Runs one exchange of leases. Either both parties lease the same, or neither does.
fn attempt(
    session: &mut Session,
    opened: &mut OpenedStock,
    terms: &LeaseTerms<'_>,
    is_honest: impl Fn(&[u64]) -> bool,
) -> Result<Attempt, Error> {
    let failure = StockFailure::default();
    let role = opened.role;
    let mut own = OwnLeases {
        stock: &opened.stock,
        held: &mut opened.held,
        failure: &failure,
    };
    failure.or(session.exchange(async |io| match role {
        Role::Evaluator => name(io, &mut own, terms).await,
        Role::Garbler => follow(io, &mut own, terms, is_honest).await,
    }))
}

/// The way in which a job orders its leases.
pub(crate) struct LeaseOrder<'a> {
    /// At the evaluator, the number of later runs of the same session to lease for.
    pub(crate) ahead: u64,
    /// Whether the run must not make anything on the spot.
    pub(crate) needs_stock: bool,
    /// Called with the numbers that the run takes, once their leases are durable and before
    /// anything depends on them.
    pub(crate) watch: &'a mut dyn FnMut(&TakenNumbers),
}

/// The leases of a run: OTs, then the instances of each component.
pub(crate) struct Supplies {
    leases: Vec<Lease>,
    /// The number of AND gates that were garbled on the spot because the stock had too little.
    pub(crate) ands_on_the_spot: u64,
}

impl Supplies {
    /// Leases at both parties what a run of `function` takes, and prepares what is missing on the
    /// spot.
    pub(crate) fn lease(
        session: &mut Session,
        opened: &mut OpenedStock,
        function: &Function,
        tag: RunTag,
        order: &mut LeaseOrder<'_>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let demand = Demand::of(function)?;
        let mut needed = vec![demand.ots.div_ceil(OT_BLOCK)];
        needed.extend(&demand.instances);
        let kinds = kinds_of(function.components());
        let mut ands_on_the_spot = 0;
        // The right of the last preparation, kept until this run has leased what was made for it.
        let mut right = None;
        for _ in 0..ATTEMPTS {
            let lacking = lacking(&opened.held, &kinds, &needed);
            if lacking.iter().all(|lacking| *lacking == 0) {
                return Ok(Self {
                    leases: take(opened, function, &needed, order.watch)?,
                    ands_on_the_spot,
                });
            }
            let ahead = match opened.role {
                Role::Evaluator => order.ahead.min(MAX_RUNS_AHEAD),
                Role::Garbler => MAX_RUNS_AHEAD,
            };
            let terms = LeaseTerms {
                kinds: &kinds,
                counts: counts(&lacking, &needed, ahead),
                runs: match right {
                    None => runs_on_the_spot(function, ahead),
                    // Another session took what was made, or the peer says so.
                    Some(_) => 1,
                },
            };
            match attempt(session, opened, &terms, |_| true)? {
                Attempt::Leased | Attempt::Behind => {}
                Attempt::Short { .. } if order.needs_stock => {
                    return Err(Error::stock_lacks(function));
                }
                Attempt::Short { runs } => {
                    drop(right.take());
                    let later = u64::from(runs) - 1;
                    let levels = counts(&lacking, &needed, later);
                    let levels: Vec<_> = levels.iter().map(|counts| *counts.end()).collect();
                    let levels = levels_for(function, &levels);
                    let making = Making {
                        tag,
                        levels: &levels,
                        threads: NonZeroUsize::MIN,
                        watch: &mut *watch,
                    };
                    let filled = fill(session, opened, making)?;
                    let ands = filled.kinds.iter().map(|kind| kind.made * kind.and_gates);
                    ands_on_the_spot += ands.sum::<u64>();
                    right = Some(filled);
                }
            }
        }
        Err(leases_differ())
    }

    /// Reads the garbler's material.
    pub(crate) fn garbler<S: Scheme>(
        self,
        scheme: S,
        function: &Function,
        delta: Block,
    ) -> Result<(GarblerOts, GarblerSupply<S>), Error> {
        let ots = function.input_bits(Role::Evaluator);
        let (numbers, secrets, leases) = self.parts(ots)?;
        let (blocks, _) = secrets.as_chunks::<{ Block::BYTES }>();
        let q = blocks
            .iter()
            .take(ots)
            .map(|bytes| Block::from_bytes(*bytes))
            .collect();
        let mut queues = Vec::new();
        for (component, lease) in function.components().iter().zip(leases) {
            let mut seeds = Vec::new();
            for instance in lease.instances() {
                let instance = instance?;
                let seed = instance
                    .secret()
                    .first_chunk()
                    .ok_or_else(|| too_short(component))?;
                seeds.push(InstanceSeed::from_bytes(seed));
            }
            let queue = InstanceSeed::wires_all(&seeds, scheme, component.program(), delta);
            queues.push(VecDeque::from(queue));
        }
        Ok((GarblerOts { numbers, q }, QueuedInstances(queues)))
    }

    /// Reads the evaluator's material.
    pub(crate) fn evaluator<S: Scheme>(
        self,
        scheme: S,
        function: &Function,
    ) -> Result<(EvaluatorOts, QueuedInstances<InstanceTables>), Error> {
        let ots = function.input_bits(Role::Evaluator);
        let (numbers, secrets, leases) = self.parts(ots)?;
        // Reserve whole blocks: a vector that grows would leave a copy of the secrets behind.
        let room = ots.next_multiple_of(OT_BLOCK as usize);
        let (mut labels, mut choices) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let (label_bytes, choice_bytes) = (OT_BLOCK as usize * Block::BYTES, OT_BLOCK as usize / 8);
        for block in secrets.chunks_exact(label_bytes + choice_bytes) {
            let (these, bits) = block.split_at(label_bytes);
            let (these, _) = these.as_chunks::<{ Block::BYTES }>();
            labels.extend(these.iter().map(|bytes| Block::from_bytes(*bytes)));
            choices.extend((0..OT_BLOCK as usize).map(|i| bits[i / 8] >> (i % 8) & 1 == 1));
        }
        labels.truncate(ots);
        choices.truncate(ots);
        let mut queues = Vec::new();
        for (component, lease) in function.components().iter().zip(leases) {
            let mut queue = VecDeque::new();
            for instance in lease.instances() {
                let tables = instance?.tables().to_vec();
                let tables = InstanceTables::from_bytes(scheme, component.program(), tables);
                queue.push_back(tables.ok_or_else(|| too_short(component))?);
            }
            queues.push(queue);
        }
        let ots = EvaluatorOts {
            numbers,
            choices,
            labels,
        };
        Ok((ots, QueuedInstances(queues)))
    }

    fn parts(self, ots: usize) -> Result<Parts, Error> {
        let blocks = self.leases.first().into_iter().flat_map(Lease::spans);
        let blocks = blocks.flat_map(|span| span.first..span.end());
        let numbers = blocks.flat_map(|block| (0..OT_BLOCK).map(move |i| block * OT_BLOCK + i));
        let numbers = numbers.take(ots).collect();
        let mut leases = self.leases.into_iter();
        let secrets = leases.next().map(Lease::secrets).transpose()?;
        Ok((numbers, secrets.unwrap_or_default(), leases))
    }
}

/// The numbers of a run's OTs, their secrets, and the leases of its components.
type Parts = (Vec<u64>, Zeroizing<Vec<u8>>, std::vec::IntoIter<Lease>);

fn too_short(component: &Component) -> Error {
    Error::damaged(format!(
        "an instance of {} in the stock is of another length",
        component.name()
    ))
}

/// The garbler's instances of a run.
pub(crate) type GarblerSupply<S> = QueuedInstances<GarblerInstance<<S as Scheme>::Wire>>;

/// Takes what a run needs from the session's leases, and reports the numbers.
fn take(
    opened: &mut OpenedStock,
    function: &Function,
    needed: &[u64],
    watch: &mut dyn FnMut(&TakenNumbers),
) -> Result<Vec<Lease>, Error> {
    let names = names_of(function);
    let kinds = kinds_of(function.components());
    let mut leases = Vec::with_capacity(needed.len());
    for ((digest, name), count) in kinds.into_iter().zip(names).zip(needed) {
        let lease = opened.held.take(&digest, *count)?;
        opened.taken.note(digest, *count);
        if lease.count() > 0 {
            watch(&TakenNumbers::of(&lease, name, opened.stock.epoch()));
        }
        leases.push(lease);
    }
    Ok(leases)
}

/// Returns the most runs for which the parties prepare on the spot, if `ahead` further runs of the
/// session lease together with one that lacks something. The bound is low, since that run waits for
/// all of them.
fn runs_on_the_spot(function: &Function, ahead: u64) -> u8 {
    let ands = function.and_gates().max(1);
    let few = ahead.min(MAX_ANDS_ON_THE_SPOT / ands) as u8;
    few.saturating_add(1).min(MAX_RUNS_ON_THE_SPOT)
}

/// Returns, for each kind, what is needed and not yet leased by the session.
fn lacking(held: &LeasePool, kinds: &[ComponentDigest], needed: &[u64]) -> Vec<u64> {
    let mut left: BTreeMap<_, _> = kinds.iter().map(|kind| (kind, held.count(kind))).collect();
    let kinds = kinds.iter().zip(needed);
    let lacking = kinds.map(|(kind, needed)| {
        let left = left.entry(kind).or_default();
        let taken = *needed.min(left);
        *left -= taken;
        needed - taken
    });
    lacking.collect()
}

/// Returns how many instances to lease of each kind: the missing ones and, if any are missing, up
/// to the need of `ahead` further runs.
fn counts(lacking: &[u64], needed: &[u64], ahead: u64) -> Vec<RangeInclusive<u64>> {
    let kinds = lacking.iter().zip(needed);
    let counts = kinds.map(|(lacking, needed)| match lacking {
        0 => 0..=0,
        _ => *lacking..=lacking.saturating_add(needed.saturating_mul(ahead)),
    });
    counts.collect()
}
