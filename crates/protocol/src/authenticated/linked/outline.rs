//! What a run from instances sends, without running it.

use tacit_function::{Function, Role};
use tacit_kernels::Block;

use super::super::fold::FOLD_BYTES;
use super::super::garbling::Proof;
use super::super::outline::Outline;
use super::super::rows::InstanceForm;
use super::super::terms::result_bytes;
use super::super::walk::{Stop, Walk};
use super::FRAME_LINKS;
use super::linking::fits;
use super::wiring::{Leaves, Wiring};
use crate::Error;
use crate::bits::bytes_for;

/// What a run of `function` sends from instances of its components, of this form.
///
/// # Errors
///
/// The function cannot be run from instances, as [`check_linked`](super::check_linked) says.
pub fn linked_outline(function: &Function, form: InstanceForm) -> Result<Outline, Error> {
    let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
    let wiring = Wiring::of(function)?;
    let [garblers, evaluators] = [garbler, evaluator].map(|role| wiring.wires_of(role).count());
    let links = wiring.wires() - garblers - evaluators;
    let mut outline = Outline::default();
    outline.send(garbler, bytes_for(links + evaluators) + FOLD_BYTES);
    outline.send(evaluator, bytes_for(links + garblers) + FOLD_BYTES);
    outline.send(evaluator, bytes_for(evaluators));
    outline.send(garbler, bytes_for(garblers));
    for when in [Leaves::Early, Leaves::Late] {
        let mut left = wiring.sent(when, 0).count();
        while left > 0 {
            let count = FRAME_LINKS.min(left);
            outline.send(garbler, count * Block::BYTES);
            left -= count;
        }
    }
    // Masks of links from both, what the garbler answers to masked inputs.
    outline.trips = 3;
    match form {
        InstanceForm::Told => tell(&mut outline, function)?,
        InstanceForm::Rows(_) => {
            let results = [garbler, evaluator].map(|role| function.output_bits(role));
            if results[1] > 0 {
                outline.send(garbler, result_bytes(results[1]));
            }
            if results[0] > 0 {
                outline.send(evaluator, result_bytes(results[0]));
                outline.trips += 1;
            }
        }
    }
    Ok(outline)
}

/// What follows links where the evaluator tells masked values.
fn tell(outline: &mut Outline, function: &Function) -> Result<(), Error> {
    let mut walk = Walk::new(function, Proof::RULES, |_| Ok::<_, Error>(false))?;
    let mut held = 0;
    loop {
        let count = match walk.next() {
            Stop::Ands(ands) => {
                walk.pass(ands, |_| false);
                ands.count()
            }
            Stop::Pause => continue,
            Stop::End => break,
        };
        if held > 0 && !fits(held, count) {
            outline.send(Role::Evaluator, bytes_for(held));
            held = 0;
        }
        held += count;
    }
    if held > 0 {
        outline.send(Role::Evaluator, bytes_for(held));
    }
    outline.trips += 1;
    outline.end(function);
    Ok(())
}
