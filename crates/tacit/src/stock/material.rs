//! The kinds of material that a stock keeps for runs, and an order for any of them.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tacit_circuit::Digest;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::base::BaseOt;
use tacit_protocol::party::Progress;

use super::order::StockOrder as _;
use super::{
    BatchPreparation, CrossPreparation, LOT_SCHEME, LotPreparation, Preparation, Prepared,
    StockName, Stocks,
};
use crate::protocols::{Protocol, StatisticalSecurity};
use crate::session::OtExtension;
use crate::{Error, Session};

/// A kind of material in stock, and what it is for.
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
    /// Crosses for runs of a function by `gmw`.
    Crosses(Arc<Function>),
}

impl Material {
    /// Returns the material for runs of a function by `protocol` at this s, or `None` if such runs
    /// take nothing from a stock.
    pub fn for_runs(
        protocol: Protocol,
        function: Arc<Function>,
        security: StatisticalSecurity,
    ) -> Option<Self> {
        match protocol {
            Protocol::Prepared => Some(Self::Components(function)),
            Protocol::Batch => Some(Self::Executions(function, security)),
            Protocol::Authenticated => Some(Self::Lots(function, security)),
            Protocol::Gmw => Some(Self::Crosses(function)),
            Protocol::Direct | Protocol::Outsourced => None,
        }
    }

    /// Returns its function, if it has one.
    pub fn function(&self) -> Option<&Arc<Function>> {
        match self {
            Self::Components(function)
            | Self::Executions(function, _)
            | Self::Lots(function, _)
            | Self::Crosses(function) => Some(function),
            Self::Triples(_) => None,
        }
    }

    /// Returns its s, if it has one.
    pub fn security(&self) -> Option<StatisticalSecurity> {
        match self {
            Self::Components(_) | Self::Crosses(_) => None,
            Self::Executions(_, security) | Self::Lots(_, security) | Self::Triples(security) => {
                Some(*security)
            }
        }
    }

    /// Returns the protocol of the runs that take it.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Components(_) => Protocol::Prepared,
            Self::Executions(..) => Protocol::Batch,
            Self::Lots(..) | Self::Triples(_) => Protocol::Authenticated,
            Self::Crosses(_) => Protocol::Gmw,
        }
    }

    /// Returns the scheme of the stock that keeps it for runs under `scheme`.
    pub fn stock_scheme(&self, scheme: SchemeId) -> SchemeId {
        match self {
            Self::Components(_) | Self::Executions(..) => scheme,
            Self::Lots(..) | Self::Triples(_) | Self::Crosses(_) => LOT_SCHEME,
        }
    }

    /// Returns the number of runs of an order, or of triples, to which its amount is rounded up.
    pub fn unit(&self) -> u64 {
        match self {
            Self::Triples(_) => LotPreparation::triples(Role::Garbler, 1).and_gates(),
            _ => 1,
        }
    }

    /// Returns the order of a party in this role for `amount` runs under `scheme`, or for `amount`
    /// triples.
    ///
    /// # Errors
    ///
    /// The function cannot be run from such material.
    pub fn order(
        &self,
        role: Role,
        scheme: SchemeId,
        amount: u64,
    ) -> Result<AnyPreparation<'_>, Error> {
        Ok(match self {
            Self::Components(function) => {
                let order = Preparation::new(role).scheme(scheme);
                order.enough_for(function, amount)?.into()
            }
            Self::Executions(function, security) => {
                let order = BatchPreparation::new(role, function, amount).scheme(scheme);
                order.statistical_security(*security).into()
            }
            Self::Lots(function, security) => {
                let order = LotPreparation::for_runs(role, function, amount)?.scheme(scheme);
                order.statistical_security(*security).into()
            }
            Self::Triples(security) => {
                let order = LotPreparation::triples(role, amount);
                order.statistical_security(*security).into()
            }
            Self::Crosses(function) => CrossPreparation::for_runs(role, function, amount)?.into(),
        })
    }

    /// Returns the digests of the orders for `amount` and for all smaller amounts, each with its
    /// amount.
    ///
    /// # Errors
    ///
    /// Those of [`order`](Self::order).
    pub fn digests(
        &self,
        role: Role,
        scheme: SchemeId,
        amount: u64,
    ) -> Result<Vec<(Digest, u64)>, Error> {
        let amounts = (1..=amount.div_ceil(self.unit())).map(|units| units * self.unit());
        if let Self::Lots(function, _) = self {
            let order = LotPreparation::for_runs(role, function, amount)?.scheme(scheme);
            return Ok(order.digests().into_iter().zip(amounts).collect());
        }
        let one = self.order(role, scheme, self.unit())?;
        let digests = amounts.map(|amount| {
            let digest = match one.digest_of_times(amount) {
                Some(digest) => digest,
                None => self.order(role, scheme, amount)?.digest(),
            };
            Ok((digest, amount))
        });
        digests.collect()
    }

    /// Returns the number of runs under the scheme of `name`, with OTs of these kinds, for which
    /// the stock of that name is enough. For triples, returns the largest number that one order has
    /// left for such runs.
    ///
    /// # Errors
    ///
    /// The stock cannot be read, or the function cannot be run from such material.
    pub fn left(
        &self,
        stocks: &Stocks,
        name: &StockName,
        (base_ot, extension): (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        match self {
            Self::Components(function) => stocks.runs_left(name, function),
            Self::Executions(function, s) => stocks.executions_left(name, function, *s),
            Self::Lots(function, s) => {
                let from = LotPreparation::for_runs(name.role, function, 1)?.from_stock();
                stocks.authenticated_runs_left(name, function, (*s, base_ot), from)
            }
            Self::Triples(s) => stocks.triples_left(name, (*s, base_ot)),
            Self::Crosses(function) => stocks.gmw_runs_left(name, function, (base_ot, extension)),
        }
    }
}

