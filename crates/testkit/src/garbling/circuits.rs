//! The circuits that every scheme must garble.

use std::collections::BTreeMap;

use tacit_circuit::{Circuit, Gate, Port, Program, Type, Wire};
use tacit_components::library;
use tacit_kernels::{Block, Prg};

/// A circuit, with known answers if a standard has some.
pub struct Case {
    /// Its name in a failure's message.
    pub name: &'static str,
    /// The circuit.
    pub circuit: Circuit,
    /// Inputs with their outputs, from another source than the plain evaluator.
    pub known: Vec<(Vec<bool>, Vec<bool>)>,
}

/// Returns all cases.
pub fn all() -> Vec<Case> {
    let mut cases = vec![
        case("majority", majority()),
        case("every kind of gate", every_kind_of_gate()),
        case("outputs of every kind", outputs_of_every_kind()),
        case("no gate", of(3, [], vec![2, 0, 1])),
        case("a chain of ANDs", chain(70)),
        case(
            "a chain of XORs",
            of(2, (0..200).map(|i| Gate::Xor(i, i + 1)), vec![201]),
        ),
        case(
            "wide layers",
            wide_layers(Program::MAX_BATCH_ANDS as u32 + 5),
        ),
        case(
            "a segment and a bit",
            wide_layers(Program::MAX_SEGMENT_ANDS as u32 + 1),
        ),
        case("a 64-bit adder", component("adder", &[("bits", 64)])),
        case(
            "a 16-bit comparator",
            component("comparator", &[("bits", 16)]),
        ),
        aes_128(),
    ];
    for seed in 0..24 {
        let inputs = 1 + seed % 7;
        cases.push(case("a random circuit", random(seed, inputs, 4 + 3 * seed)));
    }
    cases
}

/// Returns the circuit of this name.
///
/// # Panics
///
/// If there is no such circuit.
pub fn named(name: &str) -> Circuit {
    let case = all().into_iter().find(|case| case.name == name);
    case.unwrap_or_else(|| panic!("the suite has no circuit called {name}"))
        .circuit
}

fn case(name: &'static str, circuit: Circuit) -> Case {
    Case {
        name,
        circuit,
        known: Vec::new(),
    }
}

/// Returns a circuit with one input port and one output port.
fn of(inputs: u32, gates: impl IntoIterator<Item = Gate>, outputs: Vec<Wire>) -> Circuit {
    let port = |name: &str, bits: usize| vec![Port::new(name, Type::bits(bits))];
    Circuit::new(
        port("x", inputs as usize),
        port("y", outputs.len()),
        gates,
        outputs,
    )
    .expect("the suite's circuits are well formed")
}

fn component(name: &str, parameters: &[(&str, u64)]) -> Circuit {
    let parameters: BTreeMap<String, u64> = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    library::find(name, &parameters).expect("the library has this component")
}

/// Returns the majority of three bits, with one AND and three XORs.
fn majority() -> Circuit {
    let gates = [
        Gate::Xor(0, 2),
        Gate::Xor(1, 2),
        Gate::And(3, 4),
        Gate::Xor(5, 2),
    ];
    of(3, gates, vec![6])
}

/// Returns XOR, and AND with each combination of negations, on inputs and on inner wires.
fn every_kind_of_gate() -> Circuit {
    let mut gates = vec![Gate::Inv(0), Gate::Inv(1), Gate::Xor(0, 1), Gate::Xor(3, 1)];
    for (a, b) in [(0, 1), (3, 1), (0, 4), (3, 4), (5, 2), (6, 2)] {
        gates.push(Gate::And(a, b));
    }
    // Wires 7 to 12 are the ANDs. Further gates read their negations.
    gates.extend([
        Gate::Inv(7),
        Gate::Inv(12),
        Gate::And(13, 14),
        Gate::Xor(13, 12),
    ]);
    gates.extend([Gate::Inv(15), Gate::Xor(17, 16)]);
    of(3, gates, (5..19).collect())
}

/// Returns outputs that are inputs, negated inputs, constants, and one wire several times.
fn outputs_of_every_kind() -> Circuit {
    let gates = [
        Gate::Inv(0),
        Gate::And(0, 2),
        Gate::Inv(3),
        Gate::And(0, 1),
        Gate::Xor(5, 5),
        Gate::And(1, 1),
        Gate::Inv(5),
    ];
    of(2, gates, vec![0, 0, 1, 2, 3, 4, 5, 5, 8, 6, 7, 4])
}

/// Returns a chain in which each AND waits for the last.
pub fn chain(length: u32) -> Circuit {
    let gates = (0..length).map(|i| match i {
        0 => Gate::And(0, 1),
        i if i % 3 == 0 => Gate::Inv(i + 1),
        i => Gate::And(i + 1, i % 2),
    });
    let inverted = gates.chain([Gate::Inv(length + 1)]);
    of(2, inverted, vec![length + 1, length + 2])
}

/// Returns two layers of this many ANDs, where the second combines neighbours of the first, and the
/// parity of all.
fn wide_layers(width: u32) -> Circuit {
    let inputs = 64;
    let mut gates: Vec<Gate> = (0..width)
        .map(|i| {
            Gate::And(
                i % inputs,
                (i % inputs + 1 + i / inputs % (inputs - 1)) % inputs,
            )
        })
        .collect();
    let first = |i: u32| inputs + i % width;
    gates.extend((0..width).map(|i| Gate::And(first(i), first(i + 1))));
    let mut parity = inputs + width;
    for i in 1..width {
        gates.push(Gate::Xor(parity, inputs + width + i));
        parity = inputs + 2 * width + i - 1;
    }
    of(inputs, gates, vec![parity, inputs + 2 * width - 1])
}

/// Returns a circuit of gates drawn at random, including degenerate ones, whose last wires are its
/// outputs.
pub fn random(seed: u32, inputs: u32, gates: u32) -> Circuit {
    let mut prg = Prg::new(Block::from_u128(2 << 64 | u128::from(seed)));
    let mut below = |bound: u32| (prg.next_block().to_u128() % u128::from(bound)) as u32;
    let gates: Vec<Gate> = (inputs..inputs + gates)
        .map(|wires| match (below(8), below(wires), below(wires)) {
            (0..3, a, b) => Gate::Xor(a, b),
            (3..7, a, b) => Gate::And(a, b),
            (_, a, _) => Gate::Inv(a),
        })
        .collect();
    let wires = inputs + gates.len() as u32;
    let outputs = (0..wires.min(8)).map(|i| wires - 1 - i).collect();
    of(inputs, gates, outputs)
}

/// Returns AES-128, with the known answers of FIPS-197, appendices B and C.1.
fn aes_128() -> Case {
    let known: [[u128; 3]; 2] = [
        [
            0x2b7e151628aed2a6abf7158809cf4f3c,
            0x3243f6a8885a308d313198a2e0370734,
            0x3925841d02dc09fbdc118597196a0b32,
        ],
        [
            0x000102030405060708090a0b0c0d0e0f,
            0x00112233445566778899aabbccddeeff,
            0x69c4e0d86a7b0430d8cdb78070b4c55a,
        ],
    ];
    // Byte strings keep their order; each byte has its least significant bit first.
    let bits = |number: u128| (0..128).map(move |bit| number.swap_bytes() >> bit & 1 == 1);
    let known = known.map(|[key, block, ciphertext]| {
        (
            bits(key).chain(bits(block)).collect(),
            bits(ciphertext).collect(),
        )
    });
    Case {
        name: "AES-128",
        circuit: component("aes-128", &[]),
        known: known.into(),
    }
}
