//! Small components on integers.

use tacit_circuit::Type;
use tacit_circuit::builder::{Builder, UInt};

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
    builder.output("a_is_richer", &input("a").greater_than(&input("b")));
}

pub(super) fn circuit_of_selector(builder: &Builder, bits: usize) {
    let condition = builder.bit("condition");
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    builder.output("selected", &condition.select(&a, &b));
}

pub(super) fn circuit_of_adder(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    builder.output("sum", &(a + b));
}

pub(super) fn circuit_of_comparator(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    let (less, equal) = (a.less_than(&b), a.equals(&b));
    builder.output("less", &less);
    builder.output("equal", &equal);
    // At most one of them holds, so their OR is their XOR.
    builder.output("greater", &!(less ^ equal));
}
