//! Filling the stock: lots of OTs and of garbled components, each durable at both parties before
//! either counts it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use rand_core::{Rng, UnwrapErr};
use sha2::{Digest as _, Sha256};
use tacit_circuit::{Component, Digest, Function, Role};
use tacit_garble::{Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_kernels::Block;
use tacit_net::Meter;
use tacit_ot::{Check, Delta, PeerMisbehaved, Security};
use tacit_protocol::Misbehaviour;
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::{
    ChoosingOts, Demand, GarblingLot, InstanceSeed, InstanceTables, OfferingOts, ReceivingLot,
};
use tacit_protocol::session::{Proposal, ProtocolId, RunTag};
use tacit_protocol::setup::{EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, Refill};
use tacit_stock::{ComponentDigest, LotWriter, Preparation as Right, Shape, Span};
use zeroize::Zeroizing;

use super::contents::OTS;
use super::opened::{RIGHT_PAUSE, component_shape, kind_of, kinds_of, ot_shape};
use super::{OT_BLOCK, OpenedStock, Stocks, ot_kind};
use crate::driver::drive;
use crate::scheme::default_scheme;
use crate::session::{OtNeed, Terms};
use crate::{Error, OtExtension, Session};

/// Bytes of a lot's tables, about: small enough that a cut costs little.
const LOT_BYTES: u64 = 64 << 20;
/// Most instances of a lot.
const LOT_INSTANCES: u64 = 1 << 14;

/// What a stock is to hold.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// What people call it.
    name: String,
    /// The component; nothing for OTs.
    component: Option<Component>,
    /// Instances that are to be there, unspent.
    level: u64,
}

impl Wanted {
    /// What people count of it: OTs one by one.
    fn unit(&self) -> u64 {
        if self.component.is_some() {
            1
        } else {
            OT_BLOCK
        }
    }

    /// AND gates of an instance.
    fn and_gates(&self) -> u64 {
        let component = self.component.as_ref();
        component.map_or(0, |component| component.program().ands().len() as u64)
    }
}

/// What is wanted of each kind, in the order of their digests.
pub(crate) type Levels = BTreeMap<ComponentDigest, Wanted>;

/// An order to fill the stock with a peer: both parties give the same, each in its role.
///
/// ```no_run
/// # use tacit::{Error, Function, Preparation, Role, Session, Stocks};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = Preparation::new(Role::Garbler).enough_for(function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("{} kinds", prepared.kinds.len());
/// # Ok(())
/// # }
/// ```
pub struct Preparation<'w> {
    role: Role,
    scheme: Option<SchemeId>,
    /// What its functions run under where no scheme is named.
    by_functions: Option<SchemeId>,
    levels: Levels,
    threads: NonZeroUsize,
    time_limit: Option<Duration>,
    watch: Box<dyn FnMut(Progress) + Send + 'w>,
}

/// What a preparation did.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Each kind that was asked for.
    pub kinds: Vec<PreparedKind>,
    /// How OTs were made, where any were.
    pub ot_extension: Option<OtExtension>,
    /// Wall time.
    pub wall: Duration,
    /// Bytes, messages and rounds.
    pub traffic: Meter,
}

/// What a preparation did for one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedKind {
    /// The component's name, or `OTs`.
    pub name: String,
    /// Instances that were made; for OTs the OTs.
    pub made: u64,
    /// Instances that can be used now; for OTs the OTs.
    pub available: u64,
    /// AND gates of an instance.
    pub and_gates: u64,
}

