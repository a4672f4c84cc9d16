//! The result of all evaluated circuits: for each bit, the value that more than half of them have.
//!
//! Nothing that happens during an evaluation counts against a circuit: if a circuit were dropped,
//! its generator would learn what made it wrong. All results are masked, so counting them reveals
//! no secret.

use super::{Cheat, cheated};
use crate::Error;

/// Returns the bits that more than half of `results` have. Each result has `bits` bits.
pub(super) fn majority<'a>(
    bits: usize,
    results: impl ExactSizeIterator<Item = &'a [bool]>,
) -> Result<Vec<bool>, Error> {
    let circuits = results.len();
    let mut ones = vec![0_usize; bits];
    for result in results {
        for (count, bit) in ones.iter_mut().zip(result) {
            *count += usize::from(*bit);
        }
    }
    if ones.iter().any(|count| 2 * count == circuits) {
        return Err(cheated(Cheat::NoMajority));
    }
    Ok(ones.iter().map(|count| 2 * count > circuits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(results: &[[bool; 2]]) -> Option<Vec<bool>> {
        majority(2, results.iter().map(|result| &result[..])).ok()
    }

    #[test]
    fn each_bit_is_what_most_circuits_say_and_a_tie_is_no_result() {
        let (yes, no) = ([true, false], [false, true]);
        assert_eq!(of(&[yes]), Some(vec![true, false]));
        assert_eq!(of(&[yes, no, yes]), Some(vec![true, false]));
        assert_eq!(of(&[no, [true, true], no]), Some(vec![false, true]));
        assert_eq!(of(&[yes, no]), None);
        assert_eq!(of(&[yes, [true, true]]), None);
    }
}
