//! The levels of the stock with peers, found by the digest of an order that fills them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::{Discriminant, discriminant};

use tacit::circuit::Digest;
use tacit::garble::SchemeId;
use tacit::protocols::StatisticalSecurity;
use tacit::session::{BaseOt, OtExtension};
use tacit::stock::{AnyPreparation, LotPreparation, Material, StockName, Stocks};
use tacit::{Fingerprint, Role};

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
    /// The garbling scheme; unused for triples and crosses.
    pub scheme: SchemeId,
    /// The kind of material.
    pub material: Material,
    /// The number of runs that a full level suffices for; for triples, their number.
    pub amount: u64,
    /// The level is filled when it suffices for fewer than this many.
    pub refill_below: u64,
}

impl Level {
    /// Returns the order for `amount` runs or triples.
    pub(crate) fn order(&self, amount: u64) -> Result<AnyPreparation<'_>, tacit::Error> {
        self.material.order(self.role, self.scheme, amount)
    }

    /// Returns the order for the whole level, if it is a lot.
    pub(crate) fn lot_order(&self) -> Option<LotPreparation<'_>> {
        match self.order(self.amount) {
            Ok(AnyPreparation::Lot(order)) => Some(order),
            _ => None,
        }
    }

    /// Returns the number of runs, with OTs of these kinds, that the stock suffices for. For
    /// triples, returns the number that one order has left for such runs. If the peer has several
    /// processes, adds up what there is with each.
    pub(crate) fn left(
        &self,
        stocks: &Stocks,
        own: Fingerprint,
        ots: (BaseOt, OtExtension),
    ) -> Result<u64, tacit::Error> {
        stocks.total(&self.stock(stocks, own), |name| {
            let scheme = self.scheme;
            self.material
                .left(stocks, &StockName { scheme, ..*name }, ots)
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
            AnyPreparation::Lot(order) => {
                stocks.total(&name, |name| order.times_held(stocks, name))
            }
            _ => Ok(0),
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
            Material::Crosses(function) => format!("{}, crosses", function.name()),
        }
    }

    /// Describes the orders that a peer may place, for this party's log.
    pub(super) fn described(&self) -> String {
        let (name, role, most) = (self.name(), self.role.other().name(), self.amount);
        match &self.material {
            Material::Triples(_) => format!("{name} as {role}, up to {most} of them"),
            Material::Crosses(_) => format!("{name} as {role}, up to {most} runs"),
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
        self.material.stock_scheme(self.scheme)
    }

    /// Returns the name of its stock at party `own`, with a peer that has one process.
    fn stock(&self, stocks: &Stocks, own: Fingerprint) -> StockName {
        stocks.name((own, self.peer), self.role, self.stock_scheme())
    }

    /// Frees the space of used material in its stocks, with all of the peer's processes.
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
        let checked = order.check();
        checked.map_err(|error| Error::not_for(&what, &error))?;
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
            Entry::Vacant(new) => {
                let digests = material.digests(level.role, level.scheme, level.amount);
                new.insert(digests.map_err(refused)?)
            }
        };
        for (digest, amount) in known.iter() {
            index.entry(*digest).or_default().push((number, *amount));
        }
    }
    Ok(index)
}

/// Checks the amount of a level.
fn check_amount(what: &str, level: &Level) -> Result<(), Error> {
    let field = match level.material {
        Material::Triples(_) => "ands",
        _ => "runs",
    };
    let most = MAX_LEVEL_RUNS * level.material.unit();
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
