//! Compares the fast schemes with the textbook, bit for bit.

use tacit_circuit::{NEGATED, OrderingRule, Output, Program, WireOrdering};
use tacit_garble::{Hash, Scheme, SchemeId};
use tacit_reference::{Circuit, Garbled as Expected, Gate, Pin};
use tacit_reference::{flexor, half_gates, prf, three_halves};

use super::circuits::Case;
use super::garbled::{self, Garbled, Setting};

/// A program garbled as in the textbook.
pub(super) struct Book {
    /// All labels, and the tables of all segments.
    pub(super) garbled: Expected,
    /// The program's gates, in the order in which the scheme processes them.
    pub(super) circuit: Circuit,
    /// The decoding information of the outputs.
    pub(super) decoding: Vec<u8>,
}

/// Checks that `scheme` garbles `program` to exactly the tables, labels and decoding information of
/// the textbook's garbling of the same gates.
pub(super) fn agrees<S: Scheme>(scheme: S, case: &Case, program: &Program) {
    let setting = Setting::numbered(7);
    let garbled = Garbled::new(scheme, &setting, program);
    let labels = |wire: &S::Wire| garbled::labels(&garbled.garbler, wire);
    let inputs: Vec<[u128; 2]> = garbled.inputs.iter().map(labels).collect();
    let book = garble(scheme.id(), &setting, program, &inputs);
    let name = case.name;
    assert!(
        garbled.tables.concat() == book.garbled.tables,
        "{name}: tables as in the textbook"
    );
    let outputs: Vec<[u128; 2]> = garbled.outputs.iter().map(labels).collect();
    assert!(
        outputs == book.garbled.outputs,
        "{name}: output labels as in the textbook"
    );
    assert!(
        garbled.decoding == book.decoding,
        "{name}: decoding as in the textbook"
    );
}

/// Garbles `program` on inputs with these labels as in the textbook of the scheme.
pub(super) fn garble(
    id: SchemeId,
    setting: &Setting,
    program: &Program,
    inputs: &[[u128; 2]],
) -> Book {
    let mut circuit = as_reference(program, Order::Program);
    let start = setting.start.to_u128();
    let (garbled, decoding) = match id {
        SchemeId::HALF_GATES_TWO_CALL | SchemeId::HALF_GATES_REKEYED => {
            let hash = match id {
                SchemeId::HALF_GATES_TWO_CALL => half_gates::Hash::TwoCall,
                _ => half_gates::Hash::Rekeyed,
            };
            let zeros: Vec<u128> = inputs.iter().map(|labels| labels[0]).collect();
            let delta = setting.delta.to_u128();
            let garbled =
                half_gates::garble(&circuit, hash, start, setting.instance, delta, &zeros);
            let decoding =
                half_gates::decoding(hash, start, setting.first_output, &garbled.outputs);
            (garbled, decoding)
        }
        SchemeId::PRF | SchemeId::PRF_XOR1_AND3 | SchemeId::PRF_XOR3_AND3 => {
            circuit = as_reference(program, Order::Levels);
            let rows = match id {
                SchemeId::PRF => (prf::Xor::One, prf::And::Two),
                SchemeId::PRF_XOR1_AND3 => (prf::Xor::One, prf::And::Three),
                _ => (prf::Xor::Three, prf::And::Three),
            };
            let (seed, instance) = (setting.seed, setting.instance);
            let (mut garbled, gates) = prf::garble(&circuit, rows, seed, start, instance, inputs);
            garbled.tables = by_segment(program, &gates);
            let decoding = prf::decoding(start, setting.first_output, &garbled.outputs);
            (garbled, decoding)
        }
        SchemeId::THREE_HALVES => {
            let zeros: Vec<u128> = inputs.iter().map(|labels| labels[0]).collect();
            let (delta, instance) = (setting.delta.to_u128(), setting.instance);
            let garbled =
                three_halves::garble(&circuit, setting.seed, start, instance, delta, &zeros);
            let (hash, first) = (half_gates::Hash::TwoCall, setting.first_output);
            let decoding = half_gates::decoding(hash, start, first, &garbled.outputs);
            (garbled, decoding)
        }
        _ => {
            let hash = id.rung().expect("it is in the catalogue").hash;
            assert!(
                hash == Hash::Prf,
                "write the textbook of {id}, and use it here"
            );
            let garbled = garble_flexor(id, setting, program, &circuit, inputs);
            let decoding = prf::decoding(start, setting.first_output, &garbled.outputs);
            (garbled, decoding)
        }
    };
    Book {
        garbled,
        circuit,
        decoding,
    }
}

