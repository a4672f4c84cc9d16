//! A cheating evaluator: every strategy leads to the right result, or the garbler catches it. The
//! garbler's behaviour does not depend on its input.

use tacit_function::{Function, Recipient, Role};
use tacit_garble::HalfGates;
use zeroize::Zeroizing;

use super::duel::{Cheater, Ended, Kept, Rewrite, batch, honest, prepare};
use super::{function, plain};
use crate::batch::{Batch, Caught, Plan};
use crate::message::Kind;
use crate::{Error, Incompatibility, Misbehaviour};

const SEED: u64 = 5;

fn plan(function: &Function) -> Plan {
    Plan::cheapest(function, 2, 4).unwrap()
}

fn is_choice(error: &Error) -> bool {
    matches!(error.failed_check(), Some(Caught::CommittedChoice(_)))
}

fn is_length(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerMisbehaved(Misbehaviour::WrongLength { .. })
    )
}

fn is_transfer(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerMisbehaved(Misbehaviour::ObliviousTransfer(_))
    )
}

fn is_plan(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerIncompatible(Incompatibility::BatchPlan { .. })
    )
}

fn is_forged(error: &Error) -> bool {
    matches!(error.failed_check(), Some(Caught::ReturnedResult))
}

fn is_padding(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerMisbehaved(Misbehaviour::InvalidField { .. })
    )
}

fn is_abort(error: &Error) -> bool {
    matches!(error, Error::PeerAborted(_))
}

/// A change of a message. Returns false to stop instead of sending it.
type Change = fn(&mut Vec<u8>) -> bool;

