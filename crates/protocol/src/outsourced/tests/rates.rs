//! Planted cheats are caught at the rate that the split predicts, at sizes where many are missed.
//! Every run has a fixed seed, so a test gives the same counts each time, and bounds are narrow
//! enough to reject a model that is slightly wrong.

use tacit_function::Recipient;

use super::cheats::CheatPlace;
use super::trio::{Past, Trio, adder, bits, malicious};
use crate::message::Kind;
use crate::outsourced::cut::Fate;
use crate::outsourced::{Cheat, Peer};

/// The number of runs for each set of bad circuits.
const RUNS: u64 = 160;

/// Returns the cheat that generator, evaluator or cloud detected in each run of a generator that
/// changes messages. The seeds start with number `first`.
fn found(
    copies: u32,
    first: u64,
    change: impl Fn(&CheatPlace<'_>, Kind, &mut Vec<u8>),
) -> Vec<Option<Cheat>> {
    let function = adder(2, Recipient::Evaluator);
    // The positions of fields in messages do not depend on the split.
    let place = CheatPlace::new(&function, malicious(copies), &[Fate::Check, Fate::Evaluate]);
    let run = |seed| {
        let inputs = [&bits(1, 2)[..], &bits(seed % 4, 2)[..]];
        let trio = Trio::new(&function, malicious(copies), inputs, seed, Past::default());
        let mut rewrite = |_, kind, _, message: &mut Vec<u8>| change(&place, kind, message);
        let ended = trio.run(Some(Peer::Generator), &mut rewrite);
        let mut ends = ended.ends.iter();
        ends.find_map(|end| end.as_ref().err()?.failed_check().copied())
    };
    (first..first + RUNS).map(run).collect()
}

/// Returns the detected cheats of a generator whose circuits `bad` negate a result.
fn found_of(copies: u32, first: u64, bad: &[usize]) -> Vec<Option<Cheat>> {
    found(copies, first, |place, kind, message| {
        if kind == Kind::Copies {
            for copy in bad {
                message[place.body(*copy) + place.work.tables_end()] ^= 1;
            }
        }
    })
}

fn count(found: &[Option<Cheat>], is: impl Fn(Cheat) -> bool) -> u64 {
    found.iter().flatten().filter(|cheat| is(**cheat)).count() as u64
}

/// Returns the number of standard deviations between a count of `runs` and its expectation.
fn deviations(count: u64, runs: u64, probability: f64) -> f64 {
    let expected = runs as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    (count as f64 - expected) / deviation
}

/// Compares the counts of several sets of bad circuits with a probability. Each must be within 3
/// deviations, since no set has an advantage over another, and all together within 2.
fn hold(counts: &[(&[usize], u64)], probability: f64) {
    for (bad, count) in counts {
        let off = deviations(*count, RUNS, probability);
        assert!(off.abs() <= 3.0, "{bad:?} is {off:.1} off: {counts:?}");
    }
    let (runs, sum) = (
        RUNS * counts.len() as u64,
        counts.iter().map(|each| each.1).sum(),
    );
    let off = deviations(sum, runs, probability);
    assert!(off.abs() <= 2.0, "{off:.1} off {probability}: {counts:?}");
}

fn is_checked(cheat: Cheat) -> bool {
    matches!(cheat, Cheat::CheckedCopy(..))
}

/// One bad circuit of five, in any position, is checked with probability 3/5. With 2/5 it ties the
/// two evaluated circuits, which is the event that `Parameters::circuits_bits` counts. 1/2 and 2/3
/// would be 5 and 4 deviations off.
#[test]
fn one_bad_circuit_of_five() {
    let sets: [&[usize]; 5] = [&[0], &[1], &[2], &[3], &[4]];
    let mut ties = Vec::new();
    for (number, bad) in (0..).zip(sets) {
        let found = found_of(5, RUNS * number, bad);
        let tied = count(&found, |cheat| cheat == Cheat::NoMajority);
        assert_eq!(tied + count(&found, is_checked), RUNS, "{found:?}");
        ties.push((bad, tied));
    }
    hold(&ties, 0.4);
    let bound = malicious(5).circuits_bits().expect("a bound");
    assert!((bound + 0.4_f64.log2()).abs() < 0.01);
}

/// Two bad circuits of eight, adjacent or not, are both among the three evaluated ones with
/// probability C(6,1)/C(8,3) = 6/56, and then outvote the third. If circuits were drawn one by one,
/// with 3/8 each, that would be 9/64, which is 3 deviations more. Three in a row would make it 0 or
/// 1/3 for each set.
#[test]
fn two_bad_circuits_of_eight() {
    let sets: [&[usize]; 5] = [&[0, 1], &[3, 4], &[6, 7], &[1, 6], &[0, 7]];
    let mut passed = Vec::new();
    for (number, bad) in (0..).zip(sets) {
        let found = found_of(8, RUNS * number, bad);
        // A negated bit alone does not match its MAC: the evaluator detects what the cloud could
        // not.
        let wrong = count(&found, |cheat| cheat == Cheat::Result);
        assert_eq!(wrong + count(&found, is_checked), RUNS, "{found:?}");
        passed.push((bad, wrong));
    }
    hold(&passed, 6.0 / 56.0);
}

/// One bad circuit of eight never wins: it is checked with probability 5/8, or outvoted.
#[test]
fn one_bad_circuit_of_eight() {
    let sets: [&[usize]; 3] = [&[0], &[4], &[7]];
    let mut checked = Vec::new();
    for (number, bad) in (0..).zip(sets) {
        let found = found_of(8, RUNS * number, bad);
        assert_eq!(count(&found, |cheat| !is_checked(cheat)), 0, "{found:?}");
        checked.push((bad, count(&found, is_checked)));
    }
    hold(&checked, 5.0 / 8.0);
}

/// Strings that are wrong for one value of each of n encoded bits are missed with probability 2^−n.
#[test]
fn selective_failure_is_missed_as_often_as_its_bits_agree() {
    let mut seeds = (0..).step_by(RUNS as usize);
    let sets: [[&[usize]; 2]; 2] = [[&[0], &[5]], [&[0, 1], &[2, 9]]];
    for sets in sets {
        let missed = sets.map(|wires| {
            let first = seeds.next().expect("without end");
            let found = found(5, first, |place, kind, message| {
                if kind == Kind::TransferStrings {
                    let (bytes, half) = (place.work.string_bytes(), place.work.string_bytes() / 2);
                    for j in wires {
                        message[j * bytes..j * bytes + half]
                            .iter_mut()
                            .for_each(|byte| *byte ^= 1);
                    }
                }
            });
            (wires, RUNS - count(&found, |_| true))
        });
        hold(&missed, 0.5_f64.powi(sets[0].len() as i32));
    }
}
