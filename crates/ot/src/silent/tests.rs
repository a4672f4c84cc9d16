//! Rounds with small parameters over dealt COTs: the correlation, and senders that cheat.

use std::sync::Arc;

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::batch::Rounds;
use super::params::{CHECK_COTS, Params, Schedule};
use super::*;
use crate::{Check, Delta, DeviceError, Error, Outputs, PeerMisbehaved, Security, SessionTag};

const SMALL: Params = Params {
    trees: 24,
    batch_trees: 12,
    depth: 6,
    log_secret: 7,
    tree_inputs: 6,
    check_inputs: CHECK_COTS,
};
const TAG: SessionTag = SessionTag::new([4; 32]);

fn halves(seed: u128, security: Security) -> (Delta, SilentSender, SilentReceiver) {
    halves_of(SMALL, seed, security)
}

fn halves_of(
    params: Params,
    seed: u128,
    security: Security,
) -> (Delta, SilentSender, SilentReceiver) {
    let mut prg = Prg::new(Block::from_u128(seed));
    let delta = Delta::random(&mut prg);
    let mut q = vec![Block::ZERO; params.inputs()];
    prg.fill_blocks(&mut q);
    q.iter_mut().for_each(|q| *q = q.with_lsb(0.into()));
    let t = q.iter();
    let t = t.map(|&q| q ^ delta.to_block().and_bit(prg.next_block().lsb()));
    let t = t.collect();
    let rounds = |cots| {
        Rounds::new(
            TAG,
            security,
            Schedule::new(params, params),
            Zeroizing::new(cots),
        )
    };
    let receiver = SilentReceiver::for_test(rounds(t));
    let sender = SilentSender::for_test(delta.clone(), rounds(q));
    (delta, sender, receiver)
}

#[test]
fn correlated_over_many_rounds() {
    for security in [Security::SemiHonest, Security::Malicious] {
        let (delta, mut sender, mut receiver) = halves(1, security);
        let mut rng = Prg::new(Block::from_u128(2));
        let (mut total, mut ones) = (0, 0);
        for _ in 0..9 {
            let expected = sender.next_count();
            assert_eq!(receiver.next_count(), expected);
            let (sending, trees) = sender.begin(&mut rng).unwrap();
            assert_eq!(trees.len(), receiver.trees_bytes());
            let (receiving, reply) = receiver.take(&trees).unwrap();
            let (next_sender, q, answer) = sending.finish(&reply).unwrap();
            let (next_receiver, t) = receiving.finish(&answer).unwrap();
            (sender, receiver) = (next_sender, next_receiver);
            assert_eq!((q.len(), t.len()), (expected, expected));
            for (&q, &t) in q.iter().zip(t.iter()) {
                assert_eq!(t, q ^ delta.to_block().and_bit(t.lsb()));
                ones += u64::from(t.lsb().unwrap_u8());
            }
            total += expected as u64;
        }
        assert!(
            total > 3000 && ones.abs_diff(total / 2) < total / 10,
            "{ones} of {total}"
        );
    }
}

/// A party that makes the sums of both directions at once gets what its peer's halves expect, which
/// make theirs one after the other. So do halves of different places, which cannot be joined.
#[test]
fn sums_of_both_directions_are_those_of_each() {
    let shared = |rounds: &mut Rounds| rounds.share_columns(Some(SessionTag::new([5; 32])));
    let (delta, mut sender, mut peers_receiver) = halves(11, Security::SemiHonest);
    let (peers_delta, mut peers_sender, mut receiver) = halves(12, Security::SemiHonest);
    shared(&mut sender.rounds);
    shared(&mut peers_receiver.rounds);
    shared(&mut peers_sender.rounds);
    shared(&mut receiver.rounds);
    let (mut rng, mut sums) = (Prg::new(Block::from_u128(13)), JointSums::default());
    let correlated = |q: &Outputs, t: &Outputs, delta: &Delta| {
        let expected = |t: &Block| *t ^ delta.to_block().and_bit(t.lsb());
        assert!(q.iter().copied().eq(t.iter().map(expected)));
    };
    for batch in 0..9 {
        let (mut sending, trees) = sender.begin(&mut rng).unwrap();
        let (peers_receiving, _) = peers_receiver.take(&trees).unwrap();
        if batch == 5 {
            // From here on this direction is a batch ahead.
            let (next_sender, q, _) = sending.finish(&[]).unwrap();
            let (next_receiver, t) = peers_receiving.finish(&[]).unwrap();
            correlated(&q, &t, &delta);
            (sender, peers_receiver) = (next_sender, next_receiver);
            continue;
        }
        let (peers_sending, trees) = peers_sender.begin(&mut rng).unwrap();
        let (mut receiving, _) = receiver.take(&trees).unwrap();
        sums.make(&mut sending, &mut receiving);
        assert_eq!(sending.unsummed().is_none(), batch < 5);
        assert_eq!(receiving.unsummed().is_none(), batch < 5);
        let (next_sender, q, _) = sending.finish(&[]).unwrap();
        let (next_receiver, t) = receiving.finish(&[]).unwrap();
        let (next_peers_sender, peers_q, _) = peers_sending.finish(&[]).unwrap();
        let (next_peers_receiver, peers_t) = peers_receiving.finish(&[]).unwrap();
        correlated(&q, &peers_t, &delta);
        correlated(&peers_q, &t, &peers_delta);
        (sender, receiver) = (next_sender, next_receiver);
        (peers_sender, peers_receiver) = (next_peers_sender, next_peers_receiver);
    }
}

