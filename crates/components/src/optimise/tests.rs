use proptest::prelude::*;
use proptest::sample::Index;
use tacit_circuit::{Gate, Port, Type, Wire};

use super::*;
use crate::library;

fn circuit(inputs: usize, gates: Vec<Gate>, outputs: Vec<Wire>) -> Circuit {
    let input = Port::new("in", Type::bits(inputs));
    let output = Port::new("out", Type::bits(outputs.len()));
    Circuit::new(vec![input], vec![output], gates, outputs).unwrap()
}

fn component(name: &str, parameters: &[(&str, u64)]) -> Circuit {
    let parameters = parameters
        .iter()
        .map(|&(name, value)| (name.to_owned(), value));
    library::find(name, &parameters.collect()).unwrap()
}

/// Optimises a circuit and compares it with the original. Returns the AND and XOR gates before and
/// after.
fn gained(circuit: &Circuit) -> [(usize, usize); 2] {
    let optimised = optimise(circuit);
    assert_eq!(circuit.compare(&optimised.circuit, 4).err(), None);
    assert_eq!(circuit.inputs(), optimised.circuit.inputs());
    assert_eq!(circuit.outputs(), optimised.circuit.outputs());
    let [before, after] = [circuit, &optimised.circuit].map(|one| {
        let statistics = one.statistics();
        (statistics.and, statistics.xor)
    });
    assert!(after <= before);
    let reported = optimised
        .passes
        .last()
        .map_or(before, |pass| pass.after.gates());
    assert_eq!(reported, after);
    [before, after]
}

/// Builds `a ∨ b` in the form that files of NAND-like gates have.
fn or(gates: &mut Vec<Gate>, first: Wire, a: Wire, b: Wire) -> Wire {
    let next = first + gates.len() as Wire;
    gates.extend([
        Gate::Inv(a),
        Gate::Inv(b),
        Gate::And(next, next + 1),
        Gate::Inv(next + 2),
    ]);
    next + 3
}

#[test]
fn a_textbook_adder_comes_to_one_gate_a_bit() {
    const BITS: Wire = 16;
    let (mut gates, mut outputs) = (Vec::new(), Vec::new());
    let mut carry = None;
    for (a, b) in (0..BITS).zip(BITS..) {
        let push = |gates: &mut Vec<Gate>, gate| {
            gates.push(gate);
            2 * BITS + gates.len() as Wire - 1
        };
        let either = push(&mut gates, Gate::Xor(a, b));
        let both = push(&mut gates, Gate::And(a, b));
        carry = Some(match carry {
            None => {
                outputs.push(either);
                both
            }
            Some(carry) => {
                outputs.push(push(&mut gates, Gate::Xor(either, carry)));
                let passed = push(&mut gates, Gate::And(either, carry));
                or(&mut gates, 2 * BITS, both, passed)
            }
        });
    }
    outputs.extend(carry);
    let [before, after] = gained(&circuit(2 * BITS as usize, gates, outputs));
    assert_eq!(before.0, 1 + 3 * 15);
    assert_eq!(after.0, 16);
    assert!(after.1 <= 4 * 16, "{after:?}");
}

#[test]
fn sums_in_another_order_are_one_gate() {
    let gates = vec![
        Gate::Xor(0, 1),
        Gate::Xor(4, 2), // (a ⊕ b) ⊕ c
        Gate::Xor(1, 2),
        Gate::Xor(0, 6), // a ⊕ (b ⊕ c)
        Gate::And(5, 3),
        Gate::And(3, 7),
        Gate::Inv(9),
        Gate::And(8, 10), // zero
    ];
    let [_, after] = gained(&circuit(4, gates.clone(), vec![8, 9]));
    assert_eq!(after, (1, 2));
    // A constant takes one XOR gate.
    let [_, after] = gained(&circuit(4, gates, vec![11]));
    assert_eq!(after, (0, 1));
}

#[test]
fn products_over_one_pair_of_sums_are_one_gate() {
    // ab, a ∧ ¬b, ¬a ∧ ¬b, a ∧ (a ⊕ b): each is ab plus a sum.
    let gates = vec![
        Gate::And(0, 1),
        Gate::Inv(1),
        Gate::And(0, 3),
        Gate::Inv(0),
        Gate::And(3, 5),
        Gate::Xor(0, 1),
        Gate::And(0, 7),
    ];
    let [before, after] = gained(&circuit(2, gates, vec![2, 4, 6, 8]));
    assert_eq!(before.0, 4);
    assert_eq!(after.0, 1);
}

