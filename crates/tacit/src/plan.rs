//! Plans: the protocol and scheme by which a function costs least over a link, and why.
//!
//! ```no_run
//! use std::collections::BTreeMap;
//! use tacit::plan::Planner;
//! use tacit::library;
//!
//! # fn main() -> Result<(), tacit::Error> {
//! let link = "33ms,50mbit".parse().expect("a link");
//! let lengths = BTreeMap::from([("n".to_owned(), 60), ("m".to_owned(), 60)]);
//! let asked = library::function("levenshtein", &lengths)?;
//! let plan = Planner::new(link)?.plan(asked)?;
//! let choice = plan.choice();
//! println!("{} {:?}", choice.protocol.name(), choice.times.online);
//! # Ok(())
//! # }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `alternative` | one protocol and scheme: bytes, times, what it needs |
//! | `checked` | the same of `batch` |
//! | `from_nothing` | the same of `authenticated` |
//! | `shared` | the same of `gmw`, which is under no scheme, from nothing or from stock |
//! | `in_stock` | the contents of the stock |
//! | `joined` | a program that joins tables, over several links |
//! | `course` | when each message arrives, and the work in between |
//! | `traffic` | the bytes of a run alone, for pages |
//! | `calibration` | the speed of this machine, measured in less than a second |
//!
//! **Exact**: bytes and messages, which follow from function, scheme and protocol
//! (`tacit_protocol::outline`). **Measured**: the work on components, and what software adds to
//! the link. **Not in it**: loss, slow start and other traffic on the link; the disk.

mod alternative;
mod calibration;
mod checked;
mod course;
mod from_nothing;
mod in_stock;
mod joined;
mod shared;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use tacit_function::Function;
use tacit_garble::{Assumption, SCHEMES, SchemeId, SchemeInfo};
use tacit_net::Link;
use tacit_protocol::batch::plan::MAX_EXECUTIONS;

use alternative::Candidate;
pub use alternative::{Alternative, Need, Offline, PlannedTimes, PlannedTraffic};
pub use calibration::Calibration;
use course::MeasuredLink;
pub use course::Overhead;
pub use in_stock::InStock;
pub use joined::{JoinCost, JoinOverLink};
use shared::{HASH_ASSUMPTION, Shared};
pub use traffic::RunTraffic;

use crate::Error;
use crate::protocols::{Protocol, ThreatModel};
use crate::scheme::{best_scheme, default_scheme};
use crate::session::{BaseOt, OtExtension};
use crate::stock::OtOrigin;

/// Predictions that differ by less than this share count as equal.
const TOLERANCE: f64 = 0.01;

/// The links over which `gmw` and `direct` are compared: loopback, a local and two wide ones.
const USUAL_LINKS: [&str; 4] = ["0us,20gbit", "250us,1gbit", "10ms,100mbit", "33ms,50mbit"];

/// Makes plans for a link.
#[derive(Clone, Debug)]
pub struct Planner {
    link: Link,
    threat_model: ThreatModel,
    assumption: Assumption,
    scheme: Option<SchemeId>,
    ot_extension: Option<OtExtension>,
    /// Whether runs and sessions use their defaults for everything but the protocol.
    by_default: bool,
    runs: u64,
    stock: Option<InStock>,
    calibration: Calibration,
}

/// The ways to run a function, and the one to choose.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All alternatives that were considered. Each meets the planner's constraints.
    pub alternatives: Vec<Alternative>,
    /// The times of `gmw` and `direct` over other links, if `gmw` is an alternative.
    pub elsewhere: Vec<OverLink>,
    choice: usize,
    better: Option<usize>,
}

/// The times from the evaluator's first byte to the last result, over one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverLink {
    /// The link. Loopback has no delay.
    pub link: Link,
    /// The time of `gmw`.
    pub gmw: Duration,
    /// The time of `direct`, under the scheme that is fastest over the link.
    pub direct: Duration,
}

impl Planner {
    /// Creates a planner for this link. It assumes semi-honest parties, allows any assumption, and
    /// ignores the stock.
    ///
    /// # Errors
    ///
    /// Those of [`Calibration::measure`].
    pub fn new(link: Link) -> Result<Self, Error> {
        Ok(Self::with(link, Calibration::measure(link)?))
    }

