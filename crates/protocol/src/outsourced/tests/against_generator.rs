//! The strategies of a cheating generator.

use tacit_kernels::Block;

use super::cheats::{COPIES, CheatPlace, Due, INPUTS, OtherInput, Strategy, check, check_all};
use super::trio::{Past, Trio, adder, bits, honest, malicious, number};
use crate::malicious::commitment::PAIR_BYTES;
use crate::message::Kind;
use crate::outsourced::Peer::{Cloud, Evaluator, Generator};
use crate::outsourced::cut::Fate;
use crate::outsourced::{Cheat, Peer, kills_chain};
use crate::saved::GATE_BYTES;
use tacit_function::{FunctionBuilder, Recipient, Role};

fn is_checked(cheat: Cheat) -> bool {
    matches!(cheat, Cheat::CheckedCopy(..))
}

const CHECKED: Due = Due::Caught(Cloud, is_checked);

/// Flips a bit of the heads, in the byte that `at` returns.
fn in_head(
    place: &CheatPlace<'_>,
    kind: Kind,
    message: &mut [u8],
    at: impl Fn(&CheatPlace<'_>) -> usize,
) {
    if kind == Kind::CopyHeads {
        message[at(place)] ^= 1;
    }
}

/// Flips a bit of a circuit's body.
fn in_body(kind: Kind, message: &mut [u8], at: usize) {
    if kind == Kind::Copies {
        message[at] ^= 1;
    }
}

macro_rules! strategies {
    ($($name:literal, $due:expr, |$place:ident, $kind:ident, $message:ident| $change:expr;)*) => {
        &[$(Strategy {
            name: $name,
            due: $due,
            change: |$place, _: Peer, $kind, $message| $change,
        }),*]
    };
}

#[test]
fn keys_and_heads() {
    let keys = Due::Caught(Cloud, |cheat| cheat == Cheat::Refused);
    let input = Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::GeneratorInput(_)));
    check_all(
        Generator,
        strategies! {
            "a wrong hash of a key that the cloud has", keys, |p, kind, m| {
                if kind == Kind::KeyHashes { m[64 * p.checked] ^= 1; }
            };
            "a wrong hash of a key that the cloud lacks", Due::Right, |p, kind, m| {
                if kind == Kind::KeyHashes { m[64 * p.checked + 32] ^= 1; }
            };
            "hashes of keys in the other order", keys, |_p, kind, m| {
                if kind == Kind::KeyHashes {
                    m.chunks_exact_mut(64).for_each(|c| c.rotate_left(32));
                }
            };
            "key hashes that are too short", Due::Refused(Evaluator), |_p, kind, m| {
                if kind == Kind::KeyHashes { m.pop(); }
            };
            "another start point of a checked circuit", CHECKED, |p, kind, m| {
                in_head(p, kind, m, |p| p.head(p.checked));
            };
            "another start point of an evaluated circuit", Due::Right, |p, kind, m| {
                in_head(p, kind, m, |p| p.head(p.evaluated));
            };
            "another R of a checked circuit", CHECKED, |p, kind, m| {
                in_head(p, kind, m, |p| p.head(p.checked) + 16);
            };
            "a wrong commitment to an input of a checked circuit", CHECKED, |p, kind, m| {
                in_head(p, kind, m, |p| p.head(p.checked) + 32);
            };
            "wrong commitments to an input of an evaluated circuit", input, |p, kind, m| {
                in_head(p, kind, m, |p| p.head(p.evaluated) + 32);
                in_head(p, kind, m, |p| p.head(p.evaluated) + 64);
            };
            "a wrong opening of an evaluated circuit", input, |p, kind, m| {
                in_head(p, kind, m, |p| p.boxes(p.evaluated) + 16);
            };
            "a wrong opening of a checked circuit", Due::Right, |p, kind, m| {
                in_head(p, kind, m, |p| p.boxes(p.checked) + 16);
            };
            "a wrong seed of a checked circuit", CHECKED, |p, kind, m| {
                in_head(p, kind, m, |p| p.boxes(p.checked) + p.work.opening_bytes());
            };
            "a wrong seed of an evaluated circuit", Due::Right, |p, kind, m| {
                in_head(p, kind, m, |p| p.boxes(p.evaluated) + p.work.opening_bytes());
            };
            "two circuits' heads exchanged", Due::Caught(Cloud, |_| true), |p, kind, m| {
                if kind == Kind::CopyHeads {
                    let bytes = p.work.head_bytes();
                    m[32..32 + 2 * bytes].rotate_left(bytes);
                }
            };
        },
    );
}

