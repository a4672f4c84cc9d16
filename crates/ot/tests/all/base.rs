//! The base OT: recomputation by its definition, frozen transcript, and messages of a malicious
//! peer.

use std::num::NonZeroUsize;

use crate::dealer::choices;
use crate::seeded::Seeded;
use crate::vector::Vector;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use sha2::{Digest, Sha256};
use tacit_ot::base::{Key, MAX_COUNT, Receiver, Sender};
use tacit_ot::{ApiMisuse, Error, Message, PeerMisbehaved, SessionTag};

const TAG: SessionTag = SessionTag::new([0x5a; 32]);
const ONE: NonZeroUsize = NonZeroUsize::MIN;

struct Run {
    from_sender: Vec<u8>,
    from_receiver: Vec<u8>,
    pairs: Vec<[Key; 2]>,
    chosen: Vec<Key>,
}

fn run(choices: &[bool], sender_tag: &SessionTag, receiver_tag: &SessionTag) -> Run {
    let (mut rng_s, mut rng_r) = (Seeded::new("base sender"), Seeded::new("base receiver"));
    let (sender, from_sender) = Sender::start(choices.len(), sender_tag, &mut rng_s).unwrap();
    let (receiver, from_receiver) = Receiver::start(choices, receiver_tag, &mut rng_r).unwrap();
    assert_eq!(sender.expected_bytes(), from_receiver.len());
    let pairs = sender.finish(&from_receiver).unwrap();
    let chosen = receiver.finish(ONE, &from_sender).unwrap();
    Run {
        from_sender,
        from_receiver,
        pairs,
        chosen,
    }
}

#[test]
fn the_receiver_gets_the_chosen_key_and_not_the_other() {
    for count in [1, 2, 7, 128, 200] {
        let choices = choices(count, "choices");
        let run = run(&choices, &TAG, &TAG);
        for ((pair, chosen), &c) in run.pairs.iter().zip(&run.chosen).zip(&choices) {
            assert_eq!(pair[usize::from(c)].as_bytes(), chosen.as_bytes());
            assert_ne!(pair[usize::from(!c)].as_bytes(), chosen.as_bytes());
        }
        let keys = run.pairs.iter().flatten();
        let mut keys: Vec<_> = keys.map(|key| *key.as_bytes()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 2 * count, "all keys of a batch differ");
    }
}

/// Computes H(i, x, s) and the key by their definitions, one element at a time.
fn textbook_h(i: u32, x: u8, s: &[u8]) -> RistrettoPoint {
    let hash = Sha256::new().chain_update(b"tacit base OT v2 hash to group  ");
    let hash = hash.chain_update([0x5a; 32]).chain_update(i.to_le_bytes());
    let u = hash.chain_update([x]).chain_update(s).finalize();
    RistrettoPoint::map_to_curve(u.into()) * Scalar::from(2u8)
}

#[test]
fn keys_are_those_of_the_textbook() {
    let choices = choices(9, "textbook");
    let run = run(&choices, &TAG, &TAG);
    let half = Scalar::random(&mut Seeded::new("base sender"));
    let a = half + half;
    assert_eq!(
        RistrettoPoint::mul_base(&a).compress().as_bytes(),
        &run.from_sender[..]
    );
    for (i, pair) in (0..).zip(&run.pairs) {
        let phi = &run.from_receiver[64 * i as usize..][..64];
        let (t_bytes, s) = phi.split_at(32);
        let t = CompressedRistretto::from_slice(t_bytes)
            .unwrap()
            .decompress()
            .unwrap();
        let crossed: Vec<u8> = s.iter().zip(t_bytes).map(|(s, t)| s ^ t).collect();
        for (x, s) in [(0u8, s), (1, &crossed)] {
            let shared = (t + textbook_h(i, x, s)) * a;
            let hash = Sha256::new().chain_update(b"tacit base OT v2 key            ");
            let hash = hash.chain_update([0x5a; 32]).chain_update(i.to_le_bytes());
            let hash = hash.chain_update([x]).chain_update(&run.from_sender);
            let hash = hash
                .chain_update(phi)
                .chain_update(shared.compress().as_bytes());
            assert_eq!(pair[usize::from(x)].as_bytes()[..], hash.finalize()[..]);
        }
    }
}

