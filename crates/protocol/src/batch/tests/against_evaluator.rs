//! A cheating garbler: every strategy leads to the right result, or the evaluator catches it. The
//! evaluator's behaviour does not depend on its input.

use std::collections::HashSet;

use tacit_function::{Function, Recipient, Role};
use tacit_garble::HalfGates;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::duel::{Cheater, Ended, How, Kept, Rewrite, Spoiling, batch, foreseen, honest, prepare};
use super::{function, plain};
use crate::Error;
use crate::batch::{Batch, Caught, Plan, messages};
use crate::message::Kind;

const EXECUTIONS: u64 = 3;
const SECURITY_BITS: u8 = 5;
const SEED: u64 = 77;

pub(super) fn plan(function: &Function) -> Plan {
    Plan::cheapest(function, EXECUTIONS, SECURITY_BITS).unwrap()
}

fn caught<T>(result: &Result<T, Error>) -> Option<Caught> {
    result.as_ref().err()?.failed_check().copied()
}

/// A change of a message.
type Change = Box<dyn Fn(&mut Vec<u8>)>;

/// A change of a message, and the check that detects it; no check if the result is still right.
struct Case {
    name: &'static str,
    kind: Kind,
    change: Change,
    found: fn(Caught) -> bool,
}

fn case(
    name: &'static str,
    kind: Kind,
    change: impl Fn(&mut Vec<u8>) + 'static,
    found: fn(Caught) -> bool,
) -> Case {
    Case {
        name,
        kind,
        change: Box::new(change),
        found,
    }
}

fn flip(at: usize) -> impl Fn(&mut Vec<u8>) + 'static {
    move |message| message[at] ^= 1
}

/// A change that flips a bit of the last byte.
const FLIP_LAST: fn(&mut Vec<u8>) = |message| *message.last_mut().unwrap() ^= 1;

/// Returns a change that exchanges two runs of bytes.
fn exchange(a: usize, b: usize, count: usize) -> impl Fn(&mut Vec<u8>) + 'static {
    move |message| (0..count).for_each(|i| message.swap(a + i, b + i))
}

/// Returns cases for the digests, seeds and circuits of a preparation.
fn circuit_cases(batch: &Batch<'_, HalfGates>) -> Vec<Case> {
    let (set, buckets) = foreseen(batch, SEED);
    let main = batch.layout.clone();
    let (checked, used) = (set.checked[0] as usize, buckets[0][0] as usize);
    let checked_circuit: fn(Caught) -> bool = |c| matches!(c, Caught::CheckedCircuit(_));
    let published: fn(Caught) -> bool = |c| matches!(c, Caught::PublishedCircuit(_));
    let digests = |name, change: Change, found: fn(Caught) -> bool| {
        case(name, Kind::CircuitDigests, change, found)
    };
    let mut cases = vec![
        digests(
            "digest of a checked circuit",
            Box::new(flip(32 * checked)),
            checked_circuit,
        ),
        digests(
            "digest of a used circuit",
            Box::new(flip(32 * used)),
            published,
        ),
        digests(
            "two digests exchanged",
            Box::new(exchange(32 * checked, 32 * used, 32)),
            |c| matches!(c, Caught::CheckedCircuit(_) | Caught::PublishedCircuit(_)),
        ),
        case("a wrong seed", Kind::CheckedSeeds, flip(5), checked_circuit),
        case(
            "seeds exchanged",
            Kind::CheckedSeeds,
            exchange(0, 32, 32),
            checked_circuit,
        ),
        case(
            "two circuits exchanged",
            Kind::BucketCircuits,
            exchange(0, main.total, main.total),
            published,
        ),
    ];
    for (name, at) in [
        ("start point", 0),
        ("table", main.tables.start + 7),
        ("last table", main.tables.end - 1),
        ("commitment to an input", main.inputs.start),
        ("commitment to an output", main.outputs.start),
        ("commitment to a second share", main.second.start),
        ("commitment to λ", main.lambda.start),
        ("commitment to a first share", main.first.start),
        ("commitment to a half", main.pairs.start),
        ("commitment to the seed", main.total - 1),
    ] {
        cases.push(case(name, Kind::BucketCircuits, flip(at), published));
    }
    cases
}

