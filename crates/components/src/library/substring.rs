//! The longest common substring of two strings. Its symbols are side by side in both.
//!
//! A cell of the table of runs holds the number of equal symbols up to it: one more than its
//! diagonal neighbour, or zero. Only the greatest of all cells is wanted. It grows by at most one
//! with each symbol of y, namely if the longest run so far continues somewhere.
//!
//! Linear feedback shift registers count the runs, instead of binary counters. A register's next
//! state is linear in its state, so counting is free, and runs are only ever compared with the
//! longest one for equality. A cell costs 2w + 1 AND gates for runs of w bits, plus one gate less
//! than a symbol has bits. An adder, a selection and a maximum would take about 4w.
//!
//! Symbols of y may come one by one, each in a computation of its own that takes over the runs and
//! the longest run from the previous computation. This is the incremental benchmark of stateful
//! computation on garbled values.

use tacit_circuit::builder::{Array, Builder, Bus, RunCounter, UInt};
use tacit_circuit::{Promise, Type};

use super::edit_distance::strings;

/// The state of the longest common substring of a text x and the symbols of y so far.
#[derive(Clone, Debug)]
struct Substrings<'b> {
    /// For each symbol of the text, the run of equal symbols that ends there and with the last
    /// symbol of y, in the form of a [`RunCounter`].
    runs: Vec<Bus<'b>>,
    /// The longest run of all, in the form of a [`RunCounter`].
    longest: Bus<'b>,
    /// The length of the longest run of all.
    length: UInt<'b>,
}

impl<'b> Substrings<'b> {
    /// Returns the state before the first symbol of y: no run, in a text of `len` symbols.
    fn none(builder: &'b Builder, len: usize) -> Self {
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
    fn next(&self, text: &Array<UInt<'b>>, symbol: &UInt<'b>) -> Self {
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
fn longest_common_substring<'b>(x: &Array<UInt<'b>>, y: &Array<UInt<'b>>) -> UInt<'b> {
    let start = Substrings::none(x[0].bus().builder(), x.len());
    y.iter()
        .fold(start, |known, symbol| known.next(x, symbol))
        .length
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
