//! Random functions against an interpreter that knows nothing of plans and places.

use proptest::prelude::*;

use crate::{FunctionBuilder, Recipient, Role};

/// What an argument reads: elements are numbered over inputs and earlier steps.
#[derive(Clone, Debug)]
enum Argument {
    /// A whole element.
    Element(usize),
    /// The lower bits of one and the upper bits of another.
    Joined(usize, usize, u32),
    /// A number.
    Constant(u8),
}

/// The two arguments of each step, and whether a loop or a step of its own makes it.
type Steps = Vec<(Argument, Argument, bool)>;

const INPUTS: usize = 3;

fn argument() -> impl Strategy<Value = Argument> {
    prop_oneof![
        4 => any::<usize>().prop_map(Argument::Element),
        2 => (any::<usize>(), any::<usize>(), 1..8_u32)
            .prop_map(|(a, b, cut)| Argument::Joined(a, b, cut)),
        1 => any::<u8>().prop_map(Argument::Constant),
    ]
}

/// Element `n` of those that are there when step `step` runs, by name.
fn name(n: usize, step: usize) -> String {
    match n % (INPUTS + step) {
        input @ 0..INPUTS => format!("x[{input}]"),
        earlier => format!("v[{}]", earlier - INPUTS),
    }
}

fn text(argument: &Argument, step: usize) -> String {
    match argument {
        Argument::Element(n) => name(*n, step),
        Argument::Joined(a, b, cut) => {
            format!(
                "{}[0..{cut}] ++ {}[{cut}..8]",
                name(*a, step),
                name(*b, step)
            )
        }
        Argument::Constant(number) => number.to_string(),
    }
}

fn value(argument: &Argument, elements: &[u8]) -> u8 {
    let at = |n: &usize| elements[n % elements.len()];
    match argument {
        Argument::Element(n) => at(n),
        Argument::Joined(a, b, cut) => {
            let low = (1_u8 << cut) - 1;
            at(a) & low | at(b) & !low
        }
        Argument::Constant(number) => *number,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_function_computes_what_its_steps_say(
        inputs in any::<[u8; INPUTS]>(),
        steps in prop::collection::vec((argument(), argument(), any::<bool>()), 1..30),
    ) {
        let steps: Steps = steps;
        let mut builder = FunctionBuilder::new("random");
        builder
            .library("add", "adder", &[("bits", 8)])
            .library("multiply", "multiplier", &[("bits", 8)])
            .input("x", &format!("u8[{INPUTS}]"), Role::Garbler)
            .value("v", &format!("u8[{}]", steps.len()));
        let mut elements = inputs.to_vec();
        for (step, (a, b, multiply)) in steps.iter().enumerate() {
            let called = if *multiply { "multiply" } else { "add" };
            let (a_text, b_text) = (text(a, step), text(b, step));
            builder.step(&format!("v[{step}] = {called}({a_text}, {b_text})"));
            let (a, b) = (value(a, &elements), value(b, &elements));
            elements.push(if *multiply { a.wrapping_mul(b) } else { a.wrapping_add(b) });
        }
        let last = steps.len() - 1;
        builder.output("last", "u8", Recipient::Both, &format!("v[{last}]"));
        builder.output("half", "u8", Recipient::Both, &format!("v[{}]", last / 2));
        let function = builder.finish().unwrap();
        let bit = |byte: &u8| (0..8).map(|i| byte >> i & 1 == 1).collect::<Vec<_>>();
        let bits: Vec<bool> = inputs.iter().flat_map(bit).collect();
        let expected: Vec<bool> =
            [elements[INPUTS + last], elements[INPUTS + last / 2]].iter().flat_map(bit).collect();
        prop_assert_eq!(function.evaluate(&bits), expected);
        prop_assert!(function.live_bits() <= 8 * (INPUTS + steps.len()));
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9 \\[\\]()+*/%.,=_:x-]{0,60}") {
        let mut builder = FunctionBuilder::new("text");
        builder
            .library("f", "adder", &[("bits", 8)])
            .input("x", "u8[4]", Role::Garbler)
            .value("v", "u8[4]")
            .step(&text)
            .output("r", "u8", Recipient::Both, &text);
        let _ = builder.finish();
    }
}
