//! The strategies of a cheating evaluator: it can spoil a run, and learns nothing from any.

use super::cheats::{Due, Strategy, check_all};
use crate::message::Kind;
use crate::outsourced::Cheat;
use crate::outsourced::Peer::{Cloud, Evaluator, Generator};

macro_rules! strategies {
    ($($name:literal, $due:expr, |$place:ident, $to:ident, $kind:ident, $message:ident|
        $change:expr;)*) => {
        &[$(Strategy {
            name: $name,
            due: $due,
            change: |$place, $to, $kind, $message| $change,
        }),*]
    };
}

#[test]
fn transfers() {
    let spoilt = Due::Caught(Cloud, |cheat| {
        matches!(cheat, Cheat::ChosenValues(_) | Cheat::DeliveredLabel(_))
    });
    check_all(
        Evaluator,
        strategies! {
            "choices that are not one for all rows", Due::Refused(Generator), |_p, _to, kind, m| {
                if kind == Kind::CotExtension {
                    let last = m.len() - 100;
                    m[last] ^= 1;
                }
            };
            "an extension that is too short", Due::Refused(Generator), |_p, _to, kind, m| {
                if kind == Kind::CotExtension { m.pop(); }
            };
            "another order of strings", spoilt, |_p, _to, kind, m| {
                if kind == Kind::Permutation { m.copy_from_slice(&[7; 16]); }
            };
            "a wrong key of a transfer", spoilt, |p, _to, kind, m| {
                if kind == Kind::TransferKeys { m[1 + 16 * (p.work.transfers() - 1)] ^= 1; }
            };
            "two keys exchanged", spoilt, |p, _to, kind, m| {
                if kind == Kind::TransferKeys {
                    let last = 1 + 16 * (p.work.transfers() - 2);
                    m[last..last + 32].rotate_left(16);
                }
            };
            "another position of a string", spoilt, |p, _to, kind, m| {
                if kind == Kind::TransferKeys {
                    let last = p.work.transfers() - 1;
                    m[1 + 16 * p.work.transfers() + last / 8] ^= 1 << (last % 8);
                }
            };
        },
    );
}

#[test]
fn what_is_said_of_circuits() {
    let order = Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::Order(_)));
    let refused = Due::Caught(Cloud, |cheat| cheat == Cheat::Refused);
    check_all(
        Evaluator,
        strategies! {
            "a wrong order of a checked circuit", order, |p, _to, kind, m| {
                if kind == Kind::TransferKeys {
                    let (from_end, byte) = said(p.checked, p.evaluated, m.len());
                    m[from_end + byte] ^= 1;
                }
            };
            "wrong blinds or select bits of the last circuit", Due::Caught(Cloud, |_| true),
            |_p, _to, kind, m| {
                if kind == Kind::TransferKeys {
                    let last = m.len() - 1;
                    m[last] ^= 1;
                }
            };
            "what is said of all circuits is zero", order, |p, _to, kind, m| {
                if kind == Kind::TransferKeys {
                    let first = 1 + 17 * p.work.transfers();
                    m[first..].fill(0);
                }
            };
            "a verdict that keys do not agree", refused, |_p, _to, kind, m| {
                if kind == Kind::TransferKeys { m[0] = 0; }
            };
            "a verdict that is none", Due::Refused(Cloud), |_p, _to, kind, m| {
                if kind == Kind::TransferKeys { m[0] = 2; }
            };
            "too little for the cloud", Due::Refused(Cloud), |_p, _to, kind, m| {
                if kind == Kind::TransferKeys { m.truncate(40); }
            };
            "another function to the cloud alone", Due::Refused(Cloud), |_p, to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Cloud { m[33] ^= 1; }
            };
            "another security to the generator alone", Due::Refused(Generator), |_p, to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Generator { m[70] += 1; }
            };
            "another nonce to the cloud", Due::Caught(Evaluator, |_| true), |_p, to, kind, m| {
                if kind == Kind::OutsourcedTerms && to == Cloud { m[0] ^= 1; }
            };
            "a permutation that is too long", Due::Refused(Generator), |_p, _to, kind, m| {
                if kind == Kind::Permutation { m.push(0); }
            };
        },
    );
}

/// Returns the position of the data about the last checked circuit. Only evaluated circuits may
/// follow it.
fn said(checked: usize, evaluated: usize, length: usize) -> (usize, usize) {
    let after = if checked < evaluated {
        48 * (evaluated - checked)
    } else {
        0
    };
    (length - after - 16, 3)
}
