//! Keyed databases and products of vectors.

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Builder, UInt};

/// Returns the value whose key is `query`: the last one if there are several, and all zeros if
/// there is none.
///
/// For n entries with keys of k bits and values of v bits, it costs n(k − 1 + v) AND gates: 6080
/// for 64 entries with keys of 32 bits and values of 64 bits, as in the published experiment.
fn keyed_database<'b>(
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
