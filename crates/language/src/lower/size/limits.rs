//! The limits of a run's inputs, calls and elements.

use tacit_function::Function;

use super::super::{Diagnostic, Lower};
use crate::program::{Entry, EntryKind, Program};
use crate::source::Span;

/// The greatest number of bits that calls of components return. Each takes about 30 bytes while a
/// run is lowered.
const MAX_CALL_BITS: u64 = 1 << 27;

/// The greatest number of bits of a run's inputs and states. Each takes about 30 bytes while the
/// run is lowered.
const MAX_GIVEN_BITS: u64 = 1 << 27;

/// Refuses calls that return more bits together than a run may have.
pub(in super::super) fn check_calls(span: Span, bits: u64) -> Lower<()> {
    if bits <= MAX_CALL_BITS {
        return Ok(());
    }
    let message = format!(
        "the components that this run calls give {bits} bits together, and a run has at most 2^27 \
         such bits: give it fewer rows or narrower numbers, or compute it in several runs"
    );
    Err(Diagnostic::new(span, message))
}

/// Refuses inputs and states of more bits than a run may be given.
pub(super) fn check_given(program: &Program, entry: &Entry) -> Lower<()> {
    let inputs = entry.inputs.iter().enumerate();
    let inputs = inputs.filter(|(place, input)| input.owner.is_some() && !entry.is_joined(*place));
    let inputs = inputs.map(|(_, input)| input.ty);
    let states = program.states.iter().map(|state| state.ty);
    let states = states.filter(|_| entry.kind == EntryKind::Run);
    let bits: u64 = inputs.chain(states).map(|ty| program.types.width(ty)).sum();
    if bits <= MAX_GIVEN_BITS {
        return Ok(());
    }
    let message = format!(
        "the inputs and states of this run have {bits} bits together, and a run has at most 2^27 \
         such bits (16 MiB): give it fewer rows or narrower numbers, or compute it in several runs"
    );
    Err(Diagnostic::new(entry.span, message))
}

/// Refuses a join with more bins than a function has elements, or with more bits than it can hold
/// at once.
pub(super) fn check_bins(entry: &Entry) -> Lower<()> {
    let Some(join) = &entry.join else {
        return Ok(());
    };
    let (sizes, bins) = (&join.sizes, join.sizes.all_bins());
    let (tag, row, payload) = (
        u64::from(sizes.tag_bits),
        sizes.placer_bits,
        sizes.payload_bits,
    );
    // Each party's input of a bin, the pair, and as much again for the results of turns.
    let (elements, bits) = (4 * bins, bins * (2 * tag + 3 * row + 4 * payload));
    if elements <= Function::MAX_ELEMENTS && bits <= 1 << 30 {
        return Ok(());
    }
    let times =
        (elements as f64 / Function::MAX_ELEMENTS as f64).max(bits as f64 / f64::from(1 << 30));
    Err(Diagnostic::new(
        join.span,
        format!(
            "the join has {bins} bins for tables of {} and {} keys, some {times:.1} times what a \
             function may have: give smaller sizes of the tables, such as `--param N=1000000`, or \
             read fewer fields of pairs",
            join.keys[0], join.keys[1]
        ),
    ))
}

/// Returns the error of a run that takes too many steps, named as `what`.
pub(in super::super) fn too_long(span: Span, what: &str) -> Diagnostic {
    let message = format!(
        "{what} has more than 2^26 steps when it is unrolled: give it fewer rows, or compute it in \
         several runs"
    );
    Diagnostic::new(span, message)
}
