//! Each message of a run that loads and saves values is changed in transit.

use super::*;

#[test]
fn a_changed_bit_of_any_message_is_found() {
    let go_on = go_on();
    let (mut chains, kept) = chain();
    let more = bits(9);
    let inputs: [&[bool]; 2] = [&[], &more];
    let mut run = |change: &mut Change<'_>| {
        let terms = terms(&go_on, 40);
        let (proven, mut sent) = chains.prove(terms, inputs, &kept, change);
        chains.forward();
        let (mine, yours) = proven?;
        let (results, opening) = open(mine, yours, change);
        sent.extend(opening);
        assert_eq!(results?, [bits(77), bits(43)]);
        Ok::<_, Failure>(sent)
    };
    let sent = run(&mut unchanged).unwrap();
    let ends = [Kind::GateProof, Kind::ResultOpening, Kind::ResultOpening];
    let kinds: Vec<Kind> = sent.iter().map(|(_, kind, _)| *kind).collect();
    assert!(kinds.ends_with(&ends), "{kinds:?}");
    let mut caught = 0;
    for which in 0..sent.len() {
        for bit in [0, 8 * sent[which].2.len() - 1] {
            let mut at = 0;
            let ended = run(&mut |_, _, payload| {
                if at == which {
                    payload[bit / 8] ^= 1 << (bit % 8);
                }
                at += 1;
            });
            match ended {
                Err((_, Error::PeerMisbehaved(_))) => caught += 1,
                Err((_, error)) => panic!("message {which}, {}: {error}", kinds[which]),
                Ok(_) => {}
            }
        }
    }
    let harmless = [Kind::LeakyAnds, Kind::AuthenticatedTables];
    let may = kinds.iter().filter(|kind| harmless.contains(kind)).count();
    assert!(
        caught >= 2 * (sent.len() - may),
        "{caught} of {}",
        2 * sent.len()
    );
}
