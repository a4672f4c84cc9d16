//! Plain intersections compared with sets, and the outcome for a lying peer.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_kernels::{Block, Prg};
use tacit_ot::source::Extension;
use zeroize::Zeroizing;

use super::super::hashes::MatchTag;
use super::super::keys::{KeyEncoding, Keys};
use super::super::plain::Plain;
use super::super::sizes::{MAX_KEYS, PlainSizes};
use super::super::telling::exchange_sizes;
use super::super::vole::{AskColumns, PlacerVole, ProgrammerVole};
use crate::io::memory::{Ended, Sent, run_both, run_two};
use crate::message::Kind;
use crate::session::{Hello, RunTag, SessionTag};
use crate::setup::{self, OtSettings};
use crate::{Error, Incompatibility, Misbehaviour};

pub(super) fn tag(run: u8) -> RunTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    let session = SessionTag::new(&[run; 32], (&[4; 32], &a), (&[5; 32], &b));
    let settings = OtSettings::default();
    session.setup(Role::Garbler, settings.base, settings.extension)
}

pub(super) fn keys(names: impl IntoIterator<Item = u64>) -> Keys {
    let encoding = |name: u64| KeyEncoding::default().text(&name.to_le_bytes());
    Keys::new(names.into_iter().map(encoding)).unwrap()
}

pub(super) type Run = Ended<Vec<bool>, Option<Vec<bool>>>;

/// Runs an intersection of tables of these sizes. `change` may change each message.
pub(super) fn run_with(
    (placer, programmer): (&Keys, &Keys),
    sizes: PlainSizes,
    (extension, to_both): (Extension, bool),
    mut change: impl FnMut(Kind, &mut Sent),
) -> Run {
    let settings = OtSettings {
        extension,
        ..OtSettings::default()
    };
    let plain = Plain::new(sizes, tag(3), settings, to_both);
    let [mine, yours] = [1, 2].map(|byte| Zeroizing::new([byte; 32]));
    run_two(
        async |io| plain.place(io, placer, &mine).await,
        async |io| plain.program(io, programmer, &yours).await,
        &mut |_, _, kind, sent| {
            change(kind, sent);
            Ok(())
        },
    )
}

/// Runs an intersection, and compares both parties' results with sets.
fn agrees(placer: &[u64], programmer: &[u64], how: (Extension, bool)) {
    let (mine, yours) = (
        keys(placer.iter().copied()),
        keys(programmer.iter().copied()),
    );
    let sizes = sized(placer.len() as u64, programmer.len() as u64);
    let run = run_with((&mine, &yours), sizes, how, |_, _| ());
    let (placers, programmers) = run.both().unwrap();
    let expected = |own: &[u64], others: &[u64]| -> Vec<bool> {
        let others: HashSet<_> = others.iter().collect();
        own.iter().map(|key| others.contains(key)).collect()
    };
    assert_eq!(placers, expected(placer, programmer));
    assert_eq!(programmers, how.1.then(|| expected(programmer, placer)));
}

const DEFAULT: (Extension, bool) = (Extension::SoftSpoken(tacit_ot::FieldBits::DEFAULT), true);

#[test]
fn results_are_those_of_sets() {
    for (placer, programmer) in [
        (vec![], vec![]),
        (vec![7], vec![]),
        (vec![], vec![7]),
        (vec![7], vec![7]),
        (vec![7], vec![8]),
        ((0..64).collect(), (0..64).rev().collect()),
        ((0..64).collect(), (64..128).collect()),
        // Keys of the two parties that differ in one bit.
        (
            (0..64).map(|i| 1 << i).collect(),
            (0..64).map(|i| 3 << i).collect(),
        ),
        ((0..200).collect(), (100..1000).collect()),
        ((100..1000).collect(), (0..200).collect()),
    ] {
        agrees(&placer, &programmer, DEFAULT);
    }
    agrees(&[1, 2, 3], &[3, 4], (DEFAULT.0, false));
}

