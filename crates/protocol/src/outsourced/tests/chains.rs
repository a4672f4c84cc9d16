//! Cheating over a chain of runs: older versions, keys and gates of earlier attempts, and other
//! splits.

use tacit_function::{Function, FunctionBuilder, Recipient};

use super::cheats::{COPIES, CheatPlace, Due, Strategy, check};
use super::honest::{opened, paid, run};
use super::trio::{Past, Rewrite, Trio, bits, honest, kept, malicious, number};
use crate::message::Kind;
use crate::outsourced::Peer::{Cloud, Evaluator, Generator};
use crate::outsourced::cut::Fate;
use crate::outsourced::{ChainVersion, Cheat, CloudValue, GeneratorValue, Peer};
use crate::saved::{ChainId, StoredChain as _};
use crate::{Error, Incompatibility};

/// The chain after two runs, with the versions of the second run and of the first.
struct Second {
    past: Past,
    older: (Vec<GeneratorValue>, Vec<CloudValue>),
}

fn two_runs(pay: &Function) -> Second {
    let (open, parameters) = (opened(), malicious(COPIES));
    let inputs = [&[][..], &bits(10, 8)[..]];
    let (generator, _, cloud) = run(&open, parameters, inputs, 1, Past::default()).expect("a run");
    let older = (generator.kept.saved.clone(), cloud.saved.clone());
    let past = kept(generator, cloud);
    let inputs = [&bits(1, 8)[..], &bits(20, 8)[..]];
    let (generator, _, cloud) = run(pay, parameters, inputs, 2, past).expect("a run");
    Second {
        past: kept(generator, cloud),
        older,
    }
}

/// Runs a third time, after `forge` has changed the parties' state.
fn third(due: Due, cheater: Peer, forge: impl FnOnce(&mut Second), rewrite: Rewrite<'_>) {
    let pay = paid();
    let mut second = two_runs(&pay);
    forge(&mut second);
    let inputs = [&bits(2, 8)[..], &bits(30, 8)[..]];
    let trio = Trio::new(&pay, malicious(COPIES), inputs, 3, second.past);
    let ended = trio.run(Some(cheater), rewrite);
    let strategy = Strategy {
        name: "over a chain",
        change: |_, _, _, _| {},
        due,
    };
    check(&strategy, &ended);
    if matches!(due, Due::Right) {
        let evaluator = ended.evaluator.expect("done");
        assert_eq!(number(&evaluator.outputs), 10 + 21 + 32);
    }
}

fn gates(cheat: Cheat) -> bool {
    matches!(cheat, Cheat::CheckedCopy(_, "partial-input gates"))
}

#[test]
fn an_older_version_of_the_generators_is_found() {
    let forge = |second: &mut Second| {
        let newer = second.past.generator.iter().map(GeneratorValue::mark);
        let forged = second.older.0.iter().cloned().zip(newer);
        let forged = forged.map(|(mut value, mark)| {
            value.0.mark = mark;
            value
        });
        second.past.generator = forged.collect();
    };
    third(Due::Caught(Cloud, gates), Generator, forge, &mut honest);
}

/// The cloud's older labels match no gate: it gets nothing that a party accepts.
#[test]
fn an_older_version_of_the_clouds_gives_no_result() {
    let forge = |second: &mut Second| {
        let newer = second.past.cloud.iter().map(CloudValue::mark);
        let evaluated = second
            .past
            .chains
            .as_ref()
            .expect("a chain")
            .1
            .split
            .clone();
        let newer_values = second.past.cloud.clone();
        let forged = second.older.1.iter().cloned().zip(newer).zip(newer_values);
        let forged = forged.map(|((mut value, mark), newer)| {
            value.0.mark = mark;
            // The cloud checks honestly, and evaluates from the older labels.
            let copies = value.0.copies.iter_mut().zip(&newer.0.copies);
            for ((copy, newer), fate) in copies.zip(evaluated.iter()) {
                if *fate == Fate::Check {
                    *copy = newer.clone();
                }
            }
            value
        });
        second.past.cloud = forged.collect();
    };
    let lost = |cheat| matches!(cheat, Cheat::Result);
    third(Due::Caught(Generator, lost), Cloud, forge, &mut honest);
}

