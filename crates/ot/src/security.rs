//! The threat models, and the bits of security.

use crate::extension::FieldBits;

/// The threat model of an extension, the same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Security {
    /// Both parties follow the protocol.
    SemiHonest,
    /// Either party may deviate in any way. A wrong guess at secret bits ends the session; any
    /// other cheat passes with the probability that
    /// [`Extension::cheating_log2`](crate::source::Extension) gives.
    Malicious,
}

/// The work that a peer is assumed to do against a check that it can prepare for alone, as a power
/// of two: the hashes that it computes while one session waits for its message. 2^64 hashes in a
/// day take ten thousand large GPUs.
pub const PEER_WORK_LOG2: u32 = 64;

/// Returns the bits of security of the check that all groups of a maliciously secure extension have
/// the same choices. A receiver that asks the random oracle W times passes it with probability at
/// most W · 2^-bits, apart from guesses at bits of Δ.
///
/// Two groups' different choices have the same hash under random coefficients with probability
/// 2^-128 for each pair of groups, and each question to the oracle draws new coefficients: see the
/// header of `correlated::check`.
pub(crate) fn choices_check_bits(field: FieldBits) -> f64 {
    let groups = field.groups() as f64;
    128.0 - (groups * (groups - 1.0) / 2.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Extension;

    /// Calculated by hand: 8128 pairs of 128 groups, 2016 of 64, 496 of 32, 120 of 16.
    #[test]
    fn bits_are_those_of_the_pairs_of_groups() {
        for (k, pairs) in [(1, 8128.0_f64), (2, 2016.0), (4, 496.0), (8, 120.0)] {
            let field = FieldBits::new(k).unwrap();
            let bits = Extension::SoftSpoken(field).check_bits();
            assert!((bits - (128.0 - pairs.log2())).abs() < 1e-9, "{k}: {bits}");
        }
        // The first OTs of silent OT come from the extension with k = 8.
        let [silent, largest] =
            [Extension::Silent, Extension::SoftSpoken(FieldBits::LARGEST)].map(|e| e.check_bits());
        assert!((silent - largest).abs() < 1e-9);
    }

    #[test]
    fn a_chance_grows_with_the_work_and_is_at_most_one() {
        let extension = Extension::default();
        let chance = extension.cheating_log2(PEER_WORK_LOG2);
        assert!((chance + extension.check_bits() - 64.0).abs() < 1e-9);
        assert!(chance < -53.0 && extension.cheating_log2(200) == 0.0);
        // Every extension gives 40 bits of statistical security against a peer's work.
        let all = (1..=8).map(|k| Extension::SoftSpoken(FieldBits::new(k).unwrap()));
        for extension in all.chain([Extension::Silent]) {
            assert!(
                extension.cheating_log2(PEER_WORK_LOG2) < -50.0,
                "{extension}"
            );
            assert!(extension.check_bits() >= Extension::LEAST_CHECKED.check_bits());
        }
    }
}
