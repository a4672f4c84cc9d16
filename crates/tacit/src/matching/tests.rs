//! Tests of digests, of the party that asks, and of the normalisation of keys.

use super::*;

fn intersection(keys: u8, to: MatchRecipient) -> Intersection {
    let order = Match::new((0..keys).map(|key| [key])).expect("different keys");
    order.normalized(KeyNormalization::Email).to(to).task
}

/// The digests match those of an independent implementation.
#[test]
fn digests_are_known() {
    let agreed = intersection(3, MatchRecipient::Me).agreed(Side::Connecting, 5);
    let [meaning, run] = [
        intersection(3, MatchRecipient::Me)
            .meaning
            .digest(Side::Connecting),
        agreed.expect("sizes").digest,
    ];
    assert_eq!(
        meaning.to_string(),
        "2253cfe996192be491fab57cd802f73ff3ef911b26cf55dc3591d2438b722fa8"
    );
    assert_eq!(
        run.to_string(),
        "298840573204c1733edd14304c4106ef6bd3f1e24014a09def36f4a184a12ad8"
    );
}

/// The two parties, each from its own side, the one that connected first.
#[test]
fn both_parties_see_one_matching_and_one_of_them_asks() {
    use MatchRecipient::{Both, Me, Peer};
    for (keys, to, first_asks) in [
        ([3, 5], [Both, Both], true),
        ([5, 3], [Both, Both], false),
        ([4, 4], [Both, Both], true),
        ([3, 5], [Peer, Me], false),
        ([5, 3], [Me, Peer], true),
    ] {
        let agreed = [(0, Side::Connecting), (1, Side::Listening)].map(|(party, side)| {
            let own = intersection(keys[party], to[party]);
            own.agreed(side, keys[1 - party].into()).expect("sizes")
        });
        assert_eq!(agreed.map(|one| one.asks), [first_asks, !first_asks]);
        assert_eq!(agreed[0].sizes, agreed[1].sizes);
        assert_eq!(agreed[0].digest, agreed[1].digest);
    }
}

#[test]
fn every_matching_has_a_digest_of_its_own() {
    let digest = |keys, peer_keys, to| {
        let agreed = intersection(keys, to).agreed(Side::Connecting, peer_keys);
        agreed.expect("sizes").digest.0
    };
    let mut digests: Vec<_> = MatchRecipient::ALL
        .into_iter()
        .flat_map(|to| [digest(3, 5, to), digest(5, 3, to), digest(3, 4, to)])
        .collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 9);
    let pair = [PartType::Text, PartType::Integer];
    let mut meanings: Vec<_> = Meaning::all(&pair, None)
        .map(|meaning| meaning.digest(Side::Listening).0)
        .collect();
    meanings.sort_unstable();
    meanings.dedup();
    assert_eq!(meanings.len(), 48);
}

#[test]
fn a_peer_may_have_many_keys_and_not_all_there_are() {
    let most = |keys: u32| {
        let order = Match::new((0..keys).map(u32::to_le_bytes)).expect("different keys");
        order.task.most_peer_keys
    };
    assert_eq!([most(0), most(1 << 16)], [1 << 20; 2]);
    assert_eq!(most((1 << 16) + 1), (1 << 20) + 16);
}

/// Parts are many, and each would let a peer try as many keys as the whole.
#[test]
fn a_peer_may_have_no_more_keys_in_all_parts_than_in_the_whole() {
    let most = |of, keys| {
        let part = Part::new(1, of).expect("a part");
        let order = Match::new(["a"]).and_then(|order| order.part(part, keys));
        order.expect("room").task.most_peer_keys
    };
    assert_eq!(most(1, 5), 1 << 20);
    // 16 times as many keys, as a part counts them.
    assert_eq!(most(4, 1 << 20), 4_194_304 + 16_384 + 33);
    // Parts together have twice the whole, since each counts as more than its share.
    assert!(4_096 * most(4_096, 5) < 2 << 20);
}

#[test]
fn addresses_are_compared_without_spaces_and_in_lower_case() {
    let email = |key| KeyNormalization::Email.apply(key).to_string();
    assert_eq!(email(" Ann@Example.ORG\u{a0}\r"), "ann@example.org");
    assert_eq!(email("\u{3000}\0Ann@x \0\r\n"), "ann@x");
    assert_eq!(email("JÜRGEN@x"), "jürgen@x");
    assert_eq!(email("JU\u{308}RGEN@x"), "j\u{fc}rgen@x");
    assert_eq!(*KeyNormalization::None.apply(" A \0"), " A ");
    for known in KeyNormalization::ALL {
        assert_eq!(known.name().parse(), Ok(known));
    }
    for known in MatchRecipient::ALL {
        assert_eq!(known.name().parse(), Ok(known));
    }
}

/// A party that asks may put more keys into its encoding than it told, so the service counts the
/// room.
#[test]
fn a_peer_is_counted_by_the_room_of_its_messages() {
    use MatchRecipient::{Both, Me, Peer};
    let keys = |own: u8, to, peer_keys| {
        let order = Match::new((0..own).map(|key| [key])).expect("different keys");
        let asks = order.to(to).held().peer_asks(peer_keys);
        asks.expect("sizes").keys
    };
    assert_eq!(keys(3, Peer, 1), 256);
    assert_eq!(keys(3, Both, 2), 256);
    // The service asks, and tells a bit for each tag.
    assert_eq!([keys(3, Both, 9), keys(3, Me, 9)], [9, 9]);
    let many = keys(3, Peer, 1 << 20);
    assert!((1 << 20..(1 << 20) * 9 / 8).contains(&many), "{many}");
    // In parts, each is filled up.
    assert!(keys(3, Both, 1 << 22) > 1 << 22);
    // Without keys nothing is asked.
    assert_eq!([keys(0, Both, 9), keys(3, Both, 0)], [9, 0]);
}
