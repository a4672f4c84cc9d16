//! A party that reads: it follows the protocol, and tries to compute secrets from what it
//! legitimately holds.

use tacit_function::{Function, Recipient, Role};
use tacit_garble::HalfGates;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::duel::{Cheater, Ended, How, Kept, Spoiling, batch, foreseen, honest, prepare};
use super::{function, plain, rates};
use crate::batch::circuit::{CircuitSeed, Secrets, derive_output};
use crate::batch::layout::KEY_BITS;
use crate::batch::oracle::{Domain, HASH_BYTES};
use crate::batch::{Batch, EvaluatorExecution, GarblerExecution, OnlineEvaluator, Plan, messages};
use crate::bits::{bit, pack, unpack, xor_into};
use crate::io::Io;
use crate::io::memory::run_both;
use crate::malicious::commitment::{Committing, pads};
use crate::message::Kind;

/// Returns the plan of a test, with two executions.
fn plan(function: &Function) -> Plan {
    Plan::cheapest(function, 2, 4).unwrap()
}

type Preparation = Ended<Vec<GarblerExecution>, Vec<EvaluatorExecution<'static>>>;

/// Runs an honest preparation.
fn prepared(garbler: &Batch<'_, HalfGates>, evaluator: &Batch<'_, HalfGates>) -> Preparation {
    prepare(garbler, evaluator, 9, Cheater::Garbler, &mut honest)
}

fn kept(garbler: &Batch<'_, HalfGates>, evaluator: &Batch<'_, HalfGates>) -> Kept {
    Kept::of(prepared(garbler, evaluator))
}

