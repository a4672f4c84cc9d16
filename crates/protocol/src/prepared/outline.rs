//! What a run of `prepared` sends.

use tacit_circuit::{Function, Role, Step, Values};
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::demand::comes_late;
use super::{Demand, FRAME_BYTES, WORK, check};
use crate::Error;
use crate::bits::bytes_for;
use crate::outline::{HEADER_BYTES, Outline, Part, Parts, bare};
use crate::result::result_bytes;

/// The messages of a run of `function` under `scheme`, once its leases are agreed.
///
/// # Errors
///
/// The function saves or loads values, and the scheme is not for that, or more of them than is kept
/// of one run.
pub fn outline<S: Scheme>(scheme: S, function: &Function) -> Result<Outline, Error> {
    check(function, scheme.id())?;
    let mut first = before_links(Demand::of(function)?.saved_bytes());
    let link_bytes = scheme.link_bytes() as u64;
    let frame_bytes = FRAME_BYTES as u64;
    let late_input = |port| Ok::<_, Error>(comes_late(function, port));
    let mut values = Values::new(function, late_input)?;
    let mut early = Parts::of(function);
    // The mask comes first, and with it what waits for no late link.
    let none = vec![0.0; function.components().len()];
    let part = |payload: u64| Part {
        bytes: HEADER_BYTES + payload,
        calls: none.clone(),
    };
    let mut late = vec![part(Block::BYTES as u64)];
    let (mut early_links, mut late_links, mut work) = (0, 0, 0);
    let mut results = Vec::new();
    loop {
        // As `garbler::Run::fill` cuts its frames.
        if early.filled() >= frame_bytes || work >= WORK {
            early.end();
            work = 0;
        }
        let call = match values.step(|_| false) {
            Step::Call(call) => call,
            Step::Assigned(bits) => {
                work += bits + 1;
                continue;
            }
            Step::End => break,
        };
        let arguments = values.arguments();
        work += arguments.len() + 1;
        let of_call = arguments.iter().filter(|late| **late).count() as u64;
        late_links += of_call;
        early_links += arguments.len() as u64 - of_call;
        let bytes = (arguments.len() as u64 - of_call) * link_bytes;
        early.put(bytes, call.component_index, 0.0);
        // The frames of late links are whole but for the last.
        let needed = (late_links * link_bytes).div_ceil(frame_bytes) as usize;
        while late.len() <= needed {
            late.push(part(0));
        }
        late[needed].calls[call.component_index] += 1.0;
        results.clear();
        results.resize(call.component.circuit().output_bits(), false);
        values.finish_call(&results);
    }
    let mut left = late_links * link_bytes;
    for frame in &mut late[1..] {
        let payload = left.min(frame_bytes);
        frame.bytes += payload;
        left -= payload;
    }
    match function.output_bits(Role::Evaluator) {
        0 => {}
        outputs => late.push(bare(scheme.decoding_bytes(outputs))),
    }
    first.extend(early.finish());
    Ok(Outline {
        early: first,
        choices: match function.input_bits(Role::Evaluator) {
            0 => Vec::new(),
            bits => vec![HEADER_BYTES + bytes_for(bits) as u64],
        },
        late,
        result: match function.output_bits(Role::Garbler) {
            0 => None,
            outputs => Some(HEADER_BYTES + result_bytes(outputs) as u64),
        },
        kept: (!function.saves().is_empty()).then_some(HEADER_BYTES + 8),
        early_links,
        late_links,
    })
}

/// The garbler's messages before its first link: the start, and the links of saved values.
fn before_links(saved_bytes: usize) -> Vec<Part> {
    let frames = (0..saved_bytes).step_by(FRAME_BYTES);
    let frames = frames.map(|done| bare(FRAME_BYTES.min(saved_bytes - done)));
    std::iter::once(bare(2 * Block::BYTES))
        .chain(frames)
        .collect()
}
