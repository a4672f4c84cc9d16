//! The source: numbers, refills, costs, and peers that tamper.

use crate::dealer::{TAG, dealt, halves, refill, soft_spoken};
use crate::seeded::Seeded;
use crate::vector::Vector;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tacit_ot::precomputed::{ReceiverOts, SenderOts};
use tacit_ot::source::{Cost, Extension, MAX_REFILL, SourceReceiver, SourceSender, Turn};
use tacit_ot::{ApiMisuse, Delta, Error, PeerMisbehaved, Security};

const BOTH: [Security; 2] = [Security::SemiHonest, Security::Malicious];

/// Checks t = q ⊕ bΔ with b in bit 0, and the numbers.
fn check(delta: &Delta, sender: SenderOts, receiver: ReceiverOts) -> usize {
    assert_eq!(sender.range(), receiver.range());
    let ((offset, q), t) = (sender.into_correlated(), receiver.into_blocks());
    assert_eq!(offset.to_block(), delta.to_block());
    let mut ones = 0;
    for (&q, &t) in q.iter().zip(t.iter()) {
        let b = t.lsb();
        assert!(!bool::from(q.lsb()));
        assert_eq!(t, q ^ delta.to_block().and_bit(b));
        ones += usize::from(b.unwrap_u8());
    }
    ones
}

fn take_both(sender: &mut SourceSender, receiver: &mut SourceReceiver, first: u64, count: usize) {
    let delta = sender.delta().clone();
    let (s, r) = (
        sender.take(first, count).unwrap(),
        receiver.take(first, count).unwrap(),
    );
    let ones = check(&delta, s, r);
    assert!(
        count < 1000 || ones.abs_diff(count / 2) < count / 8,
        "{ones} of {count}"
    );
}

