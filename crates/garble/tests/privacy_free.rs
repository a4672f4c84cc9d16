//! Privacy-free garbling: it computes, as the textbook has it, on every backend; and no label can be
//! shown but the one that was come by.

use sha2::{Digest as _, Sha256};
use tacit_circuit::{Circuit, Gate, Port, Program, Type, library};
use tacit_garble::{NotAuthentic, PrivacyFree, PrivacyFreeWire, ValuedLabel};
use tacit_kernels::{Backend, Block, Cpu, Prg};
use tacit_testkit::garbling::privacy_free::{
    Garbling, conformance, evaluate, no_relation, relation,
};
use tacit_testkit::garbling::{Setting, circuits};
use tacit_testkit::vectors::{Vector, hex};

#[test]
fn it_conforms_on_every_backend() {
    for cpu in Cpu::available() {
        conformance(PrivacyFree::on(cpu));
    }
}

/// Checks `vectors/<file>`.
fn check(file: &str) {
    let vector = Vector::read(file);
    let setting = Setting {
        seed: [0; 32],
        start: Block::from_bytes(vector.bytes("start")),
        delta: Block::from_bytes(vector.bytes("delta")),
        instance: vector.number("instance") as u32,
        first_output: 0,
    };
    let circuit = circuits::named(vector.text("circuit"));
    vector.assert_text("circuit-digest", &circuit.digest().to_string());
    let program = Program::compile(&circuit);
    vector.assert_text("program-fingerprint", &program.fingerprint().to_string());
    let garbled = Garbling::new(PrivacyFree::new(), &setting, &program);
    vector.assert_text("tables-bytes", &garbled.tables.len().to_string());
    vector.assert_text("tables-sha256", &hex(&Sha256::digest(&garbled.tables)));
    let ones = garbled
        .outputs
        .iter()
        .map(|wire| garbled.garbler.label(*wire, true));
    let ones: Vec<u8> = ones.flat_map(ValuedLabel::to_bytes).collect();
    vector.assert_text("outputs-sha256", &hex(&Sha256::digest(&ones)));
    if garbled.tables.len() <= 512 {
        vector.assert_text("tables", &hex(&garbled.tables));
        vector.assert_text("outputs", &hex(&ones));
    }
}

#[test]
fn it_garbles_as_it_was_frozen() {
    check("garbling-privacy-free-majority.txt");
    check("garbling-privacy-free-aes-128.txt");
}

#[test]
fn no_sum_of_known_values_is_a_secret() {
    no_relation();
}

#[test]
fn one_tweak_for_two_gates_with_a_common_operand_is_found() {
    let and_with = |other: u32| {
        let port = |name: &str, bits: usize| vec![Port::new(name, Type::bits(bits))];
        let circuit = Circuit::new(port("x", 3), port("y", 1), [Gate::And(0, other)], vec![3]);
        circuit.expect("one gate is a circuit")
    };
    let (first, second) = (and_with(1), and_with(2));
    for bits in 0..8 {
        assert_eq!(relation(&[(&first, 1), (&second, 2)], bits), None);
        // T ⊕ T′ ⊕ B ⊕ B′ = (b ⊕ b′)Δ.
        let differ = bits >> 1 & 1 != bits >> 2;
        let found = relation(&[(&first, 1), (&second, 1)], bits);
        assert_eq!(found.is_some(), differ, "{bits:b}: {found:?}");
    }
}

/// A circuit, its program, inputs, and what an honest evaluator shows for them.
struct Scene {
    setting: Setting,
    program: Program,
    garbled: Garbling,
    inputs: Vec<bool>,
    expected: Vec<bool>,
}

impl Scene {
    fn new() -> Self {
        let circuit = circuits::random(78, 6, 24);
        let (setting, program) = (Setting::numbered(54), Program::compile(&circuit));
        let inputs = vec![true, false, false, true, true, false];
        Self {
            garbled: Garbling::new(PrivacyFree::new(), &setting, &program),
            expected: circuit.evaluate(&inputs),
            setting,
            program,
            inputs,
        }
    }

