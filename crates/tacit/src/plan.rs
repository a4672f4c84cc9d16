//! Plans: which protocol, scheme and cut of a function cost least over a link, and why.
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
//! let plan = Planner::new(link)?.plan(("levenshtein", &lengths), asked)?;
//! let choice = plan.choice();
//! println!("{} {:?}", choice.protocol.name(), choice.times.online);
//! # Ok(())
//! # }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `alternative` | one protocol, scheme and cut: bytes, times, what it needs |
//! | `checked` | the same of `batch` |
//! | `from_nothing` | the same of `authenticated` |
//! | `course` | when which message is there, and the work in between |
//! | `calibration` | what this machine takes, measured in less than a second |
//! | `rehearsal` | a run of `prepared` in memory, to see what it takes apart from evaluation |
//!
//! **Exact**: bytes and messages, which follow from function, scheme and protocol
//! (`tacit_protocol::outline`). **Measured**: the work on components, and what software adds to
//! the link. **Not in it**: loss, slow start and other traffic on the link; the disk.

mod alternative;
mod calibration;
mod checked;
mod course;
mod from_nothing;
mod rehearsal;

use std::collections::BTreeMap;
use std::sync::Arc;

use tacit_circuit::Component;
use tacit_function::Function;
use tacit_garble::{Assumption, LADDER, Rung, SchemeId};
use tacit_net::Link;
use tacit_protocol::batch::plan::MAX_EXECUTIONS;

use alternative::Candidate;
pub use alternative::{Alternative, Need, Offline, PlannedTimes, PlannedTraffic};
pub use calibration::Calibration;
use course::MeasuredLink;
pub use course::Overhead;

use crate::Error;
use crate::library::SizedProblem;
use crate::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use crate::scheme::{best_scheme, default_scheme};
use crate::session::BaseOt;
use crate::stock::{Lot, LotTerms, Needs, StockSummary, family, kind_of};

/// Predictions that are nearer to each other than this share are taken as equal.
const TOLERANCE: f64 = 0.01;

/// Makes plans for a link.
#[derive(Clone, Debug)]
pub struct Planner {
    link: Link,
    threat_model: ThreatModel,
    assumption: Assumption,
    scheme: Option<SchemeId>,
    /// Runs and sessions are told nothing beyond the protocol.
    by_default: bool,
    runs: u64,
    stock: Option<InStock>,
    calibration: Calibration,
}

/// What is in stock with a peer, by scheme.
#[derive(Clone, Debug, Default)]
pub struct InStock {
    stocks: Vec<StockSummary>,
}

/// Ways to run a function, and which to take.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All that were thought of: no other than what was asked for would allow.
    pub alternatives: Vec<Alternative>,
    choice: usize,
    better: Option<usize>,
}

impl InStock {
    /// What these stocks hold, all with one peer.
    #[must_use]
    pub fn new(stocks: Vec<StockSummary>) -> Self {
        Self { stocks }
    }

    fn ots(&self, scheme: SchemeId) -> u64 {
        self.most(scheme, crate::stock::ot_kind())
    }

    fn instances(&self, scheme: SchemeId, component: &Component) -> u64 {
        self.most(scheme, kind_of(component))
    }

    /// Checked executions of a function, of all batches.
    fn executions(&self, scheme: SchemeId, function: &Function) -> u64 {
        let family = family(function, StatisticalSecurity::DEFAULT.bits());
        self.most_of(scheme, |kind| kind.0.starts_with(&family))
    }

