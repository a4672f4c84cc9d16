//! Tests of what functions compute.

use tacit_circuit::{Component, Type, Value};

use super::{adder, chain, run};
use crate::{Expression, Function, FunctionBuilder, Operand, Part, Recipient, Role};

#[test]
fn a_chain_keeps_two_states_at_most() {
    let function = chain(25);
    assert_eq!(run(&function, &["7", "10"]), ["1"]);
    // Both states, and the number added to each.
    assert!(function.live_bits() <= 24, "{}", function.live_bits());
    assert_eq!(chain(2000).live_bits(), function.live_bits());
}

#[test]
fn a_function_over_shares_is_walked_as_any_other() {
    let function = |is_over_shares: bool| {
        let mut builder = FunctionBuilder::new("sums");
        if is_over_shares {
            builder.over_shares();
        }
        builder
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8[4]", Role::Garbler)
            .value("y", "u8[4]")
            .repeat("i", 0, 4, |each, i| {
                let at = |name: &str| Part::of(name).at(i);
                each.call([at("y")], "add", [at("x").into(), Operand::number(7)]);
            })
            .output("y", "u8[4]", Recipient::Both, "y");
        builder.finish().unwrap()
    };
    let [walked, shared] = [false, true].map(function);
    assert!(shared.is_over_shares() && !walked.is_over_shares());
    assert_eq!(shared.digest(), walked.digest());
    assert_eq!(shared.component_calls(), walked.component_calls());
    assert_eq!(shared.live_bits(), walked.live_bits());
    let results = [walked, shared].map(|function| run(&function, &["[1, 2, 250, 255]"]));
    assert_eq!(results[0], results[1]);
}

#[test]
fn constants_slices_and_concatenations_go_where_they_say() {
    let mut builder = FunctionBuilder::new("pieces");
    builder
        .input("x", "u8", Role::Garbler)
        .input("name", "bytes[3]", Role::Evaluator)
        .value("swapped", "u8")
        .value("list", "u16[3]")
        .assign(
            "swapped",
            Operand::from(Part::of("x").range(4, 8)).then(Part::of("x").range(0, 4)),
        )
        .assign(
            Part::of("list").range(0, 2),
            Operand::typed(5, Type::unsigned(16)).then(Operand::typed(43981, Type::unsigned(16))),
        )
        .assign(Part::of("list").at(2), Operand::number(11))
        .output("swapped", "u8", Recipient::Both, "swapped")
        .output("list", "u16[3]", Recipient::Garbler, "list")
        .output("negative", "i8", Recipient::Both, Operand::number(-3))
        .output(
            "text",
            "bytes[4]",
            Recipient::Both,
            Operand::from(Part::of("name").range(1, 3))
                .then(Operand::typed(127, Type::unsigned(8)))
                .then(Part::of("name").at(0)),
        )
        .output(
            "bit",
            "bit",
            Recipient::Evaluator,
            Part::of("name").at(2).at(7),
        )
        .output("bits", "bits[6]", Recipient::Both, Operand::number(0));
    let function = builder.finish().unwrap();
    let outputs = run(&function, &["0x3c", "0102ff"]);
    let shown: Vec<String> = outputs.iter().map(|text| text.replace(' ', "")).collect();
    let list = "[5,43981,11]";
    assert_eq!(shown, ["195", list, "-3", "02ff7f01", "1", "000000"]);
    assert_eq!(function.call_count(), 0);
    assert_eq!(function.output_bits(Role::Garbler), 8 + 48 + 8 + 32 + 6);
    assert_eq!(function.output_bits(Role::Evaluator), 8 + 8 + 32 + 1 + 6);
}

#[test]
fn results_can_be_dropped_and_elements_left_unread() {
    let mut builder = FunctionBuilder::new("dropped");
    builder
        .library("divide", "divider", &[("bits", 8)])
        .input("a", "u8[3]", Role::Garbler)
        .input("b", "u8", Role::Evaluator)
        .value("rest", "u8[3]")
        .repeat("i", 0, 3, |each, i| {
            each.call(
                [Part::of("_"), Part::of("rest").at(i)],
                "divide",
                [Part::of("a").at(i), Part::of("b")],
            );
        })
        .output("last", "u8", Recipient::Both, Part::of("rest").at(2));
    let function = builder.finish().unwrap();
    assert_eq!(run(&function, &["[200, 100, 50]", "7"]), ["1"]);
}

#[test]
fn loops_may_have_no_turn_and_counters_may_run_backwards() {
    let mut builder = FunctionBuilder::new("reverse");
    builder
        .input("x", "u4[4]", Role::Garbler)
        .value("y", "u4[4]")
        .repeat("i", 0, 4, |each, i| {
            each.assign(
                Part::of("y").at(Expression::from(3).minus(i)),
                Part::of("x").at(i),
            );
            each.repeat("j", i, i, |never, j| {
                never.assign(Part::of("y").at(j), Operand::number(0));
            });
        })
        .output("y", "u4[4]", Recipient::Both, "y");
    let function = builder.finish().unwrap();
    assert_eq!(
        run(&function, &["[1, 2, 3, 4]"])[0].replace(' ', ""),
        "[4,3,2,1]"
    );
}

#[test]
fn saved_values_come_after_inputs_and_outputs() {
    let mut builder = FunctionBuilder::new("account");
    builder
        .library("add", "adder", &[("bits", 16)])
        .load("balance", "u16")
        .input("deposit", "u16", Role::Evaluator)
        .value("sum", "u16")
        .call(["sum"], "add", ["balance", "deposit"])
        .save("balance", "u16", "sum")
        .output("paid", "u16", Recipient::Evaluator, "deposit");
    let function = builder.finish().unwrap();
    assert!(function.has_saved_values());
    assert_eq!(function.loads()[0].name, "balance");
    assert_eq!(function.saves()[0].ty, Type::unsigned(16));
    assert_eq!(run(&function, &["5", "100"]), ["5", "105"]);
}

#[test]
fn a_plain_circuit_is_a_function_of_one_call() {
    let circuit = adder();
    let owner = |_: &_| Role::Evaluator;
    let function = Function::of_circuit("sum", circuit.clone(), owner, |_| Recipient::Both);
    let function = function.unwrap();
    let inputs = [Value::from(200_u64), Value::from(100_u64)];
    assert_eq!(run(&function, &["200", "100"]), ["44"]);
    assert_eq!(circuit.evaluate_values(&inputs).unwrap()[0].to_text(), "44");
    assert_eq!((function.call_count(), function.and_gates()), (1, 7));
}

#[test]
fn components_are_compiled_once_and_when_that_is_asked_for() {
    let function = chain(3);
    let component = &function.components()[0];
    assert_eq!(component.digest(), component.circuit().digest());
    assert_eq!(
        (function.call_count(), function.component_calls()),
        (3, &[3][..])
    );
    let is_compiled = |component: &Component| component.is_compiled();
    assert!(!function.components().iter().any(is_compiled));
    let clone = function.clone();
    clone.compile();
    assert!(function.components().iter().all(is_compiled));
    let program = component.program();
    assert!(std::ptr::eq(program, clone.components()[0].program()));
    assert_eq!(program.digest(), component.digest());
    assert_eq!(function.and_gates(), 3 * program.ands().len() as u64);
    assert_eq!(function.xor_gates(), 3 * program.xors().len() as u64);
}
