//! The number of circuits of a batch: the cut-and-choose bounds, and a search for the cheapest cut.
//!
//! The bounds are those of Lindell–Riva 2014/2015. Of M circuits, M − NB are opened and checked,
//! and the NB others are distributed at random over N buckets of B. With t bad circuits the garbler
//! is not caught with probability C(M−t, NB−t)/C(M, NB). It wins if all B circuits of one bucket
//! are bad, since with recovery one good circuit is enough. That happens with probability at most
//! N·C(t,B)/C(NB,B).
//!
//! The bound is over the garbler's best t. **Arithmetic**: natural logarithms of factorials are
//! summed in `f64`. A sum of n ≤ 2^22 terms stays below 2^26, so that its error is below 2^22 ·
//! 2^26 · 2^-53 = 2^-5 in the worst case, and in practice about the square root of that.
//! Compensated summation brings the worst case below 2^-20. `MARGIN` covers ten such logarithms and
//! is added to every bound, so that every reported bound holds.

use std::fmt;

use crate::Error;

/// A margin for rounding that is added to the natural logarithm of every bound.
const MARGIN: f64 = 1e-4;

/// The largest number of circuits of a batch.
pub const MAX_CIRCUITS: u64 = 1 << 22;

/// Largest bucket that a search tries.
const MAX_BUCKET: u64 = 64;

/// A cut: M circuits for N buckets of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// N: the number of executions, each with one bucket.
    pub executions: u64,
    /// B: the number of circuits in a bucket.
    pub bucket: u64,
    /// M: the number of all circuits.
    pub circuits: u64,
}

impl Cut {
    /// Returns the number of evaluated circuits: N·B.
    pub fn evaluated(self) -> u64 {
        self.executions * self.bucket
    }

    /// Returns the number of circuits that are opened and checked: M − N·B.
    pub fn checked(self) -> u64 {
        self.circuits - self.evaluated()
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            executions,
            bucket,
            circuits,
        } = self;
        write!(
            f,
            "{circuits} circuits for {executions} buckets of {bucket}"
        )
    }
}

/// Natural logarithms of the factorials from 0 to some bound.
pub struct Factorials(Vec<f64>);

impl Factorials {
    /// Returns the factorials up to `max`!.
    ///
    /// # Errors
    ///
    /// `max` is above [`MAX_CIRCUITS`].
    pub fn up_to(max: u64) -> Result<Self, Error> {
        if max > MAX_CIRCUITS {
            return Err(Error::ApiMisuse("a batch has at most 2^22 circuits"));
        }
        // This is Kahan's compensated sum.
        let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
        let mut logs = Vec::with_capacity(max as usize + 1);
        logs.push(0.0);
        for n in 1..=max {
            let term = (n as f64).ln() - lost;
            let next = sum + term;
            lost = (next - sum) - term;
            sum = next;
            logs.push(sum);
        }
        Ok(Self(logs))
    }

    /// Returns ln C(n, k), for k ≤ n.
    pub(crate) fn choose(&self, n: u64, k: u64) -> f64 {
        self.0[n as usize] - self.0[k as usize] - self.0[(n - k) as usize]
    }

    /// Returns the bits of statistical security of `cut`: the garbler wins with a probability of at
    /// most two to minus this number.
    ///
    /// # Panics
    ///
    /// Panics if the cut evaluates more circuits than it has, or has more circuits than there are
    /// factorials.
    pub fn security_bits(&self, cut: Cut) -> f64 {
        let evaluated = cut.evaluated();
        assert!(
            evaluated <= cut.circuits && (cut.circuits as usize) < self.0.len(),
            "a cut evaluates some of its circuits"
        );
        let all = self.choose(cut.circuits, evaluated);
        let mut worst = f64::NEG_INFINITY;
        for bad in cut.bucket..=evaluated {
            let unseen = self.choose(cut.circuits - bad, evaluated - bad) - all;
            if unseen < worst {
                // It decreases with every bad circuit, and the second factor is at most 1.
                break;
            }
            let lost = self.lost(cut, bad).min(0.0);
            worst = worst.max(unseen + lost);
        }
        -(worst + MARGIN) / std::f64::consts::LN_2
    }

