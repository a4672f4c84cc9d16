//! The contents of the stock with a peer, for plans.

use tacit_circuit::Component;
use tacit_function::{Function, Schedule};
use tacit_garble::SchemeId;

use crate::protocols::StatisticalSecurity;
use crate::session::BaseOt;
use crate::stock::{
    ComponentDigest, Lot, LotNeeds, LotTerms, NeededCrosses, OtOrigin, StockSummary, crosses_serve,
    family, kind_of, ot_kind, runs_from_crosses,
};

/// The contents of the stock with a peer, by scheme.
#[derive(Clone, Debug, Default)]
pub struct InStock {
    stocks: Vec<StockSummary>,
}

impl InStock {
    /// Creates the contents from these stocks, which are all with one peer.
    pub fn new(stocks: Vec<StockSummary>) -> Self {
        Self { stocks }
    }

    pub(super) fn ots(&self, scheme: SchemeId) -> u64 {
        self.most(scheme, ot_kind())
    }

    pub(super) fn instances(&self, scheme: SchemeId, component: &Component) -> u64 {
        self.most(scheme, kind_of(component))
    }

    /// Returns the number of checked executions of a function, over all batches.
    pub(super) fn executions(&self, scheme: SchemeId, function: &Function) -> u64 {
        let family = family(function, StatisticalSecurity::DEFAULT.bits());
        self.most_of(scheme, |kind| kind.0.starts_with(&family))
    }

    /// Returns the amount of the last of `ways` in all lots, and the number of runs for which the
    /// stock is enough if each run goes one of the ways. Both are of the role that has enough for
    /// more runs.
    pub(super) fn lots(&self, ways: &[LotNeeds]) -> (u64, u64) {
        let asked = LotTerms::at(StatisticalSecurity::DEFAULT.bits(), BaseOt::default());
        let stocks = self.stocks.iter().map(|stock| {
            let (mut there, mut runs) = (0, 0);
            for needs in ways {
                let kinds = stock.kinds.iter();
                let kinds = kinds.map(|kind| (kind.digest, kind.available));
                let lots = Lot::all(kinds, asked, &needs.contents);
                let of_a_run = needs.counts_in_summary();
                there = lots.iter().map(Lot::count).sum();
                runs += lots.iter().map(|lot| lot.runs(&of_a_run)).sum::<u64>();
            }
            (runs, there)
        });
        let (runs, there) = stocks.max().unwrap_or_default();
        (there, runs)
    }

    /// Whether there are any crosses that a run may take whose OTs would be `asked`.
    pub(super) fn has_crosses(&self, asked: OtOrigin) -> bool {
        let mut kinds = self.stocks.iter().flat_map(|stock| &stock.kinds);
        kinds.any(|kind| kind.available > 0 && crosses_serve(&kind.digest, asked))
    }

    /// Returns the number of runs with this schedule, whose OTs would be `asked`, for which there
    /// are crosses, and what a run takes, for the role that has enough for more runs.
    pub(super) fn crosses(
        &self,
        schedule: &Schedule,
        asked: OtOrigin,
    ) -> (u64, Vec<NeededCrosses>) {
        let stocks = self.stocks.iter().map(|stock| {
            let kinds = stock.kinds.iter();
            let kinds = kinds.map(|kind| (kind.digest, kind.available)).collect();
            runs_from_crosses(schedule, asked, &kinds)
        });
        stocks.max_by_key(|(runs, _)| *runs).unwrap_or_default()
    }

    fn most(&self, scheme: SchemeId, kind: ComponentDigest) -> u64 {
        self.most_of(scheme, |one| *one == kind)
    }

