//! Runs as their peers see them, and the waits of the slowest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit::cost::Cost;

/// The mean costs of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeanCosts {
    /// The number of runs.
    pub runs: u64,
    /// The percentage that were the first of their session.
    pub first_percent: f64,
    /// The milliseconds by phase, under the names in costs. The remaining time is `rest`.
    pub phases_ms: BTreeMap<String, f64>,
}

/// A run that ended with the right result.
pub(super) struct Sample {
    pub(super) time_ms: f64,
    is_first: bool,
    phases_ms: BTreeMap<&'static str, f64>,
}

impl Sample {
    /// Returns the sample of a run of this cost, which may be the first of its session.
    pub(super) fn new(time_ms: f64, is_first: bool, cost: &Cost) -> Self {
        let mut phases_ms = BTreeMap::new();
        for phase in &cost.phases {
            *phases_ms.entry(phase.phase.name()).or_insert(0.0) += 1e3 * phase.wall.as_secs_f64();
        }
        phases_ms.insert("rest", time_ms - phases_ms.values().sum::<f64>());
        Self {
            time_ms,
            is_first,
            phases_ms,
        }
    }
}

/// Returns the costs of the slowest hundredth of these runs, and those of the others.
pub(super) fn slowest_and_others(mut samples: Vec<Sample>) -> [MeanCosts; 2] {
    samples.sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms));
    let (slowest, others) = samples.split_at(samples.len().div_ceil(100));
    [slowest, others].map(mean)
}

fn mean(samples: &[Sample]) -> MeanCosts {
    let runs = samples.len().max(1) as f64;
    let mut phases_ms = BTreeMap::new();
    for (phase, time_ms) in samples.iter().flat_map(|sample| &sample.phases_ms) {
        *phases_ms.entry((*phase).to_owned()).or_insert(0.0) += time_ms / runs;
    }
    let firsts = samples.iter().filter(|sample| sample.is_first).count();
    MeanCosts {
        runs: samples.len() as u64,
        first_percent: 100.0 * firsts as f64 / runs,
        phases_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_slow() {
        let sample = |number: u32| Sample {
            time_ms: f64::from(number),
            is_first: number > 199,
            phases_ms: [("run", f64::from(number))].into(),
        };
        let [slowest, others] = slowest_and_others((1..=200).map(sample).collect());
        assert_eq!((slowest.runs, others.runs), (2, 198));
        assert_eq!((slowest.first_percent, others.first_percent), (50.0, 0.0));
        let run = |taken: &MeanCosts| taken.phases_ms["run"].round();
        assert_eq!((run(&slowest), run(&others)), (200.0, 100.0));
        let [slowest, others] = slowest_and_others(Vec::new());
        assert_eq!(
            (slowest, others),
            (MeanCosts::default(), MeanCosts::default())
        );
    }
}
