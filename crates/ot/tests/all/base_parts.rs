//! Base OTs whose receiver sends its message in parts, on any number of threads: the same bytes and
//! keys, and the same refusals, even if a lie spans parts.

use std::num::NonZeroUsize;

use crate::seeded::Seeded;
use tacit_ot::base::{Key, ml_kem, ristretto};
use tacit_ot::{ApiMisuse, Error, Message, PeerMisbehaved, SessionTag};

const TAG: SessionTag = SessionTag::new([0x5a; 32]);
const ONE: NonZeroUsize = NonZeroUsize::MIN;

fn choices(count: usize) -> Vec<bool> {
    (0..count).map(|i| i % 3 == 1).collect()
}

fn bytes(keys: &[Key]) -> Vec<[u8; 32]> {
    keys.iter().map(|key| *key.as_bytes()).collect()
}

fn pair_bytes(pairs: &[[Key; 2]]) -> Vec<[u8; 32]> {
    bytes(pairs.as_flattened())
}

#[test]
fn parts_of_any_size_are_the_whole_on_ristretto() {
    let count = 37;
    let rng = || Seeded::new("receiver");
    let (whole, message) = ristretto::Receiver::start(&choices(count), &TAG, &mut rng()).unwrap();
    let start = || ristretto::Sender::start(count, &TAG, &mut Seeded::new("sender")).unwrap();
    let (sender, offer) = start();
    let expected = pair_bytes(&sender.finish(&message).unwrap());
    let chosen = bytes(&whole.finish(ONE, &offer).unwrap());
    for (part, threads) in [(1, 1), (16, 2), (36, 1), (37, 3), (100, 64)] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let mut receiver = ristretto::Receiver::new(&choices(count), &TAG, &mut rng()).unwrap();
        let mut sender = start().0;
        let mut sent = Vec::new();
        while receiver.left() > 0 {
            assert_eq!(sender.expected_bytes(), 64 * receiver.left());
            let made = receiver.offer_on(threads, part);
            sender.take_on(threads, &made).unwrap();
            sent.extend_from_slice(&made);
        }
        assert_eq!(sent, message);
        assert!(receiver.offer_on(threads, part).is_empty());
        assert_eq!(pair_bytes(&sender.into_keys().unwrap()), expected);
        assert_eq!(bytes(&receiver.finish(threads, &offer).unwrap()), chosen);
    }
}

#[test]
fn parts_of_any_size_are_the_whole_on_ml_kem() {
    let count = 37;
    let rng = || Seeded::new("receiver");
    let (whole, message) = ml_kem::Receiver::start(&choices(count), &TAG, &mut rng()).unwrap();
    let start = || ml_kem::Sender::start(count, &TAG, &mut Seeded::new("sender")).unwrap();
    let (pairs, reply) = start().answer(&message).unwrap();
    let chosen = bytes(&whole.finish(ONE, &reply).unwrap());
    for (part, threads) in [(1, 1), (16, 2), (37, 3), (100, 64)] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let mut receiver = ml_kem::Receiver::new(&choices(count), &TAG, &mut rng()).unwrap();
        let mut sender = start();
        let mut sent = Vec::new();
        while receiver.left() > 0 {
            assert_eq!(sender.expected_bytes(), 1248 * receiver.left());
            let made = receiver.offer_on(threads, part);
            sender.take_on(threads, &made).unwrap();
            sent.extend_from_slice(&made);
        }
        assert_eq!(sent, message);
        let (again, answer) = sender.into_answers().unwrap();
        assert_eq!((pair_bytes(&again), &answer), (pair_bytes(&pairs), &reply));
        assert_eq!(bytes(&receiver.finish(threads, &answer).unwrap()), chosen);
    }
}

#[test]
fn parts_of_no_whole_ots_are_refused() {
    let refused = |result: Result<(), Error>, expected, found| {
        let message = Message::BaseReceiver;
        let fault = PeerMisbehaved::WrongLength {
            message,
            expected,
            found,
        };
        assert_eq!(result.unwrap_err(), fault.into());
    };
    let rng = || Seeded::new("anyone");
    for (found, expected) in [(0, 64), (63, 64), (65, 64), (127, 64), (256, 192)] {
        let mut sender = ristretto::Sender::start(3, &TAG, &mut rng()).unwrap().0;
        refused(sender.take_on(ONE, &vec![9; found]), expected, found);
    }
    for (found, expected) in [(0, 1248), (1247, 1248), (4 * 1248, 3 * 1248)] {
        let mut sender = ml_kem::Sender::start(3, &TAG, &mut rng()).unwrap();
        refused(sender.take_on(ONE, &vec![9; found]), expected, found);
    }
}

