//! The conformance suite of garbling schemes.
//!
//! Every scheme must pass [`conformance`] on every backend: it computes the right results for every
//! circuit of [`circuits`], bit for bit as in the textbook, and is the function of its arguments
//! that the interface promises. [`refuses_other_labels`] is for schemes whose decoding answers ⊥.
//! [`relations::no_relation`] looks for sums of an evaluator's values that are secret.
//!
//! Everything is deterministic: randomness comes from a fixed seed, so that a failure can be
//! repeated.

pub mod circuits;
mod garbled;
pub mod relations;
mod textbook;

pub use garbled::{Garbled, Setting, bytes_of};

use circuits::Case;
use tacit_circuit::Program;
use tacit_garble::{DecodeError, Evaluator, Garbler, Scheme, WholeGarbling};
use tacit_kernels::{Block, Prg};

/// The most input bits of a circuit for which all inputs are tried.
const EXHAUSTIVE_BITS: usize = 8;
/// The number of inputs that are tried for larger circuits.
const RANDOM_INPUTS: u64 = 6;

/// Checks that `scheme` garbles correctly.
///
/// # Panics
///
/// If it does not. The message names the circuit and the problem.
pub fn conformance<S: Scheme>(scheme: S) {
    for case in &circuits::all() {
        let program = Program::compile(&case.circuit);
        computes_the_circuit(scheme, case, &program);
        textbook::agrees(scheme, case, &program);
        takes_any_tables(scheme, &program);
    }
    let program = Program::compile(&circuits::random(77, 9, 60));
    assert!(!program.ands().is_empty(), "the program has tables");
    is_a_function_of_its_arguments(scheme, &program);
    gives_wires_around_active_labels(scheme, &program);
    refuses_decoding_of_another_length(scheme, &program);
    for circuit in [
        circuits::named("every kind of gate"),
        circuits::named("outputs of every kind"),
        circuits::named("wide layers"),
        circuits::random(79, 5, 40),
        // This has more gates than a cipher key serves, one after the other.
        circuits::chain(1100),
    ] {
        several_side_by_side_are_one_by_one(scheme, &Program::compile(&circuit));
    }
}

/// Checks that garbling and evaluating give the plain evaluator's result, or the standard's.
fn computes_the_circuit<S: Scheme>(scheme: S, case: &Case, program: &Program) {
    let setting = Setting::numbered(1);
    let garbled = Garbled::new(scheme, &setting, program);
    for (segment, tables) in garbled.tables.iter().enumerate() {
        assert_eq!(
            tables.len(),
            scheme.table_bytes(program, segment),
            "{}",
            case.name
        );
    }
    assert_eq!(
        garbled.decoding.len(),
        scheme.decoding_bytes(program.outputs().len())
    );
    for inputs in inputs_of(case) {
        let labels = garbled.input_labels(&inputs);
        let outputs = garbled::evaluate(scheme, &setting, program, &garbled.tables, &labels);
        let evaluator = scheme.evaluator(setting.start);
        let found = evaluator.decode(setting.first_output, &outputs, &garbled.decoding);
        let expected = case.circuit.evaluate(&inputs);
        assert_eq!(
            found,
            Ok(expected.clone().into()),
            "{} of {inputs:?}",
            case.name
        );
        for ((wire, label), bit) in garbled.outputs.iter().zip(&outputs).zip(&expected) {
            let of_garbler = garbled.garbler.label_with_select(wire, label.lsb().into());
            assert_eq!(
                of_garbler,
                (*label, *bit),
                "{}: an output's label",
                case.name
            );
        }
    }
    for (inputs, expected) in &case.known {
        assert_eq!(
            case.circuit.evaluate(inputs),
            *expected,
            "{}: known answer",
            case.name
        );
    }
}

/// Returns the inputs to try: all, or the known ones and some at random.
fn inputs_of(case: &Case) -> Vec<Vec<bool>> {
    let bits = case.circuit.input_bits();
    if bits <= EXHAUSTIVE_BITS {
        return (0..1 << bits)
            .map(|number: u32| (0..bits).map(|bit| number >> bit & 1 == 1).collect())
            .collect();
    }
    let known = case.known.iter().map(|(inputs, _)| inputs.clone());
    known
        .chain((0..RANDOM_INPUTS).map(|seed| random_bits(seed, bits)))
        .collect()
}

/// Returns this many pseudorandom bits.
fn random_bits(seed: u64, count: usize) -> Vec<bool> {
    let mut prg = Prg::new(Block::from_u128(1 << 64 | u128::from(seed)));
    (0..count).map(|_| prg.next_block().lsb().into()).collect()
}

