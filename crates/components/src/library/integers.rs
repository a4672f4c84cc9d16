//! Small components on integers.

use tacit_circuit::Type;
use tacit_circuit::builder::{Bit, Builder, UInt};

/// Whether `a` is richer than `b`. The number of AND gates is the width.
///
/// # Panics
///
/// If the widths differ.
pub fn millionaires<'b>(a: &UInt<'b>, b: &UInt<'b>) -> Bit<'b> {
    a.greater_than(b)
}

/// Returns the wrapping sum. Costs one AND gate less than the width.
///
/// # Panics
///
/// If the widths differ.
pub fn adder<'b>(a: &UInt<'b>, b: &UInt<'b>) -> UInt<'b> {
    a + b
}

/// Returns whether `a` is less than, equal to, and greater than `b`. Costs two AND gates per bit,
/// less one.
///
/// # Panics
///
/// If the widths differ.
pub fn comparator<'b>(a: &UInt<'b>, b: &UInt<'b>) -> [Bit<'b>; 3] {
    let (less, equal) = (a.less_than(b), a.equals(b));
    // At most one of them holds, so their OR is their XOR.
    [less, equal, !(less ^ equal)]
}

/// Builds the millionaires' circuit. Some benchmarks compare more bits than any number type has.
/// Above that limit the ports are bit strings.
pub(super) fn circuit_of_millionaires(builder: &Builder, bits: usize) {
    let input = |name| {
        if bits <= Type::MAX_NUMBER_BITS as usize {
            builder.uint(name, bits)
        } else {
            UInt::new(builder.bus(name, bits))
        }
    };
    builder.output("a_is_richer", &millionaires(&input("a"), &input("b")));
}

pub(super) fn circuit_of_selector(builder: &Builder, bits: usize) {
    let condition = builder.bit("condition");
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    builder.output("selected", &condition.select(&a, &b));
}

pub(super) fn circuit_of_adder(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    builder.output("sum", &adder(&a, &b));
}

pub(super) fn circuit_of_comparator(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    let [less, equal, greater] = comparator(&a, &b);
    builder.output("less", &less);
    builder.output("equal", &equal);
    builder.output("greater", &greater);
}
