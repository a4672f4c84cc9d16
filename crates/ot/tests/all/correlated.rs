//! Correlated OT: the correlation at all sizes, the frozen transcript, and misuse.

use std::num::NonZeroUsize;

use crate::dealer::{choices, dealt};
use crate::seeded::Seeded;
use crate::vector::Vector;
use rand_core::Rng;
use sha2::{Digest, Sha256};
use tacit_kernels::{Aes128, Block, Cpu};
use tacit_ot::base::Key;
use tacit_ot::correlated::{CotReceiver, CotSender, MAX_CALL};
use tacit_ot::{ApiMisuse, Delta, Error, FieldBits, Message, PeerMisbehaved, SessionTag, base};

const TAG: SessionTag = SessionTag::new([0xa5; 32]);

fn halves(field: FieldBits) -> (Delta, CotSender, CotReceiver) {
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (chosen, pairs) = dealt(&delta);
    let sender = CotSender::new(delta.clone(), chosen, &TAG, field).unwrap();
    let receiver = CotReceiver::new(pairs, &TAG, field).unwrap();
    (delta, sender, receiver)
}

fn check(delta: &Delta, choices: &[bool], q: &[Block], t: &[Block]) {
    assert_eq!((q.len(), t.len()), (choices.len(), choices.len()));
    for ((&q, &t), &b) in q.iter().zip(t).zip(choices) {
        assert_eq!(t, q ^ delta.to_block().and_bit(u8::from(b).into()));
    }
}

fn all_fields() -> impl Iterator<Item = FieldBits> {
    (1..=FieldBits::MAX).map(|k| FieldBits::new(k).unwrap())
}

#[test]
fn correlated_over_real_base_ots() {
    let (mut rng_s, mut rng_r) = (Seeded::new("garbler"), Seeded::new("evaluator"));
    let delta = Delta::random(&mut rng_s);
    let (garbler, to_evaluator) =
        base::Receiver::start(&delta.choices(), &TAG, &mut rng_s).unwrap();
    let (evaluator, to_garbler) = base::Sender::start(Delta::BITS, &TAG, &mut rng_r).unwrap();
    let chosen = garbler.finish(NonZeroUsize::MIN, &to_garbler).unwrap();
    let pairs = evaluator.finish(&to_evaluator).unwrap();
    let field = FieldBits::DEFAULT;
    let mut sender = CotSender::new(delta.clone(), chosen, &TAG, field).unwrap();
    let mut receiver = CotReceiver::new(pairs, &TAG, field).unwrap();
    let choices = choices(300, "input");
    let (message, t) = receiver.extend(&choices).unwrap();
    let q = sender.extend(300, &message).unwrap();
    check(&delta, &choices, &q, &t);
}

#[test]
fn correlated_around_every_block_size() {
    for field in all_fields() {
        let (delta, mut sender, mut receiver) = halves(field);
        let mut total = 0;
        for count in [
            1, 0, 2, 7, 8, 63, 127, 128, 129, 255, 256, 257, 1023, 4095, 4096, 4097,
        ] {
            let choices = choices(count, "sizes");
            assert_eq!(sender.next_index(), total);
            assert_eq!(receiver.next_index(), total);
            let expected = sender.message_len(count);
            let (message, t) = receiver.extend(&choices).unwrap();
            assert_eq!(message.len(), expected);
            let q = sender.extend(count, &message).unwrap();
            check(&delta, &choices, &q, &t);
            total += count as u64;
        }
    }
}

#[test]
fn messages_are_as_long_as_documented() {
    for (k, first, later) in [(1, 128 * 32, 128 * 32), (2, 2048 + 64 * 32, 64 * 32)] {
        let (_, mut sender, mut receiver) = halves(FieldBits::new(k).unwrap());
        for expected in [first, later] {
            let (message, _) = receiver.extend(&[true; 200]).unwrap();
            assert_eq!(message.len(), expected);
            sender.extend(200, &message).unwrap();
        }
    }
    // 128 / k bits for each OT, for any k.
    for field in all_fields() {
        let (_, mut sender, mut receiver) = halves(field);
        let (message, _) = receiver.extend(&[]).unwrap();
        sender.extend(0, &message).unwrap();
        assert_eq!(
            sender.message_len(1024),
            128usize.div_ceil(field.get()) * 128
        );
    }
}

