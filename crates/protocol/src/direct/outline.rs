//! The messages of a run of `direct`.

use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_ot::Security;
use tacit_ot::source::Extension;

use super::frames::{FRAME_BYTES, check};
use crate::Error;
use crate::outline::{FunctionSteps, Outline, Parts, WalkedStep, bare, message_bytes};
use crate::result::{GARBLING_START, decoding, result};
use crate::setup::{EXTENSION_OTS, extension_bytes};

/// Returns the messages of a run of `function`, whose steps are `walk`, under `scheme`, in a
/// session that has its base OTs and has run before. In a new session the first message of an
/// `extension` is longer by its corrections. The messages of a
/// [refill](crate::setup::SessionOt::refill) are not included.
///
/// # Errors
///
/// The function has saved values.
pub fn outline<S: Scheme>(
    scheme: S,
    function: &Function,
    walk: &FunctionSteps,
    extension: Extension,
) -> Result<Outline, Error> {
    check(function)?;
    // Tables count with a call's segments by weight: by the bytes and the XOR gates.
    let weights = |component: usize| {
        let program = function.components()[component].program();
        let segments = program.segments().iter().enumerate();
        segments
            .map(|(number, segment)| {
                let bytes = scheme.table_bytes(program, number);
                (bytes as u64, (bytes + segment.xors.len() + 1) as f64)
            })
            .collect::<Vec<_>>()
    };
    let segments: Vec<_> = (0..function.components().len()).map(weights).collect();
    let totals: Vec<f64> = segments
        .iter()
        .map(|segments| segments.iter().map(|(_, weight)| weight).sum())
        .collect();
    let mut tables = Parts::of(function);
    for step in walk.steps() {
        let WalkedStep::Call { component, .. } = step else {
            continue;
        };
        for (bytes, weight) in &segments[component] {
            tables.put(*bytes, component, weight / totals[component]);
            if tables.filled() >= FRAME_BYTES as u64 {
                tables.end();
            }
        }
    }
    let mut late = tables.finish();
    late.extend(decoding(scheme, function).map(|message| bare(message.max_bytes)));
    let mut choices = Vec::new();
    let mut left = function.input_bits(Role::Evaluator);
    while left > 0 {
        let count = left.min(EXTENSION_OTS);
        let payload = extension_bytes(extension, Security::SemiHonest, count);
        choices.push(message_bytes(payload));
        left -= count;
    }
    Ok(Outline {
        early: vec![bare(GARBLING_START.max_bytes)],
        choices,
        late,
        result: result(function).map(|message| message_bytes(message.max_bytes as u64)),
        kept: None,
        early_links: 0,
        late_links: 0,
    })
}
