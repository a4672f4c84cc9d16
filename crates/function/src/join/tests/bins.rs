//! The bound of [`sizes`](super::super::sizes) on the failure of placing keys into bins.

use crate::join::sizes::bins;

/// ln 0!, ln 1!, … ln n!.
fn log_factorials(n: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let rest = (1..=n).map(|i| {
        sum += (i as f64).ln();
        sum
    });
    std::iter::once(0.0).chain(rest).collect()
}

/// n keys and M bins in each third.
struct Keys {
    log_factorial: Vec<f64>,
    n: usize,
    third: usize,
}

impl Keys {
    fn choose(&self, of: usize, taken: usize) -> f64 {
        let ln = &self.log_factorial;
        ln[of] - ln[taken] - ln[of - taken]
    }

    /// Returns the logarithm of the least x^-s (e^x − 1 − x)^w: for s keys that have two places or
    /// more in each of w bins. Any x would do.
    fn twice(s: usize, w: usize) -> f64 {
        let (s, w) = (s as f64, w as f64);
        let (mut less, mut more) = (1e-3, s / w + 2.0);
        for _ in 0..40 {
            let x: f64 = f64::midpoint(less, more);
            let mean = x * x.exp_m1() / (x.exp_m1() - x);
            (less, more) = if mean < s / w { (x, more) } else { (less, x) };
        }
        w * (less.exp_m1() - less).ln() - s * less.ln()
    }

    /// Returns the logarithm of the bound for the keys that are not among the s. Any z would do.
    fn others(&self, s: usize, w: [usize; 3]) -> f64 {
        let (r, third) = (self.n - s, self.third as f64);
        if r == 0 {
            return 0.0;
        }
        let [f, g, h] = w.map(|w| w as f64 / third);
        let (q, outside) = ([g * h, f * h, f * g], [f, g, h].map(|f| 1.0 - f));
        let one: f64 = q.iter().zip(outside).map(|(q, outside)| q * outside).sum();
        let (q, p) = (q.map(|q| q / third), 1.0 - f * g * h - one);
        let bins = w.map(|w| (self.third - w) as f64);
        let mut z = r as f64;
        for _ in 0..30 {
            let each = bins.iter().zip(q).map(|(bins, q)| bins * q / (1.0 + q * z));
            z = r as f64 / (p + each.sum::<f64>());
        }
        let each = bins.iter().zip(q).map(|(bins, q)| bins * (q * z).ln_1p());
        let bound = self.log_factorial[r] - r as f64 * z.ln() + p * z + each.sum::<f64>();
        bound.min(0.0)
    }

    /// Returns the logarithm of the bound for sets of s keys with w places in each third.
    fn sets(&self, s: usize, w: [usize; 3]) -> f64 {
        if w.iter().any(|w| *w > self.third || 2 * w > s) {
            return f64::NEG_INFINITY;
        }
        let keys = self.choose(self.n, s) + self.others(s, w);
        let third = |w| self.choose(self.third, w) + Self::twice(s, w);
        let all = 3.0 * (self.log_factorial[s] - s as f64 * (self.third as f64).ln());
        keys + all + w.into_iter().map(third).sum::<f64>()
    }

    /// Returns the logarithm of the bound for sets of s keys with this deficiency: that of equal
    /// thirds, which is the greatest, for each way to cut the places into thirds.
    fn sets_of(&self, s: usize, deficiency: usize) -> f64 {
        let places = s - deficiency;
        let w = [places / 3, (places + 1) / 3, places.div_ceil(3)];
        let greatest = self.sets(s, w);
        for part in [20, 5, 2] {
            let moved = (places / part).min(w[0] - 1);
            let w = [w[0] - moved, w[1], w[2] + moved];
            assert!(self.sets(s, w) <= greatest, "{s} keys, thirds of {w:?}");
        }
        let cuts = (places - 1) as f64 * (places - 2) as f64 / 2.0;
        greatest + cuts.ln()
    }
}

/// Returns a bound on the sum of `each` over all numbers from `first` to `last`. Between the
/// numbers that it computes, which are ever fewer, it takes the greater of both ends. It ends after
/// a value below `least`.
fn sum(first: usize, last: usize, least: f64, each: impl Fn(usize) -> f64) -> f64 {
    let next = |n: &usize| (*n < last).then(|| (n + 1).max(n + n / 50).min(last));
    let (mut sum, mut before, mut value_before) = (0.0, first - 1, 0.0_f64);
    for n in std::iter::successors(Some(first), next) {
        let value = each(n);
        sum += value + (n - before - 1) as f64 * value.max(value_before);
        (before, value_before) = (n, value);
        if value < least {
            break;
        }
    }
    sum
}

/// Returns the base-2 logarithm of the bound for n keys.
fn failure_bits(n: usize) -> f64 {
    let third = bins(n as u64) as usize / 3;
    let keys = Keys {
        log_factorial: log_factorials(n.max(third)),
        n,
        third,
    };
    let of_size = |s: usize| {
        let with = |deficiency| keys.sets_of(s, deficiency).exp();
        sum(1, s - 3, f64::exp2(-100.0), with)
    };
    // None of these ends the sum: sets of more keys may be more likely.
    sum(4, n, -1.0, of_size).log2()
}

#[test]
fn keys_find_places_but_for_the_bound() {
    let octaves = (2..=12).map(|octave| 1 << octave);
    for n in octaves.chain([4106, 4107, 4500, 6000, 8192, 12_000]) {
        let bits = failure_bits(n);
        assert!(bits <= -42.0, "{n} keys: 2^{bits}");
    }
    for n in [1 << 14, 20_000, 1 << 15, 1 << 16, 1 << 17, 150_000, 1 << 20] {
        let bits = failure_bits(n);
        assert!(bits <= -52.0, "{n} keys: 2^{bits}");
    }
}

#[test]
fn more_keys_never_have_fewer_bins() {
    assert!((0..20_000).is_sorted_by_key(bins));
    assert_eq!([4106, 4107, 1 << 17].map(bins), [5391, 5391, 157_749]);
}