/// Runs execution `number` honestly.
fn online(
    batches: [&Batch<'_, HalfGates>; 2],
    kept: &Kept,
    number: usize,
    inputs: [&[bool]; 2],
) -> Ended<Zeroizing<Vec<bool>>> {
    kept.run(batches, number, inputs, Cheater::Garbler, &mut honest)
}

/// Returns the values under the masks of the outputs that an evaluator holds, of 0 and of 1.
fn under_masks(
    batch: &Batch<'_, HalfGates>,
    evaluator: &OnlineEvaluator<'_, '_, HalfGates>,
    execution: &EvaluatorExecution<'_>,
    labels: &[u8],
) -> [Vec<Block>; 2] {
    let (first, rest) = labels.split_at(batch.chaining.half_bytes());
    let labels_bytes = messages::labels_bytes(batch);
    let (labels, masks) = rest[HASH_BYTES..].split_at(batch.bucket() * labels_bytes);
    let labels = labels.chunks_exact(labels_bytes);
    let masks = masks.chunks_exact(2 * batch.output_bits * Block::BYTES);
    let mut under = [Vec::new(), Vec::new()];
    let circuits = execution.circuits.iter().zip(execution.positions(first));
    for (((circuit, positions), labels), masks) in circuits.zip(labels).zip(masks) {
        let outputs = evaluator.evaluate(circuit, labels, &positions).unwrap();
        let outputs = (0..).zip(&*outputs);
        let derived = outputs.map(|(i, l)| derive_output(&batch.oracle, circuit.number, i, *l));
        let derived: Vec<Block> = derived.collect();
        let mut pads_of_these = derived.clone();
        pads(
            &batch.oracle,
            Domain::OutputMask,
            circuit.number,
            &mut pads_of_these,
        );
        let committing = Committing::new(&batch.oracle, Domain::OutputCommitment, circuit.number);
        let commitments = &circuit.published[batch.layout.outputs.clone()];
        let masks = masks.as_chunks::<{ Block::BYTES }>().0;
        committing.compare(0, &derived, commitments, |i, opens| {
            for (bit, opens) in opens.into_iter().enumerate() {
                if bool::from(opens) {
                    let mask = Block::from_bytes(masks[2 * i + bit]);
                    under[bit].push(pads_of_these[i] ^ mask);
                }
            }
        });
    }
    under
}

/// Returns D, if an evaluator finds it before message 3.
fn find_key(
    batch: &Batch<'_, HalfGates>,
    evaluator: &OnlineEvaluator<'_, '_, HalfGates>,
    execution: &EvaluatorExecution<'_>,
    labels: &[u8],
) -> Option<Block> {
    let [zeros, ones] = under_masks(batch, evaluator, execution, labels);
    assert!(
        zeros.len() > 1 && ones.len() > 1,
        "both values among the outputs"
    );
    // The candidates are R ⊕ D for R = 0, and R_i ⊕ (R_j ⊕ D) for every two outputs.
    let sums = zeros
        .iter()
        .flat_map(|zero| ones.iter().map(move |one| *zero ^ *one));
    let half = batch.chaining.half_bytes();
    let first = execution.circuits[0].number;
    let is_key = |key: &Block| {
        let hash = batch.oracle.block(Domain::RecoveryKey, first, 0, *key);
        hash == labels[half..half + HASH_BYTES]
    };
    ones.iter().copied().chain(sums).find(is_key)
}

/// Plays an evaluator that looks for D before message 3, and then for a lock that opens. Returns
/// the garbler's input, if it finds one.
fn read_the_garblers_input(function: &Function, inputs: [&[bool]; 2]) -> Option<Vec<bool>> {
    let batch = batch(function, plan(function));
    let kept = kept(&batch, &batch);
    let execution = kept.evaluators(&batch, 0);
    let seeds = [1, 101].map(|byte| Zeroizing::new([byte; 32]));
    let garbler = kept.garbler(&batch, 0, inputs[0], &seeds[0]);
    let own = kept.evaluators(&batch, 0);
    let evaluator = OnlineEvaluator::new(&batch, own, inputs[1], 1, &seeds[1]).unwrap();
    let read = async |io: &mut Io<'_>| {
        let y2 = inputs[1].iter().zip(&*execution.offset);
        *io.message() = pack(&y2.map(|(y, y1)| y ^ y1).collect::<Vec<_>>());
        io.send(messages::masked_input(&batch))?;
        let labels = io.receive(messages::input_labels(&batch)).await?.to_vec();
        // e, for D if it was found.
        let key = find_key(&batch, &evaluator, &execution, &labels);
        let choice = pack(&execution.offset[batch.choice_bits..]);
        let offset = Block::from_bytes(choice.try_into().unwrap());
        let choice = key.unwrap_or_default() ^ offset;
        *io.message() = choice.to_bytes().to_vec();
        io.send(messages::RECOVERY_CHOICE)?;
        let recovery = io.receive(messages::recovery_labels(&batch)).await?;
        let given = Block::from_bytes(*recovery.first_chunk().unwrap());
        let choices = (choice ^ given).to_bytes();
        let shares = recovery[Block::BYTES..]
            .as_chunks()
            .0
            .chunks_exact(KEY_BITS);
        let half = batch.chaining.half_bytes();
        let circuits = execution
            .circuits
            .iter()
            .zip(execution.positions(&labels[..half]));
        for ((circuit, positions), shares) in circuits.zip(shares) {
            let shares: Vec<Block> = shares.iter().copied().map(Block::from_bytes).collect();
            let from = batch.choice_bits;
            let wires = evaluator.open_second(circuit, from, &shares, &choices)?;
            let (opens, pairs) = evaluator.unlock(circuit, &wires);
            if bool::from(opens) {
                let mut x = positions;
                xor_into(&mut x, &pairs.mask);
                let bits = function.input_bits(Role::Garbler);
                return Ok(Some(unpack(&x, bits).to_vec()));
            }
        }
        Ok(None)
    };
    let ended = run_both(async |io| garbler.run(io).await, read);
    ended.unwrap().1
}

/// If R were zero, or the same for all outputs, the evaluator could compute D before message 3.
/// Without a lock it would not need D.
#[test]
fn an_evaluator_finds_neither_d_nor_an_open_lock() {
    let function = function("adder", Recipient::Evaluator);
    let x: Vec<bool> = (0..32).map(|i| i % 3 == 0).collect();
    let y: Vec<bool> = (0..32).map(|i| i % 5 == 0).collect();
    let read = read_the_garblers_input(&function, [&x, &y]);
    assert!(
        read.is_none(),
        "it has read {read:?} and the input is {x:?}"
    );
}

/// Without p the evaluator could read the garbler's result in what it returns. With the same p for
/// two runs it could read their difference.
#[test]
fn an_evaluator_reads_no_result_of_the_garbler() {
    let function = function("adder", Recipient::Garbler);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch, &batch);
    let (x, y) = ([[true; 32], [false; 32]], [true; 32]);
    let mut seen = Vec::new();
    for (number, x) in x.iter().enumerate() {
        let ended = online([&batch; 2], &kept, number, [x, &y]);
        let result = plain(&function, [x, &y])[0].clone();
        let returned = ended.sent(Cheater::Evaluator, Kind::MaskedResult);
        assert_eq!(*ended.garbler.unwrap(), result);
        let returned = unpack(&returned, result.len()).to_vec();
        assert_ne!(returned, result, "it is returned in the clear");
        let sum = |a: &[bool], b: &[bool]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<_>>();
        seen.push(sum(&returned, &result));
    }
    assert_ne!(seen[0], seen[1], "one mask for two runs");
}

