//! How many circuits, and every way to cheat added up.
//!
//! Of σ circuits the cloud evaluates e = ⌊2σ/5⌋ and checks the others. A generator that wants
//! another result, or to learn from a run without one, needs ⌈e/2⌉ bad circuits, all of them among
//! those that are evaluated: C(σ−b, e−b)/C(σ, e) for b = ⌈e/2⌉, which falls with every further bad
//! circuit. (It may spread its attempt over keys, boxes, strings and tables, and learn on the way
//! that some of its guesses were right. All guesses are about one split, so that the bound stays.)
//!
//! | way | bounded by |
//! |---|---|
//! | circuits | the split, above |
//! | the encoding of the evaluator's input | distance k + 3: 2^−(k+2) |
//! | two inputs of the generator | k + 2 + ⌈lg e⌉ rows of a random matrix: 2^−(k+2) over all pairs |
//! | a forged result of n bits | the one-time MAC: ⌈n/64⌉ · 2^−64, for each party that gets one |
//! | different choices in one OT | the OT extension's check, on both links: `Extension::cheating_log2` |
//!
//! The last two do not grow with k, so that no run has more bits than they leave:
//! [`Parameters::bound`] adds all of them up.
//!
//! **Semi-honest** is the same with one circuit, which is evaluated, and k = 0: nothing is encoded
//! and nothing compared.

use core::fmt;

use tacit_function::{Function, Role};

use crate::Error;
use crate::batch::parameters::Factorials;
use crate::batch::plan::MAX_SECURITY_BITS;
use crate::malicious::returned::forging_log2;
use crate::malicious::{log2_sum, transfers_log2};

/// Most circuits of a run.
pub const MAX_COPIES: u32 = 1024;

/// Fewest circuits of which one is evaluated and one checked.
const MIN_COPIES: u32 = 3;

/// Least bits of statistical security against a malicious party.
pub const MIN_SECURITY_BITS: u8 = 40;

/// What each way to cheat is held below the whole, in bits.
const SHARE_BITS: usize = 2;

/// Rounding of the logarithms of a bound.
const MARGIN_BITS: f64 = 1e-3;

/// How many circuits, and the statistical security of everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    copies: u16,
    statistical_security_bits: u8,
}

/// What each way to cheat in a run succeeds with, as 2^-bits; all are 0 bits where parties are
/// semi-honest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunBound {
    /// Of a generator, to have enough bad circuits evaluated and none checked.
    pub circuits_bits: f64,
    /// Of a generator, to learn of the evaluator's input by which labels it spoils.
    pub encoding_bits: f64,
    /// Of a generator, to give circuits different inputs.
    pub consistency_bits: f64,
    /// Of a cloud, to give a party a wrong result.
    pub results_bits: f64,
    /// Of an evaluator or a cloud, to choose differently in one OT.
    pub transfers_bits: f64,
}

impl RunBound {
    /// Of all ways together.
    #[must_use]
    pub fn total_bits(&self) -> f64 {
        let ways = [
            self.circuits_bits,
            self.encoding_bits,
            self.consistency_bits,
            self.results_bits,
            self.transfers_bits,
        ];
        -log2_sum(ways.map(|bits| -bits))
    }
}

impl fmt::Display for RunBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "2^-{:.2} (circuits 2^-{:.2}, encoding 2^-{:.0}, inputs 2^-{:.0}, results 2^-{:.1}, \
             transfers 2^-{:.1})",
            self.total_bits(),
            self.circuits_bits,
            self.encoding_bits,
            self.consistency_bits,
            self.results_bits,
            self.transfers_bits,
        )
    }
}

impl Parameters {
    /// One circuit, evaluated: for parties that follow the protocol.
    pub const SEMI_HONEST: Self = Self {
        copies: 1,
        statistical_security_bits: 0,
    };

