//! The task of a party, in the form that a process receives.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use tacit::Role;

use super::{Exchange, Wire};
use crate::{Error, batch, direct, gmw, ot, outsourced, plan, prepared};

macro_rules! tasks {
    ($($(#[$doc:meta])* $kind:ident($suite:ident),)*) => {
        /// A task of any suite.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Task {
            $($(#[$doc])* $kind($suite::Exchanged),)*
            /// Functions under `outsourced`.
            Outsourced(outsourced::Exchanged),
        }

        $(
            impl From<$suite::Exchanged> for Task {
                fn from(task: $suite::Exchanged) -> Self {
                    Self::$kind(task)
                }
            }
        )*

        impl Task {
            /// Plays the party at a seat, with a wire to the first party, or from the first to each
            /// other. Returns its report.
            pub(super) fn play(&self, seat: usize, wires: Vec<Wire>) -> Result<Json, Error> {
                match self {
                    $(Self::$kind(task) => of_two(task, seat, wires),)*
                    Self::Outsourced(task) => Ok(serde_json::to_value(task.play(seat, wires)?)?),
                }
            }
        }
    };
}

tasks! {
    /// Correlated OTs.
    Ot(ot),
    /// A function under `direct`.
    Direct(direct),
    /// A function under `gmw`, or under `direct` next to it.
    Gmw(gmw),
    /// A function under `prepared`.
    Prepared(prepared),
    /// A function under `batch`.
    Batch(batch),
    /// A function over several links.
    Plan(plan),
}

impl Task {
    /// Returns the names of its parties, by seat. All others connect to the first.
    pub(super) fn parties(&self) -> &'static [&'static str] {
        match self {
            Self::Outsourced(_) => &outsourced::NAMES,
            _ => &["garbler", "evaluator"],
        }
    }
}

fn of_two(task: &impl Exchange, seat: usize, mut wires: Vec<Wire>) -> Result<Json, Error> {
    let role = if seat == 0 {
        Role::Garbler
    } else {
        Role::Evaluator
    };
    let alone = || Error::of(role.name(), "it has no connection to the other");
    let wire = wires.pop().ok_or_else(alone)?;
    Ok(serde_json::to_value(task.play(role, wire)?)?)
}
