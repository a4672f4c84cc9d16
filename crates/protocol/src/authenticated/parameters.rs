//! How many leaky ANDs make a triple: the bound on a cheating party, and the lots that it gives.
//!
//! A lot makes n triples from B layers of n leaky ANDs. Layer k is turned by an independent uniform
//! shift, and bucket i takes item i of each layer. A party that cheats in t leaky ANDs passes the
//! equality check with probability 2^-t, and then knows one input of each. It wins where all
//! items of some bucket are among them.
//!
//! **One lot.** With t_k cheats in layer k, Π t_k / n^(B−1) buckets are expected to be lost, and
//! Π 2^-t_k bounds the chance to pass. Since t·2^-t ≤ 1/2, the chance to win is at most
//! p = 2^-B · n^-(B−1), whatever the t_k.
//!
//! **A whole epoch.** Whoever tries in a lot has cheated in every layer, so it goes on to the next
//! lot with probability 2^-B at most. If later lots are lost with probability 2^-s at most, then all of them are with
//! p + 2^-B · 2^-s, which is at most 2^-s where p ≤ 2^-s · (1 − 2^-B). That is the rule here, in
//! whole numbers: **n^(B−1) · (2^B − 1) ≥ 2^s**. It holds for any number of lots, of any sizes.

use crate::Error;

/// Largest s. Beyond it the check of the OT extension would be what bounds a cheating party: it
/// leaves W · 2^-115 for W hashes, which a peer that computes 2^51 of them brings to 2^-64.
pub const MAX_SECURITY_BITS: u8 = 64;

/// Most leaky ANDs of a lot, which bounds a party's memory: 128 bytes of each are held at most.
const MAX_LEAKY_ANDS: u64 = 1_200_000;

/// The statistical security parameter s: a cheating party succeeds with probability 2^-s at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityBits(u8);

impl SecurityBits {
    /// s = `bits`.
    ///
    /// # Errors
    ///
    /// `bits` is 0 or above [`MAX_SECURITY_BITS`].
    pub fn new(bits: u8) -> Result<Self, Error> {
        match bits {
            1..=MAX_SECURITY_BITS => Ok(Self(bits)),
            found => Err(Error::SecurityBits {
                found,
                limit: MAX_SECURITY_BITS,
            }),
        }
    }

    /// s.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The size of a lot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LotSize {
    /// n: triples.
    pub triples: usize,
    /// B: leaky ANDs of each.
    pub layers: usize,
}

impl LotSize {
    /// The lot without triples.
    pub(super) const EMPTY: Self = Self {
        triples: 0,
        layers: 0,
    };

    /// The cheapest lot for `wanted` more triples, or for as many of them as a lot has.
    #[must_use]
    pub fn cheapest(wanted: u64, security: SecurityBits) -> Self {
        if wanted == 0 {
            return Self::EMPTY;
        }
        // One layer more than s always fits: a bucket may then stand alone.
        let layers = 2..=u32::from(security.get()) + 1;
        let sizes = layers.filter_map(|layers| {
            let least = least_triples(layers, security);
            let most = MAX_LEAKY_ANDS / u64::from(layers);
            (least <= most).then(|| (wanted.clamp(least, most), u64::from(layers)))
        });
        // Leaky ANDs for each triple that is used, compared without fractions.
        let (triples, layers) = sizes
            .reduce(|best, size| {
                let cost = |(triples, layers): (u64, u64)| triples * layers;
                let used = |(triples, _): (u64, u64)| triples.min(wanted);
                match cost(size) * used(best) < cost(best) * used(size) {
                    true => size,
                    false => best,
                }
            })
            .unwrap_or((1, u64::from(security.get()) + 1));
        Self {
            triples: triples as usize,
            layers: layers as usize,
        }
    }

    /// Leaky ANDs of the lot.
    #[must_use]
    pub const fn leaky_ands(self) -> usize {
        self.triples * self.layers
    }

