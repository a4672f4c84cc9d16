//! The messages of a run of `prepared`.

use tacit_function::Function;
use tacit_garble::Scheme;

use super::{FRAME_BYTES, WORK, check, messages};
use crate::Error;
use crate::io::Message;
use crate::outline::{FunctionSteps, Outline, Part, Parts, WalkedStep, bare, message_bytes};
use crate::result::{GARBLING_START, decoding, result};
use crate::saved::{GATE_BYTES, check_size};

/// Returns the messages of a run of `function`, whose steps are `walk`, under `scheme`, once the
/// leases are agreed.
///
/// # Errors
///
/// The function saves or loads values under a scheme that does not support them, or more of them
/// than one run may.
pub fn outline<S: Scheme>(
    scheme: S,
    function: &Function,
    walk: &FunctionSteps,
) -> Result<Outline, Error> {
    check(function, scheme.id())?;
    let [loaded_bits, _] = check_size(function)?;
    let mut first = before_links(loaded_bits * GATE_BYTES);
    let link_bytes = scheme.link_bytes() as u64;
    let frame_bytes = FRAME_BYTES as u64;
    let mut early = Parts::of(function);
    // The mask comes first. It enables the calls that wait for no late link.
    let none = vec![0.0; function.components().len()];
    let part = |payload: u64| Part {
        bytes: message_bytes(payload),
        calls: none.clone(),
    };
    let mut late = vec![part(messages::UNMASK.max_bytes as u64)];
    let (mut early_links, mut late_links, mut work) = (0, 0, 0);
    for step in walk.steps() {
        // Frames are cut as in `garbler::Linking::fill`.
        if early.filled() >= frame_bytes || work >= WORK {
            early.end();
            work = 0;
        }
        let (component, arguments, of_call) = match step {
            WalkedStep::Assigned(bits) => {
                work += bits + 1;
                continue;
            }
            WalkedStep::Call {
                component,
                arguments,
                late,
            } => (component, arguments as u64, late as u64),
        };
        work += arguments as usize + 1;
        late_links += of_call;
        early_links += arguments - of_call;
        early.put((arguments - of_call) * link_bytes, component, 0.0);
        // All frames of late links but the last are full.
        let needed = (late_links * link_bytes).div_ceil(frame_bytes) as usize;
        while late.len() <= needed {
            late.push(part(0));
        }
        late[needed].calls[component] += 1.0;
    }
    let mut left = late_links * link_bytes;
    for frame in &mut late[1..] {
        let payload = left.min(frame_bytes);
        frame.bytes += payload;
        left -= payload;
    }
    late.extend(decoding(scheme, function).map(|message| bare(message.max_bytes)));
    first.extend(early.finish());
    let bytes = |message: Message| message_bytes(message.max_bytes as u64);
    Ok(Outline {
        early: first,
        choices: messages::corrections(function)
            .map(bytes)
            .into_iter()
            .collect(),
        late,
        result: result(function).map(bytes),
        kept: (!function.saves().is_empty()).then_some(message_bytes(8)),
        early_links,
        late_links,
    })
}

/// Returns the garbler's messages before its first link: the start, and the links of saved values.
fn before_links(saved_bytes: usize) -> Vec<Part> {
    let frames = (0..saved_bytes).step_by(FRAME_BYTES);
    let frames = frames.map(|done| messages::saved_links(saved_bytes - done));
    let all = std::iter::once(GARBLING_START).chain(frames);
    all.map(|message| bare(message.max_bytes)).collect()
}
