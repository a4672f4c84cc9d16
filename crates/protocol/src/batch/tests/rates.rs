//! Planted cheats are caught at the rate that the cut predicts, at sizes where many are missed.
//!
//! Every run has a fixed seed, so a test gives the same count each time.

use std::collections::{BTreeMap, HashSet};

use tacit_function::{Function, Recipient};
use tacit_garble::HalfGates;

use super::duel::{Cheater, How, Kept, Spoiling, batch, honest, prepare};
use super::{plain, with_parameters};
use crate::batch::cut::CheckSet;
use crate::batch::parameters::Cut;
use crate::batch::{Batch, Plan};
use crate::message::Kind;

/// Two buckets of two, out of seven circuits.
const CUT: Cut = Cut {
    executions: 2,
    bucket: 2,
    circuits: 7,
};

const RUNS: u64 = 400;

/// Returns a function of two bits from each party.
pub(super) fn tiny() -> Function {
    let bits = BTreeMap::from([("bits".to_owned(), 2)]);
    with_parameters("adder", &bits, Recipient::Evaluator)
}

/// The outcomes of the runs of a cheat.
#[derive(Debug, Default)]
struct Count {
    caught: u64,
    right: u64,
    wrong: u64,
}

impl Count {
    /// Whether a count is within three deviations of a probability.
    fn is_near(count: u64, probability: f64) -> bool {
        let expected = RUNS as f64 * probability;
        let deviation = (expected * (1.0 - probability)).sqrt();
        (count as f64 - expected).abs() <= 3.0 * deviation
    }
}

/// The probability that a test's two bad circuits win: they survive with C(5,2)/C(7,4) = 2/7, and
/// then share a bucket with 1/3.
const TWO_WIN: f64 = 2.0 / 7.0 / 3.0;

/// Counts the outcomes for a garbler whose circuits with these numbers are bad. Runs both
/// executions.
fn count(circuits: &[u32], how: How) -> Count {
    let function = tiny();
    let plan = Plan::with_cut(1, CUT).unwrap();
    let honest_batch = batch(&function, plan);
    let mut bad = batch(&function, plan);
    let circuits: HashSet<u32> = circuits.iter().copied().collect();
    bad.spoiling = Some(Spoiling(vec![(circuits, how)]));
    let mut count = Count::default();
    for seed in 0..RUNS {
        let prepared = prepare(&bad, &honest_batch, seed, Cheater::Garbler, &mut honest);
        if prepared.evaluator.is_err() {
            count.caught += 1;
            continue;
        }
        let (kept, inputs) = (Kept::of(prepared), [&[true, false][..], &[true, true][..]]);
        let right = (0..CUT.executions as usize).all(|number| {
            let batches = [&bad, &honest_batch];
            let ended = kept.run(batches, number, inputs, Cheater::Garbler, &mut honest);
            *ended.evaluator.unwrap() == plain(&function, inputs)[1]
        });
        if right {
            count.right += 1;
        } else {
            count.wrong += 1;
        }
    }
    count
}

/// The result does not depend on their positions: far apart, neighbours, the first or the last.
#[test]
fn two_bad_circuits_win_as_often_as_the_bound_says() {
    for bad in [[1, 4], [0, 1], [3, 4], [5, 6]] {
        let found = count(&bad, How::NegatedOutput);
        assert!(
            Count::is_near(found.caught, 5.0 / 7.0),
            "{bad:?}: {found:?}"
        );
        assert!(Count::is_near(found.wrong, TWO_WIN), "{bad:?}: {found:?}");
        assert!(found.right > 0, "{bad:?}: {found:?}");
    }
    let bound = Plan::with_cut(1, CUT).unwrap().garbler_bound().unwrap();
    assert!(TWO_WIN <= (-bound.circuits_bits).exp2() * 1.001, "{bound}");
}

/// Counts that wrong models predict are out of bounds.
#[test]
fn the_bounds_refuse_wrong_models() {
    let refused = |probability: f64, wrong: f64| {
        let count = (RUNS as f64 * wrong).round() as u64;
        assert!(
            !Count::is_near(count, probability),
            "{wrong} for {probability}"
        );
    };
    // The models: the garbler never wins; buckets are in the order of the circuits; nothing is
    // checked; one circuit less is checked; the rate is doubled.
    for wrong in [0.0, 2.0 / 7.0, 1.0 / 3.0, TWO_WIN / 2.0, 2.0 * TWO_WIN] {
        refused(TWO_WIN, wrong);
    }
    // The models: the first circuits, the last circuits, or one circuit less, are always checked.
    for wrong in [0.0, 1.0, 11.0 / 21.0] {
        refused(5.0 / 7.0, wrong);
    }
    for bits in [1, 2, 3] {
        let probability = 0.5_f64.powi(bits);
        refused(probability, probability / 2.0);
        refused(probability, probability * 2.0);
    }
}

