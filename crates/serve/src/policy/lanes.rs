//! The processes of this party: their addresses, and which of them keeps a chain.

use tacit::net::Lane;
use tacit::session::{ChainLanes, LaneHomes};
use tacit::stock::{KeptChain, Stocks};

use super::Policy;

impl Policy {
    /// Sets the addresses of this party's processes, by lane. A peer that has material with another
    /// process than the one that it reached is sent there.
    #[must_use]
    pub fn lane_homes(mut self, homes: LaneHomes) -> Self {
        self.lane_homes = homes;
        self
    }

    /// Returns the addresses of this party's processes.
    pub(crate) fn homes(&self) -> &LaneHomes {
        &self.lane_homes
    }

    /// Sets the lanes of this party that keep chains, the same for all its processes. Of these, one
    /// keeps a peer's chain of a name. A service in a lane keeps no chain without this list. Check
    /// a changed list with [`chain_elsewhere`](Self::chain_elsewhere).
    #[must_use]
    pub fn chain_lanes(mut self, lanes: ChainLanes) -> Self {
        self.chain_lanes = lanes;
        self
    }

    /// Returns the lanes of this party that keep chains.
    pub(crate) fn lanes_of_chains(&self) -> &ChainLanes {
        &self.chain_lanes
    }

    /// Returns a chain for an offer that lies in this process's folder and that the list of lanes
    /// gives to another lane, or to none, and that lane. The peer could start a chain of the same
    /// name there. A chain that was kept before this process had its lane is such a chain, too.
    ///
    /// # Errors
    ///
    /// The folder of the chains cannot be read, or, of a process in a lane, one of them.
    pub fn chain_elsewhere(
        &self,
        stocks: &Stocks,
    ) -> Result<Option<(KeptChain, Option<Lane>)>, tacit::Error> {
        let here = stocks.lane();
        let (chains, unread) = stocks.chains_by_peer()?;
        if let Some(unread) = unread.into_iter().next()
            && !here.is_none()
        {
            return Err(unread);
        }
        for chain in chains {
            let name = &chain.summary.name;
            let mut offers = self.offers.iter();
            let is_offered = offers.any(|offer| offer.chain.as_ref() == Some(name));
            let home = self.chain_lanes.home([chain.own, chain.peer], name);
            let is_at_home = here.is_none() || home == Some(here);
            if is_offered && !(is_at_home && chain.lanes.own == here) {
                return Ok(Some((chain, home)));
            }
        }
        Ok(None)
    }
}
