//! What a run from instances sends, without running it.

use tacit_function::{Function, Role};

use super::super::fold::FOLD_BYTES;
use super::super::outline::Outline;
use super::FRAME_LINKS;
use super::messages;
use super::wiring::{Leaves, Wiring};
use crate::Error;
use crate::bits::bytes_for;

/// What a run of `function` sends from instances of its components.
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
    outline.send(garbler, bytes_for(links + evaluators) + FOLD_BYTES);
    outline.send(evaluator, bytes_for(links + garblers) + FOLD_BYTES);
    outline.send(
        evaluator,
        messages::masked_inputs(&wiring, evaluator).max_bytes,
    );
    outline.send(garbler, messages::masked_inputs(&wiring, garbler).max_bytes);
    for when in [Leaves::Early, Leaves::Late] {
        let mut left = wiring.sent(when, 0).count();
        while left > 0 {
            let count = FRAME_LINKS.min(left);
            outline.send(garbler, messages::links(count).max_bytes);
            left -= count;
        }
    }
    // Masks of links from both, what the garbler answers to masked inputs.
    outline.trips = 3;
    if let Some(opening) = messages::result_opening(function, evaluator) {
        outline.send(garbler, opening.max_bytes);
    }
    if let Some(opening) = messages::result_opening(function, garbler) {
        outline.send(evaluator, opening.max_bytes);
        outline.trips += 1;
    }
    Ok(outline)
}
