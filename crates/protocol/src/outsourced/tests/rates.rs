//! Planted cheats are caught as often as the split says, at sizes where they often are not. Every
//! run is from fixed seeds, so that a test gives the same count each time.

use tacit_circuit::Recipient;

use super::cheats::Place;
use super::trio::{Past, Trio, adder, bits, malicious};
use crate::message::Kind;
use crate::outsourced::cut::Fate;
use crate::outsourced::{Cheat, Peer};
use crate::{Error, Misbehaviour};

const RUNS: u64 = 80;

/// What generator, evaluator or cloud found in each run of a generator that changes messages.
fn found(copies: u32, change: impl Fn(&Place<'_>, Kind, &mut Vec<u8>)) -> Vec<Option<Cheat>> {
    let function = adder(2, Recipient::Evaluator);
    // Where parts of messages lie depends on no split.
    let place = Place::new(&function, malicious(copies), &[Fate::Check, Fate::Evaluate]);
    let run = |seed| {
        let inputs = [&bits(1, 2)[..], &bits(seed % 4, 2)[..]];
        let mut trio = Trio::new(&function, malicious(copies), inputs, seed, Past::default());
        let mut rewrite = |_, kind, _, message: &mut Vec<u8>| change(&place, kind, message);
        let ended = trio.run(Some(Peer::Generator), &mut rewrite);
        ended.ends.into_iter().find_map(|end| match end {
            Err(Error::PeerMisbehaved(Misbehaviour::CheatedOutsourced(cheat))) => Some(cheat),
            _ => None,
        })
    };
    (0..RUNS).map(run).collect()
}

fn negates(copies: &[usize]) -> impl Fn(&Place<'_>, Kind, &mut Vec<u8>) + '_ {
    move |place, kind, message| {
        if kind == Kind::Copies {
            for copy in copies {
                message[place.body(*copy) + place.work.tables_end()] ^= 1;
            }
        }
    }
}

fn count(found: &[Option<Cheat>], is: impl Fn(Cheat) -> bool) -> u64 {
    found.iter().flatten().filter(|cheat| is(**cheat)).count() as u64
}

/// Whether a count is within five deviations of a probability.
fn is_near(count: u64, probability: f64) -> bool {
    let expected = RUNS as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    (count as f64 - expected).abs() <= 5.0 * deviation
}

fn is_checked(cheat: Cheat) -> bool {
    matches!(cheat, Cheat::CheckedCopy(..))
}

/// One bad circuit of five is checked with 3/5, and with 2/5 makes a tie of the two evaluated ones,
/// which is what `Parameters::bound` counts.
#[test]
fn one_bad_circuit_of_five() {
    let found = found(5, negates(&[2]));
    assert!(is_near(count(&found, is_checked), 0.6), "{found:?}");
    let ties = count(&found, |cheat| cheat == Cheat::NoMajority);
    assert!(is_near(ties, 0.4), "{found:?}");
    let bound = malicious(5).bound().expect("a bound").circuits_bits;
    assert!((bound + 0.4_f64.log2()).abs() < 0.01);
}

/// Two bad circuits of eight are both among the three evaluated ones with C(6,1)/C(8,3) = 6/56, and
/// then outvote the third.
#[test]
fn two_bad_circuits_of_eight() {
    let found = found(8, negates(&[1, 6]));
    let passed = 6.0 / 56.0;
    assert!(
        is_near(count(&found, is_checked), 1.0 - passed),
        "{found:?}"
    );
    // A negated bit alone does not fit its MAC: the evaluator finds what the cloud could not.
    let wrong = count(&found, |cheat| cheat == Cheat::Result);
    assert!(is_near(wrong, passed) && wrong > 0, "{found:?}");
}

/// One bad circuit of eight never wins: it is checked, or outvoted.
#[test]
fn one_bad_circuit_of_eight() {
    let found = found(8, negates(&[4]));
    assert!(is_near(count(&found, is_checked), 5.0 / 8.0), "{found:?}");
    assert_eq!(count(&found, |cheat| !is_checked(cheat)), 0, "{found:?}");
}

/// A string that is wrong for one value of each of n encoded bits is missed with 2^−n.
#[test]
fn selective_failure_is_missed_as_often_as_its_bits_agree() {
    for wires in [1, 2] {
        let found = found(5, |place, kind, message| {
            if kind == Kind::TransferStrings {
                let (bytes, half) = (place.work.string_bytes(), place.work.string_bytes() / 2);
                for j in 0..wires {
                    message[j * bytes..j * bytes + half]
                        .iter_mut()
                        .for_each(|byte| *byte ^= 1);
                }
            }
        });
        let missed = RUNS - count(&found, |_| true);
        assert!(
            is_near(missed, 0.5_f64.powi(wires as i32)),
            "{wires}: {missed}"
        );
    }
}