    /// What the stock has of the last of `ways` in all lots, and for how many runs it is enough
    /// that each take what one of the ways needs; with the role that has enough for more.
    fn lots(&self, ways: &[Needs]) -> (u64, u64) {
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

    fn most(&self, scheme: SchemeId, kind: crate::stock::ComponentDigest) -> u64 {
        self.most_of(scheme, |one| *one == kind)
    }

    /// Instances of some kinds in the stock of a scheme; of those of both roles the fuller.
    fn most_of(
        &self,
        scheme: SchemeId,
        wanted: impl Fn(&crate::stock::ComponentDigest) -> bool,
    ) -> u64 {
        let stocks = self.stocks.iter();
        let stocks = stocks.filter(|stock| stock.name.scheme == scheme);
        let counts = stocks.map(|stock| {
            let kinds = stock.kinds.iter().filter(|one| wanted(&one.digest));
            kinds.map(|one| one.available).sum()
        });
        counts.max().unwrap_or(0)
    }
}

impl Planner {
    /// A planner for this link, against semi-honest parties and under any assumption, with the
    /// stock left out of account.
    ///
    /// # Errors
    ///
    /// Those of [`Calibration::measure`].
    pub fn new(link: Link) -> Result<Self, Error> {
        Ok(Self::with(link, Calibration::measure(link)?))
    }