/// Returns cases for the openings and strings of a preparation.
fn opening_cases(batch: &Batch<'_, HalfGates>) -> Vec<Case> {
    let inconsistent: fn(Caught) -> bool = |c| matches!(c, Caught::Inconsistent(_));
    let transferred: fn(Caught) -> bool = |c| matches!(c, Caught::TransferredLabel(_));
    let half = batch.chaining.half_bytes();
    let opening = batch.chaining.opening_bytes();
    let halves = batch.bucket() * opening;
    let bucket = batch.bucket();
    let string = 16 * bucket;
    vec![
        case(
            "randomness of a half",
            Kind::BucketOpenings,
            flip(0),
            inconsistent,
        ),
        case("a half", Kind::BucketOpenings, flip(16), inconsistent),
        case(
            "halves of two circuits exchanged",
            Kind::BucketOpenings,
            exchange(0, opening, opening),
            inconsistent,
        ),
        case(
            "halves of one circuit exchanged",
            Kind::BucketOpenings,
            exchange(0, 16 + half, 16 + half),
            inconsistent,
        ),
        case(
            "both strings of an OT",
            Kind::BucketOpenings,
            move |m| {
                m[halves] ^= 1;
                m[halves + string] ^= 1;
            },
            transferred,
        ),
        case(
            "strings of all OTs exchanged",
            Kind::BucketOpenings,
            move |m| {
                for k in 0..8 {
                    exchange(
                        halves + 2 * k * string,
                        halves + (2 * k + 1) * string,
                        string,
                    )(m);
                }
            },
            transferred,
        ),
        case(
            "strings of two circuits exchanged",
            Kind::BucketOpenings,
            move |m| {
                exchange(halves, halves + 16, 16)(m);
                exchange(halves + string, halves + string + 16, 16)(m);
            },
            transferred,
        ),
        case(
            "strings of all OTs zero",
            Kind::BucketOpenings,
            move |m| m[halves..].fill(0),
            transferred,
        ),
    ]
}

#[test]
fn a_preparation_finds_every_change() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    assert!(batch.circuits() <= 256, "one message of digests");
    for case in circuit_cases(&batch)
        .into_iter()
        .chain(opening_cases(&batch))
    {
        let mut rewrite = |kind, number, message: &mut Vec<u8>| {
            if (kind, number) == (case.kind, 0) {
                (case.change)(message);
            }
            true
        };
        let ended = prepare(&batch, &batch, SEED, Cheater::Garbler, &mut rewrite);
        let (found, error) = (caught(&ended.evaluator), ended.evaluator.err());
        assert!(found.is_some_and(case.found), "{}: {error:?}", case.name);
    }
}

/// The last bytes of the circuits' stream are δ and the sums of halves.
#[test]
fn a_wrong_sum_of_inputs_is_found() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    let step = batch.chaining.step_bytes();
    let stream = EXECUTIONS as usize * (batch.execution_bytes() + batch.steps_bytes());
    let last = (stream - 1) / super::super::frames::FRAME_BYTES;
    let half = batch.chaining.half_bytes();
    let changes: [(&str, Change); 3] = [
        (
            "δ",
            Box::new(move |m| {
                let at = m.len() - step;
                m[at] ^= 1;
            }),
        ),
        (
            "first halves",
            Box::new(move |m| {
                let start = m.len() - step + half;
                (0..(step - half) / half).for_each(|i| m[start + i * half] ^= 1);
            }),
        ),
        (
            "δ and first halves",
            Box::new(move |m| {
                let start = m.len() - step;
                (0..step / half).for_each(|i| m[start + i * half] ^= 1);
            }),
        ),
    ];
    for (name, change) in changes {
        let mut rewrite = |kind, number, message: &mut Vec<u8>| {
            if (kind, number) == (Kind::BucketCircuits, last) {
                change(message);
            }
            true
        };
        let ended = prepare(&batch, &batch, SEED, Cheater::Garbler, &mut rewrite);
        assert!(
            matches!(caught(&ended.evaluator), Some(Caught::Inconsistent(_))),
            "{name}"
        );
    }
}

