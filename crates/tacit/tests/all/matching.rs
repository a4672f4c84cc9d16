//! Matchings: results compared with sets, the party that asks, and parties that want different
//! ones.

use std::num::NonZeroUsize;

use tacit::cost::Phase;
use tacit::matching::{KeyNormalization, KeyPart, Match, MatchOutcome, MatchRecipient};
use tacit::session::{Incompatibility, OtExtension};
use tacit::{Category, Error, Job, ProtocolError, Session};

use crate::pair::{Both, ROLES, in_memory, millionaires};

/// Creates a matching of this party's keys.
fn order(keys: &[u32]) -> Match {
    Match::new(keys.iter().map(|key| key.to_le_bytes())).expect("different keys")
}

/// Returns both parties' outcomes of a matching of these keys, with the result for `to`.
fn matched(keys: [&[u32]; 2], to: [MatchRecipient; 2]) -> Both<MatchOutcome> {
    in_memory(|party, session| order(keys[party]).to(to[party]).run(session))
}

#[test]
fn both_get_the_keys_in_common_and_the_smaller_table_asks() {
    let large: Vec<u32> = (0..300).map(|i| 7 * i).collect();
    for (keys, asked, common) in [
        (
            [&[21, 5, 0, 14][..], &large],
            [true, false],
            [vec![0, 2, 3], vec![0, 2, 3]],
        ),
        (
            [&large, &[21, 5, 0, 14]],
            [false, true],
            [vec![0, 2, 3], vec![0, 2, 3]],
        ),
        ([&[1, 2], &[2, 3]], [true, false], [vec![1], vec![0]]),
        ([&[1, 2], &[3, 4]], [true, false], [vec![], vec![]]),
        ([&[], &[3, 4]], [true, false], [vec![], vec![]]),
        ([&[9], &[]], [false, true], [vec![], vec![]]),
    ] {
        let ended = matched(keys, [MatchRecipient::Both; 2]).map(|ended| ended.expect("a result"));
        for (party, outcome) in ended.into_iter().enumerate() {
            assert_eq!(outcome.common.as_ref(), Some(&common[party]), "{keys:?}");
            assert_eq!(outcome.asked, asked[party], "{keys:?}");
            assert_eq!(outcome.peer_keys, keys[1 - party].len() as u64);
            assert_eq!(outcome.threat_model.to_string(), "semi-honest");
            let phases: Vec<_> = outcome.cost.phases.iter().map(|one| one.phase).collect();
            assert_eq!(phases, [Phase::Agreement, Phase::Run]);
        }
    }
}

#[test]
fn neither_result_nor_bytes_depend_on_threads() {
    let keys: [Vec<u32>; 2] = [(0..3000).collect(), (2000..6000).collect()];
    let run = |threads: [usize; 2]| {
        in_memory(|party, session| {
            let threads = NonZeroUsize::new(threads[party]).expect("threads");
            let outcome = order(&keys[party]).threads(threads).run(session)?;
            let traffic = session.traffic();
            Ok((outcome.common, traffic.sent.bytes, traffic.received.bytes))
        })
        .map(|ended| ended.expect("a result"))
    };
    let one = run([1, 1]);
    let common = one[0].0.as_ref().expect("both get it");
    assert!(common.iter().copied().eq(2000..3000));
    assert_eq!(run([1, 3]), one);
    assert_eq!(run([3, 1]), one);
}

/// The party that gets the result asks, whatever the sizes. The other learns nothing.
#[test]
fn the_result_goes_to_whom_both_say() {
    use MatchRecipient::{Me, Peer};
    let keys: [&[u32]; 2] = [&[1, 2, 3, 4], &[4, 2]];
    for (to, common) in [
        ([Me, Peer], [Some(vec![1, 3]), None]),
        ([Peer, Me], [None, Some(vec![0, 1])]),
    ] {
        let ended = matched(keys, to).map(|ended| ended.expect("a result"));
        let asked = ended.each_ref().map(|outcome| outcome.asked);
        assert_eq!(asked, to.map(|to| to == Me));
        assert_eq!(ended.map(|outcome| outcome.common), common);
    }
}

