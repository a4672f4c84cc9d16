//! The number of leaky ANDs for a triple: the bound on a cheating party, and the lot sizes that
//! follow.
//!
//! A lot makes n triples from B layers of n leaky ANDs. Each layer is rotated by an independent
//! uniform shift, and bucket i takes item i of each layer. A party that cheats in t leaky ANDs
//! passes the equality check with probability 2^-t, and then knows one input of each. It wins if
//! all items of some bucket are among them.
//!
//! **One lot.** With t_k cheats in layer k, Π t_k / n^(B−1) buckets are expected to be lost, and Π
//! 2^-t_k bounds the probability to pass. Since t·2^-t ≤ 1/2, the probability to win is at most p =
//! 2^-B · n^-(B−1), for all t_k.
//!
//! **A whole epoch.** A party that can win in a lot has cheated in every layer, so it reaches the
//! next lot with probability at most 2^-B. If later lots are lost with probability at most ε, then
//! all of them together are lost with probability at most p + 2^-B · ε, which is at most ε if p ≤ ε
//! · (1 − 2^-B). The rule here uses ε = (1 − 2^-6) · 2^-s, in whole numbers: **63 · n^(B−1) · (2^B
//! − 1) ≥ 64 · 2^s**. It holds for any number of lots, of any sizes.
//!
//! **All epochs with a peer.** A peer that is caught, or leaves, can try again in another epoch. So
//! epochs that it does not finish are counted, and s is raised by [`charge_bits`] of their number.
//! The first epoch leaves 2^-6 of 2^-s, which is enough for all other epochs together.

use crate::Error;
use crate::malicious::{log2_sum, transfers_log2, tries};

/// The smallest s of a run.
pub const MIN_SECURITY_BITS: u8 = 40;

/// The largest s of a run. The security that a run achieves is lower: [`SecurityBits::held_bits`].
pub const MAX_SECURITY_BITS: u8 = 64;

/// The largest s with which lots are made, after runs that were not finished.
const MAX_CHARGED_BITS: u8 = 80;

/// The first epoch leaves 2^-s / `LEFT_TO_TRIES` to all later ones.
const LEFT_TO_TRIES: u64 = 64;

/// The part of 2^-s that no lot of any epoch uses, as a power of two. It remains because
/// [`charge_bits`] rounds up.
const UNUSED_LOG2: i32 = -9;

/// Returns the number of bits by which s is raised after `unfinished` epochs with a peer: ⌈lg
/// 64t(t+1)⌉ after t of them. Then any number of epochs together are lost with probability at most
/// 2^-s.
///
/// Lots made with s lose at most 63/64 · 2^-s. The sum of 1 / (64t(t+1)) over all t ≥ 1 is 1/64.
pub fn charge_bits(unfinished: u64) -> u8 {
    tries::charge_bits(LEFT_TO_TRIES, unfinished)
}

/// The largest number of leaky ANDs of a lot. It bounds a party's memory, at most 128 bytes for
/// each.
const MAX_LEAKY_ANDS: u64 = 1_200_000;

/// The statistical security parameter s: a cheating party succeeds with probability at most 2^-s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityBits(u8);

impl SecurityBits {
    /// Returns s = `bits`.
    ///
    /// # Errors
    ///
    /// `bits` is below [`MIN_SECURITY_BITS`] or above [`MAX_SECURITY_BITS`].
    pub fn new(bits: u8) -> Result<Self, Error> {
        match bits {
            MIN_SECURITY_BITS..=MAX_SECURITY_BITS => Ok(Self(bits)),
            found => Err(Error::SecurityBits {
                found,
                least: MIN_SECURITY_BITS,
                limit: MAX_SECURITY_BITS,
            }),
        }
    }

    /// Returns s = `bits` for any `bits` from 1, however insecure. For tests only.
    ///
    /// # Errors
    ///
    /// `bits` is 0 or above [`MAX_SECURITY_BITS`].
    pub fn insecure_for_measurements(bits: u8) -> Result<Self, Error> {
        match bits {
            1..MIN_SECURITY_BITS => Ok(Self(bits)),
            bits => Self::new(bits),
        }
    }

    /// Returns the s with which lots are made after it is raised by `bits` bits ([`charge_bits`]),
    /// or `None` if that exceeds 80.
    #[must_use]
    pub fn charged(self, bits: u8) -> Option<Self> {
        let charged = self.0.saturating_add(bits);
        (charged <= MAX_CHARGED_BITS).then_some(Self(charged))
    }

    /// Returns s.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns the bits of statistical security, rounded down, of runs that ask for this s: against
    /// cheats in lots and in the check of the OT extension together.
    pub fn held_bits(self) -> u8 {
        let lots = (1.0 - f64::from(UNUSED_LOG2).exp2()).log2() - f64::from(self.0);
        -log2_sum([lots, transfers_log2()]) as u8
    }
}

/// The size of a lot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LotSize {
    /// n: the number of triples.
    pub triples: usize,
    /// B: the number of leaky ANDs for each triple.
    pub layers: usize,
}

impl LotSize {
    /// The lot without triples.
    pub(super) const EMPTY: Self = Self {
        triples: 0,
        layers: 0,
    };

