//! What `prf-xor1-and3` promises beyond what every scheme does.

use tacit_circuit::Program;
use tacit_garble::{DecodeError, Evaluator, Garbler, PrfXor1And3, Scheme};
use tacit_kernels::Block;
use tacit_testkit::garbling::{Garbled, Setting, circuits};

/// The majority of three bits: two XORs, an AND and a XOR.
fn majority() -> Program {
    Program::compile(&circuits::named("majority"))
}

/// The output labels of evaluating `tables` on `bits`.
fn evaluate(garbled: &Garbled<PrfXor1And3>, tables: &[u8], bits: &[bool]) -> Vec<Block> {
    let (setting, program) = (Setting::numbered(9), majority());
    let mut evaluator = PrfXor1And3::new().evaluator(setting.start);
    evaluator.begin(setting.instance, &program, &garbled.input_labels(bits));
    evaluator.evaluate(&program, 0, tables);
    let mut outputs = Vec::new();
    evaluator.finish(&program, &mut outputs);
    outputs
}

fn garbled() -> Garbled<PrfXor1And3> {
    Garbled::new(PrfXor1And3::new(), &Setting::numbered(9), &majority())
}

#[test]
fn the_spare_bit_of_a_xor_ciphertext_is_zero_and_ignored() {
    let garbled = garbled();
    let tables = &garbled.tables[0];
    assert_eq!(tables.len(), 3 * 16 + 48);
    let xors = [0, 16, 16 + 16 + 48];
    assert!(xors.iter().all(|at| tables[*at] & 1 == 0));
    let mut other = tables.clone();
    xors.iter().for_each(|at| other[*at] |= 1);
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
    let evaluator = PrfXor1And3::new().evaluator(setting.start);
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
    let mut garbler = PrfXor1And3::new().garbler(setting.seed, setting.start, setting.delta);
    let wire = garbler.wire_with_active(Block::from_u128(1 << 70), false);
    garbler.begin(setting.instance, &program, &[wire, wire, wire]);
    garbler.garble(&program, 0, &mut [0; 96]);
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
    garbler.garble(&majority(), 0, &mut [0; 96]);
}

#[test]
#[should_panic(expected = "exactly as many bytes")]
fn tables_of_another_size_are_the_callers_mistake() {
    let setting = Setting::numbered(9);
    let mut garbled = garbled();
    garbled
        .garbler
        .begin(setting.instance, &majority(), &garbled.inputs);
    garbled.garbler.garble(&majority(), 0, &mut [0; 97]);
}
