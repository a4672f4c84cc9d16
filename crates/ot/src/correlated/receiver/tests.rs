//! Packing of choices, and receivers that cheat as well as they can.

use sha2::{Digest, Sha256};

use super::super::{CotSender, blocks};
use super::*;
use crate::{Check as Failed, Delta, PeerMisbehaved};

const TAG: SessionTag = SessionTag::new([9; 32]);

#[test]
fn packed_bits_keep_their_order() {
    for count in [0, 1, 63, 64, 65, 127, 128, 129, 300] {
        let choices: Vec<bool> = (0..count).map(|i| i * i % 7 == 2 || i % 5 == 1).collect();
        let mut packed = [Block::ONES; 3];
        let length = pack(&choices, &mut packed);
        assert_eq!(length, blocks(count));
        for i in 0..length * 128 {
            let bit = packed[i / 128].to_u128() >> (i % 128) & 1 == 1;
            assert_eq!(bit, choices.get(i).copied().unwrap_or(false));
        }
    }
}

/// Returns both halves over dealt base OTs. In each run, Δ's bits are those of a hash.
fn halves(k: usize, run: u32) -> (u128, CotSender, CotReceiver) {
    let hash = |x: u8, i: u8| -> [u8; 32] {
        let hash = Sha256::new().chain_update(run.to_le_bytes());
        hash.chain_update([x, i]).finalize().into()
    };
    let mut delta = Key::from_bytes(hash(2, 0)).to_block().to_u128();
    delta |= 1;
    let pairs: Vec<_> = (0..128)
        .map(|i| [0, 1].map(|x| Key::from_bytes(hash(x, i))))
        .collect();
    let chosen = pairs.iter().enumerate();
    let chosen = chosen.map(|(i, pair)| pair[(delta >> i & 1) as usize].clone());
    let chosen = chosen.collect();
    let field = FieldBits::new(k).unwrap();
    let security = Security::Malicious;
    let offset = Delta::from_block(Block::from_u128(delta)).unwrap();
    let sender = CotSender::with_security(offset, chosen, &TAG, field, security).unwrap();
    let receiver = CotReceiver::with_security(pairs, &TAG, field, security).unwrap();
    (delta, sender, receiver)
}

/// Returns the message for 128 OTs of a receiver that flips the choices `flipped` in `groups`. Its
/// answer to the check is right if Δ has the bits `guess` there.
fn cheat(receiver: &mut CotReceiver, groups: &[usize], flipped: u128, guess: usize) -> Vec<u8> {
    let mut message = vec![0; receiver.message_len(128)];
    let corrections = core::mem::take(&mut receiver.corrections);
    let (head, rest) = message.split_at_mut(corrections.len());
    head.copy_from_slice(&corrections);
    let mut check = Check::new(&TAG, 0, 128);
    let mut lot = Lot::new();
    check.absorb(head);
    let rest = receiver.mask(0, &mut check, &mut lot, rest);
    let choices = [Block::from_u128(0x1234_5678)];
    let (sent, proof) = rest.split_at_mut(receiver.field.groups() * Block::BYTES);
    receiver.fold_lot(1, &choices, &mut lot, sent);
    for &group in groups {
        let row = &mut sent[16 * group..][..16];
        let flips = flipped.to_le_bytes();
        row.iter_mut()
            .zip(flips)
            .for_each(|(byte, flip)| *byte ^= flip);
        for (bit, row) in receiver.field.group(group).enumerate() {
            lot.rows[row] ^= Block::from_u128((guess as u128 >> bit & 1) * flipped);
        }
    }
    check.add_lot(sent, &lot.rows[..128], &choices);
    proof.copy_from_slice(&check.prove());
    message
}

