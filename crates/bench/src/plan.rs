//! The predictions of `tacit plan` next to the times of runs, and whether its choice is the
//! fastest.
//!
//! Each function runs by `prepared` and by `direct` over the same links. It is prepared once for
//! all links, without a link. The prediction is made before any measurement, as `tacit plan` does.

use serde::{Deserialize, Serialize};
use tacit::Role;
use tacit::garble::SchemeId;
use tacit::plan::{Plan, Planner};
use tacit::protocols::Protocol;
use tacit::stock::Preparation;
use tacit_net::Link;

use crate::meeting::{Meeting, Timed, end, job, timed, times};
use crate::parties::{Exchange, PartyLink, Wire, both};
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::workload::{Case, Workload};
use crate::{Error, Options, Tell, USUAL_LINKS};

/// A prediction next to the measurement. The times are the evaluator's, online.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// The protocol.
    pub protocol: String,
    /// The garbling scheme.
    pub scheme: String,
    /// The link.
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
    const TITLE: &'static str = "Plans next to runs, half-gates, semi-honest, over TLS: the \
                                 evaluator's time online, function agreed; * is the plan's choice";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 44, |of| of.workload.to_string()),
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

/// The functions, some of them with components of several sizes.
const FUNCTIONS: [Case; 7] = [
    ("aes-128", &[]),
    ("aes-128-rounds", &[]),
    ("aes-128-cbc-blocks", &[("blocks", 10)]),
    ("aes-128-cbc-rounds", &[("blocks", 10)]),
    (
        "edit-distance",
        &[("x_symbols", 30), ("y_symbols", 30), ("symbol_bits", 8)],
    ),
    (
        "levenshtein-tiles",
        &[("rows", 3), ("columns", 3), ("side", 10)],
    ),
    ("levenshtein", &[("n", 30), ("m", 30)]),
];

/// The task of the parties: this many runs over each link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    workload: Workload,
    is_prepared: bool,
    runs: u64,
    links: Vec<String>,
}

/// A party's measurements over each link.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    links: Vec<Vec<Timed>>,
}

/// Measures all functions.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for (name, given) in FUNCTIONS {
        let workload = Workload::new(name, given);
        let wanted = |link: &Link| options.wants(&format!("plan {workload} {link}"));
        let links: Vec<Link> = links(options).into_iter().filter(wanted).collect();
        let mut plans = Vec::new();
        for link in links {
            let function = workload.of_library()?;
            let mut planner = Planner::new(link)?.scheme(SchemeId::HALF_GATES_TWO_CALL);
            let plan = planner.plan(function)?;
            plans.push((link, plan));
        }
        for figures in measure(&workload, &plans, options)? {
            tell(figures.into())?;
        }
    }
    Ok(())
}

/// Returns the requested links, or all usual ones.
fn links(options: &Options) -> Vec<Link> {
    if options.links.is_empty() {
        let usual = USUAL_LINKS.iter().take(if options.quick { 1 } else { 3 });
        usual.filter_map(|link| link.parse().ok()).collect()
    } else {
        options.links.clone()
    }
}

/// Runs the alternatives of these plans, which are for one function over several links.
fn measure(
    workload: &Workload,
    plans: &[(Link, Plan)],
    options: &Options,
) -> Result<Vec<PlanFigures>, Error> {
    let Some((_, first)) = plans.first() else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (number, one) in first.alternatives.iter().enumerate() {
        let task = Exchanged {
            workload: workload.clone(),
            is_prepared: one.protocol == Protocol::Prepared,
            runs: if options.quick { 7 } else { 25 },
            links: plans.iter().map(|(link, _)| link.to_string()).collect(),
        };
        let done = both(&task, PartyLink(None), options)?;
        let measured = done.evaluator.links.into_iter().zip(plans);
        for (runs, (link, plan)) in measured {
            let online = times(&runs, |run| run.online_ms);
            let planned = &plan.alternatives[number];
            let predicted_ms = 1e3 * planned.times.online.as_secs_f64();
            let online_ms = Spread::of(&online);
            let traffic = &planned.traffic;
            let early = match planned.protocol {
                Protocol::Prepared => 0,
                _ => traffic.garbler_early_bytes,
            };
            let sent = (early + traffic.garbler_late_bytes, traffic.evaluator_bytes);
            all.push(PlanFigures {
                workload: task.workload.clone(),
                protocol: planned.protocol.name().to_owned(),
                scheme: SchemeId::HALF_GATES_TWO_CALL.to_string(),
                link: link.to_string(),
                predicted_ms,
                error_percent: 100.0 * (predicted_ms / online_ms.median - 1.0),
                online_ms,
                chosen: plan.choice_number() == number,
                behind_percent: 0.0,
                bytes_exact: runs
                    .iter()
                    .all(|run| (run.online.garbler_bytes, run.online.evaluator_bytes) == sent),
            });
        }
    }
    let order = |figures: &PlanFigures| {
        plans
            .iter()
            .position(|(link, _)| link.to_string() == figures.link)
    };
    all.sort_by_key(order);
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

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let function = self.workload.of_library()?;
        function.compile();
        let meeting = Meeting::arrange(wire, role)?;
        // One run over each link is a warm-up.
        let runs = self.runs + 1;
        if self.is_prepared {
            let mut session = meeting.session(None)?;
            let all = runs * self.links.len() as u64;
            let order = Preparation::new(role).enough_for(&function, all)?;
            order.run(&mut session, &meeting.stocks)?;
            end(session);
        }
        let mut links = Vec::new();
        for link in &self.links {
            let mut session = meeting.session(Some(link))?;
            links.push(timed(&mut session, runs, || {
                let job = job(&function, role);
                if self.is_prepared {
                    job.prepared(&meeting.stocks)
                } else {
                    job
                }
            })?);
            end(session);
        }
        Ok(Report { links })
    }
}
