//! Precomputed OTs: all sizes, a malicious peer's messages, frozen corrections.

use core::ops::Range;

use crate::dealer::{halves, refill, soft_spoken};
use crate::seeded::Seeded;
use crate::vector::Vector;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tacit_kernels::Block;
use tacit_ot::precomputed::{ReceiverOts, SenderOts};
use tacit_ot::{ApiMisuse, Delta, Message, PeerMisbehaved, Security};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_receiver_gets_the_labels_of_its_choices(
        count in prop_oneof![0..40usize, 120..136usize, 1020..1030usize, 4090..4100usize],
        first in prop_oneof![Just(0u64), Just(u64::MAX / 2 - 5)],
    ) {
        let choices = bits(count);
        let (sender, receiver) = ots(first..first + count as u64);
        let (labels, corrections) = receiver.choose(&choices).unwrap();
        let zeros = sender.into_zero_labels(&corrections).unwrap();
        let delta = Delta::random(&mut Seeded::new("delta")).to_block();
        for (i, (&zero, &label)) in zeros.iter().zip(labels.iter()).enumerate() {
            prop_assert_eq!(label, if choices[i] { zero ^ delta } else { zero });
        }
    }
}

#[test]
fn what_no_honest_receiver_sends_is_refused() {
    let refused = |corrections: &[u8]| ots(0..9).0.into_zero_labels(corrections).unwrap_err();
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
fn there_is_a_choice_for_each_ot() {
    let error = ots(0..2).1.choose(&[true]).unwrap_err();
    let expected = ApiMisuse::WrongCount {
        what: "choices",
        expected: 2,
        found: 1,
    };
    assert_eq!(error, expected.into());
}

#[test]
fn the_corrections_are_the_frozen_ones() {
    let vector = Vector::load("ot-precomputed.txt");
    let choices = bits(130);
    let made = || ots(1 << 40..(1 << 40) + 130);
    let digest = |half: &[Block]| {
        let bytes = half.iter().flat_map(|block| block.to_bytes());
        Sha256::digest(bytes.collect::<Vec<_>>())
    };
    vector.check("sender-sha256", &digest(&made().0.into_correlated().1));
    vector.check("receiver-sha256", &digest(&made().1.into_blocks()));
    let receiver = made().1;
    let (_, corrections) = receiver.choose(&choices).unwrap();
    vector.check("corrections-sha256", &Sha256::digest(&corrections));
}

#[test]
fn debug_prints_nothing_secret() {
    let (sender, receiver) = ots(3..5);
    assert_eq!(format!("{sender:?}"), "SenderOts(3..5)");
    assert_eq!(format!("{receiver:?}"), "ReceiverOts(3..5)");
}
