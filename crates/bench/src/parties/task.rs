//! What a party is told to do, as it is told to a process.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Exchange, Party, Wire};
use crate::{Error, base_ot, batch, direct, ot, outsourced, plan, prepared, serve};

/// A task of any suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// Base OTs.
    BaseOt(base_ot::Exchanged),
    /// Correlated OTs.
    Ot(ot::Exchanged),
    /// A function under `direct`.
    Direct(direct::Exchanged),
    /// A function under `prepared`.
    Prepared(prepared::Exchanged),
    /// A function under `batch`.
    Batch(batch::Exchanged),
    /// Functions under `outsourced`.
    Outsourced(outsourced::Exchanged),
    /// A function over several links.
    Plan(plan::Exchanged),
    /// A service under load.
    Serve(serve::Exchanged),
}

impl Task {
    /// The names of its parties, by seat; all others connect to the first.
    pub(super) fn parties(&self) -> &'static [&'static str] {
        match self {
            Self::Outsourced(_) => &outsourced::NAMES,
            _ => &Party::NAMES,
        }
    }

    /// Plays the party of a seat, with a wire to the first, or from the first to each other.
    /// Returns its report.
    pub(super) fn play(&self, seat: usize, wires: Vec<Wire>) -> Result<Json, Error> {
        fn report(of: &impl Exchange, seat: usize, mut wires: Vec<Wire>) -> Result<Json, Error> {
            let party = Party::of(seat);
            let wire = wires.pop().ok_or_else(|| Error::Party {
                party: party.name(),
                reason: "it has no connection to the other".to_owned(),
            })?;
            Ok(serde_json::to_value(of.play(party, wire)?)?)
        }
        match self {
            Self::BaseOt(task) => report(task, seat, wires),
            Self::Ot(task) => report(task, seat, wires),
            Self::Direct(task) => report(task, seat, wires),
            Self::Prepared(task) => report(task, seat, wires),
            Self::Batch(task) => report(task, seat, wires),
            Self::Outsourced(task) => Ok(serde_json::to_value(task.play(seat, wires)?)?),
            Self::Plan(task) => report(task, seat, wires),
            Self::Serve(task) => report(task, seat, wires),
        }
    }
}

impl From<base_ot::Exchanged> for Task {
    fn from(task: base_ot::Exchanged) -> Self {
        Self::BaseOt(task)
    }
}

impl From<ot::Exchanged> for Task {
    fn from(task: ot::Exchanged) -> Self {
        Self::Ot(task)
    }
}

impl From<direct::Exchanged> for Task {
    fn from(task: direct::Exchanged) -> Self {
        Self::Direct(task)
    }
}

impl From<prepared::Exchanged> for Task {
    fn from(task: prepared::Exchanged) -> Self {
        Self::Prepared(task)
    }
}

impl From<batch::Exchanged> for Task {
    fn from(task: batch::Exchanged) -> Self {
        Self::Batch(task)
    }
}

impl From<outsourced::Exchanged> for Task {
    fn from(task: outsourced::Exchanged) -> Self {
        Self::Outsourced(task)
    }
}

impl From<plan::Exchanged> for Task {
    fn from(task: plan::Exchanged) -> Self {
        Self::Plan(task)
    }
}

impl From<serve::Exchanged> for Task {
    fn from(task: serve::Exchanged) -> Self {
        Self::Serve(task)
    }
}
