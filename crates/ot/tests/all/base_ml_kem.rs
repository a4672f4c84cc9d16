//! The base OT from ML-KEM: recomputation by its definition, frozen transcript, and messages of a
//! malicious peer.

use std::num::NonZeroUsize;

use crate::dealer::choices;
use crate::seeded::Seeded;
use crate::vector::Vector;
use libcrux_ml_kem::mlkem768;
use rand_core::Rng;
use sha2::{Digest, Sha256, Sha512};
use tacit_kernels::Prg;
use tacit_ot::base::ml_kem::{Receiver, Sender};
use tacit_ot::base::{Key, MAX_COUNT};
use tacit_ot::{ApiMisuse, Error, Message, PeerMisbehaved, SessionTag};

const TAG: SessionTag = SessionTag::new([0x5a; 32]);
const ONE: NonZeroUsize = NonZeroUsize::MIN;
const PHI: usize = 1248;
const CIPHERTEXT: usize = 1088;
const Q: u32 = 3329;

struct Run {
    from_sender: Vec<u8>,
    from_receiver: Vec<u8>,
    pairs: Vec<[Key; 2]>,
    chosen: Vec<Key>,
}

fn run_under(tags: [&SessionTag; 2], choices: &[bool]) -> Run {
    let (mut rng_s, mut rng_r) = (Seeded::new("base sender"), Seeded::new("base receiver"));
    let (receiver, from_receiver) = Receiver::start(choices, tags[1], &mut rng_r).unwrap();
    let sender = Sender::start(choices.len(), tags[0], &mut rng_s).unwrap();
    assert_eq!(sender.expected_bytes(), from_receiver.len());
    let (pairs, from_sender) = sender.answer(&from_receiver).unwrap();
    assert_eq!(receiver.expected_bytes(), from_sender.len());
    let chosen = receiver.finish(ONE, &from_sender).unwrap();
    Run {
        from_sender,
        from_receiver,
        pairs,
        chosen,
    }
}

fn run(choices: &[bool]) -> Run {
    run_under([&TAG, &TAG], choices)
}

