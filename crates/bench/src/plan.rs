//! The predictions of `tacit plan` next to the times of runs, and whether its choice among
//! `direct`, `gmw` and `prepared` is the fastest.
//!
//! Each function runs by each protocol over the same links, with OTs by silent OT: only where a
//! party allows LPN does a plan choose `gmw` by itself. For `prepared` it is prepared once for all
//! links, without a link. The prediction is made before any measurement, as `tacit plan` does.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit::garble::SchemeId;
use tacit::plan::{Alternative, Plan, Planner};
use tacit::protocols::Protocol;
use tacit::session::OtExtension;
use tacit::stock::Preparation;

use crate::meeting::{Meeting, Timed, end, job, job_by, runs_of, times};
use crate::parties::{Exchange, PartyLink, Wire, both};
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::workload::{Case, Workload};
use crate::{Error, Options, Tell};

/// A prediction next to the measurement. The times are the evaluator's, online.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The protocol.
    pub protocol: String,
    /// The garbling scheme; none under `gmw`.
    pub scheme: String,
    /// The OT extension.
    pub extension: String,
    /// `loopback`, or the link.
    pub link: String,
    /// The predicted time.
    pub predicted_ms: f64,
    /// The time of runs.
    pub online_ms: Spread,
    /// The excess of the prediction over the median, in percent; negative if it was too low.
    pub error_percent: f64,
    /// Whether the plan chose this alternative.
    pub chosen: bool,
    /// The excess of its median over that of the fastest measured alternative, in percent.
    pub behind_percent: f64,
    /// Whether the predicted bytes are those that were sent and received.
    pub bytes_exact: bool,
}

impl Row for PlanFigures {
    const TITLE: &'static str = "Plans next to runs, half-gates, silent OT, semi-honest, over TLS: \
                                 the evaluator's time online, function agreed; * is the plan's \
                                 choice";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 42, |of| of.workload.to_string()),
        text("link", 12, |of| of.link.clone()),
        text("protocol", 9, |of| of.protocol.clone()),
        number("plan ms", 8, |of| short(of.predicted_ms)),
        number("online ms", 9, |of| short(of.online_ms.median)),
        number("± %", 5, |of| of.online_ms.deviation_text()),
        number("error %", 7, |of| format!("{:+.1}", of.error_percent)),
        number("", 1, |of| if of.chosen { "*" } else { "" }.to_owned()),
        number("behind %", 8, |of| format!("{:.1}", of.behind_percent)),
        number("bytes", 6, |of| {
            if of.bytes_exact { "exact" } else { "differ" }.to_owned()
        }),
    ];
}

/// The functions, starting with those of a first look: components of the library in several cuts,
/// what a service or an analyst runs, and three of the examples.
const FUNCTIONS: [Case; 10] = [
    ("aes-128-rounds", &[]),
    (
        "levenshtein-tiles",
        &[("rows", 3), ("columns", 3), ("side", 10)],
    ),
    ("logistic", &[("features", 30)]),
    ("aes-128-cbc-blocks", &[("blocks", 10)]),
    ("matrix-product", &[("n", 8)]),
    ("aes-128-calls", &[("calls", 160)]),
    ("sort-program", &[("n", 1024)]),
    ("psi-sum", &[("n", 1000)]),
    ("auction", &[("lots", 1000)]),
    ("salary-gap", &[("n", 100)]),
];
const QUICK_FUNCTIONS: usize = 3;

/// A local link and two wide ones, next to loopback.
const LINKS: [&str; 3] = ["500us,1gbit", "20ms,100mbit", "33ms,50mbit"];
/// The link that stands for loopback in a plan, as in the table that `tacit plan` shows.
const LOOPBACK: &str = "0us,20gbit";

/// The protocols that a plan chooses among.
const PROTOCOLS: [Protocol; 3] = [Protocol::Direct, Protocol::Gmw, Protocol::Prepared];

/// The time for the runs of a function by one protocol over one link, and the most of these runs.
const PATIENCE: Duration = Duration::from_secs(3);
const MOST_RUNS: u64 = 25;
/// A run that would take longer is not worth the wait.
const MOST_SECONDS: f64 = 30.0;

/// The task of the parties: runs over each link, and one before them that is not measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    workload: Workload,
    /// The protocol's name.
    protocol: String,
    /// The links, as text, and the number of runs over each. Loopback is not imitated.
    links: Vec<(Option<String>, u64)>,
}

/// A party's measurements over each link.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    links: Vec<Vec<Timed>>,
}

/// Measures all functions.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let count = if options.quick && options.only.is_empty() {
        QUICK_FUNCTIONS
    } else {
        FUNCTIONS.len()
    };
    for (name, given) in FUNCTIONS.into_iter().take(count) {
        let workload = Workload::new(name, given);
        let mut plans = Vec::new();
        for place in options.places(&LINKS) {
            if options.wants(&format!("plan {workload} {}", place.name())) {
                plans.push((place, plan(&workload, place)?));
            }
        }
        for figures in measure(&workload, &plans, options)? {
            tell(figures.into())?;
        }
    }
    Ok(())
}

/// Returns the plan that `tacit plan --ot-extension silent` makes.
fn plan(workload: &Workload, place: PartyLink) -> Result<Plan, Error> {
    let link = place.0.or_else(|| LOOPBACK.parse().ok());
    let link = link.ok_or(tacit::Error::ApiMisuse("a link of this suite"))?;
    let mut planner = Planner::new(link)?.ot_extension(OtExtension::Silent);
    let shallow = workload.by(Protocol::Gmw)?;
    Ok(planner.plan_program(workload.by(Protocol::Direct)?, || Some(shallow))?)
}