#[test]
fn ten_thousand_random_keys_are_matched() {
    let mut prg = Prg::new(Block::ZERO);
    let mut drawn = || prg.next_block().to_u128() as u64;
    let placer: Vec<u64> = (0..10_000).map(|_| drawn()).collect();
    let others = (0..7_000).map(|_| drawn());
    let programmer: Vec<u64> = placer[..3_000]
        .iter()
        .rev()
        .copied()
        .chain(others)
        .collect();
    agrees(&placer, &programmer, DEFAULT);
}

#[test]
fn silent_ots_make_the_same_result() {
    let placer: Vec<u64> = (0..2_000).collect();
    let programmer: Vec<u64> = (1_500..2_500).collect();
    agrees(&placer, &programmer, (Extension::Silent, true));
}

fn sized(placer: u64, programmer: u64) -> PlainSizes {
    PlainSizes::of(placer, programmer).unwrap()
}

#[test]
fn shards_are_matched_in_turn() {
    let (placer, programmer) = (keys(0..300), keys(200..400));
    let sizes = PlainSizes {
        shards: 4,
        ..sized(150, 150)
    };
    let run = run_with((&placer, &programmer), sizes, DEFAULT, |_, _| ());
    let (placers, programmers) = run.both().unwrap();
    assert!((0..300).all(|key| placers[key] == (key >= 200)));
    let programmers = programmers.unwrap();
    assert!((0..200).all(|key| programmers[key] == (key < 100)));
}

/// A set of base OTs makes 2^32 OTs of SoftSpoken, and tables of 67 million keys take twice as
/// many. Here five turns of three shards take all of a set.
#[test]
fn base_ots_are_made_again_before_a_set_is_used_up() {
    let keys = keys(0..600);
    let of = |shards| {
        let sizes = PlainSizes {
            shards,
            ..sized(120, 120)
        };
        let (mut base_ots, mut asks) = (Vec::new(), 0);
        let note = |kind, sent: &mut Sent| match kind {
            Kind::BaseOtChoice => base_ots.push((asks, sent.1.clone())),
            Kind::MatchAsk => asks += 1,
            _ => {}
        };
        let run = run_with((&keys, &keys), sizes, DEFAULT, note);
        assert!(run.both().unwrap().0.iter().all(|bit| *bit));
        base_ots
    };
    let [few, many] = [8, 32].map(of);
    assert!(few.iter().all(|(asks, _)| *asks == 0));
    assert_eq!(many.len(), 3 * few.len());
    let sets = many.chunks(few.len()).map(|set| set[0].0);
    assert!(sets.eq([0, 15, 30]));
    for (i, (_, choices)) in many.iter().enumerate() {
        assert!(many[i + 1..].iter().all(|(_, other)| other != choices));
    }
}

#[test]
fn a_shard_that_is_too_full_ends_the_run_before_anything_is_sent() {
    let (placer, programmer) = (keys(0..300), keys(0..3));
    let sizes = PlainSizes {
        shards: 2,
        ..sized(140, 5)
    };
    let mut sent = 0;
    let ended = run_with((&placer, &programmer), sizes, DEFAULT, |kind, _| {
        sent += usize::from(kind == Kind::MatchAsk);
    });
    assert_eq!((ended.first_failure, sent), (Some(0), 0));
    assert_eq!(ended.both().unwrap_err(), Error::MatchingFailed);
}

