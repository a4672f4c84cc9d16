//! The common parts of two strings: the longest subsequence and the longest substring.
//!
//! **Subsequence** (its symbols in order, with gaps). Neighbouring cells of the table of lengths
//! differ by 0 or 1 (Allison and Dix, "A bit-string longest-common-subsequence algorithm",
//! Information Processing Letters 23 (1986)). Let v and h be the differences down the left and
//! along the upper edge of a cell. The diagonal difference is (xᵢ = yⱼ) ∨ v ∨ h. The right edge is
//! the diagonal difference minus h, and the lower edge is the diagonal difference minus v. No
//! difference is negative, so both are XORs. A cell costs two AND gates, plus one gate less than a
//! symbol has bits.
//!
//! **Substring** (its symbols side by side). A cell holds the number of equal symbols up to it: one
//! more than its diagonal neighbour, or zero. Only the greatest of all cells is wanted. It grows by
//! at most one with each symbol of y, namely if the longest run so far continues somewhere.
//!
//! Linear feedback shift registers count the runs, instead of binary counters. A register's next
//! state is linear in its state, so counting is free, and runs are only ever compared with the
//! longest one for equality. A cell costs 2w + 1 AND gates for runs of w bits, plus one gate less
//! than a symbol has bits. An adder, a selection and a maximum would take about 4w.
//!
//! Symbols of y may come one by one, each in a computation of its own that takes over the runs and
//! the longest run from the previous computation. This is the incremental benchmark of stateful
//! computation on garbled values.

use tacit_circuit::builder::{Array, Bit, Builder, Bus, RunCounter, UInt};
use tacit_circuit::{Promise, Type};

use super::edit_distance::strings;

/// Returns the differences down the right and along the lower edge of a tile of the table of
/// lengths, from those down the left and along the upper edge. The left edge is as long as `x`, and
/// the upper edge as long as `y`. Along the border of the whole table, all are zero.
///
/// # Panics
///
/// If an edge has another length, or the symbols' widths differ.
pub fn subsequence_tile<'b>(
    x: &Array<UInt<'b>>,
    y: &Array<UInt<'b>>,
    left: &Bus<'b>,
    above: &Bus<'b>,
) -> (Bus<'b>, Bus<'b>) {
    assert_eq!(
        (left.width(), above.width()),
        (x.len(), y.len()),
        "differences along the edges"
    );
    let builder = left.builder();
    let mut above: Vec<Bit<'b>> = above.bits().collect();
    let right: Vec<Bit<'b>> = x
        .iter()
        .zip(left.bits())
        .map(|(x, left)| {
            above.iter_mut().zip(y).fold(left, |left, (above, y)| {
                let diagonal = x.equals(y) | left | *above;
                let right = diagonal ^ *above;
                *above = diagonal ^ left;
                right
            })
        })
        .collect();
    (
        Bus::from_bits(builder, right),
        Bus::from_bits(builder, above),
    )
}

/// Returns the length of the longest common subsequence, in as few bits as it can need.
///
/// # Panics
///
/// If the symbols' widths differ.
pub fn longest_common_subsequence<'b>(x: &Array<UInt<'b>>, y: &Array<UInt<'b>>) -> UInt<'b> {
    let builder = x[0].bus().builder();
    let edge = |len| Bus::constant(builder, vec![false; len]);
    let (right, below) = subsequence_tile(x, y, &edge(x.len()), &edge(y.len()));
    // Either edge leads to the lower right corner. The shorter one takes fewer gates to count.
    if x.len() <= y.len() {
        right.count_ones()
    } else {
        below.count_ones()
    }
}

/// The state of the longest common substring of a text x and the symbols of y so far.
#[derive(Clone, Debug)]
pub struct Substrings<'b> {
    /// For each symbol of the text, the run of equal symbols that ends there and with the last
    /// symbol of y, in the form of a [`RunCounter`].
    pub runs: Vec<Bus<'b>>,
    /// The longest run of all, in the form of a [`RunCounter`].
    pub longest: Bus<'b>,
    /// The length of the longest run of all.
    pub length: UInt<'b>,
}

