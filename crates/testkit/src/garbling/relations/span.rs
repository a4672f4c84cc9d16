//! Sums of values over GF(2).

/// All sums of some values, each with the values in it.
pub(super) struct Span {
    /// For the place of its highest bit: a sum, and the values in it.
    rows: [(u128, u128); 128],
}

impl Span {
    /// Returns the sums of these values, of which there may be at most 128.
    pub(super) fn of(values: impl IntoIterator<Item = u128>) -> Self {
        let mut span = Self {
            rows: [(0, 0); 128],
        };
        for (number, value) in values.into_iter().enumerate() {
            span.insert(value, number);
        }
        span
    }

    /// Adds value `number`.
    pub(super) fn insert(&mut self, value: u128, number: usize) {
        assert!(number < 128, "a value has a bit in the mask of values");
        let (rest, terms) = self.reduce(value);
        if rest != 0 {
            self.rows[rest.ilog2() as usize] = (rest, terms | 1 << number);
        }
    }

    /// Returns the rest of `value` after subtracting sums, and the values in these.
    fn reduce(&self, mut value: u128) -> (u128, u128) {
        let mut terms = 0;
        while value != 0 {
            let (row, of_row) = self.rows[value.ilog2() as usize];
            if row == 0 {
                break;
            }
            value ^= row;
            terms ^= of_row;
        }
        (value, terms)
    }

    /// Returns whether some of the values add up to `value`.
    pub(super) fn contains(&self, value: u128) -> bool {
        self.reduce(value).0 == 0
    }

    /// Returns the numbers of the values that add up to `value`, if any do.
    pub(super) fn terms(&self, value: u128) -> Option<Vec<usize>> {
        let (rest, terms) = self.reduce(value);
        (rest == 0).then(|| (0..128).filter(|number| terms >> number & 1 == 1).collect())
    }
}
