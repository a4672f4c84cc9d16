//! A garbler that garbles another function and goes on as if nothing were wrong.

use std::collections::VecDeque;

use super::*;
use crate::authenticated::tests::{component, epochs, seed, terms};
use crate::authenticated::{Caught, Evaluator};
use crate::error::cheated;
use crate::party::Party;
use tacit_function::Recipient;

/// The garbler changes its tables, does not look at the evaluator's labels, and sends
/// the proof of an honest garbler. Returns what the evaluator finds, and whether it opened the
/// garbler's result.
fn garbling_wrong() -> (Option<Error>, bool) {
    let function = component("adder", Recipient::Both);
    let (terms, [a, b]) = (terms(&function, 9), epochs());
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    let mut garbler = Garbler::new(terms, &inputs, a, &seed()).unwrap();
    let mut evaluator = Evaluator::new(terms, &inputs, b, &seed()).unwrap();
    let mut queues: [VecDeque<Vec<u8>>; 2] = Default::default();
    let mut message = Vec::new();
    loop {
        match garbler.next(&mut message).unwrap() {
            Action::Send { kind, .. } => {
                if kind == Kind::AuthenticatedTables {
                    // All tables, so that some row of them is read.
                    message.iter_mut().for_each(|byte| *byte ^= 0x10);
                }
                queues[1].push_back(message.clone());
            }
            Action::Receive { kind, .. } => match queues[0].pop_front() {
                Some(_) if kind == Kind::LabelDigest => {
                    let Some(Stage::AwaitingLabels(proven)) = garbler.stage.take() else {
                        panic!("the garbler awaits labels");
                    };
                    let Proven { epoch, running } = *proven;
                    let Running {
                        run, masks, proof, ..
                    } = running;
                    let ([_, zeros], masked) = proof.finish();
                    garbler.stage = Some(Stage::SendingProof(Box::new(Ended {
                        epoch,
                        run,
                        zeros,
                        masks: masks.outputs(),
                        masked,
                    })));
                }
                Some(_) if kind == Kind::ResultOpening => return (None, true),
                Some(payload) => garbler.receive(&payload).unwrap(),
                None => {}
            },
            _ => {}
        }
        match evaluator.next(&mut message).unwrap() {
            Action::Send { .. } => queues[0].push_back(message.clone()),
            Action::Receive { .. } => {
                if let Some(payload) = queues[1].pop_front()
                    && let Err(error) = evaluator.receive(&payload)
                {
                    return (Some(error), false);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn another_function_has_no_proof() {
    for _ in 0..8 {
        let (found, opened) = garbling_wrong();
        assert_eq!(found, Some(cheated(Caught::GateProof)));
        assert!(!opened);
    }
}
