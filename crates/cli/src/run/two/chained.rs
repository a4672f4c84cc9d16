//! The lines of a run about its chain: the version before it, the version after it and, if the run
//! broke, whether it was kept.

use std::fmt;

use serde_json::{Map, Value as Json, json};
use tacit::Session;
use tacit::stock::{ChainAttempt, ChainMarks, ChainVersion};

use super::TwoPartyRun;

/// The versions of a chain after and before a run.
#[derive(Clone, Copy)]
pub(super) struct KeptVersions {
    /// The version after the run.
    pub(super) now: ChainVersion,
    /// The version before it, or `None` if the run started the chain.
    pub(super) from: Option<u64>,
}

impl KeptVersions {
    pub(super) fn of(now: Option<ChainVersion>, attempt: Option<ChainAttempt>) -> Option<Self> {
        let from = attempt.and_then(|attempt| attempt.from);
        Some(Self { now: now?, from })
    }
}

impl fmt::Display for KeptVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.now.version;
        match self.from {
            Some(from) if from == version => write!(f, "version {version}, which it keeps"),
            Some(from) => write!(f, "version {version}, made from version {from}"),
            None => write!(f, "version {version}, its first"),
        }
    }
}

/// Returns whether a run that broke was kept, by what this party has of the chain now, or `None` if
/// that is open.
fn is_kept(attempt: Option<ChainAttempt>, now: Option<&ChainMarks>) -> Option<bool> {
    let (latest, pending) = now.map_or((0, 0), |marks| (marks.latest, marks.pending));
    match attempt {
        None => Some(false),
        Some(run) if latest == run.keeps => Some(true),
        Some(run) if pending == run.keeps => None,
        Some(run) if latest == run.from.unwrap_or(0) => Some(false),
        Some(_) => None,
    }
}

/// Says whether a run that broke was kept, by what this party has of the chain `name` now.
fn fate(name: &str, attempt: Option<ChainAttempt>, now: Option<&ChainMarks>) -> String {
    let (latest, pending) = now.map_or((0, 0), |marks| (marks.latest, marks.pending));
    let at = match latest {
        0 => "has no version yet".to_owned(),
        latest => format!("is at version {latest}"),
    };
    match attempt {
        None if pending > 0 => format!(
            "this run changed nothing; {name} {at}, and the next run settles whether version \
             {pending} of an earlier one is kept"
        ),
        None => format!("this run changed nothing; {name} {at}"),
        Some(run) if latest == run.keeps => format!("this run was kept; {name} {at}"),
        Some(run) if pending == run.keeps => format!(
            "whether this run is kept is open; {name} {at}, and the next run starts from version \
             {} if this one is kept",
            run.keeps
        ),
        Some(run) if latest == run.from.unwrap_or(0) => {
            format!("this run was not kept; {name} {at}")
        }
        Some(run) => format!(
            "another run has used {name} since, and said from which version it started: from {} \
             or a later one if this run was kept",
            run.keeps
        ),
    }
}

impl TwoPartyRun<'_> {
    /// Says at which version this party has the run's chain, if it has it.
    pub(super) fn tell_chain(&self, session: &Session) {
        let (Some(name), Some(marks)) = (&self.args.chain.chain, self.marks(session)) else {
            return;
        };
        if marks.pending > 0 {
            eprintln!(
                "chain     {name} is at version {}; this run settles whether version {} of an \
                 earlier one is kept",
                marks.latest, marks.pending
            );
        } else {
            eprintln!("chain     {name} is at version {}", marks.latest);
        }
    }

    /// Says of a run that broke whether its chain keeps it. Returns the same as fields of the JSON.
    pub(super) fn tell_fate(&self, session: &Session) -> Option<Map<String, Json>> {
        let name = self.args.chain.chain.as_ref()?;
        if self.runnable.function().saves().is_empty() {
            return None;
        }
        let (attempt, now) = (session.chain_attempt(), self.marks(session));
        eprintln!("chain     {}", fate(name, attempt, now.as_ref()));
        let version = now.as_ref().map_or(0, |marks| marks.latest);
        let told = json!({
            "name": name,
            "version": version,
            "would_be": attempt.map(|run| run.keeps),
            "kept": is_kept(attempt, now.as_ref()),
        });
        Some(Map::from_iter([("chain".to_owned(), told)]))
    }

    /// Returns this party's progress in the run's chain, if it has the chain and can read it.
    fn marks(&self, session: &Session) -> Option<ChainMarks> {
        let (name, stocks) = (self.args.chain.chain.as_ref()?, self.stocks.as_ref()?);
        let (own, peer) = (session.own()?, session.peer()?);
        let (chains, _) = stocks.chains_by_peer().ok()?;
        let mut chains = chains.into_iter().filter(|chain| {
            chain.summary.name == *name
                && (chain.own, chain.peer) == (own, peer)
                && (chain.protocol, chain.role) == (self.protocol, self.role)
                && chain.summary.killed.is_none()
        });
        chains.next().map(|chain| chain.summary.marks)
    }
}

#[cfg(test)]
mod tests {
    use tacit::stock::ChainStatus;

    use super::*;

    #[test]
    fn the_fate_of_a_run_follows_from_its_versions_and_those_of_now() {
        let attempt = Some(ChainAttempt {
            from: Some(43),
            keeps: 45,
        });
        let marks = |latest, pending| ChainMarks {
            status: ChainStatus::Live,
            id: [0; 16],
            attempt: 44,
            latest,
            pending,
        };
        for (attempt, now, said) in [
            (
                attempt,
                Some(marks(45, 0)),
                "was kept; total is at version 45",
            ),
            (
                attempt,
                Some(marks(43, 0)),
                "was not kept; total is at version 43",
            ),
            (attempt, Some(marks(43, 45)), "starts from version 45 if"),
            (attempt, Some(marks(46, 0)), "another run has used total"),
            (
                None,
                Some(marks(43, 0)),
                "changed nothing; total is at version 43",
            ),
            (
                None,
                Some(marks(43, 44)),
                "whether version 44 of an earlier one",
            ),
            (None, None, "changed nothing; total has no version yet"),
        ] {
            let fate = fate("total", attempt, now.as_ref());
            assert!(fate.contains(said), "{fate}");
        }
        let first = Some(ChainAttempt {
            from: None,
            keeps: 1,
        });
        assert!(fate("total", first, None).contains("was not kept; total has no version"));
        assert!(fate("total", first, Some(&marks(0, 1))).contains("from version 1 if"));
    }
}
