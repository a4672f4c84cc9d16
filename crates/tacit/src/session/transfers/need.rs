//! The OTs that a run takes, and the extension for them.

use std::time::Duration;

use tacit_function::{Function, Role};
use tacit_net::Link;
use tacit_ot::Security;
use tacit_ot::source::{self, Choice, Extension};
use tacit_protocol::authenticated::{LotSize, SecurityBits};

/// The OTs that a run takes, from which an extension is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtNeed {
    pub(crate) count: u64,
    pub(crate) security: Security,
    /// Whether OTs are most of the run's work and bytes.
    pub(crate) is_bulk: bool,
}

/// The number of OTs from which a run that consists of OTs uses k = 4 over an unknown link.
/// Including the checks, k = 4 is then no slower than k = 2, and its messages are half as long
/// (docs/benchmarks.md).
const BULK_OTS: u64 = 4096;

impl OtNeed {
    /// The need of a run that takes no OTs.
    pub(crate) const NONE: Self = Self::of(Security::SemiHonest, 0);

    /// Returns the need of a run that takes `count` OTs besides other work.
    pub(crate) const fn of(security: Security, count: u64) -> Self {
        Self {
            count,
            security,
            is_bulk: false,
        }
    }

    /// Returns the need of a run most of whose work and bytes are `count` OTs.
    pub(crate) const fn bulk(security: Security, count: u64) -> Self {
        Self {
            is_bulk: true,
            ..Self::of(security, count)
        }
    }

    /// Returns the need of a run that takes an OT for each input bit of the evaluator.
    pub(crate) fn of_inputs(security: Security, function: &Function) -> Self {
        Self::of(security, function.input_bits(Role::Evaluator) as u64)
    }

    /// Returns the need of a run by `authenticated` that makes the triples of these AND gates.
    pub(crate) fn of_lots(and_gates: u64, security: SecurityBits) -> Self {
        let size = LotSize::cheapest(and_gates, security);
        Self::bulk(Security::Malicious, size.ots() as u64)
    }

    /// Returns the extension of a session that was given none. Over a known link, it is the fastest
    /// of those that rest on symmetric cryptography alone.
    pub(crate) fn extension_over(self, link: Option<Link>) -> Extension {
        let Some(link) = link else {
            let four = Extension::from_name("softspoken-4");
            let four = four.filter(|_| self.is_bulk && self.count >= BULK_OTS);
            return four.unwrap_or_default();
        };
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let count = count.min(source::MAX_REFILL);
        Choice::fastest(ot_link(Some(link)), self.security, count, false).extension
    }
}

/// Returns a link in the terms of OTs. Without a link there is no delay.
pub(crate) fn ot_link(link: Option<Link>) -> source::Link {
    source::Link {
        round_trip: link.map_or(Duration::ZERO, |link| 2 * link.one_way_delay()),
        bits_per_s: link.map_or(u64::MAX, |link| link.rate_bits_per_s()),
    }
}