#[test]
fn inputs_and_transfers() {
    let chosen = Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::ChosenValues(_)));
    check_all(
        Generator,
        strategies! {
            "a wrong decoding of inputs of a checked circuit", CHECKED, |p, kind, m| {
                if kind == Kind::InputDecodings { m[p.checked * p.work.decoding_bytes()] ^= 1; }
            };
            "a wrong decoding of inputs of an evaluated circuit",
            Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::DifferentInputs(_))), |p, kind, m| {
                if kind == Kind::InputDecodings { m[p.evaluated * p.work.decoding_bytes()] ^= 1; }
            };
            "another order of a checked circuit's labels",
            Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::Order(_))), |p, kind, m| {
                if kind == Kind::Orders { m[32 + 16 * p.checked] ^= 1; }
            };
            "another order of an evaluated circuit's labels", chosen, |p, kind, m| {
                if kind == Kind::Orders { m[32 + 16 * p.evaluated] ^= 1; }
            };
            "other blinds", Due::Caught(Cloud, |_| true), |_p, kind, m| {
                if kind == Kind::Orders { m[0] ^= 1; }
            };
            "both strings of a transfer exchanged", Due::Caught(Cloud, |_| true), |p, kind, m| {
                if kind == Kind::TransferStrings {
                    let bytes = p.work.string_bytes();
                    let last = m.len() - bytes;
                    m[last..].rotate_left(bytes / 2);
                }
            };
            "a wrong label of an evaluated circuit for both values", Due::Caught(Cloud, |cheat| {
                matches!(cheat, Cheat::DeliveredLabel(_))
            }), |p, kind, m| {
                if kind == Kind::TransferStrings {
                    let bytes = p.work.string_bytes();
                    let last = m.len() - bytes + 16 * p.evaluated;
                    m[last + 1] ^= 1;
                    m[last + 1 + bytes / 2] ^= 1;
                }
            };
            "a wrong label of a checked circuit", Due::Right, |p, kind, m| {
                if kind == Kind::TransferStrings {
                    let last = m.len() - p.work.string_bytes() + 16 * p.checked;
                    m[last] ^= 1;
                }
            };
            "strings that are too few", Due::Refused(Cloud), |_p, kind, m| {
                if kind == Kind::TransferStrings { m.truncate(16); }
            };
        },
    );
}

#[test]
fn bodies() {
    check_all(
        Generator,
        strategies! {
            "a wrong commitment to a label of a checked circuit", CHECKED, |p, kind, m| {
                in_body(kind, m, p.body(p.checked));
            };
            "wrong commitments to labels of an evaluated circuit",
            Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::DeliveredLabel(_))), |p, kind, m| {
                in_body(kind, m, p.body(p.evaluated));
                in_body(kind, m, p.body(p.evaluated) + 32);
            };
            "a wrong table of a checked circuit", CHECKED, |p, kind, m| {
                in_body(kind, m, p.body(p.checked) + p.work.before_tables_bytes());
            };
            "a wrong table of an evaluated circuit", Due::Right, |p, kind, m| {
                in_body(kind, m, p.body(p.evaluated) + p.work.before_tables_bytes());
            };
            "a checked circuit that negates a result", CHECKED, |p, kind, m| {
                in_body(kind, m, p.body(p.checked) + p.work.tables_end());
            };
            "an evaluated circuit that negates a result", Due::Right, |p, kind, m| {
                in_body(kind, m, p.body(p.evaluated) + p.work.tables_end());
            };
            "a circuit whose every bit is wrong", CHECKED, |p, kind, m| {
                if kind == Kind::Copies {
                    let body = p.body(p.checked);
                    m[body..body + p.work.body_bytes()].iter_mut().for_each(|byte| *byte = !*byte);
                }
            };
            "bodies that end early", Due::Refused(Cloud), |_p, kind, m| {
                if kind == Kind::Copies { m.pop(); }
            };
            "an empty message", Due::Refused(Cloud), |_p, kind, m| {
                if kind == Kind::CopyHeads { m.clear(); }
            };
        },
    );
}

