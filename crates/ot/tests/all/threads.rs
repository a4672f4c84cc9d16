//! What is made does not depend on the number of threads, nor does what is sent.

use std::num::NonZeroUsize;

use crate::dealer::{TAG, choices, dealt, halves, refill, soft_spoken};
use crate::seeded::Seeded;
use sha2::{Digest, Sha256};
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::source::Extension;
use tacit_ot::{Delta, Error, FieldBits, Message, PeerMisbehaved, Security};

const BOTH: [Security; 2] = [Security::SemiHonest, Security::Malicious];

/// Threads of the sender and of the receiver.
const THREADS: [(usize, usize); 5] = [(1, 1), (2, 3), (3, 2), (8, 1), (1, 8)];

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Checks that `made` has one value for all numbers of threads.
fn assert_same(what: &str, made: impl Fn(NonZeroUsize, NonZeroUsize) -> [u8; 32]) {
    let all = THREADS.map(|(sender, receiver)| made(threads(sender), threads(receiver)));
    for (made, on) in all.iter().zip(THREADS) {
        assert_eq!(*made, all[0], "{what} on {on:?} threads");
    }
}

/// What a source sends for these counts, and what it makes.
fn of_source(
    (extension, security): (Extension, Security),
    counts: &[usize],
    on: (NonZeroUsize, NonZeroUsize),
) -> [u8; 32] {
    let (mut sender, mut receiver) = halves(extension, security, 0);
    let mut hash = Sha256::new();
    for count in counts {
        sender.set_threads(on.0);
        receiver.set_threads(on.1);
        let sent = |_, message: &mut Vec<u8>| hash.update(message);
        refill(&mut sender, &mut receiver, *count, sent).unwrap();
    }
    let made = (sender.available().end) as usize;
    let q = sender.take(0, made).unwrap().into_correlated().1;
    let t = receiver.take(0, made).unwrap().into_blocks();
    let both = q.iter().chain(t.iter());
    both.for_each(|block| hash.update(block.to_bytes()));
    hash.finalize().into()
}

#[test]
fn sources_make_and_send_the_same_on_any_number_of_threads() {
    for security in BOTH {
        for extension in [1, 2, 4, 8].map(soft_spoken) {
            assert_same(&format!("{extension}, {security:?}"), |sender, receiver| {
                // More messages than are made or taken at once, and fewer.
                let counts = [1, 5 * (1 << 16) + 9, 70_000, 3 * 4096 + 5];
                of_source((extension, security), &counts, (sender, receiver))
            });
        }
        assert_same(&format!("silent, {security:?}"), |sender, receiver| {
            let counts = [1, 500_000];
            of_source((Extension::Silent, security), &counts, (sender, receiver))
        });
    }
}

/// The lengths of messages that are taken together add up, and still the first one is refused.
#[test]
fn a_byte_that_moves_to_the_next_message_is_refused() {
    let (mut sender, mut receiver) = halves(soft_spoken(2), Security::SemiHonest, 0);
    sender.set_threads(threads(2));
    let mut moved = None;
    let refused = refill(
        &mut sender,
        &mut receiver,
        3 << 16,
        |_, message| match moved.take() {
            Some(byte) => message.insert(0, byte),
            None => moved = message.pop(),
        },
    );
    let Err(Error::PeerMisbehaved(PeerMisbehaved::WrongLength {
        message: Message::Extension,
        expected,
        found,
    })) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(found + 1, expected);
}

/// A call of more lots than all threads have at a time.
#[test]
fn a_long_call_is_the_same_on_any_number_of_threads() {
    let count = 40 * 4096 + 77;
    let choices = choices(count, "input");
    // A small field gets threads from far more lots on.
    let field = FieldBits::LARGEST;
    for security in BOTH {
        assert_same(&format!("{security:?}"), |of_sender, of_receiver| {
            let delta = Delta::random(&mut Seeded::new("delta"));
            let (chosen, pairs) = dealt(&delta);
            let sender = CotSender::with_security(delta.clone(), chosen, &TAG, field, security);
            let receiver = CotReceiver::with_security(pairs, &TAG, field, security);
            let (mut sender, mut receiver) = (sender.unwrap(), receiver.unwrap());
            sender.set_threads(of_sender);
            receiver.set_threads(of_receiver);
            let (message, t) = receiver.extend(&choices).unwrap();
            let q = sender.extend(count, &message).unwrap();
            let delta = delta.to_block();
            for ((q, t), choice) in q.iter().zip(&t).zip(&choices) {
                assert_eq!(*t, *q ^ delta.and_bit(u8::from(*choice).into()));
            }
            let mut hash = Sha256::new_with_prefix(&message);
            t.iter().for_each(|block| hash.update(block.to_bytes()));
            hash.finalize().into()
        });
    }
}