/// Checks that equal arguments give equal bytes, independent of earlier garblings, and that a
/// change of any argument gives others.
fn is_a_function_of_its_arguments<S: Scheme>(scheme: S, program: &Program) {
    let setting = Setting::numbered(2);
    let first = Garbled::new(scheme, &setting, program);
    let again = Garbled::new(scheme, &setting, program);
    assert!(
        first.tables == again.tables,
        "the same arguments garble the same"
    );
    assert!(
        first.decoding == again.decoding,
        "the same arguments decode the same"
    );

    let other = Setting {
        instance: setting.instance + 1,
        ..setting
    };
    let mut garbler = again.garbler;
    let tables = garbled::garble(scheme, &mut garbler, &other, program, &first.inputs);
    let fresh = Garbled::new(scheme, &other, program);
    assert!(
        tables == fresh.tables,
        "what was garbled before has no influence"
    );
    assert!(tables != first.tables, "two instances differ");

    let mut seed = setting.seed;
    seed[31] ^= 1;
    let start = setting.start ^ Block::from_u128(1 << 90);
    let by_start = Garbled::new(scheme, &Setting { start, ..setting }, program);
    assert!(by_start.tables != first.tables, "two start points differ");
    let fixed = |setting: &Setting| {
        let mut garbler = scheme.garbler(setting.seed, setting.start, setting.delta);
        let wire = garbler.wire_with_active(Block::from_u128(6), true);
        garbler.label_with_select(&wire, true).0
    };
    let by_delta = Setting {
        delta: setting.delta ^ Block::from_u128(2),
        ..setting
    };
    let by_seed = Setting { seed, ..setting };
    let label = fixed(&setting);
    assert_eq!(
        label,
        fixed(&setting),
        "the same arguments give the same labels"
    );
    assert!(
        label != fixed(&by_delta) || label != fixed(&by_seed),
        "the hidden label depends on Δ or on the seed"
    );
}

/// Checks that garblings of one program side by side are the same as one after the other, including
/// outputs. Each has its own seed, start point, Δ and inputs.
fn several_side_by_side_are_one_by_one<S: Scheme>(scheme: S, program: &Program) {
    let size = |segment| scheme.table_bytes(program, segment);
    let size: usize = (0..program.segments().len()).map(size).sum();
    let few: &[u32] = &[3, 9];
    let counts = if program.ands().len() > 100 {
        few
    } else {
        &[0, 1, 2, 3, 7, 8, 9, 21]
    };
    for &count in counts {
        let settings: Vec<_> = (0..count)
            .map(|number| Setting {
                instance: 5,
                ..Setting::numbered(200 + number)
            })
            .collect();
        let alone = settings
            .iter()
            .map(|one| Garbled::new(scheme, one, program));
        let alone: Vec<_> = alone.collect();
        let mut rooms = vec![vec![0; size]; alone.len()];
        let parts = alone.iter().zip(&settings).zip(&mut rooms);
        let garblings = parts.map(|((alone, setting), tables)| WholeGarbling {
            garbler: scheme.garbler(setting.seed, setting.start, setting.delta),
            inputs: &alone.inputs,
            tables,
        });
        let mut garblings: Vec<_> = garblings.collect();
        scheme.garble_side_by_side(5, program, &mut garblings);
        for (one, alone) in garblings.iter_mut().zip(&alone) {
            assert!(
                *one.tables == alone.tables.concat(),
                "tables side by side, {count} of them"
            );
            let mut outputs = Vec::new();
            one.garbler.finish(program, &mut outputs);
            for (found, expected) in outputs.iter().zip(&alone.outputs) {
                let found = garbled::labels(&one.garbler, found);
                assert!(
                    found == garbled::labels(&alone.garbler, expected),
                    "outputs side by side, {count} of them"
                );
            }
        }
    }
}

