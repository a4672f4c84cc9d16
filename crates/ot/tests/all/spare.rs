//! Spare base OTs: both halves of a set agree, each serves once, no two sessions share keys.

use crate::dealer::{TAG, dealt};
use crate::seeded::Seeded;
use crate::vector::Vector;
use sha2::{Digest, Sha256};
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::source::Extension;
use tacit_ot::spare::{self, Batch, OTS, SETS, SpareSet};
use tacit_ot::{ApiMisuse, Delta, Error, Security, SessionTag};
use zeroize::Zeroizing;

/// The garbler's half and the evaluator's.
fn batches() -> (Batch, Batch) {
    let Extension::SoftSpoken(field) = spare::extension() else {
        panic!("{}", spare::extension());
    };
    let (delta, security) = (
        Delta::random(&mut Seeded::new("delta")),
        Security::Malicious,
    );
    let (chosen, pairs) = dealt(&delta);
    let mut sender = CotSender::with_security(delta.clone(), chosen, &TAG, field, security);
    let mut receiver = CotReceiver::with_security(pairs, &TAG, field, security).unwrap();
    let choices = spare::random_choices(&mut Seeded::new("choices"));
    let (message, t) = receiver.extend(&choices).unwrap();
    let q = sender.as_mut().unwrap().extend(OTS, &message).unwrap();
    let garbler = Batch::chosen(&TAG, &choices, Zeroizing::new(t));
    (garbler, Batch::offered(&TAG, delta, Zeroizing::new(q)))
}

#[test]
fn the_garbler_has_of_each_pair_the_key_that_its_offset_names() {
    let (mut garbler, mut evaluator) = batches();
    assert_eq!(garbler.name(), evaluator.name());
    assert_eq!(garbler.left().count(), SETS);
    let session = SessionTag::new([9; 32]);
    let mut deltas = Vec::new();
    for number in garbler.left() {
        let (delta, keys) = garbler.take(number).unwrap().into_chosen(&session).unwrap();
        let pairs = evaluator
            .take(number)
            .unwrap()
            .into_offered(&session)
            .unwrap();
        let choices = delta.choices();
        for ((key, pair), &choice) in keys.iter().zip(&pairs).zip(choices.iter()) {
            let [chosen, other] = [choice, !choice].map(|bit| &pair[usize::from(bit)]);
            assert_eq!(key.as_bytes(), chosen.as_bytes());
            assert_ne!(key.as_bytes(), other.as_bytes());
        }
        assert!(!deltas.contains(&delta.to_block()));
        deltas.push(delta.to_block());
        assert!(garbler.take(number).is_none() && evaluator.take(number).is_none());
    }
    assert!(garbler.take(SETS as u16).is_none());
}

#[test]
fn a_set_that_came_back_gives_other_keys_in_another_session() {
    let keys = |session: u8| {
        let (mut garbler, mut evaluator) = batches();
        let tag = SessionTag::new([session; 32]);
        let (_, chosen) = garbler.take(5).unwrap().into_chosen(&tag).unwrap();
        let offered = evaluator.take(5).unwrap().into_offered(&tag).unwrap();
        let all = chosen.into_iter().chain(offered.into_iter().flatten());
        all.map(|key| *key.as_bytes()).collect::<Vec<_>>()
    };
    let (one, other) = (keys(1), keys(2));
    assert!(one.iter().all(|key| !other.contains(key)));
}

/// Both halves go forward alike, under one Δ, and no two runs share a key, nor a run and what is
/// kept for later.
#[test]
fn a_set_goes_forward_from_run_to_run() {
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (chosen, pairs) = dealt(&delta);
    let mut chosen = SpareSet::of_chosen(delta.clone(), &chosen);
    let mut offered = SpareSet::of_offered(&pairs);
    let session = SessionTag::new([9; 32]);
    let mut seen: Vec<[u8; 32]> = Vec::new();
    for _ in 0..3 {
        let [mut now, mut later] = [Vec::new(), Vec::new()];
        for (kept, sets) in [
            ([chosen.forward(), offered.forward()], &mut now),
            ([&chosen, &offered].map(again), &mut later),
        ] {
            let [chosen, offered] = kept;
            let (same, keys) = chosen.into_chosen(&session).unwrap();
            assert_eq!(same.to_block(), delta.to_block());
            let pairs = offered.into_offered(&session).unwrap();
            for ((key, pair), &choice) in keys.iter().zip(&pairs).zip(delta.choices().iter()) {
                assert_eq!(key.as_bytes(), pair[usize::from(choice)].as_bytes());
                sets.extend(pair.iter().map(|key| *key.as_bytes()));
            }
        }
        assert!(
            now.iter()
                .all(|key| !seen.contains(key) && !later.contains(key))
        );
        seen.append(&mut now);
    }
}

fn again(set: &SpareSet) -> SpareSet {
    SpareSet::from_bytes(&set.to_bytes()).unwrap()
}

#[test]
fn sets_are_the_same_after_they_were_kept() {
    let (garbler, evaluator) = batches();
    let (chosen, offered) = (garbler.to_bytes(), evaluator.to_bytes());
    assert_eq!((chosen[7].1.len(), offered[7].1.len()), (2064, 4096));
    let kept = |bytes: &[u8]| SpareSet::from_bytes(bytes).unwrap();
    let tag = SessionTag::new([4; 32]);
    let (delta, keys) = kept(&chosen[7].1).into_chosen(&tag).unwrap();
    let pairs = kept(&offered[7].1).into_offered(&tag).unwrap();
    let choice = usize::from(delta.choices()[100]);
    assert_eq!(keys[100].as_bytes(), pairs[100][choice].as_bytes());
    // The other half is refused, and so is what is no half.
    let wrong = |found| {
        Error::from(ApiMisuse::WrongBaseCount {
            expected: 128,
            found,
        })
    };
    let refused = kept(&chosen[7].1).into_offered(&tag).unwrap_err();
    assert_eq!(refused, wrong(129));
    let refused = kept(&offered[7].1).into_chosen(&tag).unwrap_err();
    assert_eq!(refused, wrong(256));
    let mut clear = chosen[7].1.to_vec();
    clear[0] &= 0xfe;
    for bytes in [&clear[..], &chosen[7].1[1..], &offered[7].1[16..], &[]] {
        assert!(SpareSet::from_bytes(bytes).is_none());
    }
}

#[test]
fn the_sets_are_the_frozen_ones() {
    let vector = Vector::load("ot-spare.txt");
    let (garbler, evaluator) = batches();
    vector.check("name", &garbler.name());
    for (name, batch) in [("chosen", &garbler), ("offered", &evaluator)] {
        let mut sets = Sha256::new();
        batch
            .to_bytes()
            .iter()
            .for_each(|(_, set)| sets.update(set));
        vector.check(&format!("{name}-sha256"), &sets.finalize());
    }
    let (mut garbler, tag) = (garbler, SessionTag::new([9; 32]));
    let (delta, keys) = garbler.take(63).unwrap().into_chosen(&tag).unwrap();
    vector.check("delta-63", &delta.to_block().to_bytes());
    vector.check("key-63-127", keys[127].as_bytes());
    assert_eq!(format!("{garbler:?}"), "Batch { left: 63, .. }");
}