/// Different choices in n groups pass with probability 2^-kn: exactly if the guess is right,
/// however many choices differ in a group.
#[test]
fn choices_that_differ_pass_as_often_as_proven() {
    for (k, groups, flipped, runs) in [
        (1, &[7][..], 1 << 5, 400),
        (1, &[7, 8, 100], 1 << 5, 800),
        (2, &[3], 1 << 5, 800),
        (2, &[3], u128::MAX, 800),
        (2, &[3, 9], 1 << 5, 1600),
        (3, &[5], 1 << 127 | 1, 800),
        (4, &[31], 1 << 5, 1600),
    ] {
        let mut passed = 0;
        for run in 0..runs {
            let (delta, mut sender, mut receiver) = halves(k, run);
            let guess = run as usize % (1 << k);
            let message = cheat(&mut receiver, groups, flipped, guess);
            let right = |&group: &usize| (delta >> (group * k)) as usize % (1 << k) == guess;
            let result = sender.extend(128, &message);
            assert_eq!(result.is_ok(), groups.iter().all(right));
            if let Err(error) = result {
                let check = Failed::Choices;
                assert_eq!(error, PeerMisbehaved::CheckFailed { check }.into());
            } else {
                passed += 1;
            }
        }
        let expected = f64::from(runs) / f64::from(1 << (k * groups.len()));
        let deviations = (f64::from(passed) - expected).abs() / expected.sqrt();
        assert!(deviations < 4.0, "{passed} of {runs}, {expected} expected");
    }
}

/// The same flip in all groups is no cheat, only another choice.
#[test]
fn the_same_choice_everywhere_passes() {
    let (_, mut sender, mut receiver) = halves(2, 0);
    let mut message = vec![0; receiver.message_len(128)];
    let mut t = [Block::ZERO; 128];
    receiver
        .extend_into(&[true; 128], &mut t, &mut message)
        .unwrap();
    assert!(sender.extend(128, &message).is_ok());
}

/// A wrong correction passes when Δ does not select it: with probability 1/2 each.
#[test]
fn wrong_corrections_pass_as_often_as_proven() {
    for (k, wrong, runs) in [(2, 1, 400), (4, 1, 400), (4, 2, 800), (8, 3, 160)] {
        let mut passed = 0;
        for run in 0..runs {
            let (delta, mut sender, mut receiver) = halves(k, run);
            let mut right = true;
            for group in 0..wrong {
                // Level 1 of this tree: the sum that Δ's bit 1 selects if it is clear.
                receiver.corrections[group * (k - 1) * 32 + 16] ^= 1;
                right &= delta >> (group * k + 1) & 1 == 1;
            }
            let message = receiver.extend(&[true; 3]).unwrap().0;
            let result = sender.extend(3, &message);
            assert_eq!(result.is_ok(), right, "k = {k}");
            if let Err(error) = result {
                let check = Failed::Trees;
                assert_eq!(error, PeerMisbehaved::CheckFailed { check }.into());
            } else {
                passed += 1;
            }
        }
        let expected = f64::from(runs) / f64::from(1 << wrong);
        let deviations = (f64::from(passed) - expected).abs() / expected.sqrt();
        assert!(deviations < 4.0, "{passed} of {runs}, {expected} expected");
    }
}

/// The sender knows the coefficients, and could compare ũ with that of choices that it guesses. The
/// masks of each call prevent that.
#[test]
fn the_check_confirms_no_guess_at_the_choices() {
    let (_, _, mut receiver) = halves(2, 0);
    let choices: Vec<bool> = (0..128).map(|i| i % 3 == 0).collect();
    let mut packed = [Block::ZERO];
    pack(&choices, &mut packed);
    let lot = receiver.field.groups() * Block::BYTES;
    let mut masks = std::collections::HashSet::new();
    for _ in 0..20 {
        let (first, head) = (receiver.progress.stream_blocks, receiver.corrections.len());
        let (message, _) = receiver.extend(&choices).unwrap();
        let (before, proof) = message.split_at(head + 2 * lot);
        let (before, sent) = before.split_at(head + lot);
        let mut guess = Check::new(&TAG, first, 128);
        guess.absorb(before);
        guess.begin_lots();
        guess.add_lot(sent, &[Block::ZERO; 128], &packed);
        let guessed = guess.prove();
        let both = proof.iter().zip(&guessed[..Block::BYTES]);
        let mask: Vec<u8> = both.map(|(sent, guessed)| sent ^ guessed).collect();
        assert!(mask != [0; Block::BYTES], "the guess is confirmed");
        assert!(masks.insert(mask), "one mask hides two calls");
    }
}

