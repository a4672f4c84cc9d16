//! Planted cheats are caught as often as the cut says, at sizes where they often are not.
//!
//! Every run is from fixed seeds, so that a test gives the same count each time.

use std::collections::{BTreeMap, HashSet};

use tacit_circuit::{Function, Port, Recipient, Role, library};
use tacit_garble::HalfGates;
use zeroize::Zeroizing;

use super::duel::{Cheater, How, Spoiling, batch, duel, honest, prepare};
use super::plain;
use crate::batch::parameters::Cut;
use crate::batch::{Batch, OnlineEvaluator, OnlineGarbler, Plan};
use crate::message::Kind;

/// Two buckets of two of seven circuits.
const CUT: Cut = Cut {
    executions: 2,
    bucket: 2,
    circuits: 7,
};

const RUNS: u64 = 200;

fn tiny() -> Function {
    let bits = BTreeMap::from([("bits".to_owned(), 2)]);
    let circuit = library::find("adder", &bits).unwrap();
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| {
        Ok(if port.name == first {
            Role::Garbler
        } else {
            Role::Evaluator
        })
    };
    Function::of_circuit("adder", circuit, owner, |_| Ok(Recipient::Evaluator)).unwrap()
}

/// How the runs of a cheat went.
#[derive(Debug, Default)]
struct Count {
    caught: u64,
    right: u64,
    wrong: u64,
}

impl Count {
    /// Whether a count is within five deviations of a probability.
    fn is_near(count: u64, probability: f64) -> bool {
        let expected = RUNS as f64 * probability;
        let deviation = (expected * (1.0 - probability)).sqrt();
        (count as f64 - expected).abs() <= 5.0 * deviation
    }
}

/// Runs a garbler whose circuits of these numbers are bad, with both executions.
fn count(circuits: &[u32], how: How) -> Count {
    let function = tiny();
    let plan = Plan::with_cut(1, CUT).unwrap();
    let honest_batch = batch(&function, plan);
    let mut bad = batch(&function, plan);
    let circuits: HashSet<u32> = circuits.iter().copied().collect();
    bad.spoiling = Some(Spoiling(vec![(circuits, how)]));
    let mut count = Count::default();
    for seed in 0..RUNS {
        match prepare(&bad, &honest_batch, seed, Cheater::Garbler, &mut honest) {
            Err(_) => count.caught += 1,
            Ok((garbler, evaluator)) => {
                let pairs = garbler.into_iter().zip(evaluator);
                let mut right = true;
                for (garbler, evaluator) in pairs {
                    let seed = |who| Zeroizing::new([who; 32]);
                    let (x, y) = ([true, false], [true, true]);
                    let ready = garbler.ready(&bad, 1);
                    let mut garbler = OnlineGarbler::new(&bad, ready, &x, &seed(1)).unwrap();
                    let evaluator = OnlineEvaluator::new(&honest_batch, evaluator, &y, 1, &seed(2));
                    let mut evaluator = evaluator.unwrap();
                    duel(&mut garbler, &mut evaluator, Cheater::Garbler, &mut honest);
                    let result = evaluator.finish().unwrap();
                    right &= *result == plain(&function, [&x, &y])[1];
                }
                match right {
                    true => count.right += 1,
                    false => count.wrong += 1,
                }
            }
        }
    }
    count
}

/// Two bad circuits survive with C(5,2)/C(7,4) = 2/7, and then share a bucket with 1/3.
#[test]
fn two_bad_circuits_win_as_often_as_the_bound_says() {
    let found = count(&[1, 4], How::NegatedOutput);
    let won = 2.0 / 7.0 / 3.0;
    assert!(Count::is_near(found.caught, 5.0 / 7.0), "{found:?}");
    assert!(Count::is_near(found.wrong, won), "{found:?}");
    assert!(found.right > 0, "{found:?}");
    let bound = Plan::with_cut(1, CUT).unwrap().bound().unwrap();
    assert!(won <= (-bound.circuits_bits).exp2() * 1.001, "{bound}");
}

/// One bad circuit survives with 4/7, and never wins: the other of its bucket is good.
#[test]
fn one_bad_circuit_never_wins() {
    let found = count(&[3], How::NegatedOutput);
    assert!(Count::is_near(found.caught, 3.0 / 7.0), "{found:?}");
    assert_eq!(found.wrong, 0, "{found:?}");
}

/// Bad locks alone harm nothing that survives.
#[test]
fn bad_locks_alone_never_win() {
    let found = count(&[0, 5], How::Flipped(|layout| layout.lock.clone(), 0));
    assert!(Count::is_near(found.caught, 5.0 / 7.0), "{found:?}");
    assert_eq!(found.wrong, 0, "{found:?}");
}

/// How many of the runs in which the garbler rewrites openings pass.
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
        prepare(&batch, &batch, *seed, Cheater::Garbler, &mut rewrite).is_ok()
    });
    runs.count() as u64
}

/// A wrong string for one value of k bits is missed with 2^−k: selective failure.
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
