//! The promises of `prf` beyond those of every scheme.

use tacit_circuit::{Circuit, Gate, Port, Program, Type};
use tacit_garble::{DecodeError, Evaluator, Garbler, Prf, Scheme};
use tacit_kernels::Block;
use tacit_testkit::garbling::{Garbled, Setting, circuits};

/// Returns the majority of three bits: two XORs, an AND and a XOR.
fn majority() -> Program {
    Program::compile(&circuits::named("majority"))
}

/// Returns the output labels of evaluating `tables` on `bits`.
fn evaluate(garbled: &Garbled<Prf>, tables: &[u8], bits: &[bool]) -> Vec<Block> {
    let (setting, program) = (Setting::numbered(9), majority());
    let mut evaluator = Prf::new().evaluator(setting.start);
    evaluator.begin(setting.instance, &program, &garbled.input_labels(bits));
    evaluator.evaluate(&program, 0, tables);
    let mut outputs = Vec::new();
    evaluator.finish(&program, &mut outputs);
    outputs
}

fn garbled() -> Garbled<Prf> {
    Garbled::new(Prf::new(), &Setting::numbered(9), &majority())
}

#[test]
fn spare_bits_are_zero_and_ignored() {
    let garbled = garbled();
    let tables = &garbled.tables[0];
    assert_eq!(tables.len(), 3 * 16 + 32 + 1);
    let xors = [0, 16, 16 + 16 + 32];
    assert_eq!(tables[80] >> 2, 0, "the bits of one AND gate");
    assert!(xors.iter().all(|at| tables[*at] & 1 == 0));
    let mut other = tables.clone();
    xors.iter().for_each(|at| other[*at] |= 1);
    other[80] |= 0xfc;
    for number in 0..8 {
        let bits = [number & 1 == 1, number & 2 == 2, number & 4 == 4];
        assert_eq!(
            evaluate(&garbled, tables, &bits),
            evaluate(&garbled, &other, &bits)
        );
    }
}

#[test]
fn decoding_that_fits_both_values_or_has_its_spare_bit_set_is_refused() {
    let garbled = garbled();
    let label = evaluate(&garbled, &garbled.tables[0], &[true, true, false]);
    let setting = Setting::numbered(9);
    let evaluator = Prf::new().evaluator(setting.start);
    let decode = |decoding: &[u8]| evaluator.decode(setting.first_output, &label, decoding);
    assert_eq!(decode(&garbled.decoding), Ok(vec![true].into()));
    let neither = Err(DecodeError::NeitherValue(setting.first_output));
    let both = [&garbled.decoding[16..], &garbled.decoding[16..]].concat();
    assert_eq!(decode(&both), neither);
    let mut spare = garbled.decoding.clone();
    spare[16] |= 1;
    assert_eq!(decode(&spare), neither);
    let swapped = [&garbled.decoding[16..], &garbled.decoding[..16]].concat();
    assert_eq!(
        decode(&swapped),
        Ok(vec![false].into()),
        "what d says is the garbler's word"
    );
    let elsewhere = evaluator.decode(setting.first_output + 1, &label, &garbled.decoding);
    assert_eq!(
        elsewhere,
        Err(DecodeError::NeitherValue(setting.first_output + 1))
    );
}

#[test]
fn a_gate_fed_by_equal_labels_gives_neither_output_label_away() {
    let (setting, program) = (Setting::numbered(10), majority());
    let mut garbler = Prf::new().garbler(setting.seed, setting.start, setting.delta);
    let wire = garbler.wire_with_active(Block::from_u128(1 << 70), false);
    garbler.begin(setting.instance, &program, &[wire, wire, wire]);
    garbler.garble(&program, 0, &mut [0; 81]);
    let mut outputs = Vec::new();
    garbler.finish(&program, &mut outputs);
    for select in [false, true] {
        let (label, _) = garbler.label_with_select(&outputs[0], select);
        assert!(label.to_u128() >> 1 != 0, "F of both sides does not cancel");
    }
}

#[test]
fn debug_prints_no_label() {
    assert_eq!(format!("{:?}", garbled().outputs[0]), "LabelPair(..)");
}

#[test]
#[should_panic(expected = "segments are garbled in order")]
fn a_segment_is_garbled_once() {
    let mut garbler = garbled().garbler;
    garbler.garble(&majority(), 0, &mut [0; 81]);
}

#[test]
#[should_panic(expected = "exactly as many bytes")]
fn tables_of_another_size_are_the_callers_mistake() {
    let setting = Setting::numbered(9);
    let mut garbled = garbled();
    garbled
        .garbler
        .begin(setting.instance, &majority(), &garbled.inputs);
    garbled.garbler.garble(&majority(), 0, &mut [0; 82]);
}

#[test]
fn g_prime_passes_on_only_what_has_no_other_use() {
    // XOR(AND, input): the AND's output is private and passes on untranslated. If it is also an
    // output, it is translated, and the ciphertext differs.
    let gates = [Gate::And(0, 1), Gate::Xor(3, 2)];
    let program = |outputs: Vec<u32>| {
        let port = |name: &str, bits: usize| vec![Port::new(name, Type::bits(bits))];
        let circuit = Circuit::new(port("x", 3), port("y", outputs.len()), gates, outputs);
        Program::compile(&circuit.expect("it is well formed"))
    };
    let setting = Setting::numbered(11);
    let [private, shared] = [vec![4], vec![4, 3]].map(|outputs| {
        let program = program(outputs);
        let levels = program.xor_levels();
        let garbled = Garbled::new(Prf::new(), &setting, &program);
        let kinds: Vec<_> = (0..program.batches().len())
            .flat_map(|batch| levels.levels(batch).to_vec())
            .collect();
        (kinds, garbled.tables.concat())
    });
    assert_eq!((private.0[0].private, private.0[0].shared), (1, 0));
    assert_eq!((shared.0[0].private, shared.0[0].shared), (0, 1));
    assert_eq!(private.1[..32], shared.1[..32], "the AND gate is the same");
    assert_ne!(private.1[32..48], shared.1[32..48], "the XOR gate is not");
}