/// Each of the 35 cuts, and each of the 3 ways to pair the rest, is equally frequent.
#[test]
fn cuts_and_buckets_are_uniform() {
    const DRAWN: usize = 14_000;
    let function = tiny();
    let batch = batch(&function, Plan::with_cut(1, CUT).unwrap());
    let (mut cuts, mut pairings) = (BTreeMap::new(), [0_usize; 3]);
    for number in 0..DRAWN as u64 {
        let seed = |of: u8| {
            let mut seed = [of; 32];
            seed[..8].copy_from_slice(&number.to_le_bytes());
            seed
        };
        let set = CheckSet::choose(&batch, &seed(1));
        *cuts.entry(set.checked.clone()).or_insert(0_usize) += 1;
        let buckets = set.buckets(&batch, &seed(2));
        let mut all = buckets.concat();
        all.sort_unstable();
        let first = buckets
            .iter()
            .find(|bucket| bucket.contains(&all[0]))
            .unwrap();
        let with_first = first.iter().find(|number| **number != all[0]).unwrap();
        pairings[all.iter().position(|number| number == with_first).unwrap() - 1] += 1;
    }
    // The bound is four deviations; the seeds are fixed.
    let near = |count: usize, of: usize| {
        let expected = DRAWN as f64 / of as f64;
        (count as f64 - expected).abs() <= 4.0 * (expected * (1.0 - 1.0 / of as f64)).sqrt()
    };
    assert_eq!(cuts.len(), 35);
    assert!(cuts.values().all(|count| near(*count, 35)), "{cuts:?}");
    assert!(pairings.iter().all(|count| near(*count, 3)), "{pairings:?}");
}

/// One bad circuit survives with probability 4/7, and never wins: the other circuit of its bucket
/// is good.
#[test]
fn one_bad_circuit_never_wins() {
    let found = count(&[3], How::NegatedOutput);
    assert!(Count::is_near(found.caught, 3.0 / 7.0), "{found:?}");
    assert_eq!(found.wrong, 0, "{found:?}");
}

/// Bad locks alone do not affect the results of a batch that survives.
#[test]
fn bad_locks_alone_never_win() {
    let found = count(&[0, 5], How::Flipped(|layout| layout.lock.clone(), 0));
    assert!(Count::is_near(found.caught, 5.0 / 7.0), "{found:?}");
    assert_eq!(found.wrong, 0, "{found:?}");
}

/// Returns the number of runs that pass in which the garbler rewrites openings.
fn passed(change: impl Fn(&Batch<'_, HalfGates>, &mut [u8])) -> u64 {
    let function = tiny();
    let batch = batch(&function, Plan::with_cut(1, CUT).unwrap());
    let runs = (0..RUNS).filter(|seed| {
        let mut rewrite = |kind, _, message: &mut Vec<u8>| {
            if kind == Kind::BucketOpenings {
                change(&batch, message);
            }
            true
        };
        let ended = prepare(&batch, &batch, *seed, Cheater::Garbler, &mut rewrite);
        ended.evaluator.is_ok()
    });
    runs.count() as u64
}

/// A wrong string for one value of each of k bits is missed with probability 2^−k: selective
/// failure.
#[test]
fn selective_failure_is_missed_as_often_as_its_bits_agree() {
    for bits in [1, 2, 3] {
        let found = passed(|batch, message| {
            let start = batch.bucket() * batch.chaining.opening_bytes();
            let string = 16 * CUT.bucket as usize;
            for k in 0..bits {
                message[start + 2 * k * string] ^= 1;
            }
        });
        assert!(
            Count::is_near(found, 0.5_f64.powi(bits as i32)),
            "{bits}: {found} of {RUNS}"
        );
    }
}

/// A garbler spoils the strings of 1 of all encoded bits whose sum is a bit of y1. It is missed if
/// all of them are 0, and then knows that bit. The rate is as low as the encoding's distance
/// predicts.
#[test]
fn selective_failure_learns_a_bit_as_seldom_as_the_distance_says() {
    let function = tiny();
    let own = batch(&function, Plan::with_cut(1, CUT).unwrap());
    let count = own.encoding.encoded_bits();
    let columns = (0..count).map(|k| {
        let unit: Vec<bool> = (0..count).map(|i| i == k).collect();
        own.encoding.decode_bits(&unit)
    });
    let columns: Vec<Vec<bool>> = columns.collect();
    let of_bit = |bit: usize| (0..count).filter(|k| columns[*k][bit]).collect::<Vec<_>>();
    let lightest = (0..own.encoding.bits())
        .map(of_bit)
        .min_by_key(Vec::len)
        .unwrap();
    let found = passed(|batch, message| {
        let start = batch.bucket() * batch.chaining.opening_bytes();
        let string = 16 * CUT.bucket as usize;
        for k in &lightest {
            message[start + (2 * k + 1) * string] ^= 1;
        }
    });
    // There are s + 3 bits: 25 of 400 at s = 1.
    let most = RUNS as f64 * 0.5_f64.powi(4);
    assert!(
        (found as f64) < most + 3.0 * most.sqrt(),
        "{found} of {RUNS}"
    );
}

/// A forged difference of inputs is missed if the garbler guesses W: with probability 2^-(s + 2).
#[test]
fn a_forged_input_is_missed_as_often_as_w_is_guessed() {
    let function = tiny();
    let batch = batch(&function, Plan::with_cut(1, CUT).unwrap());
    let missed = (0..RUNS).filter(|seed| {
        let mut rewrite = |kind, _, message: &mut Vec<u8>| {
            if kind == Kind::BucketCircuits {
                // δ is the start of the last execution's step; W is guessed to be 0.
                let step = message.len() - batch.steps_bytes();
                message[step] ^= 1;
            }
            true
        };
        let ended = prepare(&batch, &batch, *seed, Cheater::Garbler, &mut rewrite);
        ended.evaluator.is_ok()
    });
    let missed = missed.count() as u64;
    assert!(Count::is_near(missed, 0.125), "{missed} of {RUNS}");
}
