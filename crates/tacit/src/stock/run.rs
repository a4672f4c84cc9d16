//! A run of `prepared`: both parties link what they have leased, in one round trip. A run that
//! saves values takes a second round trip, so that both have kept them before either has a result.

use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeVisitor};
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::io::Io;
use tacit_protocol::party::Progress;
use tacit_protocol::prepared::{self, EvaluatorOpening, GarblerOpening, PairChain};
use tacit_protocol::saved::{ChainId, ChainVersion, SavedState, StoredChain as _, StoredValue};
use tacit_protocol::session::RunTag;
use tacit_stock::{Stock, StockError};
use zeroize::Zeroizing;

use super::chains::STOCK_DESTROYED;
use super::{LeaseOrder, OpenedStock, Supplies};
use crate::cost::Clock;
use crate::driver::{run_script, seed};
use crate::job::ProtocolOutcome;
use crate::kept::{Agreed, ChainInUse, ChainPlace, Past, check_place};
use crate::protocols::Protocol;
use crate::{Error, Session};

/// One party's side of a run on which both parties have agreed.
pub(crate) struct PreparedRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) opened: &'a mut OpenedStock,
    pub(crate) function: &'a Function,
    pub(crate) tag: RunTag,
    pub(crate) inputs: &'a [bool],
    /// The place where this party keeps what the function saves, if it saves anything.
    pub(crate) place: Option<&'a ChainPlace>,
    /// The start of the run.
    pub(crate) preparation: Clock,
    pub(crate) leases: LeaseOrder<'a>,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// A function that describes what a party would load of a chain at this version.
type StateOf<V> = fn(Option<(ChainVersion, u64)>, &[V]) -> SavedState;

/// A chain of two parties in a run, on which they have agreed.
struct AgreedChain<V> {
    /// The stock with the Δ of the run's values.
    stock: Stock,
    kept: Option<ChainInUse>,
    chain: PairChain,
    /// The chain that the run continues. `None` if the run starts the chain.
    goes_on: Option<ChainId>,
    loads: Vec<V>,
    /// The run's tag, which covers the chain.
    tag: RunTag,
}

impl<V: StoredValue> AgreedChain<V> {
    /// Brings the chain, if there is one, to the attempt that both parties reach, and checks that
    /// both would load the same. `state` returns what this party would load.
    fn agree(run: &mut PreparedRun<'_>, state: StateOf<V>) -> Result<Self, Error> {
        let (session, function, tag) = (&mut *run.session, run.function, run.tag);
        let role = (Protocol::Prepared, run.opened.role);
        let stock = run.opened.stock.clone();
        check_place(function, run.place.is_some())?;
        let Some(place) = run.place else {
            return Ok(Self {
                stock,
                kept: None,
                chain: PairChain::new(&tag),
                goes_on: None,
                loads: Vec::new(),
                tag,
            });
        };
        let agreed = Agreed::on(place, (function, tag), session, role, |past| {
            state(past.chain.as_ref().map(PairChain::place), &past.loads)
        })?;
        let Agreed {
            kept,
            past: Past { chain, loads },
            tag,
        } = agreed;
        Ok(Self {
            stock,
            kept: Some(kept),
            goes_on: chain.as_ref().map(PairChain::id),
            chain: chain.unwrap_or_else(|| PairChain::new(&tag)),
            loads,
            tag,
        })
    }