/// Directions whose columns are their own are never joined: their sums would differ.
#[test]
fn halves_with_other_columns_are_not_joined() {
    for (columns, security) in [
        ([None, None], Security::SemiHonest),
        ([Some(1), None], Security::SemiHonest),
        ([Some(1), Some(2)], Security::SemiHonest),
        // The trees are checked before their sums are made.
        ([Some(1), Some(1)], Security::Malicious),
    ] {
        let (_, mut sender, _) = halves(14, security);
        let (_, mut peers_sender, mut receiver) = halves(15, security);
        let of = |number: Option<u8>| number.map(|number| SessionTag::new([number; 32]));
        sender.rounds.share_columns(of(columns[0]));
        receiver.rounds.share_columns(of(columns[1]));
        peers_sender.rounds.share_columns(of(columns[1]));
        let mut rng = Prg::new(Block::from_u128(16));
        let (mut sending, _) = sender.begin(&mut rng).unwrap();
        let (_, trees) = peers_sender.begin(&mut rng).unwrap();
        let (mut receiving, _) = receiver.take(&trees).unwrap();
        let made = |batch: bool, security| batch == (security == Security::SemiHonest);
        let before = (sending.unsummed().is_some(), receiving.unsummed().is_some());
        JointSums::default().make(&mut sending, &mut receiving);
        assert!(made(before.0, security));
        let after = (sending.unsummed().is_some(), receiving.unsummed().is_some());
        assert_eq!(after, before, "{columns:?}");
    }
}

/// Returns the OTs of a batch: those of the half, or all that its device has.
fn outputs_of(here: Outputs, far: Option<&mut dyn DeviceHalf>, count: usize) -> Outputs {
    let Some(far) = far else {
        return here;
    };
    let mut blocks = Zeroizing::new(vec![Block::ZERO; count]);
    far.take(&mut blocks).unwrap();
    blocks
}

/// A device with too little memory.
struct Full;

