//! The number of circuits, and the sum of all ways to cheat.
//!
//! Of σ circuits the cloud evaluates e = ⌊2σ/5⌋ and checks the others. A generator that wants
//! another result, or to learn from a run without one, needs ⌈e/2⌉ bad circuits, all of them among
//! the evaluated ones. The probability is C(σ−b, e−b)/C(σ, e) for b = ⌈e/2⌉, and decreases with
//! every further bad circuit. (The generator may spread its attempt over keys, boxes, strings and
//! tables, and learn meanwhile that some of its guesses were right. All guesses are about one
//! split, so the bound still holds.)
//!
//! | way | bounded by |
//! |---|---|
//! | circuits | the split, above |
//! | the encoding of the evaluator's input | distance k + 3: 2^−(k+2) |
//! | two inputs of the generator | k + 2 + ⌈lg e⌉ rows of a random matrix: 2^−(k+2) over all pairs |
//! | a forged result of n bits | the one-time MAC: ⌈n/64⌉ · 2^−64, for each party that gets one |
//! | different choices in one OT | the OT extension's check, on both links: `Extension::cheating_log2` |
//!
//! The last two bounds do not depend on k, so they limit the bits of any run. [`Parameters::bound`]
//! adds all bounds up.
//!
//! **Semi-honest** parties use the same protocol with one circuit, which is evaluated, and k = 0:
//! nothing is encoded and nothing is compared.

use core::fmt;

use tacit_function::{Function, Role};

use crate::Error;
use crate::batch::parameters::Factorials;
use crate::batch::plan::MAX_SECURITY_BITS;
use crate::malicious::returned::forging_log2;
use crate::malicious::{log2_sum, transfers_log2};

/// The largest number of circuits of a run.
pub const MAX_COPIES: u32 = 1024;

/// The smallest number of circuits of which one is evaluated and one checked.
const MIN_COPIES: u32 = 3;

/// The smallest number of bits of statistical security against a malicious party.
pub const MIN_SECURITY_BITS: u8 = 40;

/// The number of bits by which each way to cheat stays below the sum.
const SHARE_BITS: usize = 2;

/// A margin for the rounding of a bound's logarithms.
const MARGIN_BITS: f64 = 1e-3;

/// The number of circuits, and the statistical security of everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    copies: u16,
    statistical_security_bits: u8,
}

/// The success probability of each way to cheat in a run, as 2^-bits. All are 0 bits if the parties
/// are semi-honest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunBound {
    /// A generator that has enough bad circuits evaluated and none checked.
    pub circuits_bits: f64,
    /// A generator that learns about the evaluator's input by spoiling some labels.
    pub encoding_bits: f64,
    /// A generator that gives circuits different inputs.
    pub consistency_bits: f64,
    /// A cloud that gives a party a wrong result.
    pub results_bits: f64,
    /// An evaluator or a cloud that chooses inconsistently in one OT.
    pub transfers_bits: f64,
}

impl RunBound {
    /// Returns the bits of all ways together.
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
    /// One circuit, which is evaluated, for parties that follow the protocol.
    pub const SEMI_HONEST: Self = Self {
        copies: 1,
        statistical_security_bits: 0,
    };

    /// Returns parameters with σ circuits, and k bits of security of the encoding and the input
    /// checks.
    ///
    /// # Errors
    ///
    /// There are fewer than 3 or more than 1024 circuits, k is not 1 to 80, or the
    /// [`bound`](Self::bound) is below [`MIN_SECURITY_BITS`].
    pub fn malicious(copies: u32, statistical_security_bits: u8) -> Result<Self, Error> {
        let parameters = Self::insecure_for_measurements(copies, statistical_security_bits)?;
        if parameters.is_secure()? {
            return Ok(parameters);
        }
        Err(Error::ApiMisuse(
            "circuits and k that give at least 40 bits of statistical security",
        ))
    }

    /// Returns parameters as [`malicious`](Self::malicious) does, however insecure. For tests only.
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