#[test]
fn lengths_on_the_wire_follow_from_what_was_agreed_and_not_from_tables() {
    let mut all = Vec::new();
    for count in [1, 40] {
        let mut lengths = Vec::new();
        let (placer, programmer) = (keys(0..count), keys(0..count));
        let note = |kind: Kind, sent: &mut Sent| lengths.push((kind, sent.1.len()));
        run_with((&placer, &programmer), sized(40, 50), DEFAULT, note)
            .both()
            .unwrap();
        all.push(lengths);
    }
    assert_eq!(all[0], all[1]);
    let sizes = sized(40, 50);
    let of = |kind| {
        all[0]
            .iter()
            .filter(move |sent| sent.0 == kind)
            .map(|sent| sent.1)
    };
    assert!(of(Kind::MatchAsk).eq([sizes.ask_bytes() as usize]));
    assert!(of(Kind::MatchTags).eq([sizes.tags_bytes() as usize]));
    assert!(of(Kind::Matches).eq([7]));
}

/// The placer knows which tags belong to its keys. If tags were in the table's order, it would
/// learn the position of each in the programmer's table.
#[test]
fn tags_do_not_stand_in_the_order_of_the_table() {
    let (placer, programmer) = (keys(0..32), keys(0..64));
    let mut matches = Vec::new();
    let note = |kind, sent: &mut Sent| {
        if kind == Kind::Matches {
            matches = sent.1.clone();
        }
    };
    run_with((&placer, &programmer), sized(32, 64), DEFAULT, note)
        .both()
        .unwrap();
    assert_eq!(
        matches.iter().map(|byte| byte.count_ones()).sum::<u32>(),
        32
    );
    assert_ne!(matches, [255, 255, 255, 255, 0, 0, 0, 0]);
}

#[test]
fn a_message_of_another_length_is_refused() {
    let (placer, programmer) = (keys(0..32), keys(0..64));
    for (lie, reader) in [
        (Kind::MatchAsk, 1),
        (Kind::MatchTags, 0),
        (Kind::Matches, 1),
    ] {
        for longer in [false, true] {
            let change = |kind, sent: &mut Sent| match kind == lie {
                true if longer => sent.1.push(0),
                true => sent.1.truncate(sent.1.len() - 1),
                false => (),
            };
            let ended = run_with((&placer, &programmer), sized(32, 64), DEFAULT, change);
            assert_eq!(ended.first_failure, Some(reader), "{lie}");
            let refused = ended.both().unwrap_err();
            let wrong = matches!(
                refused,
                Error::PeerMisbehaved(Misbehaviour::WrongLength { kind, .. }) if kind == lie
            );
            assert!(wrong, "{refused}");
        }
    }
}

#[test]
fn a_match_of_no_key_is_refused() {
    // Of 61 tags 60 are random; bits 61 to 63 belong to no tag.
    let (placer, programmer) = (keys(0..32), keys([5]));
    for lie in [0x20_u8, 0xff] {
        let change = |kind, sent: &mut Sent| {
            if kind == Kind::Matches {
                match lie {
                    0x20 => sent.1[7] |= 0x20,
                    _ => sent.1[0] = 0xff,
                }
            }
        };
        let ended = run_with((&placer, &programmer), sized(32, 61), DEFAULT, change);
        let refused = ended.both().unwrap_err();
        let expected = Misbehaviour::InvalidField {
            kind: Kind::Matches,
            field: "match of no key",
        };
        assert_eq!(refused, expected.into());
    }
}

#[test]
fn more_keys_than_agreed_are_refused_before_anything_is_sent() {
    let (placer, programmer) = (keys(0..3), keys(0..3));
    for sizes in [sized(2, 3), sized(3, 2)] {
        let mut sent = Vec::new();
        let ended = run_with((&placer, &programmer), sizes, DEFAULT, |kind, _| {
            sent.push(kind)
        });
        assert!(matches!(ended.both(), Err(Error::ApiMisuse(_))));
        let tells = [Kind::MatchAsk, Kind::MatchTags, Kind::Matches];
        assert!(!sent.iter().any(|kind| tells.contains(kind)));
    }
}