    /// Returns the past from which the protocol continues.
    fn past(&self) -> prepared::Past<'_, V> {
        prepared::Past {
            chain: self.goes_on,
            loads: &self.loads,
        }
    }

    /// Runs `link` up to the values that the run saves and both parties keep, and then `open` for
    /// the results.
    fn complete<O>(
        &self,
        run: PreparedRun<'_>,
        and_gates_on_the_spot: u64,
        link: impl AsyncFnOnce(&mut Io<'_>) -> Result<(Vec<V>, O), ProtocolError>,
        open: impl AsyncFn(O, &mut Io<'_>) -> Result<Zeroizing<Vec<bool>>, ProtocolError>,
    ) -> Result<ProtocolOutcome, Error> {
        let PreparedRun {
            session,
            function,
            preparation,
            watch,
            ..
        } = run;
        let online = Clock::start(session);
        let linked = run_script(session.channel(), watch, async |io| {
            let (values, opening) = link(io).await?;
            Ok(match function.saves() {
                [] => Linked::Ended(open(opening, io).await?),
                _ => Linked::Saves(values, opening),
            })
        })?;
        let (outputs, chain) = match linked {
            Linked::Ended(outputs) => (outputs, self.goes_on.map(|_| self.chain.place().0)),
            Linked::Saves(values, opening) => {
                let version = self.keep(session, function, &values)?;
                let outputs =
                    run_script(session.channel(), watch, async |io| open(opening, io).await)?;
                (outputs, Some(version))
            }
        };
        Ok(ProtocolOutcome {
            outputs,
            chain,
            phases: preparation.stop_online(&online, session),
            and_gates_on_the_spot,
            ..ProtocolOutcome::default()
        })
    }

    /// Keeps what the run saves, together with the other party.
    fn keep(
        &self,
        session: &mut Session,
        function: &Function,
        values: &[V],
    ) -> Result<ChainVersion, Error> {
        let kept = self.kept.as_ref();
        let kept = kept.ok_or(Error::ApiMisuse("what is saved is kept in a chain"))?;
        let under = Some(&self.stock);
        let saved = kept.save(function.saves(), &self.chain, values, under, session);
        // The destruction of a stock ends the chains that it finds afterwards. If the power fails
        // in between, this chain would remain without this.
        if matches!(&saved, Err(Error::Stock(error)) if is_ended(error)) {
            kept.stocks.kill_chain(&kept.chain, STOCK_DESTROYED)?;
        }
        let (id, version) = (self.chain.id(), saved?);
        Ok(ChainVersion { id, version })
    }
}

/// A run that has ended, or that has values to keep.
enum Linked<V, O> {
    Ended(Zeroizing<Vec<bool>>),
    Saves(Vec<V>, O),
}

fn is_ended(error: &StockError) -> bool {
    matches!(error, StockError::EpochEnded { .. })
}

impl SchemeVisitor for PreparedRun<'_> {
    type Output = Result<ProtocolOutcome, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        match self.opened.role {
            Role::Garbler => self.garble(scheme),
            Role::Evaluator => self.evaluate(scheme),
        }
    }
}

impl PreparedRun<'_> {
    /// Leases the material of the run, under its tag.
    fn lease(&mut self, tag: RunTag) -> Result<Supplies, Error> {
        Supplies::lease(
            self.session,
            self.opened,
            self.function,
            tag,
            &mut self.leases,
            self.watch,
        )
    }

    fn garble<S: Scheme>(mut self, scheme: S) -> Result<ProtocolOutcome, Error> {
        let agreed = AgreedChain::agree(&mut self, SavedState::of_garbler)?;
        let (function, tag) = (self.function, agreed.tag);
        let supplies = self.lease(tag)?;
        let ands_on_the_spot = supplies.ands_on_the_spot;
        let delta = Zeroizing::new(self.opened.delta()?.to_block());
        let (ots, instances) = supplies.garbler(scheme, function, *delta)?;
        let (run, seed) = (
            prepared::Run {
                scheme,
                function,
                tag,
            },
            seed(),
        );
        let (given, id) = ((self.inputs, agreed.past()), agreed.chain.id());
        let link = async |io: &mut Io<'_>| {
            let offers = (&*delta, &ots);
            let linked = run.garble(io, given, offers, instances, &seed).await?;
            Ok(linked.save(id))
        };
        agreed.complete(self, ands_on_the_spot, link, GarblerOpening::open)
    }

    fn evaluate<S: Scheme>(mut self, scheme: S) -> Result<ProtocolOutcome, Error> {
        let agreed = AgreedChain::agree(&mut self, SavedState::of_evaluator)?;
        let (function, tag) = (self.function, agreed.tag);
        let supplies = self.lease(tag)?;
        let ands_on_the_spot = supplies.ands_on_the_spot;
        let (ots, instances) = supplies.evaluator(scheme, function)?;
        let run = prepared::Run {
            scheme,
            function,
            tag,
        };
        let early = self.session.script(async |io| run.gather(io).await)?;
        let (given, id) = ((self.inputs, agreed.past()), agreed.chain.id());
        let link = async |io: &mut Io<'_>| {
            let linked = run.evaluate(io, given, early, &ots, instances).await?;
            Ok(linked.save(id))
        };
        agreed.complete(self, ands_on_the_spot, link, EvaluatorOpening::open)
    }
}