/// A change of a message of some kind, and the garbler's expected error.
type Case = (&'static str, Kind, Change, fn(&Error) -> bool);

const FLIP_FIRST: Change = |message| {
    message[0] ^= 1;
    true
};

const FLIP_LAST: Change = |message| {
    *message.last_mut().unwrap() ^= 0x80;
    true
};

const CUT_SHORT: Change = |message| {
    message.pop();
    true
};

const LENGTHEN: Change = |message| {
    message.push(0);
    true
};

const CLEAR: Change = |message| {
    message.fill(0);
    true
};

const STOP: Change = |_| false;

const OFFLINE: [Case; 22] = [
    ("another s", Kind::BatchPlan, FLIP_FIRST, is_plan),
    (
        "other cuts",
        Kind::BatchPlan,
        |m| {
            m[9] ^= 1;
            true
        },
        is_plan,
    ),
    (
        "no commitment to the check set",
        Kind::BatchPlan,
        |m| {
            m[25..57].fill(0);
            true
        },
        is_choice,
    ),
    (
        "no commitment to the buckets",
        Kind::BatchPlan,
        |m| {
            m[57..89].fill(0);
            true
        },
        is_choice,
    ),
    (
        "no commitment to W",
        Kind::BatchPlan,
        |m| {
            m[89..].fill(0);
            true
        },
        is_choice,
    ),
    (
        "commitments to W exchanged",
        Kind::BatchPlan,
        |m| {
            (0..32).for_each(|i| m.swap(89 + i, 121 + i));
            true
        },
        is_choice,
    ),
    ("a plan cut short", Kind::BatchPlan, CUT_SHORT, is_length),
    ("another check set", Kind::CheckSet, FLIP_FIRST, is_choice),
    ("a check set of zeros", Kind::CheckSet, CLEAR, is_choice),
    ("a longer check set", Kind::CheckSet, LENGTHEN, is_length),
    ("other buckets", Kind::Buckets, FLIP_LAST, is_choice),
    ("buckets cut short", Kind::Buckets, CUT_SHORT, is_length),
    (
        "another choice in the OTs",
        Kind::CotExtension,
        FLIP_LAST,
        is_transfer,
    ),
    ("first OTs", Kind::CotExtension, FLIP_FIRST, is_transfer),
    ("OTs of zeros", Kind::CotExtension, CLEAR, is_transfer),
    ("OTs cut short", Kind::CotExtension, CUT_SHORT, is_length),
    (
        "another W",
        Kind::HalfChoices,
        |m| {
            m[16] ^= 1;
            true
        },
        is_choice,
    ),
    (
        "other randomness of W",
        Kind::HalfChoices,
        FLIP_FIRST,
        is_choice,
    ),
    (
        "two W exchanged",
        Kind::HalfChoices,
        |m| {
            m.rotate_left(17);
            true
        },
        is_choice,
    ),
    ("W cut short", Kind::HalfChoices, CUT_SHORT, is_length),
    ("stops at the check set", Kind::CheckSet, STOP, is_abort),
    (
        "an end with a payload",
        Kind::BatchChecked,
        LENGTHEN,
        is_length,
    ),
];

#[test]
fn a_preparation_finds_every_change() {
    let function = function("adder", Recipient::Garbler);
    let batch = batch(&function, plan(&function));
    for (name, kind, change, found) in OFFLINE {
        let mut rewrite = |this: Kind, number, message: &mut Vec<u8>| {
            (this, number) != (kind, 0) || change(message)
        };
        let ended = prepare(&batch, &batch, SEED, Cheater::Evaluator, &mut rewrite);
        let error = ended.garbler.err().expect(name);
        assert!(found(&error), "{name}: {error:?}");
    }
}

const ONLINE: [Case; 12] = [
    (
        "an input cut short",
        Kind::MaskedInput,
        CUT_SHORT,
        is_length,
    ),
    ("a longer input", Kind::MaskedInput, LENGTHEN, is_length),
    (
        "a choice cut short",
        Kind::RecoveryChoice,
        CUT_SHORT,
        is_length,
    ),
    (
        "a bit of the result",
        Kind::MaskedResult,
        FLIP_FIRST,
        is_forged,
    ),
    (
        "the last bit of the MAC",
        Kind::MaskedResult,
        FLIP_LAST,
        is_forged,
    ),
    ("a result of zeros", Kind::MaskedResult, CLEAR, is_forged),
    (
        "all bits of the result",
        Kind::MaskedResult,
        |m| {
            m.iter_mut().for_each(|b| *b ^= 0xff);
            true
        },
        is_forged,
    ),
    (
        "a result cut short",
        Kind::MaskedResult,
        CUT_SHORT,
        is_length,
    ),
    (
        "no result",
        Kind::MaskedResult,
        |m| {
            m.clear();
            true
        },
        is_length,
    ),
    (
        "stops before its choice",
        Kind::RecoveryChoice,
        STOP,
        is_abort,
    ),
    (
        "stops before the result",
        Kind::MaskedResult,
        STOP,
        is_abort,
    ),
    ("stops at once", Kind::MaskedInput, STOP, is_abort),
];

fn kept(batch: &Batch<'_, HalfGates>) -> Kept {
    Kept::of(prepare(batch, batch, SEED, Cheater::Evaluator, &mut honest))
}

fn run(
    batch: &Batch<'_, HalfGates>,
    kept: &Kept,
    inputs: [&[bool]; 2],
    rewrite: Rewrite<'_>,
) -> (Ended<Zeroizing<Vec<bool>>>, Option<Vec<bool>>) {
    let ended = kept.run([batch; 2], 0, inputs, Cheater::Evaluator, rewrite);
    let result = ended.garbler.as_ref().ok().map(|bits| bits.to_vec());
    (ended, result)
}

#[test]
fn an_execution_finds_every_change_whatever_the_input() {
    let function = function("adder", Recipient::Garbler);
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch);
    let y = vec![true; function.input_bits(Role::Evaluator)];
    let mut sent = Vec::new();
    for (name, kind, change, found) in ONLINE {
        let seen = [false, true].map(|bit| {
            let x = vec![bit; function.input_bits(Role::Garbler)];
            let mut rewrite =
                |this: Kind, _, message: &mut Vec<u8>| this != kind || change(message);
            let (ended, result) = run(&batch, &kept, [&x, &y], &mut rewrite);
            let shapes = ended.shapes(Cheater::Garbler);
            let error = ended.garbler.expect_err(name);
            assert!(found(&error), "{name}: {error:?}");
            assert_eq!(result, None, "{name}");
            shapes
        });
        assert_eq!(seen[0], seen[1], "{name}");
    }
    // For any choice the garbler has the right result: the evaluator learns nothing about D, and
    // opens no lock.
    for guess in [0, 0xff] {
        let x = vec![true; function.input_bits(Role::Garbler)];
        let mut rewrite = |kind, _, message: &mut Vec<u8>| {
            if kind == Kind::RecoveryChoice {
                message.fill(guess);
            }
            true
        };
        let (ended, result) = run(&batch, &kept, [&x, &y], &mut rewrite);
        // The evaluator continues with its own choice, for which no share opens.
        assert!(ended.evaluator.is_err());
        assert_eq!(result, None);
        sent.push(ended.shapes(Cheater::Garbler));
    }
    assert_eq!(sent[0], sent[1]);
    // An evaluator that asks for another y than its own has no labels of its own to continue with.
    let x = vec![true; function.input_bits(Role::Garbler)];
    let mut rewrite = |kind, _, message: &mut Vec<u8>| {
        if kind == Kind::MaskedInput {
            message[0] ^= 1;
        }
        true
    };
    let (ended, result) = run(&batch, &kept, [&x, &y], &mut rewrite);
    assert!(ended.evaluator.is_err() && result.is_none());
}

/// Bits after the end of an input that does not fill whole bytes.
#[test]
fn unused_bits_are_refused() {
    let circuit = tacit_components::library::find(
        "adder",
        &std::collections::BTreeMap::from([("bits".to_owned(), 5)]),
    );
    let circuit = circuit.unwrap();
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &tacit_circuit::Port| {
        if port.name == first {
            Role::Garbler
        } else {
            Role::Evaluator
        }
    };
    let function = Function::of_circuit("adder", circuit, owner, |_| Recipient::Garbler);
    let function = function.unwrap();
    let batch = batch(&function, plan(&function));
    let kept = kept(&batch);
    let inputs: [&[bool]; 2] = [&[true; 5], &[true; 5]];
    for kind in [Kind::MaskedInput, Kind::MaskedResult] {
        let mut rewrite = |this, _, message: &mut Vec<u8>| this != kind || FLIP_LAST(message);
        let (ended, _) = run(&batch, &kept, inputs, &mut rewrite);
        let error = ended.garbler.unwrap_err();
        assert!(is_padding(&error), "{kind}: {error:?}");
    }
    let (_, result) = run(&batch, &kept, inputs, &mut honest);
    assert_eq!(result, Some(plain(&function, inputs)[0].clone()));
}
