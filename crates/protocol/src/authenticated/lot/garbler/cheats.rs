//! A garbler that cheats in a leaky AND and tries not to be caught.

use tacit_function::Role;
use tacit_kernels::{Block, Prg};

use super::*;
use crate::authenticated::Epoch;
use crate::authenticated::epoch::{EpochTags, dealt, fresh_deltas};
use crate::authenticated::lot::{InputCounts, Making};
use crate::authenticated::parameters::LotSize;
use crate::batch::tests::session;
use crate::party::Party;

/// What the garbler adds to its first block; bit 1, which shows d, stays.
const ADDED: u128 = 1 << 77;

fn epochs(prg: &mut Prg) -> [Epoch; 2] {
    let tag = |sender| {
        let base = Default::default();
        session().authenticated_setup(Role::Garbler, sender, base, Default::default())
    };
    let tags = EpochTags {
        garbler: tag(Role::Garbler),
        evaluator: tag(Role::Evaluator),
    };
    let deltas = fresh_deltas(prg);
    dealt(tags, deltas, prg)
}

/// Moves messages until the garbler has the evaluator's commitment, which is returned unread. The
/// garbler's first block is changed on the way out.
fn until_commitment(garbler: &mut Making, evaluator: &mut Making) -> Vec<u8> {
    let (mut message, mut to_garbler) = (Vec::new(), std::collections::VecDeque::new());
    let (mut to_evaluator, mut cheated) = (std::collections::VecDeque::new(), false);
    loop {
        match garbler.next(&mut message).unwrap() {
            Action::Send { kind, .. } => {
                let mut sent = message.clone();
                if kind == Kind::LeakyAnds && !std::mem::replace(&mut cheated, true) {
                    sent[9] ^= (ADDED >> 72) as u8;
                }
                to_evaluator.push_back(sent);
            }
            Action::Receive { kind, .. } => match to_garbler.pop_front() {
                Some(payload) if kind == Kind::EqualityCommitment => return payload,
                Some(payload) => garbler.receive(&payload).unwrap(),
                None => {}
            },
            _ => {}
        }
        match evaluator.next(&mut message).unwrap() {
            Action::Send { .. } => to_garbler.push_back(message.clone()),
            Action::Receive { .. } => {
                if let Some(payload) = to_evaluator.pop_front() {
                    evaluator.receive(&payload).unwrap();
                }
            }
            _ => {}
        }
    }
}

/// The digests that the evaluator has if its first x is 0, and if it is 1.
fn candidates(lot: &mut Turned) -> [Digest; 2] {
    [0, ADDED].map(|added| {
        let first = lot.lot.sums[0];
        lot.lot.sums[0] ^= Block::from_u128(added);
        let digest = lot.lot.digest(&lot.turned);
        lot.lot.sums[0] = first;
        digest
    })
}

/// A garbler that cheated knows both digests that the evaluator may have. Could it see from the
/// commitment which one it is, it would answer with that one, learn a bit of x and never be caught.
/// So it is caught about every other time.
#[test]
fn the_commitment_does_not_tell_which_digest_is_right() {
    let mut prg = Prg::new(Block::from_u128(20));
    let size = LotSize {
        triples: 3,
        layers: 2,
    };
    let mut caught = 0;
    for _ in 0..32 {
        let [a, b] = epochs(&mut prg);
        let seeds = [(); 2].map(|()| Prg::new(prg.next_block()));
        let [garblers, evaluators] = seeds;
        let none = InputCounts::default();
        let mut garbler = Making::new(a, size, none, garblers);
        let mut evaluator = Making::new(b, size, none, evaluators);
        let commitment = until_commitment(&mut garbler, &mut evaluator);
        let Some(MakingStage::Garbler(Stage::AwaitingCommitment(mut lot))) = garbler.0.take()
        else {
            panic!("the garbler awaits the commitment");
        };
        let digests = candidates(&mut lot);
        // The garbler knows no salt.
        let (epoch, number) = (&lot.lot.context.epoch, lot.lot.number);
        let fits = |digest: &&Digest| {
            commit_to_equality(epoch, number, digest, &[0; DIGEST_BYTES])[..] == *commitment
        };
        let answer = *digests.iter().find(fits).unwrap_or(&digests[0]);
        let mut message = answer.to_vec();
        message.extend_from_slice(&[0; DIGEST_BYTES]);
        evaluator.next(&mut Vec::new()).unwrap();
        caught += usize::from(evaluator.receive(&message).is_err());
    }
    assert!((6..=26).contains(&caught), "{caught} of 32");
}
