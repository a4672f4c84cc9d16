//! Precomputed OTs: every form at all sizes, a malicious peer's messages, frozen answers.

use core::ops::Range;

use crate::dealer::{TAG, halves, refill, soft_spoken};
use crate::seeded::Seeded;
use crate::vector::Vector;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tacit_kernels::{Aes128, Block, Cpu, Prg};
use tacit_ot::precomputed::{ReceiverOts, SenderOts};
use tacit_ot::{ApiMisuse, Delta, Error, Message, PeerMisbehaved, Security, SessionTag};

fn ots(range: Range<u64>) -> (SenderOts, ReceiverOts) {
    let count = (range.end - range.start) as usize;
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::Malicious, range.start);
    refill(&mut sender, &mut receiver, count, |_, _| ()).unwrap();
    let sender = sender.take(range.start, count).unwrap();
    (sender, receiver.take(range.start, count).unwrap())
}

fn bits(count: usize) -> Vec<bool> {
    let mut rng = Seeded::new("choices");
    (0..count).map(|_| rng.next_u32() & 1 == 1).collect()
}

fn blocks(label: &str, count: usize) -> Vec<Block> {
    let seed: [u8; 32] = Sha256::digest(label).into();
    let mut blocks = vec![Block::ZERO; count];
    Prg::from_seed(&seed).fill_blocks(&mut blocks);
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_form_delivers_the_choice(
        count in prop_oneof![0..40usize, 120..136usize, 1020..1030usize, 4090..4100usize],
        first in prop_oneof![Just(0u64), Just(u64::MAX / 2 - 5)],
        length in prop_oneof![Just(0), 1..50usize, 250..260usize],
    ) {
        let range = first..first + count as u64;
        let choices = bits(count);
        let pick = |zero, one, i: usize| if choices[i] { one } else { zero };

        let (sender, receiver) = ots(range.clone());
        let (chosen, corrections) = receiver.choose(&choices).unwrap();
        let zero_labels = blocks("labels", count);
        let answer = sender.link(&corrections, &zero_labels).unwrap();
        prop_assert_eq!(answer.len(), 16 * count);
        let labels = chosen.open_links(&answer).unwrap();
        let delta = Delta::random(&mut Seeded::new("delta")).to_block();
        for (i, (&zero, &label)) in zero_labels.iter().zip(labels.iter()).enumerate() {
            prop_assert_eq!(label, pick(zero, zero ^ delta, i));
        }

        let (sender, receiver) = ots(range.clone());
        let (chosen, corrections) = receiver.choose(&choices).unwrap();
        let zeros = sender.into_zero_labels(&corrections).unwrap();
        for (i, (&zero, &label)) in zeros.iter().zip(chosen.into_labels().iter()).enumerate() {
            prop_assert_eq!(label, pick(zero, zero ^ delta, i));
        }

        let (sender, receiver) = ots(range.clone());
        let (chosen, corrections) = receiver.choose(&choices).unwrap();
        let pairs = blocks("pairs", 2 * count);
        let answer = sender.send_blocks(&TAG, &corrections, pairs.as_chunks().0).unwrap();
        prop_assert_eq!(answer.len(), 32 * count);
        for (i, &block) in chosen.open_blocks(&TAG, &answer).unwrap().iter().enumerate() {
            prop_assert_eq!(block, pick(pairs[2 * i], pairs[2 * i + 1], i));
        }

        let (sender, receiver) = ots(range.clone());
        let (chosen, corrections) = receiver.choose(&choices).unwrap();
        let bytes = |label| -> Vec<u8> {
            let blocks = blocks(label, (count * length).div_ceil(16));
            blocks.iter().flat_map(|b| b.to_bytes()).take(count * length).collect()
        };
        let (zeros, ones) = (bytes("zeros"), bytes("ones"));
        let answer = sender.send_strings(&TAG, &corrections, length, &zeros, &ones).unwrap();
        prop_assert_eq!(answer.len(), 2 * count * length);
        let strings = chosen.open_strings(&TAG, length, &answer).unwrap();
        for (i, string) in strings.chunks(length.max(1)).enumerate() {
            let at = i * length..(i + 1) * length;
            let of = if choices[i] { &ones } else { &zeros };
            prop_assert_eq!(string, &of[at]);
        }

        let (sender, receiver) = ots(range);
        let pairs = sender.into_random(&TAG);
        let (choices, received) = receiver.into_random(&TAG);
        for ((pair, &choice), &block) in pairs.iter().zip(choices.iter()).zip(received.iter()) {
            prop_assert_eq!(block, pair[usize::from(choice)]);
            prop_assert_ne!(block, pair[1 - usize::from(choice)]);
        }
    }
}

#[test]
fn halves_split_by_number() {
    let (sender, receiver) = ots(10..20);
    let (front, back) = sender.split(4).unwrap();
    assert_eq!((front.range(), back.range()), (10..14, 14..20));
    let (first, other) = receiver.split(4).unwrap();
    assert_eq!((first.range(), other.range()), (10..14, 14..20));
    let pairs = back.into_random(&TAG);
    let (choices, received) = other.into_random(&TAG);
    assert!((0..6).all(|i| received[i] == pairs[i][usize::from(choices[i])]));
    let made = 14;
    let (first_number, end) = (10, 15);
    let not_made = ApiMisuse::NotMade {
        first: first_number,
        end,
        made,
    };
    assert_eq!(front.split(5).unwrap_err(), not_made.into());
    assert_eq!(first.split(5).unwrap_err(), not_made.into());
}

