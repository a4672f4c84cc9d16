//! Checked executions for `batch`.

use serde_json::{Value as Json, json};
use tacit::garble::SchemeInfo;
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::stock::{AnyPreparation, BatchPlan, BatchPreparation, Prepared};
use tacit::{Error, Function, Role};

use super::{Order, PreparationCost, last_lines, runs_of};
use crate::args::PrepareArgs;
use crate::failure::{Failure, usage};
use crate::output::counted;
use crate::report::{security, shown_bytes};
use crate::{function, run};

/// The largest number of executions in one batch.
const MAX_EXECUTIONS: u64 = 4096;

/// The executions that the arguments order.
pub(super) struct BatchOrder {
    role: Role,
    scheme: &'static SchemeInfo,
    function: Function,
    executions: u64,
    security: StatisticalSecurity,
    /// The statistical security of runs that take the executions.
    held_bits: u8,
    /// The plan for an empty stock.
    plan: BatchPlan,
    /// The bytes that all executions take at the evaluator.
    table_bytes: u64,
}

impl BatchOrder {
    /// Returns the order of the arguments, if `batch` can fill it.
    pub(super) fn new(
        args: &PrepareArgs,
        function: Option<Function>,
        role: Role,
    ) -> Result<Self, Failure> {
        if args.runs > MAX_EXECUTIONS {
            return Err(usage!(
                "--runs {} is more than one batch has", args.runs;
                "order at most {MAX_EXECUTIONS} at both parties, and the rest when those are used"
            ));
        }
        let Some(function) = function else {
            return Err(usage!(
                "a batch is of one function";
                "give `tacit prepare FUNCTION --protocol batch --runs N`"
            ));
        };
        let scheme = function::scheme(args.scheme.as_deref(), Some(&function))?;
        let security = run::statistical_security(Protocol::Batch, args.security_bits)?;
        let (plan, table_bytes, held_bits) = {
            let order = BatchPreparation::new(role, &function, args.runs).scheme(scheme.id);
            let order = order.statistical_security(security);
            let plan = order.plan().map_err(|error| match error {
                Error::ApiMisuse(what) => usage!(
                    "{what}";
                    "take --protocol authenticated, which runs any function"
                ),
                error => error.into(),
            })?;
            (plan, order.table_bytes()?, order.held_bits())
        };
        Ok(Self {
            role,
            scheme,
            function,
            executions: args.runs,
            security,
            held_bits,
            plan,
            table_bytes,
        })
    }
}

impl Order for BatchOrder {
    fn order(&self) -> Result<AnyPreparation<'_>, Error> {
        let order = BatchPreparation::new(self.role, &self.function, self.executions);
        let order = order.statistical_security(self.security);
        Ok(order.scheme(self.scheme.id).into())
    }

    fn material(&self) -> &'static str {
        "tables"
    }

    fn described(&self) -> String {
        format!(
            "{} by batch at s = {} as {} under {}",
            runs_of(self.executions, &self.function),
            self.security,
            self.role.name(),
            self.scheme.id
        )
    }

    fn resumption(&self) -> &'static str {
        "starting over with a new batch"
    }

    fn announcement(&self) -> Option<String> {
        Some(format!(
            "a batch of {} where nothing is in stock, {} for each run, which are fewer in a larger \
             batch: {} AND gates, and {} of the evaluator's disk",
            self.plan,
            counted(
                (self.plan.cut().circuits / self.executions) as usize,
                "circuit"
            ),
            self.order().ok()?.and_gates(),
            shown_bytes(self.table_bytes)
        ))
    }

    fn text(&self, prepared: &Prepared, cost: &PreparationCost<'_>) -> String {
        let (made, usable) = (prepared.made(), prepared.available());
        let mut text = format!(
            "protocol  batch, {}\n{made} checked executions of {} made, {usable} usable\n",
            security(ThreatModel::Malicious, Some(self.held_bits)),
            self.function.name()
        );
        if let Some(plan) = &prepared.plan
            && let Ok(bound) = plan.bound(&self.function)
        {
            text += &format!("{plan}\nbound     {bound}\n");
        }
        text += &last_lines(prepared, cost);
        text + "each `tacit run` of it with --protocol batch takes one at both parties\n"
    }

    fn json(&self, prepared: &Prepared) -> Json {
        let plan = prepared.plan.map(|plan| {
            let bound = plan.bound(&self.function).ok();
            json!({
                "executions": plan.executions(),
                "bucket": plan.cut().bucket,
                "circuits": plan.cut().circuits,
                "bound_bits": bound.map(|bound| bound.total_bits()),
            })
        });
        json!({
            "protocol": "batch",
            "threat_model": ThreatModel::Malicious.to_string(),
            "statistical_security_bits": self.held_bits,
            "role": self.role.name(),
            "scheme": self.scheme.id.to_string(),
            "function": {
                "name": self.function.name(),
                "digest": self.function.digest().to_string(),
            },
            "made": prepared.made(),
            "usable": prepared.available(),
            "plan": plan,
        })
    }
}
