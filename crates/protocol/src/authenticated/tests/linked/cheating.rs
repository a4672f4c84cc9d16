//! Lies about instances or links, each aimed at the check that stops it.

use super::*;
use crate::Misbehaviour;
use crate::authenticated::linked::cheats;

/// Flips bit `bit` of the messages of this kind of a party.
pub(super) fn lie(role: Role, kind: Kind, bit: usize) -> impl FnMut(Role, Kind, &mut Vec<u8>) {
    move |from, found, payload| {
        if (from, found) == (role, kind) {
            payload[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Runs the tangle with a lie. Returns the failure and the sent messages.
fn lying_with(stock: &Stock, change: &mut Change<'_>) -> (Failure, Sent) {
    let function = tangle();
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (ended, sent) = changed_run(terms(&function, 9), inputs, &mut stock.clone(), change);
    (ended.unwrap_err(), sent)
}

/// The numbers of wires of the tangle: those with a link, and those that define the masks of either
/// party's inputs that calls read.
const LINKS: usize = 64;
const GARBLERS: usize = 24;
const EVALUATORS: usize = 8;

/// The number of messages with links between the instances of the tangle, which need no input.
const EARLY: usize = 1;

/// The evaluator opens another mask than it holds. The mask belongs to a link from a result, from a
/// constant or from an input that is read again, or to an input of the garbler, which would change
/// that input. The garbler sends neither its inputs nor any active label.
#[test]
fn an_evaluators_lie_about_a_link_gets_no_labels() {
    let stock = make(&tangle(), 1);
    for bit in 0..LINKS + GARBLERS {
        let lie = &mut lie(Role::Evaluator, Kind::LinkMasks, bit);
        let (found, sent) = lying_with(&stock, lie);
        assert_eq!(found, (Role::Garbler, cheated(Caught::Links)));
        assert_eq!(count(&sent, Role::Garbler, Kind::MaskedInputs), 0);
        assert_eq!(count(&sent, Role::Garbler, Kind::AuthenticatedLinks), EARLY);
    }
}

/// The garbler opens another mask than it holds. The evaluator does not send its inputs.
#[test]
fn a_garblers_lie_about_a_link_gets_no_inputs() {
    let stock = make(&tangle(), 1);
    for bit in 0..LINKS + EVALUATORS {
        let (found, sent) = lying_with(&stock, &mut lie(Role::Garbler, Kind::LinkMasks, bit));
        assert_eq!(found, (Role::Evaluator, cheated(Caught::Links)));
        assert_eq!(count(&sent, Role::Evaluator, Kind::LinkMasks), 0);
        assert_eq!(count(&sent, Role::Evaluator, Kind::MaskedInputs), 0);
    }
}

/// A party takes other instances of the lot than its peer: all of them, or the same in another
/// order. Neither party sends anything that depends on an input.
#[test]
fn parties_that_take_different_instances_find_it_before_their_inputs() {
    let stock = make(&tangle(), 2);
    let mut next = stock.clone();
    let demand = Demand::of(&tangle()).unwrap();
    for (halves, count) in next.0[1].0.iter_mut().zip(&demand.instances) {
        halves.drain(..*count as usize);
    }
    let mut swapped = stock.clone();
    swapped.0[1].0[0].swap(0, 1);
    for stock in [next, swapped] {
        let (found, sent) = lying_with(&stock, &mut unchanged);
        assert_eq!(found, (Role::Evaluator, cheated(Caught::Links)));
        assert!(sent.iter().all(|(from, _, _)| *from == Role::Garbler));
        assert_eq!(count(&sent, Role::Garbler, Kind::MaskedInputs), 0);
    }
}

/// The garbler sends the label of the other value of a wire, by adding its Δ to a link.
#[test]
fn a_wrong_link_gets_no_masks_of_results() {
    let function = tangle();
    let Stock([ours, theirs], id, ordered_at) = make(&function, 1);
    let delta: [u8; 16] = ours.0[0][0][..16].try_into().unwrap();
    // Bit 0 of a link is known. With Δ alone the evaluator refuses the link at once. With the bit
    // corrected, the labels belong to no value, and rows do not match them.
    for same_bit in [true, false] {
        let mut stock = Stock([ours.clone(), theirs.clone()], id, ordered_at);
        let change = &mut |from, kind, payload: &mut Vec<u8>| {
            if (from, kind) == (Role::Garbler, Kind::AuthenticatedLinks) {
                let links = payload.iter_mut().zip(delta);
                links.for_each(|(link, delta)| *link ^= delta);
                payload[0] ^= u8::from(same_bit);
            }
        };
        let inputs = inputs_of(&function);
        let inputs = [&inputs[0][..], &inputs[1][..]];
        let (ended, sent) = changed_run(terms(&function, 9), inputs, &mut stock, change);
        let (role, error) = ended.unwrap_err();
        assert_eq!(role, Role::Evaluator);
        assert!(matches!(error, Error::PeerMisbehaved(_)), "{error}");
        assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 0);
    }
}

/// The garbler leads each wire to the label of the other value than the opened one. Otherwise the
/// evaluator would have another result, and no row would detect it.
#[test]
fn a_link_to_the_other_value_is_refused() {
    let function = tangle();
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let Stock(halves, id, ordered_at) = make(&function, 1);
    for wire in 0..LINKS + GARBLERS + EVALUATORS {
        let run = LinkedRun {
            terms: terms(&function, 9),
            id,
            ordered_at,
        };
        cheats::TURNED_LINK.set(Some(wire));
        let (ended, sent) = linked(run, inputs, halves.clone(), &mut unchanged);
        cheats::TURNED_LINK.set(None);
        let refused = Misbehaviour::invalid(Kind::AuthenticatedLinks, "select bit");
        assert_eq!(ended, Err((Role::Evaluator, refused.into())), "{wire}");
        assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 0);
    }
}

/// A garbler with the tables of another component has no matching rows.
#[test]
fn other_tables_have_no_rows() {
    let function = component("adder", Recipient::Both);
    let wrong = &mut |_, kind, payload: &mut Vec<u8>| {
        if kind == Kind::AuthenticatedTables {
            payload.iter_mut().for_each(|byte| *byte ^= 0x10);
        }
    };
    let made = changed_making(&function, 1, (9, ordered()), wrong).0;
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (ended, _) = changed_run(
        terms(&function, 9),
        inputs,
        &mut made.unwrap(),
        &mut unchanged,
    );
    assert_eq!(ended, Err((Role::Evaluator, cheated(Caught::GateProof))));
}

/// A party opens another bit of an instance's gate than it holds. No table is sent, and no instance
/// is kept.
#[test]
fn a_lie_about_a_gate_gets_no_tables() {
    let function = tangle();
    for (liar, others) in [
        (Role::Evaluator, Role::Garbler),
        (Role::Garbler, Role::Evaluator),
    ] {
        let lie = &mut lie(liar, Kind::GateOpenings, 1);
        let (made, sent) = changed_making(&function, 1, (9, ordered()), lie);
        let found = made.err().expect("a lie");
        assert_eq!(found, (others, cheated(Caught::Gates)));
        if liar == Role::Evaluator {
            assert_eq!(count(&sent, Role::Garbler, Kind::AuthenticatedTables), 0);
        }
    }
}

/// Two calls use the same instance. The links to a wire would sum to Δ wherever the calls' masked
/// values differ, and the evaluator would send two values under the same mask.
#[test]
fn an_input_wire_is_answered_once() {
    let function = tangle();
    let Stock(mut both, id, ordered_at) = make(&function, 1);
    for halves in &mut both {
        halves.0[0][1] = halves.0[0][0].clone();
    }
    let inputs = inputs_of(&function);
    let run = LinkedRun {
        terms: terms(&function, 9),
        id,
        ordered_at,
    };
    let [ours, theirs] = both;
    let ended = run_two(
        async |io| run.garble(io, &inputs[0], ours).await,
        async |io| run.evaluate(io, &inputs[1], theirs).await,
        &mut |_, _, kind, _| panic!("{kind} was sent"),
    );
    let (garbler, evaluator) = ended.results;
    for error in [garbler.unwrap_err(), evaluator.unwrap_err()] {
        assert!(
            matches!(error, Error::Material(_) | Error::DamagedMaterial(_)),
            "{error}"
        );
    }
}
