//! The shallow forms of operations: few AND gates in a row, but more of them in total.
//!
//! | operation | form | AND gates in a row for n bits |
//! |---|---|---|
//! | sum | prefixes after Sklansky | 1 + log n |
//! | comparison | a tree of (less, equal) of halves | 1 + log n |
//! | sum of many bits | full adders by columns, and one sum | log of the height, and a sum |
//!
//! Source: J. Sklansky, "Conditional-sum addition logic", IRE Transactions EC-9 (1960). A node of a
//! prefix tree is P₁·(G₀, P₀): two AND gates with one input in common, which cost a protocol over
//! shares little more than one. XOR gates are free and have no depth. A chain of full adders, whose
//! sums are XORs, therefore has all its carries after one AND gate, and each layer halves the
//! height of a column. At height 3, half adders keep carries from rippling.

use core::fmt;

use super::integer::full_adder;
use super::{Bit, Builder, Bus};
use crate::netlist::{Literal, Netlist};

/// The optimization target of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CircuitForm {
    /// As few AND gates as possible, for protocols that pay for each AND gate, such as garbling.
    #[default]
    Small,
    /// Few AND gates in a row, for protocols that pay for each layer, such as those over shares.
    Shallow,
}

impl fmt::Display for CircuitForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Small => "small",
            Self::Shallow => "shallow",
        })
    }
}

/// The number of AND gates in a row up to each node of a netlist, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Layers(Vec<u32>);

impl Layers {
    fn of(&mut self, netlist: &Netlist, literal: Literal) -> u32 {
        if literal.as_constant().is_some() {
            return 0;
        }
        for number in self.0.len() as u32..=literal.node() {
            let node = netlist.packed(number);
            let layer = node.inputs().map_or(0, |inputs| {
                let [a, b] = inputs.map(|input| self.0[input.node() as usize]);
                a.max(b) + u32::from(node.is_and())
            });
            self.0.push(layer);
        }
        self.0[literal.node() as usize]
    }
}

impl Builder {
    /// Returns the number of AND gates in a row up to this bit.
    fn layer(&self, bit: Bit<'_>) -> u32 {
        let literal = bit.settled();
        self.layers
            .borrow_mut()
            .of(self.gates.borrow().netlist(), literal)
    }
}

/// Turns the generate and propagate bits of each place into those of all places up to it. A
/// propagate bit that reaches down to place 0 is not computed, as nothing reads it.
fn prefixes<'b>(places: &mut [(Bit<'b>, Bit<'b>)]) {
    let mut step = 1;
    while step < places.len() {
        for high in (0..places.len()).filter(|high| high & step != 0) {
            let low = (high & !(2 * step - 1)) + step - 1;
            let ((g_1, p_1), (g_0, p_0)) = (places[high], places[low]);
            let p = if low < step { p_1 } else { p_1 & p_0 };
            places[high] = (g_1 ^ (p_1 & g_0), p);
        }
        step *= 2;
    }
}

/// Returns `a + b + carry` modulo 2^width.
pub(super) fn sum<'b>(a: &Bus<'b>, b: &Bus<'b>, carry: Bit<'b>) -> Bus<'b> {
    let pairs = || a.bits().zip(b.bits());
    let mut places: Vec<_> = pairs()
        .take(a.width().saturating_sub(1))
        .map(|(a, b)| (a & b, a ^ b))
        .collect();
    if let Some(first) = places.first_mut() {
        first.0 = full_adder(a.bit(0), b.bit(0), carry).1;
    }
    prefixes(&mut places);
    let carries = core::iter::once(carry).chain(places.into_iter().map(|place| place.0));
    let bits = pairs().zip(carries).map(|((a, b), carry)| a ^ b ^ carry);
    Bus::from_bits(a.builder(), bits.collect::<Vec<_>>())
}

