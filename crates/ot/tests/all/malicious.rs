//! The maliciously secure extension: it works, its transcript is frozen, and cheats are caught as
//! often as proven.

use crate::dealer::{choices, dealt_from, random_key};
use crate::seeded::Seeded;
use crate::vector::Vector;
use sha2::{Digest, Sha256};
use tacit_kernels::Block;
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::{ApiMisuse, Check, Delta, Error, FieldBits, PeerMisbehaved, Security, SessionTag};

const TAG: SessionTag = SessionTag::new([0xc3; 32]);

/// Returns both halves over base OTs of a trusted dealer, with the Δ and keys that `label`
/// determines.
fn halves(field: FieldBits, label: &str) -> (Delta, CotSender, CotReceiver) {
    let mut rng = Seeded::new(label);
    let delta = Delta::random(&mut rng);
    let (chosen, pairs) = dealt_from(&delta, &mut rng);
    let security = Security::Malicious;
    let sender = CotSender::with_security(delta.clone(), chosen, &TAG, field, security).unwrap();
    let receiver = CotReceiver::with_security(pairs, &TAG, field, security).unwrap();
    (delta, sender, receiver)
}

fn field(k: usize) -> FieldBits {
    FieldBits::new(k).unwrap()
}

fn failed(check: Check) -> Error {
    PeerMisbehaved::CheckFailed { check }.into()
}

#[test]
fn correlated_around_every_block_size() {
    for k in 1..=FieldBits::MAX {
        let (delta, mut sender, mut receiver) = halves(field(k), "sizes");
        let (mut message, mut total) = (Vec::new(), 0);
        for count in [1, 0, 127, 128, 129, 4095, 4096, 4097, 9000, 3] {
            let choices = choices(count, "choices");
            let expected = sender.message_len(count);
            let (mut t, mut q) = (vec![Block::ONES; count], vec![Block::ONES; count]);
            receiver
                .extend_into(&choices, &mut t, &mut message)
                .unwrap();
            assert_eq!(message.len(), expected);
            sender.extend_into(&mut q, &message).unwrap();
            for ((&q, &t), &b) in q.iter().zip(&t).zip(&choices) {
                assert_eq!(t, q ^ delta.to_block().and_bit(u8::from(b).into()));
            }
            total += count as u64;
            assert_eq!((sender.next_index(), receiver.next_index()), (total, total));
        }
    }
}

#[test]
fn the_transcript_is_the_frozen_one() {
    let vector = Vector::load("ot-correlated-malicious.txt");
    for k in 1..=FieldBits::MAX {
        let (_, mut sender, mut receiver) = halves(field(k), "frozen");
        let (mut transcript, mut rows) = (Sha256::new(), Sha256::new());
        for count in [5, 4500, 128] {
            let (message, t) = receiver.extend(&choices(count, "choices")).unwrap();
            let q = sender.extend(count, &message).unwrap();
            transcript.update(&message);
            let both = q.iter().chain(&t);
            both.for_each(|block| rows.update(block.to_bytes()));
        }
        vector.check(&format!("k{k}-transcript-sha256"), &transcript.finalize());
        vector.check(&format!("k{k}-rows-sha256"), &rows.finalize());
    }
}

#[test]
fn messages_are_as_long_as_documented() {
    let (_, mut sender, mut receiver) = halves(field(4), "lengths");
    // Corrections, tree proofs, masks, rows, check.
    for expected in [
        96 * 32 + 33 * 32 + 32 * 16 + 64 * 16 + 48,
        32 * 16 + 64 * 16 + 48,
    ] {
        let (message, _) = receiver.extend(&[true; 200]).unwrap();
        assert_eq!(message.len(), expected);
        sender.extend(200, &message).unwrap();
    }
}

#[test]
fn every_part_of_the_message_is_checked() {
    let k = 2;
    let (_, _, mut receiver) = halves(field(k), "parts");
    let honest = receiver.extend(&[true; 300]).unwrap().0;
    let trees = 64 * 32 + 65 * 32;
    let mut caught = 0;
    for at in (0..honest.len())
        .step_by(97)
        .chain(honest.len() - 48..honest.len())
    {
        let (_, mut sender, _) = halves(field(k), "parts");
        let mut message = honest.clone();
        message[at] ^= 0x10;
        let error = match sender.extend(300, &message) {
            // A wrong correction that Δ does not select changes the challenge all the same.
            Ok(_) => panic!("byte {at} may be changed"),
            Err(error) => error,
        };
        let expected = [failed(Check::Trees), failed(Check::Choices)];
        assert!(expected.contains(&error), "{error}");
        assert!(at < trees || error == failed(Check::Choices));
        caught += 1;
    }
    assert!(caught > 90);
}

