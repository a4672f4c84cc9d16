//! The cost of a function before it runs: the planner's row for each protocol.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tacit::net::Link;
use tacit::plan::{JoinCost, Planner};
use tacit::protocols::{Protocol, ThreatModel};
use tacit::stock::CrossPreparation;
use tacit::{Error, Function, Role};
use tacit_language::TypedFunction;

use crate::{error, wait};

/// A protocol and the cost of a run by it.
#[derive(Clone, IntoPyObject)]
pub(crate) struct Row {
    protocol: &'static str,
    scheme: String,
    /// The bytes of a run, both ways.
    bytes: u64,
    round_trips: u32,
    seconds: f64,
    /// The bytes and seconds of the preparation, if the protocol prepares.
    prepare_bytes: u64,
    prepare_seconds: f64,
}

/// The question: the link, the threat model, and the number of runs to prepare for.
type Question = (String, String, u64);

/// The costs of a function by question. Each takes a walk over the whole function.
#[derive(Default)]
pub(crate) struct Costs(Mutex<HashMap<Question, Vec<Row>>>);

impl Costs {
    /// Returns the answer, from earlier if the same question was asked before.
    pub(crate) fn of(
        &self,
        py: Python<'_>,
        function: &Function,
        question: Question,
    ) -> PyResult<Vec<Row>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = known().get(&question) {
            return Ok(rows.clone());
        }
        let found = rows(py, function, &question)?;
        known().insert(question, found.clone());
        Ok(found)
    }
}

/// Returns the rows of a program that joins tables: a run that makes its crosses, and one that
/// takes them from the stock.
pub(crate) fn of_join(
    py: Python<'_>,
    typed: &TypedFunction,
    question: &Question,
) -> PyResult<Vec<Row>> {
    let (link, asked) = link_and_model(py, question)?;
    let plan = typed.join().cloned();
    let plan = plan.ok_or_else(|| error::usage(py, "the run joins no tables"))?;
    let function = typed.function().clone();
    let planned = wait::apart(py, move || -> Result<_, Error> {
        let order = CrossPreparation::for_runs(Role::Garbler, &function, 1)?;
        let planner = Planner::new(link)?.by_default().threat_model(asked);
        let over = planner.plan_join(function, &plan)?.swap_remove(0);
        Ok((over, order.sent_bytes(None, None)))
    })?;
    let (over, crosses) = planned.map_err(|error| error::raise(py, error))?;
    let row = |protocol, cost: &JoinCost| Row {
        protocol,
        scheme: String::new(),
        bytes: cost.bytes,
        round_trips: u32::try_from(cost.round_trips).unwrap_or(u32::MAX),
        seconds: cost.time.as_secs_f64(),
        prepare_bytes: 0,
        prepare_seconds: 0.0,
    };
    let (made, taken) = (over.from_nothing, over.from_stock);
    let prepare = made.time.saturating_sub(taken.time);
    Ok(vec![
        row("gmw", &made),
        Row {
            prepare_bytes: crosses,
            prepare_seconds: prepare.as_secs_f64(),
            ..row("gmw, from stock", &taken)
        },
    ])
}

/// Returns the link and the threat model of a question.
fn link_and_model(py: Python<'_>, (link, security, _): &Question) -> PyResult<(Link, ThreatModel)> {
    let link = link
        .parse()
        .map_err(|error| error::usage(py, &format!("the link {link:?}: {error}")))?;
    let asked = security
        .parse()
        .map_err(|error| error::usage(py, &format!("security: {error}")))?;
    Ok((link, asked))
}

/// Returns the rows of the protocols that give the protection of `security`, for a run without
/// further options: under the function's scheme.
fn rows(py: Python<'_>, function: &Function, question: &Question) -> PyResult<Vec<Row>> {
    let (link, asked) = link_and_model(py, question)?;
    let (function, runs) = (function.clone(), question.2);
    let planned = wait::apart(py, move || -> Result<_, Error> {
        let planner = Planner::new(link)?.by_default();
        planner.threat_model(asked).runs(runs).plan(function)
    })?;
    let plan = planned.map_err(|error| error::raise(py, error))?;
    let fastest =
        Protocol::between_two().map(|protocol| plan.fastest(|one| one.protocol == protocol));
    let row = |one: &tacit::plan::Alternative| {
        let (traffic, needs) = (&one.traffic, !one.protocol.is_from_nothing());
        Row {
            protocol: one.protocol.name(),
            scheme: one
                .scheme
                .map_or(String::new(), |scheme| scheme.id.to_string()),
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
