//! Numbers of prepared material.

use core::fmt;

/// Consecutive numbers of one kind of prepared material: `first .. first + count`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first number.
    pub first: u64,
    /// The number of these numbers.
    pub count: u64,
}

impl Span {
    /// Returns the number after the last.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }

    /// Whether the span contains `number`.
    pub fn contains(&self, number: u64) -> bool {
        (self.first..self.end()).contains(&number)
    }

    /// Returns the numbers that are in both spans.
    pub fn common(&self, other: Self) -> Option<Self> {
        let first = self.first.max(other.first);
        let count = self.end().min(other.end()).checked_sub(first)?;
        (count > 0).then_some(Self { first, count })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.end())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({self})")
    }
}
