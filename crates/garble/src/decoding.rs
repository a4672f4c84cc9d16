//! Converts the comparisons of a decoding to values, for every scheme whose decoding is
//! authenticated.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// The values that an output's label fits.
pub(crate) struct Fit {
    /// Whether it fits the decoding information of value 0.
    pub(crate) zero: Choice,
    /// Whether it fits that of value 1.
    pub(crate) one: Choice,
}

/// Returns the values of the outputs from number `first` on, one for each of `fits`.
///
/// All outputs are checked before the first ⊥ is reported, so that the time does not tell a peer
/// who damages an output which one it was. The error is the number of an output that fits neither
/// value, or both.
#[inline(never)] // Its result is exempt, by its name, from the check for branches on secrets.
pub(crate) fn values(
    first: u64,
    fits: impl ExactSizeIterator<Item = Fit>,
) -> Result<Zeroizing<Vec<bool>>, u64> {
    const NONE: u64 = u64::MAX;
    let mut values = Zeroizing::new(Vec::with_capacity(fits.len()));
    let mut refused = NONE;
    for (number, Fit { zero, one }) in (first..).zip(fits) {
        let is_first = refused.ct_eq(&NONE) & !(zero ^ one);
        refused.conditional_assign(&number, is_first);
        values.push(one.into());
    }
    match refused {
        NONE => Ok(values),
        number => Err(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_given_and_the_first_misfit_is_named() {
        let found = |fits: &[[u8; 2]]| {
            let fits = fits.iter().map(|[zero, one]| Fit {
                zero: (*zero).into(),
                one: (*one).into(),
            });
            values(7, fits).map(|values| values.to_vec())
        };
        assert_eq!(found(&[]), Ok(vec![]));
        assert_eq!(
            found(&[[0, 1], [1, 0], [0, 1]]),
            Ok(vec![true, false, true])
        );
        for misfit in [[0, 0], [1, 1]] {
            let refused = found(&[[1, 0], misfit, [0, 1], [0, 0], [1, 1]]);
            assert_eq!(refused, Err(8));
        }
    }
}