#[test]
fn nothing_follows_the_last_part() {
    let too_long = |found| {
        let (message, expected) = (Message::BaseReceiver, 0);
        let fault = PeerMisbehaved::WrongLength {
            message,
            expected,
            found,
        };
        Error::from(fault)
    };
    let mut rng = Seeded::new("anyone");
    let (_, message) = ristretto::Receiver::start(&choices(2), &TAG, &mut rng).unwrap();
    let mut sender = ristretto::Sender::start(2, &TAG, &mut rng).unwrap().0;
    sender.take_on(ONE, &message).unwrap();
    // An unused part, and the last one again.
    let (_, fresh) = ristretto::Receiver::start(&choices(1), &TAG, &mut rng).unwrap();
    for part in [&fresh, &message[..64]] {
        assert_eq!(sender.take_on(ONE, part).unwrap_err(), too_long(64));
    }
    assert_eq!(sender.expected_bytes(), 0);
    assert_eq!(sender.into_keys().unwrap().len(), 2);
    let (_, message) = ml_kem::Receiver::start(&choices(2), &TAG, &mut rng).unwrap();
    let mut sender = ml_kem::Sender::start(2, &TAG, &mut rng).unwrap();
    sender.take_on(ONE, &message).unwrap();
    let (_, fresh) = ml_kem::Receiver::start(&choices(1), &TAG, &mut rng).unwrap();
    for part in [&fresh, &message[..1248]] {
        assert_eq!(sender.take_on(ONE, part).unwrap_err(), too_long(1248));
    }
    assert_eq!(sender.expected_bytes(), 0);
    assert_eq!(sender.into_answers().unwrap().0.len(), 2);
}

#[test]
fn what_stands_twice_is_found_across_parts() {
    let repeated = |result: Result<(), Error>| {
        let fault = PeerMisbehaved::RepeatedPoint {
            message: Message::BaseReceiver,
            first: 1,
            second: 5,
        };
        assert_eq!(result.unwrap_err(), fault.into());
    };
    let mut rng = Seeded::new("anyone");
    let (_, mut message) = ristretto::Receiver::start(&choices(8), &TAG, &mut rng).unwrap();
    message.copy_within(64..128, 5 * 64);
    let mut sender = ristretto::Sender::start(8, &TAG, &mut rng).unwrap().0;
    sender.take_on(ONE, &message[..4 * 64]).unwrap();
    repeated(sender.take_on(ONE, &message[4 * 64..]));
    let (_, mut message) = ml_kem::Receiver::start(&choices(8), &TAG, &mut rng).unwrap();
    message.copy_within(1248..2 * 1248, 5 * 1248);
    let mut sender = ml_kem::Sender::start(8, &TAG, &mut rng).unwrap();
    sender.take_on(ONE, &message[..4 * 1248]).unwrap();
    repeated(sender.take_on(ONE, &message[4 * 1248..]));
}

#[test]
fn nobody_ends_before_all_parts_are_there() {
    let missing = |error: Error, found| {
        let what = "parts of the receiver's message";
        let expected = 8;
        let misuse = ApiMisuse::WrongCount {
            what,
            expected,
            found,
        };
        assert_eq!(error, misuse.into());
    };
    let mut rng = Seeded::new("anyone");
    let (mut sender, offer) = ristretto::Sender::start(8, &TAG, &mut rng).unwrap();
    let mut receiver = ristretto::Receiver::new(&choices(8), &TAG, &mut rng).unwrap();
    sender.take_on(ONE, &receiver.offer_on(ONE, 3)).unwrap();
    missing(sender.into_keys().unwrap_err(), 3);
    missing(receiver.finish(ONE, &offer).unwrap_err(), 3);
    let mut sender = ml_kem::Sender::start(8, &TAG, &mut rng).unwrap();
    let mut receiver = ml_kem::Receiver::new(&choices(8), &TAG, &mut rng).unwrap();
    sender.take_on(ONE, &receiver.offer_on(ONE, 3)).unwrap();
    missing(sender.into_answers().map(drop).unwrap_err(), 3);
    let answer = vec![0; receiver.expected_bytes()];
    missing(receiver.finish(ONE, &answer).unwrap_err(), 3);
}
