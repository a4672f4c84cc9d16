//! A job run by its protocol, once both parties have agreed to it.

use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeVisitor, with_scheme};
use tacit_protocol::authenticated;
use tacit_protocol::direct::Run;
use tacit_protocol::party::Progress;
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use super::{Job, SecurityScope};
use crate::authenticated::{
    AuthenticatedRun, ChainedOutcome, ChainedRun, construction, planned_at,
};
use crate::cost::{Clock, FromStock, Phase, PhaseCost};
use crate::driver::{run_script, seed};
use crate::kept::ChainPlace;
use crate::session::CountedEpoch;
use crate::stock::{
    BatchOutcome, BatchRun, ChainVersion, LeaseOrder, OpenedStock, PreparedRun, StockedOutcome,
    StockedRun, Stocks,
};
use crate::{Error, Session};

impl Job<'_> {
    pub(super) fn run_direct(
        &mut self,
        session: &mut Session,
        tag: RunTag,
        inputs: &[bool],
    ) -> Result<Ran, Error> {
        let mut phases: Vec<_> = session.set_up(self.task.role)?.into_iter().collect();
        phases.extend(session.refill(self.task.role, self.ot_need().count)?);
        let clock = Clock::start(session);
        let scheme = self.scheme_id();
        let visitor = DirectRun {
            function: self.task.function,
            role: self.task.role,
            session,
            tag,
            inputs,
            watch: &mut self.watch,
        };
        let outputs = with_scheme(scheme, visitor).map_err(|_| NOT_OFFERED)??;
        phases.push(clock.stop(Phase::Run, session));
        Ok(Ran {
            outputs,
            phases,
            makes_ots: true,
            ..Ran::default()
        })
    }

    pub(super) fn run_prepared(
        &mut self,
        session: &mut Session,
        stocks: &Stocks,
        tag: RunTag,
        inputs: &[bool],
    ) -> Result<Ran, Error> {
        let preparation = Clock::start(session);
        let scheme = self.scheme_id();
        let mut opened = OpenedStock::open(session, stocks, self.task.role, scheme)?;
        let place = self.chain_place(stocks);
        let visitor = PreparedRun {
            session,
            opened: &mut opened,
            function: self.task.function,
            tag,
            inputs,
            place: place.as_ref(),
            leases: LeaseOrder {
                ahead: self.task.runs_ahead,
                needs_stock: self.task.needs_stock,
                watch: &mut self.task.watch_taken,
            },
            watch: &mut self.watch,
        };
        let outcome = with_scheme(scheme, visitor).map_err(|_| NOT_OFFERED)??;
        let online = outcome.online;
        let phases = vec![
            preparation.until(Phase::Preparation, &online),
            online.stop(Phase::Run, session),
        ];
        session.keep_stock(opened);
        Ok(Ran {
            outputs: outcome.outputs,
            chain: outcome.chain,
            phases,
            and_gates_on_the_spot: outcome.ands_on_the_spot,
            ..Ran::default()
        })
    }

    pub(super) fn run_batch(
        &mut self,
        session: &mut Session,
        stocks: &Stocks,
        inputs: &[bool],
    ) -> Result<Ran, Error> {
        let preparation = Clock::start(session);
        let mut opened = OpenedStock::open(session, stocks, self.task.role, self.scheme_id())?;
        let run = BatchRun {
            session,
            opened: &mut opened,
            function: self.task.function,
            inputs,
            statistical_security_bits: self.security.bits(),
            threads: self.threads.get(),
            leases: LeaseOrder {
                ahead: self.task.runs_ahead,
                needs_stock: self.task.needs_stock,
                watch: &mut self.task.watch_taken,
            },
            watch: &mut self.watch,
        };
        let BatchOutcome {
            outputs,
            online,
            made_at_bits,
        } = run.run()?;
        let phases = vec![
            preparation.until(Phase::Preparation, &online),
            online.stop(Phase::Run, session),
        ];
        session.keep_stock(opened);
        Ok(Ran {
            outputs,
            phases,
            security_scope: Some(SecurityScope::AllRuns { made_at_bits }),
            ..Ran::default()
        })
    }

    /// Where the chain of the run lies, if it has one.
    fn chain_place(&self, stocks: &Stocks) -> Option<ChainPlace> {
        let name = self.task.chain.as_ref()?;
        Some(ChainPlace {
            stocks: stocks.clone(),
            name: name.clone(),
            allowed: Vec::new(),
            is_exact: false,
            replaces: self.task.replaces,
            pin: self.task.pin,
        })
    }

    pub(super) fn run_authenticated(
        &mut self,
        session: &mut Session,
        stocks: Option<&Stocks>,
        tag: RunTag,
        inputs: &[bool],
    ) -> Result<Ran, Error> {
        if let Some(place) = stocks.and_then(|stocks| self.chain_place(stocks)) {
            return self.run_in_chain(session, &place, tag, inputs);
        }
        if let Some(ran) = self.run_from_stock(session, stocks, tag, inputs)? {
            return Ok(ran);
        }
        if self.task.needs_stock {
            return Err(Error::stock_lacks(self.task.function));
        }
        let bits = self.security.bits();
        let (counted, setup) = session.take_epoch((self.task.role, bits), stocks)?;
        let CountedEpoch {
            epoch,
            tried,
            charge_bits,
        } = counted;
        let security = planned_at(bits, charge_bits, tried.as_ref())?;
        let clock = Clock::start(session);
        let run = AuthenticatedRun {
            session,
            terms: authenticated::Terms {
                function: self.task.function,
                tag,
                security,
                construction: construction(self.scheme_id())?,
            },
            inputs,
            watch: &mut self.watch,
        };
        let ran = run.run(epoch);
        if let (Err(error), Some(tried)) = (&ran, &tried) {
            tried.note_cheat(error)?;
        }
        let (outputs, epoch) = ran?;
        let security_scope = match tried {
            None => SecurityScope::ThisRun,
            Some(_) => SecurityScope::AllRuns {
                made_at_bits: security.get(),
            },
        };
        session.keep_epoch(CountedEpoch {
            epoch,
            tried,
            charge_bits,
        });
        let run = clock.stop(Phase::Run, session);
        Ok(Ran {
            outputs,
            phases: setup.into_iter().chain([run]).collect(),
            security_scope: Some(security_scope),
            makes_ots: true,
            ..Ran::default()
        })
    }

    /// The run in a chain, whose Δ serve it alone: it makes its own triples.
    fn run_in_chain(
        &mut self,
        session: &mut Session,
        place: &ChainPlace,
        tag: RunTag,
        inputs: &[bool],
    ) -> Result<Ran, Error> {
        let run = ChainedRun {
            session,
            terms: authenticated::Terms {
                function: self.task.function,
                tag,
                security: self.security.of_lots()?,
                construction: construction(self.scheme_id())?,
            },
            inputs,
            place,
            watch: &mut self.watch,
        };
        let ChainedOutcome {
            outputs,
            chain,
            made_at_bits,
            phases,
        } = run.run(self.task.role)?;
        Ok(Ran {
            outputs,
            chain: Some(chain),
            phases,
            security_scope: Some(SecurityScope::AllRuns { made_at_bits }),
            makes_ots: true,
            ..Ran::default()
        })
    }

    /// The run from instances or triples in stock, where both parties have enough.
    fn run_from_stock(
        &mut self,
        session: &mut Session,
        stocks: Option<&Stocks>,
        tag: RunTag,
        inputs: &[bool],
    ) -> Result<Option<Ran>, Error> {
        if self.task.function.has_saved_values() {
            return Ok(None);
        }
        let (role, security, scheme) = (self.task.role, self.security, self.scheme_id());
        let preparation = Clock::start(session);
        let are_there = |session: &Session| match stocks {
            Some(stocks) => stocks.has_lot(session, role, (self.task.function, scheme), security),
            None => Ok(false),
        };
        let (true, Some(stocks)) = (session.takes_from_stock(role, are_there)?, stocks) else {
            return Ok(None);
        };
        let mut opened = StockedRun::open(session, stocks, role)?;
        let run = StockedRun {
            session,
            opened: &mut opened,
            terms: authenticated::Terms {
                function: self.task.function,
                tag,
                security: self.security.of_lots()?,
                construction: construction(scheme)?,
            },
            scheme,
            inputs,
            leases: LeaseOrder {
                ahead: self.task.runs_ahead,
                needs_stock: self.task.needs_stock,
                watch: &mut self.task.watch_taken,
            },
            watch: &mut self.watch,
        };
        let ran = run.run()?;
        session.keep_stock(opened);
        let Some(StockedOutcome {
            outputs,
            online,
            made_at_bits,
            from_stock,
        }) = ran
        else {
            session.end_of_stock(role);
            return Ok(None);
        };
        let phases = vec![
            preparation.until(Phase::Preparation, &online),
            online.stop(Phase::Run, session),
        ];
        Ok(Some(Ran {
            outputs,
            phases,
            security_scope: Some(SecurityScope::AllRuns { made_at_bits }),
            from_stock: Some(from_stock),
            ..Ran::default()
        }))
    }
}

