//! The messages of a run from instances, computed without running it.

use tacit_function::{Function, Role};

use super::super::fold::FOLD_BYTES;
use super::super::lot::pieces;
use super::super::outline::Outline;
use super::FRAME_LINKS;
use super::messages;
use super::wiring::{Leaves, Wiring};
use crate::Error;
use crate::bits::bytes_for;

/// Returns the messages of a run of `function` from instances of its components.
///
/// # Errors
///
/// The function cannot be run from instances, as [`check_linked`](super::check_linked) says.
pub fn linked_outline(function: &Function) -> Result<Outline, Error> {
    let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
    let wiring = Wiring::of(function)?;
    let [garblers, evaluators] = [garbler, evaluator].map(|role| wiring.wires_of(role).count());
    let links = wiring.wires() - garblers - evaluators;
    let mut outline = Outline::default();
    for (from, inputs) in [(garbler, evaluators), (evaluator, garblers)] {
        let bytes = bytes_for(links + inputs) + FOLD_BYTES;
        outline.send(from, messages::link_masks(bytes));
    }
    for role in [evaluator, garbler] {
        outline.send(role, messages::masked_inputs(&wiring, role));
    }
    for when in [Leaves::Early, Leaves::Late] {
        for links in pieces(0..wiring.sent(when, 0).count(), FRAME_LINKS) {
            outline.send(garbler, messages::links(links.len()));
        }
    }
    // The first message has the garbler's masks of links, the second the evaluator's, and the third
    // the garbler's answer to masked inputs.
    outline.trips = 3;
    if let Some(opening) = messages::result_opening(function, evaluator) {
        outline.send(garbler, opening);
    }
    if let Some(opening) = messages::result_opening(function, garbler) {
        outline.send(evaluator, opening);
        outline.trips += 1;
    }
    Ok(outline)
}
