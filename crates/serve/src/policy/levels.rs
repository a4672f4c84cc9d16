//! The levels of the stock with peers, found by the digest of an order that fills them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::{Discriminant, discriminant};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::session::BaseOt;
use tacit::stock::{BatchPreparation, LOT_SCHEME, LotPreparation, Preparation, StockName, Stocks};
use tacit::{Fingerprint, Function, Role, Session};

use super::Error;

/// The largest number of runs of a level. The digests of orders for fewer runs are known too.
pub const MAX_LEVEL_RUNS: u64 = 100_000;

/// Nothing is made while lots hold this many times the amount of a level.
const MOST_LEFT_OVER: u64 = 3;

/// A level of material in stock with a peer.
#[derive(Clone)]
pub struct Level {
    /// The peer.
    pub peer: Fingerprint,
    /// This party's role in the runs.
    pub role: Role,
    /// The garbling scheme; unused for triples.
    pub scheme: SchemeId,
    /// The kind of material.
    pub material: Material,
    /// The number of runs that a full level suffices for; for triples, their number.
    pub amount: u64,
    /// The level is filled when it suffices for fewer than this many.
    pub refill_below: u64,
}

/// The kind of material of a level.
#[derive(Clone)]
pub enum Material {
    /// Components and OTs for runs of a function by `prepared`.
    Components(Arc<Function>),
    /// Checked executions of a function by `batch`, at this s.
    Executions(Arc<Function>, StatisticalSecurity),
    /// Material for runs of a function by `authenticated` at this s: instances of its components,
    /// or triples.
    Lots(Arc<Function>, StatisticalSecurity),
    /// Triples for runs of any function by `authenticated`, at this s, all of one order.
    Triples(StatisticalSecurity),
}

impl Material {
    /// Returns its function, if it has one.
    #[must_use]
    pub fn function(&self) -> Option<&Arc<Function>> {
        match self {
            Self::Components(function)
            | Self::Executions(function, _)
            | Self::Lots(function, _) => Some(function),
            Self::Triples(_) => None,
        }
    }

    /// Returns its s, if it has one.
    fn security(&self) -> Option<StatisticalSecurity> {
        match self {
            Self::Components(_) => None,
            Self::Executions(_, security) | Self::Lots(_, security) | Self::Triples(security) => {
                Some(*security)
            }
        }
    }
}

