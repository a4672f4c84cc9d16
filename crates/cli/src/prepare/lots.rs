//! Lots for `authenticated`: instances of a function's components, or triples.

use std::time::Instant;

use serde_json::{Value as Json, json};
use tacit::garble::SchemeInfo;
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::stock::{LotPreparation, Prepared, Stocks};
use tacit::{Error, Function, ProtocolError, Role, Session};
use tacit_serve::memory::allowed;

use super::{Order, Told, Took, leave, runs_of};
use crate::args::PrepareArgs;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::progress::Bar;
use crate::report::{security, shown_bytes};
use crate::{function, memory, run};

/// The lot that the arguments order.
pub(super) struct LotOrder {
    role: Role,
    wanted: Wanted,
    security: StatisticalSecurity,
    /// The statistical security of runs that take the lot.
    held_bits: u8,
}

enum Wanted {
    /// Instances for this many runs of a function, under a scheme.
    Instances(Box<Function>, u64, &'static SchemeInfo),
    /// Triples for this many runs of a function, and the reason it cannot take instances.
    TriplesFor(Box<Function>, u64, String),
    /// This many triples, for any use.
    Triples(u64),
}

impl LotOrder {
    /// Returns the order of the arguments, if `authenticated` can fill it.
    pub(super) fn new(args: &PrepareArgs, config: &Config) -> Result<Self, Failure> {
        if !args.components.is_empty() || args.ots.is_some() {
            return Err(usage!(
                "--component and --ots are of prepared";
                "for authenticated, give a function with --runs N, or --ands N"
            ));
        }
        let found = args.function.as_ref();
        let found = found.map(|name| {
            function::find(name, &args.choice)?
                .without_join()?
                .runnable(&args.choice)
        });
        let runnable = found.transpose()?;
        let role = super::role(args, runnable.as_ref(), config)?;
        let wanted = match (runnable, args.ands) {
            (Some(runnable), _) => {
                let (function, runs) = (Box::new(runnable.function().clone()), args.runs);
                let scheme = function::scheme(args.scheme.as_deref(), Some(&function))?;
                let instances = LotPreparation::instances_for_runs(role, &function, runs);
                match instances.map(drop) {
                    Ok(()) => Wanted::Instances(function, runs, scheme),
                    Err(
                        Error::Protocol(ProtocolError::Material(why))
                        | Error::Material { what: why, .. },
                    ) => Wanted::TriplesFor(function, runs, why),
                    Err(error) => Wanted::TriplesFor(function, runs, error.to_string()),
                }
            }
            (None, count) => Wanted::Triples(count.unwrap_or(0)),
        };
        if args.scheme.is_some() && !matches!(wanted, Wanted::Instances(..)) {
            return Err(usage!(
                "triples are of no garbling scheme: runs under any take them";
                "leave --scheme out"
            ));
        }
        let bits = args.security_bits;
        let mut order = Self {
            role,
            wanted,
            security: run::statistical_security(Protocol::Authenticated, bits, false)?,
            held_bits: 0,
        };
        order.held_bits = order.check()?;
        Ok(order)
    }

    /// Checks the order. Returns the statistical security of runs that take the lot.
    fn check(&self) -> Result<u8, Error> {
        let order = self.order()?;
        order.check()?;
        Ok(order.held_bits())
    }

    fn order(&self) -> Result<LotPreparation<'_>, Error> {
        let role = self.role;
        let order = match &self.wanted {
            Wanted::Instances(function, runs, scheme) => {
                LotPreparation::instances_for_runs(role, function, *runs)?.scheme(scheme.id)
            }
            Wanted::TriplesFor(function, runs, _) => {
                LotPreparation::triples_for_runs(role, function, *runs)?
            }
            Wanted::Triples(count) => LotPreparation::triples(role, *count),
        };
        Ok(order.statistical_security(self.security))
    }

    /// Returns the function of the order, if it has one.
    fn function(&self) -> Option<&Function> {
        match &self.wanted {
            Wanted::Instances(function, ..) | Wanted::TriplesFor(function, ..) => Some(function),
            Wanted::Triples(_) => None,
        }
    }

