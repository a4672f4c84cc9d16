//! Rounds of small parameters over dealt COTs: the correlation, and senders that cheat.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::batch::Rounds;
use super::params::Params;
use super::*;
use crate::{Check, Delta, Error, PeerMisbehaved, Security, SessionTag};

const SMALL: Params = Params {
    trees: 24,
    batch_trees: 12,
    depth: 6,
    log_secret: 7,
};
const TAG: SessionTag = SessionTag::new([4; 32]);

fn halves(seed: u128, security: Security) -> (Delta, SilentSender, SilentReceiver) {
    let mut prg = Prg::new(Block::from_u128(seed));
    let delta = Delta::random(&mut prg);
    let mut q = vec![Block::ZERO; SMALL.inputs()];
    prg.fill_blocks(&mut q);
    q.iter_mut().for_each(|q| *q = q.with_lsb(0.into()));
    let t = q.iter();
    let t = t.map(|&q| q ^ delta.to_block().and_bit(prg.next_block().lsb()));
    let t = t.collect();
    let rounds = |cots| Rounds::with_params(TAG, security, Zeroizing::new(cots), SMALL, SMALL);
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
            let (sending, trees) = sender.begin(&mut rng);
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

/// One batch of a sender that adds 2 to the last correction of tree 0, which moves two sibling
/// leaves, α and its neighbour, and that answers as is right if these are leaf `guess` and its
/// sibling. Returns whether the guess is right, and what the receiver says.
fn cheat(seed: u128, guess: usize) -> (bool, Result<(), Error>) {
    let (delta, sender, receiver) = halves(seed, Security::Malicious);
    let mut sums = sender.rounds.check().unwrap();
    let mut roots = Prg::new(Block::from_u128(seed));
    let mut trees = vec![0; sender.rounds.trees_bytes()];
    let mut leaves = vec![Block::ZERO; SMALL.leaves()];
    let (hash, _, q, _) = sender.rounds.parts();
    let sent = trees.chunks_exact_mut(SMALL.depth * 16).enumerate();
    for ((tree, sent), q) in sent.zip(q.chunks_exact(SMALL.depth)) {
        hash.grow(roots.next_block(), delta.to_block(), q, &mut leaves, sent);
        if tree == 0 {
            sent[SMALL.depth * 16 - 16] ^= 2;
            leaves[guess] ^= Block::from_u128(2);
            leaves[guess ^ (SMALL.leaves() / 2)] ^= Block::from_u128(2);
        }
        sums.add_tree(sent, &leaves);
    }
    let choices = receiver.rounds.batch_inputs().0[..SMALL.depth].iter();
    let alpha = (0..).zip(choices).fold(0, |alpha, (level, t)| {
        alpha | usize::from(1 - t.lsb().unwrap_u8()) << level
    });
    let (receiving, reply) = receiver.take(&trees).unwrap();
    let reply = Block::from_bytes(reply.try_into().unwrap());
    let cots = sender.rounds.batch_inputs().1;
    let answer = sums.answer(cots, Some((delta.to_block(), reply)));
    let right = alpha % (SMALL.leaves() / 2) == guess % (SMALL.leaves() / 2);
    (right, receiving.finish(&answer).map(drop))
}

/// A wrong correction on the last of h levels passes with probability 2^-(h − 1).
#[test]
fn wrong_trees_pass_as_often_as_proven() {
    let (runs, mut passed) = (1600, 0);
    for seed in 0..runs {
        let (right, result) = cheat(seed, seed as usize % SMALL.leaves());
        assert_eq!(result.is_ok(), right);
        if let Err(error) = result {
            let check = Check::SilentTrees;
            assert_eq!(error, PeerMisbehaved::CheckFailed { check }.into());
        }
        passed += u32::from(right);
    }
    let expected = f64::from(1600 / 32);
    let deviations = (f64::from(passed) - expected).abs() / expected.sqrt();
    assert!(deviations < 4.0, "{passed} passed, {expected} expected");
}

/// A change that the sender does not account for is caught wherever it is.
#[test]
fn damaged_messages_are_caught() {
    for seed in 0..60 {
        let (_, sender, receiver) = halves(seed, Security::Malicious);
        let (sending, mut trees) = sender.begin(&mut Prg::new(Block::from_u128(seed)));
        trees[seed as usize * 19] ^= 2;
        let (receiving, reply) = receiver.take(&trees).unwrap();
        let (_, _, answer) = sending.finish(&reply).unwrap();
        assert!(receiving.finish(&answer).is_err());
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
    let (sending, trees) = sender.begin(&mut Prg::new(Block::ZERO));
    assert!(wrong(sending.finish(&[0; 15]).map(drop)));
    assert!(wrong(receiver.take(&trees[1..]).map(drop)));
    let (_, sender, receiver) = halves(5, Security::Malicious);
    let (sending, trees) = sender.begin(&mut Prg::new(Block::ZERO));
    let (receiving, reply) = receiver.take(&trees).unwrap();
    let (.., answer) = sending.finish(&reply).unwrap();
    assert!(wrong(receiving.finish(&answer[1..]).map(drop)));
    let (_, sender, _) = halves(5, Security::SemiHonest);
    let (sending, _) = sender.begin(&mut Prg::new(Block::ZERO));
    assert!(wrong(sending.finish(&reply).map(drop)));
}
