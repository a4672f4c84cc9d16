//! Keyed databases, matrices, sorted lists and sets.

use tacit_circuit::builder::{Array, Bit, Bus, UInt};
use tacit_circuit::{Circuit, CircuitError, Promise, Type};

use super::build;

/// The value whose key is `query`: of several the last, and all zeros if there is none.
///
/// For n entries with keys of k bits and values of v it costs n(k − 1 + v) AND gates: 6080 for 64
/// entries with keys of 32 bits and values of 64, as in the published experiment.
///
/// # Panics
///
/// If there are not as many keys as values, or the query is not as wide as a key.
#[must_use]
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

/// The product of two n × n matrices, given row by row; entries wrap around.
///
/// Each entry is one sum of products, so that the rows that a product takes besides its n² XORs
/// are shared: among the products of an entry, and by structural sharing among the entries of a
/// row and of a column. 8 × 8 entries of 32 bits cost 261952 AND gates; with a multiplier of the
/// textbook for each product they would take 522752.
///
/// # Panics
///
/// If the matrices are not square and of one size, or the entries' widths differ.
#[must_use]
pub fn matrix_product<'b>(
    a: &Array<Array<UInt<'b>>>,
    b: &Array<Array<UInt<'b>>>,
) -> Array<Array<UInt<'b>>> {
    let n = a.len();
    assert!(
        b.len() == n && a[0].len() == n && b[0].len() == n,
        "two square matrices of one size"
    );
    let columns: Vec<Vec<&UInt<'b>>> = (0..n)
        .map(|column| b.iter().map(|row| &row[column]).collect())
        .collect();
    let rows = a.iter().map(|row| {
        let row: Vec<&UInt<'b>> = row.iter().collect();
        Array::new(
            columns
                .iter()
                .map(|column| UInt::dot_product(&row, column))
                .collect(),
        )
    });
    Array::new(rows.collect())
}

/// The median, the lower of the two in the middle of an even number of values. Costs a sorting
/// network less what does not lead to the middle.
#[must_use]
pub fn median<'b>(values: &Array<UInt<'b>>) -> UInt<'b> {
    values.sorted()[(values.len() - 1) / 2].clone()
}

/// How many elements two sets have in common, each given in strictly ascending order.
///
/// Sort-compare-shuffle (Huang, Evans and Katz, "Private set intersection: are garbled circuits
/// better than custom protocols?", NDSS 2012): each party sorts its own set, the circuit merges
/// the two, and an element of both then stands next to its like. Where only the number is shown,
/// counting takes the place of the shuffle, which hides the places of what is found.
///
/// A list that is not in strictly ascending order gives a meaningless count: each party's machine
/// sorts its own set ([`Promise::Set`]), and no proof of it is part of the circuit.
///
/// # Panics
///
/// If the widths of the elements differ.
#[must_use]
pub fn set_intersection_size<'b>(a: &Array<UInt<'b>>, b: &Array<UInt<'b>>) -> UInt<'b> {
    let merged: Vec<UInt<'b>> = a.merged(b).iter().cloned().collect();
    let matches: Vec<Bit<'b>> = merged
        .windows(2)
        .map(|neighbours| neighbours[0].equals(&neighbours[1]))
        .collect();
    // Of any three in a row only two can be equal, so that half of the places bound the count.
    let count = Bus::from_bits(merged[0].bus().builder(), matches).count_ones();
    count.resize(a.len().min(b.len()).ilog2() as usize + 1)
}

pub(super) fn circuit_of_keyed_database(
    entries: usize,
    key_bits: usize,
    value_bits: usize,
) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let keys = builder.input("keys", Type::unsigned(key_bits).array(entries));
        let values = builder.input("values", Type::unsigned(value_bits).array(entries));
        let query = builder.uint("query", key_bits);
        builder.output("value", &keyed_database(&keys, &values, &query));
    })
}

pub(super) fn circuit_of_matrix_product(n: usize, bits: usize) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let ty = Type::unsigned(bits).array(n).array(n);
        let (a, b) = (builder.input("a", ty.clone()), builder.input("b", ty));
        builder.output("product", &matrix_product(&a, &b));
    })
}

pub(super) fn circuit_of_sort(count: usize, bits: usize) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let values: Array<UInt<'_>> = builder.input("values", Type::unsigned(bits).array(count));
        builder.output("sorted", &values.sorted());
    })
}

pub(super) fn circuit_of_median(count: usize, bits: usize) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let values = builder.input("values", Type::unsigned(bits).array(count));
        builder.output("median", &median(&values));
    })
}

pub(super) fn circuit_of_set_intersection_size(
    elements: usize,
    bits: usize,
) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let ty = Type::unsigned(bits).array(elements);
        let (a, b) = (builder.input("a", ty.clone()), builder.input("b", ty));
        builder.promise("a", Promise::Set);
        builder.promise("b", Promise::Set);
        builder.output("size", &set_intersection_size(&a, &b));
    })
}