/// The cloud compares tables segment by segment as they arrive or, on several threads, together.
#[test]
fn a_wrong_table_of_any_segment() {
    let mut builder = FunctionBuilder::new("twice");
    builder
        .library("add", "adder", &[("bits", 4)])
        .input("x", "u4", Role::Garbler)
        .input("y", "u4", Role::Evaluator)
        .value("sum", "u4")
        .value("more", "u4")
        .call(["sum"], "add", ["x", "y"])
        .call(["more"], "add", ["sum", "y"])
        .output("more", "u4", Recipient::Both, "more");
    let function = builder.finish().expect("a function");
    let inputs = [&bits(9, 4)[..], &bits(4, 4)[..]];
    for seed in [5, 6] {
        let trio = || Trio::new(&function, malicious(COPIES), inputs, seed, Past::default());
        let place = CheatPlace::new(&function, malicious(COPIES), &trio().cloud.split());
        let [first, end] = [place.work.before_tables_bytes(), place.work.tables_end()];
        for at in [first, end - 1] {
            let trio = trio();
            assert_eq!(trio.cloud.split()[place.checked], Fate::Check);
            let ended = trio.run(Some(Generator), &mut |_, kind, _, message| {
                in_body(kind, message, place.body(place.checked) + at);
            });
            let strategy = Strategy {
                name: "a wrong table",
                change: |_, _, _, _| {},
                due: CHECKED,
            };
            check(&strategy, &ended);
        }
    }
}

/// The generator gives one circuit another input, openly or with a lie about the input's hash.
#[test]
fn one_circuit_gets_another_input() {
    let function = adder(4, Recipient::Both);
    let different = Due::Caught(Cloud, |cheat| matches!(cheat, Cheat::DifferentInputs(_)));
    let cases = [
        (Fate::Evaluate, false, different),
        (Fate::Evaluate, true, Due::Right),
        (Fate::Check, false, Due::Right),
        (Fate::Check, true, CHECKED),
    ];
    for (fate, hidden, due) in cases {
        for [x, y] in INPUTS {
            let inputs = [&bits(x, 4)[..], &bits(y, 4)[..]];
            let mut trio = Trio::new(&function, malicious(COPIES), inputs, 5, Past::default());
            let place = CheatPlace::new(&function, malicious(COPIES), &trio.cloud.split());
            trio.generator.spoiling = Some(OtherInput {
                copies: vec![place.copy(fate)],
                hidden,
            });
            let ended = trio.run(None, &mut honest);
            let strategy = Strategy {
                name: "another input",
                change: |_, _, _, _| {},
                due,
            };
            check(&strategy, &ended);
            if matches!(due, Due::Right) {
                let evaluator = ended.evaluator.expect("done");
                assert_eq!(
                    number(&evaluator.outputs),
                    (x + y) % 16,
                    "{fate:?}, {hidden}"
                );
            }
        }
    }
}

/// The layout on which the strategies rely.
#[test]
fn parts_lie_where_strategies_change_them() {
    let function = adder(4, Recipient::Both);
    let split = [Fate::Check, Fate::Evaluate];
    let place = CheatPlace::new(&function, malicious(COPIES), &split);
    let work = &place.work;
    assert_eq!(work.before_tables_bytes(), PAIR_BYTES * work.transfers());
    assert_eq!(GATE_BYTES, 2 * Block::BYTES);
    assert_eq!((place.checked, place.evaluated), (0, 1));
    assert_eq!(place.boxes(0), 32 + 32 + 64 * work.own_bits);
}

/// A generator that lies about one key would learn whether the circuit is checked if the evaluator,
/// which detects the lie, told it. It hears only the cloud's report after the chain is destroyed.
#[test]
fn a_lie_about_a_key_asks_for_no_fate() {
    let function = adder(4, Recipient::Both);
    let inputs = [&bits(9, 4)[..], &bits(4, 4)[..]];
    let seen = (0..COPIES as usize).map(|copy| {
        let trio = Trio::new(&function, malicious(COPIES), inputs, 5, Past::default());
        let fate = trio.cloud.split()[copy];
        let ended = trio.run(Some(Generator), &mut |_, kind, _, message| {
            if kind == Kind::KeyHashes {
                message[64 * copy] ^= 1;
            }
        });
        match (fate, &ended.ends[Cloud as usize]) {
            (Fate::Evaluate, end) => assert!(end.is_ok(), "circuit {copy}: {end:?}"),
            (Fate::Check, Err(error)) => {
                assert!(kills_chain(error, None), "circuit {copy}: {error}")
            }
            (Fate::Check, Ok(())) => panic!("circuit {copy}: a lie went unnoticed"),
        }
        let by_evaluator = ended.sent[Evaluator as usize].iter();
        by_evaluator
            .filter(|sent| sent.0 == Generator)
            .copied()
            .collect::<Vec<_>>()
    });
    let seen: Vec<_> = seen.collect();
    assert!(seen.iter().all(|each| *each == seen[0]), "{seen:?}");
}
