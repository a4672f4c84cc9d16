//! A peer whose messages deviate from the function is detected, and honest messages reveal only
//! masked bits.

use tacit_circuit::{Circuit, Component, Gate, Port};
use tacit_function::{FunctionBuilder, Part};

use super::*;
use crate::Misbehaviour;
use crate::bits::unpack;

/// Returns a circuit that ANDs two operands of `bits` bits, bit by bit.
pub(super) fn and_circuit(bits: u32) -> Component {
    let ty: tacit_circuit::Type = format!("bits[{bits}]").parse().expect("a type");
    let port = |name: &str| Port::new(name, ty.clone());
    let gates = (0..bits).map(|i| Gate::And(i, bits + i));
    let outputs = (2 * bits..3 * bits).collect();
    let circuit = Circuit::new(vec![port("x"), port("y")], vec![port("z")], gates, outputs);
    Component::new("and", circuit.expect("a circuit"))
}

/// Returns a function with `calls` calls that each AND three bits of both parties, followed by one
/// call that ANDs the first and the last result.
pub(super) fn ands(calls: u64, to: Recipient) -> Function {
    let mut builder = FunctionBuilder::new("ands");
    let array = format!("bits[3][{calls}]");
    builder
        .component("and", and_circuit(3))
        .input("x", &array, Role::Garbler)
        .input("y", &array, Role::Evaluator)
        .value("z", &array)
        .value("last", "bits[3]")
        .repeat("i", 0, calls, |each, i| {
            let at = |name: &str| Part::of(name).at(i);
            each.call([at("z")], "and", [at("x"), at("y")]);
        })
        .call(
            ["last"],
            "and",
            [Part::of("z").at(0), Part::of("z").at(calls - 1)],
        )
        .output("z", &array, to, "z")
        .output("last", "bits[3]", to, "last");
    builder.finish().expect("a function")
}

/// Returns the outcome at the honest party, where `lie` changes message number `which` of this kind
/// from the party `from`.
fn found((from, kind, which): (usize, Kind, usize), lie: impl Fn(&mut Sent)) -> Result<(), Error> {
    let case = Case::of(ands(5, Recipient::Both));
    let (_, shares) = case.inputs(&mut prg(1));
    let mut directions = directions_of(SOFT_SPOKEN, BaseOt::default(), [1, 2]);
    let mut seen = 0;
    let ended = run_tampered(
        &case,
        &shares,
        &mut directions,
        &mut |party, sent_kind, sent| {
            if (party, sent_kind) == (from, kind) {
                if seen == which {
                    lie(sent);
                }
                seen += 1;
            }
        },
    );
    assert!(seen > which, "{kind} was sent {seen} times");
    let refuses = Some(1 - from);
    assert_eq!(
        ended.first_failure, refuses,
        "the other party refuses {kind}"
    );
    ended.both().map(drop)
}

