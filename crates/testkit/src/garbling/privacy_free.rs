//! The conformance suite of privacy-free garbling, which is no scheme of the ladder: what
//! [`conformance`](super::conformance) asks of a scheme, less what an evaluator may not know.

use tacit_circuit::{Circuit, Program};
use tacit_garble::{PrivacyFree, PrivacyFreeGarbler, PrivacyFreeWire, ValuedLabel};
use tacit_kernels::{Aes128, Block, Cpu, Prg, Tweak, Use, hash};
use tacit_reference::{Gate, privacy_free};

use super::circuits::{self, Case};
use super::relations::{Known, OpenWire, Parts, Relation, View, shapes};
use super::textbook::{Order, as_reference};
use super::{Setting, inputs_of};

/// A program garbled whole.
pub struct Garbling {
    /// The garbler, after it has finished.
    pub garbler: PrivacyFreeGarbler,
    /// The input wires.
    pub inputs: Vec<PrivacyFreeWire>,
    /// The tables of all segments.
    pub tables: Vec<u8>,
    /// The output wires.
    pub outputs: Vec<PrivacyFreeWire>,
}

impl Garbling {
    /// Garbles `program` with input labels that look random.
    #[must_use]
    pub fn new(scheme: PrivacyFree, setting: &Setting, program: &Program) -> Self {
        let mut prg = Prg::new(setting.start);
        let inputs: Vec<_> = (0..program.inputs())
            .map(|_| PrivacyFreeWire::new(prg.next_block()))
            .collect();
        let mut garbler = scheme.garbler(setting.start, setting.delta);
        garbler.begin(setting.instance, program, &inputs);
        let mut tables = Vec::new();
        for segment in 0..program.segments().len() {
            let from = tables.len();
            tables.resize(from + scheme.table_bytes(program, segment), 0);
            garbler.garble(program, segment, &mut tables[from..]);
        }
        let mut outputs = Vec::new();
        garbler.finish(program, &mut outputs);
        Self {
            garbler,
            inputs,
            tables,
            outputs,
        }
    }

    /// The evaluator's labels of these input bits.
    #[must_use]
    pub fn labels(&self, bits: &[bool]) -> Vec<ValuedLabel> {
        let label = |(wire, bit): (&PrivacyFreeWire, &bool)| self.garbler.label(*wire, *bit);
        self.inputs.iter().zip(bits).map(label).collect()
    }
}

/// Evaluates a whole program; returns the outputs' labels.
#[must_use]
pub fn evaluate(
    scheme: PrivacyFree,
    setting: &Setting,
    program: &Program,
    mut tables: &[u8],
    labels: &[ValuedLabel],
) -> Vec<ValuedLabel> {
    let mut evaluator = scheme.evaluator(setting.start);
    evaluator.begin(setting.instance, program, labels);
    for segment in 0..program.segments().len() {
        let these;
        (these, tables) = tables.split_at(scheme.table_bytes(program, segment));
        evaluator.evaluate(program, segment, these);
    }
    let mut outputs = Vec::new();
    evaluator.finish(program, &mut outputs);
    outputs
}

/// Passes if `scheme` garbles as it should: every circuit of the suite, bit for bit as in the
/// textbook, for every input of a small one.
///
/// # Panics
///
/// If it does not; the message names the circuit and what went wrong.
pub fn conformance(scheme: PrivacyFree) {
    for case in &circuits::all() {
        let program = Program::compile(&case.circuit);
        computes_the_circuit(scheme, case, &program);
        agrees_with_the_textbook(scheme, case, &program);
        takes_any_tables(scheme, &program);
    }
}

fn computes_the_circuit(scheme: PrivacyFree, case: &Case, program: &Program) {
    let (name, setting) = (case.name, Setting::numbered(51));
    let garbled = Garbling::new(scheme, &setting, program);
    assert_eq!(garbled.tables.len(), 16 * program.ands().len(), "{name}");
    for inputs in inputs_of(case) {
        let labels = garbled.labels(&inputs);
        let outputs = evaluate(scheme, &setting, program, &garbled.tables, &labels);
        let expected = case.circuit.evaluate(&inputs);
        let values: Vec<bool> = outputs.iter().map(|label| label.value()).collect();
        assert_eq!(values, expected, "{name} of {inputs:?}");
        let proven = garbled.garbler.authenticate(0, &garbled.outputs, &outputs);
        assert_eq!(proven, Ok(expected.into()), "{name} of {inputs:?}");
    }
}

fn agrees_with_the_textbook(scheme: PrivacyFree, case: &Case, program: &Program) {
    let (name, setting) = (case.name, Setting::numbered(52));
    let garbled = Garbling::new(scheme, &setting, program);
    let circuit = as_reference(program, Order::Program);
    let number = |label: ValuedLabel| u128::from_le_bytes(label.to_bytes());
    let zeros = garbled.labels(&vec![false; program.inputs()]);
    let zeros: Vec<u128> = zeros.into_iter().map(number).collect();
    let (start, delta) = (setting.start.to_u128(), setting.delta.to_u128());
    let book = privacy_free::garble(&circuit, start, setting.instance, delta, &zeros);
    assert!(
        garbled.tables == book.tables,
        "{name}: tables as in the textbook"
    );
    for (wire, expected) in garbled.outputs.iter().zip(&book.outputs) {
        let labels = [false, true].map(|value| number(garbled.garbler.label(*wire, value)));
        assert!(
            labels == *expected,
            "{name}: output labels as in the textbook"
        );
    }
    assert_eq!(garbled.outputs.len(), book.outputs.len());
}