fn differs(ended: &Result<MatchOutcome, Error>, words: [&str; 2]) {
    let error = ended.as_ref().expect_err("no agreement");
    assert_eq!(error.category(), Category::Incompatible, "{error}");
    let Error::Protocol(ProtocolError::PeerIncompatible(Incompatibility::Matching {
        ours,
        theirs,
    })) = error
    else {
        panic!("{error}");
    };
    assert!(
        ours.contains(words[0]) && theirs.contains(words[1]),
        "{error}"
    );
    assert!(!error.to_string().contains("function"), "{error}");
    assert!(!error.advice().to_string().contains("function"), "{error}");
}

/// A party that wants a result that the other does not intend to give gets none.
#[test]
fn parties_that_want_different_matchings_are_told_in_what_they_differ() {
    use MatchRecipient::{Both, Me, Peer};
    for (to, words) in [
        ([Me, Me], [["to this party", "to the peer"]; 2]),
        (
            [Both, Peer],
            [["to both", "to this party"], ["to the peer", "to both"]],
        ),
        (
            [Both, Me],
            [["to both", "to the peer"], ["to this party", "to both"]],
        ),
    ] {
        let ended = matched([&[1, 2], &[2, 3]], to);
        differs(&ended[0], words[0]);
        differs(&ended[1], words[1]);
    }
    let ended = in_memory(|party, session| {
        let how = [KeyNormalization::None, KeyNormalization::Email][party];
        order(&[1]).normalized(how).run(session)
    });
    differs(&ended[0], ["as they are", "as email"]);
    differs(&ended[1], ["as email", "as they are"]);
}

/// The party that runs a matching says so. The other receives a message that it did not expect.
#[test]
fn a_peer_that_runs_a_function_is_told_apart() {
    let function = millionaires(32);
    for matching in [0, 1] {
        let ended = in_memory(|party, session| {
            if party == matching {
                return order(&[1]).run(session).map(Some);
            }
            let (name, value) = [("a", 41_u32), ("b", 40)][party];
            let job = Job::new(&function, ROLES[party]).input(name, value);
            job.run(session).map(|_| None)
        });
        let error = ended[matching].as_ref().expect_err("no agreement");
        assert_eq!(error.category(), Category::Incompatible, "{error}");
        assert!(error.to_string().contains("other than matching"), "{error}");
        let error = ended[1 - matching].as_ref().expect_err("no agreement");
        assert_eq!(error.category(), Category::Incompatible, "{error}");
        assert!(error.to_string().contains("match tables"), "{error}");
    }
}

/// A session runs several kinds of orders, and takes silent OT if it is told to.
#[test]
fn matchings_and_runs_share_a_session() {
    let function = millionaires(32);
    let keys = [[1, 2, 3], [3, 4, 5]];
    for extension in [None, Some(OtExtension::Silent)] {
        let work = |party: usize, session: &mut Session| {
            if let Some(extension) = extension {
                session.set_ot_extension(extension)?;
            }
            let first = order(&keys[party]).run(session)?;
            let (name, value) = [("a", 41_u32), ("b", 40)][party];
            let job = Job::new(&function, ROLES[party]).input(name, value);
            assert_eq!(job.run(session)?.outputs["a_is_richer"].to_text(), "1");
            let second = order(&keys[party]).run(session)?;
            assert_eq!(first.common, second.common);
            Ok(first)
        };
        let ended = in_memory(work).map(|ended| ended.expect("results"));
        let silent = extension.is_some();
        for (outcome, common) in ended.into_iter().zip([vec![2], vec![0]]) {
            assert_eq!(outcome.common, Some(common));
            let used = outcome.cost.ot_extension.expect("OTs");
            assert_eq!(used == OtExtension::Silent, silent, "{used}");
        }
    }
}

