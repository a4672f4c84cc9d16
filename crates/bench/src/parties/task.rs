//! What a party is told to do, as it is told to a process.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Exchange, Party, Wire};
use crate::{Error, base_ot, batch, direct, ot, plan, prepared, serve};

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
    /// A function over several links.
    Plan(plan::Exchanged),
    /// A service under load.
    Serve(serve::Exchanged),
}

impl Task {
    /// Plays one party. Returns its report.
    pub(super) fn play(&self, party: Party, wire: Wire) -> Result<Json, Error> {
        fn report(of: &impl Exchange, party: Party, wire: Wire) -> Result<Json, Error> {
            Ok(serde_json::to_value(of.play(party, wire)?)?)
        }
        match self {
            Self::BaseOt(task) => report(task, party, wire),
            Self::Ot(task) => report(task, party, wire),
            Self::Direct(task) => report(task, party, wire),
            Self::Prepared(task) => report(task, party, wire),
            Self::Batch(task) => report(task, party, wire),
            Self::Plan(task) => report(task, party, wire),
            Self::Serve(task) => report(task, party, wire),
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