#[test]
fn no_row_comes_twice() {
    for field in all_fields() {
        let (_, mut sender, mut receiver) = halves(field);
        let mut rows = Vec::new();
        for count in [200, 200, 5000] {
            let (message, t) = receiver.extend(&vec![false; count]).unwrap();
            rows.extend(t.iter().map(|t| t.to_u128()));
            sender.extend(count, &message).unwrap();
        }
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 5400);
    }
}

/// Computes a leaf of one group's tree by its definition: leaf x is reached from the keys of the
/// first base OT, exchanged, by going to child b on the level whose bit of x is b.
fn textbook_leaf(pairs: &[[Key; 2]], group: u32, x: usize, width: usize) -> Block {
    let mut node = pairs[0][1 - (x & 1)].to_block();
    for level in 1..width {
        let hash = Sha256::new().chain_update(b"tacit OT extension v1 children  ");
        let hash = hash
            .chain_update([0xa5; 32])
            .chain_update(group.to_le_bytes());
        let hash = hash.chain_update((level as u32).to_le_bytes());
        let pair = hash.chain_update(node.to_bytes()).finalize();
        let child = &pair[16 * (x >> level & 1)..][..16];
        node = Block::from_bytes(child.try_into().unwrap());
    }
    node
}

#[test]
fn rows_are_those_of_the_textbook() {
    for field in all_fields() {
        let (delta, mut sender, mut receiver) = halves(field);
        let (_, pairs) = dealt(&delta);
        // This is the second call, after the corrections, and streams have advanced.
        let (message, _) = receiver.extend(&[true; 5]).unwrap();
        sender.extend(5, &message).unwrap();
        let choices = choices(128, "textbook");
        let (message, t) = receiver.extend(&choices).unwrap();
        let bits = (0..).zip(&choices);
        let c = bits.fold(0, |c, (i, &bit)| c | u128::from(bit) << i);
        for (group, keys) in pairs.chunks(field.get()).enumerate() {
            let (mut u, mut v) = (0, vec![0; keys.len()]);
            for x in 0..1 << keys.len() {
                let leaf = textbook_leaf(keys, group as u32, x, keys.len());
                let stream = Aes128::new(Cpu::portable(), leaf).encrypt(Block::from_u128(1));
                u ^= stream.to_u128();
                for (_, v) in v.iter_mut().enumerate().filter(|(b, _)| x >> b & 1 == 1) {
                    *v ^= stream.to_u128();
                }
            }
            assert_eq!(message[16 * group..][..16], (u ^ c).to_le_bytes());
            for (b, v) in v.into_iter().enumerate() {
                let row = group * field.get() + b;
                let column = (0..128).map(|i| (t[i].to_u128() >> row & 1) << i);
                assert_eq!(column.fold(0, |row, bit| row | bit), v);
            }
        }
        check(&delta, &choices, &sender.extend(128, &message).unwrap(), &t);
    }
}

#[test]
fn the_transcript_is_the_frozen_one() {
    for field in all_fields() {
        let (_, mut sender, mut receiver) = halves(field);
        let mut transcript = Sha256::new();
        let mut rows = Sha256::new();
        for count in [5, 4500, 128] {
            let choices = choices(count, "choices");
            let (message, t) = receiver.extend(&choices).unwrap();
            let q = sender.extend(count, &message).unwrap();
            transcript.update(&message);
            q.iter()
                .chain(&t)
                .for_each(|block| rows.update(block.to_bytes()));
        }
        let vector = Vector::load(&format!("ot-correlated-k{}.txt", field.get()));
        vector.check("transcript-sha256", &transcript.finalize());
        vector.check("rows-sha256", &rows.finalize());
    }
}

