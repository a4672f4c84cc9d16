//! The clock: times a piece of work many times, after a warm-up.

use std::time::{Duration, Instant};

/// The shortest sample, long enough that the clock's own cost (some 30 ns) does not matter.
const SAMPLE: Duration = Duration::from_micros(100);

/// The time spent on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The time of unmeasured work beforehand: caches fill, the CPU's frequency settles.
    pub warm_up: Duration,
    /// The time of measured work.
    pub measured: Duration,
    /// The number of samples that are taken even if they last longer than that.
    pub least_samples: usize,
}

impl Patience {
    /// The patience for a figure to be quoted.
    pub const FULL: Self = Self {
        warm_up: Duration::from_millis(100),
        measured: Duration::from_millis(500),
        least_samples: 9,
    };

    /// The patience for a first look.
    pub const QUICK: Self = Self {
        warm_up: Duration::from_millis(5),
        measured: Duration::from_millis(25),
        least_samples: 6,
    };

    /// Returns the seconds that `work` takes, one figure per sample. A short `work` is repeated
    /// within a sample.
    pub fn time(self, mut work: impl FnMut()) -> Vec<f64> {
        let begun = Instant::now();
        work();
        let mut repeats = 1_u32;
        while begun.elapsed() < self.warm_up || repeats == 1 {
            let lasted = sample(repeats, &mut work);
            if lasted >= SAMPLE || repeats > u32::MAX / 2 {
                break;
            }
            repeats *= 2;
        }
        while begun.elapsed() < self.warm_up {
            sample(repeats, &mut work);
        }
        let (begun, mut samples) = (Instant::now(), Vec::new());
        while samples.len() < self.least_samples || begun.elapsed() < self.measured {
            samples.push(sample(repeats, &mut work).as_secs_f64() / f64::from(repeats));
        }
        samples
    }
}

/// Returns the time of this many repetitions of `work`.
fn sample(repeats: u32, work: &mut impl FnMut()) -> Duration {
    let begun = Instant::now();
    for _ in 0..repeats {
        work();
    }
    begun.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_samples_as_asked_for_of_ever_so_short_a_work() {
        let patience = Patience {
            warm_up: Duration::ZERO,
            measured: Duration::ZERO,
            least_samples: 7,
        };
        let mut calls = 0_u64;
        let samples = patience.time(|| calls = std::hint::black_box(calls + 1));
        assert_eq!(samples.len(), 7);
        assert!(samples.iter().all(|seconds| *seconds >= 0.0));
        assert!(
            calls > 7,
            "a short work is repeated within a sample: {calls}"
        );
    }
}
