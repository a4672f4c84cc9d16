//! Stocks by lane: each process of a party that has several shares stocks of its own with each
//! process of a peer.

use std::time::Duration;

use tacit_garble::SchemeId;
use tacit_net::{Fingerprint, Lane};
use tacit_stock::{LaneId, LaneIds, Meeting, StockError, StockId};

use super::chains::id;
use super::meeting::Patience;
use super::{LOT_SCHEME, StockName, Stocks};
use crate::advice::advice;
use crate::protocols::Protocol;
use crate::{Error, Role, Session};

/// The processes that have the two halves of a stock. A party with one process has no lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// This party's.
    pub own: Lane,
    /// The peer's.
    pub peer: Lane,
}

impl Lanes {
    pub(super) fn ids(self) -> LaneIds {
        LaneIds {
            own: LaneId(self.own.to_bytes()),
            peer: LaneId(self.peer.to_bytes()),
        }
    }

    pub(super) fn of(ids: LaneIds) -> Result<Self, Error> {
        let lane = |id: LaneId| {
            Lane::from_bytes(id.0)
                .map_err(|_| Error::damaged("a stock is of a lane without a name"))
        };
        Ok(Self {
            own: lane(ids.own)?,
            peer: lane(ids.peer)?,
        })
    }
}

/// The two processes that keep a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keepers {
    pub(crate) own: Fingerprint,
    pub(crate) peer: Fingerprint,
    pub(crate) lanes: Lanes,
}

impl Keepers {
    /// Returns two parties with one process each.
    pub(crate) fn alone((own, peer): (Fingerprint, Fingerprint)) -> Self {
        let lanes = Lanes::default();
        Self { own, peer, lanes }
    }
}

/// The two processes that keep a chain, the protocol of its runs and this party's role.
pub(crate) type Home = (Keepers, (Protocol, Role));

/// The time for which a run waits while another session starts a chain, which takes milliseconds.
const START_PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Returns both parties and their processes, if the channel is authenticated and neither end is
    /// a worker's.
    pub(crate) fn keepers(&self) -> Option<Keepers> {
        if self.is_of_worker() {
            return None;
        }
        let (own, peer) = self.own().zip(self.peer())?;
        let lanes = self.lanes();
        Some(Keepers { own, peer, lanes })
    }

    /// Returns the name of the session's stock, if it has one.
    pub(crate) fn stock_name(&self, role: Role, scheme: SchemeId) -> Option<StockName> {
        let Keepers { own, peer, lanes } = self.keepers()?;
        Some(StockName {
            own,
            peer,
            role,
            scheme,
            lanes,
        })
    }
}

impl Stocks {
    /// Returns the stocks of the process with this name, if this party has several. Each needs a
    /// folder of its own, and sessions that give the same name ([`Settings`](crate::Settings)).
    #[must_use]
    pub fn in_lane(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }

    /// Returns the name of this process.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Returns the name of this process's stock with a peer that has one process.
    pub fn name(
        &self,
        (own, peer): (Fingerprint, Fingerprint),
        role: Role,
        scheme: SchemeId,
    ) -> StockName {
        let (own_lane, peer_lane) = (self.lane, Lane::NONE);
        StockName {
            own,
            peer,
            role,
            scheme,
            lanes: Lanes {
                own: own_lane,
                peer: peer_lane,
            },
        }
    }

