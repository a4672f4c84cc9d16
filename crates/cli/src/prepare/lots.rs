//! Lots for `authenticated`: instances of a function's components, or triples.

use serde_json::{Value as Json, json};
use tacit::garble::SchemeInfo;
use tacit::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use tacit::stock::{AnyPreparation, LotPreparation, Prepared};
use tacit::{Error, Function, ProtocolError, Role};

use super::{Order, PreparationCost, kinds_json, last_lines, made_json, made_line, runs_of};
use crate::args::PrepareArgs;
use crate::failure::{Failure, usage};
use crate::report::security;
use crate::{function, run};

/// The lot that the arguments order.
pub(super) struct LotOrder {
    role: Role,
    kind: LotKind,
    security: StatisticalSecurity,
    /// The statistical security of runs that take the lot.
    held_bits: u8,
}

enum LotKind {
    /// Instances for this many runs of a function, under a scheme.
    Instances(Box<Function>, u64, &'static SchemeInfo),
    /// Triples for this many runs of a function, and the reason it cannot take instances.
    TriplesFor(Box<Function>, u64, String),
    /// This many triples, for any use.
    Triples(u64),
}

impl LotOrder {
    /// Returns the order of the arguments, if `authenticated` can fill it.
    pub(super) fn new(
        args: &PrepareArgs,
        function: Option<Function>,
        role: Role,
    ) -> Result<Self, Failure> {
        let kind = match (function, args.ands) {
            (Some(function), _) => {
                let (function, runs) = (Box::new(function), args.runs);
                let scheme = function::scheme(args.scheme.as_deref(), Some(&function))?;
                let instances = LotPreparation::instances_for_runs(role, &function, runs);
                match instances.map(drop) {
                    Ok(()) => LotKind::Instances(function, runs, scheme),
                    Err(
                        Error::Protocol(ProtocolError::Material(why))
                        | Error::Material { what: why, .. },
                    ) => LotKind::TriplesFor(function, runs, why),
                    Err(error) => LotKind::TriplesFor(function, runs, error.to_string()),
                }
            }
            (None, count) => LotKind::Triples(count.unwrap_or(0)),
        };
        if args.scheme.is_some() && !matches!(kind, LotKind::Instances(..)) {
            return Err(usage!(
                "triples are of no garbling scheme: runs under any take them";
                "leave --scheme out"
            ));
        }
        let bits = args.security_bits;
        let order = Self {
            role,
            kind,
            security: run::statistical_security(Protocol::Authenticated, bits)?,
            held_bits: 0,
        };
        let held_bits = {
            let lot = order.lot()?;
            lot.check()?;
            lot.held_bits()
        };
        Ok(Self { held_bits, ..order })
    }

    /// Returns the order, as its own kind.
    fn lot(&self) -> Result<LotPreparation<'_>, Error> {
        let role = self.role;
        let order = match &self.kind {
            LotKind::Instances(function, runs, scheme) => {
                LotPreparation::instances_for_runs(role, function, *runs)?.scheme(scheme.id)
            }
            LotKind::TriplesFor(function, runs, _) => {
                LotPreparation::triples_for_runs(role, function, *runs)?
            }
            LotKind::Triples(count) => LotPreparation::triples(role, *count),
        };
        Ok(order.statistical_security(self.security))
    }

    /// Returns the function of the order, if it has one.
    fn function(&self) -> Option<&Function> {
        match &self.kind {
            LotKind::Instances(function, ..) | LotKind::TriplesFor(function, ..) => Some(function),
            LotKind::Triples(_) => None,
        }
    }
}

impl Order for LotOrder {
    fn order(&self) -> Result<AnyPreparation<'_>, Error> {
        self.lot().map(Into::into)
    }

    fn material(&self) -> &'static str {
        match &self.kind {
            LotKind::Instances(..) => "instances",
            LotKind::TriplesFor(..) | LotKind::Triples(_) => "triples",
        }
    }

    fn described(&self) -> String {
        let what = match &self.kind {
            LotKind::Instances(function, runs, scheme) => {
                let runs = runs_of(*runs, function);
                format!("checked components for {runs} under {}", scheme.id)
            }
            LotKind::TriplesFor(function, runs, _) => {
                format!("triples for {}", runs_of(*runs, function))
            }
            LotKind::Triples(count) => format!("{count} triples"),
        };
        let (bits, role) = (self.security, self.role.name());
        format!("{what} by authenticated at s = {bits} as {role}")
    }

    fn resumption(&self) -> &'static str {
        "starting over with a new lot"
    }

    fn announcement(&self) -> Option<String> {
        match &self.kind {
            LotKind::Instances(..) => Some(
                "components, garbled and checked for any function of them; --ands N \
                 makes triples, which serve any function"
                    .to_owned(),
            ),
            LotKind::TriplesFor(_, _, why) => Some(format!("triples, not components: {why}")),
            LotKind::Triples(_) => None,
        }
    }

    fn text(&self, prepared: &Prepared, cost: &PreparationCost<'_>) -> String {
        let threat_model = ThreatModel::Malicious;
        let stated = security(threat_model, Some(self.held_bits));
        let mut text = format!("protocol  authenticated, {stated}\n");
        if let LotKind::Instances(..) = &self.kind {
            text += &super::table(prepared);
        }
        text += &made_line(prepared, self.material(), self.function());
        let made_at = prepared.made_at_bits;
        if let Some(bits) = made_at.filter(|bits| *bits > self.security.bits()) {
            text += &format!(
                "made at s = {bits}, since earlier tries were not finished; see `tacit stock \
                 list`\n"
            );
        }
        text + &last_lines(prepared, cost)
    }

    fn json(&self, prepared: &Prepared) -> Json {
        let mut json = json!({
            "protocol": "authenticated",
            "threat_model": ThreatModel::Malicious.to_string(),
            "statistical_security_bits": self.held_bits,
            "made_at_bits": prepared.made_at_bits,
            "role": self.role.name(),
        });
        if let LotKind::Instances(_, _, scheme) = &self.kind {
            json["scheme"] = json!(scheme.id.to_string());
            json["kinds"] = kinds_json(prepared);
        }
        made_json(json, prepared, self.material(), self.function())
    }
}