#[test]
fn factors_that_products_of_a_long_sum_share_are_taken_out() {
    // The sum over i of x ∧ y_i, and z. It has too many inputs for a cut.
    let products = (2..10).map(|y| Gate::And(if y == 9 { 10 } else { 0 }, y));
    let mut gates: Vec<Gate> = [Gate::Inv(0)].into_iter().chain(products).collect();
    let mut sum = 1;
    for product in 11..19 {
        gates.push(Gate::Xor(sum, product));
        sum = 10 + gates.len() as Wire - 1;
    }
    let [before, after] = gained(&circuit(10, gates, vec![sum]));
    assert_eq!(before.0, 8);
    assert_eq!(after.0, 1);
}

#[test]
fn what_sums_share_is_computed_once() {
    // Four sums that share b ⊕ c ⊕ d, each written from a different end.
    let mut gates = Vec::new();
    let mut outputs = Vec::new();
    for a in [0, 4, 5, 6] {
        let mut sum = a;
        for term in [1, 2, 3] {
            gates.push(Gate::Xor(sum, term));
            sum = 7 + gates.len() as Wire - 1;
        }
        outputs.push(sum);
    }
    let [before, after] = gained(&circuit(7, gates, outputs));
    assert_eq!(before, (0, 12));
    assert_eq!(after, (0, 6));
}

#[test]
fn components_stay_what_they_are() {
    for (name, parameters) in [
        ("aes-round", &[][..]),
        ("sha-256-compress", &[]),
        ("levenshtein-cell", &[("bits", 7)]),
        ("divider", &[("bits", 16)]),
        ("sort", &[("count", 8), ("bits", 8)]),
        ("decision-tree", &[("depth", 3), ("features", 4)]),
    ] {
        let [before, after] = gained(&component(name, parameters));
        println!("{name}: {before:?} to {after:?}");
    }
}

#[test]
fn the_result_depends_on_the_circuit_alone_and_stays_where_nothing_is_gained() {
    let circuit = component("levenshtein-cell", &[("bits", 7)]);
    let once = optimise(&circuit);
    assert_eq!(once, optimise(&circuit));
    assert_ne!(once.circuit.digest(), circuit.digest());
    let least = optimise(&component("adder", &[("bits", 8)]));
    assert_eq!(least.passes, []);
    assert_eq!(least.circuit, component("adder", &[("bits", 8)]));
}

#[test]
fn a_difference_is_found() {
    let same = circuit(3, vec![Gate::And(0, 1)], vec![3]);
    let other = circuit(3, vec![Gate::And(0, 1), Gate::And(3, 2)], vec![4]);
    assert_eq!(same.compare(&same, 0), Ok(8));
    let input = same.compare(&other, 0).unwrap_err();
    assert_ne!(same.evaluate(&input), other.evaluate(&input));
    let wide = |gate| circuit(40, vec![gate], vec![40]);
    assert_eq!(
        wide(Gate::Xor(0, 39)).compare(&wide(Gate::Xor(39, 0)), 3),
        Ok(192)
    );
    assert!(
        wide(Gate::Xor(0, 39))
            .compare(&wide(Gate::And(0, 39)), 3)
            .is_err()
    );
}

prop_compose! {
    fn any_circuit()(inputs in 1_usize..9, count in 0_usize..160)(
        inputs in Just(inputs),
        kinds in prop::collection::vec((0_u8..7, any::<Index>(), any::<Index>()), count),
        outputs in prop::collection::vec(any::<Index>(), 1..12),
    ) -> Circuit {
        let gates = kinds.into_iter().enumerate().map(|(number, (kind, a, b))| {
            let wires = inputs + number;
            // Half of the operands are among the latest wires, so that the circuit is deep.
            let a = if kind < 4 { wires - 1 - a.index(wires.min(12)) } else { a.index(wires) };
            let (a, b) = (a as Wire, b.index(wires) as Wire);
            match kind {
                0 | 1 | 4 => Gate::And(a, b),
                2 | 5 => Gate::Xor(a, b),
                _ => Gate::Inv(a),
            }
        });
        let gates: Vec<Gate> = gates.collect();
        let wires = inputs + gates.len();
        let outputs = outputs.into_iter();
        let outputs = outputs.map(|index| index.index(wires) as Wire).collect();
        circuit(inputs, gates, outputs)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn each_pass_keeps_the_function(circuit in any_circuit()) {
        let mut classes = Classes::new();
        let network = Optimisation::new(&circuit).network;
        let passes: [(&str, Network); 5] = [
            ("linear", linear::run(&network)),
            ("rewrite", rewrite::run(&network, &mut classes)),
            ("factor", factor::run(&network)),
            ("pairs", sums::extract_pairs(&network)),
            ("sums", sums::reuse_and_extract_pairs(&network)),
        ];
        for (name, result) in passes {
            let result = result.netlist.into_circuit(&circuit, result.roots).unwrap();
            prop_assert_eq!(circuit.compare(&result, 0).err(), None, "{}", name);
        }
    }

    #[test]
    fn the_function_stays(circuit in any_circuit()) {
        gained(&circuit);
    }
}
