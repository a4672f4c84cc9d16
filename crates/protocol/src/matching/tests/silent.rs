//! Matchings over a silent VOLE, which takes a run of many columns.

use tacit_ot::source::Extension;

use super::super::sizes::PlainSizes;
use super::super::vole::VolePlan;
use super::intersection::{keys, run_with};
use crate::io::memory::Sent;
use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// Two shards, neither of which has enough columns by itself.
fn sizes() -> PlainSizes {
    let sizes = PlainSizes::of(36_000, 300).unwrap();
    assert!(sizes.ask_columns < VolePlan::MOST_PACKED_COLUMNS);
    PlainSizes { shards: 2, ..sizes }
}

#[test]
fn shards_are_matched_over_one_silent_vole() {
    let (placer, programmer) = (keys(0..70_000), keys(69_900..70_200));
    let sizes = sizes();
    let plan = VolePlan::of(Extension::Silent, 2 * sizes.ask_columns);
    let (mut trees, mut base_ots) = (Vec::new(), 0);
    let note = |kind, sent: &mut Sent| match kind {
        Kind::MatchTrees => trees.push(sent.1.len()),
        Kind::BaseOtOffer => base_ots += 1,
        Kind::CotExtension => panic!("an OT of another extension"),
        _ => {}
    };
    let run = run_with(
        (&placer, &programmer),
        sizes,
        (Extension::Silent, true),
        note,
    );
    let (placers, programmers) = run.both().unwrap();
    assert!((0..70_000).all(|key| placers[key] == (key >= 69_900)));
    let programmers = programmers.unwrap();
    assert!((0..300).all(|key| programmers[key] == (key < 100)));
    assert_eq!((trees, base_ots), (vec![161_280, 72_960], 1));
    assert_eq!(plan.bytes(), 161_280 + 72_960);
}

#[test]
fn trees_of_another_length_are_refused() {
    let (placer, programmer) = (keys(0..70_000), keys(0..10));
    let change = |kind, sent: &mut Sent| {
        if kind == Kind::MatchTrees {
            sent.1.push(0);
        }
    };
    let ended = run_with(
        (&placer, &programmer),
        sizes(),
        (Extension::Silent, false),
        change,
    );
    assert_eq!(ended.first_failure, Some(0));
    let refused = ended.both().unwrap_err();
    let kind = Kind::MatchTrees;
    let wrong = matches!(
        refused,
        Error::PeerMisbehaved(Misbehaviour::WrongLength { kind: of, .. }) if of == kind
    );
    assert!(wrong, "{refused}");
}

/// Silent OT alone makes a silent VOLE, and of many columns alone.
#[test]
fn the_form_follows_from_the_extension_and_the_sizes() {
    let most = VolePlan::MOST_PACKED_COLUMNS;
    let few = VolePlan::of(Extension::Silent, most);
    let default = VolePlan::of(Extension::default(), 1 << 30);
    for (plan, columns) in [(few, most), (default, 1 << 30)] {
        assert!(!plan.is_silent());
        assert_eq!(
            (plan.ots(), plan.work(), plan.bytes()),
            (128 * columns, 128 * columns, 0)
        );
    }
    let many = VolePlan::of(Extension::Silent, most + 1);
    assert!(many.is_silent());
    assert_eq!(many.ots(), 33_888 * 128 + 1120 * 8 + 380 * 11);
    // The silent form takes fewer OTs than it saves from here on.
    assert!(many.ots() < 128 * most);
    // A table of 2^20 keys: about 1 MB with its OTs, where packed columns take 14.
    let table = PlainSizes::of(1 << 20, 1 << 20).unwrap();
    let plan = VolePlan::of(Extension::Silent, table.shards * table.ask_columns);
    assert_eq!(plan.bytes(), 161_280 + 2 * 72_960);
}