#[test]
fn the_receiver_gets_the_chosen_key_and_not_the_other() {
    for count in [1, 2, 7, 128] {
        let choices = choices(count, "choices");
        let run = run(&choices);
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

fn coefficients(bytes: &[u8]) -> Vec<u32> {
    let triples = bytes.chunks_exact(3);
    let number = |b: &[u8]| u32::from(b[0]) | u32::from(b[1]) << 8 | u32::from(b[2]) << 16;
    let pairs = triples.map(number).map(|n| [n & 0xfff, n >> 12]);
    pairs.flatten().collect()
}

fn encoded(coefficients: &[u32]) -> Vec<u8> {
    let pairs = coefficients.chunks_exact(2);
    let triples = pairs.map(|pair| (pair[0] | pair[1] << 12).to_le_bytes());
    triples.flat_map(|[a, b, c, _]| [a, b, c]).collect()
}

/// Computes H(i, x, ρ, s) by its definition, with a division.
fn textbook_h(i: u32, x: u8, rho: &[u8], s: &[u8]) -> Vec<u32> {
    let hash = Sha256::new().chain_update(b"tacit ML-KEM base OT v1 vector  ");
    let hash = hash.chain_update([0x5a; 32]).chain_update(i.to_le_bytes());
    let seed = hash.chain_update([x]).chain_update(rho).chain_update(s);
    let mut bytes = vec![0; 768 * 8];
    Prg::from_seed(&seed.finalize().into()).fill_bytes(&mut bytes);
    let words = bytes.chunks_exact(8);
    let words = words.map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    words.map(|word| (word % u64::from(Q)) as u32).collect()
}

/// Computes s ⊕ M(i, T, ρ) by its definition.
fn textbook_crossed(i: u32, phi: &[u8]) -> Vec<u8> {
    let prefix = Sha256::new().chain_update(b"tacit ML-KEM base OT v1 mask    ");
    let prefix = prefix.chain_update([0x5a; 32]).finalize();
    let hash = Sha512::new().chain_update(prefix);
    let hash = hash.chain_update(i.to_le_bytes());
    let mask = hash.chain_update(&phi[..1184]).finalize();
    phi[1184..].iter().zip(mask).map(|(s, m)| s ^ m).collect()
}

/// Computes the encapsulation key of branch `x` of φ.
fn textbook_key(i: u32, x: u8, phi: &[u8]) -> [u8; 1184] {
    let rho = &phi[1152..1184];
    let s = match x {
        0 => phi[1184..].to_vec(),
        _ => textbook_crossed(i, phi),
    };
    let shift = textbook_h(i, x, rho, &s);
    let t = coefficients(&phi[..1152]);
    let sum: Vec<u32> = t.iter().zip(&shift).map(|(t, h)| (t + h) % Q).collect();
    [encoded(&sum), rho.to_vec()].concat().try_into().unwrap()
}

#[test]
fn keys_are_those_of_the_textbook() {
    let choices = choices(9, "textbook");
    let run = run(&choices);
    let mut rng = Seeded::new("base sender");
    let mut rng_receiver = Seeded::new("base receiver");
    for (i, (pair, &c)) in (0..).zip(run.pairs.iter().zip(&choices)) {
        let phi = &run.from_receiver[PHI * i as usize..][..PHI];
        for x in [0u8, 1] {
            let key = textbook_key(i, x, phi);
            assert!(mlkem768::validate_public_key(&key.into()));
            let mut seed = [0; 32];
            rng.fill_bytes(&mut seed);
            let (ciphertext, shared) = mlkem768::encapsulate(&key.into(), seed);
            let sent = &run.from_sender[CIPHERTEXT * (2 * i as usize + usize::from(x))..];
            assert_eq!(sent[..CIPHERTEXT], ciphertext.as_slice()[..]);
            let hash = Sha256::new().chain_update(b"tacit ML-KEM base OT v1 key     ");
            let hash = hash.chain_update([0x5a; 32]).chain_update(i.to_le_bytes());
            let hash = hash.chain_update([x]).chain_update(phi);
            let hash = hash
                .chain_update(ciphertext.as_slice())
                .chain_update(shared);
            assert_eq!(pair[usize::from(x)].as_bytes()[..], hash.finalize()[..]);
        }
        let (mut seed, mut mask) = ([0; 64], [0; 64]);
        rng_receiver.fill_bytes(&mut seed);
        rng_receiver.fill_bytes(&mut mask);
        let honest = mlkem768::generate_key_pair(seed);
        assert_eq!(
            textbook_key(i, c.into(), phi),
            *honest.pk(),
            "its own key at c"
        );
        assert_ne!(textbook_key(i, (!c).into(), phi), *honest.pk());
    }
}

#[test]
fn the_transcript_is_the_frozen_one() {
    let run = run(&choices(128, "choices"));
    let transcript = Sha256::new().chain_update(&run.from_receiver);
    let transcript = transcript.chain_update(&run.from_sender).finalize();
    let mut keys = Sha256::new();
    for key in run.pairs.iter().flatten().chain(&run.chosen) {
        keys.update(key.as_bytes());
    }
    let vector = Vector::load("ot-base-ml-kem-768.txt");
    vector.check("transcript-sha256", &transcript);
    vector.check("keys-sha256", &keys.finalize());
}

#[test]
fn another_tag_gives_other_keys() {
    let run = run_under([&TAG, &SessionTag::new([0x5b; 32])], &choices(4, "tags"));
    for (pair, chosen) in run.pairs.iter().zip(&run.chosen) {
        assert!(pair.iter().all(|key| key.as_bytes() != chosen.as_bytes()));
    }
}

#[test]
fn the_messages_of_both_choices_look_alike() {
    for choice in [false, true] {
        let run = run(&[choice; 32]);
        let phis = run.from_receiver.chunks_exact(PHI);
        let t: Vec<u32> = phis
            .clone()
            .flat_map(|phi| coefficients(&phi[..1152]))
            .collect();
        assert!(t.iter().all(|&t| t < Q));
        let mean = t.iter().map(|&t| u64::from(t)).sum::<u64>() / t.len() as u64;
        // The mean of 24,576 uniform values is within 1664 ± 6.1 in two of three cases.
        assert!((1634..=1694).contains(&mean), "T is uniform: {mean}");
        let s = phis.flat_map(|phi| &phi[1184..]);
        let set: u32 = s.map(|byte| byte.count_ones()).sum();
        assert!((7_800..8_600).contains(&set), "s is uniform: {set}");
    }
}

fn send_to_sender(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let mut rng = Seeded::new("base receiver");
    let sender = Sender::start(4, &TAG, &mut rng).unwrap();
    let (_, mut message) = Receiver::start(&[true; 4], &TAG, &mut rng).unwrap();
    change(&mut message);
    sender.answer(&message).unwrap_err()
}

fn answered(change: impl FnOnce(&mut Vec<u8>)) -> (Vec<[Key; 2]>, Result<Vec<Key>, Error>) {
    let mut rng = Seeded::new("base receiver");
    let choices = [false, true, false, true];
    let (receiver, message) = Receiver::start(&choices, &TAG, &mut rng).unwrap();
    let sender = Sender::start(4, &TAG, &mut rng).unwrap();
    let (pairs, mut answer) = sender.answer(&message).unwrap();
    change(&mut answer);
    (pairs, receiver.finish(ONE, &answer))
}

#[test]
fn wrong_lengths_are_refused() {
    for found in [0, PHI, 4 * PHI - 1, 4 * PHI + 1, 5 * PHI] {
        let wrong = PeerMisbehaved::WrongLength {
            message: Message::BaseReceiver,
            expected: 4 * PHI,
            found,
        };
        let refused = send_to_sender(|message| message.resize(found, 1));
        assert_eq!(refused, wrong.into());
    }
    for found in [0, CIPHERTEXT, 8 * CIPHERTEXT - 1, 8 * CIPHERTEXT + 1] {
        let wrong = PeerMisbehaved::WrongLength {
            message: Message::BaseSender,
            expected: 8 * CIPHERTEXT,
            found,
        };
        let (_, refused) = answered(|answer| answer.resize(found, 1));
        assert_eq!(refused.unwrap_err(), wrong.into());
    }
}

#[test]
fn coefficients_that_are_not_reduced_are_refused() {
    let message = Message::BaseReceiver;
    for (index, position, value) in [(0, 0, Q), (2, 767, Q), (3, 1, 0xfff), (1, 400, Q + 1)] {
        let refused = send_to_sender(|message| {
            let phi = &mut message[index * PHI..][..1152];
            let mut t = coefficients(phi);
            t[position] = value;
            phi.copy_from_slice(&encoded(&t));
        });
        let invalid = PeerMisbehaved::InvalidKey { message, index };
        assert_eq!(refused, invalid.into());
    }
}

#[test]
fn repeated_keys_and_ciphertexts_are_refused() {
    let (first, second) = (1, 3);
    let repeated = |message| PeerMisbehaved::RepeatedPoint {
        message,
        first,
        second,
    };
    // Another s alone does not make a repeated key different.
    let refused = send_to_sender(|message| message.copy_within(PHI..PHI + 1184, 3 * PHI));
    assert_eq!(refused, repeated(Message::BaseReceiver).into());
    let (_, refused) =
        answered(|answer| answer.copy_within(CIPHERTEXT..2 * CIPHERTEXT, 3 * CIPHERTEXT));
    assert_eq!(refused.unwrap_err(), repeated(Message::BaseSender).into());
}

#[test]
fn a_changed_ciphertext_spoils_its_own_ot_and_looks_like_any_other() {
    // The receiver ends in the same way whether or not the changed one is that of its choice.
    for changed in 0..8 {
        for byte in [0, CIPHERTEXT - 1] {
            let (pairs, chosen) = answered(|answer| answer[changed * CIPHERTEXT + byte] ^= 1);
            let chosen = chosen.unwrap();
            for (i, (pair, chosen)) in pairs.iter().zip(&chosen).enumerate() {
                let c = i % 2;
                let whole = changed != 2 * i + c;
                assert_eq!(
                    pair[c].as_bytes() == chosen.as_bytes(),
                    whole,
                    "{changed} {i}"
                );
                assert_ne!(pair[1 - c].as_bytes(), chosen.as_bytes());
            }
        }
    }
}

#[test]
fn our_own_messages_come_back_in_vain() {
    let mut rng = Seeded::new("base receiver");
    let (receiver, message) = Receiver::start(&[true; 4], &TAG, &mut rng).unwrap();
    let refused = receiver.finish(ONE, &message).unwrap_err();
    let length = matches!(
        refused,
        Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. })
    );
    assert!(length, "{refused}");
}

#[test]
fn empty_and_huge_batches_are_refused() {
    let mut rng = Seeded::new("count");
    for found in [0, MAX_COUNT + 1] {
        let limit = MAX_COUNT;
        let misuse = Error::from(ApiMisuse::BaseCount { found, limit });
        assert_eq!(Sender::start(found, &TAG, &mut rng).unwrap_err(), misuse);
        let choices = vec![false; found];
        let refused = Receiver::start(&choices, &TAG, &mut rng).unwrap_err();
        assert_eq!(refused, misuse);
    }
}

#[test]
fn debug_prints_nothing_secret() {
    let mut rng = Seeded::new("debug");
    let sender = Sender::start(1, &TAG, &mut rng).unwrap();
    let (receiver, _) = Receiver::start(&[true], &TAG, &mut rng).unwrap();
    assert_eq!(format!("{sender:?}"), "Sender { count: 1, .. }");
    assert_eq!(format!("{receiver:?}"), "Receiver { count: 1, .. }");
}