    /// σ circuits, and k bits of security of the encoding and the input checks.
    ///
    /// # Errors
    ///
    /// There are fewer than 3 or more than 1024 circuits, k is not 1 to 80, or the
    /// [`bound`](Self::bound) is below [`MIN_SECURITY_BITS`].
    pub fn malicious(copies: u32, statistical_security_bits: u8) -> Result<Self, Error> {
        let parameters = Self::insecure_for_measurements(copies, statistical_security_bits)?;
        match parameters.is_secure()? {
            true => Ok(parameters),
            false => Err(Error::ApiMisuse(
                "circuits and k that give at least 40 bits of statistical security",
            )),
        }
    }

    /// As [`malicious`](Self::malicious), with as little security as one likes: for measurements
    /// and tests, and for nothing else.
    ///
    /// # Errors
    ///
    /// There are fewer than 3 or more than 1024 circuits, or k is not 1 to 80.
    pub fn insecure_for_measurements(
        copies: u32,
        statistical_security_bits: u8,
    ) -> Result<Self, Error> {
        let bits = statistical_security_bits;
        if !(MIN_COPIES..=MAX_COPIES).contains(&copies) || !(1..=MAX_SECURITY_BITS).contains(&bits)
        {
            return Err(Error::ApiMisuse(
                "`outsourced` takes 3 to 1024 circuits and 1 to 80 bits of statistical security",
            ));
        }
        Ok(Self {
            copies: copies as u16,
            statistical_security_bits: bits,
        })
    }

    /// The parameters with these fields, if there are such.
    pub(super) fn from_fields(copies: u16, bits: u8) -> Option<Self> {
        match (copies, bits) {
            (1, 0) => Some(Self::SEMI_HONEST),
            _ => Self::insecure_for_measurements(copies.into(), bits).ok(),
        }
    }

    /// Whether a malicious party succeeds with at most two to minus [`MIN_SECURITY_BITS`].
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn is_secure(&self) -> Result<bool, Error> {
        Ok(self.bound(None)?.total_bits() >= MIN_SECURITY_BITS.into())
    }

    /// Whether the parties are taken to follow the protocol.
    #[must_use]
    pub fn is_semi_honest(&self) -> bool {
        self.copies == 1
    }

    /// σ: circuits in all.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.copies.into()
    }

    /// Circuits that the cloud evaluates.
    #[must_use]
    pub fn evaluated(&self) -> usize {
        match self.is_semi_honest() {
            true => 1,
            false => 2 * self.copies() / 5,
        }
    }

    /// Circuits that the cloud checks.
    #[must_use]
    pub fn checked(&self) -> usize {
        self.copies() - self.evaluated()
    }

    /// k.
    #[must_use]
    pub fn statistical_security_bits(&self) -> u8 {
        self.statistical_security_bits
    }

    /// What cheating in a run of `function`, or of one without results, succeeds with, computed for
    /// this σ and k, and for OTs of whatever extension. All are 0 bits where parties are
    /// semi-honest.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn bound(&self, function: Option<&Function>) -> Result<RunBound, Error> {
        if self.is_semi_honest() {
            return Ok(RunBound {
                circuits_bits: 0.0,
                encoding_bits: 0.0,
                consistency_bits: 0.0,
                results_bits: 0.0,
                transfers_bits: 0.0,
            });
        }
        let share = self.share_bits() as f64;
        let of = |role| function.map_or(0, |function| function.output_bits(role));
        let results = [Role::Garbler, Role::Evaluator].map(of);
        // One extension between generator and evaluator, one between generator and cloud.
        Ok(RunBound {
            circuits_bits: self.circuits_bits()?,
            encoding_bits: share,
            consistency_bits: share,
            results_bits: -log2_sum(results.map(forging_log2)),
            transfers_bits: -log2_sum([transfers_log2(); 2]),
        })
    }

    /// What the split holds of a generator that has circuits evaluated that are bad.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub(super) fn circuits_bits(&self) -> Result<f64, Error> {
        let [all, evaluated] = [self.copies(), self.evaluated()].map(|n| n as u64);
        let bad = evaluated.div_ceil(2);
        let factorials = Factorials::up_to(all)?;
        let ways = factorials.choose(all - bad, evaluated - bad);
        let ratio = ways - factorials.choose(all, evaluated);
        Ok(-ratio / core::f64::consts::LN_2 - MARGIN_BITS)
    }

    /// k + 2: what the encoding and the input check hold.
    fn share_bits(&self) -> usize {
        match self.is_semi_honest() {
            true => 0,
            false => usize::from(self.statistical_security_bits) + SHARE_BITS,
        }
    }

    /// The distance of the encoding.
    pub(super) fn encoding_distance(&self) -> usize {
        self.share_bits() + 1
    }

    /// Rows of the matrix that hashes the generator's input.
    pub(super) fn hash_rows(&self) -> usize {
        match self.is_semi_honest() {
            true => 0,
            false => self.share_bits() + ceil_log2(self.evaluated()),
        }
    }

    /// Random bits behind the generator's input, which hide it under the hash (shelat and Shen
    /// 2013): 2k + ⌈lg k⌉ for k rows.
    pub(super) fn hiding_bits(&self) -> usize {
        match self.hash_rows() {
            0 => 0,
            rows => 2 * rows + ceil_log2(rows),
        }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_semi_honest() {
            return f.write_str("one circuit, semi-honest");
        }
        write!(
            f,
            "{} circuits, {} of them evaluated, k = {}",
            self.copies,
            self.evaluated(),
            self.statistical_security_bits
        )
    }
}

