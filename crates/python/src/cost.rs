//! What a function costs before it runs: a row for each protocol, as the planner has them.

use pyo3::prelude::*;
use tacit::net::Link;
use tacit::plan::Planner;
use tacit::protocols::{Protocol, ThreatModel};
use tacit::{Error, Function};

use crate::error;

/// One protocol and what a run costs by it.
#[derive(IntoPyObject)]
pub(crate) struct Row {
    protocol: &'static str,
    scheme: String,
    /// Bytes of a run, both ways.
    bytes: u64,
    round_trips: u32,
    seconds: f64,
    /// Bytes that are sent and time that passes before, where the protocol prepares.
    prepare_bytes: u64,
    prepare_seconds: f64,
}

/// The rows of the protocols that protect as `security` asks, each under its fastest scheme.
///
/// # Errors
///
/// The link or the threat model cannot be read, or no protocol runs the function.
pub(crate) fn rows(
    py: Python<'_>,
    function: &Function,
    link: &str,
    security: &str,
    runs: u64,
) -> PyResult<Vec<Row>> {
    let link: Link = link
        .parse()
        .map_err(|error| error::usage(py, &format!("the link {link:?}: {error}")))?;
    let asked: ThreatModel = security
        .parse()
        .map_err(|error| error::usage(py, &format!("security: {error}")))?;
    let planned = py.detach(|| -> Result<_, Error> {
        let planner = Planner::new(link)?.threat_model(asked).runs(runs);
        planner.clone().plan_uncut(function.clone())
    });
    let plan = planned.map_err(|error| error::raise(py, error))?;
    let fastest =
        Protocol::between_two().map(|protocol| plan.fastest(|one| one.protocol == protocol));
    let row = |one: &tacit::plan::Alternative| {
        let (traffic, needs) = (&one.traffic, !one.protocol.is_from_nothing());
        Row {
            protocol: one.protocol.name(),
            scheme: one.rung.id.to_string(),
            bytes: traffic.garbler_early_bytes
                + traffic.garbler_late_bytes
                + traffic.evaluator_bytes,
            round_trips: one.round_trips(),
            seconds: one.times.from_agreement.as_secs_f64(),
            prepare_bytes: if needs { one.offline.bytes } else { 0 },
            prepare_seconds: if needs {
                one.offline.time.as_secs_f64()
            } else {
                0.0
            },
        }
    };
    Ok(fastest.flatten().map(row).collect())
}