/// Returns cases for the labels in message 2.
fn label_cases(batch: &Batch<'_, HalfGates>) -> Vec<Case> {
    let x = batch.input_bits;
    let y = batch.choice_bits;
    let half = batch.chaining.half_bytes();
    let labels = half + 32;
    let each = messages::labels_bytes(batch);
    let second = labels + 16;
    let inputs = second + 16 * y;
    let bucket = batch.bucket();
    let lambda: fn(Caught) -> bool = |c| matches!(c, Caught::Lambda(_));
    let input: fn(Caught) -> bool = |c| matches!(c, Caught::GarblerInput(_));
    let share: fn(Caught) -> bool = |c| matches!(c, Caught::SecondShare(_));
    let two = Kind::InputLabels;
    vec![
        case("λ", two, flip(labels), lambda),
        case(
            "λ of two circuits exchanged",
            two,
            exchange(labels, labels + each, 16),
            lambda,
        ),
        case(
            "λ of the last circuit",
            two,
            flip(labels + (bucket - 1) * each),
            lambda,
        ),
        case("a second share", two, flip(second), share),
        case(
            "the last second share",
            two,
            flip(second + 16 * y - 1),
            share,
        ),
        case(
            "two second shares exchanged",
            two,
            exchange(second, second + 16, 16),
            share,
        ),
        case(
            "second shares of two circuits",
            two,
            exchange(second, second + each, 16 * y),
            share,
        ),
        case("a label of x", two, flip(inputs), input),
        case("the last label of x", two, flip(inputs + 16 * x - 1), input),
        case(
            "two labels of x exchanged",
            two,
            exchange(inputs, inputs + 16, 16),
            input,
        ),
        case(
            "labels of x of two circuits",
            two,
            exchange(inputs, inputs + each, 16 * x),
            input,
        ),
        case("positions of x", two, flip(0), input),
        case(
            "all positions of x",
            two,
            move |m| m[..half - 1].iter_mut().for_each(|b| *b ^= 0xff),
            input,
        ),
    ]
}

/// Returns cases for the hash of D and the masks in message 2.
fn mask_cases(batch: &Batch<'_, HalfGates>) -> Vec<Case> {
    let half = batch.chaining.half_bytes();
    let labels = half + 32;
    let each = messages::labels_bytes(batch);
    let bucket = batch.bucket();
    let masks = labels + bucket * each;
    let pairs = 32 * batch.output_bits;
    let mask: fn(Caught) -> bool = |c| matches!(c, Caught::OutputMask(_));
    let key: fn(Caught) -> bool = |c| matches!(c, Caught::RecoveryKey);
    let two = Kind::InputLabels;
    vec![
        case("the hash of D", two, flip(half), key),
        case("a mask", two, flip(masks), mask),
        case("the last mask", two, FLIP_LAST, mask),
        case(
            "masks of 0 and 1 exchanged",
            two,
            exchange(masks, masks + 16, 16),
            mask,
        ),
        case(
            "masks of two outputs exchanged",
            two,
            exchange(masks, masks + 32, 32),
            mask,
        ),
        case(
            "masks of two circuits exchanged",
            two,
            exchange(masks, masks + pairs, pairs),
            mask,
        ),
        case(
            "another R in one circuit",
            two,
            move |m| {
                m[masks] ^= 1;
                m[masks + 16] ^= 1;
            },
            mask,
        ),
        case("another D in one circuit", two, flip(masks + 16), mask),
        case("all masks zero", two, move |m| m[masks..].fill(0), mask),
    ]
}

