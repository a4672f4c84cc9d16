//! Attacks by a garbler: attempts to learn from the messages it gets, and lies that are caught.

use tacit_circuit::builder::{Builder, Bus};

use super::*;
use crate::bits::bit;

/// Flips bit `bit` of the garbler's messages of this kind.
fn lie(kind: Kind, bit: usize) -> impl FnMut(Role, Kind, &mut Vec<u8>) {
    move |from, found, payload| {
        if (from, found) == (Role::Garbler, kind) {
            payload[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Returns two independent gates, a_0 ∧ b_0 and a_1 ∧ b_1, where a is the evaluator's.
fn apart() -> Function {
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, 2));
    let ands = a.bits().zip(b.bits()).map(|(a, b)| a & b);
    builder.output("ands", &Bus::from_bits(&builder, ands));
    let circuit = builder.finish().unwrap();
    let owner = |port: &Port| match port.name.as_str() {
        "a" => Role::Evaluator,
        _ => Role::Garbler,
    };
    Function::of_circuit("apart", circuit, owner, |_| Recipient::Evaluator).unwrap()
}

/// Returns the number of correct guesses that `guess` makes from the sent messages, out of 48 runs.
/// a_0 and a_1 differ in every other run, and b is 11.
fn right_guesses(guess: impl Fn(&Sent) -> bool) -> usize {
    let function = apart();
    let mut epochs = Some(epochs());
    let runs = (0..48).filter(|run| {
        let a = [run % 2 == 0, run % 4 < 2];
        let terms = terms(&function, 6);
        let taken = epochs.take().unwrap();
        let (ended, sent) = changed_run(terms, [&[true; 2], &a], taken, &mut unchanged);
        epochs = Some(ended.unwrap().1);
        guess(&sent) == (a[0] != a[1])
    });
    runs.count()
}

fn payloads(sent: &Sent, kind: Kind) -> Vec<&[u8]> {
    let those = sent.iter().filter(|(_, found, _)| *found == kind);
    those.map(|(_, _, payload)| &payload[..]).collect()
}

/// If two wires had the same mask, the sum of their masked values, which the garbler gets, would be
/// the sum of their values.
#[test]
fn masked_values_of_two_gates_do_not_tell_their_sum() {
    let right = right_guesses(|sent| {
        let told = payloads(sent, Kind::MaskedValues)[0];
        bit(told, 0) != bit(told, 1)
    });
    assert!((6..=42).contains(&right), "{right} of 48");
}

/// If two gates used the same triple, their e would sum to the sum of the masks of a_0 and a_1,
/// which together with the masked inputs reveals a_0 ⊕ a_1.
#[test]
fn openings_of_two_gates_do_not_tell_the_sum_of_their_inputs() {
    let right = right_guesses(|sent| {
        let masked = payloads(sent, Kind::MaskedInputs)[0];
        let openings = payloads(sent, Kind::GateOpenings);
        let sum = |bits: &[u8]| bit(bits, 0) != bit(bits, 1);
        sum(masked) ^ openings.iter().fold(false, |all, bits| all ^ sum(bits))
    });
    assert!((6..=42).contains(&right), "{right} of 48");
}

/// In two runs of an epoch with the same input, the sent input bits have new masks.
#[test]
fn masked_inputs_of_two_runs_do_not_tell_whether_inputs_are_the_same() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let (mut epochs, mut masked) = (epochs(), Vec::new());
    for _ in 0..2 {
        let (ended, sent) = changed_run(terms(&function, 9), [&inputs; 2], epochs, &mut unchanged);
        epochs = ended.unwrap().1;
        masked.push(payloads(&sent, Kind::MaskedInputs).concat());
    }
    assert_ne!(masked[0], masked[1]);
}

/// The garbler opens another bit of a gate. The evaluator does not send its masked values.
#[test]
fn a_lie_about_a_gate_is_told_no_values() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let lie = &mut lie(Kind::GateOpenings, 1);
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
    let found = (Role::Evaluator, cheated(Caught::Gates));
    assert_eq!(ended.map(|_| ()), Err(found));
    assert_eq!(count(&sent, Role::Evaluator, Kind::MaskedValues), 0);
}

/// The garbler opens another share of the coin than it committed to. It has seen the evaluator's
/// share, and could otherwise choose the shifts.
#[test]
fn the_garbler_cannot_choose_the_coin() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let lie = &mut lie(Kind::CoinOpening, 9);
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
    let found = (Role::Evaluator, cheated(Caught::Coin));
    assert_eq!(ended.map(|_| ()), Err(found));
    assert_eq!(count(&sent, Role::Evaluator, Kind::TripleOpenings), 0);
}

/// The garbler opens another bit of a bucket.
#[test]
fn a_lie_about_a_bucket_gets_no_triples() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let lie = &mut lie(Kind::TripleOpenings, 5);
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
    let found = (Role::Evaluator, cheated(Caught::Buckets));
    assert_eq!(ended.map(|_| ()), Err(found));
    assert_eq!(count(&sent, Role::Evaluator, Kind::MaskedInputs), 0);
}

/// The garbler's values differ from those that correct leaky ANDs would give. It gets neither the
/// opening of the evaluator's commitment nor the evaluator's share of the coin.
#[test]
fn another_digest_gets_no_opening() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let lie = &mut lie(Kind::EqualityDigest, 77);
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
    let found = (Role::Evaluator, cheated(Caught::LeakyAnds));
    assert_eq!(ended.map(|_| ()), Err(found));
    assert_eq!(count(&sent, Role::Evaluator, Kind::EqualityOpening), 0);
}

/// The garbler opens another mask of the evaluator's result, which would flip the result. A wrong
/// proof of the gates gets no mask of the garbler's result.
#[test]
fn a_wrong_proof_and_a_lie_about_a_result_are_found() {
    let function = apart();
    let function = Function::of_circuit(
        "apart",
        function.components()[0].circuit().clone(),
        |_| Role::Evaluator,
        |_| Recipient::Both,
    )
    .unwrap();
    for (bit, caught) in [(3, Caught::GateProof), (8 * 16, Caught::Results)] {
        let lie = &mut lie(Kind::GateProof, bit);
        let (ended, sent) = changed_run(terms(&function, 40), [&[], &[true; 4]], epochs(), lie);
        assert_eq!(ended.map(|_| ()), Err((Role::Evaluator, cheated(caught))));
        assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 0);
    }
}
