//! Indices and the bounds of loops: integers that depend on the loops' counters.

use core::fmt;

use crate::{ErrorLocation, FunctionError};

/// A number that depends on the counters of the enclosing loops: a sum of numbers and of multiples
/// of counters. Digests cover its text, which has the terms in the order in which they were added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    is_negative: bool,
    number: Option<u64>,
    counter: Option<String>,
}

impl Expression {
    /// Returns the counter of this name.
    pub(super) fn counter(name: &str) -> Self {
        Self(vec![Term {
            is_negative: false,
            number: None,
            counter: Some(name.to_owned()),
        }])
    }

    /// Returns this sum plus another.
    pub fn plus(&self, other: impl Into<Self>) -> Self {
        let mut sum = self.clone();
        sum.0.extend(other.into().0);
        sum
    }

    /// Returns this sum minus another.
    pub fn minus(&self, other: impl Into<Self>) -> Self {
        let mut other = other.into();
        for term in &mut other.0 {
            term.is_negative = !term.is_negative;
        }
        self.plus(other)
    }

    /// Returns the sum times `factor`.
    pub fn times(&self, factor: u64) -> Self {
        let mut product = self.clone();
        for term in &mut product.0 {
            let number = term.number.unwrap_or(1);
            // A number that saturates exceeds the limit anyway.
            term.number = Some(number.saturating_mul(factor));
        }
        product
    }

    /// Returns the value in terms of the enclosing loops' counters, from the outermost loop on.
    pub(super) fn affine(
        &self,
        counters: &[&str],
        place: &ErrorLocation,
    ) -> Result<Affine, FunctionError> {
        let overflow = || FunctionError::overflow(place, self);
        self.0.iter().try_fold(Affine::default(), |sum, term| {
            let factor = i64::try_from(term.number.unwrap_or(1)).map_err(|_| overflow())?;
            let factor = if term.is_negative { -factor } else { factor };
            let of = match &term.counter {
                None => Affine::constant(1),
                Some(name) => {
                    let depth = counters.iter().position(|counter| counter == name);
                    Affine::counter(depth.ok_or_else(|| FunctionError::unknown_name(place, name))?)
                }
            };
            sum.plus(factor, &of).ok_or_else(overflow)
        })
    }
}

impl From<u64> for Expression {
    fn from(number: u64) -> Self {
        Self(vec![Term {
            is_negative: false,
            number: Some(number),
            counter: None,
        }])
    }
}

impl From<&Self> for Expression {
    fn from(expression: &Self) -> Self {
        expression.clone()
    }
}

/// Writes the canonical text, without spaces.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.0.iter().enumerate() {
            if term.is_negative {
                f.write_str("-")?;
            } else if i > 0 {
                f.write_str("+")?;
            }
            match (&term.number, &term.counter) {
                (Some(number), Some(counter)) => write!(f, "{number}*{counter}")?,
                (Some(number), None) => number.fmt(f)?,
                (None, counter) => f.write_str(counter.as_deref().unwrap_or_default())?,
            }
        }
        Ok(())
    }
}

/// The value of an expression: a constant plus a multiple of each counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Affine {
    /// The value when all counters are zero.
    pub(super) constant: i64,
    /// The factor of each loop's counter, from the outermost loop on, without trailing zeros.
    pub(super) factors: Vec<i64>,
}

impl Affine {
    /// Returns a constant.
    pub(super) fn constant(constant: i64) -> Self {
        Self {
            constant,
            factors: Vec::new(),
        }
    }

    /// Returns the counter of the loop at this depth.
    pub(super) fn counter(depth: usize) -> Self {
        let mut factors = vec![0; depth];
        factors.push(1);
        Self {
            constant: 0,
            factors,
        }
    }

    /// Returns the value, if it contains no counter.
    pub(super) fn as_constant(&self) -> Option<i64> {
        self.factors.is_empty().then_some(self.constant)
    }

    /// Returns `self + by · other`, or `None` if it overflows.
    pub(super) fn plus(&self, by: i64, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(by.checked_mul(other.constant)?)?;
        if sum.factors.len() < other.factors.len() {
            sum.factors.resize(other.factors.len(), 0);
        }
        for (factor, other) in sum.factors.iter_mut().zip(&other.factors) {
            *factor = factor.checked_add(by.checked_mul(*other)?)?;
        }
        while sum.factors.last() == Some(&0) {
            sum.factors.pop();
        }
        Some(sum)
    }

    /// Returns the value at these counters, or `None` if it overflows.
    pub(super) fn at(&self, counters: &[i64]) -> Option<i128> {
        let mut terms = self.factors.iter().zip(counters);
        terms.try_fold(i128::from(self.constant), |sum, (factor, counter)| {
            // A product is at most 2^126, and there are up to eight of them.
            sum.checked_add(i128::from(*factor) * i128::from(*counter))
        })
    }

    /// Returns the value at these counters, for an index that has been checked and so is known to
    /// fit.
    #[inline]
    pub(super) fn checked_before(&self, counters: &[i64]) -> i64 {
        let terms = self.factors.iter().zip(counters);
        terms.fold(self.constant, |sum, (factor, counter)| {
            // The result is exact if the sum fits, whatever the terms do.
            sum.wrapping_add(factor.wrapping_mul(*counter))
        })
    }
}
