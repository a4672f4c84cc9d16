//! Crosses for `gmw`: for runs of a function, or in a given number.

use serde_json::{Value as Json, json};
use tacit::net::Link;
use tacit::protocols::ThreatModel;
use tacit::session::OtExtension;
use tacit::stock::{AnyPreparation, CrossPreparation, Prepared};
use tacit::{Error, Function, Role};

use super::{Order, PreparationCost, kinds_json, last_lines, made_json, made_line, runs_of};
use crate::args::PrepareArgs;
use crate::failure::{Failure, usage};
use crate::party::Party;
use crate::report::{security, shown_bytes};

/// The crosses that the arguments order.
pub(super) struct CrossOrder {
    role: Role,
    amount: Amount,
    /// The link and the OT extension, as far as they are known.
    ots: (Option<Link>, Option<OtExtension>),
}

enum Amount {
    /// The crosses of this many runs of a function.
    Runs(Box<Function>, u64),
    /// This many crosses of each direction.
    Crosses { narrow: u64, wide: u64 },
}

impl CrossOrder {
    /// Returns the order of the arguments, if `gmw` can fill it.
    pub(super) fn new(
        args: &PrepareArgs,
        function: Option<Function>,
        role: Role,
        party: &Party,
    ) -> Result<Self, Failure> {
        let amount = match function {
            Some(function) => Amount::Runs(Box::new(function), args.runs),
            None => Amount::Crosses {
                narrow: args.crosses.unwrap_or(0),
                wide: args.wide_crosses.unwrap_or(0),
            },
        };
        let order = Self {
            role,
            amount,
            ots: party.known_of_ots(),
        };
        if order.crosses()?.count() == 0 {
            return Err(usage!(
                "the function takes no crosses: each party computes its gates alone";
                "run it without a preparation"
            ));
        }
        Ok(order)
    }

    /// Returns the order, as its own kind.
    fn crosses(&self) -> Result<CrossPreparation<'_>, Error> {
        match &self.amount {
            Amount::Runs(function, runs) => CrossPreparation::for_runs(self.role, function, *runs),
            Amount::Crosses { narrow, wide } => {
                Ok(CrossPreparation::crosses(self.role, *narrow, *wide))
            }
        }
    }

    /// Returns the function of the order, if it has one.
    fn function(&self) -> Option<&Function> {
        match &self.amount {
            Amount::Runs(function, _) => Some(function),
            Amount::Crosses { .. } => None,
        }
    }
}

impl Order for CrossOrder {
    fn order(&self) -> Result<AnyPreparation<'_>, Error> {
        self.crosses().map(Into::into)
    }

    fn material(&self) -> &'static str {
        "crosses"
    }

    fn described(&self) -> String {
        let what = match &self.amount {
            Amount::Runs(function, runs) => format!("crosses for {}", runs_of(*runs, function)),
            Amount::Crosses { narrow, wide } => {
                format!("{narrow} crosses and {wide} wide ones of each direction")
            }
        };
        format!("{what} by gmw as {}", self.role.name())
    }

    fn resumption(&self) -> &'static str {
        "going on from there"
    }

    fn announcement(&self) -> Option<String> {
        let ((link, extension), order) = (self.ots, self.crosses().ok()?);
        let sent = order.sent_bytes(link, extension);
        Some(format!(
            "order     {}: {} crosses, {} in this party's stock; about {} on the link, both ways, \
             less what is in stock",
            self.described(),
            order.count(),
            shown_bytes(order.disk_bytes()),
            shown_bytes(sent)
        ))
    }

    fn text(&self, prepared: &Prepared, cost: &PreparationCost<'_>) -> String {
        let stated = security(ThreatModel::SemiHonest, None);
        let mut text = format!("protocol  gmw, {stated}\n");
        text += &format!("{:>14} {:>14}  crosses\n", "made", "usable");
        for kind in &prepared.kinds {
            let (made, usable) = (kind.made, kind.available);
            text += &format!("{made:>14} {usable:>14}  {}\n", kind.name);
        }
        text += &made_line(prepared, self.material(), self.function());
        text + &last_lines(prepared, cost)
    }

    fn json(&self, prepared: &Prepared) -> Json {
        let json = json!({
            "protocol": "gmw",
            "threat_model": ThreatModel::SemiHonest.to_string(),
            "role": self.role.name(),
            "kinds": kinds_json(prepared),
        });
        made_json(json, prepared, self.material(), self.function())
    }
}