/// Checks wires around labels that the evaluator has in another way, mixed with wires from
/// correlated OTs.
fn gives_wires_around_active_labels<S: Scheme>(scheme: S, program: &Program) {
    let setting = Setting::numbered(3);
    let bits = random_bits(33, program.inputs());
    let mut garbler = scheme.garbler(setting.seed, setting.start, setting.delta);
    let evaluator = scheme.evaluator(setting.start);
    let mut prg = Prg::new(Block::from_u128(34));
    let (mut wires, mut labels) = (Vec::new(), Vec::new());
    for (i, bit) in bits.iter().enumerate() {
        let block = prg.next_block();
        if i % 2 == 0 {
            wires.push(garbler.wire_with_active(block, *bit));
            labels.push(block);
        } else {
            wires.push(garbler.wire_from_cot(i as u64, block));
            let t = block ^ setting.delta.and_bit(u8::from(*bit).into());
            labels.push(evaluator.label_from_cot(i as u64, t, *bit));
        }
        let (active, value) = garbler.label_with_select(&wires[i], labels[i].lsb().into());
        assert_eq!(
            (active, value),
            (labels[i], *bit),
            "input {i} has the label of its bit"
        );
        let (other, value) = garbler.label_with_select(&wires[i], (!labels[i].lsb()).into());
        assert_eq!(
            value, !bit,
            "the other label of input {i} is of the other bit"
        );
        assert!(other != labels[i], "the labels of input {i} differ");
    }
    let tables = garbled::garble(scheme, &mut garbler, &setting, program, &wires);
    let outputs = garbled::evaluate(scheme, &setting, program, &tables, &labels);
    let mut garbler_outputs = Vec::new();
    garbler.finish(program, &mut garbler_outputs);
    let mut decoding = Vec::new();
    garbler.decoding(setting.first_output, &garbler_outputs, &mut decoding);
    let found = evaluator.decode(setting.first_output, &outputs, &decoding);
    let values = garbler_outputs.iter().zip(&outputs);
    let expected =
        values.map(|(wire, label)| garbler.label_with_select(wire, label.lsb().into()).1);
    assert_eq!(
        found,
        Ok(expected.collect::<Vec<_>>().into()),
        "inputs of both kinds"
    );
}

/// Checks that any tables evaluate to some labels, since they are the peer's bytes.
fn takes_any_tables<S: Scheme>(scheme: S, program: &Program) {
    let setting = Setting::numbered(4);
    let labels = vec![Block::ONES; program.inputs()];
    for byte in [0x00, 0x5a, 0xff] {
        let tables: Vec<Vec<u8>> = (0..program.segments().len())
            .map(|segment| vec![byte; scheme.table_bytes(program, segment)])
            .collect();
        let outputs = garbled::evaluate(scheme, &setting, program, &tables, &labels);
        assert_eq!(outputs.len(), program.outputs().len());
        let decoding = vec![byte; scheme.decoding_bytes(outputs.len())];
        // The scheme may or may not decode it; the call only has to return.
        let _ = scheme
            .evaluator(setting.start)
            .decode(0, &outputs, &decoding);
    }
}

/// Checks that decoding information of a wrong length is refused with both lengths.
fn refuses_decoding_of_another_length<S: Scheme>(scheme: S, program: &Program) {
    let setting = Setting::numbered(5);
    let evaluator = scheme.evaluator(setting.start);
    let labels = vec![Block::ZERO; program.outputs().len()];
    let expected = scheme.decoding_bytes(labels.len());
    for found in [0, expected - 1, expected + 1, 2 * expected + 7] {
        let refused = evaluator.decode(0, &labels, &vec![0; found]);
        assert_eq!(refused, Err(DecodeError::WrongLength { expected, found }));
    }
    assert_eq!(evaluator.decode(0, &[], &[]), Ok(Vec::new().into()));
}

/// Checks that `scheme` answers ⊥ to labels that are not the garbler's, and that no bit of a table
/// can be flipped so that another value comes out.
///
/// # Panics
///
/// If it does not.
pub fn refuses_other_labels<S: Scheme>(scheme: S) {
    let circuit = circuits::random(78, 6, 24);
    let program = Program::compile(&circuit);
    let setting = Setting::numbered(6);
    let garbled = Garbled::new(scheme, &setting, &program);
    let evaluator = scheme.evaluator(setting.start);
    let inputs = random_bits(61, circuit.input_bits());
    let expected = circuit.evaluate(&inputs);
    let labels = garbled.input_labels(&inputs);
    let decode = |tables: &[Vec<u8>], labels: &[Block]| {
        let outputs = garbled::evaluate(scheme, &setting, &program, tables, labels);
        evaluator.decode(setting.first_output, &outputs, &garbled.decoding)
    };
    assert_eq!(
        decode(&garbled.tables, &labels),
        Ok(expected.clone().into())
    );

    let outputs = garbled::evaluate(scheme, &setting, &program, &garbled.tables, &labels);
    for output in 0..outputs.len() {
        for bit in [0, 1, 64, 127] {
            let mut outputs = outputs.clone();
            outputs[output] ^= Block::from_u128(1 << bit);
            let refused = evaluator.decode(setting.first_output, &outputs, &garbled.decoding);
            let neither = DecodeError::NeitherValue(setting.first_output + output as u64);
            assert_eq!(refused, Err(neither), "bit {bit} of output {output}");
        }
    }
    let mut refused = 0;
    for segment in 0..garbled.tables.len() {
        for byte in 0..garbled.tables[segment].len() {
            let mut tables = garbled.tables.clone();
            tables[segment][byte] ^= 1 << (byte % 8);
            match decode(&tables, &labels) {
                Ok(found) => assert_eq!(*found, expected, "byte {byte} flipped"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 0, "some byte of the tables matters");
}
