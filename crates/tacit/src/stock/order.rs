//! An order for the stock, for any protocol, and its result.

use std::time::Duration;

use tacit_net::Meter;
use tacit_protocol::session::RunTag;

use super::{BatchPlan, OpenedStock, Stocks};
use crate::cost::{Clock, Phase, PhaseCost};
use crate::order::Order;
use crate::session::{OrderTerms, OtExtension};
use crate::{Error, Session};

/// What a preparation did.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Each kind that was asked for. Executions of one function, and triples, are one kind; crosses
    /// have a kind for each width and sender.
    pub kinds: Vec<PreparedKind>,
    /// For how many runs of the order's function there are executions, triples or crosses; of
    /// triples for whatever function, how often the order is there.
    pub runs: Option<u64>,
    /// The s at which executions or triples were made, where some were: higher than what was
    /// ordered where earlier tries were not finished.
    pub made_at_bits: Option<u8>,
    /// How many circuits the executions took, where some were made.
    pub plan: Option<BatchPlan>,
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
    /// The component's name, `OTs`, which crosses they are, or what the executions or triples are
    /// for.
    pub name: String,
    /// Instances that were made: executions, triples, crosses, OTs, or garbled components.
    pub made: u64,
    /// Instances that can be used now.
    pub available: u64,
    /// AND gates of an instance.
    pub and_gates: u64,
}

impl Prepared {
    /// Instances that were made, of all kinds.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.made).sum()
    }

    /// Instances that can be used now, of all kinds.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.available).sum()
    }
}

/// What an order has put in stock.
pub(crate) struct Stocked {
    pub(crate) kinds: Vec<PreparedKind>,
    pub(crate) runs: Option<u64>,
    pub(crate) made_at_bits: Option<u8>,
    pub(crate) plan: Option<BatchPlan>,
    pub(crate) makes_ots: bool,
}

/// An order for the stock.
pub(crate) trait StockOrder {
    /// What both parties' orders must agree in.
    ///
    /// # Errors
    ///
    /// The protocol cannot do what is ordered.
    fn terms(&self) -> Result<OrderTerms, Error>;

    /// Makes what is missing.
    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Stocked, Error>;
}

#[expect(private_bounds, reason = "only this crate has tasks")]
impl<T> Order<'_, T>
where
    Self: StockOrder,
{
    /// Makes what is missing in `stocks`, over `session`; the peer gives the same order in the
    /// other role. Components and OTs that were made before an error stay, and the next order goes
    /// on from there. Executions and triples are there when both parties have ended well, or not
    /// at all.
    ///
    /// # Errors
    ///
    /// The protocol cannot do what is ordered, or whatever ends it: the session is then spent.
    pub fn run(mut self, session: &mut Session, stocks: &Stocks) -> Result<Prepared, Error> {
        let terms = self.terms()?;
        let clock = Clock::start(session);
        let stocked = session.guarded_within(self.time_limit, |session| {
            let tag = session.agree(&terms)?;
            let mut opened = OpenedStock::open(session, stocks, terms.role, terms.scheme)?;
            let stocked = self.fill(session, &mut opened, tag)?;
            session.keep_stock(opened);
            Ok(stocked)
        })?;
        let PhaseCost { wall, traffic, .. } = clock.stop(Phase::Preparation, session);
        Ok(Prepared {
            kinds: stocked.kinds,
            runs: stocked.runs,
            made_at_bits: stocked.made_at_bits,
            plan: stocked.plan,
            ot_extension: stocked.makes_ots.then(|| session.ot_extension()),
            wall,
            traffic,
        })
    }
}
