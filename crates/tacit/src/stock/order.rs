//! An order for the stock, for any protocol, and its result.

use std::time::Duration;

use tacit_net::{Lane, Meter};
use tacit_protocol::session::RunTag;

use super::{BatchPlan, OpenedStock, Stocks};
use crate::cost::{Clock, Phase, PhaseCost};
use crate::order::Order;
use crate::session::{OrderTerms, OtExtension};
use crate::{Error, Session};

/// The result of a preparation.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The kinds that were asked for. Executions of one function, and triples, are one kind.
    /// Crosses have a kind for each width and sender.
    pub kinds: Vec<PreparedKind>,
    /// For executions, triples or crosses, the number of runs of the order's function for which the
    /// stock is enough. For triples of any function, the number of times that the stock has the
    /// order.
    pub runs: Option<u64>,
    /// The s at which executions or triples were made, if any were. It is higher than what was
    /// ordered if earlier tries were not finished.
    pub made_at_bits: Option<u8>,
    /// The plan of the executions, with their number of circuits, if any were made.
    pub plan: Option<BatchPlan>,
    /// The extension that made OTs, if any were made.
    pub ot_extension: Option<OtExtension>,
    /// The peer's process that has the other half, if the peer has several.
    pub lane: Lane,
    /// Wall time.
    pub wall: Duration,
    /// Bytes, messages and rounds.
    pub traffic: Meter,
}

/// The result of a preparation for one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedKind {
    /// The component's name, `OTs`, the type of crosses, or the purpose of the executions or
    /// triples.
    pub name: String,
    /// The number that was made: executions, triples, crosses, OTs, or garbled components.
    pub made: u64,
    /// The number that can be used now.
    pub available: u64,
    /// The AND gates of one of them.
    pub and_gates: u64,
}

impl Prepared {
    /// Returns the number that was made, over all kinds.
    pub fn made(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.made).sum()
    }

    /// Returns the number that can be used now, over all kinds.
    pub fn available(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.available).sum()
    }
}

/// The material that an order has put in stock.
pub(crate) struct Stocked {
    pub(crate) kinds: Vec<PreparedKind>,
    pub(crate) runs: Option<u64>,
    pub(crate) made_at_bits: Option<u8>,
    pub(crate) plan: Option<BatchPlan>,
    pub(crate) makes_ots: bool,
}

/// An order for the stock.
pub(crate) trait StockOrder {
    /// Returns the terms on which both parties' orders must agree.
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
    /// Makes what is missing in `stocks`, over `session`. The peer gives the same order in the
    /// other role. Components and OTs that were made before an error stay, and the next order
    /// continues from there. Executions and triples are in stock only once both parties have ended
    /// well.
    ///
    /// # Errors
    ///
    /// The protocol cannot carry out the order, or any error that ends the preparation. The session
    /// is then spent.
    pub fn run(mut self, session: &mut Session, stocks: &Stocks) -> Result<Prepared, Error> {
        let terms = self.terms()?;
        let clock = Clock::start(session);
        session.work_on(self.threads);
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
            lane: session.lanes().peer,
            wall,
            traffic,
        })
    }
}
