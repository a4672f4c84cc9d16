//! A garbler that gives two inputs to one execution. It forges δ for a guess of W that it makes
//! from everything that it has received.

use super::duel::{Cheater, Sent, batch, honest, of_kind, prepare, prepare_by};
use super::function;
use crate::batch::Plan;
use crate::batch::layout::Batch;
use crate::batch::oracle::{Domain, HASH_BYTES};
use crate::bits::bit;
use crate::message::Kind;
use tacit_function::{Function, Recipient};
use tacit_garble::HalfGates;

/// The number of random bytes in a commitment to W.
const RANDOM_BYTES: usize = 16;

/// s of the batches. W has two more bits.
const SECURITY_BITS: u8 = 5;

const RUNS: u64 = 12;

/// A garbler's guess of the next W, from everything that it has received.
type Guess = fn(&Batch<'_, HalfGates>, &[(Kind, Vec<u8>)]) -> Option<Vec<u8>>;

/// Adds 1 to the δ of a step. Also adds 1 to the sum of each pair whose second half W opens, so
/// that the sum that is checked stays right.
fn forge(batch: &Batch<'_, HalfGates>, choices: &[u8], step: &mut [u8]) {
    let half = batch.chaining.half_bytes();
    step[0] ^= 1;
    for i in 0..batch.chaining.pairs {
        step[(1 + i) * half] ^= u8::from(bit(choices, i));
    }
}

/// Returns the batch of these tests. Each group is one execution.
fn in_groups_of_one(function: &Function) -> Batch<'_, HalfGates> {
    let plan = Plan::cheapest(function, 2, SECURITY_BITS).unwrap();
    let mut batch = batch(function, plan);
    batch.group_bytes = 1;
    batch
}

/// Returns the number of preparations in which a garbler with this guess is not caught. It gives
/// the first circuit of the second execution another input than the others.
fn passed(guess: Guess) -> u64 {
    let function = function("adder", Recipient::Evaluator);
    let batch = &in_groups_of_one(&function);
    let passes = |seed: &u64| {
        let (mut received, mut forged) = (Sent::new(), false);
        let forger = &mut |own, _, kind, (_, message): &mut (u8, Vec<u8>)| {
            if own == Cheater::Evaluator as usize {
                received.push((kind, message.clone()));
            } else if kind == Kind::BucketCircuits
                && !of_kind(&received, Kind::HalfChoices).is_empty()
                && !forged
                && let Some(choices) = guess(batch, &received)
            {
                let steps = message.len() - batch.steps_bytes();
                forge(batch, &choices, &mut message[steps..]);
                forged = true;
            }
            Ok(())
        };
        let ended = prepare_by(batch, batch, *seed, forger);
        forged && ended.results.1.is_ok()
    };
    (0..RUNS).filter(passes).count() as u64
}

/// Returns the W of the first execution, which the garbler has seen.
fn first_w(_: &Batch<'_, HalfGates>, received: &[(Kind, Vec<u8>)]) -> Option<Vec<u8>> {
    Some(of_kind(received, Kind::HalfChoices)[RANDOM_BYTES..].to_vec())
}

/// Returns a W that opens the second execution's commitment, with randomness that the garbler
/// knows.
fn searched_w(batch: &Batch<'_, HalfGates>, received: &[(Kind, Vec<u8>)]) -> Option<Vec<u8>> {
    let plan = of_kind(received, Kind::BatchPlan);
    let commitment = plan[Plan::BYTES..].chunks(HASH_BYTES).nth(3)?;
    let first = of_kind(received, Kind::HalfChoices);
    let tried = [&[0; RANDOM_BYTES][..], &first[..RANDOM_BYTES]];
    let all = (0..1_u16 << batch.chaining.pairs).map(|w| w.to_le_bytes());
    let mut all = all.map(|w| w[..batch.chaining.choice_bytes()].to_vec());
    all.find(|w| {
        let opens = |random: &&[u8]| {
            let opening = [*random, w].concat();
            batch.oracle.parts(Domain::Halves, 1, 0, &[&opening]) == *commitment
        };
        tried.iter().any(opens)
    })
}

/// A guess passes with probability 2^-7. Of 12 guesses with the seeds of this test none does.
#[test]
fn w_of_another_execution_forges_nothing() {
    assert_eq!(passed(first_w), 0);
}

#[test]
fn w_is_not_found_in_its_commitment() {
    assert_eq!(passed(searched_w), 0);
}

/// The forger of these tests works: it passes if it knows W.
#[test]
fn who_knows_w_forges() {
    let function = function("adder", Recipient::Evaluator);
    let batch = in_groups_of_one(&function);
    let told = prepare(&batch, &batch, 1, Cheater::Garbler, &mut honest);
    let all = told.sent(Cheater::Evaluator, Kind::HalfChoices);
    let second = all[all.len() / 2 + RANDOM_BYTES..].to_vec();
    let mut rewrite = |kind, number, message: &mut Vec<u8>| {
        if (kind, number) == (Kind::BucketCircuits, 1) {
            let steps = message.len() - batch.steps_bytes();
            forge(&batch, &second, &mut message[steps..]);
        }
        true
    };
    let ended = prepare(&batch, &batch, 1, Cheater::Garbler, &mut rewrite);
    let error = ended.evaluator.err();
    assert!(error.is_none(), "{error:?}");
}