#[test]
fn every_extension_makes_what_it_is_asked_for() {
    for security in BOTH {
        for extension in (1..=8).map(soft_spoken).chain([Extension::Silent]) {
            let (mut sender, mut receiver) = halves(extension, security, 7);
            let mut next = 7;
            for count in [3000, 1, 0, 129] {
                let cost = sender.cost(count);
                assert_eq!(receiver.cost(count), cost);
                let mut sent = Cost::default();
                refill(&mut sender, &mut receiver, count, |from_sender, message| {
                    let bytes = message.len() as u64;
                    if from_sender {
                        sent.sender_bytes += bytes;
                        sent.sender_messages += 1;
                    } else {
                        sent.receiver_bytes += bytes;
                        sent.receiver_messages += 1;
                    }
                })
                .unwrap();
                sent.made = sender.available().end - next;
                sent.trips = cost.trips;
                assert_eq!(sent, cost, "{extension}, {security:?}, {count}");
                next += cost.made;
                assert!(cost.made >= count as u64);
                assert_eq!(sender.available(), 7..next);
                assert_eq!(receiver.available(), 7..next);
            }
            take_both(&mut sender, &mut receiver, 7, (next - 7) as usize);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Refill(usize),
    Take { skip: u64, count: usize },
}

/// Returns sizes around those at which something changes: words, blocks of 128, lots of 4096,
/// messages.
fn sizes() -> impl Strategy<Value = usize> {
    let around = |size: usize| (size.saturating_sub(3)..size + 3).boxed();
    prop_oneof![
        3 => 0..300usize,
        2 => prop_oneof![around(64), around(128), around(256), around(4096), around(8192)],
        1 => around(65_536),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => sizes().prop_map(Step::Refill),
        2 => (0..40u64, sizes()).prop_map(|(skip, count)| Step::Take { skip, count }),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_calls_hands_out_each_number_once(
        k in 1..=8usize,
        malicious in any::<bool>(),
        first in prop_oneof![Just(0), Just(u64::MAX / 2), 0..1u64 << 40],
        steps in steps(),
    ) {
        let security = BOTH[usize::from(malicious)];
        let (mut sender, mut receiver) = halves(soft_spoken(k), security, first);
        let (mut next, mut made) = (first, first);
        for step in steps {
            match step {
                Step::Refill(count) => {
                    refill(&mut sender, &mut receiver, count, |_, _| ()).unwrap();
                    made += count as u64;
                }
                Step::Take { skip, count } => {
                    let (from, end) = (next + skip, next + skip + count as u64);
                    if end > made {
                        let error = Error::from(ApiMisuse::NotMade { first: from, end, made });
                        prop_assert_eq!(sender.take(from, count).unwrap_err(), error);
                        prop_assert_eq!(receiver.take(from, count).unwrap_err(), error);
                    } else {
                        take_both(&mut sender, &mut receiver, from, count);
                        next = end;
                    }
                }
            }
            prop_assert_eq!(sender.available(), next..made);
            prop_assert_eq!(receiver.available(), next..made);
        }
        if next > 0 {
            let error = Error::from(ApiMisuse::AlreadyUsed { first: next - 1, next });
            prop_assert_eq!(sender.take(next - 1, 0).unwrap_err(), error);
            prop_assert_eq!(receiver.take(next - 1, 0).unwrap_err(), error);
        }
    }
}

#[test]
fn a_peer_that_tampers_ends_the_half_and_leaves_nothing() {
    for extension in [soft_spoken(2), soft_spoken(8), Extension::Silent] {
        let messages = if extension == Extension::Silent { 7 } else { 2 };
        for target in 0..messages {
            let (mut sender, mut receiver) = halves(extension, Security::Malicious, 0);
            let mut seen = 0;
            let error = refill(&mut sender, &mut receiver, 70_000, |_, message| {
                if seen == target {
                    let middle = message.len() / 2;
                    message[middle] ^= 4;
                }
                seen += 1;
            })
            .unwrap_err();
            let failed = matches!(
                error,
                Error::PeerMisbehaved(PeerMisbehaved::CheckFailed { .. })
            );
            assert!(failed, "{extension}, message {target}: {error}");
            let ended = Error::from(ApiMisuse::Ended);
            let s = sender.refill(1).err() == Some(ended) && sender.available().is_empty();
            let r = receiver.refill(1).err() == Some(ended) && receiver.available().is_empty();
            assert!(s || r);
            assert!(!s || sender.take(0, 1).unwrap_err() == ended);
            assert!(!r || receiver.take(0, 1).unwrap_err() == ended);
        }
    }
}

#[test]
fn wrong_lengths_end_the_half() {
    for extension in [soft_spoken(2), Extension::Silent] {
        for target in 0..5 {
            let (mut sender, mut receiver) = halves(extension, Security::Malicious, 0);
            let (mut seen, mut cut) = (0, false);
            let result = refill(&mut sender, &mut receiver, 70_000, |_, message| {
                if seen == target {
                    message.pop();
                    cut = true;
                }
                seen += 1;
            });
            let refused = Error::PeerMisbehaved;
            match result {
                Ok(()) => assert!(!cut),
                Err(Error::PeerMisbehaved(fault @ PeerMisbehaved::WrongLength { .. })) => {
                    assert_eq!(result.unwrap_err(), refused(fault));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn misuse_is_named_and_ends_nothing() {
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::SemiHonest, 0);
    let not_its_turn = Error::from(ApiMisuse::NotItsTurn);
    assert_eq!(sender.receive(&[]).unwrap_err(), not_its_turn);
    assert_eq!(receiver.receive(&[]).unwrap_err(), not_its_turn);
    let (found, limit) = (MAX_REFILL + 1, MAX_REFILL);
    let too_many = Error::from(ApiMisuse::TooMany { found, limit });
    assert_eq!(sender.refill(found).unwrap_err(), too_many);
    assert_eq!(receiver.refill(found).unwrap_err(), too_many);
    sender.refill(5).unwrap();
    let refilling = Error::from(ApiMisuse::Refilling);
    assert_eq!(sender.refill(5).unwrap_err(), refilling);
    receiver.refill(5).unwrap();
    let (mut message, mut rng) = (Vec::new(), Seeded::new("misuse"));
    let bytes = match sender.next(&mut rng, &mut message).unwrap() {
        Turn::Receive { bytes } => bytes,
        turn => panic!("{turn:?}"),
    };
    assert_eq!(receiver.next(&mut rng, &mut message).unwrap(), Turn::Send);
    assert_eq!(message.len(), bytes);
    sender.receive(&message).unwrap();
    assert_eq!(sender.next(&mut rng, &mut message).unwrap(), Turn::Idle);
    take_both(&mut sender, &mut receiver, 1, 4);
}

#[test]
fn numbers_end_and_do_not_begin_again() {
    let used_up = Error::from(ApiMisuse::UsedUp { limit: u64::MAX });
    let first = u64::MAX - 100;
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::Malicious, first);
    assert_eq!(sender.refill(101).unwrap_err(), used_up);
    assert_eq!(receiver.refill(101).unwrap_err(), used_up);
    refill(&mut sender, &mut receiver, 100, |_, _| ()).unwrap();
    assert_eq!(sender.available(), first..u64::MAX);
    assert_eq!(sender.refill(1).unwrap_err(), used_up);
    take_both(&mut sender, &mut receiver, first, 100);
    assert_eq!(receiver.refill(1).unwrap_err(), used_up);
    // Silent OT makes more than is requested.
    let (mut sender, mut receiver) = halves(Extension::Silent, Security::SemiHonest, first);
    assert_eq!(sender.refill(1).unwrap_err(), used_up);
    assert_eq!(receiver.refill(1).unwrap_err(), used_up);
}

/// Both halves know how many OTs small refills lose, and so how many the base OTs still give.
#[test]
fn padding_is_counted() {
    for (security, of_masks) in [(Security::SemiHonest, 0), (Security::Malicious, 128)] {
        let (mut sender, mut receiver) = halves(soft_spoken(2), security, 0);
        let mut expected = 0;
        for count in [1, 128, 129, 300] {
            refill(&mut sender, &mut receiver, count, |_, _| ()).unwrap();
            expected += (count.div_ceil(128) * 128 - count) as u64 + of_masks;
            assert_eq!((sender.padding(), receiver.padding()), (expected, expected));
        }
    }
    let (mut sender, mut receiver) = halves(Extension::Silent, Security::SemiHonest, 0);
    refill(&mut sender, &mut receiver, 1, |_, _| ()).unwrap();
    assert_eq!((sender.padding(), receiver.padding()), (0, 0));
}

#[test]
fn refills_of_different_sizes_do_not_go_together() {
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::SemiHonest, 0);
    sender.refill(128).unwrap();
    receiver.refill(129).unwrap();
    let (mut message, mut rng) = (Vec::new(), Seeded::new("sizes"));
    receiver.next(&mut rng, &mut message).unwrap();
    assert!(matches!(
        sender.receive(&message).unwrap_err(),
        Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. })
    ));
}

#[test]
fn the_transcript_is_the_frozen_one() {
    let vector = Vector::load("ot-source.txt");
    for security in BOTH {
        for extension in [soft_spoken(2), soft_spoken(4), Extension::Silent] {
            let (mut sender, mut receiver) = halves(extension, security, 1000);
            let (mut transcript, mut outputs) = (Sha256::new(), Sha256::new());
            for count in [100, 70_000] {
                refill(&mut sender, &mut receiver, count, |_, m| {
                    transcript.update(m)
                })
                .unwrap();
            }
            let (s, r) = (sender.take(1003, 70_097), receiver.take(1003, 70_097));
            for half in [s.unwrap().into_correlated().1, r.unwrap().into_blocks()] {
                half.iter()
                    .for_each(|block| outputs.update(block.to_bytes()));
            }
            let name = match security {
                Security::SemiHonest => format!("{extension}-semi-honest"),
                Security::Malicious => format!("{extension}-malicious"),
            };
            vector.check(&format!("{name}-transcript-sha256"), &transcript.finalize());
            vector.check(&format!("{name}-ots-sha256"), &outputs.finalize());
        }
    }
}

#[test]
fn debug_prints_nothing_secret() {
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::SemiHonest, 0);
    refill(&mut sender, &mut receiver, 5, |_, _| ()).unwrap();
    assert_eq!(
        format!("{sender:?}"),
        "SourceSender { available: 0..5, .. }"
    );
    assert_eq!(
        format!("{receiver:?}"),
        "SourceReceiver { available: 0..5, .. }"
    );
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (mut chosen, _) = dealt(&delta);
    chosen.pop();
    let made = SourceSender::new(delta, chosen, &TAG, soft_spoken(2), Security::SemiHonest, 0);
    let (expected, found) = (128, 127);
    let misuse = Error::from(ApiMisuse::WrongBaseCount { expected, found });
    assert_eq!(made.unwrap_err(), misuse);
}
