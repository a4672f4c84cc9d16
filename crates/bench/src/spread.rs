//! The median of a set of samples, and its uncertainty.
//!
//! Times on a machine have a floor and a long tail, so everything here depends only on order: the
//! median, the median absolute deviation, and the interval between two order statistics that covers
//! the true median with 95 % (David and Nagaraja, *Order Statistics*, section 7.1; the only
//! assumption is that samples are independent).

use serde::{Deserialize, Serialize};

/// A measured quantity. The name of the field that holds it contains its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The number of samples.
    pub samples: usize,
    /// Their median.
    pub median: f64,
    /// The median of the distances from the median.
    pub deviation: f64,
    /// The interval that covers the true median with 95 %; `None` below six samples, which are too
    /// few.
    pub interval_95: Option<[f64; 2]>,
    /// The least sample: the time of the work when nothing else uses the machine.
    pub least: f64,
}

impl Spread {
    /// Returns the statistics of `samples`.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(samples: &[f64]) -> Self {
        assert!(!samples.is_empty(), "a spread of no samples");
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let center = median(&sorted);
        let mut distances: Vec<f64> = sorted.iter().map(|x| (x - center).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let rank = rank_95(sorted.len());
        Self {
            samples: sorted.len(),
            median: center,
            deviation: median(&distances),
            interval_95: rank.map(|rank| [sorted[rank], sorted[sorted.len() - 1 - rank]]),
            least: sorted[0],
        }
    }

    /// Returns the statistics of the samples times `factor`, which must be positive.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            deviation: self.deviation * factor,
            interval_95: self.interval_95.map(|ends| ends.map(|end| end * factor)),
            least: self.least * factor,
            ..self
        }
    }

    /// Returns the deviation in percent of the median, as text.
    pub(crate) fn deviation_text(&self) -> String {
        let share = if self.median == 0.0 {
            0.0
        } else {
            self.deviation / self.median
        };
        format!("{:.1}", 100.0 * share)
    }
}

/// The mean of samples, for comparison with a published table of means: a median cannot be compared
/// with those.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Half of the interval around it that covers the true mean with 95 %, by the normal
    /// distribution.
    pub half_interval_95: f64,
}

impl Mean {
    /// Returns the mean of `samples`.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(samples: &[f64]) -> Self {
        assert!(!samples.is_empty(), "a mean of no samples");
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
        let variance = squares / (count - 1.0).max(1.0);
        Self {
            mean,
            half_interval_95: 1.96 * (variance / count).sqrt(),
        }
    }
}

impl core::fmt::Display for Mean {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:.2} ± {:.2}", self.mean, self.half_interval_95)
    }
}

/// Returns the median of ordered samples.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

/// Returns the greatest rank such that the median lies between the samples of that rank from both
/// ends with at least 95 %. Each sample is below the median with probability 1/2, so the number
/// below is binomial.
fn rank_95(samples: usize) -> Option<usize> {
    // Beyond this number the normal distribution is a sufficient approximation of the binomial.
    const EXACT: usize = 500;
    if samples > EXACT {
        let samples = samples as f64;
        return Some((samples / 2.0 - 0.98 * samples.sqrt()).floor() as usize);
    }
    // The probability of at most `rank` samples below, which is the probability of missing on one
    // side.
    let (mut chance, mut sum, mut rank) = (0.5_f64.powi(samples as i32), 0.0, None);
    for below in 0..samples / 2 {
        sum += chance;
        if sum > 0.025 {
            break;
        }
        rank = Some(below);
        chance *= (samples - below) as f64 / (below + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_set() {
        let spread = Spread::of(&[9.0, 1.0, 2.0, 4.0, 3.0, 100.0, 5.0]);
        assert_eq!((spread.samples, spread.median, spread.least), (7, 4.0, 1.0));
        // The distances are 3, 2, 1, 0, 1, 5, 96.
        assert_eq!(spread.deviation, 2.0);
        assert_eq!(spread.interval_95, Some([1.0, 100.0]));
        let doubled = spread.scaled(2.0);
        assert_eq!(
            (doubled.median, doubled.interval_95),
            (8.0, Some([2.0, 200.0]))
        );
        assert_eq!(Spread::of(&[1.0, 2.0]).median, 1.5);
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Conover, Practical Nonparametric Statistics: the sign test's intervals.
        let known = [
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (15, Some(3)),
        ];
        for (samples, rank) in known.into_iter().chain([(20, Some(5)), (50, Some(17))]) {
            assert_eq!(rank_95(samples), rank, "{samples}");
        }
        // The approximation continues the exact sum.
        let (exact, normal) = (rank_95(500).unwrap(), rank_95(501).unwrap());
        assert!(exact.abs_diff(normal) <= 1, "{exact} {normal}");
    }

    #[test]
    fn a_known_mean() {
        // Squared distances from 5: 9, 1, 1, 1, 0, 0, 4, 16; variance 32/7.
        let mean = Mean::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        let half = 1.96 * (32.0_f64 / 7.0 / 8.0).sqrt();
        assert_eq!((mean.mean, mean.half_interval_95), (5.0, half));
        assert_eq!(mean.to_string(), "5.00 ± 1.48");
        assert_eq!(Mean::of(&[3.0]).half_interval_95, 0.0);
    }

    #[test]
    fn one_sample_is_its_own_median_and_claims_no_interval() {
        let spread = Spread::of(&[3.0]);
        assert_eq!((spread.median, spread.deviation), (3.0, 0.0));
        assert_eq!(spread.interval_95, None);
    }
}
