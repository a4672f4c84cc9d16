//! Keyed databases, products of vectors, sorted lists and sets.

use tacit_circuit::builder::{Array, Bit, Builder, Bus, UInt};
use tacit_circuit::{Promise, Type};

/// Returns the value whose key is `query`: the last one if there are several, and all zeros if
/// there is none.
///
/// For n entries with keys of k bits and values of v bits, it costs n(k − 1 + v) AND gates: 6080
/// for 64 entries with keys of 32 bits and values of 64 bits, as in the published experiment.
///
/// # Panics
///
/// If the numbers of keys and values differ, or the query is not as wide as a key.
pub fn keyed_database<'b>(
    keys: &Array<UInt<'b>>,
    values: &Array<UInt<'b>>,
    query: &UInt<'b>,
) -> UInt<'b> {
    assert_eq!(keys.len(), values.len(), "keys for as many values");
    let none = UInt::constant(query.bus().builder(), values[0].width(), 0);
    keys.iter().zip(values).fold(none, |found, (key, value)| {
        key.equals(query).select(value, &found)
    })
}

/// Returns the median, or the lower of the two in the middle of an even number of values. Costs a
/// sorting network without the gates that do not lead to the middle.
pub fn median<'b>(values: &Array<UInt<'b>>) -> UInt<'b> {
    values.sorted()[(values.len() - 1) / 2].clone()
}

/// Returns the number of common elements of two sets, each given in strictly ascending order.
///
/// This is sort-compare-shuffle (Huang, Evans and Katz, "Private set intersection: are garbled
/// circuits better than custom protocols?", NDSS 2012). Each party sorts its own set, the circuit
/// merges the two, and a common element is then next to its duplicate. The shuffle would hide the
/// positions of the matches. Since only their number is shown, counting replaces it.
///
/// A list that is not in strictly ascending order gives a meaningless count. Each party's machine
/// sorts its own set ([`Promise::Set`]), and the circuit contains no proof of that.
///
/// # Panics
///
/// If the widths of the elements differ.
pub fn set_intersection_size<'b>(a: &Array<UInt<'b>>, b: &Array<UInt<'b>>) -> UInt<'b> {
    let merged: Vec<UInt<'b>> = a.merged(b).iter().cloned().collect();
    let matches: Vec<Bit<'b>> = merged
        .windows(2)
        .map(|neighbours| neighbours[0].equals(&neighbours[1]))
        .collect();
    // Among three neighbours at most two are equal, so half of the places bound the count.
    let count = Bus::from_bits(merged[0].bus().builder(), matches).count_ones();
    count.resize(a.len().min(b.len()).ilog2() as usize + 1)
}

pub(super) fn circuit_of_keyed_database(
    builder: &Builder,
    entries: usize,
    key_bits: usize,
    value_bits: usize,
) {
    let keys = builder.input("keys", Type::unsigned(key_bits).array(entries));
    let values = builder.input("values", Type::unsigned(value_bits).array(entries));
    let query = builder.uint("query", key_bits);
    builder.output("value", &keyed_database(&keys, &values, &query));
}

/// Builds a dot product. Sums of the factors are inputs, so that a matrix product computes each
/// only once.
pub(super) fn circuit_of_dot_product(builder: &Builder, count: usize, bits: usize) {
    let (factors, sum) = (Type::unsigned(bits).array(count), Type::unsigned(bits + 1));
    let a: Array<UInt> = builder.input("a", factors.clone());
    let b: Array<UInt> = builder.input("b", factors);
    let sums = ["a_sum", "b_sum"].map(|name| builder.input(name, sum.clone()));
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
    let [a_sum, b_sum] = &sums;
    let product = UInt::dot_product_of_summed(&a, &b, [a_sum, b_sum]);
    builder.output("product", &product);
}

pub(super) fn circuit_of_sort(builder: &Builder, count: usize, bits: usize) {
    let values: Array<UInt<'_>> = builder.input("values", Type::unsigned(bits).array(count));
    builder.output("sorted", &values.sorted());
}

pub(super) fn circuit_of_median(builder: &Builder, count: usize, bits: usize) {
    let values = builder.input("values", Type::unsigned(bits).array(count));
    builder.output("median", &median(&values));
}

pub(super) fn circuit_of_set_intersection_size(builder: &Builder, elements: usize, bits: usize) {
    let ty = Type::unsigned(bits).array(elements);
    let (a, b) = (builder.input("a", ty.clone()), builder.input("b", ty));
    builder.promise("a", Promise::Set);
    builder.promise("b", Promise::Set);
    builder.output("size", &set_intersection_size(&a, &b));
}
