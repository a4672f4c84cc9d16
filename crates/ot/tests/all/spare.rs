//! Kept base OTs: both halves of a set agree, and no two runs share keys.

use crate::dealer::dealt;
use crate::seeded::Seeded;
use tacit_ot::spare::SpareSet;
use tacit_ot::{ApiMisuse, Delta, Error, SessionTag};

/// Returns the half of the party that chose and that of the party that offered.
fn set() -> (SpareSet, SpareSet) {
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (chosen, pairs) = dealt(&delta);
    (
        SpareSet::of_chosen(delta, &chosen),
        SpareSet::of_offered(&pairs),
    )
}

#[test]
fn who_chose_has_of_each_pair_the_key_that_its_offset_names() {
    let (chosen, offered) = set();
    let session = SessionTag::new([9; 32]);
    let (delta, keys) = chosen.into_chosen(&session).unwrap();
    let pairs = offered.into_offered(&session).unwrap();
    for ((key, pair), &choice) in keys.iter().zip(&pairs).zip(delta.choices().iter()) {
        let [chosen, other] = [choice, !choice].map(|bit| &pair[usize::from(bit)]);
        assert_eq!(key.as_bytes(), chosen.as_bytes());
        assert_ne!(key.as_bytes(), other.as_bytes());
    }
}

#[test]
fn a_set_that_came_back_gives_other_keys_in_another_session() {
    let keys = |session: u8| {
        let (chosen, offered) = set();
        let tag = SessionTag::new([session; 32]);
        let (_, chosen) = chosen.into_chosen(&tag).unwrap();
        let offered = offered.into_offered(&tag).unwrap();
        let all = chosen.into_iter().chain(offered.into_iter().flatten());
        all.map(|key| *key.as_bytes()).collect::<Vec<_>>()
    };
    let (one, other) = (keys(1), keys(2));
    assert!(one.iter().all(|key| !other.contains(key)));
}

/// Both halves go forward equally, under one Δ. No two runs share a key, and no run shares one with
/// the kept set.
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
    let (chosen, offered) = set();
    let (chosen, offered) = (chosen.to_bytes(), offered.to_bytes());
    assert_eq!((chosen.len(), offered.len()), (2064, 4096));
    let kept = |bytes: &[u8]| SpareSet::from_bytes(bytes).unwrap();
    let tag = SessionTag::new([4; 32]);
    let (delta, keys) = kept(&chosen).into_chosen(&tag).unwrap();
    let pairs = kept(&offered).into_offered(&tag).unwrap();
    let choice = usize::from(delta.choices()[100]);
    assert_eq!(keys[100].as_bytes(), pairs[100][choice].as_bytes());
    // The other half is refused, and so are bytes that are no half.
    let wrong = |found| {
        Error::from(ApiMisuse::WrongBaseCount {
            expected: 128,
            found,
        })
    };
    assert_eq!(kept(&chosen).into_offered(&tag).unwrap_err(), wrong(129));
    assert_eq!(kept(&offered).into_chosen(&tag).unwrap_err(), wrong(256));
    let mut clear = chosen.to_vec();
    clear[0] &= 0xfe;
    for bytes in [&clear[..], &chosen[1..], &offered[16..], &[]] {
        assert!(SpareSet::from_bytes(bytes).is_none());
    }
}
