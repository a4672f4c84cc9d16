//! What a run takes from the stock: leases at both parties, and the material that they give.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use tacit_circuit::{Component, Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::message::Kind;
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::{
    Demand, EvaluatorOts, GarblerInstance, GarblerOts, InstanceSeed, InstanceTables, Instances,
    Leases, LeasesAnswer,
};
use tacit_protocol::session::RunTag;
use tacit_stock::{ComponentDigest, Lease, Span, StockError};

use super::opened::kinds_of;
use super::prepare::{counts, fill, levels_for};
use super::{OT_BLOCK, OpenedStock};
use crate::driver::{receive, send};
use crate::{Error, Session};

/// How often the parties may find that one of them is behind before they give up.
const ATTEMPTS: usize = 4;

/// What a run has leased: OTs, then for each component its instances.
pub(crate) struct Supplies {
    leases: Vec<Lease>,
    /// AND gates that were garbled on the spot, since the stock had too little.
    pub(crate) ands_on_the_spot: u64,
}

impl Supplies {
    /// Leases at both parties what a run of `function` takes, and prepares on the spot what is
    /// missing.
    ///
    /// # Errors
    ///
    /// Those of the stock and the network.
    pub(crate) fn lease(
        session: &mut Session,
        opened: &mut OpenedStock,
        function: &Function,
        tag: RunTag,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let demand = Demand::of(function)?;
        let mut needed = vec![demand.ots.div_ceil(OT_BLOCK)];
        needed.extend(&demand.instances);
        let mut ands_on_the_spot = None;
        for _ in 0..ATTEMPTS {
            let leased = match opened.role {
                Role::Evaluator => name(session, opened, function, &needed)?,
                Role::Garbler => follow(session, opened, function, &needed)?,
            };
            match leased {
                Leased::Both(leases) => {
                    let ands_on_the_spot = ands_on_the_spot.unwrap_or(0);
                    return Ok(Self {
                        leases,
                        ands_on_the_spot,
                    });
                }
                Leased::Behind => {}
                // Base OTs are made once under a run's tag.
                Leased::Short if ands_on_the_spot.is_some() => break,
                Leased::Short => {
                    let levels = levels_for(function, &needed);
                    let one = NonZeroUsize::MIN;
                    let made = fill(session, opened, tag, &levels, one, watch)?;
                    let ands = made.iter().map(|kind| kind.made * kind.and_gates);
                    ands_on_the_spot = Some(ands.sum::<u64>());
                }
            }
        }
        Err(Error::Material(
            "the parties do not come to the same leases; other processes use the stock all the \
             time, or one of the stocks is damaged: run `tacit stock check`"
                .to_owned(),
        ))
    }

    /// The garbler's material.
    ///
    /// # Errors
    ///
    /// Something in the stock is damaged.
    pub(crate) fn garbler<S: Scheme>(
        self,
        scheme: S,
        function: &Function,
        delta: Block,
    ) -> Result<(GarblerOts, GarblerSupply<S>), Error> {
        let ots = function.input_bits(Role::Evaluator);
        let (numbers, mut leases) = self.parts(ots);
        let secrets = leases
            .next()
            .map(Lease::secrets)
            .transpose()?
            .unwrap_or_default();
        let (blocks, _) = secrets.as_chunks::<{ Block::BYTES }>();
        let q = blocks
            .iter()
            .take(ots)
            .map(|bytes| Block::from_bytes(*bytes))
            .collect();
        let mut shelves = Vec::new();
        for (component, lease) in function.components().iter().zip(leases) {
            let mut shelf = VecDeque::new();
            for instance in lease.instances() {
                let instance = instance?;
                let seed = instance
                    .secret()
                    .first_chunk()
                    .ok_or_else(|| too_short(component))?;
                let seed = InstanceSeed::from_bytes(seed);
                shelf.push_back(seed.wires(scheme, component.program(), delta));
            }
            shelves.push(shelf);
        }
        Ok((GarblerOts { numbers, q }, GarblerSupply { shelves }))
    }

    /// The evaluator's material.
    ///
    /// # Errors
    ///
    /// Something in the stock is damaged.
    pub(crate) fn evaluator<S: Scheme>(
        self,
        scheme: S,
        function: &Function,
    ) -> Result<(EvaluatorOts, EvaluatorSupply), Error> {
        let ots = function.input_bits(Role::Evaluator);
        let (numbers, mut leases) = self.parts(ots);
        let secrets = leases
            .next()
            .map(Lease::secrets)
            .transpose()?
            .unwrap_or_default();
        // Whole blocks are put in: a vector that grows would leave a copy behind.
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
        let mut shelves = Vec::new();
        for (component, lease) in function.components().iter().zip(leases) {
            let mut shelf = VecDeque::new();
            for instance in lease.instances() {
                let tables = instance?.tables().to_vec();
                let tables = InstanceTables::from_bytes(scheme, component.program(), tables);
                shelf.push_back(tables.ok_or_else(|| too_short(component))?);
            }
            shelves.push(shelf);
        }
        let ots = EvaluatorOts {
            numbers,
            choices,
            labels,
        };
        Ok((ots, EvaluatorSupply { shelves }))
    }

    /// The numbers of the OTs, and the leases.
    fn parts(self, ots: usize) -> (Vec<u64>, std::vec::IntoIter<Lease>) {
        let blocks = self.leases.first().into_iter().flat_map(Lease::spans);
        let blocks = blocks.flat_map(|span| span.first..span.end());
        let numbers = blocks.flat_map(|block| (0..OT_BLOCK).map(move |i| block * OT_BLOCK + i));
        (numbers.take(ots).collect(), self.leases.into_iter())
    }
}