#[test]
fn keys_of_an_earlier_attempt_are_found() {
    for cheater in [Generator, Cloud] {
        let forge = |second: &mut Second| {
            let (generator, cloud) = second.past.chains.as_mut().expect("a chain");
            let next = generator.head.attempt + 1;
            if cheater == Generator {
                cloud.forward_to(next).expect("a later attempt");
                generator.head.attempt = next;
            } else {
                generator.forward_to(next).expect("a later attempt");
                cloud.head.attempt = next;
            }
        };
        let keys = Due::Caught(Evaluator, |cheat| cheat == Cheat::Keys);
        third(keys, cheater, forge, &mut honest);
    }
}

/// The cloud has no key for a circuit whose fate it changes.
#[test]
fn a_split_that_changes_is_found() {
    let forge = |second: &mut Second| {
        let cloud = &mut second.past.chains.as_mut().expect("a chain").1;
        let with = |fate| cloud.split.iter().position(|found| *found == fate);
        let (checked, evaluated) = (with(Fate::Check), with(Fate::Evaluate));
        cloud
            .split
            .swap(checked.expect("one"), evaluated.expect("one"));
    };
    let keys = Due::Caught(Evaluator, |cheat| cheat == Cheat::Keys);
    third(keys, Cloud, forge, &mut honest);
}

/// Returns a change of the first gate, or of R, of a circuit with this fate.
fn in_gates(fate: Fate, of_start: bool) -> impl FnMut(Peer, Kind, usize, &mut Vec<u8>) {
    let pay = paid();
    let split = two_runs(&pay).past.chains.expect("a chain").1.split;
    move |_, kind, message_number, message| {
        let place = CheatPlace::new(&pay, malicious(COPIES), &split);
        let copy = place.copy(fate);
        let at = match (kind, of_start) {
            (Kind::CopyHeads, true) => place.head(copy) + 16,
            (Kind::Copies, false) => {
                place.body(copy) + place.work.before_tables_bytes() - 32 * place.work.loaded_bits
            }
            _ => return,
        };
        assert!(message_number == 0 && at < message.len());
        message[at..at + 16]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x55);
    }
}

#[test]
fn wrong_gates_of_a_checked_circuit_are_found() {
    let mut rewrite = in_gates(Fate::Check, false);
    third(Due::Caught(Cloud, gates), Generator, |_| {}, &mut rewrite);
}

#[test]
fn wrong_gates_of_an_evaluated_circuit_are_outvoted() {
    let mut rewrite = in_gates(Fate::Evaluate, false);
    third(Due::Right, Generator, |_| {}, &mut rewrite);
}

#[test]
fn another_start_of_gates_is_found_or_outvoted() {
    let is_checked = |cheat| matches!(cheat, Cheat::CheckedCopy(..));
    let mut rewrite = in_gates(Fate::Check, true);
    third(
        Due::Caught(Cloud, is_checked),
        Generator,
        |_| {},
        &mut rewrite,
    );
    let mut rewrite = in_gates(Fate::Evaluate, true);
    third(Due::Right, Generator, |_| {}, &mut rewrite);
}

/// A replayed run has other nonces, and so other keys.
#[test]
fn a_replayed_run_is_found() {
    let pay = paid();
    let mut sent: Vec<(Kind, Vec<u8>)> = Vec::new();
    let inputs = [&bits(2, 8)[..], &bits(30, 8)[..]];
    let mut record = |_, kind, _, message: &mut Vec<u8>| sent.push((kind, message.clone()));
    let past = two_runs(&pay).past;
    let ended =
        Trio::new(&pay, malicious(COPIES), inputs, 3, past).run(Some(Generator), &mut record);
    assert_eq!(ended.ends, [Ok(()), Ok(()), Ok(())]);
    let mut replayed = sent.into_iter();
    let mut replay = |_, kind, _, message: &mut Vec<u8>| {
        if let Some((recorded, payload)) = replayed.next() {
            assert_eq!(recorded, kind);
            *message = payload;
        }
    };
    let past = two_runs(&pay).past;
    let trio = Trio::new(&pay, malicious(COPIES), inputs, 4, past);
    let ended = trio.run(Some(Generator), &mut replay);
    let found = ended.ends.iter().filter(|end| end.is_err()).count();
    assert_eq!(found, 3, "{:?}", ended.ends);
}