    /// What an evaluator of these tables and labels proves.
    fn prove(&self, tables: &[u8], labels: &[ValuedLabel]) -> Result<Vec<bool>, NotAuthentic> {
        let outputs = evaluate(
            PrivacyFree::new(),
            &self.setting,
            &self.program,
            tables,
            labels,
        );
        let garbler = &self.garbled.garbler;
        let proven = garbler.authenticate(9, &self.garbled.outputs, &outputs);
        proven.map(|values| values.to_vec())
    }
}

#[test]
fn an_evaluator_that_lies_about_an_input_proves_nothing_else() {
    let scene = Scene::new();
    let labels = scene.garbled.labels(&scene.inputs);
    assert_eq!(
        scene.prove(&scene.garbled.tables, &labels),
        Ok(scene.expected.clone())
    );
    let mut refused = 0;
    for input in 0..labels.len() {
        // The label of one value, said to stand for the other.
        let mut lie = labels.clone();
        let block = Block::from_bytes(lie[input].to_bytes());
        lie[input] = ValuedLabel::new(block, !lie[input].value());
        match scene.prove(&scene.garbled.tables, &lie) {
            Ok(found) => assert_eq!(found, scene.expected, "input {input} changes nothing"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0, "some input matters");
}

#[test]
fn no_change_of_a_table_proves_another_value() {
    let scene = Scene::new();
    let labels = scene.garbled.labels(&scene.inputs);
    let mut refused = 0;
    for byte in 0..scene.garbled.tables.len() {
        for bit in 0..8 {
            let mut tables = scene.garbled.tables.clone();
            tables[byte] ^= 1 << bit;
            let ignored = byte % 16 == 0 && bit == 0;
            match scene.prove(&tables, &labels) {
                Ok(found) => assert_eq!(found, scene.expected, "byte {byte}, bit {bit}"),
                Err(_) => {
                    assert!(!ignored, "bit 0 of a row is ignored");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0, "some byte of the tables matters");
}

#[test]
fn no_label_is_taken_but_the_two() {
    let scene = Scene::new();
    let Garbling {
        garbler, outputs, ..
    } = &scene.garbled;
    let labels = scene.garbled.labels(&scene.inputs);
    let tables = &scene.garbled.tables;
    let shown = evaluate(
        PrivacyFree::new(),
        &scene.setting,
        &scene.program,
        tables,
        &labels,
    );
    for output in 0..shown.len() {
        for bit in [0, 1, 63, 64, 127] {
            let mut forged = shown.clone();
            let number = u128::from_le_bytes(forged[output].to_bytes()) ^ 1 << bit;
            forged[output] = ValuedLabel::from_bytes(number.to_le_bytes());
            let refused = garbler.authenticate(9, outputs, &forged);
            let neither = NotAuthentic::NeitherLabel(9 + output as u64);
            assert_eq!(refused, Err(neither), "bit {bit} of output {output}");
        }
    }
    let fewer = garbler.authenticate(9, outputs, &shown[1..]);
    let wrong = NotAuthentic::WrongCount {
        expected: shown.len(),
        found: shown.len() - 1,
    };
    assert_eq!(fewer, Err(wrong));
}

/// Jawurek, Kerschbaum and Orlandi: a prover shows that it knows an AES key that takes a plaintext to
/// a ciphertext. (In the protocol the labels come by oblivious transfer, and the prover commits to
/// what it shows until the garbling is opened.)
#[test]
fn a_prover_shows_that_it_knows_a_key() {
    let circuit = library::find("aes-128", &Default::default()).expect("the library has it");
    let program = Program::compile(&circuit);
    let (scheme, setting) = (PrivacyFree::new(), Setting::numbered(55));
    let garbled = Garbling::new(scheme, &setting, &program);
    let witness: Vec<bool> = (0..256).map(|bit| bit * bit % 11 < 5).collect();
    let ciphertext = circuit.evaluate(&witness);
    let labels = garbled.labels(&witness);
    let shown = evaluate(scheme, &setting, &program, &garbled.tables, &labels);
    let proven = garbled.garbler.authenticate(0, &garbled.outputs, &shown);
    assert_eq!(proven, Ok(ciphertext.into()));

    let (start, instance) = (setting.start, setting.instance);
    let opening = garbled.garbler.open(&garbled.inputs);
    let is_opened = |opening: &_, tables: &[u8]| {
        scheme.is_opened_by(opening, start, instance, &program, tables)
    };
    assert!(is_opened(&opening, &garbled.tables));
    // A verifier that cheated would be found out before anything is shown to it.
    let mut other = garbled.tables.clone();
    other[16 * 77 + 3] ^= 1;
    assert!(!is_opened(&opening, &other));
    assert!(!is_opened(&opening, &garbled.tables[16..]));
    assert!(!is_opened(&opening, &[&garbled.tables[..], &[0]].concat()));
    let mut wrong = opening.clone();
    wrong.inputs[200] ^= Block::from_u128(2);
    assert!(!is_opened(&wrong, &garbled.tables));
    wrong = opening.clone();
    wrong.inputs.pop();
    assert!(!is_opened(&wrong, &garbled.tables));
    for bit in [0, 1] {
        wrong = opening.clone();
        wrong.delta ^= Block::from_u128(1 << bit);
        assert!(!is_opened(&wrong, &garbled.tables), "bit {bit} of Δ");
    }
    wrong = opening.clone();
    wrong.inputs[3] ^= Block::from_u128(1);
    assert!(
        !is_opened(&wrong, &garbled.tables),
        "a label whose bit 0 is no value"
    );
}

#[test]
fn labels_of_correlated_ots_are_labels() {
    let (mut prg, scheme) = (Prg::new(Block::from_u128(5)), PrivacyFree::new());
    let delta = prg.next_block().with_lsb(1.into());
    let garbler = scheme.garbler(prg.next_block(), delta);
    for choice in [false, true] {
        let q = prg.next_block();
        let t = q ^ delta.and_bit(u8::from(choice).into());
        let label = ValuedLabel::new(t, choice);
        assert_eq!(label.value(), choice);
        assert!(label == garbler.label(PrivacyFreeWire::new(q), choice));
    }
}

#[test]
#[should_panic(expected = "bit 0 of Δ is set")]
fn an_even_offset_is_refused() {
    let _ = PrivacyFree::new().garbler(Block::ZERO, Block::from_u128(2));
}

#[test]
#[should_panic(expected = "segments are garbled in order")]
fn a_segment_is_garbled_once() {
    let mut scene = Scene::new();
    let mut tables = scene.garbled.tables.clone();
    scene.garbled.garbler.garble(&scene.program, 0, &mut tables);
}

#[test]
fn debug_prints_no_secret() {
    let cpu = Cpu::new(Backend::Portable).expect("it is on every CPU");
    let scheme = PrivacyFree::on(cpu);
    let garbler = scheme.garbler(Block::ZERO, Block::ONES);
    assert_eq!(format!("{garbler:?}"), "PrivacyFreeGarbler(Cpu(portable))");
    let evaluator = scheme.evaluator(Block::ZERO);
    assert_eq!(
        format!("{evaluator:?}"),
        "PrivacyFreeEvaluator(Cpu(portable))"
    );
    let wire = PrivacyFreeWire::new(Block::ONES);
    let label = garbler.label(wire, true);
    let shown = format!("{wire:?} {label:?} {:?}", garbler.open(&[wire]));
    assert_eq!(
        shown,
        "PrivacyFreeWire(..) ValuedLabel(..) Opening(of 1 inputs)"
    );
}
