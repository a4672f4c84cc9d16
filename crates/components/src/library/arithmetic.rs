//! The builder's arithmetic as separate circuits. The operations document their costs.

use tacit_circuit::builder::Builder;

/// Builds the wrapping product, which is the same for signed and unsigned integers.
pub(super) fn circuit_of_multiplier(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    builder.output("product", &(a * b));
}

/// Builds the full product of unsigned integers.
pub(super) fn circuit_of_wide_multiplier(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    builder.output("product", &a.mul_widening(&b));
}

/// Builds the full product of signed integers.
pub(super) fn circuit_of_signed_multiplier(builder: &Builder, bits: usize) {
    let (a, b) = (builder.int("a", bits), builder.int("b", bits));
    builder.output("product", &a.mul_widening(&b));
}

/// Builds quotient and remainder of unsigned integers.
pub(super) fn circuit_of_divider(builder: &Builder, bits: usize) {
    let (a, b) = (builder.uint("a", bits), builder.uint("b", bits));
    let (quotient, remainder) = a.div_rem(&b);
    builder.output("quotient", &quotient);
    builder.output("remainder", &remainder);
}

/// Builds quotient and remainder of signed integers.
pub(super) fn circuit_of_signed_divider(builder: &Builder, bits: usize) {
    let (a, b) = (builder.int("a", bits), builder.int("b", bits));
    let (quotient, remainder) = a.div_rem(&b);
    builder.output("quotient", &quotient);
    builder.output("remainder", &remainder);
}