/// Without m the evaluator could read x in the positions of message 2.
#[test]
fn an_evaluator_reads_no_input_in_positions() {
    let function = function("adder", Recipient::Evaluator);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch, &batch);
    let x = [true; 32];
    let positions = [0, 1].map(|number| {
        let ended = online([&batch; 2], &kept, number, [&x, &[false; 32]]);
        ended.sent(Cheater::Garbler, Kind::InputLabels)[..4].to_vec()
    });
    assert!(positions.iter().all(|found| *found != pack(&x)));
    assert_ne!(positions[0], positions[1], "one m for two executions");
}

/// Halves of few bits that are committed to without randomness could be found by trying all of
/// them: both halves of a pair give m, and with it x.
#[test]
fn an_evaluator_finds_no_half_that_is_not_opened() {
    const RANDOM_BYTES: usize = 16;
    let function = rates::tiny();
    let batch = batch(&function, plan(&function));
    let ended = prepared(&batch, &batch);
    let published = ended.sent(Cheater::Garbler, Kind::BucketCircuits);
    let openings = ended.sent(Cheater::Garbler, Kind::BucketOpenings);
    let choices = ended.sent(Cheater::Evaluator, Kind::HalfChoices);
    let sizes = batch.chaining;
    assert_eq!(sizes.half_bytes(), 1, "all halves can be tried");
    let chain = &foreseen(&batch, 9).1[0];
    for (place, number) in chain.iter().enumerate() {
        let circuit = &published[place * batch.layout.total..][..batch.layout.total];
        let commitments = &circuit[batch.layout.pairs.clone()];
        let opened = &openings[place * sizes.opening_bytes()..][..sizes.opening_bytes()];
        let hash = batch.oracle.of_circuit(Domain::Half, *number);
        for (i, opened) in opened.chunks(RANDOM_BYTES + sizes.half_bytes()).enumerate() {
            let other = 2 * i + usize::from(!bit(&choices[RANDOM_BYTES..], i));
            let commitment = &commitments[other * HASH_BYTES..][..HASH_BYTES];
            for random in [&[0; RANDOM_BYTES][..], &opened[..RANDOM_BYTES]] {
                for half in 0..1 << sizes.input_bits {
                    use sha2::Digest as _;
                    let hash = hash.clone().chain_update((other as u32).to_le_bytes());
                    let hash = hash.chain_update(random).chain_update([half]).finalize();
                    assert_ne!(hash[..], *commitment, "pair {i} of circuit {number}");
                }
            }
        }
    }
}

/// Two strings under the same key would give Δ, and a string under no key would open its
/// commitment.
#[test]
fn an_evaluator_reads_no_string_that_it_did_not_choose() {
    let function = function("adder", Recipient::Evaluator);
    let batch = batch(&function, plan(&function));
    let ended = prepared(&batch, &batch);
    let openings = ended.sent(Cheater::Garbler, Kind::BucketOpenings);
    let published = ended.sent(Cheater::Garbler, Kind::BucketCircuits);
    let strings = &openings[batch.bucket() * batch.chaining.opening_bytes()..];
    let strings = strings[..batch.transfer_bytes()].as_chunks().0;
    let strings: Vec<Block> = strings.iter().copied().map(Block::from_bytes).collect();
    let chain = &foreseen(&batch, 9).1[0];
    for (place, number) in chain.iter().enumerate() {
        // Each OT has the strings of value 0 of all circuits, followed by those of value 1.
        let of = |value: usize| -> Vec<Block> {
            let all = strings.iter().skip(value * batch.bucket() + place);
            all.step_by(2 * batch.bucket()).copied().collect()
        };
        let (zeros, ones) = (of(0), of(1));
        let sums: Vec<Block> = zeros.iter().zip(&ones).map(|(a, b)| *a ^ *b).collect();
        assert!(
            sums.windows(2).all(|pair| pair[0] != pair[1]),
            "Δ is {:?}",
            sums[0]
        );
        let circuit = &published[place * batch.layout.total..][..batch.layout.total];
        let commitments = &circuit[batch.layout.first.clone()];
        let committing = Committing::new(&batch.oracle, Domain::FirstShare, *number);
        for raw in [&zeros, &ones] {
            committing.compare(0, raw, commitments, |i, opens| {
                assert!(!opens.into_iter().any(bool::from), "share {i} in the clear");
            });
        }
    }
}