impl<'b> Substrings<'b> {
    /// Returns the state before the first symbol of y: no run, in a text of `len` symbols.
    pub fn none(builder: &'b Builder, len: usize) -> Self {
        let counter = RunCounter::up_to(len);
        let none = Bus::constant(builder, vec![false; counter.width()]);
        let length = UInt::constant(builder, counter.width(), 0);
        Self {
            runs: vec![none.clone(); len],
            longest: none,
            length,
        }
    }

    /// Returns the state after one more symbol of y.
    ///
    /// # Panics
    ///
    /// If the text's length is not the number of runs, or the symbols' widths differ.
    pub fn next(&self, text: &Array<UInt<'b>>, symbol: &UInt<'b>) -> Self {
        assert_eq!(
            self.runs.len(),
            text.len(),
            "runs for the symbols of a text"
        );
        let counter = RunCounter::up_to(text.len());
        let builder = symbol.bus().builder();
        let none = Bus::constant(builder, vec![false; counter.width()]);
        let before = [&none].into_iter().chain(&self.runs);
        let mut grown = Vec::with_capacity(text.len());
        let mut runs = Vec::with_capacity(text.len());
        for (symbol_of_text, before) in text.iter().zip(before) {
            let equal = symbol_of_text.equals(symbol);
            grown.push(equal & before.equals(&self.longest));
            runs.push(equal.select(&counter.next(before), &none));
        }
        let grows = Bus::from_bits(builder, grown).any();
        let longest = grows.select(&counter.next(&self.longest), &self.longest);
        let one_more = UInt::from_bits(builder, [grows]).resize(counter.width());
        Self {
            runs,
            longest,
            length: &self.length + one_more,
        }
    }
}

/// Returns the length of the longest common substring, in as many bits as a run takes.
///
/// # Panics
///
/// If the symbols' widths differ.
pub fn longest_common_substring<'b>(x: &Array<UInt<'b>>, y: &Array<UInt<'b>>) -> UInt<'b> {
    let start = Substrings::none(x[0].bus().builder(), x.len());
    y.iter()
        .fold(start, |known, symbol| known.next(x, symbol))
        .length
}

pub(super) fn circuit_of_subsequence(
    builder: &Builder,
    lengths: (usize, usize),
    symbol_bits: usize,
) {
    let (x, y) = strings(builder, lengths, symbol_bits);
    builder.output("length", &longest_common_subsequence(&x, &y));
}

pub(super) fn circuit_of_subsequence_tile(builder: &Builder, side: usize, symbol_bits: usize) {
    let (x, y) = strings(builder, (side, side), symbol_bits);
    let (left, above) = (builder.bus("left", side), builder.bus("above", side));
    let (right, below) = subsequence_tile(&x, &y, &left, &above);
    builder.output("right", &right);
    builder.output("below", &below);
}

pub(super) fn circuit_of_substring(builder: &Builder, lengths: (usize, usize), symbol_bits: usize) {
    let (x, y) = strings(builder, lengths, symbol_bits);
    builder.output("length", &longest_common_substring(&x, &y));
}

/// Builds one step of the incremental form. The outputs of the state have the names of its inputs.
pub(super) fn circuit_of_substring_step(builder: &Builder, len: usize, symbol_bits: usize) {
    let width = RunCounter::up_to(len).width();
    let text = builder.input("text", Type::unsigned(symbol_bits).array(len));
    let symbol = builder.uint("symbol", symbol_bits);
    let runs: Array<Bus<'_>> = builder.input("runs", Type::bits(width).array(len));
    let longest = builder.bus("longest", width);
    let length = builder.uint("length", width);
    let (longest_run, greatest) = (len as u32, len as i64);
    let runs_of = Promise::RunCounts {
        longest: longest_run,
    };
    builder.promise("runs", runs_of);
    builder.promise("longest", runs_of);
    builder.promise("length", Promise::Within { least: 0, greatest });
    let known = Substrings {
        runs: runs.iter().cloned().collect(),
        longest,
        length,
    };
    let known = known.next(&text, &symbol);
    builder.output("runs", &Array::new(known.runs));
    builder.output("longest", &known.longest);
    builder.output("length", &known.length);
}