/// Both have told their sizes and nothing else. As many keys as allowed are taken.
#[test]
fn a_peer_with_too_many_keys_is_refused_before_it_asks() {
    let many: Vec<u32> = (0..50).collect();
    let keys: [&[u32]; 2] = [&[1, 2], &many];
    let run = |most| {
        in_memory(|party, session| {
            let order = order(keys[party]);
            if party == 1 {
                return order.run(session);
            }
            let before = session.traffic().sent.bytes;
            let ended = order.most_peer_keys(most).run(session);
            let sent = session.traffic().sent.bytes - before;
            assert!(
                ended.is_ok() || sent < 100,
                "{sent} bytes: its size, and that it stops"
            );
            ended
        })
    };
    let ended = run(49);
    let refused = ended[0].as_ref().expect_err("too many keys");
    assert!(matches!(
        refused,
        Error::TooManyPeerKeys {
            found: 50,
            most: 49
        }
    ));
    assert_eq!(refused.category(), Category::Incompatible);
    let advice = refused.advice().to_string();
    assert!(advice.contains("most keys of the peer"), "{advice}");
    let told = ended[1].as_ref().expect_err("refused");
    assert_eq!(told.category(), Category::Incompatible, "{told}");
    let told = told.with_advice();
    assert!(told.contains("more keys than it accepts"), "{told}");
    for ended in run(50) {
        let common = ended.expect("a result").common.expect("keys");
        assert_eq!(common.len(), 2);
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    let refused = Match::new(["a", "b", "a"]).err().expect("a key twice");
    assert_eq!(refused.category(), Category::Input);
    assert!(
        refused.to_string().contains("row 2 has the key of row 0"),
        "{refused}"
    );
}

/// Parts are kept apart: ("ab", "c") is not ("a", "bc"), and the text "7" is not the integer 7.
#[test]
fn keys_of_several_parts_match_part_by_part() {
    use KeyPart::{Bytes, Integer, Text};
    let tables = [
        [
            [Text("ab"), Text("c"), Integer(-1)],
            [Text("x"), Text(""), Integer(5)],
        ],
        [
            [Text("a"), Text("bc"), Integer(-1)],
            [Text("x"), Text(""), Integer(5)],
        ],
    ];
    let ended = in_memory(|party, session| Match::of_parts(tables[party])?.run(session));
    for outcome in ended {
        assert_eq!(outcome.expect("a result").common, Some(vec![1]));
    }
    let ended = in_memory(|party, session| {
        let keys = [[Text("7")], [Integer(7)]];
        Match::of_parts([keys[party]])?.run(session)
    });
    differs(&ended[0], ["as they are with", "the type integer"]);
    differs(&ended[1], ["the type integer", "as they are with"]);
    let ended = in_memory(|party, session| match party {
        0 => Match::new(["a", "b"])?.run(session),
        _ => Match::of_parts([[Text("b")], [Text("c")]])?.run(session),
    });
    let ended = ended.map(|ended| ended.expect("a result").common);
    assert_eq!(ended, [Some(vec![1]), Some(vec![0])]);

    let mixed = Match::of_parts([vec![Bytes(b"7")], vec![Integer(7)]]).err();
    let told = mixed.expect("keys of two types").to_string();
    assert!(
        told.contains("row 1 has the type integer, and that of row 0 bytes"),
        "{told}"
    );
    assert!(Match::of_parts([[Integer(7); 0]]).is_err());
}

/// Compares with what a run sends in its phase "run", without base OTs and headers.
#[test]
fn an_estimate_has_the_bytes_that_are_sent() {
    use MatchRecipient::{Both, Me, Peer};
    let usual = [0..3000, 1000..5000];
    for (ranges, to, extension) in [
        (usual.clone(), [Both, Both], None),
        (usual.clone(), [Me, Peer], Some("softspoken-8")),
        (usual, [Peer, Me], Some("silent")),
        // A silent VOLE.
        ([0..61_000, 60_900..61_100], [Me, Peer], Some("silent")),
    ] {
        let peer_keys = ranges[1].len() as u64;
        let keys = ranges.map(|range| range.collect::<Vec<u32>>());
        let extension = extension.and_then(OtExtension::from_name);
        let told = |party: usize| order(&keys[party]).to(to[party]);
        let estimate = told(0)
            .estimate(peer_keys, None, extension)
            .expect("an estimate");
        let ended = in_memory(|party, session| {
            if let Some(extension) = extension {
                session.set_ot_extension(extension)?;
            }
            told(party).run(session)
        });
        let outcome = ended.map(|ended| ended.expect("a result"));
        let phase = &outcome[0].cost.phases[1];
        let sent = phase.traffic.sent.bytes + phase.traffic.received.bytes;
        let slack = 20_000 + estimate.bytes / 50;
        assert!(
            (estimate.bytes..estimate.bytes + slack).contains(&sent),
            "{sent} bytes, of an estimate of {estimate:?}"
        );
    }
}