/// An order for the stock, of any kind of material.
pub enum AnyPreparation<'w> {
    /// For `prepared`.
    Components(Preparation<'w>),
    /// For `batch`.
    Executions(BatchPreparation<'w>),
    /// For `authenticated`.
    Lot(LotPreparation<'w>),
    /// For `gmw`.
    Crosses(CrossPreparation<'w>),
}

/// Evaluates an expression with the order inside, whatever its kind.
macro_rules! with_order {
    ($any:expr, $order:ident => $result:expr) => {
        match $any {
            AnyPreparation::Components($order) => $result,
            AnyPreparation::Executions($order) => $result,
            AnyPreparation::Lot($order) => $result,
            AnyPreparation::Crosses($order) => $result,
        }
    };
}

macro_rules! from_orders {
    ($($kind:ident: $order:ident),*) => {
        $(impl<'w> From<$order<'w>> for AnyPreparation<'w> {
            fn from(order: $order<'w>) -> Self {
                Self::$kind(order)
            }
        })*
    };
}

from_orders!(
    Components: Preparation,
    Executions: BatchPreparation,
    Lot: LotPreparation,
    Crosses: CrossPreparation
);

impl<'w> AnyPreparation<'w> {
    /// Works on this many threads, as [`Order::threads`](crate::order::Order::threads) says.
    #[must_use]
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        with_order!(self, order => order.threads(threads).into())
    }

    /// Ends the order if it is not done within `limit`.
    #[must_use]
    pub fn time_limit(self, limit: impl Into<Option<Duration>>) -> Self {
        with_order!(self, order => order.time_limit(limit).into())
    }

    /// Calls `watch` as the work proceeds. Triples and crosses count as AND gates.
    #[must_use]
    pub fn watch(self, watch: impl FnMut(Progress) + Send + 'w) -> Self {
        with_order!(self, order => order.watch(watch).into())
    }

    /// Returns the digest of the order, which both parties compare before they prepare.
    pub fn digest(&self) -> Digest {
        with_order!(self, order => order.digest())
    }

    /// Returns the digest of the order for this many times the runs, or `None` where only that
    /// order itself has it.
    fn digest_of_times(&self, times: u64) -> Option<Digest> {
        match self {
            Self::Components(order) => Some(order.digest_of_times(times)),
            Self::Crosses(order) => Some(order.digest_of_times(times)),
            Self::Executions(_) | Self::Lot(_) => None,
        }
    }

    /// Returns the number of AND gates of the whole order, for an empty stock. Triples and crosses
    /// count as AND gates.
    pub fn and_gates(&self) -> u64 {
        match self {
            Self::Components(order) => order.and_gates(),
            Self::Executions(order) => order.and_gates(),
            Self::Lot(order) => order.and_gates(),
            Self::Crosses(order) => order.count(),
        }
    }

    /// Returns the bytes that the whole order takes on this party's disk.
    pub fn disk_bytes(&self) -> u64 {
        with_order!(self, order => order.disk_bytes())
    }

    /// Checks that its protocol can run with the ordered settings.
    ///
    /// # Errors
    ///
    /// The protocol has no such s, scheme or number of executions, or takes none of the material.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::Components(_) => Ok(()),
            Self::Crosses(order) => order.terms().map(drop),
            Self::Executions(order) => order.plan().map(drop),
            Self::Lot(order) => order.check(),
        }
    }

    /// Makes what is missing in `stocks`, over `session`, as
    /// [`Order::run`](crate::order::Order::run) says.
    ///
    /// # Errors
    ///
    /// Those of [`Order::run`](crate::order::Order::run).
    pub fn run(self, session: &mut Session, stocks: &Stocks) -> Result<Prepared, Error> {
        with_order!(self, order => order.run(session, stocks))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A service finds a peer's order, for any amount up to its level, by these digests.
    #[test]
    fn the_digests_of_all_amounts_are_those_of_their_orders() {
        let function = |name| Arc::new(crate::library::function(name, &BTreeMap::new()).unwrap());
        let (aes, richer) = (function("aes-128-rounds"), function("millionaires"));
        let s = StatisticalSecurity::DEFAULT;
        for material in [
            Material::Components(aes.clone()),
            Material::Executions(richer.clone(), s),
            Material::Lots(aes.clone(), s),
            Material::Triples(s),
            Material::Crosses(aes),
            Material::Crosses(richer),
        ] {
            let (role, scheme) = (Role::Evaluator, SchemeId::HALF_GATES_TWO_CALL);
            let most = 5 * material.unit();
            let digests = material.digests(role, scheme, most).unwrap();
            assert_eq!(digests.len(), 5);
            for (digest, amount) in digests {
                let order = material.order(role, scheme, amount).unwrap();
                assert_eq!(digest, order.digest(), "{amount}");
            }
        }
    }
}