impl<'w> Preparation<'w> {
    /// An order for nothing yet, of a party in this role.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self {
            role,
            scheme: None,
            by_functions: None,
            levels: Levels::new(),
            threads: NonZeroUsize::MIN,
            time_limit: None,
            watch: Box::new(|_| ()),
        }
    }

    /// Under this garbling scheme. Without it, under the [`default_scheme`] of the functions, and
    /// under two-call half-gates where only components and OTs are asked for.
    #[must_use]
    pub fn scheme(mut self, scheme: SchemeId) -> Self {
        self.scheme = Some(scheme);
        self
    }

    fn scheme_id(&self) -> SchemeId {
        let by_functions = self.scheme.or(self.by_functions);
        by_functions.unwrap_or(SchemeId::HALF_GATES_TWO_CALL)
    }

    /// Garbles on so many threads; the default is one.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Ends the preparation where it is not done within `limit`. Without it only each wait for the
    /// peer is bounded ([`Settings::timeout`](crate::Settings::timeout)), and a peer that is slow
    /// at every message can hold it, and the right to prepare with that peer, for very long.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Calls `watch` as the preparation goes on.
    #[must_use]
    pub fn watch(mut self, watch: impl FnMut(Progress) + Send + 'w) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Enough for `runs` runs of `function`, in addition to what was asked for before.
    ///
    /// # Errors
    ///
    /// The function has saved values, or no [scheme](Self::scheme) was named and an earlier
    /// function takes another one: one preparation fills the stock of one scheme.
    pub fn enough_for(mut self, function: &Function, runs: u64) -> Result<Self, Error> {
        let demand = Demand::of(function)?;
        if self.scheme.is_none() {
            let scheme = default_scheme(function);
            if self.by_functions.is_some_and(|other| other != scheme) {
                return Err(Error::ApiMisuse(
                    "the functions of one preparation run under different schemes; name one \
                     scheme for all first, or prepare for each by itself",
                ));
            }
            self.by_functions = Some(scheme);
        }
        let blocks = demand.ots.div_ceil(OT_BLOCK);
        let needed = std::iter::once(blocks).chain(demand.instances);
        let needed: Vec<_> = needed.map(|count| count.saturating_mul(runs)).collect();
        add_all(&mut self.levels, function, &needed);
        Ok(self)
    }

    /// `count` instances of a component, in addition to what was asked for before.
    #[must_use]
    pub fn component(mut self, component: Component, count: u64) -> Self {
        let name = component.name().to_owned();
        add(
            &mut self.levels,
            kind_of(&component),
            (name, Some(component)),
            count,
        );
        self
    }

    /// `count` OTs, rounded up, in addition to what was asked for before: one for each input bit
    /// of the evaluator.
    #[must_use]
    pub fn ots(mut self, count: u64) -> Self {
        let ots = (OTS.to_owned(), None);
        add(&mut self.levels, ot_kind(), ots, count.div_ceil(OT_BLOCK));
        self
    }

    /// AND gates of everything that was asked for.
    #[must_use]
    pub fn and_gates(&self) -> u64 {
        let kinds = self.levels.values();
        kinds
            .map(|wanted| wanted.and_gates().saturating_mul(wanted.level))
            .fold(0, u64::saturating_add)
    }

    /// What both parties compare before they prepare: their orders' digests are the same.
    #[must_use]
    pub fn digest(&self) -> Digest {
        order_digest(&self.levels)
    }

    /// Most bytes of the tables of everything that was asked for, which the evaluator keeps.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        let kinds = self.levels.values();
        let bytes = kinds.map(
            |wanted| match (&wanted.component, self.scheme_id().rung()) {
                (Some(component), Ok(rung)) => {
                    let cost = rung.program_cost(component.program());
                    cost.table_bytes.saturating_mul(wanted.level)
                }
                _ => 0,
            },
        );
        bytes.fold(0, u64::saturating_add)
    }

    /// Makes what is missing, over `session`; the peer gives the same order in the other role.
    /// What was made before an error stays, and the next preparation goes on from there.
    ///
    /// # Errors
    ///
    /// Whatever ends it; the session is then spent.
    pub fn run(self, session: &mut Session, stocks: &Stocks) -> Result<Prepared, Error> {
        let scheme = self.scheme_id();
        let Self {
            role,
            levels,
            threads,
            time_limit,
            mut watch,
            ..
        } = self;
        let (begun, meter) = (Instant::now(), session.channel().meter());
        let kinds = session.guarded(|session| {
            session.channel().set_time_limit(time_limit);
            let order = order_digest(&levels);
            let need = ot_need(&levels);
            let tag = session.agree(need, |terms| proposal(order, role, scheme, &terms))?;
            let mut opened = OpenedStock::open(session, stocks, role, scheme)?;
            let order = Order {
                tag,
                levels: &levels,
                threads,
                watch: &mut watch,
            };
            let filled = fill(session, &mut opened, &mut None, order)?;
            session.keep_stock(opened);
            session.channel().set_time_limit(None);
            Ok(filled.kinds)
        })?;
        let made_ots = kinds.iter().any(|kind| kind.name == OTS && kind.made > 0);
        Ok(Prepared {
            ot_extension: made_ots.then(|| session.ot_extension()),
            kinds,
            wall: begun.elapsed(),
            traffic: session.channel().meter() - meter,
        })
    }
}

/// What a party in `role` proposes for an order.
fn proposal(function: Digest, role: Role, scheme: SchemeId, terms: &Terms) -> Proposal {
    Proposal {
        protocol: ProtocolId::Prepare,
        role,
        statistical_security_bits: 0,
        base_ot: terms.base_ot,
        ot_extension: terms.ot_extension,
        scheme,
        run: terms.run,
        function,
    }
}