/// Whether `a < b` as unsigned integers of one width.
pub(super) fn less<'b>(a: &Bus<'b>, b: &Bus<'b>) -> Bit<'b> {
    let pairs = a.bits().zip(b.bits());
    let mut level: Vec<_> = pairs.map(|(a, b)| (!a & b, !(a ^ b))).collect();
    while level.len() > 1 {
        let pairs = level.chunks(2).enumerate();
        level = pairs
            .map(|(number, pair)| match *pair {
                // Nothing reads whether the lowest parts are equal.
                [(l_0, e_0), (l_1, e_1)] => {
                    let e = if number == 0 { e_1 } else { e_1 & e_0 };
                    (l_1 ^ (e_1 & l_0), e)
                }
                _ => pair[0],
            })
            .collect();
    }
    let zero = a.builder().constant(false);
    level.first().map_or(zero, |(less, _)| *less)
}

/// Returns for each bit whether it and all bits before it are one.
pub(super) fn prefix_ands<'b>(bits: impl Iterator<Item = Bit<'b>>) -> Vec<Bit<'b>> {
    let mut all: Vec<_> = bits.collect();
    let mut step = 1;
    while step < all.len() {
        for high in (0..all.len()).filter(|high| high & step != 0) {
            let low = (high & !(2 * step - 1)) + step - 1;
            all[high] = all[high] & all[low];
        }
        step *= 2;
    }
    all
}

/// Returns two numbers whose sum is that of the bits in `columns`, modulo 2^`columns.len()`.
pub(super) fn compress<'b>(builder: &'b Builder, mut columns: Vec<Vec<Bit<'b>>>) -> [Bus<'b>; 2] {
    let zero = builder.constant(false);
    let height = |columns: &[Vec<Bit<'b>>]| columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut now = 0;
    while height(&columns) > 2 {
        // If no column can be reduced yet, wait for the next bits.
        let mut next = u32::MAX;
        let mut made = false;
        let is_last = height(&columns) == 3;
        let mut carries = Vec::new();
        let top = columns.len() - 1;
        for (place, column) in columns.iter_mut().enumerate() {
            let mut come = core::mem::take(&mut carries);
            let (there, later): (Vec<_>, Vec<_>) =
                column.drain(..).partition(|bit| builder.layer(*bit) <= now);
            next = later
                .iter()
                .fold(next, |next, bit| next.min(builder.layer(*bit)));
            let mut there = there.into_iter();
            column.extend(there.next());
            while there.len() >= 2
                && let (Some(y), Some(z)) = (there.next(), there.next())
            {
                made = true;
                let x = column[0];
                column[0] = x ^ y ^ z;
                if place < top {
                    carries.push(full_adder(y, z, x).1);
                }
            }
            match there.next() {
                Some(y) if is_last && !come.is_empty() && later.is_empty() => {
                    let x = column[0];
                    column[0] = x ^ y;
                    if place < top {
                        carries.push(x & y);
                    }
                }
                last => column.extend(last),
            }
            column.extend(later);
            column.append(&mut come);
            column.retain(|bit| bit.as_constant() != Some(false));
        }
        now = if made { now + 1 } else { next };
    }
    [0, 1].map(|row| {
        let bits = columns.iter();
        let bits = bits.map(|column| column.get(row).copied().unwrap_or(zero));
        Bus::from_bits(builder, bits.collect::<Vec<_>>())
    })
}

/// Returns the sum of the bits in `columns`, modulo 2^`columns.len()`.
pub(super) fn sum_of_columns<'b>(builder: &'b Builder, columns: Vec<Vec<Bit<'b>>>) -> Bus<'b> {
    let width = columns.len();
    let [x, y] = compress(builder, columns);
    // Below place `first`, nothing is left to add.
    let first = y
        .bits()
        .take_while(|bit| bit.as_constant() == Some(false))
        .count();
    let upper = |row: &Bus<'b>| row.slice(first..width);
    let zero = builder.constant(false);
    x.slice(0..first).concat(&sum(&upper(&x), &upper(&y), zero))
}