    /// Creates the same planner with an existing calibration.
    pub fn with(link: Link, calibration: Calibration) -> Self {
        Self {
            link,
            threat_model: ThreatModel::SemiHonest,
            assumption: Assumption::IdealCipher,
            scheme: None,
            ot_extension: None,
            by_default: false,
            runs: MAX_EXECUTIONS,
            stock: None,
            calibration,
        }
    }

    /// Considers only protocols that are secure under this threat model.
    #[must_use]
    pub fn threat_model(mut self, asked: ThreatModel) -> Self {
        self.threat_model = asked;
        self
    }

    /// Considers only schemes whose assumption is no stronger than this one.
    #[must_use]
    pub fn assumption(mut self, most: Assumption) -> Self {
        self.assumption = most;
        self
    }

    /// Considers only this scheme.
    #[must_use]
    pub fn scheme(mut self, scheme: SchemeId) -> Self {
        self.scheme = Some(scheme);
        self
    }

    /// Plans runs whose OTs all come from this extension. Only then is a run by `gmw` considered
    /// that makes its own. Silent OT also rests on LPN, so no plan uses it unless it is named here,
    /// or made the crosses in stock.
    #[must_use]
    pub fn ot_extension(mut self, extension: OtExtension) -> Self {
        self.ot_extension = Some(extension);
        self
    }

    /// Plans runs that get neither a scheme nor a link: they use the function's [`default_scheme`],
    /// with the OT extension for an unknown link. What such a run sends does not depend on the
    /// link.
    #[must_use]
    pub fn by_default(mut self) -> Self {
        self.by_default = true;
        self
    }

    /// Sets the number of runs to prepare at once. The default is 4096. A run under `batch` costs
    /// less the more runs are checked together.
    #[must_use]
    pub fn runs(mut self, runs: u64) -> Self {
        self.runs = runs;
        self
    }

    /// Chooses among the runs for which these stocks are enough.
    #[must_use]
    pub fn stock(mut self, stock: InStock) -> Self {
        self.stock = Some(stock);
        self
    }

    /// Returns the measurements so far.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Plans a run of this function. Every protocol uses it in the same form.
    ///
    /// # Errors
    ///
    /// No protocol meets the threat model, or none can run the function.
    pub fn plan(&mut self, asked: Function) -> Result<Plan, Error> {
        let asked = Arc::new(asked);
        let shallow = Arc::clone(&asked);
        self.plan_forms(asked, || Some(shallow))
    }

    /// Plans a run of a program. `asked` is the program's function in the
    /// [form](Protocol::circuit_form) for garbling, and `shallow` makes the one for `gmw`.
    /// `shallow` is called only if `gmw` is considered. If it returns `None`, `gmw` is left out.
    ///
    /// # Errors
    ///
    /// The same as for [`plan`](Self::plan).
    pub fn plan_program(
        &mut self,
        asked: Function,
        shallow: impl FnOnce() -> Option<Function>,
    ) -> Result<Plan, Error> {
        self.plan_forms(Arc::new(asked), || shallow().map(Arc::new))
    }