/// Returns cases for message 4.
fn recovery_cases(batch: &Batch<'_, HalfGates>) -> Vec<Case> {
    let pairs = 32 * batch.output_bits;
    let shares = 16;
    let outputs = shares + batch.bucket() * 128 * 16;
    let share: fn(Caught) -> bool = |c| matches!(c, Caught::SecondShare(_));
    let key: fn(Caught) -> bool = |c| matches!(c, Caught::RecoveryKey);
    let output: fn(Caught) -> bool = |c| matches!(c, Caught::Output(_));
    let four = Kind::RecoveryLabels;
    vec![
        case("D", four, flip(0), key),
        case("a share for recovery", four, flip(shares), share),
        case(
            "two shares for recovery exchanged",
            four,
            exchange(shares, shares + 16, 16),
            share,
        ),
        case(
            "shares for recovery of two circuits",
            four,
            exchange(shares, shares + 2048, 2048),
            share,
        ),
        case(
            "all shares for recovery zero",
            four,
            move |m| m[shares..outputs].fill(0),
            share,
        ),
        case("an output", four, flip(outputs), output),
        case("the last output", four, FLIP_LAST, output),
        case(
            "outputs of 0 and 1 exchanged",
            four,
            exchange(outputs, outputs + 16, 16),
            output,
        ),
        case(
            "outputs of two circuits",
            four,
            exchange(outputs, outputs + pairs, pairs),
            output,
        ),
        case(
            "all outputs zero",
            four,
            move |m| m[outputs..].fill(0),
            output,
        ),
    ]
}

fn kept(garbler: &Batch<'_, HalfGates>, evaluator: &Batch<'_, HalfGates>) -> Kept {
    let prepared = prepare(garbler, evaluator, SEED, Cheater::Garbler, &mut honest);
    Kept::of(prepared)
}

/// Runs execution `number` against a garbler that rewrites its messages. Also returns whether both
/// results, if there are any, are right.
fn run(
    batches: [&Batch<'_, HalfGates>; 2],
    kept: &Kept,
    number: usize,
    inputs: [&[bool]; 2],
    rewrite: Rewrite<'_>,
) -> (Ended<Zeroizing<Vec<bool>>>, bool) {
    let ended = kept.run(batches, number, inputs, Cheater::Garbler, rewrite);
    let expected = plain(batches[0].function(), inputs);
    let right = match (&ended.garbler, &ended.evaluator) {
        (Ok(garbler), Ok(evaluator)) => [garbler.to_vec(), evaluator.to_vec()] == expected,
        (Err(_), Ok(evaluator)) => evaluator.to_vec() == expected[1],
        _ => true,
    };
    (ended, right)
}

#[test]
fn an_execution_finds_every_change_whatever_the_input() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch, &batch);
    let x: Vec<bool> = (0..function.input_bits(Role::Garbler))
        .map(|i| i % 3 == 0)
        .collect();
    let cases = [label_cases, mask_cases, recovery_cases].map(|cases| cases(&batch));
    for case in cases.into_iter().flatten() {
        let mut seen = Vec::new();
        for bit in [false, true] {
            let y = vec![bit; function.input_bits(Role::Evaluator)];
            let mut rewrite = |kind, _, message: &mut Vec<u8>| {
                if kind == case.kind {
                    (case.change)(message);
                }
                true
            };
            let (ended, _) = run([&batch, &batch], &kept, 0, [&x, &y], &mut rewrite);
            let found = caught(&ended.evaluator);
            assert!(
                found.is_some_and(case.found),
                "{}: {:?}",
                case.name,
                ended.evaluator
            );
            seen.push((found, ended.shapes(Cheater::Evaluator)));
        }
        assert_eq!(seen[0], seen[1], "{}", case.name);
    }
}

/// The garbler sends messages of another execution of the same batch.
#[test]
fn a_replayed_execution_is_found() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch, &batch);
    let bits = |role| vec![true; function.input_bits(role)];
    let inputs = [&bits(Role::Garbler)[..], &bits(Role::Evaluator)[..]];
    let mut recorded = Vec::new();
    let mut record = |_, _, message: &mut Vec<u8>| {
        recorded.push(message.clone());
        true
    };
    run([&batch, &batch], &kept, 0, inputs, &mut record);
    for (replayed, old) in recorded.iter().enumerate() {
        let mut sent = 0;
        let mut replay = |_, _, message: &mut Vec<u8>| {
            if sent == replayed {
                message.clone_from(old);
            }
            sent += 1;
            true
        };
        let (ended, _) = run([&batch, &batch], &kept, 1, inputs, &mut replay);
        assert!(caught(&ended.evaluator).is_some(), "message {replayed}");
    }
    let swapped = Kept {
        garbler: vec![kept.garbler[1].clone()],
        evaluator: vec![kept.evaluator[0].clone()],
    };
    let (ended, _) = run([&batch, &batch], &swapped, 0, inputs, &mut honest);
    assert!(caught(&ended.evaluator).is_some());
}

