//! What is kept in stock with peers, found by the digest of an order that fills it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::stock::{BatchPreparation, Preparation, StockName, Stocks};
use tacit::{Fingerprint, Function, Role, Session};

use super::Error;
use super::offers::check_batch;

/// Most runs that a level of the stock holds: the orders for fewer runs are known, too.
pub const MAX_LEVEL_RUNS: u64 = 100_000;

/// What there is to be in stock with a peer.
#[derive(Clone)]
pub struct Level {
    /// With whom.
    pub peer: Fingerprint,
    /// This party's role in the runs.
    pub role: Role,
    /// The garbling scheme.
    pub scheme: SchemeId,
    /// What the runs are of.
    pub function: Arc<Function>,
    /// s of checked executions for `batch`; where there is none, components and OTs for `prepared`
    /// are kept.
    pub security: Option<StatisticalSecurity>,
    /// Enough for this many runs after it was filled.
    pub runs: u64,
    /// It is filled when there is enough for fewer than this many.
    pub refill_below: u64,
}

/// An order that fills a level.
pub(crate) enum Order<'l> {
    Components(Preparation<'l>),
    Executions(BatchPreparation<'l>),
}

impl Order<'_> {
    fn digest(&self) -> Digest {
        match self {
            Self::Components(order) => order.digest(),
            Self::Executions(order) => order.digest(),
        }
    }

    /// Fills it over `session`; how many instances or executions were made.
    pub(crate) fn run(
        self,
        session: &mut Session,
        stocks: &Stocks,
        within: Duration,
    ) -> Result<u64, tacit::Error> {
        let prepared = match self {
            Self::Components(order) => order.time_limit(within).run(session, stocks),
            Self::Executions(order) => order.time_limit(within).run(session, stocks),
        };
        Ok(prepared?.made())
    }
}

impl Level {
    /// The order for `runs` runs.
    pub(crate) fn order(&self, runs: u64) -> Result<Order<'_>, tacit::Error> {
        Ok(match self.security {
            None => {
                let order = Preparation::new(self.role).scheme(self.scheme);
                Order::Components(order.enough_for(&self.function, runs)?)
            }
            Some(security) => {
                let order = BatchPreparation::new(self.role, &self.function, runs);
                Order::Executions(order.scheme(self.scheme).statistical_security(security))
            }
        })
    }

    /// For how many runs there is enough.
    pub(crate) fn runs_left(&self, stocks: &Stocks, own: Fingerprint) -> Result<u64, tacit::Error> {
        let (name, function) = (self.stock(own), &self.function);
        match self.security {
            None => stocks.runs_left(&name, function),
            Some(security) => stocks.executions_left(&name, function, security),
        }
    }

    /// What it is called in events and metrics.
    pub(crate) fn name(&self) -> String {
        let function = self.function.name();
        match self.security {
            None => function.to_owned(),
            Some(s) => format!("{function}, checked executions at s = {s}"),
        }
    }

    /// The stock of which party `own` it is.
    pub(crate) fn stock(&self, own: Fingerprint) -> StockName {
        StockName {
            own,
            peer: self.peer,
            role: self.role,
            scheme: self.scheme,
        }
    }
}

pub(super) fn index_levels(levels: &[Level]) -> Result<HashMap<Digest, Vec<(usize, u64)>>, Error> {
    let mut index: HashMap<Digest, Vec<(usize, u64)>> = HashMap::new();
    // Peers with the same level have the same orders.
    let mut orders: BTreeMap<([u8; 32], Option<StatisticalSecurity>, u64), Vec<Digest>> =
        BTreeMap::new();
    for (number, level) in levels.iter().enumerate() {
        let what = format!("the stock for {}", level.name());
        if !(1..=MAX_LEVEL_RUNS).contains(&level.runs) {
            return Err(Error::OutOfBounds {
                what: format!("{what}: runs"),
                found: level.runs.to_string(),
                expected: format!("1 to {MAX_LEVEL_RUNS}"),
            });
        }
        if level.refill_below > level.runs {
            return Err(Error::OutOfBounds {
                what: format!("{what}: refill_below"),
                found: level.refill_below.to_string(),
                expected: format!("at most its runs, {}", level.runs),
            });
        }
        if let Ok(Order::Executions(order)) = level.order(level.runs) {
            check_batch(&what, &order)?;
        }
        let key = (level.function.digest().0, level.security, level.runs);
        let digests = match orders.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let digests = (1..=level.runs).map(|runs| Ok(level.order(runs)?.digest()));
                let digests: Result<Vec<_>, tacit::Error> = digests.collect();
                new.insert(digests.map_err(|_| Error::SavedValues {
                    name: level.function.name().to_owned(),
                })?)
            }
        };
        for (digest, runs) in digests.iter().zip(1..) {
            index.entry(*digest).or_default().push((number, runs));
        }
    }
    Ok(index)
}