    /// Describes the order.
    fn what(&self) -> &'static str {
        match &self.wanted {
            Wanted::Instances(..) => "instances",
            Wanted::TriplesFor(..) | Wanted::Triples(_) => "triples",
        }
    }

    fn text(&self, prepared: &Prepared, cost: &Took<'_>) -> String {
        let threat_model = ThreatModel::Malicious;
        let stated = security(threat_model, Some(self.held_bits));
        let mut text = format!("protocol  authenticated, {stated}\n");
        if let Wanted::Instances(..) = &self.wanted {
            text += &super::table(prepared);
        }
        let (what, made, usable) = (self.what(), prepared.made(), prepared.available());
        text += &format!("{made} {what} made, {usable} usable");
        if let Some(function) = self.function() {
            let runs = runs_of(prepared.runs.unwrap_or(0), function);
            text += &format!(", enough for {runs}");
        }
        text.push('\n');
        let made_at = prepared.made_at_bits;
        if let Some(bits) = made_at.filter(|bits| *bits > self.security.bits()) {
            text += &format!(
                "made at s = {bits}, since earlier tries were not finished; see `tacit stock \
                 list`\n"
            );
        }
        if let Some(extension) = prepared.ot_extension {
            text += &format!("OTs by {extension}\n");
        }
        text + &format!("{cost}\n")
    }

    fn json(&self, prepared: &Prepared) -> Json {
        let function = self.function().map(|function| {
            json!({
                "name": function.name(),
                "digest": function.digest().to_string(),
                "runs": prepared.runs,
            })
        });
        let mut json = json!({
            "protocol": "authenticated",
            "threat_model": ThreatModel::Malicious.to_string(),
            "statistical_security_bits": self.held_bits,
            "made_at_bits": prepared.made_at_bits,
            "role": self.role.name(),
            "function": function,
            "material": self.what(),
            "made": prepared.made(),
            "usable": prepared.available(),
        });
        if let Wanted::Instances(_, _, scheme) = &self.wanted {
            json["scheme"] = json!(scheme.id.to_string());
            json["kinds"] = super::kinds_json(prepared);
        }
        json
    }
}

impl Order for LotOrder {
    fn check_room(&self, limit: u64) -> Result<(), Failure> {
        let order = self.order()?;
        let remedy = "order less at both parties";
        memory::check(("the order", remedy), &order, allowed())?;
        let bytes = order.disk_bytes();
        if bytes > limit {
            Err(usage!(
                "the order has {} of {} at this party, and a stock takes at most {}",
                shown_bytes(bytes), self.what(), shown_bytes(limit);
                "order less at both parties, or raise limit_gib under [stock] in tacit.toml"
            ))
        } else {
            Ok(())
        }
    }

    fn described(&self) -> String {
        let what = match &self.wanted {
            Wanted::Instances(function, runs, scheme) => {
                let runs = runs_of(*runs, function);
                format!("checked components for {runs} under {}", scheme.id)
            }
            Wanted::TriplesFor(function, runs, _) => {
                format!("triples for {}", runs_of(*runs, function))
            }
            Wanted::Triples(count) => format!("{count} triples"),
        };
        let (bits, role) = (self.security, self.role.name());
        format!("{what} by authenticated at s = {bits} as {role}")
    }

    fn resumption(&self) -> &'static str {
        "starting over with a new lot"
    }

    fn announcement(&self) -> Option<String> {
        match &self.wanted {
            Wanted::Instances(..) => Some(
                "components, garbled and checked for any function of them; --ands N \
                 makes triples, which serve any function"
                    .to_owned(),
            ),
            Wanted::TriplesFor(_, _, why) => Some(format!("triples, not components: {why}")),
            Wanted::Triples(_) => None,
        }
    }

    fn once(
        &self,
        args: &PrepareArgs,
        stocks: &Stocks,
        mut session: Session,
        begun: Instant,
    ) -> Result<Told, Error> {
        let order = self.order()?;
        let bar = Bar::new("prepare", order.and_gates(), !args.json);
        let prepared = order
            .threads(args.threads)
            .time_limit(args.time_limit)
            .watch(move |at| bar.show(at))
            .run(&mut session, stocks)?;
        let run = leave(session);
        let cost = Took {
            prepared: &prepared,
            wall: begun.elapsed(),
            run,
        };
        Ok(Told {
            text: self.text(&prepared, &cost),
            json: cost.json(self.json(&prepared)),
        })
    }
}
