//! Small circuits that would show a relation between gates.

use tacit_circuit::{Circuit, Gate, Port, Type, Wire};

use super::Arrangement;

/// A small circuit, and the arrangements of its garblings.
pub struct ExaminedCircuit {
    /// Its name in a failure's message.
    pub name: String,
    /// The circuit.
    pub circuit: Circuit,
    /// The arrangements of its garblings.
    pub arrangements: &'static [Arrangement],
    /// Whether it is one gate: then halves of values are examined, too.
    pub one_gate: bool,
}

/// A garbling alone.
const ONCE: &[Arrangement] = &[Arrangement::Once];
/// A garbling alone, and two instances in every arrangement.
const ALL: &[Arrangement] = &[
    Arrangement::Once,
    Arrangement::TwiceOnOneInput,
    Arrangement::TwiceUnderOneOffset,
    Arrangement::Linked,
];

/// Returns all of them: each kind of gate with each combination of negations, operands that gates
/// share, chains of one to four gates, wires that feed several gates, XORs of XORs.
pub fn examined_circuits() -> Vec<ExaminedCircuit> {
    let mut circuits = Vec::new();
    for signs in 0..4 {
        let name = |kind| format!("{kind} with negations {signs:02b}");
        let [a, b] = [signs & 1, signs >> 1].map(|sign| sign == 1);
        let inverted = [Gate::Inv(0), Gate::Inv(1)];
        let [a, b] = [if a { 2 } else { 0 }, if b { 3 } else { 1 }];
        let gate = |gate| inverted.into_iter().chain([gate]);
        let and = small(name("an AND"), 2, gate(Gate::And(a, b)), vec![4]);
        let xor = small(name("a XOR"), 2, gate(Gate::Xor(a, b)), vec![4]);
        circuits.extend([and, xor].map(|circuit| ExaminedCircuit {
            one_gate: true,
            arrangements: if signs == 0 { ALL } else { ONCE },
            ..circuit
        }));
    }
    for gates in 2..=4 {
        let name = format!("{gates} ANDs with a common operand");
        let ands = (1..=gates).map(|other| Gate::And(0, other));
        circuits.push(small(
            name,
            gates + 1,
            ands,
            (1 + gates..1 + 2 * gates).collect(),
        ));
        let name = format!("a chain of {gates} ANDs");
        let ands = (0..gates).map(|i| {
            if i == 0 {
                Gate::And(0, 1)
            } else {
                Gate::And(i + 1, i % 2)
            }
        });
        circuits.push(small(name, 2, ands, vec![gates + 1]));
        let name = format!("a chain of {gates} XORs");
        let xors = (0..gates).map(|i| Gate::Xor(if i == 0 { 0 } else { i + 2 }, 1 + i % 2));
        circuits.push(small(name, 3, xors, vec![gates + 2]));
    }
    circuits.extend(mixed());
    circuits
}

/// Returns circuits of both kinds of gates.
#[expect(clippy::too_many_lines, reason = "one list of circuits")]
fn mixed() -> Vec<ExaminedCircuit> {
    use Gate::{And, Inv, Xor};
    let circuit = |name: &str, inputs, gates: &[Gate], outputs: &[Wire]| {
        small(
            name.to_owned(),
            inputs,
            gates.iter().copied(),
            outputs.to_vec(),
        )
    };
    let both_ways = [And(0, 1), Xor(2, 0)];
    vec![
        ExaminedCircuit {
            arrangements: ALL,
            ..circuit("an AND, and a XOR of it", 2, &both_ways, &[3])
        },
        circuit(
            "an AND, and a XOR, all outputs",
            2,
            &both_ways,
            &[0, 1, 2, 3],
        ),
        circuit("a XOR, and an AND of it", 3, &[Xor(0, 1), And(3, 2)], &[4]),
        circuit(
            "a XOR that two ANDs read",
            3,
            &[Xor(0, 1), And(3, 0), And(3, 2)],
            &[4, 5],
        ),
        circuit(
            "a XOR of two ANDs",
            2,
            &[And(0, 1), Inv(0), And(3, 1), Xor(2, 4)],
            &[5],
        ),
        circuit(
            "a XOR of two ANDs, which are outputs",
            3,
            &[And(0, 1), And(0, 2), Xor(3, 4)],
            &[3, 4, 5],
        ),
        circuit(
            "a XOR of two ANDs, one used again",
            3,
            &[And(0, 1), And(0, 2), Xor(3, 4), And(5, 4)],
            &[6],
        ),
        circuit(
            "ANDs and XORs in turn",
            2,
            &[And(0, 1), Xor(2, 0), And(3, 1), Xor(4, 2)],
            &[5],
        ),
        circuit(
            "XORs with a common operand",
            3,
            &[Xor(0, 1), Xor(0, 2), And(3, 4)],
            &[5],
        ),
        circuit(
            "XORs of one AND",
            3,
            &[And(0, 1), Xor(3, 0), Xor(3, 1), Xor(3, 2)],
            &[4, 5, 6],
        ),
        circuit(
            "two ANDs of the same wires",
            2,
            &[And(0, 1), Inv(0), And(3, 1)],
            &[2, 4],
        ),
        circuit(
            "a XOR and an AND of the same wires",
            2,
            &[And(0, 1), Xor(0, 1)],
            &[2, 3],
        ),
        circuit(
            "an AND with itself, and a constant",
            2,
            &[And(0, 0), Inv(0), And(0, 3), And(2, 1)],
            &[2, 4, 5],
        ),
        circuit(
            "a majority",
            3,
            &[Xor(0, 2), Xor(1, 2), And(3, 4), Xor(5, 2)],
            &[6],
        ),
    ]
}

/// Returns a circuit that is garbled alone.
fn small(
    name: String,
    inputs: u32,
    gates: impl IntoIterator<Item = Gate>,
    outputs: Vec<Wire>,
) -> ExaminedCircuit {
    let port = |name: &str, bits: usize| vec![Port::new(name, Type::bits(bits))];
    let circuit = Circuit::new(
        port("x", inputs as usize),
        port("y", outputs.len()),
        gates,
        outputs,
    );
    ExaminedCircuit {
        name,
        circuit: circuit.expect("the suite's circuits are well formed"),
        arrangements: ONCE,
        one_gate: false,
    }
}