/// The OTs of an order for an empty stock. Δ outlives the session, and so must what a lying
/// evaluator cannot learn of it.
fn ot_need(levels: &Levels) -> OtNeed {
    let blocks = levels.get(&ot_kind()).map_or(0, |wanted| wanted.level);
    OtNeed {
        count: blocks.saturating_mul(OT_BLOCK),
        security: Security::Malicious,
        ..OtNeed::NONE
    }
}

/// What both parties compare before they prepare.
fn order_digest(levels: &Levels) -> Digest {
    let mut hash = Sha256::new_with_prefix(b"tacit preparation 1\0");
    for (kind, wanted) in levels {
        hash.update(kind.0);
        hash.update(wanted.level.to_le_bytes());
    }
    Digest(hash.finalize().into())
}

/// What to make.
pub(super) struct Order<'a> {
    pub(super) tag: RunTag,
    pub(super) levels: &'a Levels,
    pub(super) threads: NonZeroUsize,
    pub(super) watch: &'a mut dyn FnMut(Progress),
}

/// What was made of each kind, and the right to prepare, as long as the caller wants it.
pub(super) struct Filled {
    pub(super) kinds: Vec<PreparedKind>,
    pub(super) _right: Right,
}

/// Makes what is missing of each kind up to its level. `ots` are those of this tag, once there are
/// any: base OTs are made once under a tag.
pub(super) fn fill<'a>(
    session: &'a mut Session,
    opened: &'a mut OpenedStock,
    ots: &'a mut Option<Ots>,
    order: Order<'a>,
) -> Result<Filled, Error> {
    let visitor = Fill {
        session,
        opened,
        ots,
        order,
    };
    with_scheme(visitor.opened.scheme, visitor)
        .map_err(|_| Error::ApiMisuse("this scheme is not offered by any protocol"))?
}

/// The check of the OT extension that caught the peer, if one did.
fn failed_check(error: &Error) -> Option<Check> {
    match error {
        Error::PeerMisbehaved(Misbehaviour::ObliviousTransfer(PeerMisbehaved::CheckFailed {
            check,
        })) => Some(*check),
        _ => None,
    }
}

struct Fill<'a> {
    session: &'a mut Session,
    opened: &'a mut OpenedStock,
    ots: &'a mut Option<Ots>,
    order: Order<'a>,
}

impl SchemeVisitor for Fill<'_> {
    type Output = Result<Filled, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let levels = self.order.levels;
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
            tag: self.order.tag,
            threads: self.order.threads,
            ots: self.ots,
            done_ands: 0,
            total_ands: ands.fold(0, u64::saturating_add),
            watch: self.order.watch,
        };
        let mut made = vec![0; levels.len()];
        // What others make meanwhile counts and what they take is not made again, so that no
        // level is passed and the loop ends.
        while let Some(place) = (0..made.len()).find(|&place| made[place] < missing[place]) {
            let batch = Batch {
                session: self.session,
                opened: self.opened,
                right: &right,
                levels,
            };
            if let Err(error) = batch.make(&mut makers, place, &missing, &mut made) {
                let caught = failed_check(&error).filter(|_| self.opened.role == Role::Garbler);
                let Some(check) = caught else {
                    return Err(error);
                };
                // The peer guessed at bits of Δ and guessed wrong. Under the same Δ it would guess
                // again, in a session of its that waits for this right.
                right.destroy()?;
                return Err(Error::StockDestroyed { check });
            }
            if made != missing {
                drop(right);
                // A run that waits for the right takes it now.
                thread::sleep(3 * RIGHT_PAUSE);
                right = self.opened.meet_to_prepare(self.session)?;
                for ((kind, wanted), (missing, made)) in
                    levels.iter().zip(missing.iter_mut().zip(&made))
                {
                    let room = wanted.level.saturating_sub(self.opened.agreed(kind));
                    *missing = *made + room.min(*missing - made);
                }
            }
        }
        let kinds = levels.iter().zip(made);
        let kinds = kinds
            .map(|((kind, wanted), made)| {
                let unit = wanted.unit();
                Ok(PreparedKind {
                    name: wanted.name.clone(),
                    made: made * unit,
                    available: self.opened.stock.available(kind)? * unit,
                    and_gates: wanted.and_gates(),
                })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Filled {
            kinds,
            _right: right,
        })
    }
}

impl Fill<'_> {
    /// What is missing of each kind, as of the last meeting.
    fn missing(&self) -> Vec<u64> {
        let levels = self.order.levels.iter();
        levels
            .map(|(kind, wanted)| wanted.level.saturating_sub(self.opened.agreed(kind)))
            .collect()
    }
}