fn too_short(component: &Component) -> Error {
    Error::Material(format!(
        "an instance of {} in the stock is of another length; run `tacit stock check`",
        component.name()
    ))
}

/// The garbler's instances of a run, in memory.
pub(crate) struct GarblerSupply<S: Scheme> {
    shelves: Vec<VecDeque<GarblerInstance<S::Wire>>>,
}

/// The evaluator's instances of a run, in memory.
pub(crate) struct EvaluatorSupply {
    shelves: Vec<VecDeque<InstanceTables>>,
}

impl<S: Scheme> Instances for GarblerSupply<S> {
    type Instance = GarblerInstance<S::Wire>;

    fn next(&mut self, component: usize) -> Result<Self::Instance, tacit_protocol::Error> {
        next(&mut self.shelves, component)
    }
}

impl Instances for EvaluatorSupply {
    type Instance = InstanceTables;

    fn next(&mut self, component: usize) -> Result<InstanceTables, tacit_protocol::Error> {
        next(&mut self.shelves, component)
    }
}

fn next<T>(shelves: &mut [VecDeque<T>], component: usize) -> Result<T, tacit_protocol::Error> {
    let instance = shelves.get_mut(component).and_then(VecDeque::pop_front);
    instance.ok_or_else(|| {
        tacit_protocol::Error::Material(format!("no instance is left of component {component}"))
    })
}

/// How an attempt to lease ended, the same way at both parties.
enum Leased {
    Both(Vec<Lease>),
    /// Marks were raised: again.
    Behind,
    /// The evaluator has too little.
    Short,
}

/// The evaluator's attempt.
fn name(
    session: &mut Session,
    opened: &mut OpenedStock,
    function: &Function,
    needed: &[u64],
) -> Result<Leased, Error> {
    let kinds = kinds_of(function.components());
    let mut message = Vec::new();
    for (kind, level) in counts(&levels_for(function, needed)) {
        if opened.stock.available(kind)? < level {
            return short(session);
        }
    }
    let mut leases = Vec::with_capacity(kinds.len());
    for (kind, count) in kinds.iter().zip(needed) {
        leases.push(match opened.stock.lease(kind, *count) {
            Ok(lease) => lease,
            // Another process of this party was faster.
            Err(StockError::Exhausted { .. }) => return short(session),
            Err(error) => return Err(error.into()),
        });
    }
    let named = leases
        .iter()
        .map(|lease| lease.spans().map(to_wire).collect());
    let named = named.collect::<Vec<_>>();
    Leases::Named(named).write(&mut message)?;
    send(session.channel(), Kind::Leases, &message)?;
    let max_bytes = LeasesAnswer::max_bytes(kinds.len());
    let payload = receive(session.channel(), Kind::LeasesAnswered, max_bytes)?;
    match LeasesAnswer::parse(payload, kinds.len())? {
        LeasesAnswer::Followed => Ok(Leased::Both(leases)),
        LeasesAnswer::Behind(marks) => {
            for (kind, mark) in kinds.iter().zip(marks) {
                opened.stock.raise_mark(kind, mark)?;
            }
            Ok(Leased::Behind)
        }
    }
}

/// Tells the garbler that the evaluator has too little.
fn short(session: &mut Session) -> Result<Leased, Error> {
    let mut message = Vec::new();
    Leases::Short.write(&mut message)?;
    send(session.channel(), Kind::Leases, &message)?;
    Ok(Leased::Short)
}

/// The garbler's attempt.
fn follow(
    session: &mut Session,
    opened: &mut OpenedStock,
    function: &Function,
    needed: &[u64],
) -> Result<Leased, Error> {
    let kinds = kinds_of(function.components());
    let max_bytes = Leases::max_bytes(kinds.len());
    let payload = receive(session.channel(), Kind::Leases, max_bytes)?;
    let Leases::Named(named) = Leases::parse(payload, needed)? else {
        return Ok(Leased::Short);
    };
    let mut leases = Vec::with_capacity(kinds.len());
    let mut behind = false;
    for (kind, spans) in kinds.iter().zip(&named) {
        let spans: Vec<_> = spans
            .iter()
            .map(|span| Span {
                first: span.first,
                count: span.count,
            })
            .collect();
        match opened.stock.lease_spans(kind, &spans) {
            Ok(lease) => leases.push(lease),
            Err(StockError::Behind { .. }) => behind = true,
            Err(error) => return Err(error.into()),
        }
    }
    let answer = match behind {
        false => LeasesAnswer::Followed,
        true => {
            let record = opened.stock.marks()?;
            let mark = |kind: &ComponentDigest| {
                let marks = record.kinds.iter().filter(|marks| marks.kind == *kind);
                marks.map(|marks| marks.leased).sum()
            };
            LeasesAnswer::Behind(kinds.iter().map(mark).collect())
        }
    };
    let mut message = Vec::new();
    answer.write(&mut message);
    send(session.channel(), Kind::LeasesAnswered, &message)?;
    Ok(match behind {
        false => Leased::Both(leases),
        true => Leased::Behind,
    })
}

fn to_wire(span: Span) -> tacit_protocol::prepared::Span {
    tacit_protocol::prepared::Span {
        first: span.first,
        count: span.count,
    }
}