/// Returns the textbook's garbling under a scheme whose wires have offsets, with its tables in the
/// order of the program's segments.
fn garble_flexor(
    id: SchemeId,
    setting: &Setting,
    program: &Program,
    circuit: &Circuit,
    inputs: &[[u128; 2]],
) -> Expected {
    let rule = id.rung().expect("it is in the catalogue").ordering;
    let ordering = rule.map(|rule| as_ordering(program, rule));
    let two_rows = matches!(rule, Some(OrderingRule::SafeMon1 | OrderingRule::SafeMon2));
    let garbled = flexor::Setting {
        and: match id {
            SchemeId::CIRCULAR_HALF_GATES => flexor::And::HalfGates,
            _ if two_rows => flexor::And::TwoRows,
            _ => flexor::And::ThreeRows,
        },
        ordering: ordering.as_ref(),
        seed: setting.seed,
        start: setting.start.to_u128(),
        instance: setting.instance,
        delta: setting.delta.to_u128(),
    }
    .garble(circuit, inputs);
    let mut tables = Vec::new();
    for (number, segment) in program.segments().iter().enumerate() {
        let bridges: &[u128] = if number == 0 { &garbled.bridges } else { &[] };
        let xors = garbled.xors[segment.xors.clone()].iter().flatten();
        let ands = garbled.ands[segment.ands.clone()].iter().flatten();
        let blocks = bridges.iter().chain(xors).chain(ands);
        tables.extend(blocks.flat_map(|block| block.to_le_bytes()));
        let byte = |bits: &[bool]| (0..).zip(bits).map(|(i, bit)| u8::from(*bit) << i).sum();
        let bits = garbled.bits[segment.ands.clone()].chunks(8);
        tables.extend(bits.map(byte).filter(|_: &u8| two_rows));
    }
    Expected {
        wires: garbled.wires,
        outputs: garbled.outputs,
        tables,
    }
}

/// Returns the ordering of a program in the textbook's form.
fn as_ordering(program: &Program, rule: OrderingRule) -> flexor::Ordering {
    let plan = program.ordering(rule);
    let bridges = plan.bridges().iter();
    let mut xors = vec![[None; 2]; program.xors().len()];
    for one in plan.translations() {
        xors[one.xor as usize][usize::from(one.side())] = Some(one.offset as usize);
    }
    let named = |offset: &u32| (*offset != WireOrdering::UNNAMED).then_some(*offset as usize);
    flexor::Ordering {
        offsets: plan.offsets(),
        bridges: bridges
            .map(|bridge| (bridge.input as usize, bridge.offset as usize))
            .collect(),
        xors,
        ands: plan.and_offsets().iter().map(named).collect(),
    }
}

/// Returns the tables of all segments: the rows gate after gate, then the bits of a segment's
/// gates.
fn by_segment(program: &Program, gates: &[prf::GateTable]) -> Vec<u8> {
    let (mut tables, mut done) = (Vec::new(), 0);
    for segment in program.segments() {
        let gates = &gates[done..done + segment.xors.len() + segment.ands.len()];
        done += gates.len();
        tables.extend(gates.iter().flat_map(|gate| &gate.rows));
        let bits: Vec<bool> = gates.iter().flat_map(|gate| gate.bits.clone()).collect();
        let byte = |bits: &[bool]| {
            (0..)
                .zip(bits)
                .map(|(i, bit)| u8::from(*bit) << i)
                .sum::<u8>()
        };
        tables.extend(bits.chunks(8).map(byte));
    }
    tables
}

/// The order in which a scheme processes the XOR gates of a batch.
pub(super) enum Order {
    Program,
    Levels,
}

/// Returns the program's gates, with a wire of its own for each value that a slot takes.
pub(super) fn as_reference(program: &Program, order: Order) -> Circuit {
    let xors = match order {
        Order::Program => program.xors(),
        Order::Levels => program.xor_levels().gates(),
    };
    let mut wire_in: Vec<usize> = (0..program.slots()).collect();
    let mut gates = Vec::new();
    let (mut xors, mut ands) = (xors.iter(), program.ands().iter());
    for batch in program.batches() {
        for gate in xors.by_ref().take(batch.xors as usize) {
            gates.push(Gate::Xor(
                wire_in[gate.a as usize],
                wire_in[gate.b as usize],
            ));
            wire_in[gate.out as usize] = program.inputs() + gates.len() - 1;
        }
        for gate in ands.by_ref().take(batch.ands as usize) {
            let [a, b] = [gate.a, gate.b].map(|input| Pin {
                wire: wire_in[(input & !NEGATED) as usize],
                negated: input & NEGATED != 0,
            });
            gates.push(Gate::And(a, b));
            wire_in[gate.out as usize] = program.inputs() + gates.len() - 1;
        }
    }
    let output = |output: &Output| match *output {
        Output::Slot { slot, negated } => tacit_reference::Output::Wire(Pin {
            wire: wire_in[slot as usize],
            negated,
        }),
        Output::Constant(bit) => tacit_reference::Output::Constant(bit),
    };
    let outputs = program.outputs().iter().map(output).collect();
    Circuit {
        inputs: program.inputs(),
        gates,
        outputs,
    }
}