    /// OTs of each direction that make the lot: three for each leaky AND, and one for each triple's
    /// mask.
    #[must_use]
    pub const fn ots(self) -> usize {
        3 * self.leaky_ands() + self.triples
    }

    /// The s of lots of this size, rounded down: of n^(B−1) · (2^B − 1), the logarithm.
    #[must_use]
    pub fn security_bits(self) -> u32 {
        strength(self.triples as u64, self.layers as u32).ilog2()
    }
}

/// n^(B−1) · (2^B − 1), or the largest number that there is.
fn strength(triples: u64, layers: u32) -> u128 {
    let guesses = 1_u128
        .checked_shl(layers)
        .map_or(u128::MAX, |power| power - 1);
    let buckets = u128::from(triples).saturating_pow(layers.saturating_sub(1));
    buckets.saturating_mul(guesses).max(1)
}

/// The least n for which lots of `layers` layers are as strong as `security` says.
fn least_triples(layers: u32, security: SecurityBits) -> u64 {
    let needed = 1_u128 << security.get();
    let (mut least, mut enough) = (1, 1_u64 << security.get().min(63));
    while least < enough {
        let middle = least + (enough - least) / 2;
        match strength(middle, layers) >= needed {
            true => enough = middle,
            false => least = middle + 1,
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn security(bits: u8) -> SecurityBits {
        SecurityBits::new(bits).unwrap()
    }

    #[test]
    fn lots_are_as_strong_as_they_must_be_and_no_smaller() {
        for bits in [1, 7, 40, 41, 53, 64] {
            for layers in 2..=u32::from(bits) + 1 {
                let least = least_triples(layers, security(bits));
                assert!(strength(least, layers) >= 1 << bits, "{bits} {layers}");
                assert!(least == 1 || strength(least - 1, layers) < 1 << bits);
            }
            for wanted in [1, 2, 100, 6400, 30_000, 1 << 20, 100_000_000] {
                let size = LotSize::cheapest(wanted, security(bits));
                assert!(size.security_bits() >= u32::from(bits), "{bits} {size:?}");
                assert!(size.leaky_ands() as u64 <= MAX_LEAKY_ANDS);
                assert!(size.triples as u64 >= wanted.min(25_000), "{bits} {size:?}");
            }
        }
    }

    /// The table of the protocol's page.
    #[test]
    fn least_lots_are_those_of_the_page() {
        let least = |layers, bits| least_triples(layers, security(bits));
        assert_eq!(
            [3, 4, 5, 6].map(|b| least(b, 40)),
            [396_325, 4186, 434, 112]
        );
        assert_eq!(
            [4, 5, 6, 7].map(|b| least(b, 64)),
            [1_071_379, 27_775, 3114, 726]
        );
        let size = |wanted, bits| LotSize::cheapest(wanted, security(bits));
        let lot = |triples, layers| LotSize { triples, layers };
        assert_eq!(size(6400, 40), lot(6400, 4));
        assert_eq!(size(1, 40), lot(1, 41));
        assert_eq!(size(10_000_000, 40), lot(400_000, 3));
        assert_eq!(size(10_000_000, 64), lot(240_000, 5));
        assert_eq!(size(0, 40), LotSize::EMPTY);
    }

    /// The bound against every way to spread cheats over layers, counted out for a small lot.
    #[test]
    fn no_spread_of_cheats_wins_more_than_the_bound() {
        let (n, layers) = (5_u32, 3);
        let mut best = 0.0_f64;
        for t in 0..5_u32.pow(layers) {
            let cheats: Vec<u32> = (0..layers).map(|k| t / 5_u32.pow(k) % 5).collect();
            // Over all shifts of the second and third layer, the share in which a bucket is lost.
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

    #[test]
    fn more_than_the_ots_give_is_refused() {
        assert!(SecurityBits::new(0).is_err());
        let error = SecurityBits::new(65).unwrap_err();
        assert!(error.to_string().contains("64"), "{error}");
    }
}
