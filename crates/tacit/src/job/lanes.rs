//! The processes of the peer with which a job has something to run from.

use super::Job;
use crate::{Error, Session};

impl Job<'_> {
    /// Goes to a process of the peer with which this party has the run's chain or, if it has no
    /// chain, some material for the run; the best first. A chain that is not there yet starts with
    /// the process that the peer names.
    pub(super) fn find_lane(&self, session: &mut Session) -> Result<(), Error> {
        let (Some(stocks), true) = (self.stocks_if_any(), session.may_seek()) else {
            return Ok(());
        };
        let (Some(parties), role) = (session.own().zip(session.peer()), self.task.role) else {
            return Ok(());
        };
        let name = stocks.name(parties, role, self.scheme_id());
        let lanes = if let Some(chain) = &self.task.chain {
            let role = (self.protocol(), role);
            let homes = stocks.homes_of_chain(name.keepers(), role, chain)?;
            if homes.is_empty() {
                return session.go_to_home(chain);
            }
            homes
        } else {
            stocks.lanes_with(&name, |name| {
                let by = self.task.by;
                let ots = (session.base_ot(), session.ot_extension());
                by.runs_in_stock(self, (stocks, name), ots)
            })?
        };
        session.go_to_lane(&lanes).map(drop)
    }
}