    fn plan_forms(
        &mut self,
        asked: Arc<Function>,
        shallow: impl FnOnce() -> Option<Arc<Function>>,
    ) -> Result<Plan, Error> {
        let protocols = Protocol::against(self.threat_model);
        if protocols.is_empty() {
            return Err(no_protocol(self.threat_model));
        }
        if asked.is_over_shares() {
            return Err(Error::ApiMisuse(
                "a function that joins tables is planned as a join",
            ));
        }
        let candidate = Candidate::new(asked);
        let schemes = self.schemes(&candidate.function)?;
        let (mut alternatives, mut refused) = self.garbled(&candidate, &schemes, &protocols);
        let mut elsewhere = Vec::new();
        if self.considers_gmw(&candidate.function)
            && let Some(shallow) = shallow()
        {
            match self.shared(&shallow) {
                Ok((found, shared)) => {
                    alternatives.extend(found);
                    if let Some(extension) = self.ot_extension {
                        elsewhere = self.compare(&candidate, &schemes, (&shared, extension));
                    }
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let no_one = || Error::ApiMisuse("there is nothing to plan");
        let best = fastest(&alternatives, |_| true);
        let Some(best) = best else {
            return Err(refused.unwrap_or_else(no_one));
        };
        let now = match &self.stock {
            None => Some(best),
            Some(_) => fastest(&alternatives, Alternative::can_run_now),
        };
        let mut choice = now.unwrap_or(best);
        let better = (best != choice).then_some(best);
        // Material in stock saves more than a better scheme does, but the times do not include
        // that.
        let protocol = alternatives[choice].protocol;
        if protocol.is_from_nothing() {
            let stocked = |one: &Alternative| one.protocol == protocol && one.has_runs_in_stock();
            choice = fastest(&alternatives, stocked).unwrap_or(choice);
        }
        Ok(Plan {
            alternatives,
            elsewhere,
            choice,
            better,
        })
    }

    /// Returns a run for each garbling protocol and each of `schemes`, and the reason for one that
    /// is not possible.
    fn garbled(
        &mut self,
        candidate: &Candidate,
        schemes: &[&'static SchemeInfo],
        protocols: &[Protocol],
    ) -> (Vec<Alternative>, Option<Error>) {
        let way = self.way(self.link);
        let (mut alternatives, mut refused) = (Vec::new(), None);
        for scheme in schemes {
            for protocol in protocols {
                let machine = (&way, &mut self.calibration);
                let stock = self.stock.as_ref();
                let found = match protocol {
                    Protocol::Batch => candidate.checked(scheme, machine, self.runs, stock),
                    Protocol::Authenticated => candidate.authenticated(scheme, machine, stock),
                    Protocol::Direct | Protocol::Prepared => {
                        candidate.alternative(*protocol, scheme, machine, stock)
                    }
                    Protocol::Gmw | Protocol::Outsourced => continue,
                };
                match found {
                    Ok(alternative) => alternatives.push(alternative),
                    // If another scheme is possible, the error of a scheme that nobody chose is not
                    // the reason.
                    Err(error) if refused.as_ref().is_none_or(is_of_scheme) => {
                        refused = Some(error);
                    }
                    Err(_) => {}
                }
            }
        }
        (alternatives, refused)
    }

    /// Returns a link as runs see it, with this machine's overhead and the session's settings.
    fn way(&self, link: Link) -> MeasuredLink {
        let way = MeasuredLink::new(link, self.calibration.overhead, !self.by_default);
        way.with_ots(self.ot_extension)
    }

    /// Returns how a run would make its OTs.
    fn ots(&self) -> OtOrigin {
        OtOrigin::new(BaseOt::default(), self.ot_extension.unwrap_or_default())
    }

    /// Whether `gmw` is considered: if an OT extension is named, or crosses are in stock.
    fn considers_gmw(&self, function: &Function) -> bool {
        let protects = Protocol::against(self.threat_model).contains(&Protocol::Gmw);
        let is_allowed = protects && HASH_ASSUMPTION <= self.assumption && self.scheme.is_none();
        let stock = self.stock.as_ref();
        let has_crosses = stock.is_some_and(|stock| stock.has_crosses(self.ots()));
        is_allowed && (self.ot_extension.is_some() || has_crosses) && !function.has_saved_values()
    }

    /// Returns the runs by `gmw`, and the data that they are planned from.
    fn shared(&self, shallow: &Arc<Function>) -> Result<(Vec<Alternative>, Shared), Error> {
        let shared = Shared::new(Arc::clone(shallow))?;
        let way = self.way(self.link);
        let mut found = Vec::new();
        if let Some(stock) = &self.stock {
            found.extend(shared.stocked((stock, self.ots()), &way)?);
        }
        if let Some(extension) = self.ot_extension {
            found.push(shared.alternative(extension, &way)?);
        }
        Ok((found, shared))
    }

    /// Returns the times of `gmw` and `direct` over the usual links.
    fn compare(
        &mut self,
        candidate: &Candidate,
        schemes: &[&'static SchemeInfo],
        (shared, extension): (&Shared, OtExtension),
    ) -> Vec<OverLink> {
        let links = USUAL_LINKS.iter().filter_map(|link| link.parse().ok());
        let times = links.filter_map(|link: Link| {
            let way = self.way(link);
            let direct = schemes.iter().filter_map(|scheme| {
                let machine = (&way, &mut self.calibration);
                let one = candidate.alternative(Protocol::Direct, scheme, machine, None);
                Some(one.ok()?.times.online)
            });
            Some(OverLink {
                link,
                direct: direct.min()?,
                gmw: shared.alternative(extension, &way).ok()?.times.online,
            })
        });
        times.collect()
    }

    /// Returns the schemes that meet the constraints: the best one for this function under each
    /// assumption. Under the ideal cipher it returns all of them, since they trade bytes for work.
    fn schemes(&self, function: &Function) -> Result<Vec<&'static SchemeInfo>, Error> {
        let unknown = |_| Error::ApiMisuse("this scheme is not offered by any protocol");
        let by_default = || self.by_default.then(|| default_scheme(function));
        if let Some(scheme) = self.scheme.or_else(by_default) {
            return Ok(vec![scheme.rung().map_err(unknown)?]);
        }
        let allowed = SCHEMES
            .iter()
            .filter(|scheme| scheme.assumption <= self.assumption);
        Ok(allowed
            .filter(|scheme| match scheme.assumption {
                Assumption::IdealCipher => true,
                other => best_scheme(other, function) == scheme.id,
            })
            .collect())
    }
}

fn is_of_scheme(error: &Error) -> bool {
    matches!(
        error,
        Error::SchemeNotFor {
            protocol: Protocol::Batch,
            ..
        }
    )
}

fn no_protocol(asked: ThreatModel) -> Error {
    let known = Protocol::between_two().map(|protocol| {
        format!(
            "{} is for {} ones",
            protocol.name(),
            protocol.threat_model()
        )
    });
    Error::NoProtocol {
        asked: asked.to_string(),
        known: known.collect::<Vec<_>>().join(", "),
    }
}

/// Returns the fastest alternative that is `allowed`. Among those that are equally fast, it prefers
/// the first scheme of the ladder, and then the least time from the agreement on.
fn fastest(alternatives: &[Alternative], allowed: impl Fn(&Alternative) -> bool) -> Option<usize> {
    let allowed = || {
        alternatives
            .iter()
            .enumerate()
            .filter(|(_, one)| allowed(one))
    };
    let least = allowed().map(|(_, one)| one.times.online).min()?;
    let limit = least.mul_f64(1.0 + TOLERANCE);
    let rank = |scheme: &SchemeInfo| SCHEMES.iter().position(|other| other.id == scheme.id);
    // An alternative without a scheme comes last: at equal times, authentic results are better.
    let rank = |one: &Alternative| one.scheme.map_or(Some(SCHEMES.len()), rank);
    allowed()
        .filter(|(_, one)| one.times.online <= limit)
        .min_by_key(|(_, one)| (rank(one), one.times.from_agreement))
        .map(|(number, _)| number)
}

impl Alternative {
    /// Whether the alternative takes nothing from the stock, or the stock is enough for it.
    pub fn can_run_now(&self) -> bool {
        match self.protocol {
            protocol if protocol.is_from_nothing() => true,
            _ => self.has_runs_in_stock(),
        }
    }

    fn has_runs_in_stock(&self) -> bool {
        self.runs_in_stock.is_some_and(|runs| runs > 0)
    }
}

impl Plan {
    /// Returns the alternative to choose. If the planner has a stock, it is one for which the stock
    /// is enough.
    pub fn choice(&self) -> &Alternative {
        &self.alternatives[self.choice]
    }

    /// Returns a faster alternative that must be prepared first.
    pub fn better(&self) -> Option<&Alternative> {
        self.better.map(|number| &self.alternatives[number])
    }

    /// Returns the index of the chosen one among the [alternatives](Plan::alternatives).
    pub fn choice_number(&self) -> usize {
        self.choice
    }

    /// Returns the fastest alternative for which `of` is true.
    #[must_use]
    pub fn fastest(&self, of: impl Fn(&Alternative) -> bool) -> Option<&Alternative> {
        fastest(&self.alternatives, of).map(|number| &self.alternatives[number])
    }
}
