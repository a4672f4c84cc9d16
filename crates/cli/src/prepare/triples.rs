//! Triples for `authenticated`.

use std::time::Instant;

use serde_json::json;
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::stock::{Stocks, TriplePreparation};
use tacit::{Error, Function, Role, Session};

use super::{Order, Told, Took, leave};
use crate::args::PrepareArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::Bar;
use crate::report::{security, shown_bytes};
use crate::{function, run};

/// The triples that the arguments ask for.
pub(super) struct TripleOrder {
    role: Role,
    wanted: TripleCount,
    security: StatisticalSecurity,
    /// What runs that take the triples hold.
    held_bits: u8,
}

enum TripleCount {
    /// For this many runs of a function.
    Runs(Box<Function>, u64),
    /// This many, whatever they will serve.
    Triples(u64),
}

impl TripleOrder {
    /// What the arguments ask for, if `authenticated` can do it.
    pub(super) fn new(args: &PrepareArgs, config: &Config) -> Result<Self, Failure> {
        if !args.components.is_empty() || args.ots.is_some() {
            return Err(Failure::Usage(
                "triples are of no component, and have OTs of their own; leave --component and \
                 --ots out, and give a function with --runs N, or --ands N"
                    .to_owned(),
            ));
        }
        if args.scheme.is_some() {
            return Err(Failure::Usage(
                "triples are of no garbling scheme: runs under any take them; leave --scheme out"
                    .to_owned(),
            ));
        }
        let found = args.function.as_ref();
        let found = found.map(|name| function::find(name, &args.choice)?.runnable(&args.choice));
        let runnable = found.transpose()?;
        let role = super::role(args, runnable.as_ref(), config)?;
        let wanted = match (runnable, args.ands) {
            (Some(runnable), _) => {
                TripleCount::Runs(Box::new(runnable.function().clone()), args.runs)
            }
            (None, count) => TripleCount::Triples(count.unwrap_or(0)),
        };
        let mut order = Self {
            role,
            wanted,
            security: run::statistical_security(
                Protocol::Authenticated,
                args.security_bits,
                false,
            )?,
            held_bits: 0,
        };
        let triples = order.order()?;
        triples.check()?;
        order.held_bits = triples.held_bits();
        Ok(order)
    }

    fn order(&self) -> Result<TriplePreparation<'static>, Error> {
        let order = match &self.wanted {
            TripleCount::Runs(function, runs) => {
                TriplePreparation::for_runs(self.role, function, *runs)?
            }
            TripleCount::Triples(count) => TriplePreparation::triples(self.role, *count),
        };
        Ok(order.statistical_security(self.security))
    }
}

impl Order for TripleOrder {
    fn check_room(&self, limit: u64) -> Result<(), Failure> {
        let bytes = self.order()?.disk_bytes();
        match bytes > limit {
            false => Ok(()),
            true => Err(Failure::Usage(format!(
                "the order has {} of triples at each party, and a stock takes at most {}; order \
                 less at both parties, or raise limit_gib under [stock] in tacit.toml",
                shown_bytes(bytes),
                shown_bytes(limit)
            ))),
        }
    }

    fn described(&self) -> String {
        let what = match &self.wanted {
            TripleCount::Runs(function, runs) => {
                let runs_of = if *runs == 1 { "run" } else { "runs" };
                format!("triples for {runs} {runs_of} of {}", function.name())
            }
            TripleCount::Triples(count) => format!("{count} triples"),
        };
        let (bits, role) = (self.security, self.role.name());
        format!("{what} by authenticated at s = {bits} as {role}")
    }

    fn resumption(&self) -> &'static str {
        "starting over with a new lot"
    }

    fn once(
        &self,
        args: &PrepareArgs,
        stocks: &Stocks,
        mut session: Session,
        begun: Instant,
    ) -> Result<Told, Error> {
        let mut order = self.order()?;
        let bar = Bar::new("prepare", order.count(), !args.json);
        order = order.watch(move |at| bar.show(at));
        if let Some(limit) = args.time_limit {
            order = order.time_limit(limit);
        }
        let prepared = order.run(&mut session, stocks)?;
        leave(session);
        let cost = Took {
            prepared: &prepared,
            wall: begun.elapsed(),
        };
        let threat_model = ThreatModel::Malicious;
        let (made, usable) = (prepared.made(), prepared.available());
        let mut text = format!(
            "protocol  authenticated, {}\n{made} triples made, {usable} usable",
            security(threat_model, Some(self.held_bits))
        );
        if let TripleCount::Runs(function, _) = &self.wanted {
            let runs = usize::try_from(prepared.runs.unwrap_or(0)).unwrap_or(usize::MAX);
            let (runs, name) = (counted(runs, "run"), function.name());
            text.push_str(&format!(", enough for {runs} of {name}"));
        }
        text.push('\n');
        let made_at = prepared.made_at_bits;
        if let Some(bits) = made_at.filter(|bits| *bits > self.security.bits()) {
            text.push_str(&format!(
                "made at s = {bits}, since earlier tries were not finished; see `tacit stock \
                 list`\n"
            ));
        }
        if let Some(extension) = prepared.ot_extension {
            text.push_str(&format!("OTs by {extension}\n"));
        }
        text += &format!("{cost}\n");
        let function = match &self.wanted {
            TripleCount::Runs(function, _) => json!({
                "name": function.name(),
                "digest": function.digest().to_string(),
                "runs": prepared.runs,
            }),
            TripleCount::Triples(_) => json!(null),
        };
        let json = json!({
            "protocol": "authenticated",
            "threat_model": threat_model.to_string(),
            "statistical_security_bits": self.held_bits,
            "made_at_bits": prepared.made_at_bits,
            "role": self.role.name(),
            "function": function,
            "made": made,
            "usable": usable,
        });
        let json = cost.json(json);
        Ok(Told { text, json })
    }
}