/// A chain's name proves nothing: values of another chain do not match this chain's keys.
#[test]
fn a_value_that_claims_another_chain_is_found() {
    let forge = |second: &mut Second| {
        let id = second.past.chains.as_ref().expect("a chain").0.id();
        assert_ne!(id, ChainId([0; 16]));
        // The labels are from another chain's run, under the name and marks of this chain's.
        let (open, parameters) = (opened(), malicious(COPIES));
        let inputs = [&[][..], &bits(10, 8)[..]];
        let (other, ..) = run(&open, parameters, inputs, 77, Past::default()).expect("a run");
        let newer = second.past.generator.iter().map(GeneratorValue::mark);
        let forged = other
            .kept
            .saved
            .into_iter()
            .zip(newer)
            .map(|(mut value, mark)| {
                (value.0.chain, value.0.mark) = (id, mark);
                value
            });
        second.past.generator = forged.collect();
    };
    third(Due::Caught(Cloud, gates), Generator, forge, &mut honest);
}

/// Returns a function that loads a value of another function as a type of the same width.
fn balance_as(ty: &str) -> Function {
    let mut builder = FunctionBuilder::new("show");
    builder
        .load("balance", ty)
        .output("now", ty, Recipient::Evaluator, "balance");
    builder.finish().expect("a function")
}

/// A value that was saved as one number is not loaded as four others, although the width is the
/// same.
#[test]
fn a_value_is_loaded_as_the_type_that_it_was_saved_with() {
    let (open, parameters) = (opened(), malicious(3));
    let inputs = [&[][..], &bits(10, 8)[..]];
    let past = || {
        let begun = run(&open, parameters, inputs, 1, Past::default());
        let (generator, _, cloud) = begun.expect("a run");
        let mut past = kept(generator, cloud);
        past.generator.truncate(1);
        past.cloud.truncate(1);
        past
    };
    let show = balance_as("u8");
    let (_, evaluator, _) = run(&show, parameters, [&[], &[]], 2, past()).expect("a run");
    assert_eq!(number(&evaluator.outputs), 10);
    for ty in ["u2[4]", "i8", "bits[8]"] {
        let function = balance_as(ty);
        let past = past();
        let (_, chain) = past.chains.expect("a chain");
        let refused = crate::outsourced::Cloud::new(
            super::trio::scheme(),
            &function,
            parameters,
            crate::outsourced::CloudStart::Chain(chain),
            past.cloud,
            1,
            &zeroize::Zeroizing::new([0; 32]),
        );
        let due = Error::SavedType {
            value: "balance".to_owned(),
            kept: "u8".to_owned(),
            wanted: ty.to_owned(),
        };
        assert_eq!(refused.err(), Some(due));
    }
}

/// An evaluator that has pinned a version continues only from that version or a later one of the
/// chain.
#[test]
fn a_pin_refuses_servers_that_went_back() {
    let pay = paid();
    let inputs = [&bits(2, 8)[..], &bits(30, 8)[..]];
    let at = |pinned: Option<(u64, bool)>| {
        let past = two_runs(&pay).past;
        let (generator, cloud) = past.chains.expect("a chain");
        let id = generator.id();
        let past = Past {
            chains: Some((generator.at_version(5), cloud.at_version(5))),
            ..past
        };
        let mut trio = Trio::new(&pay, malicious(COPIES), inputs, 3, past);
        if let Some((version, is_same)) = pinned {
            let id = if is_same { id } else { ChainId([1; 16]) };
            trio.evaluator = trio.evaluator.pinned(ChainVersion { id, version });
        }
        let ended = trio.run(None, &mut honest);
        let found = ended.ends[Evaluator as usize].as_ref().err();
        let is_pin = |error: &Error| {
            matches!(
                error,
                Error::PeerIncompatible(Incompatibility::Pinned { .. })
            )
        };
        assert!(found.is_none_or(is_pin), "{found:?}");
        found.is_none()
    };
    assert!(at(None) && at(Some((4, true))) && at(Some((5, true))));
    assert!(!at(Some((6, true))) && !at(Some((5, false))));
}
