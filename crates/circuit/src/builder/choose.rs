//! Selection: the lesser and the greater of two values, and tables with a secret index.

use super::columns::bits_for;
use super::{Array, Bit, Handle, Int, UInt};

/// A typed value with an order.
pub trait Ordered<'b>: Handle<'b> {
    /// Whether this is at most `other`. Costs as many AND gates as the width.
    ///
    /// # Panics
    ///
    /// If the types differ.
    fn at_most(&self, other: &Self) -> Bit<'b>;

    /// Returns the lesser of the two values. Costs two AND gates a bit.
    ///
    /// # Panics
    ///
    /// If the types differ.
    fn min(&self, other: &Self) -> Self {
        self.at_most(other).select(self, other)
    }

    /// Returns the greater of the two values. Costs two AND gates a bit.
    ///
    /// # Panics
    ///
    /// If the types differ.
    fn max(&self, other: &Self) -> Self {
        self.at_most(other).select(other, self)
    }
}

impl<'b> Ordered<'b> for UInt<'b> {
    fn at_most(&self, other: &Self) -> Bit<'b> {
        self.at_most(other)
    }
}

impl<'b> Ordered<'b> for Int<'b> {
    fn at_most(&self, other: &Self) -> Bit<'b> {
        self.at_most(other)
    }
}

impl<'b, H: Handle<'b>> Array<H> {
    /// Returns the value at `index`. An index past the end selects the last value.
    ///
    /// The lookup is a tree of selections. It costs n − 1 AND gates a bit for n values, and fewer
    /// if values are constant. If the index has more bits than the table needs, it also costs their
    /// OR and one more selection.
    ///
    /// # Panics
    ///
    /// If the index has too few bits to reach the last value.
    pub fn lookup(&self, index: &UInt<'b>) -> H {
        let index_bits = if self.len() == 1 {
            0
        } else {
            bits_for(self.len() - 1)
        };
        assert!(
            index.width() >= index_bits,
            "bits of an index into {} values",
            self.len()
        );
        let mut level: Vec<H> = self.iter().cloned().collect();
        let last = level[level.len() - 1].clone();
        for k in 0..index_bits {
            let bit = index.bus().bit(k);
            // If the level ends within a pair, the last value replaces the missing one.
            let pairs = level.chunks(2);
            level = pairs
                .map(|pair| bit.select(pair.get(1).unwrap_or(&last), &pair[0]))
                .collect();
        }
        let past_the_end = index.bus().slice(index_bits..index.width()).any();
        past_the_end.select(&last, &level[0])
    }
}