#[test]
fn a_garbler_that_stops_tells_nothing_and_learns_nothing() {
    let function = function("adder", Recipient::Both);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch, &batch);
    let x = vec![true; function.input_bits(Role::Garbler)];
    for stop in [Kind::InputLabels, Kind::RecoveryLabels] {
        let sent = [false, true].map(|bit| {
            let y = vec![bit; function.input_bits(Role::Evaluator)];
            let mut rewrite = |kind, _, _: &mut Vec<u8>| kind != stop;
            let (ended, _) = run([&batch, &batch], &kept, 0, [&x, &y], &mut rewrite);
            assert!(matches!(ended.evaluator, Err(Error::PeerAborted(_))));
            ended.shapes(Cheater::Evaluator)
        });
        assert_eq!(sent[0], sent[1], "{stop}");
    }
    for stop in [
        Kind::CircuitDigests,
        Kind::CheckedSeeds,
        Kind::BucketCircuits,
        Kind::BucketOpenings,
    ] {
        let mut rewrite = |kind, _, _: &mut Vec<u8>| kind != stop;
        let ended = prepare(&batch, &batch, SEED, Cheater::Garbler, &mut rewrite);
        assert!(
            matches!(ended.evaluator, Err(Error::PeerAborted(_))),
            "{stop}"
        );
    }
}

/// Returns the numbers of bad circuits for a garbler that has guessed the cut: `count` circuits in
/// each bucket, from the `start`-th on.
pub(super) fn of_buckets(batch: &Batch<'_, HalfGates>, start: usize, count: usize) -> HashSet<u32> {
    let (_, buckets) = foreseen(batch, SEED);
    let chosen = buckets.iter().map(|chain| &chain[start..start + count]);
    chosen.flatten().copied().collect()
}