    /// The same with a calibration that was made before.
    #[must_use]
    pub fn with(link: Link, calibration: Calibration) -> Self {
        Self {
            link,
            threat_model: ThreatModel::SemiHonest,
            assumption: Assumption::IdealCipher,
            scheme: None,
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

    /// Considers only schemes that need no more than this.
    #[must_use]
    pub fn assumption(mut self, most: Assumption) -> Self {
        self.assumption = most;
        self
    }

    /// Considers this scheme alone.
    #[must_use]
    pub fn scheme(mut self, scheme: SchemeId) -> Self {
        self.scheme = Some(scheme);
        self
    }

    /// Plans runs as they are where nobody names a scheme or tells a session the link: under the
    /// function's [`default_scheme`], with the OT extension for any link. What such a run sends
    /// does not depend on the link.
    #[must_use]
    pub fn by_default(mut self) -> Self {
        self.by_default = true;
        self
    }

    /// Prepares for this many runs at once, 4096 unless told otherwise: under `batch` a run costs
    /// less the more of them are checked together.
    #[must_use]
    pub fn runs(mut self, runs: u64) -> Self {
        self.runs = runs;
        self
    }

    /// Chooses among what these stocks are enough for.
    #[must_use]
    pub fn stock(mut self, stock: InStock) -> Self {
        self.stock = Some(stock);
        self
    }

    /// What was measured so far.
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Plans a run of the library's function of this name and parameters, which is `asked`, or of
    /// another cut of its problem.
    ///
    /// # Errors
    ///
    /// No protocol protects as was asked for, or none can run the function.
    pub fn plan(
        &mut self,
        (name, parameters): (&str, &BTreeMap<String, u64>),
        asked: Function,
    ) -> Result<Plan, Error> {
        let mut candidates = Vec::new();
        if let Some(problem) = SizedProblem::of(name, parameters) {
            for cut in problem.cuts() {
                let function = Arc::new(cut.function()?);
                let cut = Some(cut);
                candidates.push(Candidate::new(cut, function));
            }
        }
        let asked = Candidate::new(None, Arc::new(asked));
        let is_asked = |one: &Candidate| one.function.digest() == asked.function.digest();
        if !candidates.iter().any(is_asked) {
            candidates.push(asked);
        }
        self.choose(&candidates)
    }

    /// Plans a run of this very function.
    ///
    /// # Errors
    ///
    /// As [`Planner::plan`].
    pub fn plan_uncut(&mut self, asked: Function) -> Result<Plan, Error> {
        self.choose(&[Candidate::new(None, Arc::new(asked))])
    }

    fn choose(&mut self, candidates: &[Candidate]) -> Result<Plan, Error> {
        let protocols = Protocol::against(self.threat_model);
        if protocols.is_empty() {
            return Err(no_protocol(self.threat_model));
        }
        let way = MeasuredLink::new(self.link, self.calibration.overhead, !self.by_default);
        let mut alternatives = Vec::new();
        let mut refused = None;
        for candidate in candidates {
            for rung in self.rungs(&candidate.function)? {
                for protocol in &protocols {
                    let machine = (&way, &mut self.calibration);
                    let stock = self.stock.as_ref();
                    let found = match protocol {
                        Protocol::Batch => candidate.checked(rung, machine, self.runs, stock),
                        Protocol::Authenticated => candidate.authenticated(rung, machine, stock),
                        Protocol::Direct | Protocol::Prepared => {
                            candidate.alternative(*protocol, rung, machine, stock)
                        }
                        Protocol::Outsourced => Err(no_protocol(self.threat_model)),
                    };
                    match found {
                        Ok(alternative) => alternatives.push(alternative),
                        // A scheme that nobody chose is no reason where there is another.
                        Err(error) if refused.as_ref().is_none_or(is_of_scheme) => {
                            refused = Some(error);
                        }
                        Err(_) => {}
                    }
                }
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
        // What is in stock saves more than schemes and cuts do, and is not in the times.
        let protocol = alternatives[choice].protocol;
        if protocol.is_from_nothing() {
            let stocked = |one: &Alternative| one.protocol == protocol && one.has_runs_in_stock();
            choice = fastest(&alternatives, stocked).unwrap_or(choice);
        }
        Ok(Plan {
            alternatives,
            choice,
            better,
        })
    }

    /// The schemes that meet what was asked for: of each assumption the best for this function, and
    /// of the ideal cipher all, which trade bytes for work.
    fn rungs(&self, function: &Function) -> Result<Vec<&'static Rung>, Error> {
        let unknown = |_| Error::ApiMisuse("this scheme is not offered by any protocol");
        let by_default = || self.by_default.then(|| default_scheme(function));
        if let Some(scheme) = self.scheme.or_else(by_default) {
            return Ok(vec![scheme.rung().map_err(unknown)?]);
        }
        let allowed = LADDER
            .iter()
            .filter(|rung| rung.assumption <= self.assumption);
        Ok(allowed
            .filter(|rung| match rung.assumption {
                Assumption::IdealCipher => true,
                other => best_scheme(other, function) == rung.id,
            })
            .collect())
    }
}

fn is_of_scheme(error: &Error) -> bool {
    matches!(error, Error::SchemeNotForBatch { .. })
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

/// The fastest that is `allowed`. Of those that one cannot tell apart the one under the first
/// scheme of the ladder, and of these the one that takes least from the agreement on.
fn fastest(alternatives: &[Alternative], allowed: impl Fn(&Alternative) -> bool) -> Option<usize> {
    let allowed = || {
        alternatives
            .iter()
            .enumerate()
            .filter(|(_, one)| allowed(one))
    };
    let least = allowed().map(|(_, one)| one.times.online).min()?;
    let limit = least.mul_f64(1.0 + TOLERANCE);
    let rank = |rung: &Rung| LADDER.iter().position(|other| other.id == rung.id);
    allowed()
        .filter(|(_, one)| one.times.online <= limit)
        .min_by_key(|(_, one)| (rank(one.rung), one.times.from_agreement))
        .map(|(number, _)| number)
}

impl Alternative {
    /// Whether it takes nothing from the stock, or what is there is enough.
    #[must_use]
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
    /// The one to take: of those that the stock is enough for, where one was looked at.
    #[must_use]
    pub fn choice(&self) -> &Alternative {
        &self.alternatives[self.choice]
    }

    /// A faster one that is to be prepared first.
    #[must_use]
    pub fn better(&self) -> Option<&Alternative> {
        self.better.map(|number| &self.alternatives[number])
    }

    /// The number of the chosen one among the [alternatives](Plan::alternatives).
    #[must_use]
    pub fn choice_number(&self) -> usize {
        self.choice
    }

    /// The fastest of those that `of` asks for.
    #[must_use]
    pub fn fastest(&self, of: impl Fn(&Alternative) -> bool) -> Option<&Alternative> {
        fastest(&self.alternatives, of).map(|number| &self.alternatives[number])
    }
}
