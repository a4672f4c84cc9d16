//! The memory of OT halves: it holds nothing secret after a failed check, or after their end.

#[allow(dead_code, reason = "the tests of the other program use the rest")]
#[path = "all/dealer.rs"]
mod dealer;
#[path = "all/seeded.rs"]
mod seeded;

use dealer::{TAG, dealt};
use seeded::Seeded;
use tacit_kernels::leftovers::{Memory, Watching, watch};
use tacit_ot::base::Key;
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::source::{Extension, SourceReceiver, SourceSender};
use tacit_ot::{Check, Delta, Error, FieldBits, PeerMisbehaved, Security};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Returns a copy whose memory is allocated here.
fn copy<T: Clone>(all: &[T]) -> Vec<T> {
    all.to_vec()
}

fn delta() -> Delta {
    Delta::random(&mut Seeded::new("delta"))
}

/// Returns the number of the keys' halves found in freed memory, or anywhere. A leaf of a tree of
/// one level is the first half of a key.
fn found(keys: &[Key], in_memory: impl Fn(&[u8]) -> usize) -> usize {
    let halves = keys.iter().flat_map(|key| key.as_bytes().chunks_exact(16));
    halves.map(in_memory).sum()
}

/// Returns a sender over dealt base OTs after one message, damaged if the check should fail, and
/// the memory that it used.
fn sender_after(field: FieldBits, damage: &[usize]) -> (CotSender, Result<(), Error>, Memory) {
    let (chosen, pairs) = dealt(&delta());
    let security = Security::Malicious;
    let mut receiver = CotReceiver::with_security(pairs, &TAG, field, security).unwrap();
    let (mut message, _) = receiver.extend(&[true; 500]).unwrap();
    damage.iter().for_each(|&at| message[at] ^= 1);
    let ((sender, result), memory) = watch(|| {
        let base = copy(&chosen);
        let sender = CotSender::with_security(delta(), base, &TAG, field, security);
        let mut sender = sender.unwrap();
        let result = sender.extend(500, &message).map(drop);
        (sender, result)
    });
    (sender, result, memory)
}

fn failed(check: Check) -> Result<(), Error> {
    Err(PeerMisbehaved::CheckFailed { check }.into())
}

#[test]
fn a_failed_check_wipes_base_keys_and_trees() {
    let (keys, _) = dealt(&delta());
    let [one, four] = [1, 4].map(|k| FieldBits::new(k).unwrap());
    // An honest message leaves the trees, whose leaves are these keys if k = 1: they can be found.
    let (sender, result, memory) = sender_after(one, &[]);
    assert!(result.is_ok() && found(&keys, |half| memory.anywhere(half)) >= keys.len());
    assert_eq!(found(&keys, |half| memory.freed(half)), 0);
    drop(sender);
    assert_eq!(found(&keys, |half| memory.anywhere(half)), 0);
    drop(memory);
    // The rows, of which the masks come first.
    let (sender, result, memory) = sender_after(one, &[3000]);
    assert_eq!(result, failed(Check::Choices));
    assert_eq!(found(&keys, |half| memory.anywhere(half)), 0);
    drop((sender, memory));
    // Both corrections of a level: the base keys are still in use.
    let (sender, result, memory) = sender_after(four, &[0, 16]);
    assert_eq!(result, failed(Check::Trees));
    assert_eq!(found(&keys, |half| memory.anywhere(half)), 0);
    drop((sender, memory));
}

/// A source of silent OTs whose peer's trees are wrong: the error wipes Δ and all OTs.
#[test]
fn a_failed_check_of_silent_trees_wipes_what_the_receiver_made() {
    let (chosen, pairs) = dealt(&delta());
    let (extension, security) = (Extension::Silent, Security::Malicious);
    let mut sender = SourceSender::new(delta(), chosen, &TAG, extension, security, 0).unwrap();
    let ((receiver, result), memory) = watch(|| {
        let pairs = copy(&pairs);
        let mut receiver = SourceReceiver::new(pairs, &TAG, extension, security, 0).unwrap();
        dealer::refill(&mut sender, &mut receiver, 1, |_, _| {}).unwrap();
        let result = dealer::refill(
            &mut sender,
            &mut receiver,
            300_000,
            |from_sender, message| {
                if from_sender && message.len() > 1000 {
                    message[5] ^= 2;
                }
            },
        );
        (receiver, result)
    });
    assert_eq!(result, failed(Check::SilentTrees));
    // The receiver's block where its choice was 1; with choice 0 the sender has the same block.
    let q = sender.take(0, 8).unwrap().into_correlated().1;
    for q in q.iter() {
        let ot = (*q ^ delta().to_block()).to_bytes();
        assert_eq!(memory.anywhere(&ot), 0, "an OT of the receiver is left");
    }
    drop(receiver);
}