    /// Returns the cheapest lot for `wanted` more triples, or for as many of them as a lot may
    /// have.
    pub fn cheapest(wanted: u64, security: SecurityBits) -> Self {
        if wanted == 0 {
            return Self::EMPTY;
        }
        // s + 1 layers always suffice: a bucket may then be the only one.
        let layers = 2..=u32::from(security.get()) + 1;
        let sizes = layers.filter_map(|layers| {
            let least = least_triples(layers, security);
            let most = MAX_LEAKY_ANDS / u64::from(layers);
            (least <= most).then(|| (wanted.clamp(least, most), u64::from(layers)))
        });
        // Compare the leaky ANDs for each used triple, without fractions.
        let (triples, layers) = sizes
            .reduce(|best, size| {
                let cost = |(triples, layers): (u64, u64)| triples * layers;
                let used = |(triples, _): (u64, u64)| triples.min(wanted);
                if cost(size) * used(best) < cost(best) * used(size) {
                    size
                } else {
                    best
                }
            })
            .unwrap_or((1, u64::from(security.get()) + 1));
        Self {
            triples: triples as usize,
            layers: layers as usize,
        }
    }

    /// Returns the number of leaky ANDs of the lot.
    pub const fn leaky_ands(self) -> usize {
        self.triples * self.layers
    }

    /// Returns the number of bits that each party opens for the lot's buckets: for each bucket, one
    /// for each layer but the first.
    pub(super) const fn openings(self) -> usize {
        self.triples * self.layers.saturating_sub(1)
    }

    /// Returns the number of OTs in each direction that make the lot: three for each leaky AND, and
    /// one for each triple's mask.
    pub const fn ots(self) -> usize {
        3 * self.leaky_ands() + self.triples
    }

    /// Returns the s of lots of this size, rounded down: the logarithm of 63/64 · n^(B−1) · (2^B −
    /// 1).
    pub fn security_bits(self) -> u32 {
        let strength = strength(self.triples as u64, self.layers as u32);
        (strength / u128::from(LEFT_TO_TRIES) * u128::from(LEFT_TO_TRIES - 1))
            .max(1)
            .ilog2()
    }
}

/// Returns n^(B−1) · (2^B − 1), or the largest number if that overflows.
fn strength(triples: u64, layers: u32) -> u128 {
    let guesses = 1_u128
        .checked_shl(layers)
        .map_or(u128::MAX, |power| power - 1);
    let buckets = u128::from(triples).saturating_pow(layers.saturating_sub(1));
    buckets.saturating_mul(guesses).max(1)
}