    /// Returns the parameters with these fields, if they are valid.
    pub(super) fn from_fields(copies: u16, bits: u8) -> Option<Self> {
        match (copies, bits) {
            (1, 0) => Some(Self::SEMI_HONEST),
            _ => Self::insecure_for_measurements(copies.into(), bits).ok(),
        }
    }

    /// Whether a malicious party succeeds with probability at most two to minus
    /// [`MIN_SECURITY_BITS`].
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn is_secure(&self) -> Result<bool, Error> {
        Ok(self.bound(None)?.total_bits() >= MIN_SECURITY_BITS.into())
    }

    /// Whether the parties are assumed to follow the protocol.
    pub fn is_semi_honest(&self) -> bool {
        self.copies == 1
    }

    /// Returns σ: the number of all circuits.
    pub fn copies(&self) -> usize {
        self.copies.into()
    }

    /// Returns the number of circuits that the cloud evaluates.
    pub fn evaluated(&self) -> usize {
        if self.is_semi_honest() {
            return 1;
        }
        2 * self.copies() / 5
    }

    /// Returns the number of circuits that the cloud checks.
    pub fn checked(&self) -> usize {
        self.copies() - self.evaluated()
    }

    /// Returns k.
    pub fn statistical_security_bits(&self) -> u8 {
        self.statistical_security_bits
    }

    /// Returns the success probabilities of cheating in a run of `function`, or in one without
    /// results, for this σ and k, and for any OT extension. All are 0 bits if the parties are
    /// semi-honest.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
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
        let results = Role::BOTH.map(of);
        // There is one extension between generator and evaluator, and one between generator and
        // cloud.
        Ok(RunBound {
            circuits_bits: self.circuits_bits()?,
            encoding_bits: share,
            consistency_bits: share,
            results_bits: -log2_sum(results.map(forging_log2)),
            transfers_bits: -log2_sum([transfers_log2(); 2]),
        })
    }

    /// Returns the bits by which the split bounds a generator that has bad circuits evaluated.
    pub(super) fn circuits_bits(&self) -> Result<f64, Error> {
        let [all, evaluated] = [self.copies(), self.evaluated()].map(|n| n as u64);
        let bad = evaluated.div_ceil(2);
        let factorials = Factorials::up_to(all)?;
        let ways = factorials.choose(all - bad, evaluated - bad);
        let ratio = ways - factorials.choose(all, evaluated);
        Ok(-ratio / core::f64::consts::LN_2 - MARGIN_BITS)
    }

    /// Returns k + 2: the bits by which the encoding and the input check are bounded.
    fn share_bits(&self) -> usize {
        if self.is_semi_honest() {
            return 0;
        }
        usize::from(self.statistical_security_bits) + SHARE_BITS
    }

    /// Returns the distance of the encoding.
    pub(super) fn encoding_distance(&self) -> usize {
        self.share_bits() + 1
    }

    /// Returns the number of rows of the matrix that hashes the generator's input.
    pub(super) fn hash_rows(&self) -> usize {
        if self.is_semi_honest() {
            return 0;
        }
        self.share_bits() + ceil_log2(self.evaluated())
    }

    /// Returns the number of random bits after the generator's input, which hide it under the hash
    /// (shelat and Shen 2013): 2k + ⌈lg k⌉ for k rows.
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

/// Returns ⌈lg n⌉.
fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
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

    /// The bounds are C(4,1)/C(5,2) = 4/10, C(13,3)/C(16,6) = 286/8008, C(51,12)/C(64,25) and
    /// C(205,51)/C(256,102).
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

    /// The values are computed by hand: 2 · 2^-64 for two results of a word each, and 2 · 8128 ·
    /// 2^-64 for two extensions with 8128 pairs of groups.
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

    /// With 4 circuits a generator needs one bad circuit and about two tries.
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
    fn an_encoding_has_its_known_size() {
        let distance = Parameters::malicious(256, 40).unwrap().encoding_distance();
        let sizes = [128, 8192].map(|bits| Encoding::new(bits, distance).unwrap().encoded_bits());
        assert_eq!(sizes, [309, 8487]);
    }
}
