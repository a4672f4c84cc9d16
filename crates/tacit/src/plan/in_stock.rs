//! The contents of the stock with a peer, for plans.

use tacit_circuit::Component;
use tacit_function::Function;
use tacit_garble::SchemeId;

use crate::protocols::StatisticalSecurity;
use crate::session::BaseOt;
use crate::stock::{ComponentDigest, Lot, LotTerms, Needs, StockSummary, family, kind_of, ot_kind};

/// The contents of the stock with a peer, by scheme.
#[derive(Clone, Debug, Default)]
pub struct InStock {
    stocks: Vec<StockSummary>,
}

impl InStock {
    /// Creates the contents from these stocks, which are all with one peer.
    #[must_use]
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
    pub(super) fn lots(&self, ways: &[Needs]) -> (u64, u64) {
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
