//! The processes of the peer with which a job has something to run from.

use tacit_net::Lane;

use super::Job;
use crate::{Error, Session};

impl Job<'_> {
    /// Returns the peer's lanes in which this party has the run's chain or, if it has no chain,
    /// some material for the run; the best first.
    pub(super) fn lanes(&self, session: &Session) -> Result<Vec<Lane>, Error> {
        let (Some(stocks), true) = (&self.task.stocks, session.may_seek()) else {
            return Ok(Vec::new());
        };
        let (Some(parties), role) = (session.own().zip(session.peer()), self.task.role) else {
            return Ok(Vec::new());
        };
        let name = stocks.name(parties, role, self.scheme_id());
        if let Some(chain) = &self.task.chain {
            let role = (self.protocol(), role);
            let homes = stocks.homes_of_chain(name.keepers(), role, chain)?;
            if !homes.is_empty() {
                return Ok(homes);
            }
        }
        stocks.lanes_with(&name, |name| {
            self.task
                .by
                .runs_in_stock(self, (stocks, name), session.base_ot())
        })
    }
}