/// Whatever the tables are, they evaluate to some labels, and these to the right values.
fn takes_any_tables(scheme: PrivacyFree, program: &Program) {
    let setting = Setting::numbered(53);
    let labels = vec![ValuedLabel::new(Block::ONES, true); program.inputs()];
    let values = |tables: &[u8]| {
        let outputs = evaluate(scheme, &setting, program, tables, &labels);
        outputs
            .iter()
            .map(|label| label.value())
            .collect::<Vec<_>>()
    };
    let of_zeros = values(&vec![0; 16 * program.ands().len()]);
    for byte in [0x5a, 0xff] {
        let tables = vec![byte; 16 * program.ands().len()];
        assert_eq!(values(&tables), of_zeros, "values are the evaluator's own");
    }
}

/// Passes if an evaluator cannot find out a hidden label or Δ by adding up what it knows, in any
/// small circuit, alone and in two instances on one input.
///
/// # Panics
///
/// If it can; the message has the relation.
pub fn no_relation() {
    for shape in &shapes() {
        for bits in 0..1 << shape.circuit.input_bits() {
            for garblings in [
                &[(&shape.circuit, 7)][..],
                &[(&shape.circuit, 7), (&shape.circuit, 8)],
            ] {
                let found = relation(garblings, bits);
                let (name, count) = (&shape.name, garblings.len());
                let shown = found.map(|relation| relation.to_string());
                assert_eq!(shown, None, "{name}, inputs {bits:b}, {count} instances");
            }
        }
    }
}

/// A relation in garblings of these circuits, each as this instance, all on the same inputs, that
/// gives a secret away. Where more is known than can be judged, none is looked for.
///
/// # Panics
///
/// If a circuit has more inputs than the first.
#[must_use]
pub fn relation(garblings: &[(&Circuit, u32)], bits: usize) -> Option<Relation> {
    let setting = Setting::numbered(56);
    let (start, delta) = (setting.start, setting.delta.to_u128());
    let mut prg = Prg::new(start);
    let zeros: Vec<u128> = (0..garblings[0].0.input_bits())
        .map(|_| prg.next_block().to_u128() & !1)
        .collect();
    let mut view = View::new(Parts::Whole);
    let mut wires: Vec<OpenWire> = Vec::new();
    let (mut calls, mut tables) = (Vec::new(), 0);
    for &(circuit, instance) in garblings {
        let circuit = as_reference(&Program::compile(circuit), Order::Program);
        let zeros = &zeros[..circuit.inputs];
        let garbled = privacy_free::garble(&circuit, start.to_u128(), instance, delta, zeros);
        let first = wires.len();
        let mut number = 0;
        for (wire, labels) in garbled.wires.iter().enumerate() {
            let gate = wire
                .checked_sub(circuit.inputs)
                .map(|gate| circuit.gates[gate]);
            let value_of = |wire: usize| wires[first + wire].value;
            let value = match gate {
                None => bits >> wire & 1 == 1,
                Some(Gate::Xor(a, b)) => value_of(a) ^ value_of(b),
                Some(Gate::And(a, b)) => {
                    let tweak = Tweak {
                        usage: Use::And,
                        instance,
                        number,
                        a: 0,
                        b: 0,
                    };
                    number += 1;
                    calls.push((first + a.wire, a.negated, tweak));
                    (value_of(a.wire) ^ a.negated) & (value_of(b.wire) ^ b.negated)
                }
            };
            let labels = *labels;
            wires.push(OpenWire { labels, value });
        }
        for row in garbled.tables.as_chunks().0 {
            view.know(Known::Table(tables), u128::from_le_bytes(*row));
            tables += 1;
        }
    }
    for (number, wire) in wires.iter().enumerate() {
        view.know(Known::Label(number), wire.active());
    }
    let cipher = |tweak| Aes128::new(Cpu::detect(), hash::epoch_key(start, tweak));
    let call = |tweak: Tweak, label: u128| {
        let encrypt = |block| cipher(tweak).encrypt(Block::from_u128(block)).to_u128();
        let inner = encrypt(label);
        (inner, encrypt(inner ^ tweak.to_block().to_u128()))
    };
    for &(wire, negated, tweak) in &calls {
        let (inner, outer) = call(tweak, wires[wire].active() ^ u128::from(negated));
        view.know_two(wire, tweak, inner, outer);
    }
    // All wires have one offset, as free XOR has it.
    view.hide_wires(&wires, |_, _| true);
    for &(wire, negated, tweak) in &calls {
        let hidden = wires[wire].hidden() ^ u128::from(negated);
        let (inner, _) = call(tweak, hidden);
        view.hide_under(&cipher(tweak), wire, tweak, &[hidden, inner]);
    }
    view.fits().then(|| view.relation()).flatten()
}