/// What a run gave.
#[derive(Default)]
pub(super) struct Ran {
    /// This party's output bits in port order.
    pub(super) outputs: Zeroizing<Vec<bool>>,
    /// The chain of kept values, where there is one.
    pub(super) chain: Option<ChainVersion>,
    pub(super) phases: Vec<PhaseCost>,
    pub(super) and_gates_on_the_spot: u64,
    pub(super) security_scope: Option<SecurityScope>,
    /// What a run by `authenticated` took from the stock.
    pub(super) from_stock: Option<FromStock>,
    /// Whether the run took OTs that the session made.
    pub(super) makes_ots: bool,
}

const NOT_OFFERED: Error = Error::ApiMisuse("this scheme is not offered by any protocol");

/// A run of `direct` once its scheme is a type.
struct DirectRun<'a> {
    function: &'a Function,
    role: Role,
    session: &'a mut Session,
    tag: RunTag,
    inputs: &'a [bool],
    watch: &'a mut dyn FnMut(Progress),
}

impl SchemeVisitor for DirectRun<'_> {
    type Output = Result<Zeroizing<Vec<bool>>, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let Self {
            function,
            role,
            session,
            tag,
            inputs,
            watch,
        } = self;
        let run = Run {
            scheme,
            function,
            tag,
        };
        match role {
            Role::Garbler => {
                let mut ot = session.take_garbler_ot()?;
                let seed = seed();
                let outputs = run_script(session.channel(), watch, async |io| {
                    run.garble(io, inputs, &mut ot, &seed).await
                })?;
                session.keep_garbler_ot(ot);
                Ok(outputs)
            }
            Role::Evaluator => {
                let mut ot = session.take_evaluator_ot()?;
                let outputs = run_script(session.channel(), watch, async |io| {
                    run.evaluate(io, inputs, &mut ot).await
                })?;
                session.keep_evaluator_ot(ot);
                Ok(outputs)
            }
        }
    }
}
