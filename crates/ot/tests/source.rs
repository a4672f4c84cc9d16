//! The source: numbers, refills, kept state, costs, and peers that tamper.

mod dealer;
mod seeded;
mod vector;

use dealer::{TAG, dealt, halves, refill, soft_spoken};
use proptest::prelude::*;
use seeded::Seeded;
use sha2::{Digest, Sha256};
use tacit_ot::precomputed::{ReceiverOts, SenderOts};
use tacit_ot::source::{Cost, Extension, MAX_REFILL, SourceReceiver, SourceSender, Turn};
use tacit_ot::{ApiMisuse, Corrupted, Delta, Error, PeerMisbehaved, Security, Stored};
use vector::Vector;

const BOTH: [Security; 2] = [Security::SemiHonest, Security::Malicious];

/// Checks t = q ⊕ bΔ with b in bit 0, and the numbers.
fn check(delta: &Delta, sender: SenderOts, receiver: ReceiverOts) -> usize {
    assert_eq!(sender.range(), receiver.range());
    let ((offset, q), (choices, t)) = (sender.into_correlated(), receiver.into_correlated());
    assert_eq!(offset.to_block(), delta.to_block());
    let mut ones = 0;
    for ((&q, &t), &b) in q.iter().zip(t.iter()).zip(choices.iter()) {
        assert!(!bool::from(q.lsb()));
        assert_eq!(t, q ^ delta.to_block().and_bit(u8::from(b).into()));
        ones += usize::from(b);
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
                assert_eq!(sender.position(), receiver.position());
                sent.made = sender.position().made - next;
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
    Keep,
}

/// Sizes around those at which something changes: words, blocks of 128, lots of 4096, messages.
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
        1 => Just(Step::Keep),
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
                Step::Keep => {
                    let kept = sender.to_bytes().unwrap();
                    sender = SourceSender::from_bytes(&kept).unwrap();
                    prop_assert_eq!(&*sender.to_bytes().unwrap(), &*kept);
                    let kept = receiver.to_bytes().unwrap();
                    receiver = SourceReceiver::from_bytes(&kept).unwrap();
                    prop_assert_eq!(&*receiver.to_bytes().unwrap(), &*kept);
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

    #[test]
    fn damaged_state_is_refused_or_harmless(at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let (mut sender, mut receiver) = halves(soft_spoken(3), Security::Malicious, 9);
        refill(&mut sender, &mut receiver, 20, |_, _| ()).unwrap();
        let mut kept = sender.to_bytes().unwrap();
        let at_s = at.index(kept.len());
        kept[at_s] ^= 1 << bit;
        let _ = SourceSender::from_bytes(&kept);
        prop_assert!(SourceSender::from_bytes(&kept[..at_s]).is_err());
        let mut kept = receiver.to_bytes().unwrap();
        let at_r = at.index(kept.len());
        kept[at_r] ^= 1 << bit;
        let _ = SourceReceiver::from_bytes(&kept);
        prop_assert!(SourceReceiver::from_bytes(&kept[..at_r]).is_err());
    }
}

#[test]
fn kept_state_goes_on_at_the_same_place() {
    for security in BOTH {
        let (mut sender, mut receiver) = halves(Extension::Silent, security, 0);
        // Before it begins, within a round, and with OTs left.
        for count in [1, 300_000] {
            sender = SourceSender::from_bytes(&sender.to_bytes().unwrap()).unwrap();
            receiver = SourceReceiver::from_bytes(&receiver.to_bytes().unwrap()).unwrap();
            refill(&mut sender, &mut receiver, count, |_, _| ()).unwrap();
        }
        sender = SourceSender::from_bytes(&sender.to_bytes().unwrap()).unwrap();
        let made = sender.available();
        assert_eq!(made.end, 229_872 + 778_240);
        take_both(&mut sender, &mut receiver, 5, made.end as usize - 5);
    }
}

/// What is kept after a refill makes other OTs than those of that refill.
#[test]
fn kept_state_does_not_tell_what_was_made() {
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::SemiHonest, 0);
    refill(&mut sender, &mut receiver, 128, |_, _| ()).unwrap();
    let q = sender.take(0, 128).unwrap().into_correlated().1;
    let t = receiver.take(0, 128).unwrap().into_correlated().1;
    let kept = [sender.to_bytes().unwrap(), receiver.to_bytes().unwrap()];
    for block in q.iter().chain(t.iter()) {
        let bytes = block.to_bytes();
        assert!(
            kept.iter()
                .all(|kept| kept.windows(16).all(|window| window != bytes))
        );
    }
    // The keys have moved on: the first leaf is not what it was at the start.
    let fresh = halves(soft_spoken(2), Security::SemiHonest, 0)
        .1
        .to_bytes()
        .unwrap();
    let (leaf, after) = (&fresh[fresh.len() - 16..], &kept[1]);
    assert!(after.windows(16).all(|window| window != leaf));
}