#[test]
fn the_transcript_is_the_frozen_one() {
    let run = run(&choices(128, "choices"), &TAG, &TAG);
    let transcript = Sha256::new().chain_update(&run.from_sender);
    let transcript = transcript.chain_update(&run.from_receiver).finalize();
    let mut keys = Sha256::new();
    for key in run.pairs.iter().flatten().chain(&run.chosen) {
        keys.update(key.as_bytes());
    }
    let vector = Vector::load("ot-base.txt");
    vector.check("transcript-sha256", &transcript);
    vector.check("keys-sha256", &keys.finalize());
}

#[test]
fn another_tag_gives_other_keys() {
    let choices = choices(4, "tags");
    let run = run(&choices, &TAG, &SessionTag::new([0x5b; 32]));
    for (pair, chosen) in run.pairs.iter().zip(&run.chosen) {
        assert!(pair.iter().all(|key| key.as_bytes() != chosen.as_bytes()));
    }
}

#[test]
fn the_messages_of_both_choices_look_alike() {
    let zeros = run(&[false; 64], &TAG, &TAG);
    let ones = run(&[true; 64], &TAG, &TAG);
    assert_eq!(zeros.from_receiver.len(), ones.from_receiver.len());
    assert_ne!(zeros.from_receiver, ones.from_receiver);
    let set = |message: &[u8]| -> u32 { message.iter().map(|byte| byte.count_ones()).sum() };
    for run in [zeros, ones] {
        let s: Vec<u8> = run
            .from_receiver
            .chunks(64)
            .flat_map(|phi| &phi[32..])
            .copied()
            .collect();
        assert!((7_700..8_700).contains(&set(&s)), "s is uniform");
    }
}

fn send_to_sender(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let (sender, _) = Sender::start(4, &TAG, &mut Seeded::new("base sender")).unwrap();
    let mut rng = Seeded::new("base receiver");
    let (_, mut message) = Receiver::start(&[true; 4], &TAG, &mut rng).unwrap();
    change(&mut message);
    sender.finish(&message).unwrap_err()
}

fn send_to_receiver(message: &[u8]) -> Error {
    let mut rng = Seeded::new("base receiver");
    let (receiver, _) = Receiver::start(&[true; 4], &TAG, &mut rng).unwrap();
    receiver.finish(ONE, message).unwrap_err()
}

#[test]
fn wrong_lengths_are_refused() {
    for found in [0, 63, 255, 257, 512] {
        let wrong = PeerMisbehaved::WrongLength {
            message: Message::BaseReceiver,
            expected: 256,
            found,
        };
        assert_eq!(
            send_to_sender(|message| message.resize(found, 1)),
            wrong.into()
        );
    }
    for found in [0, 31, 33, 64] {
        let wrong = PeerMisbehaved::WrongLength {
            message: Message::BaseSender,
            expected: 32,
            found,
        };
        assert_eq!(send_to_receiver(&vec![1; found]), wrong.into());
    }
}

#[test]
fn encodings_that_are_not_canonical_are_refused() {
    // p itself, a negative field element, 2^255 − 1, and a non-square.
    let mut modulus = [0xff; 32];
    (modulus[0], modulus[31]) = (0xed, 0x7f);
    let mut one = [0; 32];
    one[0] = 1;
    let mut high = [0xff; 32];
    high[31] = 0x7f;
    let not_square = (2u8..).step_by(2).map(|low| {
        let mut bytes = [0; 32];
        bytes[0] = low;
        bytes
    });
    let not_square = not_square
        .into_iter()
        .find(|b| CompressedRistretto(*b).decompress().is_none());
    for bytes in [modulus, one, high, not_square.unwrap()] {
        let message = Message::BaseSender;
        let invalid = PeerMisbehaved::InvalidPoint { message, index: 0 };
        assert_eq!(send_to_receiver(&bytes), invalid.into());
        let message = Message::BaseReceiver;
        let invalid = PeerMisbehaved::InvalidPoint { message, index: 2 };
        let found = send_to_sender(|message| message[128..160].copy_from_slice(&bytes));
        assert_eq!(found, invalid.into());
    }
}

