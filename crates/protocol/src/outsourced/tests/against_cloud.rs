//! The strategies of a cheating cloud.

use super::cheats::{Due, Strategy, check_all};
use crate::message::Kind;
use crate::outsourced::Cheat;
use crate::outsourced::Peer::{Cloud, Evaluator, Generator};

macro_rules! strategies {
    ($($name:literal, $due:expr, |$to:ident, $kind:ident, $message:ident| $change:expr;)*) => {
        &[$(Strategy {
            name: $name,
            due: $due,
            change: |_, $to, $kind, $message| $change,
        }),*]
    };
}

#[test]
fn splits_and_tosses() {
    let keys = Due::Caught(Evaluator, |cheat| cheat == Cheat::Keys);
    let size = Due::Caught(Evaluator, |cheat| matches!(cheat, Cheat::SplitSize { .. }));
    let toss = Due::Caught(Generator, |cheat| cheat == Cheat::Toss);
    check_all(
        Cloud,
        strategies! {
            "all circuits evaluated", size, |_to, kind, m| {
                if kind == Kind::Split { m[0] = 0xff; }
            };
            "no circuit evaluated", size, |_to, kind, m| {
                if kind == Kind::Split { m[0] = 0; }
            };
            "one circuit more", size, |_to, kind, m| {
                if kind == Kind::Split { m[0] |= m[0] + 1; }
            };
            "another split of the right size", keys, |_to, kind, m| {
                if kind == Kind::Split { m[0] = m[0].rotate_left(1); }
            };
            "a hash of other keys", keys, |_to, kind, m| {
                if kind == Kind::Split { m[1] ^= 1; }
            };
            "a split that is too long", Due::Refused(Evaluator), |_to, kind, m| {
                if kind == Kind::Split { m.push(0); }
            };
            "choices of the cut that are not one for all rows", Due::Refused(Generator),
            |_to, kind, m| {
                if kind == Kind::CotExtension {
                    let last = m.len() - 100;
                    m[last] ^= 1;
                }
            };
            "another commitment to its toss", toss, |_to, kind, m| {
                if kind == Kind::TossCommitment { m[0] ^= 1; }
            };
            "another opening of its toss", toss, |_to, kind, m| {
                if kind == Kind::TossOpening { m[31] ^= 1; }
            };
            "another function to the evaluator alone", Due::Refused(Evaluator), |to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Evaluator { m[40] ^= 1; }
            };
            "another number of circuits", Due::Refused(Generator), |to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Generator { m[68] ^= 1; }
            };
            "another state to the generator", Due::Refused(Generator), |to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Generator { m[80] ^= 1; }
            };
            "another state to the evaluator", Due::Refused(Evaluator), |to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Evaluator { m[80] ^= 1; }
            };
            "another nonce to the evaluator", Due::Caught(Evaluator, |cheat| cheat == Cheat::Keys),
            |to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Evaluator { m[0] ^= 1; }
            };
        },
    );
}

#[test]
fn results() {
    let generator = Due::Caught(Generator, |cheat| cheat == Cheat::Result);
    let evaluator = Due::Caught(Evaluator, |cheat| cheat == Cheat::Result);
    check_all(
        Cloud,
        strategies! {
            "a bit of the generator's result", generator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Generator { m[0] ^= 1; }
            };
            "a bit of the generator's tag", generator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Generator { m[5] ^= 0x10; }
            };
            "a bit of both", generator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Generator { m[0] ^= 0x11; }
            };
            "the generator's result all zero", generator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Generator { m.fill(0); }
            };
            "a bit of the evaluator's result", evaluator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Evaluator { m[0] ^= 4; }
            };
            "a bit of the evaluator's tag", evaluator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Evaluator { m[8] ^= 1; }
            };
            "the evaluator's result negated", evaluator, |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Evaluator {
                    m[..8].iter_mut().for_each(|byte| *byte = !*byte);
                }
            };
            "a result that is too short", Due::Refused(Evaluator), |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Evaluator { m.pop(); }
            };
            "no result", Due::Refused(Generator), |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Generator { m.clear(); }
            };
            "bits behind the result", Due::Refused(Generator), |to, kind, m| {
                if kind == Kind::OutsourcedResult && to == Generator {
                    let last = m.len() - 1;
                    m[last] |= 0x80;
                }
            };
        },
    );
}
