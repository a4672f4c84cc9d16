//! Functions that save and load values, for the tests of the protocols that keep values.

use tacit_function::{Function, FunctionBuilder, Operand, Recipient, Role};

/// Returns the function that `fill` writes.
pub(crate) fn function(fill: impl FnOnce(&mut FunctionBuilder)) -> Function {
    let mut builder = FunctionBuilder::new("function");
    fill(&mut builder);
    builder.finish().expect("well formed")
}

/// Saves an input of each party and a constant, without a gate.
pub(crate) fn begin() -> Function {
    function(|f| {
        f.input("a", "u8", Role::Garbler)
            .input("b", "u8", Role::Evaluator)
            .save("total", "u8", "a")
            .save("step", "u8", "b")
            .save("limit", "u8", Operand::number(77));
    })
}

/// Adds a saved value and an input of the evaluator to the total. The step is saved unchanged, and
/// the garbler gets the limit.
pub(crate) fn go_on() -> Function {
    go_on_showing(Recipient::Evaluator, Recipient::Garbler)
}

/// Returns the same function, with other recipients of the sum (`shown`) and of the limit (`told`).
pub(crate) fn go_on_showing(shown: Recipient, told: Recipient) -> Function {
    function(|f| {
        f.library("add", "adder", &[("bits", 8)])
            .input("more", "u8", Role::Evaluator)
            .load("total", "u8")
            .load("step", "u8")
            .load("limit", "u8")
            .value("half", "u8")
            .value("sum", "u8")
            .call(["half"], "add", ["total", "step"])
            .call(["sum"], "add", ["half", "more"])
            .output("shown", "u8", shown, "sum")
            .output("told", "u8", told, "limit")
            .save("total", "u8", "sum")
            .save("step", "u8", "step");
    })
}

pub(crate) fn bits(number: u8) -> Vec<bool> {
    (0..8).map(|i| number >> i & 1 == 1).collect()
}