/// Returns the check that caught these bad circuits in each execution; without one, results match.
pub(super) fn against(
    function: &Function,
    spoils: impl Fn(&Batch<'_, HalfGates>) -> Vec<(HashSet<u32>, How)>,
) -> Vec<Option<Caught>> {
    let honest_batch = batch(function, plan(function));
    let mut bad = batch(function, plan(function));
    bad.spoiling = Some(Spoiling(spoils(&honest_batch)));
    let kept = kept(&bad, &honest_batch);
    let mut all = Vec::new();
    for number in 0..EXECUTIONS as usize {
        let x: Vec<bool> = (0..function.input_bits(Role::Garbler))
            .map(|i| (i + number) % 3 == 0)
            .collect();
        let seen = [1, 2].map(|step| {
            let y: Vec<bool> = (0..function.input_bits(Role::Evaluator))
                .map(|i| i % step == 0)
                .collect();
            let (ended, right) = run([&bad, &honest_batch], &kept, number, [&x, &y], &mut honest);
            assert!(right, "execution {number}");
            (caught(&ended.evaluator), ended.shapes(Cheater::Evaluator))
        });
        if seen[0].0.is_none() {
            assert_eq!(seen[0], seen[1], "what is seen of execution {number}");
        }
        all.push(seen[0].0);
    }
    all
}

/// Circuits compute another function. The evaluator recovers the inputs unnoticed.
#[test]
fn the_inputs_of_a_garbler_with_bad_circuits_are_recovered() {
    for to in [Recipient::Evaluator, Recipient::Both] {
        let function = function("adder", to);
        let bucket = batch(&function, plan(&function)).bucket();
        for count in [1, bucket / 2, bucket - 1] {
            let found = against(&function, |batch| {
                vec![(of_buckets(batch, 0, count), How::NegatedOutput)]
            });
            assert_eq!(
                found, [None; EXECUTIONS as usize],
                "{count} bad circuits a bucket"
            );
        }
    }
}

/// The circuits are bad as above, and the locks of all circuits but one are bad, too: those of
/// circuits that compute something else, those of the other circuits, or both.
#[test]
fn one_lock_recovers() {
    let function = function("adder", Recipient::Both);
    let bucket = batch(&function, plan(&function)).bucket();
    for negated in [1, bucket - 1] {
        let found = against(&function, |batch| {
            vec![
                (of_buckets(batch, 0, negated), How::NegatedOutput),
                (
                    of_buckets(batch, 0, bucket - 1),
                    How::Flipped(|layout| layout.lock.clone(), 0),
                ),
            ]
        });
        assert_eq!(found, [None; EXECUTIONS as usize]);
    }
}

/// Some tables evaluate to nothing. The other circuits give the result.
#[test]
fn broken_tables_are_passed_over() {
    let function = function("adder", Recipient::Both);
    let found = against(&function, |batch| {
        let count = batch.bucket() - 1;
        let circuits = of_buckets(batch, 0, count);
        (0..4).map(|i| (circuits.clone(), TABLES[i])).collect()
    });
    assert_eq!(found, [None; EXECUTIONS as usize]);
}

/// Changes of one bit in the tables of the first gates.
const TABLES: [How; 4] = [
    How::Flipped(|layout| layout.tables.clone(), 0),
    How::Flipped(|layout| layout.tables.clone(), 16),
    How::Flipped(|layout| layout.tables.clone(), 32),
    How::Flipped(|layout| layout.tables.clone(), 48),
];

/// Commitments that nothing opens, in circuits that are not checked.
#[test]
fn commitments_that_nothing_opens_are_found() {
    let function = function("adder", Recipient::Both);
    let spoil = |how: How| against(&function, |batch| vec![(of_buckets(batch, 0, 1), how)]);
    let all = |found: Vec<Option<Caught>>, is: fn(&Caught) -> bool| {
        assert!(
            found.iter().all(|caught| caught.as_ref().is_some_and(is)),
            "{found:?}"
        );
    };
    all(
        spoil(How::Flipped(|layout| layout.lambda.clone(), 0)),
        |c| matches!(c, Caught::Lambda(_)),
    );
    all(
        spoil(How::Flipped(|layout| layout.outputs.clone(), 0)),
        |c| matches!(c, Caught::Output(_)),
    );
    all(
        spoil(How::Flipped(|layout| layout.outputs.clone(), 32)),
        |c| matches!(c, Caught::Output(_)),
    );
    // The pair opens only for one position, or for one value of y2. The garbler knows which.
    for how in [
        How::Flipped(|layout| layout.inputs.clone(), 0),
        How::Flipped(|layout| layout.second.clone(), 0),
    ] {
        let found = spoil(how);
        let named = |c: &Caught| matches!(c, Caught::GarblerInput(_) | Caught::SecondShare(_));
        assert!(found.iter().flatten().all(named), "{found:?}");
    }
}

/// Bad circuits among the checked ones, each with another wrong part.
#[test]
fn every_part_of_a_circuit_is_checked() {
    let function = function("adder", Recipient::Both);
    let honest_batch = batch(&function, plan(&function));
    let (set, _) = foreseen(&honest_batch, SEED);
    let circuit = set.checked[0];
    let parts: [How; 8] = [
        How::Flipped(|layout| layout.tables.clone(), 3),
        How::Flipped(|layout| layout.inputs.clone(), 3),
        How::Flipped(|layout| layout.outputs.clone(), 3),
        How::Flipped(|layout| layout.second.clone(), 3),
        How::Flipped(|layout| layout.first.clone(), 3),
        How::Flipped(|layout| layout.pairs.clone(), 3),
        How::Flipped(|layout| layout.lock.clone(), 0),
        How::NegatedOutput,
    ];
    for how in parts {
        let mut bad = batch(&function, plan(&function));
        bad.spoiling = Some(Spoiling(vec![(HashSet::from([circuit]), how)]));
        let ended = prepare(&bad, &honest_batch, SEED, Cheater::Garbler, &mut honest);
        let found = caught(&ended.evaluator);
        assert_eq!(found, Some(Caught::CheckedCircuit(circuit)), "{how:?}");
    }
}

/// The offsets of the cases count in blocks of 16 bytes.
const _: () = assert!(Block::BYTES == 16);