/// r_x = AES_k(σ(x)) ⊕ σ(x), k = start ⊕ tweak, by hand.
#[test]
fn pads_are_those_of_the_hash_by_hand() {
    let (sender, receiver) = ots(5..6);
    let (delta, q) = ots(5..6).0.into_correlated();
    let start = Sha256::new().chain_update(b"tacit OT v1 start of pads' hash ");
    let start = start.chain_update(TAG.as_bytes()).finalize();
    let tweak = Block::from_u128(6 | 5 << 64);
    let key = Block::from_bytes(start[..16].try_into().unwrap()) ^ tweak;
    let pad = |x: Block| {
        let (high, low) = (x.to_u128() >> 64, x.to_u128() as u64 as u128);
        let sigma = Block::from_u128((high ^ low) << 64 | high);
        Aes128::new(Cpu::portable(), key).encrypt(sigma) ^ sigma
    };
    let pairs = sender.into_random(&TAG);
    assert_eq!(pairs[0], [pad(q[0]), pad(q[0] ^ delta.to_block())]);
    let other = SessionTag::new([0; 32]);
    assert_ne!(receiver.into_random(&other).1[0], pairs[0][0]);
}

#[test]
fn what_no_honest_receiver_sends_is_refused() {
    let labels = blocks("labels", 9);
    let refused = |corrections: &[u8]| {
        let again = || ots(0..9).0;
        let pairs = blocks("pairs", 18);
        let error = again().link(corrections, &labels).unwrap_err();
        let sent = again().send_blocks(&TAG, corrections, pairs.as_chunks().0);
        assert_eq!(sent.unwrap_err(), error);
        let sent = again().send_strings(&TAG, corrections, 1, &[0; 9], &[0; 9]);
        assert_eq!(sent.unwrap_err(), error);
        assert_eq!(again().into_zero_labels(corrections).unwrap_err(), error);
        error
    };
    let message = Message::Corrections;
    let padding = PeerMisbehaved::Padding { message };
    assert_eq!(refused(&[0, 2]), padding.into());
    for found in [0, 1, 3] {
        let length = PeerMisbehaved::WrongLength {
            message,
            expected: 2,
            found,
        };
        assert_eq!(refused(&vec![0; found]), length.into());
    }
}

#[test]
fn what_no_honest_sender_answers_is_refused() {
    let chosen = || ots(0..9).1.choose(&[true; 9]).unwrap().0;
    let length = |expected, found| {
        let message = Message::Answer;
        Error::from(PeerMisbehaved::WrongLength {
            message,
            expected,
            found,
        })
    };
    assert_eq!(
        chosen().open_links(&[0; 143]).unwrap_err(),
        length(144, 143)
    );
    let error = chosen().open_blocks(&TAG, &[0; 289]).unwrap_err();
    assert_eq!(error, length(288, 289));
    let error = chosen().open_strings(&TAG, 3, &[0; 55]).unwrap_err();
    assert_eq!(error, length(54, 55));
    assert!(chosen().open_strings(&TAG, usize::MAX, &[]).is_err());
}

#[test]
fn counts_that_do_not_fit_are_misuse() {
    let misuse = |what, expected, found| {
        Error::from(ApiMisuse::WrongCount {
            what,
            expected,
            found,
        })
    };
    let (sender, receiver) = ots(0..2);
    let error = receiver.choose(&[true]).unwrap_err();
    assert_eq!(error, misuse("choices", 2, 1));
    assert_eq!(sender.link(&[0], &[]).unwrap_err(), misuse("labels", 2, 0));
    let error = ots(0..2).0.send_blocks(&TAG, &[0], &[]).unwrap_err();
    assert_eq!(error, misuse("pairs", 2, 0));
    let error = ots(0..2).0.send_strings(&TAG, &[0], 3, &[0; 6], &[0; 5]);
    assert_eq!(error.unwrap_err(), misuse("bytes for choice 1", 6, 5));
}

#[test]
fn the_answers_are_the_frozen_ones() {
    let vector = Vector::load("ot-precomputed.txt");
    let choices = bits(130);
    let made = || ots(1 << 40..(1 << 40) + 130);
    let again = || made().0;
    let digest = |half: &[Block]| {
        let bytes = half.iter().flat_map(|block| block.to_bytes());
        Sha256::digest(bytes.collect::<Vec<_>>())
    };
    vector.check("sender-sha256", &digest(&again().into_correlated().1));
    vector.check("receiver-sha256", &digest(&made().1.into_correlated().1));
    let receiver = made().1;
    let (_, corrections) = receiver.choose(&choices).unwrap();
    vector.check("corrections-sha256", &Sha256::digest(&corrections));
    let answer = again().link(&corrections, &blocks("labels", 130)).unwrap();
    vector.check("links-sha256", &Sha256::digest(answer));
    let pairs = blocks("pairs", 260);
    let answer = again().send_blocks(&TAG, &corrections, pairs.as_chunks().0);
    vector.check("blocks-sha256", &Sha256::digest(answer.unwrap()));
    let answer = again().send_strings(&TAG, &corrections, 33, &[1; 4290], &[2; 4290]);
    vector.check("strings-sha256", &Sha256::digest(answer.unwrap()));
}

#[test]
fn debug_prints_nothing_secret() {
    let (sender, receiver) = ots(3..5);
    assert_eq!(format!("{sender:?}"), "SenderOts(3..5)");
    assert_eq!(format!("{receiver:?}"), "ReceiverOts(3..5)");
    let (chosen, _) = receiver.choose(&[true, false]).unwrap();
    assert_eq!(format!("{chosen:?}"), "ChosenOts { first: 3, .. }");
}