/// Returns the smallest n for which lots of `layers` layers are as strong as `security` requires.
fn least_triples(layers: u32, security: SecurityBits) -> u64 {
    let left = u128::from(LEFT_TO_TRIES);
    let is_enough = |n| strength(n, layers).saturating_mul(left - 1) >= left << security.get();
    let (mut least, mut enough) = (1, 1_u64 << security.get().min(63));
    while least < enough {
        let middle = least + (enough - least) / 2;
        if is_enough(middle) {
            enough = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn security(bits: u8) -> SecurityBits {
        SecurityBits::insecure_for_measurements(bits).unwrap()
    }

    fn is_enough(triples: u64, layers: u32, bits: u32) -> bool {
        strength(triples, layers).saturating_mul(63) >= 64 << bits
    }

    #[test]
    fn lots_are_as_strong_as_they_must_be_and_no_smaller() {
        for bits in [1, 7, 40, 41, 53, 64] {
            for layers in 2..=u32::from(bits) + 1 {
                let least = least_triples(layers, security(bits));
                assert!(is_enough(least, layers, bits.into()), "{bits} {layers}");
                assert!(least == 1 || !is_enough(least - 1, layers, bits.into()));
            }
            for wanted in [1, 2, 100, 6400, 30_000, 1 << 20, 100_000_000] {
                let size = LotSize::cheapest(wanted, security(bits));
                let (triples, layers) = (size.triples as u64, size.layers as u32);
                assert!(is_enough(triples, layers, bits.into()), "{bits} {size:?}");
                assert!(size.leaky_ands() as u64 <= MAX_LEAKY_ANDS);
                assert!(size.triples as u64 >= wanted.min(25_000), "{bits} {size:?}");
            }
        }
    }

    /// The values are those of the table on the protocol's page.
    #[test]
    fn least_lots_are_those_of_the_page() {
        let least = |layers, bits| least_triples(layers, security(bits));
        assert_eq!(
            [3, 4, 5, 6].map(|b| least(b, 40)),
            [399_458, 4208, 436, 113]
        );
        assert_eq!(
            [4, 5, 6, 7].map(|b| least(b, 64)),
            [1_077_018, 27_884, 3124, 727]
        );
        let size = |wanted, bits| LotSize::cheapest(wanted, security(bits));
        let lot = |triples, layers| LotSize { triples, layers };
        assert_eq!(size(6400, 40), lot(6400, 4));
        assert_eq!(size(1, 40), lot(1, 41));
        assert_eq!(size(10_000_000, 40), lot(400_000, 3));
        assert_eq!(size(10_000_000, 64), lot(240_000, 5));
        assert_eq!(size(0, 40), LotSize::EMPTY);
    }

    /// Compares the bound with every way to spread cheats over layers, counted exhaustively for a
    /// small lot.
    #[test]
    fn no_spread_of_cheats_wins_more_than_the_bound() {
        let (n, layers) = (5_u32, 3);
        let mut best = 0.0_f64;
        for t in 0..5_u32.pow(layers) {
            let cheats: Vec<u32> = (0..layers).map(|k| t / 5_u32.pow(k) % 5).collect();
            // The share of all shifts of the second and third layer for which a bucket is lost.
            let lost = (0..n * n).filter(|shifts| {
                let shift = [0, shifts % n, shifts / n];
                (0..n).any(|i| {
                    let items = cheats.iter().zip(shift);
                    items.into_iter().all(|(t, shift)| (i + shift) % n < *t)
                })
            });
            let chance = lost.count() as f64 / f64::from(n * n);
            let passes = 0.5_f64.powi(cheats.iter().sum::<u32>() as i32);
            best = best.max(chance * passes);
        }
        assert!(best <= 2_f64.powi(-3) / 25.0, "{best}");
    }

    /// Fewer than 40 bits are not secure against a malicious party, and more than 64 exceed what
    /// the OTs provide.
    #[test]
    fn what_is_no_security_is_refused() {
        for bits in [0, 1, 39, 65, 80, 255] {
            let error = SecurityBits::new(bits).unwrap_err().to_string();
            assert!(error.contains("40 to 64 are"), "{error}");
        }
        assert!([40, 64].iter().all(|bits| SecurityBits::new(*bits).is_ok()));
        for bits in [0, 65] {
            assert!(SecurityBits::insecure_for_measurements(bits).is_err());
        }
    }

    /// The values are computed by hand, with 8128 · 2^-64 for the check of the OTs. At s = 41 that
    /// is 0.496 of the 2^-9 that lots leave of 2^-s, at s = 42 it is 0.992 of it, and at s = 43
    /// more.
    #[test]
    fn no_s_gives_more_than_the_transfers_leave() {
        let held = |bits| security(bits).held_bits();
        assert_eq!([1, 6, 40, 41, 42].map(held), [1, 6, 40, 41, 42]);
        assert_eq!([43, 45, 50, 51, 57].map(held), [42, 44, 49, 50, 50]);
        assert_eq!([58, 64].map(held), [51, 51]);
    }

    /// Checks both terms in W of the protocol's page, and their sum with the share of the folds.
    #[test]
    fn queries_leave_what_the_page_says() {
        // Bits 0 and 1 of a Δ are public.
        let secret_bits = 128 - 2;
        // The hashes of the two labels of a gate that the evaluator does not have.
        let hidden = 2_u32 << tacit_kernels::hash::EPOCH_BITS;
        let guess = f64::from(hidden).log2() - f64::from(secret_bits);
        assert_eq!(guess, -115.0);
        let transfers = transfers_log2() - 64.0;
        assert!((-115.02..-115.0).contains(&transfers), "{transfers}");
        let folds = -128.0;
        assert!(log2_sum([guess, transfers, folds]) <= -114.0);
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/protocols/authenticated.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        for said in ["W · 2^-115** is guessing", "> 2^-s + W · 2^-114,"] {
            assert!(page.contains(said), "{said}");
        }
    }

    /// All epochs with a peer, of any number, are lost with probability at most 2^-s. The sum has
    /// the loss of the first epoch and of 2^20 further ones; its tail is below the integral of
    /// 1/(64 t^2).
    #[test]
    fn all_tries_together_stay_below_what_was_asked_for() {
        let tries = 1_u64 << 20;
        let of = |tries| (-f64::from(charge_bits(tries))).exp2();
        let further: f64 = (1..tries).map(of).sum();
        let tail = 1.0 / (64.0 * (tries - 1) as f64);
        let unused = f64::from(UNUSED_LOG2).exp2();
        assert!(63.0 / 64.0 + further + tail <= 1.0 - unused, "{further}");
        assert_eq!([0, 1, 2, 3, 20].map(charge_bits), [0, 7, 9, 10, 15]);
        let charged = |bits, tries| security(bits).charged(charge_bits(tries));
        assert_eq!(charged(40, 1).map(SecurityBits::get), Some(47));
        assert_eq!(charged(64, 31).map(SecurityBits::get), Some(80));
        assert!(charged(64, 32).is_none() && charged(40, u64::MAX).is_none());
        // There is a lot for every s to which a run is raised.
        for bits in MIN_SECURITY_BITS..=MAX_CHARGED_BITS {
            for wanted in [1, 6400, 10_000_000] {
                let size = LotSize::cheapest(wanted, SecurityBits(bits));
                let (triples, layers) = (size.triples as u64, size.layers as u32);
                assert!(is_enough(triples, layers, bits.into()), "{bits} {size:?}");
                assert!(size.leaky_ands() as u64 <= MAX_LEAKY_ANDS);
            }
        }
    }
}