/// An evaluator that is honest in the extension but not in the base OTs: in `wrong` of them only
/// one branch has the key that it goes on with. That is a guess at the same number of bits of Δ,
/// whose result shows in whether the session goes on, and is no better than any other guess.
#[test]
fn base_ots_with_one_good_branch_pass_when_the_guess_is_right() {
    for (k, wrong, runs) in [(1, 1, 60_u32), (2, 1, 60), (2, 2, 120), (8, 1, 40)] {
        let mut passed = 0;
        for run in 0..runs {
            let mut rng = Seeded::new(&format!("one branch {k} {wrong} {run}"));
            let delta = Delta::random(&mut rng);
            let (mut chosen, pairs) = dealt_from(&delta, &mut rng);
            let choices = delta.choices();
            // Bit 0 of Δ is known. The guess is that the others are zero.
            for at in 1..=wrong {
                if choices[at] {
                    chosen[at] = random_key(&mut rng);
                }
            }
            let right = !choices[1..=wrong].contains(&true);
            let (field, security) = (field(k), Security::Malicious);
            let mut sender =
                CotSender::with_security(delta, chosen, &TAG, field, security).unwrap();
            let mut receiver = CotReceiver::with_security(pairs, &TAG, field, security).unwrap();
            let (message, _) = receiver.extend(&[true; 130]).unwrap();
            match sender.extend(130, &message) {
                Ok(_) => assert!(right),
                Err(error) => {
                    let expected = [failed(Check::Trees), failed(Check::Choices)];
                    assert!(!right && expected.contains(&error), "{error}");
                }
            }
            passed += u32::from(right);
        }
        let expected = f64::from(runs >> wrong);
        let deviations = (f64::from(passed) - expected).abs() / expected.sqrt();
        assert!(deviations < 4.0, "{passed} of {runs}, {expected} expected");
    }
}

#[test]
fn a_failed_check_is_terminal_and_leaves_nothing() {
    let (_, mut sender, mut receiver) = halves(field(2), "terminal");
    let (mut message, _) = receiver.extend(&[true; 130]).unwrap();
    let mut q = vec![Block::ONES; 130];
    *message.last_mut().unwrap() ^= 1;
    let error = sender.extend_into(&mut q, &message).unwrap_err();
    assert_eq!(error, failed(Check::Choices));
    assert!(q.iter().all(|&q| q == Block::ZERO));
    *message.last_mut().unwrap() ^= 1;
    let ended = Error::from(ApiMisuse::Ended);
    assert_eq!(sender.extend_into(&mut q, &message).unwrap_err(), ended);
}

#[test]
fn messages_out_of_order_are_refused() {
    let (_, mut sender, mut receiver) = halves(field(2), "order");
    let (first, _) = receiver.extend(&[true; 128]).unwrap();
    let (second, _) = receiver.extend(&[true; 128]).unwrap();
    let (third, _) = receiver.extend(&[true; 128]).unwrap();
    sender.extend(128, &first).unwrap();
    assert_eq!(
        sender.extend(128, &third).unwrap_err(),
        failed(Check::Choices)
    );
    let (_, mut sender, mut receiver) = halves(field(2), "order");
    let (first, _) = receiver.extend(&[true; 128]).unwrap();
    sender.extend(128, &first).unwrap();
    sender.extend(128, &second).unwrap();
    assert_eq!(
        sender.extend(128, &second).unwrap_err(),
        failed(Check::Choices)
    );
}

#[test]
fn a_buffer_of_another_length_is_refused() {
    let (_, _, mut receiver) = halves(field(2), "buffer");
    let (mut t, mut message) = ([Block::ZERO; 3], Vec::new());
    let refused = receiver.extend_into(&[true; 4], &mut t, &mut message);
    let (expected, found) = (4, 3);
    let misuse = ApiMisuse::WrongBuffer { expected, found };
    assert_eq!(refused.unwrap_err(), misuse.into());
}
