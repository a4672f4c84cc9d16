//! Each message of a run is changed in transit. Its receiver, or a later step, detects the change,
//! and no party has a wrong result.

use super::*;

/// Returns a small function whose inputs all reach an AND gate. A changed masked value of an input
/// that only XOR gates read would be the same as another input.
fn function() -> Function {
    component("comparator", Recipient::Both)
}

/// Returns the messages of a run.
fn trace(terms: Terms<'_>, inputs: [&[bool]; 2]) -> Sent {
    changed_run(terms, inputs, epochs(), &mut unchanged).1
}

#[test]
fn a_changed_bit_of_any_message_is_found() {
    let function = function();
    let terms = terms(&function, 40);
    let inputs = Role::BOTH;
    let inputs = inputs.map(|role| random_bits(function.input_bits(role)));
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let sent = trace(terms, inputs);
    let kinds: Vec<Kind> = sent.iter().map(|(_, kind, _)| *kind).collect();
    for kind in (96..=107).chain([109, 110]) {
        assert!(kinds.contains(&Kind::parse(kind).unwrap()), "{kind}");
    }
    let mut caught = 0;
    for which in 0..sent.len() {
        let bits = 8 * sent[which].2.len();
        for bit in [0, bits / 2, bits - 1] {
            let mut at = 0;
            let flip = &mut |_, _, payload: &mut Vec<u8>| {
                if at == which {
                    payload[bit / 8] ^= 1 << (bit % 8);
                }
                at += 1;
            };
            let (ended, _) = changed_run(terms, inputs, epochs(), flip);
            let about = format!("message {which}, {}, bit {bit}", kinds[which]);
            match ended {
                Err((_, Error::PeerMisbehaved(_))) => caught += 1,
                Err((role, error)) => panic!("{about}: {role:?}: {error}"),
                // The bit belongs to a table's row that this run does not read, or to a leaky AND
                // whose x is 0.
                Ok((found, _)) => assert_eq!(found, plain(&function, inputs), "{about}"),
            }
        }
    }
    // A changed bit may have no effect in blocks of leaky ANDs and in tables.
    let harmless = [Kind::LeakyAnds, Kind::AuthenticatedTables];
    let may = kinds.iter().filter(|kind| harmless.contains(kind)).count();
    assert!(
        caught >= 3 * (sent.len() - may),
        "{caught} of {}",
        3 * sent.len()
    );
}

#[test]
fn a_message_of_another_length_is_refused() {
    let function = function();
    let terms = terms(&function, 9);
    let inputs = Role::BOTH;
    let inputs = inputs.map(|role| vec![true; function.input_bits(role)]);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    for which in 0..trace(terms, inputs).len() {
        for longer in [false, true] {
            let mut at = 0;
            let cut = &mut |_, _, payload: &mut Vec<u8>| {
                if at == which {
                    if longer {
                        payload.push(0);
                    } else {
                        payload.pop();
                    }
                }
                at += 1;
            };
            let (ended, sent) = changed_run(terms, inputs, epochs(), cut);
            let (role, error) = ended.map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::PeerMisbehaved(_)), "{error}");
            assert_ne!(role, sent[which].0, "{which}");
        }
    }
}
