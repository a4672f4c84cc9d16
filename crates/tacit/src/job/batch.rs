//! A run of `batch`.

use tacit_function::Function;
use tacit_protocol::batch::held_bits;

use super::{AgreedRun, Job, ProtocolOutcome, ProtocolRun};
use crate::Error;
use crate::cost::Clock;
use crate::protocols::{Protocol, StatisticalSecurity};
use crate::scheme::with_block_scheme;
use crate::session::{BaseOt, OtExtension, OtNeed};
use crate::stock::{BatchRun, OpenedStock, StockName, Stocks};

pub(super) struct Batch;

impl ProtocolRun for Batch {
    fn protocol(&self) -> Protocol {
        Protocol::Batch
    }

    /// Checks only the scheme: the stock holds only functions that can be run.
    fn check(&self, job: &Job<'_>) -> Result<(), Error> {
        with_block_scheme(job.scheme_id(), Protocol::Batch, ())
    }

    fn ot_need(&self, _job: &Job<'_>) -> OtNeed {
        OtNeed::NONE
    }

    fn held_bits(&self, function: &Function, asked: StatisticalSecurity) -> Option<u8> {
        Some(held_bits(asked.bits(), function))
    }

    fn runs_in_stock(
        &self,
        job: &Job<'_>,
        (stocks, name): (&Stocks, &StockName),
        _ots: (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        stocks.executions_left(name, job.task.function, job.security)
    }

    fn run(&self, job: &mut Job<'_>, agreed: AgreedRun<'_>) -> Result<ProtocolOutcome, Error> {
        let AgreedRun {
            session, inputs, ..
        } = agreed;
        let stocks = job.stocks()?;
        let preparation = Clock::start(session);
        let mut opened = OpenedStock::open(session, &stocks, job.task.role, job.scheme_id())?;
        let run = BatchRun {
            session,
            opened: &mut opened,
            function: job.task.function,
            inputs,
            statistical_security_bits: job.security.bits(),
            threads: job.threads.get(),
            preparation,
            leases: job.task.lease_order(),
            watch: &mut job.watch,
        };
        let ran = run.run()?;
        session.keep_stock(opened);
        Ok(ran)
    }
}
