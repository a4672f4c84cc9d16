//! The limits of a run's inputs, calls and joins.

use tacit_circuit::Circuit;

use super::super::{Diagnostic, Lower};
use crate::program::{Entry, EntryKind, Join, Program};
use crate::source::Span;

/// The greatest number of bits that calls of components return. Each takes about 30 bytes while a
/// run is lowered.
const MAX_CALL_BITS: u64 = 1 << 27;

/// The greatest number of bits of a run's inputs and states. Each takes about 30 bytes while the
/// run is lowered.
const MAX_GIVEN_BITS: u64 = 1 << 27;

/// The greatest number of bits that each party holds of the bins of a join: 8 GiB.
const MAX_JOIN_BITS: u64 = 1 << 36;

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

/// Refuses a join whose bins take more memory than a run may have. `result_bits` is the number of
/// bits that loops over the pairs return for each of them.
pub(in super::super) fn check_bins(join: &Join, result_bits: u64) -> Lower<()> {
    let (sizes, bins) = (&join.sizes, join.sizes.all_bins());
    let inputs = [sizes.placer_element_bits(), sizes.programmer_element_bits()];
    let all = inputs[0] + inputs[1] + sizes.pair_bits() + result_bits;
    let bits = bins.saturating_mul(all);
    if bits > MAX_JOIN_BITS {
        let gib = bits.div_ceil(1 << 33);
        let message = format!(
            "the {bins} bins of this join, for tables of {} and {} keys, take {gib} GiB at each \
             party, and a run may take 8: give smaller sizes of the tables, such as \
             `--param N=1000000`, or read fewer fields of pairs",
            join.keys[0], join.keys[1]
        );
        return Err(Diagnostic::new(join.span, message));
    }
    let widest = inputs[0].max(inputs[1]).max(sizes.pair_bits());
    let (few, widest) = (bins.min(64), widest.saturating_mul(bins.min(64)));
    if widest > Circuit::MAX_WIRES as u64 {
        let message = format!(
            "{few} bins of this join have {widest} bits, and a value of a function has at most \
             2^30: read fewer fields of pairs"
        );
        return Err(Diagnostic::new(join.span, message));
    }
    Ok(())
}

/// Refuses a loop over pairs whose first sums have more bits than a value may have.
pub(in super::super) fn check_sums(span: Span, bits: u64) -> Lower<()> {
    if bits <= Circuit::MAX_WIRES as u64 {
        return Ok(());
    }
    let message = format!(
        "the first sums of this loop have {bits} bits, and a value of a function has at most 2^30: \
         give smaller sizes of the tables, or add up narrower numbers"
    );
    Err(Diagnostic::new(span, message))
}

/// Returns the error of a run that takes too many steps, named as `what`.
pub(in super::super) fn too_long(span: Span, what: &str) -> Diagnostic {
    let message = format!(
        "{what} has more than 2^26 steps when it is unrolled: give it fewer rows, or compute it in \
         several runs"
    );
    Diagnostic::new(span, message)
}