#[test]
fn state_of_another_kind_or_version_is_named() {
    let (sender, receiver) = halves(soft_spoken(2), Security::SemiHonest, 0);
    let (mut s, mut r) = (sender.to_bytes().unwrap(), receiver.to_bytes().unwrap());
    let what = Stored::SenderState;
    let kind = Error::from(Corrupted::Kind { what });
    assert_eq!(SourceSender::from_bytes(&r).unwrap_err(), kind);
    s[4] = 2;
    let (expected, found) = (1, 2);
    let version = Corrupted::Version {
        what,
        expected,
        found,
    };
    assert_eq!(SourceSender::from_bytes(&s).unwrap_err(), version.into());
    let what = Stored::ReceiverState;
    r.push(0);
    let length = Error::from(Corrupted::Length { what });
    assert_eq!(SourceReceiver::from_bytes(&r).unwrap_err(), length);
    r[5] = 9;
    let value = Error::from(Corrupted::Value { what });
    assert_eq!(SourceReceiver::from_bytes(&r).unwrap_err(), value);
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
            assert!(!s || sender.to_bytes().unwrap_err() == ended);
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
    assert_eq!(sender.to_bytes().unwrap_err(), refilling);
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
    sender = SourceSender::from_bytes(&sender.to_bytes().unwrap()).unwrap();
    assert_eq!(sender.available(), first..u64::MAX);
    assert_eq!(sender.refill(1).unwrap_err(), used_up);
    take_both(&mut sender, &mut receiver, first, 100);
    assert_eq!(receiver.refill(1).unwrap_err(), used_up);
    // Silent OT makes more than is asked for.
    let (mut sender, mut receiver) = halves(Extension::Silent, Security::SemiHonest, first);
    assert_eq!(sender.refill(1).unwrap_err(), used_up);
    assert_eq!(receiver.refill(1).unwrap_err(), used_up);
}

#[test]
fn state_with_counts_that_nobody_reaches_is_refused() {
    let (mut sender, mut receiver) = halves(Extension::Silent, Security::SemiHonest, 0);
    refill(&mut sender, &mut receiver, 1, |_, _| ()).unwrap();
    let made = sender.available().end as usize;
    take_both(&mut sender, &mut receiver, 0, made);
    let (s, r) = (sender.to_bytes().unwrap(), receiver.to_bytes().unwrap());
    let [sender, receiver] = [Stored::SenderState, Stored::ReceiverState]
        .map(|what| Error::from(Corrupted::Value { what }));
    // Refills that are done; then, after Δ where there is one, round and batch.
    for (at, count) in [(48, u64::MAX), (80, u64::MAX), (88, 19)] {
        let mut bytes = s.to_vec();
        bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
        assert_eq!(SourceSender::from_bytes(&bytes).unwrap_err(), sender);
        let (mut bytes, at) = (r.to_vec(), if at == 48 { at } else { at - 16 });
        bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
        assert_eq!(SourceReceiver::from_bytes(&bytes).unwrap_err(), receiver);
    }
    // A number of OTs or of blocks that the bytes do not hold allocates nothing.
    for at in [56, 96] {
        let mut bytes = s.to_vec();
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let what = Stored::SenderState;
        let short = Error::from(Corrupted::Length { what });
        assert_eq!(SourceSender::from_bytes(&bytes).unwrap_err(), short);
    }
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
            outputs.update(s.unwrap().to_bytes());
            outputs.update(r.unwrap().to_bytes());
            let mut state = Sha256::new();
            state.update(sender.to_bytes().unwrap());
            state.update(receiver.to_bytes().unwrap());
            let name = match security {
                Security::SemiHonest => format!("{extension}-semi-honest"),
                Security::Malicious => format!("{extension}-malicious"),
            };
            vector.check(&format!("{name}-transcript-sha256"), &transcript.finalize());
            vector.check(&format!("{name}-ots-sha256"), &outputs.finalize());
            vector.check(&format!("{name}-state-sha256"), &state.finalize());
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
