//! A run of `prepared`.

use tacit_garble::with_scheme;
use tacit_ot::Security;
use tacit_protocol::prepared;

use super::{AgreedRun, Job, NOT_OFFERED, ProtocolOutcome, ProtocolRun};
use crate::Error;
use crate::cost::Clock;
use crate::protocols::Protocol;
use crate::session::{BaseOt, OtExtension, OtNeed};
use crate::stock::{OpenedStock, PreparedRun, StockName, Stocks};

pub(super) struct Prepared;

impl ProtocolRun for Prepared {
    fn protocol(&self) -> Protocol {
        Protocol::Prepared
    }

    fn check(&self, job: &Job<'_>) -> Result<(), Error> {
        Ok(prepared::check(job.task.function, job.scheme_id())?)
    }

    /// Returns the OTs for all input bits: either the stock has them, or the session makes all of
    /// them.
    fn ot_need(&self, job: &Job<'_>) -> OtNeed {
        OtNeed::of_inputs(Security::Malicious, job.task.function)
    }

    fn runs_in_stock(
        &self,
        job: &Job<'_>,
        (stocks, name): (&Stocks, &StockName),
        _ots: (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        stocks.runs_left(name, job.task.function)
    }

    fn run(&self, job: &mut Job<'_>, agreed: AgreedRun<'_>) -> Result<ProtocolOutcome, Error> {
        let AgreedRun {
            session,
            tag,
            inputs,
        } = agreed;
        let stocks = job.stocks()?;
        let preparation = Clock::start(session);
        let scheme = job.scheme_id();
        let mut opened = OpenedStock::open(session, &stocks, job.task.role, scheme)?;
        let place = job.chain_place(&stocks);
        let visitor = PreparedRun {
            session,
            opened: &mut opened,
            function: job.task.function,
            tag,
            inputs,
            place: place.as_ref(),
            preparation,
            leases: job.task.lease_order(),
            watch: &mut job.watch,
        };
        let outcome = with_scheme(scheme, visitor).map_err(|_| NOT_OFFERED)??;
        session.keep_stock(opened);
        Ok(outcome)
    }
}
