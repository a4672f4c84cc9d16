//! A service under load: sixteen peers, one of which is hostile, for the requested time.
//!
//! One process is the service, the other all its peers, over TLS on loopback. Fifteen of them run
//! mixed functions again and again, by `direct` and from stocks that are filled at the same time.
//! Some peers fill theirs themselves; for others the service connects to them. The last peer does
//! forbidden things: silent and broken connections, functions that are not offered to it, orders
//! without a level, runs that it leaves. Every result is compared with that of the function in the
//! clear.
//!
//! When that is over, four peers open sessions with one small run each.

mod hostile;
mod load;
mod samples;
mod scene;
mod sessions;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacit::Role;

use crate::parties::{Exchange, Memory, PartyLink, Wire, both};
use crate::table::{Column, Row, number, short};
use crate::{Error, Figures, Options, Tell};

pub use samples::MeanCosts;

/// The figures of a service under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServeFigures {
    /// The number of peers, including the hostile one.
    pub peers: u64,
    /// The seconds of the load.
    pub seconds: f64,
    /// Runs that ended with the right result.
    pub runs: u64,
    /// Runs that ended with another result.
    pub wrong_results: u64,
    /// Runs and sessions of honest peers that failed.
    pub failed: u64,
    /// The reasons of these failures, with their numbers.
    pub failures: BTreeMap<String, u64>,
    /// The number of runs that ended per second.
    pub runs_per_s: f64,
    /// The times of a run at its peer, by offer and protocol, and over all.
    pub latency: BTreeMap<String, Latency>,
    /// The costs of the slowest hundredth of the runs, by offer and protocol.
    #[serde(default)]
    pub slowest: BTreeMap<String, MeanCosts>,
    /// The costs of the other runs.
    #[serde(default)]
    pub others: BTreeMap<String, MeanCosts>,
    /// Sessions of one small run each.
    pub sessions: Sessions,
    /// The attempts of the hostile peer, by kind.
    pub hostile: BTreeMap<String, u64>,
    /// The number of refusals by the service.
    pub refused: u64,
    /// The instances and OTs that were made for the stock during the load.
    pub stocked: u64,
    /// The most bytes that a stock at the service held.
    pub stock_bytes: u64,
    /// The limit of a stock in bytes.
    pub stock_limit_bytes: u64,
    /// The most runs that a stock sufficed for.
    pub stock_runs: u64,
    /// The level of a stock in runs.
    pub stock_level_runs: u64,
    /// The resident memory of the service: the median of each quarter of the time.
    pub resident_bytes: Vec<u64>,
    /// The threads of the service at the end of each quarter.
    pub threads: Vec<u64>,
    /// The peak memory: the service is the garbler, its peers the evaluator.
    pub memory: Memory,
}

/// Sessions that peers opened one after the other, several peers at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sessions {
    /// The number per second, of all peers together.
    pub per_s: f64,
    /// Their times, from the connection to its end.
    pub latency: Latency,
}

/// Times of runs, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The number of runs.
    pub runs: u64,
    /// The median.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub most_ms: f64,
}

impl Latency {
    /// Returns the statistics of these times.
    fn of(mut times_ms: Vec<f64>) -> Self {
        times_ms.sort_by(f64::total_cmp);
        let last = times_ms.len().saturating_sub(1);
        let at = |share: f64| {
            let place = (share * times_ms.len() as f64).ceil() as usize;
            times_ms
                .get(place.saturating_sub(1).min(last))
                .copied()
                .unwrap_or(0.0)
        };
        Self {
            runs: times_ms.len() as u64,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            most_ms: at(1.0),
        }
    }
}

impl ServeFigures {
    /// Returns the times of all runs together.
    fn all(&self) -> Latency {
        self.latency.get(ALL).copied().unwrap_or_default()
    }

    fn resident_mib(&self) -> String {
        let mebibytes = self
            .resident_bytes
            .iter()
            .map(|bytes| short(*bytes as f64 / 1048576.0));
        mebibytes.collect::<Vec<_>>().join(" ")
    }
}