impl Device for Full {
    fn take_over(&self, _: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError> {
        Err(DeviceError::OutOfMemory {
            needed_bytes: 2,
            free_bytes: 1,
        })
    }
}

/// Messages and OTs are the same with a device at either party, from whichever round on, and with
/// one that has too little memory.
#[test]
fn a_device_makes_what_threads_make() {
    let made_by = |device: Arc<dyn Device>, devices: [Option<usize>; 2], takes: bool| {
        let (_, mut sender, mut receiver) = halves(7, Security::SemiHonest);
        let mut rng = Prg::new(Block::from_u128(8));
        let (mut sent, mut all) = (Vec::new(), Vec::new());
        for batch in 0..9 {
            if devices[0] == Some(batch) {
                sender.rounds.device = Some(device.clone());
            }
            if devices[1] == Some(batch) {
                receiver.rounds.device = Some(device.clone());
            }
            let count = sender.next_count();
            let (sending, trees) = sender.begin(&mut rng).unwrap();
            let (receiving, reply) = receiver.take(&trees).unwrap();
            let (next_sender, q, answer) = sending.finish(&reply).unwrap();
            let (next_receiver, t) = receiving.finish(&answer).unwrap();
            (sender, receiver) = (next_sender, next_receiver);
            sent.extend([trees, reply, answer]);
            all.extend(outputs_of(q, sender.rounds.far(), count).to_vec());
            all.extend(outputs_of(t, receiver.rounds.far(), count).to_vec());
        }
        let far = [
            sender.rounds.far().is_some(),
            receiver.rounds.far().is_some(),
        ];
        assert_eq!(far, devices.map(|from| from.is_some() && takes));
        (sent, all)
    };
    let expected = made_by(Arc::new(OnThreads), [None, None], true);
    for devices in [[Some(0), None], [None, Some(1)], [Some(3), Some(4)]] {
        let made = made_by(Arc::new(OnThreads), devices, true);
        assert!(made == expected, "{devices:?}");
    }
    assert!(made_by(Arc::new(Full), [Some(0), Some(3)], false) == expected);
}

/// The check of malicious halves reads leaves, which a device does not give.
#[test]
fn a_malicious_half_takes_no_device() {
    let (_, mut sender, mut receiver) = halves(9, Security::Malicious);
    sender.rounds.device = Some(Arc::new(OnThreads));
    receiver.rounds.device = Some(Arc::new(OnThreads));
    let mut rng = Prg::new(Block::ZERO);
    for _ in 0..4 {
        let (sending, trees) = sender.begin(&mut rng).unwrap();
        let (receiving, reply) = receiver.take(&trees).unwrap();
        let (next_sender, _, answer) = sending.finish(&reply).unwrap();
        let (next_receiver, _) = receiving.finish(&answer).unwrap();
        (sender, receiver) = (next_sender, next_receiver);
    }
    assert!(sender.rounds.far().is_none() && receiver.rounds.far().is_none());
}

/// A table of AES under one key applies to one level of one tree: the same node has other children
/// on any other level, in any other tree, batch or session.
#[test]
fn every_level_of_every_tree_has_a_key_of_its_own() {
    let mut children = std::collections::HashSet::new();
    let levels = SMALL.batch_trees * (SMALL.depth - 1);
    for tag in [TAG, SessionTag::new([5; 32])] {
        let inputs = Zeroizing::new(vec![Block::ZERO; SMALL.inputs()]);
        let schedule = Schedule::new(SMALL, SMALL);
        let mut rounds = Rounds::new(tag, Security::Malicious, schedule, inputs);
        for _ in 0..2 * SMALL.batches() {
            let mut hashes = rounds.hashes();
            for _ in 0..levels {
                let mut nodes = [Block::ONES, Block::ZERO];
                hashes.double(&mut nodes, Block::ZERO);
                children.insert(nodes[0].to_bytes());
            }
            rounds.schedule.advance();
        }
    }
    assert_eq!(children.len(), 2 * 2 * SMALL.batches() * levels);
}

/// The way in which a sender cheats in the first trees of a batch.
#[derive(Clone, Copy, Debug)]
enum Cheat {
    /// It adds 2 to the last correction of this many trees. That moves two sibling leaves: α and
    /// its neighbour.
    LastCorrection(usize),
    /// It makes this many trees under Δ ⊕ 2, with sums that open correctly for one α: only leaf α
    /// moves.
    OtherDelta(usize),
}

/// Makes one batch with a sender that cheats. Its answer is right if `guess` names the leaves that
/// move. Returns whether `guess` does so in all trees, and the receiver's result.
fn cheat(params: Params, cheat: Cheat, seed: u128, guess: usize) -> (bool, Result<(), Error>) {
    let (delta, sender, receiver) = halves_of(params, seed, Security::Malicious);
    let mut sums = sender.rounds.check().unwrap();
    let mut roots = Prg::new(Block::from_u128(seed));
    let mut trees = vec![0; sender.rounds.schedule.trees_bytes()];
    let mut leaves = vec![Block::ZERO; params.leaves()];
    let mut hashes = sender.rounds.hashes();
    let (q, _) = sender.rounds.batch_inputs();
    let two = Block::from_u128(2);
    let sent = trees.chunks_exact_mut(params.depth * 16).enumerate();
    for ((tree, sent), q) in sent.zip(q.chunks_exact(params.depth)) {
        match cheat {
            Cheat::LastCorrection(wrong) if tree < wrong => {
                hashes.grow(roots.next_block(), delta.to_block(), q, &mut leaves, sent);
                sent[params.depth * 16 - 16] ^= 2;
                leaves[guess] ^= two;
                leaves[guess ^ (params.leaves() / 2)] ^= two;
            }
            Cheat::OtherDelta(wrong) if tree < wrong => {
                let other = delta.to_block() ^ two;
                hashes.grow(roots.next_block(), other, q, &mut leaves, sent);
                leaves[guess] ^= two;
                // Where α's bit is clear, the sums that the receiver opens contain Δ.
                for (level, sent) in sent.chunks_exact_mut(16).enumerate() {
                    sent[0] ^= 2 * (1 ^ (guess >> level & 1) as u8);
                }
            }
            _ => hashes.grow(roots.next_block(), delta.to_block(), q, &mut leaves, sent),
        }
        sums.add_tree(sent, &leaves);
    }
    let (Cheat::LastCorrection(wrong) | Cheat::OtherDelta(wrong)) = cheat;
    // The last bit does not matter: under another Δ the moved leaf is then the sibling.
    let same = params.leaves() / 2;
    let choices = receiver.rounds.batch_inputs().0.chunks_exact(params.depth);
    let right = choices.take(wrong).all(|choices| {
        let alpha = (0..).zip(choices).fold(0, |alpha, (level, t)| {
            alpha | usize::from(1 - t.lsb().unwrap_u8()) << level
        });
        alpha % same == guess % same
    });
    let (receiving, reply) = receiver.take(&trees).unwrap();
    let reply = Block::from_bytes(reply.try_into().unwrap());
    let cots = sender.rounds.batch_inputs().1;
    let answer = sums.answer(cots, Some((delta.to_block(), reply)));
    (right, receiving.finish(&answer).map(drop))
}

/// Trees of h levels: a wrong last correction, or another Δ, passes with probability 2^-(h − 1),
/// and n wrong trees with the n-th power of it: exactly if all of α except its last bit is guessed.
#[test]
fn wrong_trees_pass_as_often_as_proven() {
    let tiny = Params {
        trees: 80,
        batch_trees: 40,
        depth: 3,
        log_secret: 4,
        tree_inputs: 3,
        check_inputs: CHECK_COTS,
    };
    for (params, cheating, log_odds, runs) in [
        (SMALL, Cheat::LastCorrection(1), 5, 1600_u32),
        (SMALL, Cheat::OtherDelta(1), 5, 1600),
        (tiny, Cheat::LastCorrection(1), 2, 400),
        (tiny, Cheat::LastCorrection(2), 4, 1600),
        (tiny, Cheat::OtherDelta(1), 2, 400),
        (tiny, Cheat::OtherDelta(2), 4, 1600),
    ] {
        let mut passed = 0;
        for run in 0..runs {
            let guess = run as usize % params.leaves();
            let (right, result) = cheat(params, cheating, run.into(), guess);
            assert_eq!(result.is_ok(), right, "{cheating:?}");
            if let Err(error) = result {
                let check = Check::SilentTrees;
                assert_eq!(error, PeerMisbehaved::CheckFailed { check }.into());
            }
            passed += u32::from(right);
        }
        let expected = f64::from(runs >> log_odds);
        let deviations = (f64::from(passed) - expected).abs() / expected.sqrt();
        assert!(
            deviations < 4.0,
            "{cheating:?}: {passed} passed, {expected} expected"
        );
    }
}

/// A change that the sender does not account for is caught at any place.
#[test]
fn damaged_messages_are_caught() {
    for seed in 0..60 {
        let (_, sender, receiver) = halves(seed, Security::Malicious);
        let (sending, mut trees) = sender.begin(&mut Prg::new(Block::from_u128(seed))).unwrap();
        trees[seed as usize * 19] ^= 2;
        let (receiving, reply) = receiver.take(&trees).unwrap();
        let (_, _, answer) = sending.finish(&reply).unwrap();
        assert!(receiving.finish(&answer).is_err());
    }
}

/// A receiver that lies in its reply spoils only its own check, because the answer then depends on
/// Δ. The sender's outputs do not change.
#[test]
fn a_wrong_reply_spoils_the_check_of_who_sent_it() {
    for seed in 0..60 {
        let finished = |lie: u8| {
            let (_, sender, receiver) = halves(seed, Security::Malicious);
            let (sending, trees) = sender.begin(&mut Prg::new(Block::from_u128(seed))).unwrap();
            let (receiving, mut reply) = receiver.take(&trees).unwrap();
            reply[seed as usize % 16] ^= lie;
            let (_, q, answer) = sending.finish(&reply).unwrap();
            (q.to_vec(), receiving.finish(&answer).is_ok())
        };
        let ((honest, passes), (lied, still_passes)) = (finished(0), finished(1));
        assert!(passes && !still_passes);
        assert!(honest == lied);
    }
}

#[test]
fn wrong_lengths_are_refused() {
    let wrong = |result: Result<(), Error>| {
        matches!(
            result,
            Err(Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. }))
        )
    };
    let (_, sender, receiver) = halves(5, Security::Malicious);
    let (sending, trees) = sender.begin(&mut Prg::new(Block::ZERO)).unwrap();
    assert!(wrong(sending.finish(&[0; 15]).map(drop)));
    assert!(wrong(receiver.take(&trees[1..]).map(drop)));
    let (_, sender, receiver) = halves(5, Security::Malicious);
    let (sending, trees) = sender.begin(&mut Prg::new(Block::ZERO)).unwrap();
    let (receiving, reply) = receiver.take(&trees).unwrap();
    let (.., answer) = sending.finish(&reply).unwrap();
    assert!(wrong(receiving.finish(&answer[1..]).map(drop)));
    let (_, sender, _) = halves(5, Security::SemiHonest);
    let (sending, _) = sender.begin(&mut Prg::new(Block::ZERO)).unwrap();
    assert!(wrong(sending.finish(&reply).map(drop)));
}