/// Lots that are made without giving up the right to prepare: some tens of megabytes, so that a run
/// that finds too little in stock does not wait for all that somebody prepares.
struct Batch<'a> {
    session: &'a mut Session,
    opened: &'a OpenedStock,
    right: &'a Right,
    levels: &'a Levels,
}

impl Batch<'_> {
    /// Makes lots from the kind at `place` on, until they are as large as one may be.
    fn make<S: Scheme>(
        self,
        makers: &mut Makers<'_, S>,
        place: usize,
        missing: &[u64],
        made: &mut [u64],
    ) -> Result<(), Error> {
        let mut bytes = 0_u64;
        for (place, (kind, wanted)) in self.levels.iter().enumerate().skip(place) {
            let shape = match &wanted.component {
                Some(component) => component_shape(makers.scheme, self.opened.role, component)?,
                None => ot_shape(self.opened.role),
            };
            let (size, most) = lot_size(makers.scheme, wanted.component.as_ref());
            let mut first = self.opened.next_number(kind);
            while made[place] < missing[place] {
                if bytes >= LOT_BYTES {
                    return Ok(());
                }
                let count = most.min(missing[place] - made[place]);
                let span = Span { first, count };
                let lot = self.right.begin_lot(*kind, shape, span)?;
                makers.make(self.session, wanted.component.as_ref(), &lot, shape)?;
                self.opened.publish(self.session, lot)?;
                first += count;
                made[place] += count;
                bytes = bytes.saturating_add(size.saturating_mul(count));
            }
        }
        Ok(())
    }
}

/// Bytes of an instance's tables and most instances of one lot: as both parties compute it.
fn lot_size<S: Scheme>(scheme: S, component: Option<&Component>) -> (u64, u64) {
    let size = component.map_or(OT_BLOCK * Block::BYTES as u64, |component| {
        InstanceTables::size(scheme, component.program())
    });
    (size, (LOT_BYTES / size.max(1)).clamp(1, LOT_INSTANCES))
}

/// The OTs of a setup under a run's tag.
pub(super) enum Ots {
    Garbler(GarblerOt),
    Evaluator(EvaluatorOt),
}

/// What makes lots.
struct Makers<'a, S> {
    scheme: S,
    /// The garbler's.
    delta: Option<Delta>,
    tag: RunTag,
    threads: NonZeroUsize,
    ots: &'a mut Option<Ots>,
    done_ands: u64,
    total_ands: u64,
    watch: &'a mut dyn FnMut(Progress),
}