/// An order that fills a level.
pub(crate) enum Order<'l> {
    Components(Preparation<'l>),
    Executions(BatchPreparation<'l>),
    Lot(LotPreparation<'l>),
}

impl Order<'_> {
    fn digest(&self) -> Digest {
        match self {
            Self::Components(order) => order.digest(),
            Self::Executions(order) => order.digest(),
            Self::Lot(order) => order.digest(),
        }
    }

    /// Fills the level over `session`, on this many threads. Returns the number of instances,
    /// executions or triples that were made.
    pub(crate) fn run(
        self,
        session: &mut Session,
        stocks: &Stocks,
        (within, threads): (Duration, NonZeroUsize),
    ) -> Result<u64, tacit::Error> {
        let prepared = match self {
            Self::Components(order) => {
                let order = order.time_limit(within).threads(threads);
                order.run(session, stocks)
            }
            Self::Executions(order) => {
                let order = order.time_limit(within).threads(threads);
                order.run(session, stocks)
            }
            Self::Lot(order) => {
                let order = order.time_limit(within).threads(threads);
                order.run(session, stocks)
            }
        };
        Ok(prepared?.made())
    }

    /// Checks that its protocol can run with the ordered settings.
    fn check(&self, what: &str) -> Result<(), Error> {
        let checked = match self {
            Self::Components(_) => Ok(()),
            Self::Executions(order) => order.plan().map(drop),
            Self::Lot(order) => order.check(),
        };
        checked.map_err(|error| Error::not_for(what, &error))
    }
}

impl Level {
    /// Returns the order for `amount` runs or triples.
    pub(crate) fn order(&self, amount: u64) -> Result<Order<'_>, tacit::Error> {
        let (role, scheme) = (self.role, self.scheme);
        Ok(match &self.material {
            Material::Components(function) => {
                let order = Preparation::new(role).scheme(scheme);
                Order::Components(order.enough_for(function, amount)?)
            }
            Material::Executions(function, security) => {
                let order = BatchPreparation::new(role, function, amount).scheme(scheme);
                Order::Executions(order.statistical_security(*security))
            }
            Material::Lots(function, security) => {
                let order = LotPreparation::for_runs(role, function, amount)?.scheme(scheme);
                Order::Lot(order.statistical_security(*security))
            }
            Material::Triples(security) => {
                let order = LotPreparation::triples(role, amount);
                Order::Lot(order.statistical_security(*security))
            }
        })
    }

    /// Returns the order for the whole level, if it is a lot.
    pub(crate) fn lot_order(&self) -> Option<LotPreparation<'_>> {
        match self.order(self.amount) {
            Ok(Order::Lot(order)) => Some(order),
            _ => None,
        }
    }

    /// Returns the digests of the orders for this level and for smaller amounts, each with its
    /// amount.
    fn orders(&self) -> Result<Vec<(Digest, u64)>, tacit::Error> {
        if let Material::Triples(_) = self.material {
            // A party's order is for one lot, and is rounded up.
            let rounded = rounded_triples(self.role);
            let counts = (1..=self.amount.div_ceil(rounded)).map(|blocks| blocks * rounded);
            return counts
                .map(|count| Ok((self.order(count)?.digest(), count)))
                .collect();
        }
        let digests = match self.order(self.amount)? {
            Order::Lot(order) => order.digests(),
            Order::Components(_) | Order::Executions(_) => {
                let orders = (1..=self.amount).map(|runs| Ok(self.order(runs)?.digest()));
                orders.collect::<Result<_, tacit::Error>>()?
            }
        };
        Ok(digests.into_iter().zip(1..).collect())
    }

    /// Returns the number of runs with OTs resting on `base_ot` that the stock suffices for. For
    /// triples, returns the number that one order has left for such runs. If the peer has several
    /// processes, adds up what there is with each.
    pub(crate) fn left(
        &self,
        stocks: &Stocks,
        own: Fingerprint,
        base_ot: BaseOt,
    ) -> Result<u64, tacit::Error> {
        stocks.total(&self.stock(stocks, own), |name| {
            let name = &StockName {
                scheme: self.scheme,
                ..*name
            };
            match &self.material {
                Material::Components(function) => stocks.runs_left(name, function),
                Material::Executions(function, s) => stocks.executions_left(name, function, *s),
                Material::Lots(function, s) => {
                    let from = LotPreparation::for_runs(self.role, function, 1)?.from_stock();
                    stocks.authenticated_runs_left(name, function, (*s, base_ot), from)
                }
                Material::Triples(s) => stocks.triples_left(name, (*s, base_ot)),
            }
        })
    }

    /// Returns whether the level needs filling, with `there` in stock.
    pub(crate) fn is_due(&self, there: u64, stocks: &Stocks, own: Fingerprint) -> bool {
        there < self.refill_below && !self.is_hoarded(stocks, own)
    }

    /// Returns whether the stock holds the largest permitted rest of earlier orders, or an unknown
    /// amount. A run takes all its material from one lot, so a lot with too little does not count
    /// in [`left`](Self::left): a peer that leaves such lots could have more made forever.
    pub(crate) fn is_hoarded(&self, stocks: &Stocks, own: Fingerprint) -> bool {
        let name = self.stock(stocks, own);
        let times = self.order(self.amount).and_then(|order| match order {
            Order::Lot(order) => stocks.total(&name, |name| order.times_held(stocks, name)),
            Order::Components(_) | Order::Executions(_) => Ok(0),
        });
        times.map_or(true, |times| times >= MOST_LEFT_OVER)
    }

    /// Returns its name in events and metrics.
    pub(crate) fn name(&self) -> String {
        match &self.material {
            Material::Components(function) => function.name().to_owned(),
            Material::Executions(function, s) => {
                format!("{}, checked executions at s = {s}", function.name())
            }
            Material::Lots(function, s) => {
                format!("{}, for authenticated at s = {s}", function.name())
            }
            Material::Triples(s) => format!("triples at s = {s}"),
        }
    }

    /// Describes the orders that a peer may place, for this party's log.
    pub(super) fn described(&self) -> String {
        let (name, role, most) = (self.name(), self.role.other().name(), self.amount);
        match &self.material {
            Material::Triples(_) => format!("{name} as {role}, up to {most} of them"),
            _ => format!("{name} as {role} under {}, up to {most} runs", self.scheme),
        }
    }

    /// Returns the s of the material in the form of a proposal.
    pub(super) fn security_bits(&self) -> u8 {
        let security = self.material.security();
        security.map_or(0, StatisticalSecurity::bits)
    }

    /// Returns the scheme of its stock in the form of a proposal.
    pub(super) fn stock_scheme(&self) -> SchemeId {
        match self.material {
            Material::Components(_) | Material::Executions(..) => self.scheme,
            Material::Lots(..) | Material::Triples(_) => LOT_SCHEME,
        }
    }

    /// Returns the name of its stock at party `own`, with a peer that has one process.
    fn stock(&self, stocks: &Stocks, own: Fingerprint) -> StockName {
        stocks.name((own, self.peer), self.role, self.stock_scheme())
    }

    /// Frees the space of used material in its stocks, with all of the peer's processes.
    ///
    /// # Errors
    ///
    /// A stock cannot be written.
    pub(crate) fn compact(&self, stocks: &Stocks, own: Fingerprint) -> Result<u64, tacit::Error> {
        stocks.total(&self.stock(stocks, own), |name| stocks.compact(name))
    }
}

