//! A run of `authenticated`: in a chain, from the stock, or from neither.

use tacit_function::Function;
use tacit_protocol::authenticated::{self, SecurityBits, Terms};
use tacit_protocol::session::RunTag;

use super::{AgreedRun, Job, ProtocolOutcome, ProtocolRun, SecurityScope};
use crate::authenticated::{ChainedRun, construction, planned_at};
use crate::cost::{Clock, Phase};
use crate::driver::{run_script, seed};
use crate::kept::ChainPlace;
use crate::protocols::{Protocol, StatisticalSecurity};
use crate::session::{BaseOt, CountedEpoch, OtExtension, OtNeed};
use crate::stock::{StockName, StockedRun, Stocks};
use crate::{Error, Session};

pub(super) struct Authenticated;

impl ProtocolRun for Authenticated {
    fn protocol(&self) -> Protocol {
        Protocol::Authenticated
    }

    fn check(&self, job: &Job<'_>) -> Result<(), Error> {
        authenticated::check(job.task.function)?;
        construction(job.scheme_id())?;
        job.security.of_lots()?;
        Ok(())
    }

    /// Returns the OTs of a lot, in each direction.
    fn ot_need(&self, job: &Job<'_>) -> OtNeed {
        let ands = job.task.function.and_gates();
        let of_lots = |security| OtNeed::of_lots(ands, security);
        job.security.of_lots().map_or(OtNeed::NONE, of_lots)
    }

    fn held_bits(&self, _function: &Function, asked: StatisticalSecurity) -> Option<u8> {
        asked.of_lots().ok().map(SecurityBits::held_bits)
    }

    fn runs_in_stock(
        &self,
        job: &Job<'_>,
        (stocks, name): (&Stocks, &StockName),
        (base_ot, _): (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        stocks.lots_for(name, job.task.function, (job.security, base_ot))
    }

    fn run(&self, job: &mut Job<'_>, agreed: AgreedRun<'_>) -> Result<ProtocolOutcome, Error> {
        let stocks = job.stocks_if_any().cloned();
        let stocks = stocks.as_ref();
        if let Some(place) = stocks.and_then(|stocks| job.chain_place(stocks)) {
            return job.run_in_chain(&place, agreed);
        }
        let AgreedRun {
            session,
            tag,
            inputs,
        } = agreed;
        if let Some(ran) = job.run_from_stock(session, stocks, tag, inputs)? {
            return Ok(ran);
        }
        if job.task.needs_stock {
            return Err(Error::stock_lacks(job.task.function));
        }
        let bits = job.security.bits();
        let (counted, setup) = session.take_epoch((job.task.role, bits), stocks)?;
        let CountedEpoch {
            epoch,
            tried,
            charge_bits,
        } = counted;
        let security = planned_at(bits, charge_bits, tried.as_ref())?;
        let clock = Clock::start(session);
        let terms = Terms {
            security,
            ..job.terms_of(tag)?
        };
        let seed = seed();
        let ran = run_script(session.channel(), &mut job.watch, async |io| {
            terms.run(io, inputs, epoch, &seed).await
        });
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
        Ok(ProtocolOutcome {
            outputs,
            phases: setup.into_iter().chain([run]).collect(),
            security_scope: Some(security_scope),
            makes_ots: true,
            ..ProtocolOutcome::default()
        })
    }
}

impl<'f> Job<'f> {
    /// Returns the terms of the run, at the s that was asked for.
    fn terms_of(&self, tag: RunTag) -> Result<Terms<'f>, Error> {
        Ok(Terms {
            function: self.task.function,
            tag,
            security: self.security.of_lots()?,
            construction: construction(self.scheme_id())?,
        })
    }

    /// Runs in a chain. The chain's Δ serve the chain alone, so the run makes its own triples.
    fn run_in_chain(
        &mut self,
        place: &ChainPlace,
        agreed: AgreedRun<'_>,
    ) -> Result<ProtocolOutcome, Error> {
        let AgreedRun {
            session,
            tag,
            inputs,
        } = agreed;
        let run = ChainedRun {
            session,
            terms: self.terms_of(tag)?,
            inputs,
            place,
            watch: &mut self.watch,
        };
        run.run(self.task.role)
    }

    /// Runs from instances or triples in the stock, if both parties have enough.
    fn run_from_stock(
        &mut self,
        session: &mut Session,
        stocks: Option<&Stocks>,
        tag: RunTag,
        inputs: &[bool],
    ) -> Result<Option<ProtocolOutcome>, Error> {
        if self.task.function.has_saved_values() {
            return Ok(None);
        }
        let (role, security, scheme) = (self.task.role, self.security, self.scheme_id());
        let (runs, preparation) = ((Protocol::Authenticated, role), Clock::start(session));
        let are_there = |session: &Session| match stocks {
            Some(stocks) => stocks.has_lot(session, role, (self.task.function, scheme), security),
            None => Ok(false),
        };
        let (true, Some(stocks)) = (session.takes_from_stock(runs, are_there)?, stocks) else {
            return Ok(None);
        };
        let mut opened = StockedRun::open(session, stocks, role)?;
        let run = StockedRun {
            session,
            opened: &mut opened,
            terms: self.terms_of(tag)?,
            scheme,
            inputs,
            preparation,
            leases: self.task.lease_order(),
            watch: &mut self.watch,
        };
        let ran = run.run()?;
        session.keep_stock(opened);
        if ran.is_none() {
            session.end_of_stock(runs);
        }
        Ok(ran)
    }
}