#[test]
fn the_identity_is_refused_wherever_it_stands() {
    let message = Message::BaseSender;
    let identity = PeerMisbehaved::IdentityPoint { message, index: 0 };
    assert_eq!(send_to_receiver(&[0; 32]), identity.into());
    let message = Message::BaseReceiver;
    let identity = PeerMisbehaved::IdentityPoint { message, index: 3 };
    assert_eq!(
        send_to_sender(|message| message[192..224].fill(0)),
        identity.into()
    );
    // T = −H(3, 0, s) makes Y_0 the identity, T = −H(3, 1, s ⊕ T) makes Y_1.
    let t = (-textbook_h(3, 0, &[9; 32])).compress();
    let aimed_0 = send_to_sender(|message| {
        message[192..224].copy_from_slice(t.as_bytes());
        message[224..].fill(9);
    });
    assert_eq!(aimed_0, identity.into());
    let t = (-textbook_h(3, 1, &[9; 32])).compress();
    let aimed_1 = send_to_sender(|message| {
        message[192..224].copy_from_slice(t.as_bytes());
        let s: Vec<u8> = t.as_bytes().iter().map(|byte| byte ^ 9).collect();
        message[224..].copy_from_slice(&s);
    });
    assert_eq!(aimed_1, identity.into());
}

#[test]
fn repeated_elements_are_refused() {
    let (message, first, second) = (Message::BaseReceiver, 1, 3);
    let repeated = PeerMisbehaved::RepeatedPoint {
        message,
        first,
        second,
    };
    let found = send_to_sender(|message| message.copy_within(64..96, 192));
    assert_eq!(found, repeated.into());
}

#[test]
fn our_own_messages_come_back_in_vain() {
    let (sender, message) = Sender::start(4, &TAG, &mut Seeded::new("base sender")).unwrap();
    let refused = sender.finish(&message).unwrap_err();
    assert!(matches!(
        refused,
        Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. })
    ));
    let mut rng = Seeded::new("base receiver");
    let (receiver, message) = Receiver::start(&[true; 4], &TAG, &mut rng).unwrap();
    let refused = receiver.finish(ONE, &message).unwrap_err();
    assert!(matches!(
        refused,
        Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. })
    ));
}

#[test]
fn an_echo_between_two_directions_gives_unrelated_keys() {
    // We run one batch in each direction, and the peer echoes our own messages.
    let (there, back) = (SessionTag::new([1; 32]), SessionTag::new([2; 32]));
    let run = run(&choices(8, "echo"), &there, &back);
    for (pair, chosen) in run.pairs.iter().zip(&run.chosen) {
        assert!(pair.iter().all(|key| key.as_bytes() != chosen.as_bytes()));
    }
}

#[test]
fn empty_and_huge_batches_are_refused() {
    let mut rng = Seeded::new("count");
    for found in [0, MAX_COUNT + 1] {
        let limit = MAX_COUNT;
        let misuse = Error::from(ApiMisuse::BaseCount { found, limit });
        assert_eq!(Sender::start(found, &TAG, &mut rng).unwrap_err(), misuse);
        let choices = vec![false; found];
        assert_eq!(
            Receiver::start(&choices, &TAG, &mut rng).unwrap_err(),
            misuse
        );
    }
}

#[test]
fn debug_prints_nothing_secret() {
    let mut rng = Seeded::new("debug");
    let (sender, _) = Sender::start(1, &TAG, &mut rng).unwrap();
    let (receiver, _) = Receiver::start(&[true], &TAG, &mut rng).unwrap();
    assert_eq!(format!("{sender:?}"), "Sender { count: 1, .. }");
    assert_eq!(format!("{receiver:?}"), "Receiver { count: 1, .. }");
    assert_eq!(format!("{:?}", Key::from_bytes([7; 32])), "Key(..)");
}