/// The properties that an order of a level depends on.
type OrderKey = (Discriminant<Material>, Option<Digest>, u8, SchemeId, u64);

pub(super) fn index_levels(levels: &[Level]) -> Result<HashMap<Digest, Vec<(usize, u64)>>, Error> {
    let mut index: HashMap<Digest, Vec<(usize, u64)>> = HashMap::new();
    // Peers with the same level have the same orders.
    let mut orders: HashMap<OrderKey, Vec<(Digest, u64)>> = HashMap::new();
    for (number, level) in levels.iter().enumerate() {
        let what = format!("the stock for {}", level.name());
        check_amount(&what, level)?;
        let material = &level.material;
        let refused = |error| match material {
            Material::Components(function) => Error::SavedValues {
                name: function.name().to_owned(),
            },
            _ => Error::not_for(&what, &error),
        };
        let order = level.order(level.amount).map_err(refused)?;
        order.check(&what)?;
        let function = material.function().map(|function| function.digest());
        let bits = level.security_bits();
        let key = (
            discriminant(material),
            function,
            bits,
            level.scheme,
            level.amount,
        );
        let known = match orders.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(level.orders().map_err(refused)?),
        };
        for (digest, amount) in known.iter() {
            index.entry(*digest).or_default().push((number, *amount));
        }
    }
    Ok(index)
}

/// Returns the smallest number of triples that an order has.
fn rounded_triples(role: Role) -> u64 {
    LotPreparation::triples(role, 1).and_gates()
}

/// Checks the amount of a level.
fn check_amount(what: &str, level: &Level) -> Result<(), Error> {
    let (field, most) = match level.material {
        Material::Triples(_) => ("ands", MAX_LEVEL_RUNS * rounded_triples(level.role)),
        _ => ("runs", MAX_LEVEL_RUNS),
    };
    if !(1..=most).contains(&level.amount) {
        return Err(Error::OutOfBounds {
            what: format!("{what}: {field}"),
            found: level.amount.to_string(),
            expected: format!("1 to {most}"),
        });
    }
    if level.refill_below > level.amount {
        return Err(Error::OutOfBounds {
            what: format!("{what}: refill_below"),
            found: level.refill_below.to_string(),
            expected: format!("at most its {field}, {}", level.amount),
        });
    }
    Ok(())
}