impl Row for ServeFigures {
    const TITLE: &'static str = "A service with peers of which one is hostile, over TLS; latency \
                                 at the peer, in an open session; sessions of one run a second; \
                                 memory: resident, by quarters of the time";
    const COLUMNS: &'static [Column<Self>] = &[
        number("peers", 5, |of| of.peers.to_string()),
        number("s", 5, |of| short(of.seconds)),
        number("runs", 8, |of| of.runs.to_string()),
        number("runs/s", 7, |of| short(of.runs_per_s)),
        number("p50 ms", 7, |of| short(of.all().p50_ms)),
        number("p99 ms", 7, |of| short(of.all().p99_ms)),
        number("sessions/s", 10, |of| short(of.sessions.per_s)),
        number("wrong", 5, |of| of.wrong_results.to_string()),
        number("failed", 6, |of| of.failed.to_string()),
        number("refused", 7, |of| of.refused.to_string()),
        number("stock KiB", 9, |of| (of.stock_bytes / 1024).to_string()),
        number("bound", 8, |of| (of.stock_limit_bytes / 1024).to_string()),
        number("runs", 5, |of| of.stock_runs.to_string()),
        number("level", 5, |of| of.stock_level_runs.to_string()),
        number("memory MiB", 24, |of| of.resident_mib()),
    ];
}

/// The name for all runs together in the latencies.
const ALL: &str = "all";
/// The number of peers, including the hostile one.
const PEERS: usize = 16;
/// The default times of the load.
const QUICK: Duration = Duration::from_secs(5);
const FULL: Duration = Duration::from_secs(300);

/// The task of the parties.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    seconds: u64,
}

/// A party's observations.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Service(scene::ServiceReport),
    Peers(load::LoadReport),
}

/// Loads a service.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    if !options.wants("serve mixed loopback") {
        return Ok(());
    }
    let usual = if options.quick { QUICK } else { FULL };
    let seconds = options.seconds.unwrap_or(usual.as_secs()).max(1);
    let done = both(&Exchanged { seconds }, PartyLink(None), options)?;
    let (Report::Service(service), Report::Peers(load)) = (done.garbler, done.evaluator) else {
        let other = "it reported what the other party should";
        return Err(Error::of(Role::Garbler.name(), other));
    };
    let mut latency: BTreeMap<_, _> = BTreeMap::new();
    latency.insert(
        ALL.to_owned(),
        Latency::of(load.times_ms.values().flatten().copied().collect()),
    );
    let by_name = load.times_ms.into_iter();
    latency.extend(by_name.map(|(name, times)| (name, Latency::of(times))));
    let runs = latency[ALL].runs;
    let (mut slowest, mut others) = (BTreeMap::new(), BTreeMap::new());
    for (name, [slow, other]) in load.taken {
        slowest.insert(name.clone(), slow);
        others.insert(name, other);
    }
    let latency_of_sessions = Latency::of(load.sessions.times_ms);
    let sessions = Sessions {
        per_s: latency_of_sessions.runs as f64 / load.sessions.seconds,
        latency: latency_of_sessions,
    };
    tell(Figures::from(ServeFigures {
        peers: PEERS as u64,
        seconds: load.seconds,
        runs,
        wrong_results: load.wrong,
        failed: load.failures.values().sum(),
        failures: load.failures,
        runs_per_s: runs as f64 / load.seconds,
        latency,
        slowest,
        others,
        sessions,
        hostile: load.hostile,
        refused: service.refused,
        stocked: service.stocked,
        stock_bytes: service.stock_bytes,
        stock_limit_bytes: scene::STOCK_BYTES,
        stock_runs: service.stock_runs,
        stock_level_runs: scene::LEVEL_RUNS,
        resident_bytes: quarters(&service.resident_bytes),
        threads: quarters(&service.threads),
        memory: done.memory,
    }))
}

/// Returns the median of each quarter of the samples.
fn quarters(samples: &[u64]) -> Vec<u64> {
    let quarter = samples.len().div_ceil(4).max(1);
    let medians = samples.chunks(quarter).map(|samples| {
        let mut samples = samples.to_vec();
        samples.sort_unstable();
        samples[samples.len() / 2]
    });
    medians.collect()
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, wire: Wire) -> Result<Report, Error> {
        let (plain, _control) = wire.split();
        let time = Duration::from_secs(self.seconds);
        Ok(match role {
            Role::Garbler => Report::Service(scene::serve(plain)?),
            Role::Evaluator => Report::Peers(load::load(plain, time)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_runs() {
        let times = (1..=200).rev().map(f64::from).collect();
        let latency = Latency::of(times);
        assert_eq!((latency.runs, latency.p50_ms), (200, 100.0));
        assert_eq!((latency.p99_ms, latency.most_ms), (198.0, 200.0));
        assert_eq!(Latency::of(vec![7.0]).p99_ms, 7.0);
        assert_eq!(Latency::of(Vec::new()).runs, 0);
    }

    #[test]
    fn memory_is_told_by_quarters() {
        assert_eq!(quarters(&[1, 2, 3, 4, 5, 6, 7, 8]), [2, 4, 6, 8]);
        assert_eq!(quarters(&[5]), [5]);
        assert_eq!(quarters(&[]), Vec::<u64>::new());
    }
}