/// ⌈lg n⌉.
fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

/// The encoding that shelat and Shen 2013 describe, for comparison: n bits in rows of points of
/// random polynomials over F_{2^t}, of degree K − 1 at N points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointEncoding {
    /// t.
    pub field_bits: u32,
    /// K.
    pub coefficients: u64,
    /// N.
    pub points: u64,
    /// Encoded bits: t·N, and the identity's n.
    pub encoded_bits: u64,
}

impl PointEncoding {
    /// That of `bits` input bits at security `k`. Ours takes fewer bits and is no matter of luck:
    /// `docs/protocols/outsourced.md`.
    ///
    /// # Errors
    ///
    /// `bits` or `k` is 0, or above 2^32.
    pub fn of(bits: u64, k: u64) -> Result<Self, Error> {
        const SIZES: core::ops::RangeInclusive<u64> = 1..=1 << 32;
        if !SIZES.contains(&bits) || !SIZES.contains(&k) {
            return Err(Error::ApiMisuse("an encoding of 1 to 2^32 bits"));
        }
        let (n, security) = (bits as f64, k as f64);
        let sum = n.log2() + n + security;
        let mut t = (4.0 * n).log2().max((4.0 * security).log2()).ceil();
        while t > 2.0 && (t - 1.0).exp2() > security + sum / (t - 1.0) {
            t -= 1.0;
        }
        let coefficients = (sum / t).ceil() as u64;
        let points = coefficients + k - 1;
        Ok(Self {
            field_bits: t as u32,
            coefficients,
            points,
            encoded_bits: t as u64 * points + bits,
        })
    }
}

#[cfg(test)]
mod tests {
    use tacit_function::Recipient;

    use super::*;
    use crate::malicious::encoding::Encoding;
    use crate::outsourced::tests::adder;

    fn bits(copies: u32) -> f64 {
        let parameters = Parameters::insecure_for_measurements(copies, 40).unwrap();
        parameters.circuits_bits().unwrap()
    }

    /// C(4,1)/C(5,2) = 4/10, C(13,3)/C(16,6) = 286/8008, C(51,12)/C(64,25), C(205,51)/C(256,102).
    #[test]
    fn the_bound_is_that_of_the_split() {
        assert!((bits(5) + 0.4_f64.log2()).abs() < 0.01);
        assert!((bits(16) + (286.0_f64 / 8008.0).log2()).abs() < 0.01);
        assert!((bits(64) - 21.2685).abs() < 0.002, "{}", bits(64));
        assert!((bits(256) - 82.0742).abs() < 0.002, "{}", bits(256));
    }