/// Whether an alternative is measured here: those under half-gates, and `gmw`, which has no scheme.
fn is_measured(one: &Alternative) -> bool {
    let half_gates =
        |scheme: &tacit::garble::SchemeInfo| scheme.id == SchemeId::HALF_GATES_TWO_CALL;
    one.scheme.is_none_or(half_gates)
}

/// Runs the alternatives of these plans, which are for one function over several links.
fn measure(
    workload: &Workload,
    plans: &[(PartyLink, Plan)],
    options: &Options,
) -> Result<Vec<PlanFigures>, Error> {
    let mut all = Vec::new();
    for protocol in PROTOCOLS {
        let planned = plans.iter().filter_map(|(place, plan)| {
            let one = plan.fastest(|one| one.protocol == protocol && is_measured(one))?;
            let chosen = plan.fastest(is_measured)?.protocol == protocol;
            Some((*place, one, chosen))
        });
        let seconds = |one: &Alternative| one.times.online.as_secs_f64();
        let planned: Vec<_> = planned
            .filter(|(_, one, _)| seconds(one) < MOST_SECONDS)
            .collect();
        if planned.is_empty() {
            continue;
        }
        let runs = |one: &Alternative| {
            let most = if options.quick { 7 } else { MOST_RUNS };
            (PATIENCE.as_secs_f64() / seconds(one)).clamp(1.0, most as f64) as u64
        };
        let links = planned.iter();
        let links = links.map(|(place, one, _)| (place.0.map(|link| link.to_string()), runs(one)));
        let task = Exchanged {
            workload: workload.clone(),
            protocol: protocol.name().to_owned(),
            links: links.collect(),
        };
        let done = both(&task, PartyLink(None), options)?;
        let measured = planned.iter().zip(&done.evaluator.links);
        all.extend(measured.map(|((place, one, chosen), runs)| PlanFigures {
            chosen: *chosen,
            ..figures(workload, (*place, one), runs)
        }));
    }
    let place = |link: &str| plans.iter().position(|(place, _)| place.name() == link);
    all.sort_by_key(|figures| place(&figures.link));
    let medians: Vec<_> = all
        .iter()
        .map(|one| (one.link.clone(), one.online_ms.median))
        .collect();
    for one in &mut all {
        let same = medians.iter().filter(|(link, _)| *link == one.link);
        let fastest = same
            .map(|(_, median)| *median)
            .fold(f64::INFINITY, f64::min);
        one.behind_percent = 100.0 * (one.online_ms.median / fastest - 1.0);
    }
    Ok(all)
}

/// Returns a prediction next to its runs, not yet compared with other protocols.
fn figures(
    workload: &Workload,
    (place, planned): (PartyLink, &Alternative),
    runs: &[Timed],
) -> PlanFigures {
    let predicted_ms = 1e3 * planned.times.online.as_secs_f64();
    let online_ms = Spread::of(&times(runs, |run| run.online_ms));
    let traffic = &planned.traffic;
    let early = match planned.protocol {
        Protocol::Prepared => 0,
        _ => traffic.garbler_early_bytes,
    };
    let sent = (early + traffic.garbler_late_bytes, traffic.evaluator_bytes);
    let counted = |run: &Timed| (run.online.garbler_bytes, run.online.evaluator_bytes);
    PlanFigures {
        workload: workload.clone(),
        protocol: planned.protocol.name().to_owned(),
        scheme: planned
            .scheme
            .map_or_else(|| "none".to_owned(), |scheme| scheme.id.to_string()),
        extension: OtExtension::Silent.to_string(),
        link: place.name(),
        predicted_ms,
        error_percent: 100.0 * (predicted_ms / online_ms.median - 1.0),
        online_ms,
        chosen: false,
        behind_percent: 0.0,
        bytes_exact: runs.iter().all(|run| counted(run) == sent),
    }
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let unknown = |_| tacit::Error::ApiMisuse("a protocol's own name");
        let protocol: Protocol = self.protocol.parse().map_err(unknown)?;
        let function = self.workload.by(protocol)?;
        function.compile();
        let meeting = Meeting::arrange(wire, role)?;
        if protocol == Protocol::Prepared {
            let mut session = meeting.session(None)?;
            let all = self.links.iter().map(|(_, runs)| runs + 1).sum();
            let order = Preparation::new(role).enough_for(&function, all)?;
            order.run(&mut session, &meeting.stocks)?;
            end(session);
        }
        let mut links = Vec::new();
        for (link, runs) in &self.links {
            // `gmw` is planned for a session's first run, in which silent OT makes whole batches.
            let (sessions, runs) = match protocol {
                Protocol::Gmw => (runs + 1, 1),
                _ => (1, runs + 1),
            };
            let mut all = Vec::new();
            for _ in 0..sessions {
                let mut session = meeting.session(link.as_deref())?;
                session.set_ot_extension(OtExtension::Silent)?;
                all.extend(runs_of(&mut session, runs, || match protocol {
                    Protocol::Prepared => Ok(job(&function, role).prepared(&meeting.stocks)),
                    _ => job_by(&function, role, protocol),
                })?);
                end(session);
            }
            // The first run is a warm-up.
            links.push(all.split_off(1));
        }
        Ok(Report { links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_compiles_for_every_protocol() {
        for (name, given) in FUNCTIONS {
            let workload = Workload::new(name, given);
            for protocol in PROTOCOLS {
                let function = workload.by(protocol).expect("a function");
                assert!(!function.has_saved_values(), "{workload}");
                assert!(function.and_gates() > 0, "{workload}");
            }
        }
    }
}