#[test]
fn the_same_choices_look_different_each_time() {
    let (_, _, mut receiver) = halves(FieldBits::DEFAULT);
    receiver.extend(&[]).unwrap();
    let (first, _) = receiver.extend(&[true; 128]).unwrap();
    let (second, _) = receiver.extend(&[true; 128]).unwrap();
    assert!(first.iter().zip(&second).filter(|(a, b)| a == b).count() < first.len() / 32);
}

#[test]
fn a_wrong_length_ends_the_sender() {
    for change in [-1isize, 1, 16] {
        let (_, mut sender, mut receiver) = halves(FieldBits::DEFAULT);
        let (mut message, _) = receiver.extend(&[true; 130]).unwrap();
        let expected = message.len();
        let found = expected.checked_add_signed(change).unwrap();
        message.resize(found, 0);
        let refused = PeerMisbehaved::WrongLength {
            message: Message::Extension,
            expected,
            found,
        };
        assert_eq!(sender.extend(130, &message).unwrap_err(), refused.into());
        message.resize(expected, 0);
        assert_eq!(
            sender.extend(130, &message).unwrap_err(),
            ApiMisuse::Ended.into()
        );
    }
}

#[test]
fn a_repeated_first_message_is_refused() {
    let (_, mut sender, mut receiver) = halves(FieldBits::DEFAULT);
    let (message, _) = receiver.extend(&[true; 130]).unwrap();
    sender.extend(130, &message).unwrap();
    let refused = sender.extend(130, &message).unwrap_err();
    assert!(matches!(
        refused,
        Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. })
    ));
}

#[test]
fn halves_with_different_tags_or_roles_do_not_agree() {
    let field = FieldBits::DEFAULT;
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (chosen, pairs) = dealt(&delta);
    let other = SessionTag::new([0; 32]);
    let mut sender = CotSender::new(delta, chosen, &other, field).unwrap();
    let mut receiver = CotReceiver::new(pairs, &TAG, field).unwrap();
    let (message, t) = receiver.extend(&[false; 128]).unwrap();
    let q = sender.extend(128, &message).unwrap();
    assert!(q.iter().zip(&t).all(|(q, t)| q != t));
}

#[test]
fn any_bytes_give_some_rows_and_no_panic() {
    let mut rng = Seeded::new("noise");
    for field in all_fields() {
        let (_, mut sender, _) = halves(field);
        for count in [1, 129] {
            let mut message = vec![0; sender.message_len(count)];
            rng.fill_bytes(&mut message);
            assert_eq!(sender.extend(count, &message).unwrap().len(), count);
        }
    }
}

#[test]
fn misuse_is_named() {
    let field = FieldBits::DEFAULT;
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (mut chosen, mut pairs) = dealt(&delta);
    chosen.pop();
    pairs.pop();
    let (expected, found) = (128, 127);
    let misuse = Error::from(ApiMisuse::WrongBaseCount { expected, found });
    assert_eq!(
        CotSender::new(delta, chosen, &TAG, field).unwrap_err(),
        misuse
    );
    assert_eq!(CotReceiver::new(pairs, &TAG, field).unwrap_err(), misuse);

    let (_, mut sender, mut receiver) = halves(field);
    let (found, limit) = (MAX_CALL + 1, MAX_CALL);
    let misuse = Error::from(ApiMisuse::TooMany { found, limit });
    assert_eq!(sender.extend(found, &[]).unwrap_err(), misuse);
    assert_eq!(receiver.extend(&vec![false; found]).unwrap_err(), misuse);
    // The caller's mistake ends nothing.
    let (message, t) = receiver.extend(&[false]).unwrap();
    assert_eq!(sender.extend(1, &message).unwrap(), t);
}

#[test]
fn debug_prints_nothing_secret() {
    let (_, sender, receiver) = halves(FieldBits::DEFAULT);
    assert_eq!(format!("{sender:?}"), "CotSender { next: 0, .. }");
    assert_eq!(format!("{receiver:?}"), "CotReceiver { next: 0, .. }");
}
