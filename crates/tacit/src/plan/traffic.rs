//! The bytes of a run from its outline alone. Nothing is measured, so this works in a browser.

use tacit_function::Function;
use tacit_garble::HalfGates;
use tacit_kernels::{Construction, Cpu};
use tacit_ot::Security;
use tacit_protocol::outline::FunctionSteps;
use tacit_protocol::{authenticated, direct};

use super::PlannedTraffic;
use crate::Error;
use crate::protocols::{Protocol, StatisticalSecurity};
use crate::session::OtNeed;

/// The messages of a run that takes nothing from the stock, in a session that has run before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTraffic {
    /// The bytes.
    pub bytes: PlannedTraffic,
    /// The number of times that a message waits for one from the other party, from the evaluator's
    /// first byte to the last result.
    pub trips: u64,
}

impl RunTraffic {
    /// Computes the messages of a run under half-gates. Returns `None` for protocols other than
    /// `direct` and `authenticated`, and for a function over shares, which neither runs.
    ///
    /// # Errors
    ///
    /// The protocol cannot run the function.
    pub fn of(protocol: Protocol, function: &Function) -> Result<Option<Self>, Error> {
        match protocol {
            _ if function.is_over_shares() => Ok(None),
            Protocol::Direct => Self::direct(function).map(Some),
            Protocol::Authenticated => Self::authenticated(function).map(Some),
            _ => Ok(None),
        }
    }

    fn direct(function: &Function) -> Result<Self, Error> {
        let scheme = HalfGates::on(Cpu::detect(), Construction::TwoCall);
        let need = OtNeed::of_inputs(Security::SemiHonest, function);
        let walk = FunctionSteps::of(function);
        let outline = direct::outline(scheme, function, &walk, need.extension_over(None))?;
        let answers = [!outline.choices.is_empty(), true, outline.result.is_some()];
        Ok(Self {
            bytes: (&outline).into(),
            trips: answers.iter().map(|answer| u64::from(*answer)).sum(),
        })
    }

    fn authenticated(function: &Function) -> Result<Self, Error> {
        let security = StatisticalSecurity::DEFAULT.of_lots()?;
        let need = OtNeed::of_lots(function.and_gates(), security);
        let outline = authenticated::outline(function, security, need.extension_over(None))?;
        Ok(Self {
            bytes: PlannedTraffic::late(outline.garbler_bytes, outline.evaluator_bytes),
            trips: outline.trips,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tacit_garble::SchemeId;

    use super::*;
    use crate::library;
    use crate::plan::{Calibration, Planner};
    use crate::protocols::ThreatModel;

    #[test]
    fn a_runs_traffic_is_that_of_its_plan() {
        let link = "33ms,50mbit".parse().expect("a link");
        let lengths = BTreeMap::from([("n".to_owned(), 6), ("m".to_owned(), 6)]);
        let function = library::function("levenshtein", &lengths).expect("a function");
        for (protocol, model) in [
            (Protocol::Direct, ThreatModel::SemiHonest),
            (Protocol::Authenticated, ThreatModel::Malicious),
        ] {
            let traffic = RunTraffic::of(protocol, &function).expect("a run");
            let mut planner = Planner::with(link, Calibration::default())
                .by_default()
                .scheme(SchemeId::HALF_GATES_TWO_CALL)
                .threat_model(model);
            let plan = planner.plan(function.clone()).expect("a plan");
            let is_it =
                |scheme: &&tacit_garble::SchemeInfo| scheme.id == SchemeId::HALF_GATES_TWO_CALL;
            let mut same = plan.alternatives.iter();
            let planned =
                same.find(|one| one.protocol == protocol && one.scheme.as_ref().is_some_and(is_it));
            let planned = planned.expect("the same protocol").traffic;
            assert_eq!(traffic.expect("known").bytes, planned, "{protocol:?}");
        }
        let function = library::function("levenshtein", &lengths).expect("a function");
        assert_eq!(
            RunTraffic::of(Protocol::Gmw, &function).expect("no error"),
            None
        );
    }
}
