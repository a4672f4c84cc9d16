//! A placer that lies in the OTs of its ask.

use tacit_kernels::Block;
use tacit_ot::source::Extension;
use tacit_ot::{FieldBits, PeerMisbehaved};

use super::super::sizes::PlainSizes;
use super::intersection::{keys, run_with};
use super::join;
use crate::io::memory::Sent;
use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// Changes the first message of OTs as a placer does that has other choices in some groups. Counts
/// the answers.
struct Lie {
    ots: Kind,
    answer: Kind,
    has_lied: bool,
    answers: usize,
}

impl Lie {
    fn new(ots: Kind, answer: Kind) -> Self {
        Self {
            ots,
            answer,
            has_lied: false,
            answers: 0,
        }
    }

    fn change(&mut self, kind: Kind, sent: &mut Sent) {
        self.answers += usize::from(kind == self.answer);
        if kind == self.ots && !core::mem::replace(&mut self.has_lied, true) {
            // Each is another group of the lot.
            for group in 0..16 {
                let at = sent.1.len() / 2 + 1009 * group;
                sent.1[at] ^= 1;
            }
        }
    }

    fn is_caught(&self, refused: &Error) {
        let caught = matches!(
            refused,
            Error::PeerMisbehaved(Misbehaviour::ObliviousTransfer(
                PeerMisbehaved::CheckFailed { .. }
            ))
        );
        assert!(caught, "{refused}");
        assert_eq!((self.has_lied, self.answers), (true, 0));
    }
}

/// A placer that has other choices in some groups of a column finds bits of Δ: only with the right
/// ones does it compute the F of its own keys that the tags have. With all of Δ it computes F of
/// any key, and compares as many as it likes with the tags of one run, whatever number it told.
#[test]
fn who_lies_in_the_ots_of_an_ask_is_caught_before_tags_leave() {
    let (placer, programmer) = (keys(0..32), keys(0..64));
    let sizes = PlainSizes::of(32, 64).unwrap();
    let softspoken = [FieldBits::DEFAULT, FieldBits::LARGEST].map(Extension::SoftSpoken);
    let softspoken = softspoken.map(|extension| (extension, Kind::CotExtension));
    for (extension, ots) in softspoken
        .into_iter()
        .chain([(Extension::Silent, Kind::OtRefill)])
    {
        let mut lie = Lie::new(ots, Kind::MatchTags);
        let change = |kind, sent: &mut Sent| lie.change(kind, sent);
        let ended = run_with((&placer, &programmer), sizes, (extension, true), change);
        assert_eq!(ended.first_failure, Some(1), "{extension}");
        lie.is_caught(&ended.both().unwrap_err());
    }
}

/// The same against the hint of a join, which has the rows' payloads under F.
#[test]
fn who_lies_in_the_ots_of_an_ask_is_caught_before_a_hint_leaves() {
    let (placer, programmer) = (keys(0..32), keys(0..32));
    let sizes = join::sized(32, 32, 1, 64);
    let mut lie = Lie::new(Kind::CotExtension, Kind::MatchHint);
    let payloads = vec![Block::ONES; 32];
    let change = |kind, sent: &mut Sent| lie.change(kind, sent);
    let ended = join::run_with(sizes, &placer, (&programmer, &payloads), change);
    assert_eq!(ended.first_failure, Some(1));
    lie.is_caught(&ended.both().err().unwrap());
}