    /// Returns the number of instances of some kinds in the stock of a scheme, for the role that
    /// has more of them.
    fn most_of(&self, scheme: SchemeId, wanted: impl Fn(&ComponentDigest) -> bool) -> u64 {
        let stocks = self.stocks.iter();
        let stocks = stocks.filter(|stock| stock.name.scheme == scheme);
        let counts = stocks.map(|stock| {
            let kinds = stock.kinds.iter().filter(|one| wanted(&one.digest));
            kinds.map(|one| one.available).sum()
        });
        counts.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use tacit_function::Role;
    use tacit_net::Fingerprint;

    use super::*;
    use crate::library;
    use crate::net::Link;
    use crate::plan::{Alternative, Calibration, Plan, Planner};
    use crate::protocols::Protocol;
    use crate::session::OtExtension;
    use crate::stock::{EpochId, LOT_SCHEME, Lanes, StockName, StockedKind, kinds_of_crosses};

    /// Returns a stock with this number of crosses of each kind of this extension.
    fn stock_of(crosses: u64, extension: OtExtension) -> InStock {
        let kinds = kinds_of_crosses(extension).map(|digest| StockedKind {
            name: String::new(),
            other_names: Vec::new(),
            digest,
            available: crosses,
            pending: 0,
            withdrawn: 0,
            bytes: 0,
            taken: 0,
            taken_within: Duration::ZERO,
        });
        InStock::new(vec![StockSummary {
            name: StockName {
                own: Fingerprint([0; 32]),
                peer: Fingerprint([1; 32]),
                role: Role::Garbler,
                scheme: LOT_SCHEME,
                lanes: Lanes::default(),
            },
            epoch: EpochId {
                number: 1,
                nonce: [2; 16],
            },
            bytes: 0,
            max_bytes: u64::MAX,
            kinds: kinds.to_vec(),
        }])
    }

    fn plan(link: &str, crosses: u64) -> Plan {
        let link: Link = link.parse().expect("a link");
        let function = library::function("matrix-product", &BTreeMap::from([("n".into(), 6)]));
        let stock = stock_of(crosses, OtExtension::default());
        let mut planner = Planner::with(link, Calibration::default()).stock(stock);
        planner.plan(function.expect("a function")).expect("a plan")
    }

    /// Nobody names an OT extension, so a run that makes its OTs is never planned.
    #[test]
    fn gmw_is_planned_from_crosses_in_stock() {
        let few = plan("250us,1mbit", 1 << 10);
        let is_gmw = |plan: &Plan| {
            plan.alternatives
                .iter()
                .any(|one| one.protocol == Protocol::Gmw)
        };
        assert!(!is_gmw(&few), "too few for a run");
        assert_eq!(few.choice().protocol, Protocol::Direct);
        let many = plan("250us,1mbit", 1 << 24);
        let choice = many.choice();
        assert!(choice.takes_crosses() && choice.can_run_now());
        assert_eq!(choice.ot_extension, None);
        assert!(choice.runs_in_stock.is_some_and(|runs| runs > 1));
        assert!(
            choice
                .needs
                .iter()
                .all(|need| need.in_stock == Some(1 << 24))
        );
        assert!(many.elsewhere.is_empty());
        // Layers wait, and bytes do not matter.
        let wide = plan("100ms,20gbit", 1 << 24);
        assert!(is_gmw(&wide));
        assert_eq!(wide.choice().protocol, Protocol::Direct);
    }

    /// A plan rests on LPN only if silent OT is named.
    #[test]
    fn a_plan_takes_silent_crosses_only_where_silent_ot_is_named() {
        let stock = stock_of(1 << 24, OtExtension::Silent);
        let link: Link = "250us,1mbit".parse().expect("a link");
        let function = library::function("matrix-product", &BTreeMap::from([("n".into(), 6)]));
        let function = function.expect("a function");
        for (named, is_taken) in [
            (None, false),
            (Some(OtExtension::default()), false),
            (Some(OtExtension::Silent), true),
        ] {
            let planner = Planner::with(link, Calibration::default()).stock(stock.clone());
            let mut planner = match named {
                Some(extension) => planner.ot_extension(extension),
                None => planner,
            };
            let plan = planner.plan(function.clone()).expect("a plan");
            let takes = plan.alternatives.iter().any(Alternative::takes_crosses);
            assert_eq!(takes, is_taken, "{named:?}");
        }
    }
}