    #[test]
    fn all_ways_together_keep_what_was_asked_for() {
        let parameters = Parameters::malicious(256, 40).unwrap();
        let function = adder(4, Recipient::Both);
        let bound = parameters.bound(Some(&function)).unwrap();
        assert!(bound.total_bits() >= 40.0, "{bound}");
        assert_eq!((parameters.evaluated(), parameters.checked()), (102, 154));
        assert_eq!(
            (parameters.hash_rows(), parameters.hiding_bits()),
            (49, 104)
        );
    }

    /// By hand: 2 · 2^-64 of two results of a word each, 2 · 8128 · 2^-64 of two extensions with
    /// 8128 pairs of groups.
    #[test]
    fn no_k_gives_more_than_the_mac_and_the_transfers_leave() {
        let parameters = Parameters::malicious(1024, 80).unwrap();
        let function = adder(4, Recipient::Both);
        let bound = parameters.bound(Some(&function)).unwrap();
        assert!((bound.results_bits - 63.0).abs() < 1e-9, "{bound}");
        assert!(
            (bound.transfers_bits - (63.0 - 8128.0_f64.log2())).abs() < 1e-9,
            "{bound}"
        );
        assert!(
            (bound.total_bits() - bound.transfers_bits).abs() < 0.01,
            "{bound}"
        );
        let none = adder(4, Recipient::Garbler);
        let bound = parameters.bound(Some(&none)).unwrap();
        assert!((bound.results_bits - 64.0).abs() < 1e-9, "{bound}");
        let none = Parameters::SEMI_HONEST;
        assert!(none.bound(Some(&function)).unwrap().total_bits() < 0.0);
    }

    #[test]
    fn parameters_without_a_meaning_are_refused() {
        for (copies, k) in [(0, 40), (2, 40), (1025, 40), (256, 0), (256, 81)] {
            assert!(
                Parameters::insecure_for_measurements(copies, k).is_err(),
                "{copies}, {k}"
            );
            assert!(Parameters::malicious(copies, k).is_err(), "{copies}, {k}");
        }
        assert_eq!(Parameters::from_fields(1, 40), None);
        assert_eq!(Parameters::from_fields(1, 0), Some(Parameters::SEMI_HONEST));
    }

    /// With 4 circuits a generator cheats with one bad circuit in two tries.
    #[test]
    fn few_circuits_are_for_measurements_alone() {
        for (copies, k) in [(4, 40), (64, 40), (256, 8), (120, 40)] {
            assert!(Parameters::malicious(copies, k).is_err(), "{copies}, {k}");
            let weak = Parameters::insecure_for_measurements(copies, k).unwrap();
            assert!(!weak.is_secure().unwrap(), "{copies}, {k}");
        }
        for (copies, k) in [(160, 40), (256, 40), (1024, 80)] {
            let strong = Parameters::malicious(copies, k).unwrap();
            assert!(strong.is_secure().unwrap(), "{copies}, {k}");
        }
    }

    #[test]
    fn the_papers_encoding_has_its_known_size() {
        let known = PointEncoding {
            field_bits: 7,
            coefficients: 25,
            points: 64,
            encoded_bits: 448 + 128,
        };
        assert_eq!(PointEncoding::of(128, 40), Ok(known));
        assert!(PointEncoding::of(0, 40).is_err());
    }

    #[test]
    fn ours_is_smaller_than_the_papers_encoding() {
        let distance = Parameters::malicious(256, 40).unwrap().encoding_distance();
        for bits in [8, 64, 128, 1024, 8192] {
            let ours = Encoding::new(bits, distance).unwrap().encoded_bits() as u64;
            let theirs = PointEncoding::of(bits as u64, 40).unwrap().encoded_bits;
            assert!(ours < theirs, "{bits}: {ours}, {theirs}");
        }
        let sizes = [128, 8192].map(|bits| {
            let ours = Encoding::new(bits as usize, distance)
                .unwrap()
                .encoded_bits() as u64;
            (ours, PointEncoding::of(bits, 40).unwrap().encoded_bits)
        });
        assert_eq!(sizes, [(309, 576), (8487, 16832)]);
    }
}
