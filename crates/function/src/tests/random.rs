//! Random functions compared with an interpreter that knows nothing about plans and places.

use proptest::prelude::*;

use core::convert::Infallible;

use tacit_circuit::Owners;

use super::schedule::plain;
use crate::samples::Sample;
use crate::schedule::Limits;
use crate::{Function, FunctionBuilder, Operand, Part, Recipient, Role, Schedule, Step, Values};

/// The source of an argument. Elements are numbered over inputs and earlier steps.
#[derive(Clone, Debug)]
enum Argument {
    /// A whole element.
    Element(usize),
    /// The lower bits of one element and the upper bits of another.
    Joined(usize, usize, u32),
    /// A number.
    Constant(u8),
}

/// For each step, its two arguments, and whether it is in a loop or on its own.
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

/// Returns element `n` of those that exist when step `step` runs.
fn element(n: usize, step: usize) -> Part {
    match n % (INPUTS + step) {
        input @ 0..INPUTS => Part::of("x").at(input as u64),
        earlier => Part::of("v").at((earlier - INPUTS) as u64),
    }
}

fn operand(argument: &Argument, step: usize) -> Operand {
    match argument {
        Argument::Element(n) => element(*n, step).into(),
        Argument::Joined(a, b, cut) => {
            let cut = u64::from(*cut);
            let low = element(*a, step).range(0, cut);
            Operand::from(low).then(element(*b, step).range(cut, 8))
        }
        Argument::Constant(number) => Operand::number((*number).into()),
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

/// Evaluates `function`, with up to `most` calls given out before one of them, which `order`
/// selects, is finished. Returns the results.
fn evaluate_ahead(function: &Function, bits: &[bool], most: usize, order: &mut u64) -> Vec<bool> {
    let mut inputs = bits.iter();
    let input = |_| Ok::<_, Infallible>(*inputs.next().unwrap());
    let Ok(mut values) = Values::new(function, input);
    let mut calls = Vec::new();
    loop {
        let step = if calls.len() < most {
            values.step_ahead(|bit| bit)
        } else {
            None
        };
        match step {
            Some(Step::Call(call)) => {
                let results = call.component.circuit().evaluate(values.arguments());
                calls.push((call.number, results));
            }
            Some(Step::Assigned(_)) => {}
            Some(Step::End) => return values.outputs(|bit| bit).all().to_vec(),
            None => {
                let (number, results) = calls.swap_remove(*order as usize % calls.len());
                *order = order.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
                values.finish_ahead(number, &results);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_function_computes_what_its_steps_say(
        inputs in any::<[u8; INPUTS]>(),
        steps in prop::collection::vec((argument(), argument(), any::<bool>()), 1..30),
        mut order: u64,
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
            let target = Part::of("v").at(step as u64);
            builder.call([target], called, [operand(a, step), operand(b, step)]);
            let (a, b) = (value(a, &elements), value(b, &elements));
            elements.push(if *multiply { a.wrapping_mul(b) } else { a.wrapping_add(b) });
        }
        let last = steps.len() as u64 - 1;
        builder.output("last", "u8", Recipient::Both, Part::of("v").at(last));
        builder.output("half", "u8", Recipient::Both, Part::of("v").at(last / 2));
        let function = builder.finish().unwrap();
        let bit = |byte: &u8| (0..8).map(|i| byte >> i & 1 == 1).collect::<Vec<_>>();
        let bits: Vec<bool> = inputs.iter().flat_map(bit).collect();
        let shown = [elements[elements.len() - 1], elements[INPUTS + last as usize / 2]];
        let expected: Vec<bool> = shown.iter().flat_map(bit).collect();
        prop_assert_eq!(function.evaluate(&bits), &expected[..]);
        for most in 1..5 {
            prop_assert_eq!(evaluate_ahead(&function, &bits, most, &mut order), &expected[..]);
        }
        prop_assert!(function.live_bits() <= 8 * (INPUTS + steps.len()));
    }

    #[test]
    fn an_element_of_a_variable_holds_what_was_assigned_last(
        inputs in any::<[u8; INPUTS]>(),
        steps in prop::collection::vec((argument(), argument(), 0..INPUTS, any::<bool>()), 1..40),
        owners: [bool; 2],
        mut order: u64,
    ) {
        let mut builder = FunctionBuilder::new("random");
        builder
            .library("add", "adder", &[("bits", 8)])
            .input("x", &format!("u8[{INPUTS}]"), Role::Garbler)
            .variable("v", &format!("u8[{INPUTS}]"))
            .assign("v", "x");
        // Elements of the variable stand behind those of the input.
        let mut elements = [inputs, inputs].concat();
        for (a, b, target, moves) in &steps {
            let target_part = Part::of("v").at(*target as u64);
            let given = operand(a, INPUTS);
            let (a, mut sum) = (value(a, &elements), 0);
            if *moves {
                builder.assign(target_part, given);
            } else {
                builder.call([target_part], "add", [given, operand(b, INPUTS)]);
                sum = value(b, &elements);
            }
            elements[INPUTS + target] = a.wrapping_add(sum);
        }
        builder.output("all", &format!("u8[{INPUTS}]"), Recipient::Both, "v");
        let function = builder.finish().unwrap();
        let bit = |byte: &u8| (0..8).map(|i| byte >> i & 1 == 1).collect::<Vec<_>>();
        let bits: Vec<bool> = inputs.iter().flat_map(bit).collect();
        let expected: Vec<bool> = elements[INPUTS..].iter().flat_map(bit).collect();
        prop_assert_eq!(function.evaluate(&bits), &expected[..]);
        for most in 1..5 {
            prop_assert_eq!(evaluate_ahead(&function, &bits, most, &mut order), &expected[..]);
        }
        prop_assert!(function.live_bits() <= 16 * INPUTS);
        // Both parties own the input, or one of them.
        let [first, second] = owners;
        let owners = [first || !second, second];
        let owners = match owners {
            [true, true] => Owners::BOTH,
            [true, false] => Owners::of(Role::Garbler),
            _ => Owners::of(Role::Evaluator),
        };
        let shares = bits.iter().map(|bit| {
            let mine = owners == Owners::BOTH && order & 1 == 1;
            order = order.rotate_left(7);
            if owners == Owners::of(Role::Evaluator) { [false, *bit] } else { [bit ^ mine, mine] }
        });
        let sample = Sample {
            function,
            owners: vec![owners],
            shares: shares.collect(),
            limits: Limits::default(),
        };
        let schedule = Schedule::new(&sample.function, &sample.owners, sample.limits).unwrap();
        prop_assert_eq!(plain::results(&sample, &schedule), expected);
    }
}
