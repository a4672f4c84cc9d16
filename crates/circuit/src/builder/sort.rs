//! Sorting and merging by networks. The choice of compared values does not depend on the values.
//!
//! Both networks are Batcher's ("Sorting networks and their applications", AFIPS 1968) by odd-even
//! merging, which needs fewer comparators than bitonic sorting: 191 instead of 240 for 32 values.
//! Sorting uses Knuth's form for any number of values ("The Art of Computer Programming", volume 3,
//! algorithm 5.2.2M). Merging recurses on odd and even places.
//!
//! A comparator costs two AND gates a bit of the key, and one for each other bit of the value.

use super::choose::exchange_if;
use super::{Array, Handle, Ordered};

impl<'b, H: Handle<'b>> Array<H> {
    /// Sorts the values by ascending key. Values with equal keys come in any order.
    pub fn sorted_by_key<K: Ordered<'b>>(&self, key: impl Fn(&H) -> K) -> Self {
        let mut values: Vec<H> = self.iter().cloned().collect();
        for (low, high) in sorting_network(values.len()) {
            compare_exchange(&mut values, (low, high), &key);
        }
        Self::new(values)
    }

    /// Merges the values of this array and of `other`, both sorted by `key`, into one sorted array.
    /// If an array is not sorted, the result holds all values in some order.
    ///
    /// # Panics
    ///
    /// If the types of the values differ.
    pub fn merged_by_key<K: Ordered<'b>>(&self, other: &Self, key: impl Fn(&H) -> K) -> Self {
        let mut values: Vec<H> = self.iter().chain(other).cloned().collect();
        let places: Vec<usize> = (0..values.len()).collect();
        let (first, second) = places.split_at(self.len());
        let order = merge(first, second, &mut |low, high| {
            compare_exchange(&mut values, (low, high), &key);
        });
        Self::new(
            order
                .into_iter()
                .map(|place| values[place].clone())
                .collect(),
        )
    }
}

impl<'b, H: Ordered<'b>> Array<H> {
    /// Sorts the values in ascending order.
    pub fn sorted(&self) -> Self {
        self.sorted_by_key(H::clone)
    }

    /// Merges the values of this array and of `other`, both ascending, into ascending order.
    ///
    /// # Panics
    ///
    /// If the types of the values differ.
    pub fn merged(&self, other: &Self) -> Self {
        self.merged_by_key(other, H::clone)
    }
}

/// Puts the value with the lesser key at `low`.
fn compare_exchange<'b, H: Handle<'b>, K: Ordered<'b>>(
    values: &mut [H],
    (low, high): (usize, usize),
    key: &impl Fn(&H) -> K,
) {
    let out_of_order = !key(&values[low]).at_most(&key(&values[high]));
    let (lesser, greater) = exchange_if(out_of_order, &values[low], &values[high]);
    values[low] = lesser;
    values[high] = greater;
}

/// Returns the comparators of Knuth's merge exchange for `len` values. The variables are his.
pub(crate) fn sorting_network(len: usize) -> Vec<(usize, usize)> {
    let mut comparators = Vec::new();
    let top = len.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            let places = (0..len.saturating_sub(d)).filter(|i| i & p == r);
            comparators.extend(places.map(|i| (i, i + d)));
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    comparators
}

/// Merges two sorted sequences of places. Returns the places in the order of their values.
fn merge(a: &[usize], b: &[usize], compare: &mut impl FnMut(usize, usize)) -> Vec<usize> {
    if a.is_empty() || b.is_empty() {
        return [a, b].concat();
    }
    if a.len() == 1 && b.len() == 1 {
        compare(a[0], b[0]);
        return vec![a[0], b[0]];
    }
    let every_second = |places: &[usize], from| -> Vec<usize> {
        places.iter().skip(from).step_by(2).copied().collect()
    };
    let odd = merge(&every_second(a, 0), &every_second(b, 0), compare);
    let even = merge(&every_second(a, 1), &every_second(b, 1), compare);
    // The first of the odd places is the least of all. Then each even place meets the next odd one.
    let mut merged = vec![odd[0]];
    for pair in 0..even.len().max(odd.len() - 1) {
        match (even.get(pair), odd.get(pair + 1)) {
            (Some(&even), Some(&odd)) => {
                compare(even, odd);
                merged.extend([even, odd]);
            }
            (last, other) => merged.extend(last.or(other)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts all zero-one inputs sorts everything (Knuth, theorem 5.3.4Z).
    #[test]
    fn sorting_network_sorts_all_bits() {
        for len in 0..=12 {
            for bits in 0..1_u32 << len {
                let mut values: Vec<bool> = (0..len).map(|i| bits >> i & 1 == 1).collect();
                for (low, high) in sorting_network(len) {
                    assert!(low < high);
                    if values[low] & !values[high] {
                        values.swap(low, high);
                    }
                }
                assert!(values.is_sorted(), "{bits:b} of {len}");
            }
        }
    }

    #[test]
    fn the_networks_have_as_many_comparators_as_the_literature_says() {
        let sorting = [1, 2, 3, 4, 8, 16, 32].map(|len| sorting_network(len).len());
        assert_eq!(sorting, [0, 1, 3, 5, 19, 63, 191]);
        for (len, expected) in [(1, 1), (2, 3), (4, 9), (8, 25), (16, 65)] {
            let places: Vec<usize> = (0..2 * len).collect();
            let mut count = 0;
            merge(&places[..len], &places[len..], &mut |_, _| count += 1);
            assert_eq!(count, expected, "merging two sequences of {len}");
        }
    }

    #[test]
    fn merging_is_right_for_all_pairs_of_sorted_bits() {
        for (m, n) in (0..9).flat_map(|m| (0..9).map(move |n| (m, n))) {
            for (ones_a, ones_b) in (0..=m).flat_map(|a| (0..=n).map(move |b| (a, b))) {
                let first = (0..m).map(|i| i >= m - ones_a);
                let mut values: Vec<bool> = first.chain((0..n).map(|i| i >= n - ones_b)).collect();
                let places: Vec<usize> = (0..m + n).collect();
                let order = merge(&places[..m], &places[m..], &mut |low, high| {
                    if values[low] & !values[high] {
                        values.swap(low, high);
                    }
                });
                assert!(
                    order.iter().map(|&place| values[place]).is_sorted(),
                    "{m} and {n}"
                );
            }
        }
    }
}
