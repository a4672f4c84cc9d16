//! Levenshtein's edit distance: whole tables, tiles of them, and single cells, in two forms.
//!
//! D\[i\]\[j\] is the distance between the first i symbols of x and the first j of y. It is the
//! least of D\[i−1\]\[j\] + 1, D\[i\]\[j−1\] + 1, and D\[i−1\]\[j−1\], plus one if xᵢ ≠ yⱼ.
//!
//! **Plain**: a cell holds D, as in Huang, Evans, Katz and Malka, "Faster secure two-party
//! computation using garbled circuits", USENIX Security 2011, figure 5(c). D is the least of the
//! three neighbours, plus one unless that is the diagonal one and the symbols are equal. A cell
//! costs 5w AND gates for distances of w bits, plus one gate less than a symbol has bits.
//!
//! **Differences**: neighbouring cells differ by −1, 0 or 1 (Ukkonen 1985), and a cell can be
//! computed from the differences along its edges alone (Myers, "A fast bit-vector algorithm for
//! approximate string matching", J. ACM 46 (1999)). Let v be the difference down the left edge and
//! h that along the upper edge. The diagonal difference is 0 if xᵢ = yⱼ, v = −1 or h = −1, and 1
//! otherwise. The right edge is the diagonal difference minus h, and the lower edge is the diagonal
//! difference minus v. A cell costs four AND gates, plus one gate less than a symbol has bits: 11
//! for symbols of 8 bits, however large the table.
//!
//! A difference is an `i2`. Tiles take the differences along their left and upper edges and give
//! those along their right and lower edges. Along the border of the whole table, all are 1.

use tacit_circuit::builder::{Array, Bit, Builder, Bus, Int, Ordered, UInt};
use tacit_circuit::{Promise, Type};

/// Returns the differences along the right and the lower edge of a tile, from those along the left
/// and the upper edge. The left edge is as long as `x`, and the upper edge as long as `y`.
fn levenshtein_tile<'b>(
    x: &Array<UInt<'b>>,
    y: &Array<UInt<'b>>,
    left: &Array<Int<'b>>,
    above: &Array<Int<'b>>,
) -> (Array<Int<'b>>, Array<Int<'b>>) {
    assert_eq!(
        (left.len(), above.len()),
        (x.len(), y.len()),
        "differences along the edges"
    );
    let mut above: Vec<Int<'b>> = above.iter().cloned().collect();
    let right = x.iter().zip(left).map(|(x, left)| {
        above
            .iter_mut()
            .zip(y)
            .fold(left.clone(), |left, (above, y)| {
                let (right, below) = difference_cell(x.equals(y), &left, above);
                *above = below;
                right
            })
    });
    let right = Array::new(right.collect());
    (right, Array::new(above))
}

/// Computes a cell in the form with differences. Returns the difference down the right edge and
/// that along the lower edge.
fn difference_cell<'b>(equal: Bit<'b>, left: &Int<'b>, above: &Int<'b>) -> (Int<'b>, Int<'b>) {
    assert_eq!(
        (left.width(), above.width()),
        (2, 2),
        "bits of a difference"
    );
    let diagonal_is_zero = equal | left.sign() | above.sign();
    // The diagonal difference, 0 or 1, minus `edge`: odd if exactly one of them is odd, and
    // negative if the diagonal difference is 0 and the edge has 1.
    let less = |edge: &Int<'b>| {
        let (low, sign) = (edge.bus().bit(0), edge.sign());
        let bits = [!(diagonal_is_zero ^ low), diagonal_is_zero & (low ^ sign)];
        Int::new(Bus::from_bits(edge.bus().builder(), bits))
    };
    (less(above), less(left))
}

