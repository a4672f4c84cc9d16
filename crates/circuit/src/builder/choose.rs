//! Selection: the least and the greatest of several values, and tables with a secret index.

use super::columns::bits_for;
use super::{Array, Bit, Bus, Handle, Int, UInt};

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

    /// Returns both values, the lesser first. Costs two AND gates a bit: one for the comparison,
    /// and one that exchanges a bit of each value.
    ///
    /// # Panics
    ///
    /// If the types differ.
    fn in_order(&self, other: &Self) -> (Self, Self) {
        exchange_if(!self.at_most(other), self, other)
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

/// Returns `(b, a)` if `condition` is one and `(a, b)` otherwise. Costs one AND gate a bit for both
/// values together.
///
/// # Panics
///
/// If the types differ.
pub fn exchange_if<'b, H: Handle<'b>>(condition: Bit<'b>, a: &H, b: &H) -> (H, H) {
    let ty = a.ty();
    assert_eq!(ty, b.ty(), "types of the two values to exchange");
    let (bus_a, bus_b) = (a.to_bus(), b.to_bus());
    let differences = (&bus_a ^ &bus_b)
        .bits()
        .map(|bit| condition & bit)
        .collect::<Vec<_>>();
    let change = Bus::from_bits(condition.builder(), differences);
    let handle = |bus| H::from_bus(&ty, bus).expect("a bus of the type's own width");
    (handle(bus_a ^ &change), handle(bus_b ^ &change))
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

impl<'b, H: Ordered<'b>> Array<H> {
    /// Returns the least value. Costs two AND gates a bit for each value but one.
    pub fn least(&self) -> H {
        tournament(self, |a, b| a.min(b))
    }

    /// Returns the greatest value. Costs two AND gates a bit for each value but one.
    pub fn greatest(&self) -> H {
        tournament(self, |a, b| a.max(b))
    }

    /// Returns the index of the least value, in as few bits as needed, and the value itself. Of
    /// several least values it returns the first.
    pub fn arg_min(&self) -> (UInt<'b>, H) {
        self.arg_best(|a, b| a.at_most(b))
    }

    /// Returns the index of the greatest value, in as few bits as needed, and the value itself. Of
    /// several greatest values it returns the first.
    pub fn arg_max(&self) -> (UInt<'b>, H) {
        self.arg_best(|a, b| b.at_most(a))
    }

    /// Returns the winner of a tournament. `keeps` says whether an earlier value wins against a
    /// later one.
    fn arg_best(&self, keeps: impl Fn(&H, &H) -> Bit<'b>) -> (UInt<'b>, H) {
        let builder = self[0].to_bus().builder();
        let width = bits_for(self.len() - 1);
        let mut level: Vec<(UInt<'b>, H)> = self
            .iter()
            .cloned()
            .enumerate()
            .map(|(index, value)| (UInt::constant(builder, width, index as u128), value))
            .collect();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| match pair {
                    [(i, a), (j, b)] => {
                        let kept = keeps(a, b);
                        (kept.select(i, j), kept.select(a, b))
                    }
                    _ => pair[0].clone(),
                })
                .collect();
        }
        level.swap_remove(0)
    }
}

/// Returns the winner of a knock-out tournament in the array's order.
fn tournament<'b, H: Handle<'b>>(array: &Array<H>, best: impl Fn(&H, &H) -> H) -> H {
    let mut level: Vec<H> = array.iter().cloned().collect();
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs
            .map(|pair| pair.get(1).map_or(pair[0].clone(), |b| best(&pair[0], b)))
            .collect();
    }
    level.swap_remove(0)
}