/// The seed of random choices.
fn choices() -> Prg {
    Prg::new(Block::from_u128(77))
}

/// Calls of all lengths, each of which has at least one lot on its own thread.
const CALLS: [usize; 5] = [LOT * 3, 5, LOT, LOT + 129, 1000];

/// The messages, both parties' blocks and their next numbers of calls one after the other.
fn one_by_one() -> (Vec<Vec<u8>>, Vec<Vec<Block>>, [u64; 2]) {
    let (_, mut sender, mut receiver) = halves(2, 3);
    let (mut messages, mut all, mut rng) = (Vec::new(), Vec::new(), choices());
    for count in CALLS {
        let (mut t, mut q) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
        let mut message = Vec::new();
        receiver
            .extend_random(&mut rng, &mut t, &mut message)
            .unwrap();
        sender.extend_random(&mut q, &message).unwrap();
        all.extend([t, q]);
        messages.push(message);
    }
    (messages, all, [receiver.next_index(), sender.next_index()])
}

#[test]
fn calls_at_once_are_those_one_after_the_other() {
    let (messages, all, numbers) = one_by_one();
    for threads in [1, 2, 16] {
        let (_, mut sender, mut receiver) = halves(2, 3);
        let threads = NonZeroUsize::new(threads).unwrap();
        sender.set_threads(threads);
        receiver.set_threads(threads);
        let mut t = CALLS.map(|count| vec![Block::ZERO; count]);
        let mut q = t.clone();
        let into = t.iter_mut().map(|t| &mut t[..]).collect();
        let found = receiver
            .extend_random_at_once(&mut choices(), into)
            .unwrap();
        assert!(found == messages, "{threads} threads");
        let calls = q.iter_mut().zip(&messages);
        let calls = calls.map(|(q, message)| (&mut q[..], &message[..]));
        sender.extend_random_at_once(calls.collect()).unwrap();
        let found: Vec<_> = t.into_iter().zip(q).flat_map(|(t, q)| [t, q]).collect();
        assert!(found == all, "{threads} threads");
        assert_eq!([receiver.next_index(), sender.next_index()], numbers);
        // Further calls go on where these ended.
        let mut t = [Block::ZERO; 300];
        let (mut q, mut message) = (t, Vec::new());
        receiver
            .extend_random(&mut choices(), &mut t, &mut message)
            .unwrap();
        assert!(sender.extend_random(&mut q, &message).is_ok());
    }
}

/// A check that fails in one of several calls ends the sender, and none of their OTs is left.
#[test]
fn one_wrong_call_of_several_ends_the_sender() {
    let (messages, ..) = one_by_one();
    for wrong in 0..CALLS.len() {
        let (_, mut sender, _) = halves(2, 3);
        sender.set_threads(NonZeroUsize::new(3).unwrap());
        let mut messages = messages.clone();
        let last = messages[wrong].len() - 1;
        messages[wrong][last] ^= 1;
        let mut q = CALLS.map(|count| vec![Block::ZERO; count]);
        let calls = q.iter_mut().zip(&messages);
        let calls = calls.map(|(q, message)| (&mut q[..], &message[..]));
        let check = Failed::Choices;
        let failed = sender.extend_random_at_once(calls.collect());
        assert_eq!(failed, Err(PeerMisbehaved::CheckFailed { check }.into()));
        assert!(q.iter().flatten().all(|block| *block == Block::ZERO));
        assert!(sender.extend(1, &[]).is_err());
    }
}

/// Messages of other lengths are refused, even if all of them have the right length together.
#[test]
fn calls_of_other_lengths_are_refused() {
    let (messages, ..) = one_by_one();
    let (_, mut sender, _) = halves(2, 3);
    let mut messages = messages;
    let moved = messages[0].pop().unwrap();
    messages[1].insert(0, moved);
    let mut q = CALLS.map(|count| vec![Block::ZERO; count]);
    let calls = q.iter_mut().zip(&messages);
    let calls = calls.map(|(q, message)| (&mut q[..], &message[..]));
    let refused = sender.extend_random_at_once(calls.collect());
    let is_length = matches!(
        refused,
        Err(Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. }))
    );
    assert!(is_length, "{refused:?}");
}
