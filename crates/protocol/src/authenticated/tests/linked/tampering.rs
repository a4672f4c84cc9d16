//! Each message of making instances, and of a run that links them, is changed in transit.

use super::*;

/// Whether a changed bit of this kind may have no effect: blocks of leaky ANDs whose x is 0, and
/// rows of tables that a run does not read.
fn may_be_harmless(kind: Kind) -> bool {
    matches!(kind, Kind::LeakyAnds | Kind::AuthenticatedTables)
}

/// Flips a bit of message number `which`.
fn flip(which: usize, at: impl Fn(usize) -> usize) -> impl FnMut(Role, Kind, &mut Vec<u8>) {
    let mut number = 0;
    move |_, _, payload| {
        if number == which {
            let bit = at(8 * payload.len());
            payload[bit / 8] ^= 1 << (bit % 8);
        }
        number += 1;
    }
}

/// Makes message number `which` longer or shorter by a byte.
fn cut(which: usize, longer: bool) -> impl FnMut(Role, Kind, &mut Vec<u8>) {
    let mut number = 0;
    move |_, _, payload| {
        if number == which {
            if longer {
                payload.push(0);
            } else {
                payload.pop();
            }
        }
        number += 1;
    }
}

#[test]
fn a_changed_message_of_a_run_is_found() {
    let function = tangle();
    let terms = terms(&function, 9);
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let stock = make(&function, 1);
    let (_, sent) = changed_run(terms, inputs, &mut stock.clone(), &mut unchanged);
    let kinds: Vec<Kind> = sent.iter().map(|(_, kind, _)| *kind).collect();
    for kind in [102, 107, 111, 112] {
        assert!(kinds.contains(&Kind::parse(kind).unwrap()), "{kind}");
    }
    for (which, (_, kind, payload)) in sent.iter().enumerate() {
        // Bit 0 of each link, and one other bit.
        let step = match kind {
            Kind::AuthenticatedLinks => 64,
            _ => 1,
        };
        for at in (0..8 * payload.len()).step_by(step) {
            let change = &mut flip(which, |_| at);
            let (ended, _) = changed_run(terms, inputs, &mut stock.clone(), change);
            let about = format!("message {which}, {kind}, bit {at}");
            match ended {
                Err((_, Error::PeerMisbehaved(_))) => {}
                Err((role, error)) => panic!("{about}: {role:?}: {error}"),
                Ok(found) => panic!("{about}: {found:?}"),
            }
        }
        for longer in [false, true] {
            let change = &mut cut(which, longer);
            let (ended, sent) = changed_run(terms, inputs, &mut stock.clone(), change);
            let (role, error) = ended.map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::PeerMisbehaved(_)), "{error}");
            assert_ne!(role, sent[which].0, "{which}");
        }
    }
}

/// A change while instances are made is detected at once, or by the run that links them.
#[test]
fn a_changed_message_of_making_instances_is_found() {
    let function = component("comparator", Recipient::Both);
    let terms = terms(&function, 9);
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (_, sent) = changed_making(&function, 1, (9, ordered()), &mut unchanged);
    for which in 0..sent.len() {
        let kind = sent[which].1;
        for at in [|_| 0, |bits| bits / 2, |bits| bits - 1] {
            let (made, _) = changed_making(&function, 1, (9, ordered()), &mut flip(which, at));
            let ended = match made {
                Ok(mut stock) if may_be_harmless(kind) => {
                    changed_run(terms, inputs, &mut stock, &mut unchanged).0
                }
                Ok(_) => panic!("message {which}, {kind}"),
                Err(failure) => Err(failure),
            };
            match ended {
                Err((_, Error::PeerMisbehaved(_))) => {}
                Err((role, error)) => panic!("message {which}, {kind}: {role:?}: {error}"),
                Ok(found) => assert_eq!(found, plain(&function, inputs), "{which}, {kind}"),
            }
        }
        for longer in [false, true] {
            let (made, sent) =
                changed_making(&function, 1, (9, ordered()), &mut cut(which, longer));
            let (role, error) = made.err().expect("another length");
            assert!(matches!(error, Error::PeerMisbehaved(_)), "{error}");
            assert_ne!(role, sent[which].0, "{which}");
        }
    }
}
