//! Attacks by an evaluator that follows the protocol except for one lie. Each is aimed at the check
//! that stops it.

use super::*;

/// Returns (a ∧ b) ∧ c, where a and c are the garbler's.
fn two_gates() -> Function {
    use tacit_circuit::builder::Builder;
    let builder = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.bit(name));
    builder.output("and", &(a & b & c));
    let circuit = builder.finish().unwrap();
    let owner = |port: &Port| match port.name.as_str() {
        "b" => Role::Evaluator,
        _ => Role::Garbler,
    };
    Function::of_circuit("two-gates", circuit, owner, |_| Recipient::Both).unwrap()
}

/// Flips bit `bit` of the evaluator's messages of this kind.
fn lie(kind: Kind, bit: usize) -> impl FnMut(Role, Kind, &mut Vec<u8>) {
    move |from, found, payload| {
        if (from, found) == (Role::Evaluator, kind) {
            payload[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// The evaluator sends another masked value of the first gate. The garbler's proof would then
/// reveal c. The garbler compares labels before it proves anything.
#[test]
fn a_flipped_masked_value_gets_no_proof() {
    let function = two_gates();
    for c in [false, true] {
        let lie = &mut lie(Kind::MaskedValues, 0);
        let inputs: [&[bool]; 2] = [&[true, c], &[true]];
        let (ended, sent) = changed_run(terms(&function, 40), inputs, epochs(), lie);
        let found = (Role::Garbler, cheated(Caught::MaskedValues));
        assert_eq!(ended.map(|_| ()), Err(found));
        assert_eq!(count(&sent, Role::Garbler, Kind::GateProof), 0);
    }
}

/// The evaluator opens another bit of a gate than it holds. The garbler does not send its tables.
#[test]
fn a_lie_about_a_gate_gets_no_tables() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    for bit in [0, 70] {
        let lie = &mut lie(Kind::GateOpenings, bit);
        let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
        let found = (Role::Garbler, cheated(Caught::Gates));
        assert_eq!(ended.map(|_| ()), Err(found));
        assert_eq!(count(&sent, Role::Garbler, Kind::AuthenticatedTables), 0);
    }
}

/// The evaluator opens another bit of a bucket. No bit is opened or garbled with its triples.
#[test]
fn a_lie_about_a_bucket_gets_no_triples() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let lie = &mut lie(Kind::TripleOpenings, 5);
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
    let found = (Role::Garbler, cheated(Caught::Buckets));
    assert_eq!(ended.map(|_| ()), Err(found));
    assert_eq!(count(&sent, Role::Garbler, Kind::GateOpenings), 0);
}

/// The evaluator opens another mask of the garbler's result, which would flip the result.
#[test]
fn a_lie_about_a_result_is_no_result() {
    let function = two_gates();
    let lie = &mut lie(Kind::ResultOpening, 0);
    let inputs: [&[bool]; 2] = [&[true; 2], &[true]];
    let (ended, _) = changed_run(terms(&function, 40), inputs, epochs(), lie);
    let found = (Role::Garbler, cheated(Caught::Results));
    assert_eq!(ended.map(|_| ()), Err(found));
}

/// The evaluator sends wrong blocks of leaky ANDs, half of which shift the garbler's values. It
/// gets neither the garbler's share of the coin nor a triple.
#[test]
fn wrong_leaky_ands_are_found_before_the_coin() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let wrong = &mut |from, kind, payload: &mut Vec<u8>| {
        if (from, kind) == (Role::Evaluator, Kind::LeakyAnds) {
            payload.iter_mut().step_by(16).for_each(|byte| *byte ^= 4);
        }
    };
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), wrong);
    let (_, error) = ended.map(|_| ()).unwrap_err();
    assert_eq!(error, cheated(Caught::LeakyAnds));
    assert_eq!(count(&sent, Role::Garbler, Kind::CoinOpening), 0);
    assert_eq!(count(&sent, Role::Evaluator, Kind::EqualityOpening), 0);
}

/// The evaluator commits to one value and opens another: its salt is not that of the commitment.
#[test]
fn another_opening_of_the_commitment_is_found_before_the_coin() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let lie = &mut lie(Kind::EqualityOpening, 3);
    let (ended, sent) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), lie);
    let found = (Role::Garbler, cheated(Caught::Commitment));
    assert_eq!(ended.map(|_| ()), Err(found));
    assert_eq!(count(&sent, Role::Garbler, Kind::CoinOpening), 0);
}

/// If the shares of the coin did not affect the shifts, an evaluator that knew the shifts before it
/// made leaky ANDs could cheat within one bucket. Here its share changes in transit: the parties
/// then shift the layers differently, and the MACs of their buckets do not match.
#[test]
fn the_evaluators_share_of_the_coin_turns_the_layers() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let other = &mut lie(Kind::EqualityOpening, 8 * 32);
    let (ended, _) = changed_run(terms(&function, 40), [&inputs; 2], epochs(), other);
    let (_, error) = ended.map(|_| ()).unwrap_err();
    assert_eq!(error, cheated(Caught::Buckets));
}

/// Bit 1 of the evaluator's Δ is set, which no setup does. Then no z is ever flipped, and the lot
/// is found to be wrong.
#[test]
fn a_delta_with_its_second_bit_set_makes_no_lot() {
    let mut prg = prg();
    let [garblers, evaluators] = fresh_deltas(&mut prg);
    let bits = |delta: &tacit_ot::Delta| delta.to_block().to_u128() & 3;
    assert_eq!([bits(&garblers), bits(&evaluators)], [3, 1]);
    let set = tacit_kernels::Block::from_u128(2) ^ evaluators.to_block();
    let deltas = [garblers, tacit_ot::Delta::from_block(set).unwrap()];
    let epochs = dealt(tags(Extension::default()), deltas, &mut prg);
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let (ended, _) = changed_run(terms(&function, 40), [&inputs; 2], epochs, &mut unchanged);
    let (_, error) = ended.map(|_| ()).unwrap_err();
    assert_eq!(error, cheated(Caught::LeakyAnds));
}