impl<S: Scheme> Makers<'_, S> {
    fn make(
        &mut self,
        session: &mut Session,
        component: Option<&Component>,
        lot: &LotWriter,
        shape: Shape,
    ) -> Result<(), Error> {
        match component {
            Some(component) => self.make_instances(session, component, lot),
            None => self.make_ots(session, lot, shape),
        }
    }

    fn make_instances(
        &mut self,
        session: &mut Session,
        component: &Component,
        lot: &LotWriter,
    ) -> Result<(), Error> {
        let (program, span) = (component.program(), lot.span());
        let (done, total_ands) = (self.done_ands, self.total_ands);
        let watch = &mut *self.watch;
        let mut watch = |lot: Progress| {
            watch(Progress {
                done_ands: done + lot.done_ands,
                total_ands,
            });
        };
        match &self.delta {
            Some(delta) => {
                let mut rng = UnwrapErr(getrandom::SysRng);
                let seeds = (0..span.count).map(|_| InstanceSeed::random(&mut rng));
                let seeds: Vec<_> = seeds.collect();
                let bytes = seeds.len() * InstanceSeed::BYTES;
                let mut secrets = Zeroizing::new(Vec::with_capacity(bytes));
                for seed in &seeds {
                    secrets.extend_from_slice(&*seed.to_bytes());
                }
                lot.put(span.first, &secrets, &[])?;
                let threads = self.threads.get();
                let mut party =
                    GarblingLot::new(self.scheme, program, delta.to_block(), &seeds, threads)?;
                drive(session.channel(), &mut party, &mut watch)?;
            }
            None => {
                let mut next = span.first;
                let mut failed = None;
                let keep = |tables: &[u8]| match lot.put(next, &[], tables) {
                    Ok(()) => {
                        next += 1;
                        Ok(())
                    }
                    Err(error) => {
                        let text = error.to_string();
                        failed = Some(error);
                        Err(tacit_protocol::Error::Material(text))
                    }
                };
                let mut party = ReceivingLot::new(self.scheme, program, span.count, keep)?;
                let driven = drive(session.channel(), &mut party, &mut watch);
                drop(party);
                if let Some(error) = failed {
                    return Err(error.into());
                }
                driven?;
            }
        }
        self.done_ands += program.ands().len() as u64 * span.count;
        Ok(())
    }

    fn make_ots(
        &mut self,
        session: &mut Session,
        lot: &LotWriter,
        shape: Shape,
    ) -> Result<(), Error> {
        let span = lot.span();
        let count = (span.count * OT_BLOCK) as usize;
        let mut watch = |_: Progress| ();
        let mut rng = UnwrapErr(getrandom::SysRng);
        let mut secrets = Zeroizing::new(Vec::with_capacity(
            span.count as usize * shape.secret_bytes as usize,
        ));
        match self.ots(session)? {
            Ots::Garbler(ot) => {
                let mut refill = Refill::of_garbler(ot, count as u64, &mut rng);
                drive(session.channel(), &mut refill, &mut watch)?;
                let mut party = OfferingOts::new(ot, count);
                drive(session.channel(), &mut party, &mut watch)?;
                let q = party.finish()?;
                secrets.extend(q.iter().flat_map(|q| q.to_bytes()));
            }
            Ots::Evaluator(ot) => {
                let mut refill = Refill::of_evaluator(ot, count as u64, &mut rng);
                drive(session.channel(), &mut refill, &mut watch)?;
                let mut random = Zeroizing::new(vec![0; count / 8]);
                rng.fill_bytes(&mut random);
                let choices = (0..count).map(|i| random[i / 8] >> (i % 8) & 1 == 1);
                let mut party = ChoosingOts::new(ot, Zeroizing::new(choices.collect()));
                drive(session.channel(), &mut party, &mut watch)?;
                let labels = party.finish()?;
                let blocks = labels.chunks(OT_BLOCK as usize);
                for (labels, choices) in blocks.zip(random.chunks(OT_BLOCK as usize / 8)) {
                    secrets.extend(labels.iter().flat_map(|label| label.to_bytes()));
                    secrets.extend_from_slice(choices);
                }
            }
        }
        Ok(lot.put(span.first, &secrets, &[])?)
    }

    /// The OTs of this preparation, from base OTs the first time.
    fn ots(&mut self, session: &mut Session) -> Result<&mut Ots, Error> {
        if self.ots.is_none() {
            let watch: &mut dyn FnMut(Progress) = &mut |_| ();
            let mut rng = UnwrapErr(getrandom::SysRng);
            let (settings, malicious) = (session.ot_settings(), Security::Malicious);
            *self.ots = Some(match &self.delta {
                Some(delta) => {
                    let delta = delta.clone();
                    let setup = GarblerSetup::with_delta(settings, &self.tag, delta, &mut rng)?;
                    let mut setup = setup.secured(malicious);
                    drive(session.channel(), &mut setup, watch)?;
                    Ots::Garbler(setup.finish()?)
                }
                None => {
                    let setup = EvaluatorSetup::with(settings, &self.tag, &mut rng)?;
                    let mut setup = setup.secured(malicious);
                    drive(session.channel(), &mut setup, watch)?;
                    Ots::Evaluator(setup.finish()?)
                }
            });
        }
        self.ots
            .as_mut()
            .ok_or(Error::ApiMisuse("the OTs were just made"))
    }
}

/// Raises what is wanted of a kind by `count`.
fn add(
    levels: &mut Levels,
    kind: ComponentDigest,
    (name, component): (String, Option<Component>),
    count: u64,
) {
    let wanted = levels.entry(kind).or_insert(Wanted {
        name,
        component,
        level: 0,
    });
    wanted.level = wanted.level.saturating_add(count);
}

/// What people call what `function` takes: OTs, then its components in order.
pub(crate) fn names_of(function: &Function) -> impl Iterator<Item = String> {
    let components = function.components().iter();
    let components = components.map(|part| format!("{}/{}", function.name(), part.name()));
    std::iter::once(OTS.to_owned()).chain(components)
}

/// Raises what is wanted by what `function` needs of OTs and each of its components, in order.
fn add_all(levels: &mut Levels, function: &Function, needed: &[u64]) {
    let components = function.components().iter().cloned().map(Some);
    let components = std::iter::once(None).chain(components);
    let named = names_of(function).zip(components);
    let kinds = kinds_of(function.components());
    for ((kind, named), count) in kinds.into_iter().zip(named).zip(needed) {
        add(levels, kind, named, *count);
    }
}

/// Levels that hold what a run of `function` needs: OTs, then its components in order.
pub(crate) fn levels_for(function: &Function, needed: &[u64]) -> Levels {
    let mut levels = Levels::new();
    add_all(&mut levels, function, needed);
    levels
}