/// Opened seeds are those of no other circuit, and the garbler's own seed is not constant.
#[test]
fn an_evaluator_makes_no_circuit_that_is_not_checked() {
    let function = rates::tiny();
    let batch = batch(&function, plan(&function));
    let ended = prepared(&batch, &batch);
    let digests = ended.sent(Cheater::Garbler, Kind::CircuitDigests);
    let opened = ended.sent(Cheater::Garbler, Kind::CheckedSeeds);
    let opened = opened.as_chunks().0;
    let of_constants = [[0; 32], [0xff; 32]];
    for number in foreseen(&batch, 9).1.concat() {
        let guessed = of_constants.map(|root| CircuitSeed::derive(&batch.oracle, &root, number).0);
        for seed in opened.iter().chain(&guessed).chain(&of_constants) {
            let mut published = Vec::new();
            let secrets = Secrets::derive(&batch, number, CircuitSeed(*seed));
            secrets.publish(&batch, &mut published);
            let digest = &digests[number as usize * HASH_BYTES..][..HASH_BYTES];
            assert_ne!(
                batch.digest(number, &published),
                *digest,
                "circuit {number}"
            );
        }
    }
}

/// Without y1 the garbler could read y in message 1. With the same y1 for two executions it could
/// see whether their inputs are equal.
#[test]
fn a_garbler_reads_no_input_in_message_1() {
    let function = function("adder", Recipient::Evaluator);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch, &batch);
    let y: Vec<bool> = (0..32).map(|i| i % 3 == 0).collect();
    let masked = [0, 1].map(|number| {
        let ended = online([&batch; 2], &kept, number, [&[true; 32], &y]);
        ended.sent(Cheater::Evaluator, Kind::MaskedInput)
    });
    assert!(masked.iter().all(|found| *found != pack(&y)));
    assert_ne!(masked[0], masked[1], "one y1 for two executions");
}

/// Without c the garbler could see in e whether the evaluator has found D. One bad circuit whose
/// output is wrong only for some inputs would then reveal something about the input.
#[test]
fn a_garbler_does_not_see_whether_d_was_found() {
    let function = function("adder", Recipient::Evaluator);
    let honest_batch = batch(&function, plan(&function));
    let chain = foreseen(&honest_batch, 9).1[0].clone();
    let mut bad = batch(&function, plan(&function));
    let one = chain[..1].iter().copied().collect();
    bad.spoiling = Some(Spoiling(vec![(one, How::NegatedOutput)]));
    let kept = kept(&bad, &honest_batch);
    let inputs: [&[bool]; 2] = [&[true; 32], &[false; 32]];
    let ended = online([&bad, &honest_batch], &kept, 0, inputs);
    let e = ended.sent(Cheater::Evaluator, Kind::RecoveryChoice);
    let recovery = ended.sent(Cheater::Garbler, Kind::RecoveryLabels);
    assert_ne!(e, recovery[..Block::BYTES]);
    assert_eq!(
        *ended.evaluator.unwrap(),
        plain(&function, inputs)[1],
        "it was found"
    );
}

/// The evaluator's commitments hide the cut and the buckets. The garbler tries constants.
#[test]
fn a_garbler_foresees_no_cut() {
    let function = rates::tiny();
    let batch = batch(&function, plan(&function));
    let ended = prepared(&batch, &batch);
    let sent = |kind| ended.sent(Cheater::Evaluator, kind);
    let plan = sent(Kind::BatchPlan);
    let commitments = plan[Plan::BYTES..].chunks(HASH_BYTES);
    for (domain, commitment) in [Domain::CheckSet, Domain::Buckets]
        .into_iter()
        .zip(commitments)
    {
        for byte in 0..=u8::MAX {
            let guessed = batch.oracle.parts(domain, 0, 0, &[&[byte; 32]]);
            assert_ne!(guessed, *commitment, "{domain:?} of {byte}");
        }
    }
    let [cut, buckets] = [Kind::CheckSet, Kind::Buckets].map(sent);
    assert_ne!(cut, buckets, "who knows the cut knows the buckets");
}