    /// Returns the cut with the fewest circuits that has `security_bits` in buckets of `size`, if
    /// there are enough factorials.
    fn fewest(&self, executions: u64, size: u64, security_bits: f64) -> Option<Cut> {
        let cut = |circuits| Cut {
            executions,
            bucket: size,
            circuits,
        };
        let enough = |circuits| self.security_bits(cut(circuits)) >= security_bits;
        let (mut low, mut high) = (executions * size, self.0.len() as u64 - 1);
        if low > high || !enough(high) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(cut(low))
    }

    /// Returns the logarithm of the bound on losing a bucket with `bad` bad circuits among the
    /// evaluated ones.
    fn lost(&self, cut: Cut, bad: u64) -> f64 {
        let all = self.choose(cut.evaluated(), cut.bucket);
        (cut.executions as f64).ln() + self.choose(bad, cut.bucket) - all
    }
}

/// The costs of a batch's circuits, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitCost {
    /// The cost of a circuit that is opened and checked.
    pub checked: f64,
    /// The cost of a circuit that is kept and evaluated.
    pub evaluated: f64,
}

/// Returns the cheapest cut for `executions` with at least `security_bits`.
///
/// # Errors
///
/// No cut within [`MAX_CIRCUITS`] is as secure.
pub fn cheapest(executions: u64, security_bits: f64, cost: CircuitCost) -> Result<Cut, Error> {
    const NONE: Error = Error::ApiMisuse("no cut of at most 2^22 circuits is as secure");
    if executions == 0 || executions > MAX_CIRCUITS / 2 {
        return Err(NONE);
    }
    let factorials =
        Factorials::up_to(MAX_CIRCUITS.min(executions.saturating_mul(4 * MAX_BUCKET)))?;
    let mut best: Option<(f64, Cut)> = None;
    for size in 1..=MAX_BUCKET {
        let evaluated = cost.evaluated * (executions * size) as f64;
        if best.is_some_and(|(least, _)| evaluated >= least) {
            // Larger buckets cost more for the evaluated circuits alone.
            break;
        }
        let Some(cut) = factorials.fewest(executions, size, security_bits) else {
            continue;
        };
        let [checked, evaluated] = [cut.checked(), cut.evaluated()].map(|count| count as f64);
        let total = cost.checked * checked + cost.evaluated * evaluated;
        if best.is_none_or(|(least, _)| total < least) {
            best = Some((total, cut));
        }
    }
    best.map(|(_, cut)| cut).ok_or(NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(executions: u64, bucket: u64, circuits: u64) -> Cut {
        Cut {
            executions,
            bucket,
            circuits,
        }
    }

    fn bits(cut: Cut) -> f64 {
        let factorials = Factorials::up_to(cut.circuits).expect("in bounds");
        factorials.security_bits(cut)
    }

    #[test]
    fn the_smallest_sets_for_43_bits() {
        for (executions, size, circuits) in [(32, 9, 421), (128, 8, 1247), (1024, 6, 7161)] {
            let enough = bits(cut(executions, size, circuits));
            assert!(enough >= 43.0, "{executions}, {size}, {circuits}: {enough}");
            let circuits = circuits - 1;
            let fewer = bits(cut(executions, size, circuits));
            assert!(fewer < 43.0, "{executions}, {size}, {circuits}: {fewer}");
        }
    }

    /// The parameters of the authors' code miss the 40 bits that their paper claims.
    #[test]
    fn published_parameters_miss_40_bits() {
        for (executions, size, share, reached) in [
            (32, 8, 0.73, 35.0),
            (128, 6, 0.77, 33.0),
            (1024, 4, 0.72, 30.0),
        ] {
            let circuits = ((executions * size) as f64 / share).ceil() as u64;
            let found = bits(cut(executions, size, circuits));
            assert!((found - reached).abs() < 1.0, "{executions}: {found}");
        }
    }

    /// Compares the bound with exact counting at a small size.
    #[test]
    fn the_bound_is_the_exact_one() {
        let choose = |n: u64, k: u64| (1..=k).fold(1.0, |c, i| c * (n - k + i) as f64 / i as f64);
        let small = cut(3, 2, 11);
        let exact = (2..=6)
            .map(|t| {
                let lost = 3.0 * choose(t, 2) / choose(6, 2);
                choose(11 - t, 6 - t) / choose(11, 6) * f64::min(1.0, lost)
            })
            .fold(0.0, f64::max);
        let found = bits(small);
        assert!((found + exact.log2()).abs() < 1e-3, "{found} and {exact}");
    }

    /// A garbler that passes the cut without winning may try again at no cost. So it wins with
    /// probability win(t) / (1 − pass(t)) before a try is counted. The test uses the fewest
    /// circuits for a share of 40 bits, and of the 80 bits up to which a charge goes.
    #[test]
    fn tries_that_finish_add_next_to_nothing() {
        let factorials = Factorials::up_to(MAX_CIRCUITS).expect("in bounds");
        let mut most = 0.0_f64;
        for executions in [1, 8, 32, 128, 1024, 4096] {
            for (size, wanted) in (2..24).flat_map(|size| [42.0, 82.0].map(|bits| (size, bits))) {
                let cut = factorials.fewest(executions, size, wanted);
                let Some(cut) = cut else { continue };
                let all = factorials.choose(cut.circuits, cut.evaluated());
                let bits = factorials.security_bits(cut);
                let mut worst = f64::NEG_INFINITY;
                for bad in size..=cut.evaluated() {
                    let left = cut.evaluated() - bad;
                    let pass = factorials.choose(cut.circuits - bad, left) - all;
                    let lost = factorials.lost(cut, bad).min(0.0);
                    worst = worst.max(pass + lost - (-pass.exp_m1()).ln());
                    // From here on `pass` decreases, and 1 − pass is close to 1.
                    if pass < worst - 1.0 {
                        break;
                    }
                }
                most = most.max(bits + (worst + MARGIN) / std::f64::consts::LN_2);
            }
        }
        assert!((0.005..0.01).contains(&most), "{most}");
    }

    #[test]
    fn the_cheapest_set_is_secure_and_no_dearer_than_the_known() {
        let even = CircuitCost {
            checked: 1.0,
            evaluated: 1.0,
        };
        for (executions, known) in [(32, 421), (128, 1247), (1024, 7161)] {
            let found = cheapest(executions, 43.0, even).expect("there is one");
            assert!(found.circuits <= known, "{found}");
            assert!(bits(found) >= 43.0);
        }
        let dear = CircuitCost {
            checked: 1.0,
            evaluated: 50.0,
        };
        let small = cheapest(128, 43.0, dear).expect("there is one");
        let usual = cheapest(128, 43.0, even).expect("there is one");
        assert!(small.bucket <= usual.bucket && small.circuits >= usual.circuits);
        assert!(cheapest(0, 43.0, even).is_err());
        assert!(cheapest(1, 1e6, even).is_err());
        assert!(Factorials::up_to(MAX_CIRCUITS + 1).is_err());
    }

    #[test]
    fn a_search_that_ends_early_finds_the_cheapest() {
        for (executions, checked, evaluated) in [(1, 1.0, 1.0), (8, 1.0, 9.0), (32, 9.0, 1.0)] {
            let cost = CircuitCost { checked, evaluated };
            let factorials = Factorials::up_to(executions * 4 * MAX_BUCKET).expect("in bounds");
            let total =
                |cut: Cut| checked * cut.checked() as f64 + evaluated * cut.evaluated() as f64;
            let sizes = 1..=MAX_BUCKET;
            let cuts = sizes.filter_map(|size| factorials.fewest(executions, size, 43.0));
            let least = cuts
                .map(total)
                .min_by(f64::total_cmp)
                .expect("there is one");
            let found = cheapest(executions, 43.0, cost).expect("there is one");
            assert_eq!(total(found), least, "{executions}");
        }
    }
}