/// Exchanges sizes. `change` may change the first message.
fn sizes_with(keys: u64, change: impl Fn(&mut Vec<u8>)) -> Result<(u64, u64), Error> {
    let (meaning, mut first) = (Digest([7; 32]), true);
    run_two(
        async |io| exchange_sizes(io, meaning, keys, None).await,
        async |io| exchange_sizes(io, meaning, 5, None).await,
        &mut |_, _, _, sent| {
            if core::mem::take(&mut first) {
                change(&mut sent.1);
            }
            Ok(())
        },
    )
    .both()
}

#[test]
fn sizes_are_told_and_wrong_ones_refused() {
    assert_eq!(sizes_with(3, |_| ()), Ok((5, 3)));
    let other = sizes_with(3, |message| message[0] ^= 1).unwrap_err();
    let is_meaning = matches!(
        other,
        Error::PeerIncompatible(Incompatibility::Matching { .. })
    );
    assert!(is_meaning, "{other}");
    let field = |refused: Result<_, Error>| match refused {
        Err(Error::PeerMisbehaved(Misbehaviour::InvalidField { field, .. })) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        field(sizes_with(3, |message| message[32] = 2)),
        "number of sizes"
    );
    assert_eq!(field(sizes_with(MAX_KEYS + 1, |_| ())), "size");
    let short = sizes_with(3, |message| message.truncate(40)).unwrap_err();
    assert!(matches!(
        short,
        Error::PeerMisbehaved(Misbehaviour::WrongLength { .. })
    ));
}

#[test]
fn each_run_has_digests_of_its_own() {
    let keys = keys(0..2);
    let [a, b] =
        [3, 4].map(|run| keys.digests(&MatchTag::new(tag(run).as_bytes(), 0), NonZeroUsize::MIN));
    assert_ne!(a[0], b[0]);
    let other_join = keys.digests(&MatchTag::new(tag(3).as_bytes(), 1), NonZeroUsize::MIN);
    assert_ne!(a[0], other_join[0]);
    let setups = [(3, 0), (4, 0), (3, 1), (4, 1)];
    let setups = setups.map(|(run, set)| *tag(run).match_setup(set).as_bytes());
    for (i, setup) in setups.iter().enumerate() {
        assert!(!setups[i + 1..].contains(setup));
    }
}

/// The columns of the only ask of a matching.
const ALONE: AskColumns = AskColumns {
    count: 600,
    before: 0,
    all: 600,
    work_after: 0,
};

/// Two asks under the same u would reveal the sum of both encodings.
#[test]
fn each_vole_is_another_and_right() {
    let (mut garbler, mut evaluator) = setup::dealt(&tag(3), &mut Prg::new(Block::ONES));
    let [zeros, ones] = [Block::ZERO, Block::ONES].map(|block| vec![[block]; 600]);
    let made = run_both(
        async |io| {
            let mut prg = Prg::new(Block::ZERO);
            let first = ProgrammerVole::offer(io, &mut garbler, ALONE, &mut prg).await?;
            let second = ProgrammerVole::offer(io, &mut garbler, ALONE, &mut prg).await?;
            Ok([first, second])
        },
        async |io| {
            let mut prg = Prg::new(Block::ONES);
            let first = PlacerVole::choose(io, &mut evaluator, ALONE, &mut prg).await?;
            let second = PlacerVole::choose(io, &mut evaluator, ALONE, &mut prg).await?;
            Ok([first, second])
        },
    );
    let ([v1, v2], [first, second]) = made.unwrap();
    let ((e1, w1), (e2, w2)) = (first.mask([&zeros[..]]), second.mask([&ones[..]]));
    assert!(e1.iter().zip(&e2).all(|(a, b)| (*a ^ *b) != Block::ONES));
    for (v, e, w, encoding) in [(v1, e1, w1, zeros), (v2, e2, w2, ones)] {
        let (mut keys, times) = v.unmask(&e, NonZeroUsize::MIN);
        times.add_to(&mut keys, encoding.as_flattened());
        assert_eq!(*keys, *w);
    }
}