/// Returns the distance of a table of `columns` columns, from the differences down its right edge.
fn levenshtein_distance<'b>(right: &Array<Int<'b>>, columns: usize) -> UInt<'b> {
    let builder = right[0].bus().builder();
    let width = width_of(right.len().max(columns));
    // Each difference plus one is 0, 1 or 2. The ones are subtracted again at the end.
    let raised = right.iter().map(|difference| {
        let (low, sign) = (difference.bus().bit(0), difference.sign());
        UInt::new(Bus::from_bits(builder, [!low, low ^ sign])).resize(width)
    });
    let start = (columns as u128).wrapping_sub(right.len() as u128);
    let terms: Vec<UInt<'b>> = raised
        .chain([UInt::constant(builder, width, start)])
        .collect();
    UInt::sum(&terms.iter().collect::<Vec<_>>())
}

/// Returns the edit distance, in as few bits as it can need, by the form with differences.
fn edit_distance<'b>(x: &Array<UInt<'b>>, y: &Array<UInt<'b>>) -> UInt<'b> {
    let one = Int::constant(x[0].bus().builder(), 2, 1);
    let edge = |len| Array::new(vec![one.clone(); len]);
    let (right, below) = levenshtein_tile(x, y, &edge(x.len()), &edge(y.len()));
    // Either edge leads to the lower right corner. The shorter one has fewer terms.
    if x.len() <= y.len() {
        levenshtein_distance(&right, y.len())
    } else {
        levenshtein_distance(&below, x.len())
    }
}

/// Computes a cell in the plain form: D\[i\]\[j\] from its upper, left and diagonal neighbours,
/// wrapping.
fn levenshtein_cell<'b>(
    above: &UInt<'b>,
    left: &UInt<'b>,
    diagonal: &UInt<'b>,
    x: &UInt<'b>,
    y: &UInt<'b>,
) -> UInt<'b> {
    let side = above.min(left);
    let from_side = side.less_than(diagonal);
    let least = from_side.select(&side, diagonal);
    let step = from_side | !x.equals(y);
    let builder = least.bus().builder();
    &least + UInt::from_bits(builder, [step]).resize(least.width())
}

/// Returns the bits of a distance that is at most `greatest`.
fn width_of(greatest: usize) -> usize {
    greatest.max(1).ilog2() as usize + 1
}

/// Declares the inputs of a component on two strings of these lengths.
pub(super) fn strings(
    builder: &Builder,
    (n, m): (usize, usize),
    symbol_bits: usize,
) -> (Array<UInt<'_>>, Array<UInt<'_>>) {
    let symbol = Type::unsigned(symbol_bits);
    (
        builder.input("x", symbol.clone().array(n)),
        builder.input("y", symbol.array(m)),
    )
}

pub(super) fn circuit(builder: &Builder, lengths: (usize, usize), symbol_bits: usize) {
    let (x, y) = strings(builder, lengths, symbol_bits);
    builder.output("distance", &edit_distance(&x, &y));
}

/// An `i2` can also be −2, which is not a difference of neighbouring cells.
const DIFFERENCES: Promise = Promise::Within {
    least: -1,
    greatest: 1,
};

pub(super) fn circuit_of_tile(builder: &Builder, side: usize, symbol_bits: usize) {
    let (x, y) = strings(builder, (side, side), symbol_bits);
    let edge = Type::signed(2).array(side);
    let (left, above) = (
        builder.input("left", edge.clone()),
        builder.input("above", edge),
    );
    builder.promise("left", DIFFERENCES);
    builder.promise("above", DIFFERENCES);
    let (right, below) = levenshtein_tile(&x, &y, &left, &above);
    builder.output("right", &right);
    builder.output("below", &below);
}

pub(super) fn circuit_of_distance(builder: &Builder, rows: usize, columns: usize) {
    let right = builder.input("right", Type::signed(2).array(rows));
    builder.promise("right", DIFFERENCES);
    builder.output("distance", &levenshtein_distance(&right, columns));
}

pub(super) fn circuit_of_cell(builder: &Builder, bits: usize, symbol_bits: usize) {
    let (above, left) = (builder.uint("above", bits), builder.uint("left", bits));
    let diagonal = builder.uint("diagonal", bits);
    let (x, y) = (
        builder.uint("x", symbol_bits),
        builder.uint("y", symbol_bits),
    );
    builder.output(
        "distance",
        &levenshtein_cell(&above, &left, &diagonal, &x, &y),
    );
}
