//! What is kept in stock with peers, found by the digest of an order that fills it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::session::BaseOt;
use tacit::stock::{BatchPreparation, LOT_SCHEME, LotPreparation, Preparation, StockName, Stocks};
use tacit::{Fingerprint, Function, Role, Session};

use super::Error;

/// Most runs that a level of the stock holds: the orders for fewer runs are known, too.
pub const MAX_LEVEL_RUNS: u64 = 100_000;

/// Nothing is made while lots hold this many times what a level is to have.
const MOST_LEFT_OVER: u64 = 3;

/// What there is to be in stock with a peer.
#[derive(Clone)]
pub struct Level {
    /// With whom.
    pub peer: Fingerprint,
    /// This party's role in the runs.
    pub role: Role,
    /// The garbling scheme; triples are of none.
    pub scheme: SchemeId,
    /// What is kept.
    pub material: Material,
    /// Enough for this many runs after it was filled; of triples, this many.
    pub amount: u64,
    /// It is filled when there is enough for fewer than this many.
    pub refill_below: u64,
}

/// What a level keeps.
#[derive(Clone)]
pub enum Material {
    /// Components and OTs for runs of a function by `prepared`.
    Components(Arc<Function>),
    /// Checked executions of a function by `batch`, at this s.
    Executions(Arc<Function>, StatisticalSecurity),
    /// What runs of a function by `authenticated` take at this s: instances of its components, or
    /// triples.
    Lots(Arc<Function>, StatisticalSecurity),
    /// Triples for runs of any function by `authenticated`, at this s, all of one order.
    Triples(StatisticalSecurity),
}

impl Material {
    /// The function that it is for, if it is for one.
    #[must_use]
    pub fn function(&self) -> Option<&Arc<Function>> {
        match self {
            Self::Components(function)
            | Self::Executions(function, _)
            | Self::Lots(function, _) => Some(function),
            Self::Triples(_) => None,
        }
    }

    /// Its s, if it has one.
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

    /// Fills it over `session`; how many instances, executions or triples were made.
    pub(crate) fn run(
        self,
        session: &mut Session,
        stocks: &Stocks,
        within: Duration,
    ) -> Result<u64, tacit::Error> {
        let prepared = match self {
            Self::Components(order) => order.time_limit(within).run(session, stocks),
            Self::Executions(order) => order.time_limit(within).run(session, stocks),
            Self::Lot(order) => order.time_limit(within).run(session, stocks),
        };
        Ok(prepared?.made())
    }

    /// Checks that its protocol can run as it is ordered.
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
    /// The order for `amount` runs, or triples.
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

    /// The order for all of it, if it is of a lot.
    pub(crate) fn lot_order(&self) -> Option<LotPreparation<'_>> {
        match self.order(self.amount) {
            Ok(Order::Lot(order)) => Some(order),
            _ => None,
        }
    }

    /// What names the orders for this level and those for less, and for how much each is.
    fn orders(&self) -> Result<Vec<(Digest, u64)>, tacit::Error> {
        if let Material::Triples(_) = self.material {
            // A party's order is for one lot, and rounded up.
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

    /// For how many runs whose OTs are to rest on `base_ot` there is enough; of triples, how many
    /// one order has left for such runs.
    pub(crate) fn left(
        &self,
        stocks: &Stocks,
        own: Fingerprint,
        base_ot: BaseOt,
    ) -> Result<u64, tacit::Error> {
        let name = StockName {
            scheme: self.scheme,
            ..self.stock(own)
        };
        match &self.material {
            Material::Components(function) => stocks.runs_left(&name, function),
            Material::Executions(function, s) => stocks.executions_left(&name, function, *s),
            Material::Lots(function, s) => {
                let from = LotPreparation::for_runs(self.role, function, 1)?.from_stock();
                stocks.authenticated_runs_left(&name, function, (*s, base_ot), from)
            }
            Material::Triples(s) => stocks.triples_left(&name, (*s, base_ot)),
        }
    }

    /// Whether it is to be filled, with `there` in stock.
    pub(crate) fn is_due(&self, there: u64, stocks: &Stocks, own: Fingerprint) -> bool {
        there < self.refill_below && !self.is_hoarded(stocks, own)
    }

    /// Whether as much is in stock as may be left over of earlier orders, or how much is unknown.
    /// Runs take all from one lot, so that a lot with too little counts for nothing in
    /// [`left`](Self::left): a peer that leaves such lots would have more made for ever.
    pub(crate) fn is_hoarded(&self, stocks: &Stocks, own: Fingerprint) -> bool {
        let name = self.stock(own);
        let times = self.order(self.amount).and_then(|order| match order {
            Order::Lot(order) => order.times_held(stocks, &name),
            Order::Components(_) | Order::Executions(_) => Ok(0),
        });
        times.map_or(true, |times| times >= MOST_LEFT_OVER)
    }

    /// What it is called in events and metrics.
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

    /// What of it a peer may order, for this party's log.
    pub(super) fn described(&self) -> String {
        let (name, role, most) = (self.name(), self.role.other().name(), self.amount);
        match &self.material {
            Material::Triples(_) => format!("{name} as {role}, up to {most} of them"),
            _ => format!("{name} as {role} under {}, up to {most} runs", self.scheme),
        }
    }

    /// s of what is ordered, as a proposal says it.
    pub(super) fn security_bits(&self) -> u8 {
        let security = self.material.security();
        security.map_or(0, StatisticalSecurity::bits)
    }

    /// The scheme of the stock that it is kept in, as a proposal says it.
    pub(super) fn stock_scheme(&self) -> SchemeId {
        match self.material {
            Material::Components(_) | Material::Executions(..) => self.scheme,
            Material::Lots(..) | Material::Triples(_) => LOT_SCHEME,
        }
    }

    /// The stock of which party `own` it is.
    pub(crate) fn stock(&self, own: Fingerprint) -> StockName {
        StockName {
            own,
            peer: self.peer,
            role: self.role,
            scheme: self.stock_scheme(),
        }
    }
}

/// What the orders of a level depend on.
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

/// The fewest triples of an order.
fn rounded_triples(role: Role) -> u64 {
    LotPreparation::triples(role, 1).and_gates()
}

/// Checks how much a level has.
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