    /// Returns the names of the stocks like `name` in all of the peer's lanes.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn in_all_lanes(&self, name: &StockName) -> Result<Vec<StockName>, Error> {
        let lanes = self.stocks.lanes(&name.id())?.into_iter();
        let names = lanes.map(|peer| {
            let lanes = Lanes::of(LaneIds {
                peer,
                ..name.lanes.ids()
            })?;
            Ok(StockName { lanes, ..*name })
        });
        names.collect()
    }

    /// Adds up what `count` says of the stocks like `name` in all of the peer's lanes.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or the error of `count`.
    pub fn total<E: From<Error>>(
        &self,
        name: &StockName,
        count: impl Fn(&StockName) -> Result<u64, E>,
    ) -> Result<u64, E> {
        let counts = self.in_all_lanes(name)?;
        let mut counts = counts.iter().map(count);
        counts.try_fold(0_u64, |all, count| Ok(all.saturating_add(count?)))
    }

    /// Returns the lanes of the peer in which there is material for a run, those with most of it
    /// first. `runs` says for how many runs a stock has enough; stocks that cannot be read have
    /// nothing.
    pub(crate) fn lanes_with(
        &self,
        name: &StockName,
        runs: impl Fn(&StockName) -> Result<u64, Error>,
    ) -> Result<Vec<Lane>, Error> {
        let mut names = self.in_all_lanes(name)?;
        let lots = StockName {
            scheme: LOT_SCHEME,
            ..*name
        };
        for of_lots in self.in_all_lanes(&lots)? {
            let named = StockName {
                scheme: name.scheme,
                ..of_lots
            };
            if !names.contains(&named) {
                names.push(named);
            }
        }
        names.retain(|name| !name.lanes.peer.is_none());
        let counted = names
            .iter()
            .map(|name| (runs(name).unwrap_or(0), name.lanes.peer));
        // A run that takes nothing is as well anywhere.
        let has_some = |(runs, _): &(u64, Lane)| (1..u64::MAX).contains(runs);
        let mut counted: Vec<_> = counted.filter(has_some).collect();
        counted.sort_by_key(|(runs, lane)| (std::cmp::Reverse(*runs), *lane));
        Ok(counted.into_iter().map(|(_, lane)| lane).collect())
    }

    /// Returns the lanes of the peer with which this party keeps a chain of this name. It is kept
    /// with one, unless a party forgot it.
    pub(crate) fn homes_of_chain(
        &self,
        keepers: Keepers,
        role: (Protocol, Role),
        name: &str,
    ) -> Result<Vec<Lane>, Error> {
        let mut homes = Vec::new();
        for (lanes, stock) in self.chain_stocks(keepers, role)? {
            if stock.chains()?.iter().any(|chain| chain.name == name) {
                homes.push(lanes.peer);
            }
        }
        Ok(homes)
    }

    /// Refuses a run with another process of the peer than the one that keeps the chain: it would
    /// start a second one of the same name.
    pub(crate) fn check_home(
        &self,
        keepers: Keepers,
        role: (Protocol, Role),
        name: &str,
    ) -> Result<(), Error> {
        let homes = self.homes_of_chain(keepers, role, name)?;
        let here = keepers.lanes.peer;
        let Some(home) = homes.first().filter(|_| !homes.contains(&here)) else {
            return Ok(());
        };
        let told = |lane: &Lane| {
            if lane.is_none() {
                "the process without a lane".to_owned()
            } else {
                format!("lane {lane}")
            }
        };
        let what = format!(
            "the chain {name:?} is kept with {} of the other party, and this session is with {}",
            told(home),
            told(&here)
        );
        let advice = advice!(
            "connect to that process, or have the service name its address; if it is lost, drop \
             the chain at both"
        );
        Err(Error::ChainsDiffer { what, advice })
    }

    /// Starts a chain by `start`, unless a session with another process of the peer has started one
    /// of this name.
    pub(crate) fn start_chain<T>(
        &self,
        (keepers, role): Home,
        name: &str,
        start: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _alone = start_alone(&self.kept()?, &id(keepers, role))?;
        self.check_home(keepers, role, name)?;
        start()
    }

    /// Removes the stocks like `id` in all of the peer's lanes that have no chain. A run that is
    /// about to start one there fails.
    pub(super) fn remove_unused(
        &self,
        kept: &tacit_stock::Stocks,
        mut id: StockId,
    ) -> Result<(), Error> {
        let _alone = start_alone(kept, &id)?;
        for lane in kept.lanes(&id)? {
            id.lanes.peer = lane;
            let is_unused = match kept.find(id, self.limits) {
                Ok(Some(stock)) => stock.chains()?.is_empty(),
                Ok(None) => true,
                // A stock that cannot be read may have chains.
                Err(_) => false,
            };
            if is_unused {
                kept.remove(&id)?;
            }
        }
        Ok(())
    }
}

/// Takes the right to start chains with a peer, which is one for all of its processes.
fn start_alone(kept: &tacit_stock::Stocks, id: &StockId) -> Result<Meeting, StockError> {
    let mut patience = Patience::new(START_PATIENCE);
    loop {
        if let Some(right) = kept.try_meet(id)? {
            return Ok(right);
        }
        let file = kept.meeting_lock(id);
        patience.pause(StockError::Busy { file })?;
    }
}
