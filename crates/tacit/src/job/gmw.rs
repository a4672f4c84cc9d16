//! A run of `gmw`: with crosses from the stock, or without a stock.

use tacit_function::Schedule;
use tacit_ot::Security;
use tacit_protocol::gmw::{self, InputShares, Run};
use tacit_protocol::party::Progress;

use super::{AgreedRun, Job, ProtocolOutcome, ProtocolRun};
use crate::cost::{Clock, FromStock, Phase};
use crate::driver::{run_script, seed};
use crate::join::stage_ots;
use crate::ports;
use crate::protocols::Protocol;
use crate::session::{BaseOt, OtExtension, OtNeed};
use crate::stock::{StockName, Stocks, lease_crosses, takes_crosses};
use crate::{Error, Session};

pub(super) struct Gmw;

impl ProtocolRun for Gmw {
    fn protocol(&self) -> Protocol {
        Protocol::Gmw
    }

    fn check(&self, job: &Job<'_>) -> Result<(), Error> {
        if job.names_scheme() {
            return Err(Error::ApiMisuse("`gmw` garbles nothing; name no scheme"));
        }
        Ok(gmw::check(job.task.function)?)
    }

    /// Returns at most one OT in each direction per AND gate, plus the OTs of a join's stage.
    fn ot_need(&self, job: &Job<'_>) -> OtNeed {
        let ands = job.task.function.and_gates();
        OtNeed::bulk(Security::SemiHonest, ands.saturating_add(job.stage_ots()))
    }

    fn runs_in_stock(
        &self,
        job: &Job<'_>,
        (stocks, name): (&Stocks, &StockName),
        ots: (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        stocks.gmw_runs_left(name, job.task.function, ots)
    }

    fn run(&self, job: &mut Job<'_>, agreed: AgreedRun<'_>) -> Result<ProtocolOutcome, Error> {
        let AgreedRun {
            session,
            inputs,
            tag,
        } = agreed;
        let (role, function) = (job.task.role, job.task.function);
        let (schedule, before) = (&function.schedule()?, job.stage_work(session));
        let mut phases = Vec::new();
        let (mut staged, mut keys_of_bins) = (None, None);
        if let Some(join) = &job.task.join
            && let Some(first) = join.inputs_of(role).first()
        {
            let clock = Clock::start(session);
            // The stage sends most bytes of a run from stock, so a run that cannot go on ends here.
            if !takes_crosses(session, job.task.stocks.as_ref(), (role, schedule))? {
                job.check_crosses(session, schedule)?;
            }
            let after = schedule.total_ots().iter().sum();
            let watch = &mut part_of_all(&mut job.watch, [0, after]);
            let (bits, keys) = join.run(session, (role, tag), watch)?;
            staged = Some((ports::bits_before(function, role, first), bits));
            keys_of_bins = keys;
            phases.push(clock.stop(Phase::Match, session));
        }
        let inputs = match &staged {
            Some((before, made)) => InputShares::with_made(inputs, *before, made),
            None => InputShares::from(inputs),
        };
        if let Some(mut ran) = job.run_from_crosses(session, schedule, inputs)? {
            phases.append(&mut ran.phases);
            return Ok(ProtocolOutcome {
                phases,
                keys_of_bins,
                ..ran
            });
        }
        job.check_crosses(session, schedule)?;
        let (mut directions, setup) = session.take_directions(role)?;
        phases.extend(setup);
        let clock = Clock::start(session);
        let (run, seed) = (Run { function, schedule }, seed());
        let watch = &mut part_of_all(&mut job.watch, [before, 0]);
        let outputs = run_script(session.channel(), watch, async |io| {
            run.run(io, inputs, &mut directions, &seed).await
        })?;
        session.keep_directions(directions);
        phases.push(clock.stop(Phase::Run, session));
        Ok(ProtocolOutcome {
            outputs,
            phases,
            makes_ots: true,
            keys_of_bins,
            ..ProtocolOutcome::default()
        })
    }
}

/// Returns a watch that adds to the progress of a part the OTs of those before and after it.
fn part_of_all<'w>(
    watch: &'w mut dyn FnMut(Progress),
    [before, after]: [u64; 2],
) -> impl FnMut(Progress) + 'w {
    move |at| {
        watch(Progress {
            done_ands: before + at.done_ands,
            total_ands: before + at.total_ands + after,
        });
    }
}

impl Job<'_> {
    /// Returns the OTs of a join's stage, which are those of its VOLE if it is packed.
    fn stage_ots(&self) -> u64 {
        let join = self.task.join.as_ref();
        join.map_or(0, |join| stage_ots(join.plan))
    }

    /// Returns the work of a join's stage in this session, of which its VOLE tells the progress.
    fn stage_work(&self, session: &Session) -> u64 {
        let join = self.task.join.as_ref();
        let join = join.filter(|join| join.plan.bin_count() > 0);
        join.map_or(0, |join| join.vole(session).work())
    }

    /// Refuses to make the crosses of a run that must take them from the stock, or for which the
    /// session's base OTs give too few OTs.
    fn check_crosses(&self, session: &Session, schedule: &Schedule) -> Result<(), Error> {
        let ots = schedule.total_ots();
        if self.task.needs_stock && ots != [0, 0] {
            return Err(Error::stock_lacks(self.task.function));
        }
        session.check_directions(ots)
    }

    /// Runs with crosses from the stock, if both parties have enough.
    fn run_from_crosses(
        &mut self,
        session: &mut Session,
        schedule: &Schedule,
        inputs: InputShares<'_>,
    ) -> Result<Option<ProtocolOutcome>, Error> {
        let preparation = Clock::start(session);
        let (function, role) = (self.task.function, self.task.role);
        let stocks = self.task.stocks.clone();
        let leases = self.task.lease_order();
        let leased = lease_crosses(session, stocks.as_ref(), (role, schedule), leases)?;
        let Some(mut leased) = leased else {
            return Ok(None);
        };
        let before = self.stage_work(session);
        let (run, online) = (Run { function, schedule }, Clock::start(session));
        let (threads, watch) = (self.threads, &mut part_of_all(&mut self.watch, [before, 0]));
        let masks = leased.masks(schedule, threads);
        let outputs = run_script(session.channel(), watch, async |io| {
            run.run_stocked(io, inputs, masks, threads).await
        });
        let outputs = leased.or_failure(outputs)?;
        Ok(Some(ProtocolOutcome {
            outputs,
            phases: preparation.stop_online(&online, session),
            from_stock: Some(FromStock::Crosses),
            ..ProtocolOutcome::default()
        }))
    }
}