fn misbehaved(found: Result<(), Error>) -> Misbehaviour {
    match found {
        Err(Error::PeerMisbehaved(misbehaviour)) => misbehaviour,
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_of_other_lengths_and_kinds_are_refused() {
    for from in [0, 1] {
        for kind in [
            Kind::OtRefill,
            Kind::OtRefillBack,
            Kind::Layer,
            Kind::ResultShares,
        ] {
            // A refill of SoftSpoken has one message, from the OTs' receiver.
            let sender_of_refills = [Kind::OtRefillBack, Kind::OtRefill][from];
            if [Kind::OtRefill, Kind::OtRefillBack].contains(&kind) && kind != sender_of_refills {
                continue;
            }
            let place = (from, kind, 0);
            let longer = misbehaved(found(place, |(_, payload)| payload.push(0)));
            assert!(matches!(longer, Misbehaviour::WrongLength { kind: of, .. } if of == kind));
            let shorter = misbehaved(found(place, |(_, payload)| {
                payload.truncate(payload.len() - 1)
            }));
            assert!(matches!(shorter, Misbehaviour::WrongLength { kind: of, .. } if of == kind));
            let other = misbehaved(found(place, |(byte, _)| *byte = Kind::Tables.byte()));
            assert!(matches!(other, Misbehaviour::UnexpectedMessage { .. }));
        }
    }
}

#[test]
fn other_steps_and_frame_numbers_are_refused() {
    for from in [0, 1] {
        for which in [0, 1] {
            for (byte, field) in [
                (0, "step"),
                (3, "step"),
                (4, "frame number"),
                (7, "frame number"),
            ] {
                let lie = |(_, payload): &mut Sent| payload[byte] ^= 1;
                let kind = Kind::Layer;
                let expected = Misbehaviour::invalid(kind, field);
                assert_eq!(misbehaved(found((from, kind, which), lie)), expected);
            }
        }
    }
}

#[test]
fn set_padding_bits_are_refused() {
    for from in [0, 1] {
        // The first step opens 15 bits, the second 6, and the results have 18 bits.
        for (kind, which) in [(Kind::Layer, 0), (Kind::Layer, 1), (Kind::ResultShares, 0)] {
            let lie = |(_, payload): &mut Sent| {
                *payload.last_mut().expect("some bytes") |= 0x80;
            };
            let expected = Misbehaviour::InvalidField {
                kind,
                field: "padding",
            };
            assert_eq!(misbehaved(found((from, kind, which), lie)), expected);
        }
    }
}

#[test]
fn results_go_to_recipients_alone() {
    for (to, expected) in [
        (Recipient::Garbler, [0, 1]),
        (Recipient::Evaluator, [1, 0]),
        (Recipient::Both, [1, 1]),
    ] {
        let case = Case::of(ands(5, to));
        let inputs = case.inputs(&mut prg(1));
        let messages = with_directions(|directions| run_honest(&case, &inputs, directions));
        let mut sent = [0, 0];
        for (from, kind, _) in messages.expect("honest") {
            sent[from] += usize::from(kind == Kind::ResultShares);
        }
        assert_eq!(sent, expected, "{to:?}");
    }
}

/// Returns a circuit that ANDs a bit with each of three.
fn shared_operand() -> Component {
    let port = |name: &str, bits| Port::new(name, tacit_circuit::Type::bits(bits));
    let gates = (1..4).map(|i| Gate::And(0, i));
    let inputs = vec![port("x", 1), port("y", 3)];
    let circuit = Circuit::new(inputs, vec![port("z", 3)], gates, (4..7).collect());
    Component::new("shared", circuit.expect("a circuit"))
}

/// Returns a function whose first step has two groups of `calls` calls each, of narrow crosses that
/// the garbler chooses or of wide ones that it sends. The evaluator gets the results.
fn two_groups(calls: u64, is_wide: bool) -> Function {
    let mut builder = FunctionBuilder::new("groups");
    let (component, bits) = if is_wide {
        (shared_operand(), 1)
    } else {
        (and_circuit(3), 3)
    };
    let owners = match is_wide {
        true => [Role::Evaluator, Role::Garbler],
        false => [Role::Garbler, Role::Evaluator],
    };
    for group in 0..2 {
        let name = |of: &str| format!("{of}{group}");
        let (f, x, y, z) = (name("f"), name("x"), name("y"), name("z"));
        let array = format!("bits[3][{calls}]");
        builder
            .component(&f, component.clone())
            .input(&x, &format!("bits[{bits}][{calls}]"), owners[0])
            .input(&y, &array, owners[1])
            .value(&z, &array)
            .repeat("i", 0, calls, |each, i| {
                let at = |name: &str| Part::of(name).at(i);
                each.call([at(&z)], &f, [at(&x), at(&y)]);
            })
            .output(&z, &array, Recipient::Evaluator, z.as_str());
    }
    builder.finish().expect("a function")
}

/// Calls `run` twice with each of some functions and the same inputs. Looks in the garbler's
/// messages for the XOR of two of the garbler's secrets: rows of the bits that it chooses with, or
/// of those that it sends, in groups of few calls and of many.
pub(super) fn assert_masks_serve_once(
    mut run: impl FnMut(&Case, &(Vec<bool>, [Vec<bool>; 2])) -> Messages,
) {
    for (calls, is_wide) in [(64, false), (64, true), (128, false), (128, true)] {
        let case = Case::of(two_groups(calls as u64, is_wide));
        let inputs = case.inputs(&mut prg(1));
        let messages = [run(&case, &inputs), run(&case, &inputs)].concat();
        let layers = messages
            .iter()
            .filter(|(from, kind, _)| (*from, *kind) == (0, Kind::Layer));
        let mut opened = Vec::new();
        for (_, _, payload) in layers {
            let bits = unpack(&payload[8..], 6 * calls);
            opened.extend(bits.chunks(calls).map(<[bool]>::to_vec));
        }
        assert_eq!(opened.len(), 12, "three rows of two groups in two runs");
        let mut rest = &inputs.0[..];
        let mut secrets: Vec<Vec<bool>> = Vec::new();
        for input in case.function.inputs() {
            let (bits, after) = rest.split_at(input.port.ty.width());
            rest = after;
            if input.owner == Role::Garbler {
                let row = |bit: usize| (0..calls).map(|i| bits[3 * i + bit]).collect();
                secrets.extend((0..3).map(row));
            }
        }
        for (i, a) in opened.iter().enumerate() {
            for (j, b) in opened.iter().enumerate().skip(i + 1) {
                let secrets = secrets[i % 6].iter().zip(&secrets[j % 6]);
                let mut rows = a.iter().zip(b).zip(secrets);
                assert!(
                    !rows.all(|((a, b), (s, t))| a ^ b == s ^ t),
                    "rows {i} and {j} of {calls} calls have one mask, wide: {is_wide}"
                );
            }
        }
    }
}

#[test]
fn no_two_messages_have_one_mask() {
    assert_masks_serve_once(|case, inputs| {
        with_directions(|directions| run_honest(case, inputs, directions)).expect("honest")
    });
}

/// A receiver that hashes under another key than the sender has other masks.
#[test]
fn wide_crosses_are_right_where_a_key_changes() {
    let case = Case::of(two_groups(2000, true));
    let inputs = case.inputs(&mut prg(1));
    with_directions(|directions| run_honest(&case, &inputs, directions)).expect("honest");
}

#[test]
fn no_two_directions_have_one_offset() {
    let of = |seeds| directions_of(SOFT_SPOKEN, BaseOt::default(), seeds);
    let directions = [of([1, 2]), of([3, 4])];
    let offsets: Vec<Block> = directions.iter().flatten().map(Directions::delta).collect();
    for (i, offset) in offsets.iter().enumerate() {
        assert!(
            offsets[i + 1..].iter().all(|other| other != offset),
            "Δ {i}"
        );
    }
}
